"""The request that may have to become smaller, and what came of it: values between a session and its compaction. Pure."""

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
    """The request that is about to be sent, as far as compaction must know it."""

    limits: Thresholds
    messages: tuple[Message, ...] = ()
    """What the model is shown; filled in when there is something to decide."""
    parent: ParentCall | None = None
    manual: Strategy | None = None
    instructions: str = ""
    now: float | None = None
    """Time of the request in a replay, seconds since the epoch; None asks the clock."""
    price: Price | None = None
    """What the model costs; None where it is not known, and nothing is done for money's sake then."""
    provider_compacts: bool = False
    """The provider is asked to compact by itself in this session."""
    skills: tuple[InvokedSkill, ...] = ()
    """Skills that were called for in the session."""
    forced: bool = False
    """The provider refused the request as too long: it must become smaller, whatever the count says."""


class Done(Struct, frozen=True):
    """What a compaction came to: the new history, or None, and the sentence that says why not."""

    result: Compacted | None
    why: str = ""
    blocked: bool = False
    """The request would not leave the model room to answer, and nothing could be done."""

    def boundary(self, *, manual: bool) -> Boundary:
        """The record of this compaction for the transcript: what stands in front and what was put in, and how many messages stayed."""
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
