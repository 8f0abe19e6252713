"""The JSON object in the text of a model's answer: with words around it, or cut off. Pure."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Sequence

from memorist.core.lazy import lazy_pattern
from memorist.core.messages import JsonObject

MAX_WRAPPING_LEVELS = 40
"""Levels of objects and lists around an answer that are looked into: a model in a loop opens
hundreds.
"""
MAX_OPENING_BRACES = 200
"""Opening braces of one text at which an object is looked for."""


def find_largest_json_object(text: str) -> JsonObject | None:
    """The largest JSON object in a text, with a fence, words or other braces around it; of one that
    was cut off, what was complete. Comments, trailing commas, single quotes and the constants of
    Python are read as what they mean. None where there is none.
    """
    found, is_broken = _find_largest(text)
    if not is_broken:
        return found
    relaxed, is_cut = _find_largest(_to_strict_json(text[text.find("{") :]))
    if relaxed is not None and not is_cut:
        return relaxed
    # Of an object that was cut off, one of its parts is complete, but not the answer.
    return _close_cut_object(text) or found


def find_object_or_wrap_list(text: str) -> JsonObject | None:
    """The same; a list of objects without an object around it comes as its only value."""
    before, bracket, items = text.partition("[")
    if bracket and "{" in items and "{" not in before:
        end = items.rfind("]") + 1
        text = f'{{"items": [{items[:end] if end else items}}}'
    return find_largest_json_object(text)


def find_json_object_with_any_key(
    value: object, *keys: str, levels: int = MAX_WRAPPING_LEVELS
) -> JsonObject | None:
    """The object that has one of these keys, in an answer or in what is wrapped around it: lists,
    objects, a call's arguments, an object written as a text. Keys in another case, or joined by
    other marks, come back as they are spelled here.
    """
    if isinstance(value, dict) and (found := _respell_keys(value, keys)):
        return found
    nested = (
        find_json_object_with_any_key(each, *keys, levels=levels - 1)
        for each in (_list_nested(value) if levels else ())
    )
    return next(filter(None, nested), None)


def list_json_objects_with_all_keys(
    value: object, *keys: str, levels: int = MAX_WRAPPING_LEVELS
) -> list[JsonObject]:
    """All objects that have every one of these keys, in an answer or in what is wrapped around
    them.
    """
    if isinstance(value, dict):
        found = _respell_keys(value, keys)
        if all(key in found for key in keys):
            return [found]
    return [
        found
        for each in (_list_nested(value) if levels else ())
        for found in list_json_objects_with_all_keys(each, *keys, levels=levels - 1)
    ]


def _list_nested(value: object) -> list[object]:
    match value:
        case dict():
            return list(value.values())
        case list():
            return value
        case str() if "{" in value:
            return [find_largest_json_object(value)]
        case _:
            return []


def _respell_keys(value: JsonObject, keys: Sequence[str]) -> JsonObject:
    """The object with its keys as they are spelled here, of those that are; empty without any."""
    spelled = {_plain_key(key): key for key in keys}
    given = {
        spelled[plain]: each for key, each in value.items() if (plain := _plain_key(key)) in spelled
    }
    return given | {key: value[key] for key in keys if key in value}


def _plain_key(key: str) -> str:
    return _KEY_MARKS.sub("", key).casefold()


_KEY_MARKS = lazy_pattern(r"[\W_]+")


def _find_largest(text: str) -> tuple[JsonObject | None, bool]:
    """The largest object, and whether none could be read at the first brace."""
    decoder = json.JSONDecoder(strict=False)
    found: JsonObject | None = None
    size = at = 0
    first = text.find("{")
    is_broken = False
    for _ in range(MAX_OPENING_BRACES):
        if (at := text.find("{", at)) < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            is_broken |= at == first
            at += 1
            continue
        if end - at > size:
            found, size = value, end - at
        at = end
    return found, is_broken


def _to_strict_json(text: str) -> str:
    """The text without comments and trailing commas, with double quotes and JSON's constants."""
    return _TRAILING_COMMA.sub(lambda found: found[1] or "", _LOOSE_PIECE.sub(_to_strict, text))


def _to_strict(found: re.Match[str]) -> str:
    if found[2] is not None:
        inner = found[2].replace("\\'", "'").replace('"', '\\"')
        return f'"{inner}"'
    return found[1] or _CONSTANTS.get(found[3], "")


_CONSTANTS = {"None": "null", "True": "true", "False": "false"}
_LOOSE_PIECE = lazy_pattern(
    r"""("(?:[^"\\]|\\.)*"?)|'((?:[^'\\\n]|\\.)*)'|//[^\n]*|\#[^\n]*|/\*(?:.*?\*/|.*\Z)"""
    r"""|\b(None|True|False)\b""",
    re.DOTALL,
)
_TRAILING_COMMA = lazy_pattern(r"""("(?:[^"\\]|\\.)*"?)|,(?=\s*[}\]])""", re.DOTALL)


def _close_cut_object(text: str) -> JsonObject | None:
    """The object that begins at the first brace, up to its last complete value."""
    start = text.find("{")
    for end, open_brackets in reversed(_list_last_ends(text, start) if start >= 0 else ()):
        try:
            value = json.loads(text[start:end] + _close(open_brackets), strict=False)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return None


_OpenBrackets = tuple[str, "_OpenBrackets"] | None
"""What closes the innermost bracket, and the brackets around it."""


def _list_last_ends(text: str, start: int) -> list[tuple[int, _OpenBrackets]]:
    """Where the last two values ended, and the brackets that were open there."""
    open_brackets: _OpenBrackets = None
    ends: deque[tuple[int, _OpenBrackets]] = deque(maxlen=2)
    for piece in _JSON_PIECE.finditer(text, start):
        match piece[0]:
            case "{" | "[":
                open_brackets = ("}" if piece[0] == "{" else "]", open_brackets)
            case "}" | "]" if open_brackets:
                open_brackets = open_brackets[1]
                ends.append((piece.end(), open_brackets))
            case ",":
                ends.append((piece.start(), open_brackets))
            case _:
                continue
    return list(ends)


def _close(open_brackets: _OpenBrackets) -> str:
    closers = []
    while open_brackets is not None:
        closer, open_brackets = open_brackets
        closers.append(closer)
    return "".join(closers)


_JSON_PIECE = lazy_pattern(r'"(?:[^"\\]|\\.)*"?|[\[\]{},]', re.DOTALL)
