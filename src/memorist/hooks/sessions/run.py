"""The open sessions of the daemon: opened by their first event, closed at their end or
when idle.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from memorist.engine.memorist import Memorist
from memorist.hooks.event import Client, HookEvent
from memorist.hooks.session.run import AgentSession

Key = tuple[str, str]


class _Place:
    """One open session, and the lock that callers wait on while it is opened or closed."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.session: AgentSession | None = None
        self.used = 0.0
        self.work: asyncio.Task[None] | None = None
        self.waiting = 0


class Sessions:
    """All sessions of one engine. `on_failure` is called with errors of background work."""

    def __init__(self, engine: Memorist, clock: Callable[[], float], failed: Callable[[HookEvent, Client, BaseException], None]) -> None:
        self._engine = engine
        self._clock = clock
        self._failed = failed
        self._places: dict[Key, _Place] = {}

    def __len__(self) -> int:
        return len(self._places)

    async def answer(self, client: Client, event: HookEvent, project: str, seconds: float) -> str:
        """The text to show at an event; its follow-up work then runs in the background."""
        place = self._places.setdefault((client, event.session_id), _Place())
        place.waiting += 1
        try:
            async with place.lock:
                if place.session is None:
                    place.session = AgentSession(self._engine, client, event, project)
            place.used = self._clock()
            said = await place.session.answer(event, seconds)
        finally:
            place.waiting -= 1
            if place.session is None and not place.waiting:
                self._places.pop((client, event.session_id), None)
        # Follow-up work forms a chain: each task waits for the one before, so that events are processed in order.
        before = place.work
        place.work = asyncio.create_task(self._after(place, before, client, event))
        return said

    async def _after(self, place: _Place, before: asyncio.Task[None] | None, client: Client, event: HookEvent) -> None:
        """Run the follow-up work of one event after that of the event before it."""
        if before is not None:
            await asyncio.wait([before])
        session = place.session
        if session is None:
            return
        done = asyncio.ensure_future(session.after(event))
        await asyncio.wait([done])
        error = done.exception()
        if error is not None:
            self._failed(event, client, error)
        if event.hook_event_name == "SessionEnd" and place.work is asyncio.current_task() and not place.waiting:
            await self._close((client, event.session_id), place)  # unless the client resumed it meanwhile

    async def _close(self, key: Key, place: _Place) -> None:
        """Close a session. An event that arrives meanwhile waits, then opens it again."""
        async with place.lock:
            session, place.session = place.session, None
            if session is not None:
                await asyncio.wait([asyncio.ensure_future(session.close())])
        if not place.waiting and self._places.get(key) is place:
            del self._places[key]

    async def close_idle(self, seconds: float) -> None:
        """Close the sessions without an event for this many seconds."""
        now = self._clock()
        for key, place in list(self._places.items()):
            if now - place.used > seconds and not place.waiting and (place.work is None or place.work.done()):
                await self._close(key, place)

    async def close(self) -> None:
        """Wait for background work to end, then close every session."""
        works = [place.work for place in self._places.values() if place.work is not None]
        if works:
            await asyncio.wait(works)
        for key, place in list(self._places.items()):
            await self._close(key, place)
