"""The hook daemon: holds the engine and the clients' sessions, answers hook calls on the socket,
and exits when idle.

It also exits for another version of memorist and after changed settings. No error in it reaches an
agent: the response is empty then, and the reason goes to the failures log.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from msgspec import Struct

from memorist import __version__
from memorist.engine.engine import Memorist
from memorist.errors import MemoristError, StoreError
from memorist.hooks import hook_protocol
from memorist.hooks.hook_client import HookUnanswered, enter_hooks_folder, record_hook_failure
from memorist.hooks.hook_event import (
    CHECK_EVENT,
    Client,
    HookEvent,
    UnknownHookEvent,
    detect_client,
    parse_hook_event,
)
from memorist.hooks.hook_notices import render_off_notice
from memorist.hooks.hook_response import render_output
from memorist.hooks.hook_session import HookSessionPool
from memorist.platforms import file_locks, processes, sockets
from memorist.platforms.file_descriptors import NO_LINKS, PRIVATE, replace_bytes
from memorist.settings import HooksSettings

# A watchdog for the daemon's event loop: a blocked process exits, so that the next hook starts
# another.


HEARTBEAT_CHECK_SECONDS = 10.0
BEAT_SHARE = 0.2
"""Time between two beats, as a share of the time between two checks."""
MISSED_CHECKS = 6
"""Consecutive checks without a beat and without work after which the process counts as hung: one
minute.

Checks are counted instead of reading a clock, so that a process that was stopped, or a machine that
slept, is not late when it resumes.
"""
IDLE_CPU_SECONDS = 0.1
"""CPU seconds between two checks below which the process did no work.

