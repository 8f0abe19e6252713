"""A live session of an agent that keeps its context itself: memorist sees what the agent records, and is asked at certain moments what to show."""

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
"""Messages taken in before other sessions have their turn: some milliseconds."""


class Shown(Struct, frozen=True, kw_only=True):
    """What the agent was shown since its last compaction, so that a new process shows nothing twice."""

    texts: tuple[str, ...] = ()
    past: bool = False


class Attended:
    """Opened by `Memorist.attend`. Methods may be called while others wait; `follow` and `close` take turns."""

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
        """Ids of the messages that were taken in."""
        self._shown = self._load()
        if self._shown.texts and journal.memories.recall is not None:
            journal.memories.recall.resumed(self._shown.texts)
        if self._shown.past and past is not None:
            past.stands()

    @property
    def layout(self) -> SessionLayout:
        """Where its files are."""
        return self._journal.layout

    @property
    def messages(self) -> int:
        """Messages so far."""
        return self._journal.following.messages

    @property
    def notes(self) -> str | None:
        """The notes as they are on disk; None when there are none yet."""
        return self._journal.memory.notes()

    def sections(self) -> dict[str, str]:
        """What the notes say, by section; empty without notes."""
        return bodies(self.notes or "", self._journal.memory.template)

    def _load(self) -> Shown:
        try:
            return msgspec.json.decode(self._journal.world.files.read(self.layout.shown), type=Shown)
        except (FileNotFoundError, StoreError, msgspec.DecodeError):
            return Shown()

    def _keep(self, shown: Shown) -> None:
        self._shown = shown
        with contextlib.suppress(StoreError):  # the next process may show something twice, nothing else
            self._journal.world.files.write(self.layout.shown, msgspec.json.encode(shown))

    async def follow(self, head: Head | None, entries: Iterable[Entry]) -> None:
        """Take in what the agent recorded since the last time. Raises StoreError."""
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
        """The person went back to an earlier place: of the messages that were taken in only these are in the agent's context."""
        here = set(live)
        window = self._journal.window
        kept = [message for message in window if message.id in here]
        if len(kept) < len(window):
            self._journal.replaced(Boundary(id="", line=0, trigger="host", kept=len(kept)), kept)

    async def opening(self) -> list[str]:
        """At a start: the index of the memories, and what past sessions came to, as far as the agent was not shown them yet."""
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
        """The agent made its conversation smaller, or began a new one: what was shown is gone with it."""
        self._beside.made_anew()
        self._keep(Shown())

    async def answer(self, prompt: str) -> list[str]:
        """What bears on the prompt that the person just gave, as far as the agent was not shown it yet."""
        self._count += 1
        await self._journal.memories.looked()
        texts = await self._journal.memories.answer(typed_text(prompt), f"prompt-{self._count}")
        if texts:
            self._keep(Shown(texts=(*self._shown.texts, *texts), past=self._shown.past))
        return texts

    async def take_notes(self, why: str) -> None:
        """Bring the notes up to date, and wait for it."""
        if self._journal.keeps_notes and self.messages:
            await self._journal.memory.settled()
            await self._journal.update(Due(why=why, tokens=self._journal.following.tokens))

    def turn_ended(self) -> None:
        """The agent waits for its person: a natural break."""
        self._journal.offer(self._journal.following.end_turn(), None)
        self._beside.turn_ended(None)
        self._journal.flush()

    def recorded(self, file: Path) -> None:
        """The session is over, and stands in this file: have it known among past sessions."""
        if self._past is not None:
            with contextlib.suppress(StoreError):
                self._past.recorded(file)

    async def settle(self) -> None:
        """Wait for what runs in the background, within its bounds; the session stays open."""
        await self._beside.close()
        await self._journal.memory.drain(CLOSE_SECONDS)
        if self._journal.memories.extraction is not None:
            await self._journal.memories.extraction.drain()

    async def close(self) -> None:
        """Wait for what runs, at most a minute, write everything, and let go of the files. May be called twice."""
        async with self._turn:
            await self._beside.close()
            await self._journal.close()
        self._gone(self)
