"""Edits that a model writes in the text of its answer, for hosts without file tools (FK-6). Pure.

Two forms, both memorist's own. Elements, anywhere in the text:

    <edit path="PATH"><old>TEXT</old><new>TEXT</new></edit>   one or more pairs
    <write path="PATH">TEXT</write>

An `<edit>` with `all="true"` replaces every occurrence. One line end directly after `<old>`,
`<new>` or `<write …>` is not part of the text, nor one directly before `</old>` or `</new>`; the
one before `</write>` is. Nothing is unescaped. Or one JSON object, for small models: `{"edits":
[{"path": …, "old": …, "new": …}]}`.

What does not fit is reported and skipped, never guessed.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from memorist.core.messages import JsonObject
from memorist.forks.calls import EditFile, Replacement, WriteFile

JSON_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "old": {"type": "string"}, "new": {"type": "string"}},
                "required": ["path", "old", "new"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["edits"],
    "additionalProperties": False,
}
"""The JSON form as a schema, for models whose server can constrain the answer to one."""


class TextEdits(Struct, frozen=True):
    """The edits of an answer in order, and one sentence for each piece that could not be parsed."""

    calls: tuple[EditFile | WriteFile, ...]
    problems: tuple[str, ...] = ()


_TAG = re.compile(r"<(/?)(edit|write|old|new)((?:\s[^<>]*)?)>")
_ATTRIBUTE = re.compile(r"""\s+([A-Za-z_]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


def parse_elements(text: str) -> TextEdits:
    """Parse the edit elements in an answer, in linear time."""
    tags = list(_TAG.finditer(text))
    calls: list[EditFile | WriteFile] = []
    problems: list[str] = []
    at = 0
    while at < len(tags):
        tag = tags[at]
        if tag[1] or tag[2] not in ("edit", "write"):
            at += 1
            continue
        found, at = (_edit if tag[2] == "edit" else _write)(text, tags, at)
        if isinstance(found, str):
            problems.append(f"{tag[0][:120]}: {found}")
        else:
            calls.append(found)
    return TextEdits(tuple(calls), tuple(problems))


def _attributes(tag: re.Match[str], allowed: tuple[str, ...]) -> dict[str, str] | str:
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


def _write(text: str, tags: list[re.Match[str]], at: int) -> tuple[WriteFile | str, int]:
    """Parse a `<write>`. Other tags inside are text, but the start of another element means that
    this one was not closed.
    """
    opening = tags[at]
    attributes = _attributes(opening, ("path",))
    for index in range(at + 1, len(tags)):
        tag = tags[index]
        if tag[1] and tag[2] == "write":
            if isinstance(attributes, str):
                return attributes, index + 1
            return WriteFile(attributes["path"], text[opening.end() : tag.start()].removeprefix("\n")), index + 1
        if not tag[1] and tag[2] in ("edit", "write") and "path" in tag[3]:
            return "it is not closed before the next one begins.", index
    return "it is not closed.", len(tags)


_PAIR = (("", "old"), ("/", "old"), ("", "new"), ("/", "new"))


def _edit(text: str, tags: list[re.Match[str]], at: int) -> tuple[EditFile | str, int]:
    """Parse an `<edit>`: pairs of `<old>` and `<new>` with nothing but white space between them."""
    attributes = _attributes(tags[at], ("path", "all"))
    pairs: list[Replacement] = []
    every = isinstance(attributes, dict) and attributes.get("all") == "true"
    after = tags[at].end()
    index = at + 1
    while index < len(tags) and (tags[index][1], tags[index][2]) != ("/", "edit"):
        four = tags[index : index + 4]
        if (
            tuple((tag[1], tag[2]) for tag in four) != _PAIR
            or text[after : four[0].start()].strip()
            or text[four[1].end() : four[2].start()].strip()
        ):
            return "it holds something else than pairs of <old> and <new>, or their texts hold these tags.", _next_element(tags, index)
        pairs.append(Replacement(_inside(text, four[0], four[1]), _inside(text, four[2], four[3]), every))
        after = four[3].end()
        index += 4
    if index >= len(tags):
        return "it is not closed.", len(tags)
    if isinstance(attributes, str):
        return attributes, index + 1
    if not pairs or text[after : tags[index].start()].strip():
        return "it holds something else than pairs of <old> and <new>.", index + 1
    return EditFile(attributes["path"], tuple(pairs)), index + 1


def _inside(text: str, opening: re.Match[str], closing: re.Match[str]) -> str:
    return text[opening.end() : closing.start()].removeprefix("\n").removesuffix("\n")


def _next_element(tags: list[re.Match[str]], index: int) -> int:
    """Where parsing continues after a broken `<edit>`: after its end, or at the start of the next
    element.
    """
    while index < len(tags):
        tag = tags[index]
        if tag[2] in ("edit", "write"):
            return index + 1 if tag[1] else index
        index += 1
    return index


def parse_json(text: str) -> TextEdits:
    """Parse the JSON form: the whole answer, or the object between its first and last brace (with a
    code fence or words around it).
    """
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return TextEdits((), ("The answer holds no JSON object.",))
    try:
        decoded = msgspec.json.decode(text[start : end + 1])
    except (msgspec.DecodeError, ValueError, RecursionError) as problem:
        return TextEdits((), (f"The answer is not valid JSON: {str(problem)[:120]}.",))
    edits = decoded.get("edits") if isinstance(decoded, dict) else None
    if not isinstance(edits, list):
        return TextEdits((), ("The JSON object has no list `edits`.",))
    calls: list[EditFile | WriteFile] = []
    problems: list[str] = []
    for number, edit in enumerate(edits, start=1):
        fields = [edit.get(key) if isinstance(edit, dict) else None for key in ("path", "old", "new")]
        path, old, new = (field if isinstance(field, str) else None for field in fields)
        if path and old is not None and new is not None:
            calls.append(EditFile(path, (Replacement(old, new),)))
        else:
            problems.append(f"Edit {number} needs the texts `path`, `old` and `new`.")
    return TextEdits(tuple(calls), tuple(problems))