A process that works on something long is left alone, however busy the machine is.
"""
BUSY_CPU_SECONDS = 120.0
"""CPU seconds without a beat after which the work counts as endless; reading a 300 MB session takes
a sixth of it.
"""


class Heartbeat:
    """Calls `on_hang`, from the watchdog thread, when the loop is blocked or runs without end.

    `cpu_seconds` returns the CPU time of the process.
    """

    def __init__(
        self,
        on_hang: Callable[[], None],
        missed_checks: int = MISSED_CHECKS,
        cpu_seconds: Callable[[], float] = time.process_time,
    ) -> None:
        self._hangs = on_hang
        self._looks = missed_checks
        self._spent = cpu_seconds
        self._beaten = False
        self._idle = 0
        self._beat_at = self._looked_at = cpu_seconds()

    def beat(self) -> None:
        """Record that the loop is running."""
        self._beaten = True

    def check(self) -> None:
        """Check whether the loop has run since the last check."""
        now = self._spent()
        worked = now - self._looked_at >= IDLE_CPU_SECONDS
        self._looked_at = now
        if self._beaten:
            self._beaten, self._idle, self._beat_at = False, 0, now
            return
        self._idle = 0 if worked else self._idle + 1
        if self._idle >= self._looks or now - self._beat_at > BUSY_CPU_SECONDS:
            self._hangs()

    def start(
        self, loop: asyncio.AbstractEventLoop, seconds: float = HEARTBEAT_CHECK_SECONDS
    ) -> None:
        """Schedule beats in the loop, and check them in a daemon thread that ends with the
        process.
        """

        def beating() -> None:
            self.beat()
            loop.call_later(seconds * BEAT_SHARE, beating)

        def watching() -> None:
            while True:
                time.sleep(seconds)
                self.check()

        beating()
        threading.Thread(target=watching, name="memorist-heartbeat", daemon=True).start()


def exit_process() -> None:
    """Exit the process, whatever it waits for."""
    os._exit(1)


# The daemon's lock and socket: at most one process of a home answers hooks, on a socket only its
# user can open.


LOCK_WAIT_SECONDS = 15.0
"""Longest wait for a process that is shutting down: it closes its sessions first."""
PING_SECONDS = 10.0
"""How long a healthy daemon may be busy: loading the engine, or reading a long session."""
POLL_SECONDS = 0.05
MAX_QUEUED = 128
"""Requests that may wait in the socket."""


class DaemonSocket:
    """The socket and the lock.

    From here on the process works in the hooks folder, because socket paths must be short.
    """

    def __init__(self, folder: Path, lock: int, line: socket.socket, token: bytes = b"") -> None:
        self.folder = folder
        self.token = token
        """What every connection must send first; empty for a Unix socket."""
        self.listener = line
        self._lock = lock
        self._own = Path(hook_protocol.SOCKET).stat().st_ino

    @property
    def is_ours(self) -> bool:
        """Whether the socket can still be found; the folder may have been removed."""
        try:
            return Path(hook_protocol.SOCKET).stat().st_ino == self._own and self.folder.exists()
        except OSError:
            return False

    def stop_listening(self) -> None:
        """Take the socket's file away, so that the next hook starts another process. The listener
        itself is the server's to close. May be called twice.
        """
        if self.is_ours:
            with contextlib.suppress(OSError):
                Path(hook_protocol.SOCKET).unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_listening()
        self.listener.close()
        with contextlib.suppress(OSError):
            os.close(self._lock)


def open_daemon_socket(home: Path) -> DaemonSocket | None:
    """Open the socket of a home; None if another process listens already.

    Waits for one that is shutting down.

    Raises StoreError for a folder that cannot be used, and when another process keeps the lock
    without listening.
    """
    folder = home / hook_protocol.FOLDER
    try:
        enter_hooks_folder(str(home), str(folder))
        lock = os.open(hook_protocol.LOCK, os.O_CREAT | os.O_RDWR | PRIVATE | NO_LINKS, 0o600)
    except (HookUnanswered, OSError) as error:
        raise StoreError(f"{folder} cannot be used for hooks: {error}") from error
    # The lock comes first: only its holder may replace the socket file.
    if not _acquire_lock(lock):
        os.close(lock)
        return None
    try:
        return DaemonSocket(folder, lock, *_bind_socket())
    except OSError as error:
        os.close(lock)
        raise StoreError(f"no socket can be made in {folder}: {error.strerror or error}") from error


def _acquire_lock(lock: int) -> bool:
    until = time.monotonic() + LOCK_WAIT_SECONDS
    while True:
        if file_locks.try_lock(lock):
            with contextlib.suppress(OSError):  # a full disk: the number is for who ends it
                replace_bytes(lock, f"{os.getpid()}\n".encode())
            return True
        if is_daemon_listening():
            return False
        if time.monotonic() > until:
            raise StoreError(
                "another memorist process holds the lock of the hooks and does not respond; end it"
            )
        time.sleep(POLL_SECONDS)


def find_daemon_process(lock: Path) -> str:
    """The process that holds the lock; empty if none does."""
    with contextlib.suppress(OSError), lock.open("rb") as file:
        if not file_locks.try_lock(file.fileno(), shared=True):
            return file.read(32).decode("ascii", "replace").strip() or "of unknown number"
    return ""


def is_daemon_listening() -> bool:
    """Whether a process listens on the socket in the working folder."""
    try:
        sockets.connect(hook_protocol.SOCKET, POLL_SECONDS).close()
    except OSError:
        return False
    return True


def is_daemon_responsive() -> bool:
    """Whether the daemon of the working folder responds.

    Connecting alone proves nothing: the system accepts connections for a hung process too.
    """
    with (
        contextlib.suppress(OSError),
        contextlib.closing(sockets.connect(hook_protocol.SOCKET, PING_SECONDS)) as line,
    ):
        line.sendall(hook_protocol.PING)
        return line.recv(1) == b""
    return False


def _bind_socket() -> tuple[socket.socket, bytes]:
    line, token = sockets.listen(hook_protocol.SOCKET, MAX_QUEUED)
    return socket.socket(fileno=line.detach()), token


IDLE_CHECK_SECONDS = 2.0
"""Time between two checks for idle sessions, and for the hooks folder being still there."""
REQUEST_SECONDS = 30.0
"""Longest wait for the rest of a request that was begun."""
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


class HookDaemon:
    """Serves one home on one socket; `serve` returns when the daemon is to exit."""

    def __init__(
        self,
        home: Path,
        daemon_socket: DaemonSocket,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._home = home
        self._listening = daemon_socket
        self._clock = clock
        self._sessions: HookSessionPool | None = None
        self._answers: set[asyncio.Future[bytes]] = set()
        self._asked = 0
        self._last = clock()
        self._end = asyncio.Event()
        self._why_off = ""
        """Why there is no engine."""
        self._settings = HooksSettings()
        self._config = _config_version(home)

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
        Heartbeat(self._on_hang).start(loop)
        processes.call_on_end_signals(loop, self._end.set)
        engine = self._open_engine()
        if engine is not None:
            idle_seconds = self._settings.session_idle_seconds
            self._sessions = HookSessionPool(engine, idle_seconds, self._on_failure)
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
            self._listening.stop_listening()
            server.close()
            if self._answers:
                await asyncio.wait(self._answers)
            if self._sessions is not None:
                await self._sessions.close()
            if engine is not None:
                await engine.close()

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
        lines = [f"{event} {seconds:g}\n" for event, seconds in self._limits().items()]
        try:
            Path(hook_protocol.LIMITS).write_text("".join(lines), encoding="utf-8")
        except OSError as error:
            self._record_failure("", "", f"the limits file could not be written: {error}")

    def _limits(self) -> dict[str, float]:
        hooks = self._settings
        return {
            "SessionStart": hooks.start_seconds,
            "UserPromptSubmit": hooks.prompt_seconds,
            "PreToolUse": hooks.tool_seconds,
            "PreCompact": hooks.compaction_seconds,
            hook_protocol.OTHER_EVENTS: hooks.other_seconds,
        }

    async def _check_idle(self) -> None:
        """Wait a little, then decide whether to exit."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._end.wait(), IDLE_CHECK_SECONDS)
        idle = (
            not self._asked
            and not self._sessions
            and self._clock() - self._last > self._settings.idle_seconds
        )
        if idle or not self._listening.is_ours or _config_version(self._home) != self._config:
            self._end.set()

    async def _serve_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Serve one connection: one request and its response."""
        self._asked += 1
        self._last = self._clock()
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                token = await reader.readexactly(len(self._listening.token))
                if not hmac.compare_digest(token, self._listening.token):
                    return
                question = await _read_request(reader)
            if isinstance(question, HookRequest):
                writer.write(
                    hook_protocol.encode_hook_response(
                        hook_protocol.DONE, await self._answer(question)
                    )
                )
            elif question == hook_protocol.MOVED:
                self._listening.stop_listening()
                self._end.set()
                writer.write(hook_protocol.encode_hook_response(hook_protocol.MOVED))
            await writer.drain()
        except (TimeoutError, OSError, ValueError, asyncio.IncompleteReadError):
            pass  # the hook program is gone, or it was no hook program
        finally:
            self._asked -= 1
            writer.close()

    async def _answer(self, question: HookRequest) -> bytes:
        """Return what the hook prints; empty on any error, since an agent must not be stopped by
        it.
        """
        if not self._settings.enabled:
            return b""
        event = parse_hook_event(question.data, question.event)
        if isinstance(event, UnknownHookEvent):
            self._record_failure(question.event, question.client, event.why)
            return b""
        client = detect_client(question.client, event)
        if self._sessions is None or event.hook_event_name == CHECK_EVENT:
            return _answer_without_session(event, client, self._why_off)
        seconds = hook_protocol.find_time_limit(event.hook_event_name, self._limits())
        work = asyncio.ensure_future(
            self._render_answer(self._sessions, client, event, question.project)
        )
        self._answers.add(work)
        work.add_done_callback(self._answers.discard)
        await asyncio.wait([work], timeout=ANSWER_SHARE * seconds)
        if not work.done():
            self._record_failure(
                event.hook_event_name,
                client,
                f"no answer within {seconds:g} seconds; the work goes on",
            )
            return b""
        error = work.exception()
        if error is not None:
            self._on_failure(event, client, error)
            return b""
        return work.result()

    async def _render_answer(
        self, sessions: HookSessionPool, client: Client, event: HookEvent, project: str
    ) -> bytes:
        seconds = NOTES_SHARE * hook_protocol.find_time_limit(event.hook_event_name, self._limits())
        answer = await sessions.answer(client, event, project, seconds)
        return render_output(event, client, answer.text, answer.notice)

    def _on_failure(self, event: HookEvent, client: Client, error: BaseException) -> None:
        self._record_failure(
            event.hook_event_name,
            client,
            str(error) if isinstance(error, MemoristError) else f"{type(error).__name__}: {error}",
        )

    def _record_failure(self, event: str, client: str, why: str) -> None:
        record_hook_failure(str(self._listening.folder), event, client, why)


def _answer_without_session(event: HookEvent, client: Client, why_off: str) -> bytes:
    """Answer the check of an installation; tell the user at the start of a session that memory is
    off, where `why_off` says why; silence at all other events.
    """
    if not why_off:
        return f"memorist {__version__} answers".encode()
    if event.hook_event_name != "SessionStart":
        return b""
    return render_output(event, client, "", render_off_notice(why_off))


async def _read_request(reader: asyncio.StreamReader) -> HookRequest | str | None:
    """Read a request; `moved` for one of another version, None for anything else."""
    line = await reader.readline()
    read = hook_protocol.parse_hook_header(line)
    if read is None:
        return hook_protocol.MOVED if hook_protocol.is_other_version(line) else None
    version, event, client, project, length = read
    if version != __version__:
        return hook_protocol.MOVED
    return HookRequest(event, client, project, await reader.readexactly(length))


def _config_version(home: Path) -> tuple[int, int] | None:
    """Modification time and size of config.toml; None if there is none."""
    try:
        found = (home / "config.toml").stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def run_daemon(home: Path, daemon_socket: DaemonSocket) -> None:
    """Serve until the daemon is to exit."""

    async def serve() -> None:
        await HookDaemon(home, daemon_socket).serve()

    asyncio.run(serve())
