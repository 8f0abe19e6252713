"""The hook daemon: holds the engine and the clients' sessions, answers hook calls on the socket,
and exits when idle.

It also exits for another version of memorist, when the program's files were replaced, and after
changed settings. No error in it reaches an agent: the response is empty then, and the reason goes
to the failures log.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import hmac
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

import memorist
from memorist import __version__
from memorist.engine.engine import Memorist
from memorist.errors import MemoristError
from memorist.hooks import hook_protocol, hook_time_limits
from memorist.hooks.daemon_socket import LockedDaemonSocket
from memorist.hooks.daemon_watchdog import EventLoopWatchdog, exit_process
from memorist.hooks.hook_client import record_hook_failure
from memorist.hooks.hook_event import (
    Client,
    HookEvent,
    HookEventProblem,
    detect_hook_client,
    parse_hook_event,
)
from memorist.hooks.hook_notices import NOTICE_EVENTS, render_failure_notice, render_off_notice
from memorist.hooks.hook_response import render_hook_output
from memorist.hooks.hook_session import HookOutput, HookSessionPool
from memorist.hooks.hook_texts import LateTexts
from memorist.platforms import processes, sockets
from memorist.platforms.background_thread import PROMPT_IN_PROGRESS
from memorist.safety.secrets import redact
from memorist.settings import HooksSettings

_PROGRAM = Path(memorist.__file__)
"""A file of the program that each installation writes anew."""
IDLE_CHECK_SECONDS = 2.0
"""Time between two checks for idle sessions, and for the hooks folder being still there."""
REQUEST_READ_TIMEOUT_SECONDS = 30.0
"""Longest wait for the rest of a request that was begun."""
MAX_LAST_ANSWERS_WAIT_SECONDS = 30.0
"""Longest wait for the answers at work when the daemon is to exit: three times the longest time
limit of an event. Our choice.
"""
THREAD_SWITCH_SECONDS = 0.0005
"""How long a thread that indexes or embeds may keep the interpreter from the loop, for which an
agent waits; Python's own is ten times that. Our choice.
"""
QUICK_EVENTS = ("UserPromptSubmit", "PreToolUse")
"""Events that wait for no model, disk or other process."""
ANSWER_SHARE, NOTES_SHARE = 0.9, 0.6
"""Shares of the event's time limit for the response, and for updating notes within it; the hook
program waits the whole limit.
"""


class HookRequest(Struct, frozen=True):
    """One hook event with the sender's client and project."""

    event: str
    client: str
    project: str
    data: bytes


class HookAnswer(Struct, frozen=True):
    """What a hook prints, and in it the text for the model, which counts as shown, and the notice
    for the user.
    """

    output: bytes = b""
    event: HookEvent | None = None
    text: str = ""
    notice: str = ""


