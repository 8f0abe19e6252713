"""The JSON object in the text of a model's answer: with words around it, or cut off. Pure."""

from __future__ import annotations

import json
import re

from memorist.core.lazy import lazy_pattern
from memorist.core.messages import JsonObject

MAX_BRACES = 200
"""Opening braces of one text at which an object is looked for."""


def find_json_object(text: str) -> JsonObject | None:
    """The largest JSON object in a text, with a fence, words or other braces around it; of one that
    was cut off, what was complete. None where there is none.
    """
    decoder = json.JSONDecoder(strict=False)
    found: JsonObject | None = None
    size = at = 0
    first = text.find("{")
    is_cut = False
    for _ in range(MAX_BRACES):
        if (at := text.find("{", at)) < 0:
            # Of an object that was cut off, one of its parts is complete, but not the answer.
            return (_close_cut_object(text) if is_cut else None) or found
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            is_cut |= at == first
            at += 1
            continue
        if end - at > size:
            found, size = value, end - at
        at = end
    return found


def _close_cut_object(text: str) -> JsonObject | None:
    """The object that begins at the first brace, up to its last complete value."""
    start = text.find("{")
    ends = _complete_ends(text, start) if start >= 0 else []
    for end, closers in reversed(ends[-2:]):
        try:
            value = json.loads(text[start:end] + closers, strict=False)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return None


def _complete_ends(text: str, start: int) -> list[tuple[int, str]]:
    """Where a value ended, and what would close the object there."""
    open_brackets: list[str] = []
    ends: list[tuple[int, str]] = []
    for piece in _JSON_PIECE.finditer(text, start):
        match piece[0]:
            case "{" | "[":
                open_brackets.append("}" if piece[0] == "{" else "]")
            case "}" | "]" if open_brackets:
                open_brackets.pop()
                ends.append((piece.end(), "".join(reversed(open_brackets))))
            case ",":
                ends.append((piece.start(), "".join(reversed(open_brackets))))
            case _:
                continue
    return ends


_JSON_PIECE = lazy_pattern(r'"(?:[^"\\]|\\.)*"?|[\[\]{},]', re.DOTALL)
