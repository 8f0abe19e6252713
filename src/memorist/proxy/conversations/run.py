"""The engine's sessions behind the proxy's conversations.

No error here reaches a client: its request is then sent unchanged.

Each engine call runs as a task of its own, so that neither a disconnecting client nor a time limit
leaves a session half-updated. A session that failed is closed and reopened by a later request; one
that keeps failing is paused.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from msgspec import Struct

from memorist.core.messages import JsonObject, Message
from memorist.engine.session import Session
from memorist.errors import FormatError, MemoristError
from memorist.formats.registry import codec
from memorist.proxy.folder import folder_of
from memorist.proxy.homes.run import Homes
from memorist.proxy.lanes import Lane
from memorist.proxy_settings import ProxySettings

FAILURES = 3
"""Consecutive failures after which a conversation is paused.

Our choice, the same as compaction's limit.
"""
REST_SECONDS = 300.0
"""Length of the pause. Our choice."""
SWEEP_SECONDS = 30.0
"""Time between two searches for idle conversations. Our choice."""
CLOSE_SECONDS = 75.0
"""Longest wait for a session to close; its own limit is a minute. Our choice."""

log = logging.getLogger("memorist.proxy")

Value = TypeVar("Value")


class Failed(Exception):
    """The engine could not prepare a request; the message is a short reason."""


def guarded(work: Callable[[], Value]) -> Value:
    """Return the result of `work`.

    Raises EngineCallFailed for any exception in it, so that the client's bytes are sent in any
    case.
    """
    try:
        return work()
    except FormatError as error:
        raise Failed(str(error)) from error
    except Exception as error:
        # An unforeseen error. Its message may quote the conversation, so only its type and place are logged.
        raise Failed(f"{type(error).__name__} in {_where(error)}") from error


class Prepared(Struct, frozen=True, eq=False):
    """The request to send, and the session that prepared it."""

    request: JsonObject
    session: Session


class _Live:
    """One conversation, with its session while that is open."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.turn = asyncio.Lock()
        self.used = 0.0
        self.failures = 0
        self.rests_until = 0.0
        self.closing: asyncio.Task[None] | None = None


