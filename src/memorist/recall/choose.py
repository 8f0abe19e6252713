"""Select the memories that are relevant enough to be shown (RC-1, RC-3). Pure.

A ranking always has a first place; that alone is no reason to show it. A memory is shown when
several words of the query occur in it, when one rare word occurs in its name or description, or
when its meaning is near.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from memorist.auto_memory.manifest import Head
from memorist.core.messages import Message, Origin
from memorist.recall.settings import RecallSettings

MIN_WORDS = 2
"""Words that a message needs to be searched for; "continue" and "yes" have too few (claude-code.md
section 7.6).
"""
NEAR = 0.45
"""Cosine, in a small sentence model, from which two short texts are about the same thing; unrelated
texts rarely exceed 0.3.
"""
QUERY_CHARACTERS = 4_000
"""Longest part of a message used as a query: its start. A pasted log would match everything."""


class Match(Struct, frozen=True, kw_only=True):
    """One memory that the query found."""

    path: str
    score: float
    words: tuple[str, ...] = ()
    """Words of the query that occur in it."""
    dense: float | None = None
    """Semantic similarity, -1 to 1; None without embeddings."""
    why: str = ""
    """One line for humans."""


class Pick(Struct, frozen=True):
    """A memory to show, and why."""

    path: str
    score: float
    why: str


def certain(
    matches: Sequence[Match], heads: Mapping[str, Head], settings: RecallSettings, *, without: Collection[str] = ()
) -> tuple[Pick, ...]:
    """Select the memories to show, best first, at most as many as the settings allow.

    `excluded_paths` are those already in the context.
    """
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
    """Count in how many matches each word occurs."""
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
    """List the tools called successfully since the user's last message, each once."""
    failed = {result.tool_use_id for message in messages for result in message.tool_results if result.is_error}
    names = [use.name for message in messages if message.origin is Origin.MODEL for use in message.tool_uses if use.id not in failed]
    return tuple(dict.fromkeys(names))
