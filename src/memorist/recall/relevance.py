"""Select the memories that are relevant enough to be shown (RC-1, RC-3). Pure.

A ranking always has a first place; that alone is no reason to show it. A memory is shown when
several words of the query occur in it, when one rare word occurs in its name or description, or
when its meaning is near.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import msgspec
from msgspec import Struct

from memorist.auto_memory.index import MemoryHeader, render_manifest
from memorist.core.markdown import render_template
from memorist.core.messages import Message, Origin
from memorist.core.tokens import truncate_middle
from memorist.settings import RecallSettings

MIN_QUERY_WORDS = 2
"""Words that a message needs to be searched for; "continue" and "yes" have too few (claude-code.md
section 7.6).
"""
MIN_SIMILARITY = 0.45
"""Cosine, in a small sentence model, from which two short texts are about the same thing; unrelated
texts rarely exceed 0.3.
"""
MAX_QUERY_CHARS = 4_000
"""Longest part of a message used as a query: its start. A pasted log would match everything."""


class MemoryMatch(Struct, frozen=True, kw_only=True):
    """One memory that the query found."""

    path: str
    score: float
    words: tuple[str, ...] = ()
    """Words of the query that occur in it."""
    dense: float | None = None
    """Semantic similarity, -1 to 1; None without embeddings."""
    why: str = ""
    """One line for humans."""


class MemorySelection(Struct, frozen=True):
    """A memory to show, and why."""

    path: str
    score: float
    why: str


def select_relevant(
    matches: Sequence[MemoryMatch],
    headers: Mapping[str, MemoryHeader],
    settings: RecallSettings,
    *,
    excluded_paths: Collection[str] = (),
) -> tuple[MemorySelection, ...]:
    """Select the memories to show, best first, at most as many as the settings allow.

    `excluded_paths` are those already in the context.
    """
    spread = _count_word_matches(matches)
    found = []
    for match in matches:
        head = headers.get(match.path)
        if head is None or match.path in excluded_paths or head.status != "active":
            continue
        why = _explain_selection(match, head, spread)
        if why:
            found.append(MemorySelection(match.path, match.score, why))
    return tuple(found[: settings.limit])


def _count_word_matches(matches: Sequence[MemoryMatch]) -> dict[str, int]:
    """Count in how many matches each word occurs."""
    counts: dict[str, int] = {}
    for match in matches:
        for word in match.words:
            counts[word] = counts.get(word, 0) + 1
    return counts


def _explain_selection(match: MemoryMatch, head: MemoryHeader, spread: Mapping[str, int]) -> str:
    title = f"{head.name} {head.description}".casefold()
    words = list(dict.fromkeys(match.words))
    telling = [
        word for word in words if len(word) >= 4 and word.casefold() in title and spread[word] <= 2
    ]
    if len(words) >= 2 or telling:
        return "words: " + ", ".join(words[:6])
    if match.dense is not None and match.dense >= MIN_SIMILARITY:
        return f"meaning: {match.dense:.2f}"
    return ""


def is_searchable(query: str) -> bool:
    """Whether a message has enough words to search for."""
    return (
        len(query.split()) >= MIN_QUERY_WORDS
        or sum("\u3040" <= letter <= "\u9fff" or "\uac00" <= letter <= "\ud7af" for letter in query)
        >= MIN_QUERY_WORDS
    )


def list_tools_used(messages: Sequence[Message]) -> tuple[str, ...]:
    """List the tools called successfully since the user's last message, each once."""
    failed = {
        result.tool_use_id
        for message in messages
        for result in message.tool_results
        if result.is_error
    }
    names = [
        use.name
        for message in messages
        if message.origin is Origin.MODEL
        for use in message.tool_uses
        if use.id not in failed
    ]
    return tuple(dict.fromkeys(names))


# Selection of memories by a model: its prompt, and the parsing of its answer (RC-2). Pure.


MAX_ANSWER_TOKENS = 256
"""Longest answer (claude-code.md section 7.6)."""
MAX_QUERY_TOKENS = 2_000
"""Longest part of the user's message that the selection is made from."""
_JSON_OBJECT = re.compile(r"\{[^{}]*\}")


def render_selection_prompt(
    prompt: str,
    headers: Sequence[MemoryHeader],
    *,
    query: str,
    tools: Sequence[str],
    limit: int,
    scan_files: int,
) -> str:
    """Render the prompt from its template."""
    used = f"The assistant has just used these tools: {', '.join(tools)}.\n" if tools else ""
    values = {
        "limit": str(limit),
        "manifest": render_manifest(headers, limit=scan_files),
        "query": truncate_middle(query, MAX_QUERY_TOKENS),
        "tools": used,
    }
    return render_template(prompt, values, strict=True)


def parse_selection(answer: str, allowed: Collection[str], limit: int) -> tuple[str, ...]:
    """Parse the selected names that are in `allowed`, each once, at most `limit`.

    None where the answer contains no such JSON object.
    """
    for match in _JSON_OBJECT.finditer(answer):
        try:
            found = msgspec.json.decode(match[0])
        except msgspec.DecodeError:
            continue
        names = found.get("selected_memories") if isinstance(found, dict) else None
        if isinstance(names, list):
            known = [name for name in names if isinstance(name, str) and name in allowed]
            return tuple(dict.fromkeys(known))[:limit]
    return ()


# Explain in one line why an entry was found. Pure.


def explain_match(
    matched: Sequence[str], *, around: bool, by_author: bool, cosine: float | None
) -> str:
    """Explain a match: the words, or that they occur around it; the author; the similarity."""
    parts = []
    if matched:
        parts.append("has " + ", ".join(matched))
    elif around:
        parts.append("stands beside what was asked for")
    if by_author:
        parts.append("by the one named")
    if cosine is not None:
        parts.append(f"meaning {cosine:.2f}")
    return "; ".join(parts)
