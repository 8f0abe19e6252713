"""The request that may need compaction and the outcome: values exchanged between a session and its
compactor. Pure.
"""

from __future__ import annotations

from msgspec import Struct

from memorist.compaction.restore import InvokedSkill
from memorist.compaction.result import Compacted, Strategy
from memorist.compaction.thresholds import Thresholds
from memorist.core.messages import Message
from memorist.errors import NothingToDo
from memorist.forks.spec import ParentCall
from memorist.formats.recorded import Boundary
from memorist.models.prices import Price


class Call(Struct, frozen=True, kw_only=True):
    """The upcoming request, as far as compaction must know it."""

    limits: Thresholds
    messages: tuple[Message, ...] = ()
    """The messages the model is shown; filled in only when there is something to decide."""
    parent: ParentCall | None = None
    manual: Strategy | None = None
    instructions: str = ""
    now: float | None = None
    """Time of the request in a replay, seconds since the epoch; None uses the clock."""
    price: Price | None = None
    """The model's price; None where unknown, in which case nothing is edited to save cost."""
    provider_compacts: bool = False
    """The provider is asked to compact on its own in this session."""
    skills: tuple[InvokedSkill, ...] = ()
    """Skills that were invoked in the session."""
    forced: bool = False
    """The provider rejected the request as too long: it must shrink, whatever the estimate says."""


class Done(Struct, frozen=True):
    """The result of a compaction: the new history, or None and a sentence that says why not."""

    result: Compacted | None
    why: str = ""
    blocked: bool = False
    """The request would not leave the model room to answer, and nothing could be done."""

    def boundary(self, *, manual: bool) -> Boundary:
        """The transcript record of this compaction: the messages put in front or inserted, and how
        many messages were kept.
        """
        if self.result is None:
            raise NothingToDo("no compaction was made, so there is no boundary")
        standing, made = self.result.messages[: self.result.lead], self.result.messages[self.result.lead :]
        ours = tuple(message for message in made if message.id.startswith("memorist"))
        return Boundary(
            id=self.result.strategy,
            line=0,
            trigger="manual" if manual else "auto",
            tokens_before=self.result.tokens_before,
            kept=len(made) - len(ours),
            replacement=(*standing, *ours),
        )
