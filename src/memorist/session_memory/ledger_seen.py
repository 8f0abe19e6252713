"""Declarations and comments shown in tool results: code that was searched or read in part, and
files in a `git status`. Pure.

Only targeted reads count: search hits, or a read of some lines. A whole file shows too much to tell
what mattered.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from memorist.core.later import late_pattern
from memorist.session_memory.outcomes import KNOWN_ANSWERS

TARGETED_LIMIT = 4_000
"""Characters of a result that still counts as targeted."""

_LINE_LIMIT = 200
_SIGNATURES = 4
_COMMENTS = 5
_KEYWORDS = ("func", "function", "def", "class", "struct", "enum", "trait", "interface", "type", "fn", "impl")
_OPENINGS = ("/ ", "# ", "* ", "- ", *(f"{word} " for word in _KEYWORDS))
_INTEREST = late_pattern(
    "["
    + "".join({word[-1] for word in _KEYWORDS})
    + "/#*-] (?:"
    + "|".join(rf"(?<=\b{word} )" for word in _KEYWORDS)
    + "|(?<=[/#*-] )(?=[A-Z`\"'(]))"
)
"""A space after one of the keywords, or between a comment's sign and its text: anchored at its end,
which is three times as rare.
"""
_NUMBERED = late_pattern(r"^(?:\s*\d+(?:→|\t|:|-))")
_HIT = late_pattern(r"^([\w@./+-]+\.\w{1,5})[:-](\d+)[:-](.*)$")
_DECLARES = late_pattern(
    r"^\s*(?:export\s+)?(?:default\s+)?(?:pub(?:\([^)]*\))?\s+|public\s+|private\s+|static\s+|async\s+|abstract\s+)*"
    r"(?:func|function|def|class|struct|enum|trait|interface|type|fn|impl)\s+\(?\w.*$"
)
_COMMENT = late_pattern(r"^\s*(?:///?|#(?!!)|\*|--|<!--)\s+([A-Z`\"'(].{20,})$")
_CODE_FILE = late_pattern(r"\.(?!md|mdx|txt|json|rst|lock|html?|csv|log)\w{1,5}$")
_CODE = late_pattern(r"[;{}]\s*$|:=|=>|\)\s*\{")
_STATUS = late_pattern(r"^(?:\s*(?:modified|new file|deleted|renamed):\s+(\S.*)|(?:[ MADRCU?]{2})\s+(\S+)|\s{3}([\w./@-]+\.\w{1,5}))$")


class Seen(Struct, frozen=True):
    """What a result showed."""

    signatures: tuple[str, ...] = ()
    """Declarations, with `path:line` where the result gave it."""
    comments: str = ""
    """Text of comments and prose, line by line."""


@lru_cache(KNOWN_ANSWERS)
def seen_in(text: str, path: str) -> Seen:
    """Declarations and comments in a targeted read of code. `path` is the file read, for lines that
    name no file.
    """
    if len(text) > TARGETED_LIMIT:
        text = text[: TARGETED_LIMIT // 2]
    prose = bool(_CODE_FILE.search(path))
    signatures: list[str] = []
    comments: list[str] = []
    for raw in _interesting(text):
        place, code = _placed(raw, path)
        if len(code) > _LINE_LIMIT or len(code) < 12:
            continue
        if len(signatures) < _SIGNATURES and _DECLARES.match(code):
            signatures.append(f"`{code.strip().rstrip('{ ').strip()}`{place}")
        elif prose and len(comments) < _COMMENTS and (comment := _COMMENT.match(code)) and not _CODE.search(code):
            comments.append(comment[1].rstrip(" */->"))
    return Seen(tuple(each for each in signatures if each.count("`") == 2), "\n".join(comments))


def _interesting(text: str) -> Iterator[str]:
    """The lines that may hold a declaration or a comment."""
    if not any(map(text.__contains__, _OPENINGS)):
        return
    end = -1
    for hit in _INTEREST.finditer(text):
        if hit.start() <= end:
            continue
        start = text.rfind("\n", 0, hit.start()) + 1
        end = text.find("\n", hit.end())
        end = len(text) if end < 0 else end
        yield text[start:end]


def _placed(raw: str, path: str) -> tuple[str, str]:
    """The location of a result line, as ` (path:line)`, and its code."""
    hit = _HIT.match(raw)
    if hit:
        return f" ({hit[1]}:{hit[2]})", hit[3]
    number = _NUMBERED.match(raw)
    if number:
        digits = "".join(sign for sign in number[0] if sign.isdigit())
        return (f" ({path}:{digits})" if path else ""), raw[number.end() :]
    return (f" ({path})" if path else ""), raw


def in_status(text: str) -> tuple[str, ...]:
    """The files that a `git status` lists."""
    found = (match for line in text.split("\n")[:80] if (match := _STATUS.match(line)))
    return tuple(dict.fromkeys(next(part for part in match.groups() if part).strip() for match in found))
