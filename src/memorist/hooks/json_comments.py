"""Edit JSON that may have comments and commas before a closing bracket, as some agents read it:
what is edited is the text with blanks in their place, and they come back where they stood. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import takewhile

from memorist.errors import InputError

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
