"""Auto memory within one session: what it extracts for later sessions, and what it recalls from
earlier ones.
"""

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
"""Longest wait at close, in seconds, for the initial scan when a memory is still to be written
after it (AM-9's bound for every drain). After it the memory is written without the scan.
"""


class Given(Struct, frozen=True):
    """A recalled text that was shown, or in a replay would have been shown, at one message."""

    message: str
    """Id of the message that the text was recalled for."""
    text: str


class Memories:
    """Extraction and recall of one session.

    Either may be missing; without both, every method does nothing.
    """

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
        """Follows the conversation for Magic Docs."""
        self._asked: Message | None = None
        """The user's last message, until recall was started for it."""
        self._refused = False
        """Whether the index could not be read the last time it was due."""
        self._newest: list[Message] = []
        """Messages since the user's last one."""
        self._made_anew = False

    def begin(self) -> None:
        """Start the background work of a live session: the initial scan of the memory folder, and
        the watcher of the team's memories.
        """
        if self._look is not None:
            self._look.begin()
        if self._team is not None:
            self._team.begin()

    @property
    def _may_ask(self) -> bool:
        return self._look is None or self._look.done

    async def looked(self) -> None:
        """Wait briefly for the initial scan.

        A request that comes before its end shows nothing of the folder; a later one does.
        """
        if self._look is not None and not self._look.done:
            await self._look.wait(WAIT_SECONDS)

    def took(self, message: Message, *, again: bool = False) -> None:
        """Follow one message. `replayed` marks a message that a former process had seen already."""
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
        """Write the memories that the user asked for while the initial scan was running."""
        if self.extraction is not None and self._may_ask:
            self._wrote(self.extraction.outright())

    def compacted(self) -> None:
        """Note that the conversation was compacted, or rewritten by the host."""
        self._made_anew = True
        if self.recall is not None:
            self.recall.compacted()

    def resumed(self, view: View) -> None:
        """Restore what a former process had shown, from the messages that are still in the view."""
        if self.recall is not None and (shown := view.own(RECALLED)):
            self.recall.resumed(shown)

    def show(self, view: View, messages: Sequence[Message]) -> None:
        """Show the index, and start recall for the user's newest message.

        A disk error skips this and never stops a request.
        """
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
        """The index as a message, for a context that has a place for it; the index then counts as
        shown.

        None while the folder is being scanned and on a disk error; it is then shown by itself
        later.
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
        """Show the index where it is due. `retry` allows another attempt after a disk error."""
        if not recall.index_due or (self._refused and not again):
            return
        # Insert at the front only while nothing there is in the provider's cache: before the first
        # reply and after a compaction. At any other time that would break the cached prefix.
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
        """Return what a live session would have been shown before this message is answered.

        For replays.
        """
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
        """Recall for an agent that manages its own context: the texts that are relevant to the
        query and not shown yet.

        Waits for a selecting model.
        """
        if self.recall is None or not self._may_ask:
            return []
        with self.recall.still(), contextlib.suppress(StoreError):
            self.recall.begin_turn(asked, message, tools_used(self._newest))
        await self.recall.chosen()
        return [shown.text for shown in self.recall.ready()]

    def turn_ended(self, parent: ParentCall | None) -> None:
        """Start an extraction in the background: the reply had no tool calls, so the turn is over.
        """
        self._catch_up()
        if self.extraction is not None:
            self.extraction.turn_ended(parent)

    async def extract(self, parent: ParentCall | None = None) -> None:
        """Run an extraction and wait for it."""
        if self.extraction is not None:
            await self.extraction.extract(parent)

    async def close(self) -> None:
        """Write what the user asked for and wait for a running extraction, within its bound; cancel
        a scan or recall that is still running.
        """
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
