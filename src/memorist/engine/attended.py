"""A live session of an agent that manages its own context: memorist reads what the agent records,
and its hooks ask what to show.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from memorist.core.messages import Message, Origin
from memorist.engine.beside import Beside
from memorist.engine.journal import CLOSE_SECONDS, Entry, Journal
from memorist.engine.past_shown import PastShown
from memorist.errors import StoreError
from memorist.formats.harness import typed_text
from memorist.formats.recorded import Boundary, Head, RolledBack
from memorist.session_memory.sections import bodies
from memorist.session_memory.trigger import Due
from memorist.store.layout import SessionLayout

AT_ONCE = 20
"""Number of records that are processed before other tasks run: some milliseconds of work."""


class Shown(Struct, frozen=True, kw_only=True):
    """What the agent was shown since its last compaction, so that a new process shows nothing
    twice.

    Written to disk.
    """

    texts: tuple[str, ...] = ()
    past: bool = False


class Attended:
    """Opened by `Memorist.observe_session`.

    Methods may be called while others wait; `add_records` and `close` exclude each other.
    """

    def __init__(
        self, journal: Journal, beside: Beside, past: PastShown | None, *, gone: Callable[[Attended], object] = lambda _: None
    ) -> None:
        self._journal = journal
        self._beside = beside
        self._past = past
        self._gone = gone
        self._turn = asyncio.Lock()
        self._count = 0
        self.known: set[str] = set(journal.known)
        """Ids of the messages that were recorded."""
        self._shown = self._load()
        if self._shown.texts and journal.memories.recall is not None:
            journal.memories.recall.resumed(self._shown.texts)
        if self._shown.past and past is not None:
            past.stands()

    @property
    def layout(self) -> SessionLayout:
        """Paths of the session's files."""
        return self._journal.layout

    @property
    def messages(self) -> int:
        """Number of messages so far."""
        return self._journal.following.messages

    @property
    def notes(self) -> str | None:
        """The notes on disk; None when there are none yet."""
        return self._journal.memory.notes()

    def sections(self) -> dict[str, str]:
        """The notes by section title; empty without notes."""
        return bodies(self.notes or "", self._journal.memory.template)

    def _load(self) -> Shown:
        try:
            return msgspec.json.decode(self._journal.world.files.read(self.layout.shown), type=Shown)
        except (FileNotFoundError, StoreError, msgspec.DecodeError):
            return Shown()

    def _keep(self, shown: Shown) -> None:
        self._shown = shown
        with contextlib.suppress(StoreError):  # at worst the next process shows something twice
            self._journal.world.files.write(self.layout.shown, msgspec.json.encode(shown))

    async def follow(self, head: Head | None, entries: Iterable[Entry]) -> None:
        """Add what the agent has recorded since the last call. Raises StoreError."""
        async with self._turn:
            if head is not None:
                self._journal.following.begin(head)
            for count, entry in enumerate(entries, 1):
                self._take(entry)
                if count % AT_ONCE == 0:
                    await asyncio.sleep(0)
            self._journal.flush()

    def _take(self, entry: Entry) -> None:
        match entry:
            case RolledBack(turns=turns, messages=messages):
                self._journal.taken_back(turns, messages)
            case _:
                self._journal.offer(self._journal.record(entry), None)
        if isinstance(entry, Message):
            self.known.add(entry.id)
            if entry.origin is Origin.MODEL:
                self._beside.replied([entry])

    def rewound(self, live: Iterable[str]) -> None:
        """The user rewound the conversation: of the recorded messages only those with these ids are
        still in the agent's context.
        """
        here = set(live)
        window = self._journal.window
        kept = [message for message in window if message.id in here]
        if len(kept) < len(window):
            self._journal.replaced(Boundary(id="", line=0, trigger="host", kept=len(kept)), kept)

    async def opening(self) -> list[str]:
        """Return what to show at the start of a session: the memory index and the rollout memory,
        unless the agent was shown them already.
        """
        await self._journal.memories.looked()
        texts = []
        index = self._journal.memories.opening()
        if index is not None:
            texts.append(index.text)
        past = ""
        if self._past is not None:
            with contextlib.suppress(StoreError):
                past = self._past.opening()
        if texts or past:
            self._keep(Shown(texts=(*self._shown.texts, *texts), past=self._shown.past or bool(past)))
        return [*texts, *filter(None, [past])]

    def made_anew(self) -> None:
        """The agent compacted its conversation, or began a new one: what was shown is gone."""
        self._beside.made_anew()
        self._keep(Shown())

    async def answer(self, prompt: str) -> list[str]:
        """Return the memories that are relevant to the user's prompt and were not shown yet."""
        self._count += 1
        await self._journal.memories.looked()
        texts = await self._journal.memories.answer(typed_text(prompt), f"prompt-{self._count}")
        if texts:
            self._keep(Shown(texts=(*self._shown.texts, *texts), past=self._shown.past))
        return texts

    async def take_notes(self, why: str) -> None:
        """Update the notes and wait for it. `why` is recorded as the reason."""
        if self._journal.keeps_notes and self.messages:
            await self._journal.memory.settled()
            await self._journal.update(Due(why=why, tokens=self._journal.following.tokens))

    def turn_ended(self) -> None:
        """The turn is over and the agent waits for its user: a natural break for updates."""
        self._journal.offer(self._journal.following.end_turn(), None)
        self._beside.turn_ended(None)
        self._journal.flush()

    def recorded(self, file: Path) -> None:
        """The session is over and recorded in this file: register it as a rollout."""
        if self._past is not None:
            with contextlib.suppress(StoreError):
                self._past.recorded(file)

    async def settle(self) -> None:
        """Wait for background work, within its bounds; the session stays open."""
        await self._beside.close()
        await self._journal.memory.drain(CLOSE_SECONDS)
        if self._journal.memories.extraction is not None:
            await self._journal.memories.extraction.drain()

    async def close(self) -> None:
        """Wait for background work, at most a minute, write everything and release the files.

        May be called twice.
        """
        async with self._turn:
            await self._beside.close()
            await self._journal.close()
        self._gone(self)
