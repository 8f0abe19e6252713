"""One session of a client, fed by its hook events and its session file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from memorist.engine.engine import Memorist
from memorist.engine.recorded_session import ObservedSession
from memorist.errors import UnreadableSession
from memorist.hooks.event import Client, HookEvent
from memorist.hooks.response import (
    render_context,
    render_restored_notes,
    render_summary_instructions,
)
from memorist.hooks.session_file import SessionFileTail

CLIENT_FORMATS: dict[Client, str] = {"claude-code": "anthropic", "codex": "openai_responses"}
READ_AFTER_BYTES = 256 * 1024
"""Unread bytes from which on the session file is read after a tool call; otherwise at the end of
the turn.
"""


class HookSession:
    """Events of one session arrive in order; responses that an agent waits for come before
    follow-up work.
    """

    def __init__(self, engine: Memorist, client: Client, event: HookEvent, project: str) -> None:
        self._client = client
        self._tail: SessionFileTail | None = None
        self._reading = asyncio.Lock()
        self._track_file(event)
        first = self._read_project()
        cwd = first or project or event.cwd
        self._session: ObservedSession = engine.observe_session(
            event.session_id, project=cwd, format=CLIENT_FORMATS[client]
        )
        self._notes: asyncio.Future[None] | None = None

    def _track_file(self, event: HookEvent) -> None:
        """Track the session file of the event; it may change, and may not exist yet."""
        path = Path(event.transcript_path) if event.transcript_path else None
        if path is not None and (self._tail is None or self._tail.path != path):
            self._tail = SessionFileTail(path)

    def _read_project(self) -> str:
        """The folder that the session started in, which stays when the agent changes folders; empty
        if unknown.
        """
        if self._tail is None or not self._tail.exists:
            return ""
        try:
            return self._tail.read_start_folder()
        except UnreadableSession:
            return ""

    async def answer(self, event: HookEvent, seconds: float) -> str:
        """The text to show at an event; empty for an event that only causes work.

        `seconds` is the time available for updating the notes.
        """
        self._track_file(event)
        match event.hook_event_name:
            case "SessionStart":
                return await self._answer_start(event.source, seconds)
            case "UserPromptSubmit":
                return render_context(
                    await self._session.recall_for_prompt(event.prompt), self._client
                )
            case "PreCompact":
                await self.read_new_records()
                await self._update_notes(seconds, "the agent is about to compact")
                return render_summary_instructions(
                    self._session.notes_by_section(), self._session.layout.notes, self._client
                )
            case _:
                return ""

    async def _answer_start(self, source: str, seconds: float) -> str:
        if source in ("compact", "clear"):
            self._session.on_history_replaced()
        texts = await self._session.opening_texts()
        if source != "compact":
            return render_context(texts, self._client)
        if self._session.notes is None:
            await self.read_new_records()
            await self._update_notes(seconds, "the agent compacted")
        return render_restored_notes(
            self._session.notes_by_section(), self._session.layout.notes, texts, self._client
        )

    async def _update_notes(self, seconds: float, why: str) -> None:
        """Update the notes within the time limit; a longer update goes on in the background, and
        the notes are used as they are.
        """
        self._notes = asyncio.ensure_future(self._session.update_notes(why))
        await asyncio.wait([self._notes], timeout=seconds)
        if self._notes.done():
            self._notes.result()

    async def run_follow_up(self, event: HookEvent) -> None:
        """Do the work of an event that the agent does not wait for. Raises MemoristError."""
        self._track_file(event)
        match event.hook_event_name:
            case "PostToolUse":
                if self._tail is not None and self._tail.unread_bytes >= READ_AFTER_BYTES:
                    await self.read_new_records()
            case "Stop":
                await self.read_new_records()
                self._session.on_turn_end()
                if self._tail is not None:
                    self._tail.on_turn_end()
            case "SessionEnd":
                await self._end_session()
            case "UserPromptSubmit":
                pass  # the client writes the prompt to its session file after this event
            case _:
                await self.read_new_records()

    async def _end_session(self) -> None:
        await self.read_new_records(from_start=True)
        self._session.on_turn_end()
        await self._session.update_notes("the session ended")
        await self._session.wait_for_background()
        if self._tail is not None and self._tail.exists:
            self._session.register_recording(self._tail.path)

    async def read_new_records(self, *, from_start: bool = False) -> None:
        """Process what the client wrote since the last reading.

        A missing file is no error. Raises UnreadableSession.
        """
        tail = self._tail
        if tail is None or not tail.exists:
            return
        async with self._reading:
            found = await asyncio.to_thread(
                tail.read, frozenset(self._session.message_ids), from_start=from_start
            )
            await self._session.add_records(found.head, found.entries)
            if found.from_start and tail.format == "claude_code":
                self._session.on_rewind(found.message_ids)

    async def close(self) -> None:
        """Close the session. May be called twice."""
        if self._notes is not None:
            await asyncio.wait([self._notes])
        await self._session.close()


# The open sessions of the daemon: opened by their first event, closed at their end or when idle.


HookSessionKey = tuple[str, str]


class _HookSessionSlot:
    """One open session, and the lock that callers wait on while it is opened or closed."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.session: HookSession | None = None
        self.last_used = 0.0
        self.task: asyncio.Task[None] | None = None
        self.waiters = 0


