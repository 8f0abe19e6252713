"""What one session learns for later ones, and what it is shown of earlier ones: extraction and recall beside one conversation."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from msgspec import Struct

from memorist.auto_memory.evidence import typed_words
from memorist.auto_memory.extraction.run import Extraction
from memorist.core.messages import RECALLED, Message, Origin
from memorist.errors import StoreError
from memorist.forks.spec import ParentCall
from memorist.recall.choose import tools_used
from memorist.recall.run import Recall
from memorist.view import View


class Given(Struct, frozen=True):
    """What a session was, or in a replay would have been, shown at one message."""

    message: str
    """Id of the message that it answers to."""
    text: str


class Memories:
    """Opened with a session of a project. Either part may be missing; without both nothing happens."""

    def __init__(self, extraction: Extraction | None = None, recall: Recall | None = None) -> None:
        self.extraction = extraction
        self.recall = recall
        self._newest: list[Message] = []
        """The messages since the person spoke last."""
        self._made_anew = False

    def took(self, message: Message, *, again: bool = False) -> None:
        """Follow one message; `again` for one that a former process saw already."""
        if message.origin is Origin.USER and not message.tool_results:
            self._newest.clear()
        self._newest.append(message)
        if self.extraction is not None:
            written = self.extraction.took(message, again=again)
            if written is not None and self.recall is not None:
                self.recall.wrote(written.paths)
        if self.recall is not None and not again:
            self.recall.took(message)

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
        if self.recall is None:
            return
        with contextlib.suppress(StoreError):
            self._open(view, self.recall)
            self._ask(self.recall, messages)
        if view.open_for_more:
            for message in self.recall.ready():
                view.insert(message)

    def opening(self) -> Message | None:
        """The index, for a context that has a place for it; it counts as shown then. A disk that refuses stops nothing."""
        with contextlib.suppress(StoreError):
            return None if self.recall is None else self.recall.opening()
        return None

    def _open(self, view: View, recall: Recall) -> None:
        if not recall.index_due:
            return
        # Before the first reply, and after a compaction, nothing at the front is in the provider's cache; else the front stays as it is.
        first = self._made_anew or not view.begun
        if not (first or view.open_for_more):
            return
        opening = recall.opening()
        if opening is None:
            return
        if first:
            view.insert_first(opening)
        else:
            view.insert(opening)
        self._made_anew = False

    def _ask(self, recall: Recall, messages: Sequence[Message]) -> None:
        asked = next((message for message in reversed(messages) if message.origin is Origin.USER and not message.tool_results), None)
        if asked is not None:
            recall.begin_turn(typed_words(asked), asked.id, tools_used(self._newest))

    def given(self, message: Message) -> list[Given]:
        """In a replay: what a live session would have been shown before this message is answered."""
        if self.recall is None:
            return []
        found = []
        with contextlib.suppress(StoreError):
            opening = self.recall.opening()
            if opening is not None:
                found.append(Given(message.id, opening.text))
            self._ask(self.recall, [message])
            found += [Given(message.id, shown.text) for shown in self.recall.ready()]
        return found

    def turn_ended(self, parent: ParentCall | None) -> None:
        """The reply had no tool calls: a model may look for what is worth keeping, in the background."""
        if self.extraction is not None:
            self.extraction.turn_ended(parent)

    async def extract(self, parent: ParentCall | None = None) -> None:
        """The same, and wait for it."""
        if self.extraction is not None:
            await self.extraction.extract(parent)

    async def close(self) -> None:
        """Wait for an extraction that runs, within its bound; stop a choice that is under way."""
        if self.extraction is not None:
            await self.extraction.drain()
        if self.recall is not None:
            await self.recall.close()
