"""Code that a session was shown: the lines of files and searches that say most of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from memorist.core.lazy import lazy_pattern
from memorist.transcript_analysis.call_outcome import OUTCOME_CACHE_SIZE

MAX_TARGETED_CHARACTERS = 4_000
"""Characters of a result that still counts as targeted."""


_SHOWN_LINE_LIMIT = 200


_SIGNATURES = 4


_COMMENTS = 5


_KEYWORDS = (
    "func", "function", "def", "class", "struct", "enum", "trait", "interface", "type", "fn",
    "impl",
)  # fmt: skip


_OPENINGS = ("/ ", "# ", "* ", "- ", *(f"{word} " for word in _KEYWORDS))


_INTERESTING_SPACE = lazy_pattern(
    "["
    + "".join({word[-1] for word in _KEYWORDS})
    + "/#*-] (?:"
    + "|".join(rf"(?<=\b{word} )" for word in _KEYWORDS)
    + "|(?<=[/#*-] )(?=[A-Z`\"'(]))"
)
"""A space after one of the keywords, or between a comment's sign and its text: anchored at its end,
which is three times as rare.
"""


_NUMBERED = lazy_pattern(r"^(?:\s*\d+(?:→|\t|:|-))")


_HIT = lazy_pattern(r"^([\w@./+-]+\.\w{1,5})[:-](\d+)[:-](.*)$")


_SHOWN_DECLARATION = lazy_pattern(
    r"^\s*(?:export\s+)?(?:default\s+)?(?:pub(?:\([^)]*\))?\s+|public\s+|private\s+|static\s+|"
    r"async\s+|abstract\s+)*"
    r"(?:func|function|def|class|struct|enum|trait|interface|type|fn|impl)\s+\(?\w.*$"
)


_SHOWN_COMMENT = lazy_pattern(r"^\s*(?:///?|#(?!!)|\*|--|<!--)\s+([A-Z`\"'(].{20,})$")


_LICENSE = lazy_pattern(
    r"\b(?:copyright|all rights reserved|spdx-license|licen[cs]ed under|-style licen[cs]e|"
    r"licen[cs]e (?:agreement|text|notice|file)|without (?:any )?warrant(?:y|ies)|governed by)\b"
    r"|^this (?:source )?file is part of\b",
    re.IGNORECASE,
)
"""A line of the licence at the head of a file, which says nothing of its code."""


_CODE_FILE = lazy_pattern(r"\.(?!md|mdx|txt|json|rst|lock|html?|csv|log)\w{1,5}$")


_SHOWN_CODE = lazy_pattern(r"[;{}]\s*$|:=|=>|\)\s*\{")


class CodeOutline(Struct, frozen=True):
    """What a result showed."""

    signatures: tuple[str, ...] = ()
    """Declarations, with `path:line` where the result gave it."""
    comments: str = ""
    """Text of comments and prose, line by line."""


@lru_cache(OUTCOME_CACHE_SIZE)
def extract_code_outline(text: str, path: str) -> CodeOutline:
    """Declarations and comments in a targeted read of code. `path` is the file read, for lines that
    name no file.
    """
    if len(text) > MAX_TARGETED_CHARACTERS:
        text = text[: MAX_TARGETED_CHARACTERS // 2]
    prose = bool(_CODE_FILE.search(path))
    signatures: list[str] = []
    comments: list[str] = []
    for raw in _interesting_lines(text):
        position, code = _locate_line(raw, path)
        if len(code) > _SHOWN_LINE_LIMIT or len(code) < 12:
            continue
        if len(signatures) < _SIGNATURES and _SHOWN_DECLARATION.match(code):
            signatures.append(f"`{code.strip().rstrip('{ ').strip()}`{position}")
        elif (
            prose
            and len(comments) < _COMMENTS
            and (comment := _SHOWN_COMMENT.match(code))
            and not _SHOWN_CODE.search(code)
            and not _LICENSE.search(comment[1])
        ):
            comments.append(comment[1].rstrip(" */->"))
    return CodeOutline(
        tuple(each for each in signatures if each.count("`") == 2), "\n".join(comments)
    )


def _interesting_lines(text: str) -> Iterator[str]:
    """The lines that may hold a declaration or a comment."""
    if not any(map(text.__contains__, _OPENINGS)):
        return
    end = -1
    for hit in _INTERESTING_SPACE.finditer(text):
        if hit.start() <= end:
            continue
        start = text.rfind("\n", 0, hit.start()) + 1
        end = text.find("\n", hit.end())
        end = len(text) if end < 0 else end
        yield text[start:end]


def _locate_line(raw: str, path: str) -> tuple[str, str]:
    """The location of a result line, as ` (path:line)`, and its code."""
    hit = _HIT.match(raw)
    if hit:
        return f" ({hit[1]}:{hit[2]})", hit[3]
    number = _NUMBERED.match(raw)
    if number:
        digits = "".join(sign for sign in number[0] if sign.isdigit())
        return (f" ({path}:{digits})" if path else ""), raw[number.end() :]
    return (f" ({path})" if path else ""), raw
