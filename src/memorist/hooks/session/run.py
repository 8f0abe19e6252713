"""One session of a client, fed by its hook events and its session file."""

from __future__ import annotations

import asyncio
from pathlib import Path

from memorist.engine.attended import Attended
from memorist.engine.memorist import Memorist
from memorist.errors import UnreadableSession
from memorist.hooks.event import Client, HookEvent
from memorist.hooks.shown import asked_for, opened, restored
from memorist.hooks.tail.run import Tail

FORMATS: dict[Client, str] = {"claude-code": "anthropic", "codex": "openai_responses"}
GROWN_BYTES = 256 * 1024
"""Unread bytes from which on the session file is read after a tool call; otherwise at the end of
the turn.
"""


class AgentSession:
    """Events of one session arrive in order; responses that an agent waits for come before
    follow-up work.
    """

    def __init__(self, engine: Memorist, client: Client, event: HookEvent, project: str) -> None:
        self._client = client
        self._tail: Tail | None = None
        self._reading = asyncio.Lock()
        self._look_at(event)
        first = self._first_reading()
        cwd = first or project or event.cwd
        self._attended: Attended = engine.attend(event.session_id, project=cwd, format=FORMATS[client])
        self._notes: asyncio.Future[None] | None = None

    def _look_at(self, event: HookEvent) -> None:
        """Track the session file of the event; it may change, and may not exist yet."""
        path = Path(event.transcript_path) if event.transcript_path else None
        if path is not None and (self._tail is None or self._tail.path != path):
            self._tail = Tail(path)

    def _first_reading(self) -> str:
        """The folder that the session started in, which stays when the agent changes folders; empty
        if unknown.
        """
        if self._tail is None or not self._tail.is_there:
            return ""
        try:
            return self._tail.beginning()
        except UnreadableSession:
            return ""

    async def answer(self, event: HookEvent, seconds: float) -> str:
        """The text to show at an event; empty for an event that only causes work.

        `seconds` is the time available for updating the notes.
        """
        self._look_at(event)
        match event.hook_event_name:
            case "SessionStart":
                return await self._started(event.source, seconds)
            case "UserPromptSubmit":
                return opened(await self._attended.answer(event.prompt), self._client)
            case "PreCompact":
                await self.follow()
                await self._within(seconds, "the agent is about to compact")
                return asked_for(self._attended.sections(), self._attended.layout.notes, self._client)
            case _:
                return ""

    async def _started(self, source: str, seconds: float) -> str:
        if source in ("compact", "clear"):
            self._attended.made_anew()
        texts = await self._attended.opening()
        if source != "compact":
            return opened(texts, self._client)
        if self._attended.notes is None:
            await self.follow()
            await self._within(seconds, "the agent compacted")
        return restored(self._attended.sections(), self._attended.layout.notes, texts, self._client)

    async def _within(self, seconds: float, why: str) -> None:
        """Update the notes within the time limit; a longer update goes on in the background, and
        the notes are used as they are.
        """
        self._notes = asyncio.ensure_future(self._attended.take_notes(why))
        await asyncio.wait([self._notes], timeout=seconds)
        if self._notes.done():
            self._notes.result()

    async def after(self, event: HookEvent) -> None:
        """Do the work of an event that the agent does not wait for. Raises MemoristError."""
        self._look_at(event)
        match event.hook_event_name:
            case "PostToolUse":
                if self._tail is not None and self._tail.grown >= GROWN_BYTES:
                    await self.follow()
            case "Stop":
                await self.follow()
                self._attended.turn_ended()
                if self._tail is not None:
                    self._tail.turn_ended()
            case "SessionEnd":
                await self._ended()
            case "UserPromptSubmit":
                pass  # the client writes the prompt to its session file after this event
            case _:
                await self.follow()

    async def _ended(self) -> None:
        await self.follow(whole=True)
        self._attended.turn_ended()
        await self._attended.take_notes("the session ended")
        await self._attended.settle()
        if self._tail is not None and self._tail.is_there:
            self._attended.recorded(self._tail.path)

    async def follow(self, *, whole: bool = False) -> None:
        """Process what the client wrote since the last reading.

        A missing file is no error. Raises UnreadableSession.
        """
        tail = self._tail
        if tail is None or not tail.is_there:
            return
        async with self._reading:
            found = await asyncio.to_thread(tail.read, frozenset(self._attended.known), whole=whole)
            await self._attended.follow(found.head, found.fresh)
            if found.whole and tail.format == "claude_code":
                self._attended.rewound(found.live)

    async def close(self) -> None:
        """Close the session. May be called twice."""
        if self._notes is not None:
            await asyncio.wait([self._notes])
        await self._attended.close()
