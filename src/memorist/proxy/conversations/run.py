"""The engine's sessions behind the proxy's conversations. Nothing that goes wrong here reaches the client: its request then goes out as it came.

A call of the engine runs as a task of its own, so that neither a client that hangs up nor a time limit leaves a session half way; a session that failed is
closed and opened anew with a later request, and one that keeps failing is left alone for a while.
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
"""Failures in a row after which a conversation is left alone. Ours, as compaction's own limit."""
REST_SECONDS = 300.0
"""So long. Ours."""
SWEEP_SECONDS = 30.0
"""How often quiet conversations are looked for. Ours."""
CLOSE_SECONDS = 75.0
"""Longest wait for a session to close: its own bound is a minute. Ours."""

log = logging.getLogger("memorist.proxy")

Value = TypeVar("Value")


class Failed(Exception):
    """Memorist could not do its part; the message says why in a few words."""


def guarded(work: Callable[[], Value]) -> Value:
    """What `work` gives. Raises Failed for whatever goes wrong in it: the client's bytes go on in any case."""
    try:
        return work()
    except FormatError as error:
        raise Failed(str(error)) from error
    except Exception as error:
        # A client, or memorist, that does what nobody thought of. The message may hold what the conversation says, and is not told.
        raise Failed(f"{type(error).__name__} in {_where(error)}") from error


class Prepared(Struct, frozen=True, eq=False):
    """The request to send, and the session that gave it."""

    request: JsonObject
    session: Session


class _Live:
    """One conversation that is open, or was."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.turn = asyncio.Lock()
        self.used = 0.0
        self.failures = 0
        self.rests_until = 0.0
        self.closing: asyncio.Task[None] | None = None


class Conversations:
    """All conversations of one proxy. `close` ends them."""

    def __init__(self, homes: Homes, settings: ProxySettings) -> None:
        self._homes = homes
        self._settings = settings
        self._live: OrderedDict[tuple[str, ...], _Live] = OrderedDict()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._sweeper: asyncio.Task[None] | None = None

    async def prepare(self, lane: Lane, request: JsonObject) -> Prepared:
        """Take a request in and give the one to send. Raises Failed."""
        live = self._of(lane)

        async def work() -> Prepared:
            async with live.turn:
                session = await self._open(live, lane, request)
                return Prepared(await session.prepare(request), session)

        found = await self._within(live, work)
        live.failures = 0
        return found

    async def recover(self, lane: Lane, prepared: Prepared) -> JsonObject | None:
        """The provider refused the request as too long: a smaller one, once; None where there is none. Raises Failed."""
        live = self._of(lane)

        async def work() -> JsonObject | None:
            async with live.turn:
                return await prepared.session.recover() if live.session is prepared.session else None

        return await self._within(live, work)

    def observe(self, lane: Lane, prepared: Prepared, read: Callable[[], JsonObject | None]) -> None:
        """Take a reply in, behind the client's back; its next request waits for that. `read` gives it, or None for one that is not whole."""
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
        """Wait until nothing is at work behind a client's back."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """End every conversation. Waits for what runs, within a bound."""
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
        """Do it as a task of its own, within the time limit. Raises Failed, after which the session is let go."""
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
            # Whatever is wrong with memorist, the client's work goes on. Its message may hold what the conversation says, and is not told.
            raise self._failed(live, f"{type(error).__name__} in {_where(error)}") from error

    def _failed(self, live: _Live, why: str) -> Failed:
        live.failures += 1
        if live.failures >= FAILURES:
            live.rests_until, live.failures = asyncio.get_running_loop().time() + REST_SECONDS, 0
        self._let_go(live)
        log.warning("memorist could not do its part: %s", why)
        return Failed(why)

    def _let_go(self, live: _Live) -> None:
        """Close the session behind everybody's back; the next one is opened when it is closed."""
        session, live.session = live.session, None
        if session is not None:
            live.closing = self._start(self._closed(session))
            live.closing.add_done_callback(_told)

    async def _closed(self, session: Session) -> None:
        async with asyncio.timeout(CLOSE_SECONDS):
            await session.close()

    def _crowded(self) -> None:
        """Let the conversations go that were quiet longest, where more are open than shall be."""
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
        log.warning("a conversation could not be closed well: %s in %s", type(error).__name__, _where(error))


def calls(format: str, reply: JsonObject) -> bool:
    """Whether a reply holds tool calls, so that the turn goes on. Raises FormatError."""
    messages: tuple[Message, ...] = codec(format).decode_reply(reply).messages
    return any(message.tool_uses for message in messages)


def _where(error: BaseException) -> str:
    """The last place of ours in an error's way: a module and a line, and nothing of what was at work there."""
    trace, place = error.__traceback__, "?"
    while trace is not None:
        place = f"{trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
