"""Which of the memories that a query found are certain enough to be shown (RC-1, RC-3). Pure.

A ranking always has a first place; that alone is no reason to show it. A memory is shown when several words of the query stand in it, or when one does
that hardly any other memory holds and that stands in its name or description, or when its meaning is near.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from memorist.auto_memory.manifest import Head
from memorist.core.messages import Message, Origin
from memorist.recall.settings import RecallSettings

MIN_WORDS = 2
"""Words of a message that is worth a search; "continue" and "yes" are not (claude-code.md section 7.6)."""
NEAR = 0.45
"""Cosine of a small sentence model from which two short texts speak of the same thing; below 0.3 they hardly ever do."""
QUERY_CHARACTERS = 4_000
"""Longest part of a message that is searched for: its start. A pasted log finds everything."""


class Match(Struct, frozen=True, kw_only=True):
    """One memory that the query found."""

    path: str
    score: float
    words: tuple[str, ...] = ()
    """Words of the query that stand in it."""
    dense: float | None = None
    """Nearness of meaning, -1 to 1; None without embeddings."""
    why: str = ""
    """One line for people."""


class Pick(Struct, frozen=True):
    """A memory to show, and why."""

    path: str
    score: float
    why: str


def certain(
    matches: Sequence[Match], heads: Mapping[str, Head], settings: RecallSettings, *, without: Collection[str] = ()
) -> tuple[Pick, ...]:
    """The memories to show, best first, at most as many as the settings allow; `without` are those that are in the context already."""
    spread = _spread(matches)
    found = []
    for match in matches:
        head = heads.get(match.path)
        if head is None or match.path in without or head.status != "active":
            continue
        why = _why(match, head, spread)
        if why:
            found.append(Pick(match.path, match.score, why))
    return tuple(found[: settings.limit])


def _spread(matches: Sequence[Match]) -> dict[str, int]:
    """In how many of the matches each word stands."""
    counts: dict[str, int] = {}
    for match in matches:
        for word in match.words:
            counts[word] = counts.get(word, 0) + 1
    return counts


def _why(match: Match, head: Head, spread: Mapping[str, int]) -> str:
    title = f"{head.name} {head.description}".casefold()
    words = list(dict.fromkeys(match.words))
    telling = [word for word in words if len(word) >= 4 and word.casefold() in title and spread[word] <= 2]
    if len(words) >= 2 or telling:
        return "words: " + ", ".join(words[:6])
    if match.dense is not None and match.dense >= NEAR:
        return f"meaning: {match.dense:.2f}"
    return ""


def worth_asking(query: str) -> bool:
    """Whether a message has enough words to search for."""
    return (
        len(query.split()) >= MIN_WORDS
        or sum("\u3040" <= letter <= "\u9fff" or "\uac00" <= letter <= "\ud7af" for letter in query) >= MIN_WORDS
    )


def tools_used(messages: Sequence[Message]) -> tuple[str, ...]:
    """Names of the tools that were called since the person spoke last and did not fail, each once."""
    failed = {result.tool_use_id for message in messages for result in message.tool_results if result.is_error}
    names = [use.name for message in messages if message.origin is Origin.MODEL for use in message.tool_uses if use.id not in failed]
    return tuple(dict.fromkeys(names))
