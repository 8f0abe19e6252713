"""The hook daemon: holds the engine and the clients' sessions, answers hook calls on the socket,
and exits when idle.

It also exits for another version of memorist and after changed settings. No error in it reaches an
agent: the response is empty then, and the reason goes to the failures log.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from memorist import __version__
from memorist.engine.memorist import Memorist
from memorist.errors import MemoristError
from memorist.hook_settings import HooksSettings
from memorist.hooks import wire
from memorist.hooks.answer import rendered
from memorist.hooks.call.run import note
from memorist.hooks.event import Client, HookEvent, Unknown, client_of, read_event
from memorist.hooks.heartbeat.run import Heartbeat, end_at_once
from memorist.hooks.listening.run import Listening
from memorist.hooks.sessions.run import Sessions

LOOK_SECONDS = 2.0
"""Time between two checks for idle sessions, and for the hooks folder being still there."""
QUESTION_SECONDS = 30.0
"""Longest wait for the rest of a request that was begun."""
ANSWER_SHARE, NOTES_SHARE = 0.9, 0.6
"""Shares of the event's time limit for the response, and for updating notes within it; the hook
program waits the whole limit.
"""


class Question(Struct, frozen=True):
    """One hook event with the sender's client and project."""

    event: str
    client: str
    project: str
    data: bytes


class Daemon:
    """Serves one home on one socket; `serve` returns when the daemon is to exit."""

    def __init__(self, home: Path, listening: Listening, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._home = home
        self._listening = listening
        self._clock = clock
        self._sessions: Sessions | None = None
        self._answers: set[asyncio.Future[bytes]] = set()
        self._asked = 0
        self._last = clock()
        self._end = asyncio.Event()
        self._settings = HooksSettings()
        self._config = _mark(home)

    def _hangs(self) -> None:
        """Called in the watchdog thread when the event loop is blocked or busy without end."""
        self._note("", "", "the hook daemon hung and exited; the next hook starts another")
        end_at_once()

    async def serve(self) -> None:
        """Serve until idle for long, the settings changed, another version asks, or a signal
        arrives.
        """
        loop = asyncio.get_running_loop()
        Heartbeat(self._hangs).watch(loop)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end.set)
        engine = self._opened()
        if engine is not None:
            self._sessions = Sessions(engine, self._clock, self._failed)
        self._write_limits()
        server = await asyncio.start_unix_server(self._answer_line, sock=self._listening.line, limit=wire.HEADER_BYTES)
        try:
            while not self._end.is_set():
                await self._look()
        finally:
            self._listening.leave()
            server.close()
            if self._answers:
                await asyncio.wait(self._answers)
            if self._sessions is not None:
                await self._sessions.close()
            if engine is not None:
                await engine.close()

    def _opened(self) -> Memorist | None:
        """Open the engine; None if the settings are invalid, in which case every response is empty
        until they change.
        """
        try:
            engine = Memorist(home=self._home)
        except MemoristError as error:
            self._note("", "", str(error))
            return None
        self._settings = engine.settings.hooks
        return engine

    def _write_limits(self) -> None:
        """Write the time limits of the settings to a file that hook programs can read without
        loading the settings.
        """
        lines = [f"{event} {seconds:g}\n" for event, seconds in self._limits().items()]
        try:
            Path(wire.LIMITS).write_text("".join(lines), encoding="utf-8")
        except OSError as error:
            self._note("", "", f"the limits file could not be written: {error}")

    def _limits(self) -> dict[str, float]:
        hooks = self._settings
        return {
            "SessionStart": hooks.start_seconds,
            "UserPromptSubmit": hooks.prompt_seconds,
            "PreCompact": hooks.compaction_seconds,
            wire.OTHER: hooks.other_seconds,
        }

    async def _look(self) -> None:
        """Wait a little, then close idle sessions and decide whether to exit."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._end.wait(), LOOK_SECONDS)
        if self._sessions is not None:
            await self._sessions.close_idle(self._settings.session_idle_seconds)
        idle = not self._asked and not self._sessions and self._clock() - self._last > self._settings.idle_seconds
        if idle or not self._listening.is_ours or _mark(self._home) != self._config:
            self._end.set()

    async def _answer_line(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection: one request and its response."""
        self._asked += 1
        self._last = self._clock()
        try:
            async with asyncio.timeout(QUESTION_SECONDS):
                question = await _question(reader)
            if isinstance(question, Question):
                writer.write(wire.answer(wire.DONE, await self._answer(question)))
            elif question == wire.MOVED:
                self._listening.leave()
                self._end.set()
                writer.write(wire.answer(wire.MOVED))
            await writer.drain()
        except (TimeoutError, OSError, ValueError, asyncio.IncompleteReadError):
            pass  # the hook program is gone, or it was no hook program
        finally:
            self._asked -= 1
            writer.close()

    async def _answer(self, question: Question) -> bytes:
        """Return what the hook prints; empty on any error, since an agent must not be stopped by
        it.
        """
        if self._sessions is None or not self._settings.enabled:
            return b""
        event = read_event(question.data, question.event)
        if isinstance(event, Unknown):
            self._note(question.event, question.client, event.why)
            return b""
        client = client_of(question.client, event)
        seconds = wire.limit_of(event.hook_event_name, self._limits())
        work = asyncio.ensure_future(self._said(self._sessions, client, event, question.project))
        self._answers.add(work)
        work.add_done_callback(self._answers.discard)
        await asyncio.wait([work], timeout=ANSWER_SHARE * seconds)
        if not work.done():
            self._note(event.hook_event_name, client, f"no answer within {seconds:g} seconds; the work goes on")
            return b""
        error = work.exception()
        if error is not None:
            self._failed(event, client, error)
            return b""
        return work.result()

    async def _said(self, sessions: Sessions, client: Client, event: HookEvent, project: str) -> bytes:
        seconds = NOTES_SHARE * wire.limit_of(event.hook_event_name, self._limits())
        return rendered(event, client, await sessions.answer(client, event, project, seconds))

    def _failed(self, event: HookEvent, client: Client, error: BaseException) -> None:
        self._note(event.hook_event_name, client, str(error) if isinstance(error, MemoristError) else f"{type(error).__name__}: {error}")

    def _note(self, event: str, client: str, why: str) -> None:
        note(str(self._listening.folder), event, client, why)


async def _question(reader: asyncio.StreamReader) -> Question | str | None:
    """Read a request; `moved` for one of another version, None for anything else."""
    line = await reader.readline()
    read = wire.read_header(line)
    if read is None:
        return wire.MOVED if wire.of_another_version(line) else None
    version, event, client, project, length = read
    if version != __version__:
        return wire.MOVED
    return Question(event, client, project, await reader.readexactly(length))


def _mark(home: Path) -> tuple[int, int] | None:
    """Modification time and size of config.toml; None if there is none."""
    try:
        found = (home / "config.toml").stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def run(home: Path, listening: Listening) -> None:
    """Serve until the daemon is to exit."""

    async def serve() -> None:
        await Daemon(home, listening).serve()

    asyncio.run(serve())
