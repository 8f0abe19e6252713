"""A form that a model fills in as one JSON object, in place of edits. Pure."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from memorist.core.messages import JsonObject
from memorist.forks.json_answer import find_json_object
from memorist.forks.written_edits import TextEdits


class AnswerForm(Struct, frozen=True, kw_only=True):
    """A task whose answer is one JSON object, which a program turns into edits. A model writes
    neither paths nor what is there already.
    """

    instruction: str
    """The task, the same from one run to the next, so that a server's cache serves it."""
    material: str
    """The data that the task is about."""
    schema: JsonObject
    """JSON schema of the answer; every key is required, as strict schemas want it."""
    read: Callable[[JsonObject], TextEdits]
    """Turns an answer of whatever content into edits; what is unusable is a problem of it."""


def read_form(form: AnswerForm, text: str) -> TextEdits:
    """The edits of an answer to a form."""
    answer = find_json_object(text)
    if answer is None:
        return TextEdits((), ("The answer holds no JSON object.",))
    return form.read(answer)


def list_texts(value: object) -> list[str]:
    """The texts of a list that a model filled in, each once; one text counts as a list of its
    lines.
    """
    given = value.split("\n") if isinstance(value, str) else value
    texts = (
        [each.strip() for each in given if isinstance(each, str)] if isinstance(given, list) else []
    )
    return list(dict.fromkeys(filter(None, texts)))
