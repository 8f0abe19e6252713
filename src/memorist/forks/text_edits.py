"""What a model writes into the text of its answer in place of tool calls: edits in elements, calls
that its server did not recognise, and edits as JSON. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from memorist.core.json_answer import find_largest_json_object, find_object_or_wrap_list
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import ToolUse
from memorist.forks.file_tool_calls import (
    EditFileCall,
    ForkToolCall,
    ReadFileCall,
    TextReplacement,
    WriteFileCall,
    parse_tool_call,
)


class ParsedAnswerEdits(Struct, frozen=True):
    """The edits of an answer in order, and one sentence for each piece that could not be parsed."""

    calls: tuple[EditFileCall | WriteFileCall, ...]
    problems: tuple[str, ...] = ()
    reads: tuple[ReadFileCall, ...] = ()
    """Files that the model asks to be shown before it goes on."""
    dropped: tuple[str, ...] = ()
    """Pieces left out beside edits that stand, one sentence each: the model is not asked again, and
    the receipt says so.
    """


_TAG = lazy_pattern(r"<(/?)(edit|write|old|new)((?:\s[^<>]*)?)>")
_READ = lazy_pattern(r"""<read\s+path\s*=\s*["']([^"'<>]+)["']\s*/?>(?:\s*</read>)?""")
MAX_TEXT_READS = 8
"""Files that one answer may ask for."""
_ATTRIBUTE = lazy_pattern(r"""\s+([A-Za-z_]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


def parse_edit_elements(text: str) -> ParsedAnswerEdits:
    """Parse the edit elements in an answer, in linear time."""
    tags = list(_TAG.finditer(text))
    calls: list[EditFileCall | WriteFileCall] = []
    problems: list[str] = []
    at = 0
    while at < len(tags):
        tag = tags[at]
        if tag[1] or tag[2] not in ("edit", "write"):
            at += 1
            continue
        found, at = (_parse_edit_element if tag[2] == "edit" else _parse_write_element)(
            text, tags, at
        )
        if isinstance(found, str):
            problems.append(f"{tag[0][:120]}: {found}")
        else:
            calls.append(found)
    asked = dict.fromkeys(found[1].strip() for found in _READ.finditer(text))
    reads = tuple(ReadFileCall(path=path) for path in list(asked)[:MAX_TEXT_READS])
    return ParsedAnswerEdits(tuple(calls), tuple(problems), () if calls else reads)


def _parse_attributes(tag: re.Match[str], allowed: tuple[str, ...]) -> dict[str, str] | str:
    found: dict[str, str] = {}
    at = 0
    rest = tag[3].rstrip()
    while at < len(rest):
        attribute = _ATTRIBUTE.match(rest, at)
        if attribute is None or attribute[1] not in allowed or attribute[1] in found:
            return "its attributes cannot be read."
        found[attribute[1]] = attribute[2] if attribute[2] is not None else attribute[3]
        at = attribute.end()
    return found if found.get("path") else "it names no path."


def _parse_write_element(
    text: str, tags: list[re.Match[str]], at: int
) -> tuple[WriteFileCall | str, int]:
    """Parse a `<write>`. Other tags inside are text, but the start of another element means that
    this one was not closed.
    """
    opening = tags[at]
    attributes = _parse_attributes(opening, ("path",))
    for index in range(at + 1, len(tags)):
        tag = tags[index]
        if tag[1] and tag[2] == "write":
            if isinstance(attributes, str):
                return attributes, index + 1
            return WriteFileCall(
                attributes["path"], text[opening.end() : tag.start()].removeprefix("\n")
            ), index + 1
        if not tag[1] and tag[2] in ("edit", "write") and "path" in tag[3]:
            return "it is not closed before the next one begins.", index
    return "it is not closed.", len(tags)


_PAIR_TAGS = (("", "old"), ("/", "old"), ("", "new"), ("/", "new"))


def _parse_edit_element(
    text: str, tags: list[re.Match[str]], at: int
) -> tuple[EditFileCall | str, int]:
    """Parse an `<edit>`: pairs of `<old>` and `<new>` with nothing but white space between them."""
    attributes = _parse_attributes(tags[at], ("path", "all"))
    pairs: list[TextReplacement] = []
    every = isinstance(attributes, dict) and attributes.get("all") == "true"
    after = tags[at].end()
    index = at + 1
    while index < len(tags) and (tags[index][1], tags[index][2]) != ("/", "edit"):
        four = tags[index : index + 4]
        if (
            tuple((tag[1], tag[2]) for tag in four) != _PAIR_TAGS
            or text[after : four[0].start()].strip()
            or text[four[1].end() : four[2].start()].strip()
        ):
            return (
                "it holds something else than pairs of <old> and <new>, or their texts hold "
                "these tags.",
                _find_next_element(tags, index),
            )
        pairs.append(
            TextReplacement(
                _inner_text(text, four[0], four[1]), _inner_text(text, four[2], four[3]), every
            )
        )
        after = four[3].end()
        index += 4
    if index >= len(tags):
        return "it is not closed.", len(tags)
    if isinstance(attributes, str):
        return attributes, index + 1
    if not pairs or text[after : tags[index].start()].strip():
        return "it holds something else than pairs of <old> and <new>.", index + 1
    return EditFileCall(attributes["path"], tuple(pairs)), index + 1


def _inner_text(text: str, opening: re.Match[str], closing: re.Match[str]) -> str:
    return text[opening.end() : closing.start()].removeprefix("\n").removesuffix("\n")


def _find_next_element(tags: list[re.Match[str]], index: int) -> int:
    """Where parsing continues after a broken `<edit>`: after its end, or at the start of the next
    element.
    """
    while index < len(tags):
        tag = tags[index]
        if tag[2] in ("edit", "write"):
            return index + 1 if tag[1] else index
        index += 1
    return index


# Calls that a server passed on as text, because it does not know the model's own form of them.


_WRITTEN_CALL = lazy_pattern(
    r"<tool_call>\s*(\{.*?\})\s*</tool_call>|```\w*\s*(\{.*?\})\s*```", re.DOTALL
)


def parse_tool_calls_in_text(text: str) -> ParsedAnswerEdits:
    """Edits and reads that are in a text as tool calls: objects with a name and arguments, in
    tags or in a fence.
    """
    calls: list[EditFileCall | WriteFileCall] = []
    reads: list[ReadFileCall] = []
    for found in _WRITTEN_CALL.finditer(text):
        match _parse_written_call(found[1] or found[2]):
            case EditFileCall() | WriteFileCall() as call:
                calls.append(call)
            case ReadFileCall() as call:
                reads.append(call)
            case _:
                continue
    return ParsedAnswerEdits(tuple(calls), (), () if calls else tuple(reads[:MAX_TEXT_READS]))


def _parse_written_call(text: str) -> ForkToolCall | None:
    given = find_largest_json_object(text) or {}
    name = given.get("name")
    arguments = next(
        (given[key] for key in ("arguments", "parameters", "input") if key in given), None
    )
    if isinstance(arguments, str):
        arguments = find_largest_json_object(arguments)
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return None
    return parse_tool_call(ToolUse("", name, arguments))


# Edits as JSON, in the keys that models and the tools of agents give them.


_PATH_KEYS = ("path", "file", "filepath", "filename")
_OLD_KEYS = ("old", "oldstring", "oldtext", "oldstr", "search", "find")
_NEW_KEYS = ("new", "newstring", "newtext", "newstr", "replace", "replacement")
_WHOLE_KEYS = ("content", "text", "filetext", "body")
_KEY_MARKS = lazy_pattern(r"[\W_]+")
MAX_EDIT_OBJECTS = 60
"""Edits of one answer that are read, as in elements no model wrote more. It ends a loop."""
MAX_EDIT_DEPTH = 6
"""Objects and lists around an edit."""


def parse_edit_objects(text: str) -> ParsedAnswerEdits:
    """Edits that a text holds as JSON: objects with a path and an old and a new text, or the whole
    text of a file, in whatever lists and objects.
    """
    found = dict.fromkeys(_find_edits(find_object_or_wrap_list(text), "", MAX_EDIT_DEPTH))
    return ParsedAnswerEdits(tuple(found)[:MAX_EDIT_OBJECTS])


def _find_edits(value: object, path: str, depth: int) -> Iterator[EditFileCall | WriteFileCall]:
    if isinstance(value, list):
        for each in value if depth else ():
            yield from _find_edits(each, path, depth - 1)
    if not isinstance(value, dict):
        return
    given = {_KEY_MARKS.sub("", key).casefold(): each for key, each in value.items()}
    path = _first_text(given, _PATH_KEYS) or path
    old, new = _first_text(given, _OLD_KEYS), _first_text(given, _NEW_KEYS)
    whole = _first_text(given, _WHOLE_KEYS)
    if path and old and new is not None:
        yield EditFileCall(path, (TextReplacement(old, new),))
    elif path and whole and old is None and new is None:
        yield WriteFileCall(path, whole)
    else:
        for each in value.values() if depth else ():
            yield from _find_edits(each, path, depth - 1)


def _first_text(given: dict[str, object], keys: tuple[str, ...]) -> str | None:
    return next((text for key in keys if isinstance(text := given.get(key), str)), None)