class Conversations:
    """The sessions of all conversations of one proxy."""

    def __init__(self, homes: Homes, settings: ProxySettings) -> None:
        self._homes = homes
        self._settings = settings
        self._live: OrderedDict[tuple[str, ...], _Live] = OrderedDict()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._sweeper: asyncio.Task[None] | None = None

    async def prepare(self, lane: Lane, request: JsonObject) -> Prepared:
        """Let the engine record a request and prepare the one to send. Raises EngineCallFailed."""
        live = self._of(lane)

        async def work() -> Prepared:
            async with live.turn:
                session = await self._open(live, lane, request)
                return Prepared(await session.prepare(request), session)

        found = await self._within(live, work)
        live.failures = 0
        return found

    async def recover(self, lane: Lane, prepared: Prepared) -> JsonObject | None:
        """A smaller request after the provider rejected one as too long; None if there is none.

        Raises EngineCallFailed.
        """
        live = self._of(lane)

        async def work() -> JsonObject | None:
            async with live.turn:
                return await prepared.session.recover() if live.session is prepared.session else None

        return await self._within(live, work)

    def observe(self, lane: Lane, prepared: Prepared, read: Callable[[], JsonObject | None]) -> None:
        """Record a reply in the background; the conversation's next request waits for that.

        `read` returns the reply, or None if it is incomplete.
        """
        live = self._of(lane)

        async def work() -> None:
            async with live.turn:
                reply = read() if live.session is prepared.session else None
                if reply is not None:
                    await prepared.session.observe(reply)
                    if not calls(lane.format, reply):
                        await prepared.session.end_turn()

        async def quietly() -> None:
            with suppress(Failed):
                await self._within(live, work)

        self._start(quietly())

    async def settled(self) -> None:
        """Wait until no background work is running."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Close every conversation. Waits for running work within a bound."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.settled()
        for live in self._live.values():
            self._let_go(live)
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.settled()

    def _of(self, lane: Lane) -> _Live:
        if self._sweeper is None:
            self._sweeper = asyncio.get_running_loop().create_task(self._sweep())
        key = (lane.tenant, lane.told or "", lane.id)
        live = self._live.get(key)
        if live is None:
            live = self._live[key] = _Live()
        self._live.move_to_end(key)
        live.used = asyncio.get_running_loop().time()
        return live

    async def _open(self, live: _Live, lane: Lane, request: JsonObject) -> Session:
        if live.closing is not None:
            await asyncio.wait({live.closing})
            live.closing = None
        if live.session is None:
            if lane.project is None:
                lane.project = folder_of(lane.format, request) or lane.folder
            live.session = await self._homes.open(lane, lane.project)
            self._crowded()
        return live.session

    async def _within(self, live: _Live, work: Callable[[], Coroutine[Any, Any, Value]]) -> Value:
        """Run the work as a task of its own within the time limit.

        Raises EngineCallFailed, after which the session is released.
        """
        if live.rests_until > asyncio.get_running_loop().time():
            raise Failed("it failed several times and rests")
        task = self._start(work())
        done, _ = await asyncio.wait({task}, timeout=self._settings.prepare_seconds)
        if not done:
            task.cancel()
            raise self._failed(live, "it took too long")
        try:
            return task.result()
        except (MemoristError, OSError, sqlite3.Error) as error:
            raise self._failed(live, f"{type(error).__name__}: {error}") from error
        except Exception as error:
            # As in `run_guarded`: the client's work goes on, and the message may quote the conversation.
            raise self._failed(live, f"{type(error).__name__} in {_where(error)}") from error

    def _failed(self, live: _Live, why: str) -> Failed:
        live.failures += 1
        if live.failures >= FAILURES:
            live.rests_until, live.failures = asyncio.get_running_loop().time() + REST_SECONDS, 0
        self._let_go(live)
        log.warning("memorist could not do its part: %s", why)
        return Failed(why)

    def _let_go(self, live: _Live) -> None:
        """Close the session in the background; reopening waits for that."""
        session, live.session = live.session, None
        if session is not None:
            live.closing = self._start(self._closed(session))
            live.closing.add_done_callback(_told)

    async def _closed(self, session: Session) -> None:
        async with asyncio.timeout(CLOSE_SECONDS):
            await session.close()

    def _crowded(self) -> None:
        """Release the conversations that were idle longest, if more are open than the settings
        allow.
        """
        open_now = [live for live in self._live.values() if live.session is not None]
        for live in open_now[: max(0, len(open_now) - self._settings.sessions)]:
            if not live.turn.locked():
                self._let_go(live)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            quiet = asyncio.get_running_loop().time() - 60.0 * self._settings.idle_minutes
            for id, live in list(self._live.items()):
                if live.used < quiet and not live.turn.locked():
                    self._let_go(live)
                    if live.closing is None or live.closing.done():
                        del self._live[id]

    def _start(self, work: Coroutine[Any, Any, Value]) -> asyncio.Task[Value]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _told(closing: asyncio.Task[None]) -> None:
    error = None if closing.cancelled() else closing.exception()
    if error is not None:
        log.warning("a conversation could not be closed cleanly: %s in %s", type(error).__name__, _where(error))


def calls(format: str, reply: JsonObject) -> bool:
    """Whether a reply holds tool calls, so that the turn continues. Raises FormatError."""
    messages: tuple[Message, ...] = codec(format).decode_reply(reply).messages
    return any(message.tool_uses for message in messages)


def _where(error: BaseException) -> str:
    """Module and line of the innermost frame of an error, without any data it worked on."""
    trace, place = error.__traceback__, "?"
    while trace is not None:
        place = f"{trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
