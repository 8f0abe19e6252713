"""The request that may need compaction, and the outcome: values exchanged between a session and its
compactor. Pure.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from memorist.compaction.compaction_result import CompactedHistory, CompactionStrategy
from memorist.compaction.compaction_thresholds import CompactionThresholds
from memorist.compaction.full_compaction import OWN_ID_PREFIX
from memorist.compaction.restored_content import InvokedSkill
from memorist.core.messages import Message
from memorist.errors import NothingToDo
from memorist.forks.fork_spec import ParentCall
from memorist.formats.transcript_format import CompactionBoundary
from memorist.models.model_pricing import ModelPrice

ConversationReader = Callable[[Sequence[Message], frozenset[str]], Awaitable[tuple[Message, ...]]]
"""From messages that are shown, and the ids of others that are to be left out, to the whole
conversation. Where it cannot be read, the shown messages.
"""


class CompactionInput(Struct, frozen=True, kw_only=True):
    """The upcoming request, as far as compaction must know it."""

    limits: CompactionThresholds
    messages: tuple[Message, ...] = ()
    """The messages the model is shown; filled in only when there is something to decide."""
    parent: ParentCall | None = None
    manual: CompactionStrategy | None = None
    instructions: str = ""
    now: float | None = None
    """Time of the request in a replay, seconds since the epoch; None uses the clock."""
    price: ModelPrice | None = None
    """The model's price; None where unknown, in which case nothing is edited to save cost."""
    provider_compacts: bool = False
    """The provider is asked to compact on its own in this session."""
    skills: tuple[InvokedSkill, ...] = ()
    """Skills that were invoked in the session."""
    predecessor: str = ""
    """The model of the last request, where its window is larger than the one of this request's
    model: in the rollout family it writes the hand-over.
    """
    read_whole: ConversationReader | None = None
    """Reads the conversation with what earlier compactions removed from it; None where no record of
    it is kept.
    """
    forced: bool = False
    """The provider rejected the request as too long: it must shrink, whatever the estimate says."""


class CompactionOutcome(Struct, frozen=True):
    """The result of a compaction: the new history, or None and a sentence that says why not."""

    result: CompactedHistory | None
    why: str = ""
    blocked: bool = False
    """The request would not leave the model room to answer, and nothing could be done."""

    def to_boundary(self, before: Sequence[Message], *, manual: bool) -> CompactionBoundary:
        """The transcript record of this compaction of the messages `before`: what was put in front
        or inserted, and how many of the newest messages were kept as they were.
        """
        if self.result is None:
            raise NothingToDo("no compaction was made, so there is no boundary")
        replacement, kept = find_replacement_in_compacted_history(before, self.result.messages)
        return CompactionBoundary(
            id=self.result.strategy,
            line=0,
            trigger="manual" if manual else "auto",
            tokens_before=self.result.tokens_before,
            kept=kept,
            replacement=replacement,
        )


def find_replacement_in_compacted_history(
    before: Sequence[Message], after: Sequence[Message]
) -> tuple[tuple[Message, ...], int]:
    """Split a new history into what replaces the old one, and the number of messages at the end of
    the old one that were kept as they were.
    """
    theirs = [message for message in after if not message.id.startswith(OWN_ID_PREFIX)]
    kept = 0
    for old, new in zip(reversed(before), reversed(theirs), strict=False):
        if old is not new:
            break
        kept += 1
    same = {id(message) for message in theirs[len(theirs) - kept :]}
    return tuple(message for message in after if id(message) not in same), kept
