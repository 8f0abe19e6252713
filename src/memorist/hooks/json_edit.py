"""Edit JSON as text, with or without comments: whatever does not change keeps its bytes, order and
layout. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import Any

from msgspec import Struct

from memorist.errors import InputError

MAX_JSON_DEPTH = 60
"""Deeper than any settings file."""
_BLANK = re.compile(r"[ \t\r\n]*")
_decode_json = json.JSONDecoder().raw_decode


class JsonNode(Struct, frozen=True):
    """A JSON value in the text: its start and end, and the members of an object or list."""

    start: int
    end: int
    value: Any
    members: tuple[JsonMember, ...] = ()

    def get_member(self, key: str) -> JsonNode | None:
        """The member of an object by key; the last one if a key is repeated, as in every JSON
        reader.
        """
        return next((member.node for member in reversed(self.members) if member.key == key), None)


class JsonMember(Struct, frozen=True):
    """A member of an object or list; `start` is the offset of its key."""

    start: int
    key: str
    node: JsonNode


def parse_json_tree(text: str) -> JsonNode:
    """Parse the text as a tree. Raises InputError unless it is a JSON object."""
    start = 1 if text.startswith("\ufeff") else 0
    try:
        root, end = _parse_node(text, _skip_blanks(text, start), 0)
    except IndexError as error:
        raise InputError("it is not valid JSON: it ends in the middle") from error
    except (ValueError, RecursionError) as error:
        comment = isinstance(error, json.JSONDecodeError) and text[error.pos : error.pos + 2] in (
            "//",
            "/*",
        )
        raise InputError(
            f"it is not valid JSON: "
            f"{error}{'; the agent reads no comments there either' if comment else ''}"
        ) from error
    if _skip_blanks(text, end) != len(text):
        raise InputError(f"it is not valid JSON: something follows the value, at character {end}")
    if not isinstance(root.value, dict):
        raise InputError("it is JSON, but not an object")
    return root


def _skip_blanks(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _parse_node(text: str, at: int, depth: int) -> tuple[JsonNode, int]:
    if depth > MAX_JSON_DEPTH:
        raise ValueError("it is nested too deeply")
    if text[at] not in "{[":
        value, end = _decode_json(text, at)
        return JsonNode(at, end, value), end
    members = tuple(_parse_members(text, at, depth))
    end = _skip_blanks(text, members[-1].node.end if members else at + 1) + 1
    values = [member.node.value for member in members]
    whole = (
        dict(zip((member.key for member in members), values, strict=True))
        if text[at] == "{"
        else values
    )
    return JsonNode(at, end, whole, members), end


def _parse_members(text: str, at: int, depth: int) -> Iterator[JsonMember]:
    closing = "}" if text[at] == "{" else "]"
    here = _skip_blanks(text, at + 1)
    if text[here] == closing:
        return
    while True:
        start, key = here, ""
        if closing == "}":
            if text[here] != '"':
                raise json.JSONDecodeError("a name in quotes is missing", text, here)
            key, here = _decode_json(text, here)
            here = _skip_blanks(text, here)
            if text[here] != ":":
                raise json.JSONDecodeError("a colon is missing", text, here)
            here = _skip_blanks(text, here + 1)
        node, here = _parse_node(text, here, depth + 1)
        yield JsonMember(start, key, node)
        here = _skip_blanks(text, here)
        if text[here] == closing:
            return
        if text[here] != ",":
            raise json.JSONDecodeError("a comma is missing", text, here)
        comma, here = here, _skip_blanks(text, here + 1)
        if text[here] == closing:
            raise json.JSONDecodeError("nothing follows a comma", text, comma)


def add_json_member(text: str, container: JsonNode, key: str, value: object) -> str:
    """Append a member to an object (named `key`) or a list, in the layout of its neighbours."""
    lines = (
        "\n" in text[container.start : container.end]
        or (not container.members and "\n" in text)
        or text.strip() == "{}"
    )
    unit = _indent_unit(text)
    outer = _indent_at(text, container.start)
    piece = json.dumps(value, ensure_ascii=False, indent=unit if lines else None)
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    if lines:
        before = end_of_line + (
            _indent_at(text, container.members[-1].start) if container.members else outer + unit
        )
        piece = piece.replace("\n", before)
    else:
        before = " " if container.members else ""
    piece = (
        f"{json.dumps(key, ensure_ascii=False)}: {piece}"
        if isinstance(container.value, dict)
        else piece
    )
    if container.members:
        position = container.members[-1].node.end
        return f"{text[:position]},{before}{piece}{text[position:]}"
    closing = end_of_line + outer if lines else ""
    return f"{text[: container.start + 1]}{before}{piece}{closing}{text[container.end - 1 :]}"


def _indent_at(text: str, at: int) -> str:
    """The indentation of the line that contains an offset."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_unit(text: str) -> str:
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def remove_json_member(text: str, container: JsonNode, index: int) -> str:
    """Remove the member at an index."""
    members = container.members
    if len(members) == 1:
        return f"{text[: container.start + 1]}{text[container.end - 1 :]}"
    if index:
        return f"{text[: members[index - 1].node.end]}{text[members[index].node.end :]}"
    return f"{text[: members[0].start]}{text[members[1].start :]}"


