"""What one session learns for later ones, and what it is shown of earlier ones: extraction and recall beside one conversation."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from msgspec import Struct

from memorist.auto_memory.evidence import typed_words
from memorist.auto_memory.extraction.run import Extraction
from memorist.auto_memory.run import Written
from memorist.core.messages import RECALLED, Message, Origin
from memorist.engine.view import View
from memorist.errors import StoreError
from memorist.forks.spec import ParentCall
from memorist.magic_docs.heard import Heard
from memorist.recall.choose import tools_used
from memorist.recall.first_look.run import WAIT_SECONDS, FirstLook
from memorist.recall.run import Recall
from memorist.team.watch.run import Watcher

LATE_SECONDS = 60.0
"""Longest wait at the end for a look after which something is to be remembered (AM-9's bound for every drain); then it is done without."""


class Given(Struct, frozen=True):
    """What a session was, or in a replay would have been, shown at one message."""

    message: str
    """Id of the message that it answers to."""
    text: str


class Memories:
    """Opened with a session of a project. Either part may be missing; without both nothing happens."""

    def __init__(
        self,
        extraction: Extraction | None = None,
        recall: Recall | None = None,
        look: FirstLook | None = None,
        team: Watcher | None = None,
    ) -> None:
        self.extraction = extraction
        self.recall = recall
        self._look = look
        self._team = team
        self.heard = Heard()
        """What the conversation says to the Magic Docs that it reads."""
        self._asked: Message | None = None
        """What the person said last, as long as nothing was looked up for it."""
        self._refused = False
        """Whether the disk refused the index when it was to be shown last."""
        self._newest: list[Message] = []
        """The messages since the person spoke last."""
        self._made_anew = False

    def begin(self) -> None:
        """A live session is opened: look at the folder in the background where many files are new."""
        if self._look is not None:
            self._look.begin()
        if self._team is not None:
            self._team.begin()

    @property
    def _may_ask(self) -> bool:
        return self._look is None or self._look.done

    async def looked(self) -> None:
        """Wait for that look, for a moment: a request that comes before its end shows nothing of the folder, and a later one does."""
        if self._look is not None and not self._look.done:
            await self._look.wait(WAIT_SECONDS)

    def took(self, message: Message, *, again: bool = False) -> None:
        """Follow one message; `again` for one that a former process saw already."""
        if message.origin is Origin.USER and not message.tool_results:
            self._newest.clear()
        self._newest.append(message)
        self.heard.took(message)
        if self.extraction is not None:
            self._wrote(self.extraction.took(message, again=again, later=not self._may_ask))
        if self.recall is not None and not again:
            self.recall.took(message)

    def _wrote(self, written: Written | None) -> None:
        if written is not None and self.recall is not None:
            self.recall.wrote(written.paths)

    def _catch_up(self) -> None:
        """Do what the person said outright while the folder was looked at."""
        if self.extraction is not None and self._may_ask:
            self._wrote(self.extraction.outright())

    def compacted(self) -> None:
        """The conversation was made smaller, or rewritten by the host."""
        self._made_anew = True
        if self.recall is not None:
            self.recall.compacted()

    def resumed(self, view: View) -> None:
        """The first request of this process: what a former one had shown stands in the window, as far as the host's history still has its place."""
        if self.recall is not None and (shown := view.own(RECALLED)):
            self.recall.resumed(shown)

    def show(self, view: View, messages: Sequence[Message]) -> None:
        """Before a request with these new messages: show the index, and what bears on what the person just said. A disk that refuses stops nothing."""
        self._catch_up()
        if self.recall is None:
            return
        asked = _said_last(messages)
        self._asked = asked or self._asked
        if self._may_ask:
            with self.recall.still():
                self._open(view, self.recall, again=asked is not None)
                self._ask(self.recall)
        if view.open_for_more:
            for message in self.recall.ready():
                view.insert(message)

    def opening(self) -> Message | None:
        """The index, for a context that has a place for it; it counts as shown then. None as long as the folder is looked at, and where the disk refuses;
        it is shown by itself afterwards.
        """
        return None if self.recall is None or not self._may_ask else self._opening(self.recall)

    def _opening(self, recall: Recall) -> Message | None:
        self._refused = True
        with contextlib.suppress(StoreError):
            opening = recall.opening()
            self._refused = False
            return opening
        return None

    def _open(self, view: View, recall: Recall, *, again: bool) -> None:
        """Show the index where it is due; `again` is whether one that the disk refused is tried once more."""
        if not recall.index_due or (self._refused and not again):
            return
        # Before the first reply, and after a compaction, nothing at the front is in the provider's cache; else the front stays as it is.
        first = self._made_anew or not view.begun
        if not (first or view.open_for_more):
            return
        opening = self._opening(recall)
        if opening is None:
            return
        if first:
            view.insert_first(opening)
        else:
            view.insert(opening)
        self._made_anew = False

    def _ask(self, recall: Recall) -> None:
        asked, self._asked = self._asked, None
        if asked is not None:
            with contextlib.suppress(StoreError):
                recall.begin_turn(typed_words(asked), asked.id, tools_used(self._newest))

    def given(self, message: Message) -> list[Given]:
        """In a replay: what a live session would have been shown before this message is answered."""
        if self.recall is None:
            return []
        found = []
        self._asked = _said_last([message])
        with self.recall.still():
            with contextlib.suppress(StoreError):
                opening = self.recall.opening()
                if opening is not None:
                    found.append(Given(message.id, opening.text))
            self._ask(self.recall)
        return found + [Given(message.id, shown.text) for shown in self.recall.ready()]

    async def answer(self, asked: str, message: str) -> list[str]:
        """For an agent that keeps its context itself: what bears on the question and was not shown yet. Waits for a choosing model."""
        if self.recall is None or not self._may_ask:
            return []
        with self.recall.still(), contextlib.suppress(StoreError):
            self.recall.begin_turn(asked, message, tools_used(self._newest))
        await self.recall.chosen()
        return [shown.text for shown in self.recall.ready()]

    def turn_ended(self, parent: ParentCall | None) -> None:
        """The reply had no tool calls: a model may look for what is worth keeping, in the background."""
        self._catch_up()
        if self.extraction is not None:
            self.extraction.turn_ended(parent)

    async def extract(self, parent: ParentCall | None = None) -> None:
        """The same, and wait for it."""
        if self.extraction is not None:
            await self.extraction.extract(parent)

    async def close(self) -> None:
        """Do what was asked for, and wait for an extraction that runs, within its bound; stop a look and a choice that are under way."""
        if self.extraction is not None:
            if self._look is not None and self.extraction.waits:
                await self._look.wait(LATE_SECONDS)
            self._wrote(self.extraction.outright())
            await self.extraction.drain()
        if self._team is not None:
            await self._team.close()
        if self._look is not None:
            await self._look.stop()
        if self.recall is not None:
            await self.recall.close()


def _said_last(messages: Sequence[Message]) -> Message | None:
    return next((message for message in reversed(messages) if message.origin is Origin.USER and not message.tool_results), None)
