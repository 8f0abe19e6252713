"""The open sessions of the hooks: opened by their first event, closed at their end or when idle."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from memorist.auto_memory.statements.session_wishes import asks_for_no_memory
from memorist.engine.engine import Memorist
from memorist.engine.session_pool import PoolLimits, SessionPool
from memorist.hooks.hook_event import Client, HookEvent
from memorist.hooks.hook_session import OFF_CONTEXT, OFF_NOTICE, HookAnswer, HookSession
from memorist.hooks.hook_texts import render_context
from memorist.ports import Clock
from memorist.system import SystemClock


class HookSessionPool:
    """All sessions of one engine.

    Args:
        engine: opens the sessions.
        on_failure: called with errors of background work.
        clock: measures how long a session is idle.
    """

    def __init__(
        self,
        engine: Memorist,
        on_failure: Callable[[HookEvent, Client, BaseException], None],
        clock: Clock | None = None,
    ) -> None:
        self._engine = engine
        self._shows_notices = engine.settings.hooks.notices
        self._on_failure = on_failure
        self._pool = SessionPool[tuple[Client, str], HookSession](
            HookSession.close,
            clock=clock or SystemClock(),
            limits=PoolLimits(engine.settings.hooks.session_idle_seconds),
            is_shared=True,
        )
        self._off = set(engine.off_sessions())
        """Ids of the sessions whose user turned memory off."""
        self._follow_ups: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._pool)

    async def answer(
        self, client: Client, event: HookEvent, project: str, seconds: float
    ) -> HookAnswer:
        """What to show at an event; its follow-up work then runs in the background."""

        async def open_session() -> HookSession:
            return HookSession(self._engine, client, event, project)

        key = (client, event.session_id)
        if event.session_id in self._off:
            return HookAnswer("")
        async with contextlib.AsyncExitStack() as hold:
            session = await hold.enter_async_context(self._pool.use(key, open_session))
            if event.hook_event_name == "UserPromptSubmit" and asks_for_no_memory(event.prompt):
                session.turn_memory_off()
                self._off.add(event.session_id)
                return HookAnswer(render_context([OFF_CONTEXT], client), OFF_NOTICE)
            said = await session.answer(event, seconds)
            notice = await session.take_notice(event) if self._shows_notices else ""
            work = self._run_follow_up(key, session, event, hold.pop_all())
        task = asyncio.create_task(work)
        self._follow_ups.add(task)
        task.add_done_callback(self._follow_ups.discard)
        return HookAnswer(said, notice)

    async def _run_follow_up(
        self,
        key: tuple[Client, str],
        session: HookSession,
        event: HookEvent,
        hold: contextlib.AsyncExitStack,
    ) -> None:
        """Run the follow-up work of one event after that of the events before it."""
        async with hold:
            work = asyncio.ensure_future(session.run_follow_up(event))
            await asyncio.wait([work])
            error = work.exception()
            if error is not None:
                self._on_failure(event, key[0], error)
        if event.hook_event_name == "SessionEnd":
            self._pool.close_unused(key)  # unless the client resumed it meanwhile

    async def wait_until_idle(self) -> None:
        """Wait until no follow-up work is running."""
        while self._follow_ups:
            await asyncio.wait(self._follow_ups)

    async def close(self) -> None:
        """Wait for follow-up work to end, then close every session."""
        await self.wait_until_idle()
        await self._pool.close()