class HookSessionPool:
    """All sessions of one engine. `on_failure` is called with errors of background work."""

    def __init__(
        self,
        engine: Memorist,
        clock: Callable[[], float],
        on_failure: Callable[[HookEvent, Client, BaseException], None],
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._failed = on_failure
        self._slots: dict[HookSessionKey, _HookSessionSlot] = {}

    def __len__(self) -> int:
        return len(self._slots)

    async def answer(self, client: Client, event: HookEvent, project: str, seconds: float) -> str:
        """The text to show at an event; its follow-up work then runs in the background."""
        place = self._slots.setdefault((client, event.session_id), _HookSessionSlot())
        place.waiters += 1
        try:
            async with place.lock:
                if place.session is None:
                    place.session = HookSession(self._engine, client, event, project)
            place.last_used = self._clock()
            said = await place.session.answer(event, seconds)
        finally:
            place.waiters -= 1
            if place.session is None and not place.waiters:
                self._slots.pop((client, event.session_id), None)
        # Follow-up work forms a chain: each task waits for the one before, so that events are
        # processed in order.
        before = place.task
        place.task = asyncio.create_task(self._run_follow_up(place, before, client, event))
        return said

    async def _run_follow_up(
        self,
        place: _HookSessionSlot,
        before: asyncio.Task[None] | None,
        client: Client,
        event: HookEvent,
    ) -> None:
        """Run the follow-up work of one event after that of the event before it."""
        if before is not None:
            await asyncio.wait([before])
        session = place.session
        if session is None:
            return
        done = asyncio.ensure_future(session.run_follow_up(event))
        await asyncio.wait([done])
        error = done.exception()
        if error is not None:
            self._failed(event, client, error)
        if (
            event.hook_event_name == "SessionEnd"
            and place.task is asyncio.current_task()
            and not place.waiters
        ):
            await self._close(
                (client, event.session_id), place
            )  # unless the client resumed it meanwhile

    async def _close(self, key: HookSessionKey, place: _HookSessionSlot) -> None:
        """Close a session. An event that arrives meanwhile waits, then opens it again."""
        async with place.lock:
            session, place.session = place.session, None
            if session is not None:
                await asyncio.wait([asyncio.ensure_future(session.close())])
        if not place.waiters and self._slots.get(key) is place:
            del self._slots[key]

    async def close_idle(self, seconds: float) -> None:
        """Close the sessions without an event for this many seconds."""
        now = self._clock()
        for key, place in list(self._slots.items()):
            if (
                now - place.last_used > seconds
                and not place.waiters
                and (place.task is None or place.task.done())
            ):
                await self._close(key, place)

    async def close(self) -> None:
        """Wait for background work to end, then close every session."""
        works = [place.task for place in self._slots.values() if place.task is not None]
        if works:
            await asyncio.wait(works)
        for key, place in list(self._slots.items()):
            await self._close(key, place)