def replace_json_value(text: str, node: JsonNode, value: object) -> str:
    """Replace the value of a node."""
    unit = _indent_unit(text)
    lines = "\n" in text[node.start : node.end]
    piece = json.dumps(value, ensure_ascii=False, indent=unit if lines else None)
    return (
        text[: node.start]
        + piece.replace("\n", "\n" + _indent_at(text, node.start))
        + text[node.end :]
    )


def ensure_json_path(
    text: str, path: tuple[str, ...], kind: Callable[[], object]
) -> tuple[str, JsonNode]:
    """Ensure an object at each step of `path` and a value of type `kind` at its end; return the
    text and that node.

    Raises InputError if a value of another type is in the way.
    """
    node = parse_json_tree(text)
    for depth, key in enumerate(path):
        value = {} if depth < len(path) - 1 else kind()
        found = node.get_member(key)
        if found is None:
            text = add_json_member(text, node, key, value)
            return ensure_json_path(text, path, kind)
        if type(found.value) is not type(value):
            raise InputError(
                f"“{'.'.join(path[: depth + 1])}” in it is of another kind than the agent expects"
            )
        node = found
    return text, node


def remove_json_path(text: str, path: tuple[str, ...], keep: Sequence[str] = ()) -> str:
    """Remove the member at the end of a path, of a repeated key the last one as `get_member` finds
    it, and what becomes empty by that, unless it is to be kept.
    """
    above = parse_json_tree(text)
    for key in path[:-1]:
        above = above.get_member(key) or above
    if len(above.members) == 1 and len(path) > 1 and path[0] not in keep:
        return remove_json_path(text, path[:-1])
    return remove_json_member(
        text, above, max(i for i, each in enumerate(above.members) if each.key == path[-1])
    )


# Edit JSON that may have comments and commas before a closing bracket, as some agents read it:
# what is edited is the text with blanks in their place, and they come back where they stood.

_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*+")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:[^"\\\n]|\\.)*+")|,(?=[ \t\r\n]*[}\]])')
_SIGN = re.compile(r"[^\r\n]")
_IN_THE_WAY = (
    "a comment stands in what memorist would replace; take it out first, or write the entry "
    "yourself"
)


def blank_json_comments(text: str) -> str:
    """The text with a blank for each character of a comment, and for a comma that nothing follows:
    all else keeps its place.
    """
    for pattern in (_COMMENT, _LAST_COMMA):
        text = pattern.sub(lambda found: found[1] or _SIGN.sub(" ", found[0]), text)
    return text


def edit_json_with_comments(text: str, edit: Callable[[str], str]) -> str:
    """The text as `edit` changes it, with its comments. Raises InputError where the change takes
    one out, and what `edit` raises.
    """
    plain = blank_json_comments(text)
    edited = edit(plain)
    if edited == plain:
        return text
    start = _count_shared_signs(plain, edited)
    rest = min(len(plain), len(edited)) - start
    end = min(rest, _count_shared_signs(plain[::-1], edited[::-1]))
    stop = len(text) - end
    if text[start:stop] != plain[start:stop]:
        raise InputError(_IN_THE_WAY)
    return text[:start] + edited[start : len(edited) - end] + text[stop:]


def _count_shared_signs(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
