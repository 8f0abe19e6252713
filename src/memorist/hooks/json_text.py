"""Edit JSON as text: whatever does not change keeps its bytes, order and layout. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from memorist.errors import InputError

DEPTH = 60
"""Deeper than any settings file."""
_BLANK = re.compile(r"[ \t\r\n]*")
_decode = json.JSONDecoder().raw_decode


class Node(Struct, frozen=True):
    """A JSON value in the text: its start and end, and the members of an object or list."""

    start: int
    end: int
    value: Any
    members: tuple[Member, ...] = ()

    def get(self, key: str) -> Node | None:
        """The member of an object by key; the last one if a key is repeated, as in every JSON
        reader.
        """
        return next((member.node for member in reversed(self.members) if member.key == key), None)


class Member(Struct, frozen=True):
    """A member of an object or list; `start` is the offset of its key."""

    start: int
    key: str
    node: Node


def parse(text: str) -> Node:
    """Parse the text as a tree. Raises InputError unless it is a JSON object."""
    start = 1 if text.startswith("\ufeff") else 0
    try:
        root, end = _node(text, _skip(text, start), 0)
    except IndexError as error:
        raise InputError("it is not valid JSON: it ends in the middle") from error
    except (ValueError, RecursionError) as error:
        comment = isinstance(error, json.JSONDecodeError) and text[error.pos : error.pos + 2] in ("//", "/*")
        raise InputError(f"it is not valid JSON: {error}{'; the agent reads no comments there either' if comment else ''}") from error
    if _skip(text, end) != len(text):
        raise InputError(f"it is not valid JSON: something follows the value, at character {end}")
    if not isinstance(root.value, dict):
        raise InputError("it is JSON, but not an object")
    return root


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _node(text: str, at: int, depth: int) -> tuple[Node, int]:
    if depth > DEPTH:
        raise ValueError("it is nested too deeply")
    if text[at] not in "{[":
        value, end = _decode(text, at)
        return Node(at, end, value), end
    members = tuple(_members(text, at, depth))
    end = _skip(text, members[-1].node.end if members else at + 1) + 1
    values = [member.node.value for member in members]
    whole = dict(zip((member.key for member in members), values, strict=True)) if text[at] == "{" else values
    return Node(at, end, whole, members), end


def _members(text: str, at: int, depth: int) -> Iterator[Member]:
    closing = "}" if text[at] == "{" else "]"
    here = _skip(text, at + 1)
    if text[here] == closing:
        return
    while True:
        start, key = here, ""
        if closing == "}":
            if text[here] != '"':
                raise json.JSONDecodeError("a name in quotes is missing", text, here)
            key, here = _decode(text, here)
            here = _skip(text, here)
            if text[here] != ":":
                raise json.JSONDecodeError("a colon is missing", text, here)
            here = _skip(text, here + 1)
        node, here = _node(text, here, depth + 1)
        yield Member(start, key, node)
        here = _skip(text, here)
        if text[here] == closing:
            return
        if text[here] != ",":
            raise json.JSONDecodeError("a comma is missing", text, here)
        here = _skip(text, here + 1)


def added(text: str, within: Node, key: str, value: object) -> str:
    """Append a member to an object (named `key`) or a list, in the layout of its neighbours."""
    lines = "\n" in text[within.start : within.end] or (not within.members and "\n" in text) or text.strip() == "{}"
    unit = _unit(text)
    outer = _indent(text, within.start)
    piece = json.dumps(value, ensure_ascii=False, indent=unit if lines else None)
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    if lines:
        before = end_of_line + (_indent(text, within.members[-1].start) if within.members else outer + unit)
        piece = piece.replace("\n", before)
    else:
        before = " " if within.members else ""
    piece = f"{json.dumps(key, ensure_ascii=False)}: {piece}" if isinstance(within.value, dict) else piece
    if within.members:
        place = within.members[-1].node.end
        return f"{text[:place]},{before}{piece}{text[place:]}"
    closing = end_of_line + outer if lines else ""
    return f"{text[: within.start + 1]}{before}{piece}{closing}{text[within.end - 1 :]}"


def _indent(text: str, at: int) -> str:
    """The indentation of the line that contains an offset."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def removed(text: str, within: Node, place: int) -> str:
    """Remove the member at an index."""
    members = within.members
    if len(members) == 1:
        return f"{text[: within.start + 1]}{text[within.end - 1 :]}"
    if place:
        return f"{text[: members[place - 1].node.end]}{text[members[place].node.end :]}"
    return f"{text[: members[0].start]}{text[members[1].start :]}"


def replaced(text: str, member: Node, value: object) -> str:
    """Replace the value of a node."""
    unit = _unit(text)
    lines = "\n" in text[member.start : member.end]
    piece = json.dumps(value, ensure_ascii=False, indent=unit if lines else None)
    return text[: member.start] + piece.replace("\n", "\n" + _indent(text, member.start)) + text[member.end :]


def under(text: str, path: tuple[str, ...], kind: Callable[[], object]) -> tuple[str, Node]:
    """Ensure an object at each step of `path` and a value of type `kind` at its end; return the
    text and that node.

    Raises InputError if a value of another type is in the way.
    """
    node = parse(text)
    for depth, key in enumerate(path):
        made = {} if depth < len(path) - 1 else kind()
        found = node.get(key)
        if found is None:
            text = added(text, node, key, made)
            return under(text, path, kind)
        if type(found.value) is not type(made):
            raise InputError(f"“{'.'.join(path[: depth + 1])}” in it is of another kind than the agent expects")
        node = found
    return text, node
