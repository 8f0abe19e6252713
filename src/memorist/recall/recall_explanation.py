"""What a message would recall, and why what was found for it is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_manifest import MemoryHeader
from memorist.recall.memory_search import EMBEDDING_WAIT_SECONDS, open_memory_search
from memorist.recall.memory_selection import (
    MemoryMatch,
    SelectedMemory,
    explain_memory_omission,
    select_relevant_memories,
)
from memorist.recall.reachable_memory import ReachableMemory
from memorist.settings import RecallSettings


class RecallExplanation(Struct, frozen=True, kw_only=True):
    """What a message would have shown, and what was found for it and is left out."""

    heads: Mapping[str, MemoryHeader]
    """Every memory, by path."""
    shown: tuple[SelectedMemory, ...]
    left_out: tuple[tuple[str, str], ...]
    """Path and reason, nearest first."""
    is_by_words_alone: bool
    """Whether what the memories mean is still being computed."""


def explain_recall(
    memory: AutoMemory,
    settings: RecallSettings,
    query: str,
    limit: int,
    *,
    embedding_wait: float = EMBEDDING_WAIT_SECONDS,
) -> RecallExplanation:
    """Find what an agent would be reminded of by the message `query`, `limit` memories at most."""
    reachable = ReachableMemory(memory)
    heads = reachable.headers()
    search = open_memory_search(memory, settings, embedding_wait=embedding_wait)
    matches = search.search(query, 4 * max(limit, settings.limit))
    is_embedding = search.is_embedding
    search.close_after_embedding()
    picks = select_relevant_memories(query, matches, heads, type(settings)(limit=limit))
    doubts = {pick.path: reachable.read_memory_with_suspicions(pick.path)[1] for pick in picks}
    return RecallExplanation(
        heads=heads,
        is_by_words_alone=is_embedding,
        shown=tuple(pick for pick in picks if not doubts[pick.path]),
        left_out=(
            *((path, "; ".join(reasons)) for path, reasons in doubts.items() if reasons),
            *(
                (match.path, _explain_left_out(query, match, matches, heads))
                for match in matches
                if match.path not in doubts
            ),
        ),
    )


def _explain_left_out(
    query: str,
    match: MemoryMatch,
    matches: Sequence[MemoryMatch],
    heads: Mapping[str, MemoryHeader],
) -> str:
    head = heads.get(match.path)
    if head is not None and head.status != "active":
        return f"it is {head.status}"
    return explain_memory_omission(query, match, matches, len(heads))