class HookDaemon:
    """Serves one home on one socket; `serve` returns when the daemon is to exit."""

    def __init__(self, home: Path, daemon_socket: LockedDaemonSocket) -> None:
        self._home = home
        self._listening = daemon_socket
        self._sessions: HookSessionPool | None = None
        self._answers: set[asyncio.Future[HookOutput]] = set()
        self._late = LateTexts()
        self._asked = 0
        self._last = time.monotonic()
        self._end = asyncio.Event()
        self._garbage_pause = GarbageCollectionPause()
        self._why_off = ""
        """Why there is no engine."""
        self._unrecorded_failure = ""
        """What the failures log could not take, such as on a full disk."""
        self._settings = HooksSettings()
        self._config = _file_version(home / "config.toml")
        self._program = _file_version(_PROGRAM)

    def _on_hang(self) -> None:
        """Called in the watchdog thread when the event loop is blocked or busy without end."""
        self._record_failure(
            "", "", "the hook daemon hung and exited; the next hook starts another"
        )
        exit_process()

    async def serve(self) -> None:
        """Serve until idle for long, the settings changed, another version asks, or a signal
        arrives.
        """
        loop = asyncio.get_running_loop()
        EventLoopWatchdog(self._on_hang).start(loop)
        processes.call_on_termination_signals(loop, self._end.set)
        engine = self._open_engine()
        if engine is not None:
            self._sessions = HookSessionPool(engine, self._on_failure)
        self._write_limits()
        start = asyncio.start_unix_server if sockets.HAS_UNIX else asyncio.start_server
        server = await start(
            self._serve_connection,
            sock=self._listening.listener,
            limit=hook_protocol.MAX_HEADER_BYTES,
        )
        try:
            while not self._end.is_set():
                await self._check_idle()
        finally:
            self._listening.remove_socket_file()
            server.close()
            await self._finish_answers()
            if self._sessions is not None:
                await self._sessions.close()
            if engine is not None:
                await engine.close()

    async def _finish_answers(self) -> None:
        """Wait for the last answers, not without end: until this daemon exits no other begins, and
        all hooks stay without an answer.
        """
        if not self._answers:
            return
        _, unfinished = await asyncio.wait(self._answers, timeout=MAX_LAST_ANSWERS_WAIT_SECONDS)
        for work in unfinished:
            work.cancel()
        if unfinished:
            self._record_failure(
                "",
                "",
                f"the hook daemon was to exit, and {len(unfinished)} hooks were not done after "
                f"{MAX_LAST_ANSWERS_WAIT_SECONDS:g} seconds; they were ended",
            )
            await asyncio.wait(unfinished, timeout=1.0)

    def _open_engine(self) -> Memorist | None:
        """Open the engine; None if the settings are invalid, in which case every response is empty
        until they change.
        """
        try:
            engine = Memorist(home=self._home)
        except MemoristError as error:
            self._record_failure("", "", str(error))
            self._why_off = str(error)
            return None
        self._settings = engine.settings.hooks
        return engine

    def _write_limits(self) -> None:
        """Write the time limits of the settings to a file that hook programs can read without
        loading the settings.
        """
        lines = [
            f"{event} {seconds:g}\n" for event, seconds in self._settings.list_time_limits().items()
        ]
        try:
            Path(hook_protocol.LIMITS).write_text("".join(lines), encoding="utf-8")
        except OSError as error:
            self._record_failure("", "", f"the limits file could not be written: {error}")

    def _find_time_limit(self, event: HookEvent) -> float:
        return hook_time_limits.resolve_event_time_limit(
            event.hook_event_name, self._settings.list_time_limits()
        )

    async def _check_idle(self) -> None:
        """Wait a little, then decide whether to exit."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._end.wait(), IDLE_CHECK_SECONDS)
        idle = (
            not self._asked
            and not self._sessions
            and time.monotonic() - self._last > self._settings.idle_seconds
        )
        if idle or not self._listening.is_ours or self._is_outdated():
            self._end.set()

    def _is_outdated(self) -> bool:
        """Whether the settings changed, or the program's files were replaced: an upgrade from a
        checkout keeps the version's number.
        """
        return (
            _file_version(self._home / "config.toml") != self._config
            or _file_version(_PROGRAM) != self._program
        )

    async def _serve_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Serve one connection: one request and its response."""
        self._asked += 1
        self._last = time.monotonic()
        said = HookAnswer()
        try:
            async with asyncio.timeout(REQUEST_READ_TIMEOUT_SECONDS):
                token = await reader.readexactly(len(self._listening.token))
                if not hmac.compare_digest(token, self._listening.token):
                    return
                question = await _read_request(reader)
            if isinstance(question, HookRequest) and not self._is_outdated():
                quick = question.event in QUICK_EVENTS
                with self._answer_first() if quick else contextlib.nullcontext():
                    said = await self._answer(question)
                    writer.write(
                        hook_protocol.encode_daemon_response(hook_protocol.DONE, said.output)
                    )
            elif question is not None:
                self._listening.remove_socket_file()
                self._end.set()
                writer.write(hook_protocol.encode_daemon_response(hook_protocol.MOVED))
            await writer.drain()
        except (TimeoutError, OSError, ValueError, asyncio.IncompleteReadError):
            # The hook program is gone, or it was no hook program.
            if said.event is not None:
                self._late.keep(said.event, said.text, said.notice)
        finally:
            self._asked -= 1
            writer.close()

    @contextlib.contextmanager
    def _answer_first(self) -> Iterator[None]:
        """Nothing else is done within this context that can wait."""
        with self._garbage_pause, PROMPT_IN_PROGRESS:
            yield

    async def _answer(self, question: HookRequest) -> HookAnswer:
        """Return what the hook prints; empty on any error, since an agent must not be stopped by
        it.
        """
        if not self._settings.enabled:
            return HookAnswer()
        event = parse_hook_event(question.data, question.event)
        if isinstance(event, HookEventProblem):
            self._record_failure(question.event, question.client, event.why)
            return HookAnswer()
        client = detect_hook_client(question.client, event)
        if self._sessions is None or event.hook_event_name == hook_protocol.CHECK_EVENT:
            return HookAnswer(_answer_without_session(event, client, self._why_off))
        seconds = self._find_time_limit(event)
        work = asyncio.ensure_future(
            self._prepare_answer(self._sessions, client, event, question.project)
        )
        self._answers.add(work)
        work.add_done_callback(self._answers.discard)
        await asyncio.wait([work], timeout=ANSWER_SHARE * seconds)
        if not work.done():
            work.add_done_callback(lambda done: self._keep_late(event, done))
            self._record_failure(
                event.hook_event_name,
                client,
                f"no answer within {seconds:g} seconds; the work goes on",
            )
            return HookAnswer()
        error = work.exception()
        if error is not None:
            self._on_failure(event, client, error)
            return HookAnswer()
        text = self._late.join(event, client, work.result().text)
        notice = self._late.join_notice(event, work.result().notice)
        output = render_hook_output(event, client, text, notice)
        return HookAnswer(output, event, text, notice)

    def _keep_late(self, event: HookEvent, done: asyncio.Future[HookOutput]) -> None:
        """Keep what was ready after the agent had gone on."""
        if not done.cancelled() and done.exception() is None:
            self._late.keep(event, done.result().text, done.result().notice)

    async def _prepare_answer(
        self, sessions: HookSessionPool, client: Client, event: HookEvent, project: str
    ) -> HookOutput:
        seconds = NOTES_SHARE * self._find_time_limit(event)
        answer = await sessions.render_output_for_event(client, event, project, seconds)
        notice = answer.notice
        if not notice and self._settings.notices and event.hook_event_name in NOTICE_EVENTS:
            notice = render_failure_notice(self._unrecorded_failure)
            self._unrecorded_failure = ""
        return HookOutput(answer.text, notice)

    def _on_failure(self, event: HookEvent, client: Client, error: BaseException) -> None:
        self._record_failure(
            event.hook_event_name,
            client,
            str(error) if isinstance(error, MemoristError) else f"{type(error).__name__}: {error}",
        )

    def _record_failure(self, event: str, client: str, why: str) -> None:
        why = redact(why).text
        if not record_hook_failure(str(self._listening.folder), event, client, why):
            self._unrecorded_failure = why


