"""A recorded session played through the engine.

Unlike live, updates are awaited, so that every replay of a file gives the same notes.
"""

from __future__ import annotations

from collections.abc import Callable

from memorist.compaction.call import Call, Done
from memorist.compaction.run import NO_USAGE
from memorist.compaction.thresholds import Thresholds
from memorist.core.messages import Message, Origin
from memorist.engine.journal import Entry, Journal
from memorist.engine.memories import Given
from memorist.errors import NothingToDo
from memorist.forks.spec import Receipt
from memorist.models.prices import Price
from memorist.session_memory.follow import Following
from memorist.session_memory.trigger import Due
from memorist.store.layout import SessionLayout


class Playback:
    """Opened by `Memorist.replay_session`."""

    def __init__(self, journal: Journal, ended: Callable[[Playback], object] = lambda _: None) -> None:
        self._journal = journal
        self._ended = ended
        self.limits: Thresholds | None = None
        """When memorist compacts by itself; None leaves compaction to the recorded agent."""
        self._given: list[Given] = []
        self.price: Price | None = None
        """Price of the recorded model; None when unknown."""

    @property
    def layout(self) -> SessionLayout:
        """Paths of the session's files."""
        return self._journal.layout

    @property
    def following(self) -> Following:
        """State of the conversation so far: size of the context, messages, turns."""
        return self._journal.following

    def receipts(self) -> list[Receipt]:
        """Receipts of background forks, oldest first."""
        return list(self._journal.receipts)

    async def follow(self, entry: Entry) -> None:
        """Add the next entry of the recording."""
        if isinstance(entry, Message) and entry.origin is Origin.USER and not entry.tool_results:
            await self._journal.memories.extract()  # the turn before has ended
        due = self._journal.record(entry)
        if due is not None:
            await self._journal.update(due)
        if self.limits is not None:
            await self._fit(entry, self.limits)
        if isinstance(entry, Message):
            self._given += self._journal.memories.given(entry)

    async def _fit(self, entry: Entry, limits: Thresholds) -> None:
        """Compact where a live session would have: before the request that this message is part of.
        """
        if not isinstance(entry, Message):
            return
        now = entry.timestamp or 0.0
        if entry.origin is Origin.MODEL:
            self._journal.compactor.replied(now, entry.usage or NO_USAGE)
        elif self._journal.compacts and self._journal.compactor.due(now, limits):
            done = await self._journal.compactor.make_smaller(
                Call(skills=self._journal.called.all(), messages=tuple(self._journal.window), limits=limits, price=self.price, now=now)
            )
            self._show(done)

    def _show(self, done: Done) -> None:
        if done.result is None:
            return
        if done.result.strategy == "micro":
            self._journal.window = list(done.result.messages)
            self.following.cleared(done.result.tokens_before - done.result.tokens_after)
        else:
            self._journal.compacted(done.boundary(manual=False), done.result.messages, measured_before=True)
            self._journal.memories.compacted()

    def taken(self) -> list[Given]:
        """Return the memories that a live session would have been shown since the last call."""
        found, self._given = self._given, []
        return found

    async def summarise(self) -> str:
        """Finish the recording: extract memories, update the notes and return them.

        Raises NothingToDo for an empty conversation.
        """
        if not self.following.messages:
            raise NothingToDo("the conversation is empty, so there is nothing to take notes of")
        await self._journal.memories.extract()
        await self._journal.memory.update(Due(why="the recording ends", tokens=self.following.tokens), None)
        return self._journal.memory.notes() or ""

    async def close(self) -> None:
        """Write everything and release the files. May be called twice."""
        await self._journal.close()
        self._ended(self)
