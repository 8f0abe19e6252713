"""`memorist hook EVENT`: send a hook event to the daemon and print its response.

This program is started for every event, so it imports only compiled modules of Python: `socket` and
`signal` would load six more. On any error it exits with status 0, prints no partial output, and
adds one line to the failures log: memorist can never stop the agent.
"""

from __future__ import annotations

import _socket
import _thread
import fcntl
import os
import select
import sys
import time

from memorist import __version__
from memorist.hooks import wire

CHUNK = 1024 * 1024
STEP_SECONDS = 0.01
"""Pause between two attempts to connect to the daemon."""
LATE_SECONDS = 0.5
"""How long after its time limit the program exits unconditionally, whatever it waits for."""
BROKEN_SECONDS = 60.0
"""How long no daemon is started after one failed to start."""
OWN = ("-P", "-m", "memorist", "daemon")
"""Arguments that start the daemon; `-P` keeps the working folder out of `sys.path`."""


class GaveUpError(Exception):
    """There is no response; the message says why."""


class Asked:
    """The arguments and the deadline of one hook call."""

    def __init__(self, arguments: list[str]) -> None:
        self.event = arguments[0] if arguments and not arguments[0].startswith("-") else ""
        named = dict(zip(arguments[1::2], arguments[2::2], strict=False))
        self.project = os.environ.get("CLAUDE_PROJECT_DIR", "")
        self.client = named.get("--client", "") or ("claude-code" if self.project else "")
        self.home = os.path.abspath(os.path.expanduser(named.get("--home") or os.environ.get("MEMORIST_HOME") or "~/.memorist"))
        self.folder = f"{self.home}/{wire.FOLDER}"
        self.seconds = wire.limit_of(self.event, _told(self.folder))
        self.until = time.monotonic() + self.seconds

    @property
    def left(self) -> float:
        """Seconds until the deadline. Raises HookUnanswered when it has passed."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise GaveUpError(f"no answer within {self.seconds:g} seconds")
        return left


def _told(folder: str) -> dict[str, float]:
    """The time limits of the settings, as the daemon wrote them to the limits file."""
    try:
        with open(f"{folder}/{wire.LIMITS}", encoding="utf-8") as file:
            return wire.limits(file.read(4_096))
    except (OSError, ValueError):
        return {}


def main(arguments: list[str]) -> None:
    """Send the event and print the response. Never returns: the process exits with status 0."""
    asked = None
    try:
        asked = Asked(arguments)
        _thread.start_new_thread(_watch, (asked,))
        _print(answer(asked, _input(asked)))
    finally:
        _end(asked, sys.exception())


def _watch(asked: Asked) -> None:
    """Exit the program when it is late, whatever it waits for. Runs in a thread."""
    time.sleep(asked.seconds + LATE_SECONDS)
    _end(asked, GaveUpError("it did not end by itself"))


def _end(asked: Asked | None, error: BaseException | None) -> None:
    """Log the reason, if there is one, and exit in any case."""
    try:
        if asked is not None and error is not None:
            why = str(error) if isinstance(error, GaveUpError) else f"{type(error).__name__}: {error}"
            note(asked.folder, asked.event, asked.client, why)
    finally:
        os._exit(0)


def _input(asked: Asked) -> bytes:
    """Read the event from standard input.

    All of it is read, so that the agent does not block on writing; an event that is too large is
    discarded.
    """
    parts: list[bytes] = []
    size = 0
    while True:
        if not select.select([0], [], [], asked.left)[0]:
            continue
        part = os.read(0, CHUNK)
        if not part:
            break
        size += len(part)
        if size <= wire.MOST_BYTES:
            parts.append(part)
    if size > wire.MOST_BYTES:
        raise GaveUpError(f"the event is larger than {wire.MOST_BYTES:,} bytes")
    return b"".join(parts)


def _print(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def answer(asked: Asked, data: bytes) -> bytes:
    """Ask the daemon for the response. Starts a daemon if there is none, or one of another version.

    Raises HookUnanswered, or OSError.
    """
    enter(asked.home, asked.folder)
    question = wire.header(__version__, asked.event, asked.client, asked.project, len(data)) + data
    starting = Starting(asked.home)
    broken_off = 0
    while True:
        said = _try(asked, question)
        found = None if said is None else wire.read_answer(said)
        if found is not None and found[0] == wire.DONE:
            return found[1]
        broken_off += said is not None and found is None
        if broken_off > 1:
            raise GaveUpError("the hook daemon ended during the request, twice")
        if said is None or found is not None:
            starting.begin()
        time.sleep(min(STEP_SECONDS, asked.left))


def enter(home: str, folder: str) -> None:
    """Create the private hooks folder if needed and change into it.

    Raises HookUnanswered if others may write to it, or OSError.
    """
    os.makedirs(os.path.dirname(home), exist_ok=True)
    for path in (home, folder):
        if not os.path.isdir(path):
            os.makedirs(path, mode=0o700, exist_ok=True)
    found = os.stat(folder)
    if found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise GaveUpError(f"others may write to {folder}; make it private with chmod 700")
    os.chdir(folder)


def _try(asked: Asked, question: bytes) -> bytes | None:
    """Send the request once and return all that came back.

    None if nobody listens; the bytes received so far if the connection broke.
    """
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    line.settimeout(asked.left)
    said = b""
    try:
        line.connect(wire.SOCKET)
    except (FileNotFoundError, ConnectionRefusedError, BlockingIOError):
        line.close()
        return None
    try:
        line.sendall(question)
        while part := line.recv(CHUNK):
            said += part
            line.settimeout(asked.left)
    except (ConnectionResetError, BrokenPipeError):
        return said
    except TimeoutError:
        raise GaveUpError(f"no answer within {asked.seconds:g} seconds") from None
    finally:
        line.close()
    return said


class Starting:
    """Starts the daemon once, and only from one of the hook programs that find none."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._process = 0
        self._turn = -1

    def begin(self) -> None:
        """Start the daemon, unless it is being started.

        Raises HookUnanswered if it failed to start, now or within START_BACKOFF_SECONDS.
        """
        if self._process:
            self._look()
            return
        if self._turn < 0:
            self._turn = os.open(wire.STARTING, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        lately = time.time() - os.fstat(self._turn).st_mtime
        if os.fstat(self._turn).st_size and 0 <= lately < BROKEN_SECONDS:
            raise GaveUpError(f"the process behind the hooks could not start {lately:.0f} seconds ago; {self._where}")
        os.ftruncate(self._turn, 0)
        self._process = spawn(self._home)

    @property
    def _where(self) -> str:
        return f"{self._home}/{wire.FOLDER}/{wire.OUTPUT} says why"

    def _look(self) -> None:
        process, status = os.waitpid(self._process, os.WNOHANG)
        if process and status:
            os.write(self._turn, b"broken")
            raise GaveUpError(f"the process behind the hooks ended at once; {self._where}")


def spawn(home: str) -> int:
    """Start the daemon in a session of its own, detached from the agent's input and output.

    Returns its process id.
    """
    output = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, wire.OUTPUT, output, 0o600),
    ]
    words = [sys.executable, *OWN, "--home", home]
    try:
        return os.posix_spawn(sys.executable, words, dict(os.environ), file_actions=actions, setsid=True)
    except NotImplementedError:  # this system cannot spawn into a new session; a group of its own keeps the agent's signals away
        return os.posix_spawn(sys.executable, words, dict(os.environ), file_actions=actions, setpgroup=0)


def note(folder: str, event: str, client: str, why: str) -> None:
    """Append a line to the failures log. If the disk refuses, the line is lost."""
    words = (f"{time.time():.3f}", event, client, why)
    line = "\t".join(" ".join(word.split())[:500] for word in words) + "\n"
    path = f"{folder}/{wire.FAILURES}"
    try:
        file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.write(file, line.encode("utf-8", "replace"))
            if os.fstat(file).st_size > wire.FAILURES_BYTES:
                os.replace(path, f"{path}.1")
        finally:
            os.close(file)
    except OSError:
        return