class GarbageCollectionPause:
    """No garbage is collected within this context, which may be entered several times at once: a
    full collection takes 10 to 40 ms of a process that holds ten thousand memories.
    """

    def __init__(self) -> None:
        self._entered = 0

    def __enter__(self) -> None:
        self._entered += 1
        gc.disable()

    def __exit__(self, *_: object) -> None:
        self._entered -= 1
        if not self._entered:
            gc.enable()


def _answer_without_session(event: HookEvent, client: Client, why_off: str) -> bytes:
    """Answer the check of an installation; tell the user at the start of a session that memory is
    off, where `why_off` says why; silence at all other events.
    """
    if not why_off:
        return f"memorist {__version__} answers".encode()
    if event.hook_event_name != "SessionStart":
        return b""
    return render_hook_output(event, client, "", render_off_notice(why_off))


async def _read_request(reader: asyncio.StreamReader) -> HookRequest | str | None:
    """Read a request; `moved` for one of another version, None for anything else."""
    line = await reader.readline()
    read = hook_protocol.parse_hook_header(line)
    if read is None:
        return hook_protocol.MOVED if hook_protocol.is_other_protocol_version(line) else None
    version, event, client, project, length = read
    if version != __version__:
        return hook_protocol.MOVED
    return HookRequest(event, client, project, await reader.readexactly(length))


def _file_version(path: Path) -> tuple[int, int, int] | None:
    """Modification time, size and number of a file; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def run_daemon(home: Path, daemon_socket: LockedDaemonSocket) -> None:
    """Serve until the daemon is to exit."""

    async def serve() -> None:
        await HookDaemon(home, daemon_socket).serve()

    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    gc.freeze()  # what is imported stays: half of each full collection, in the midst of some prompt
    gc.enable()
    asyncio.run(serve())
