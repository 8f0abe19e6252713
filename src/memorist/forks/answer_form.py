"""A form that a model fills in as one JSON object, in place of edits. Pure."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from memorist.core.json_answer import (
    find_json_object_with_any_key,
    find_object_or_wrap_list,
    list_json_objects_with_all_keys,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import JsonObject
from memorist.forks.text_edits import ParsedAnswerEdits

_NUMBER = lazy_pattern(r"\d{1,4}")


class FormTask(Struct, frozen=True, kw_only=True):
    """A task whose answer is one JSON object, which a program turns into edits. A model writes
    neither paths nor what is there already.
    """

    instruction: str
    """The task, the same from one run to the next, so that a server's cache serves it."""
    material: str
    """The data that the task is about."""
    schema: JsonObject
    """JSON schema of the answer; every key is required, as strict schemas want it."""
    read: Callable[[JsonObject], ParsedAnswerEdits]
    """Turns an answer of whatever content into edits; what is unusable is a problem of it."""


def read_edits_from_form_answer(form: FormTask, text: str) -> ParsedAnswerEdits:
    """The edits of an answer to a form."""
    answer = find_object_or_wrap_list(text)
    if answer is None:
        return ParsedAnswerEdits((), ("The answer holds no JSON object.",))
    return read_edits_from_answer_object(form, answer)


def read_edits_from_answer_object(form: FormTask, answer: JsonObject) -> ParsedAnswerEdits:
    """The edits of the object of an answer, with another object around the form or its keys spelled
    otherwise. Entries of the form's lists count under whatever key they are.
    """
    keys = list(form.schema.get("properties", answer))
    found = find_json_object_with_any_key(answer, *keys)
    if found is None:
        found = {
            key: entries
            for key, required in _entry_keys(form).items()
            if (entries := list_json_objects_with_all_keys(answer, *required))
        } or None
    if found is None and answer:
        names = ", ".join(f"`{key}`" for key in keys)
        return ParsedAnswerEdits(
            (), (f"The answer has none of the keys that it should have: {names}.",)
        )
    return form.read(found or {})


def _entry_keys(form: FormTask) -> dict[str, list[str]]:
    """By key of the form's lists of objects, the keys of an entry."""
    return {
        key: required
        for key, value in form.schema.get("properties", {}).items()
        if (required := value.get("items", {}).get("required"))
    }


def build_object_schema(properties: JsonObject) -> JsonObject:
    """The JSON schema of an object that has all of these properties and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def build_object_list_schema(most: int, properties: JsonObject) -> JsonObject:
    """The JSON schema of a list of at most so many of such objects."""
    return {"type": "array", "maxItems": most, "items": build_object_schema(properties)}


def coerce_to_object_list(value: object) -> list[JsonObject]:
    """The objects of a list that a model filled in; one object counts as a list of it."""
    given = value if isinstance(value, list) else [value]
    return [each for each in given if isinstance(each, dict)]


def coerce_to_text_list(value: object) -> list[str]:
    """The texts of a list that a model filled in, each once; one text counts as a list of its
    lines.
    """
    given = value.split("\n") if isinstance(value, str) else value
    texts = (
        [each.strip() for each in given if isinstance(each, str)] if isinstance(given, list) else []
    )
    return list(dict.fromkeys(filter(None, texts)))


def read_numbers_up_to(given: object, most: int) -> tuple[int, ...]:
    """Numbers from 1 to `most`, in whatever writing; each once."""
    values = given if isinstance(given, list) else [given]
    texts = [str(each) for each in values if isinstance(each, int | str | float)]
    found = (int(number) for text in texts for number in _NUMBER.findall(text))
    return tuple(dict.fromkeys(number for number in found if 1 <= number <= most))
