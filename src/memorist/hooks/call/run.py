"""`memorist hook EVENT`: hands an event of a coding agent to the process behind the hooks, and prints what it answers.

It is started for every event, so that it loads only modules of Python that are compiled: `socket` and `signal` would load six more. Whatever goes
wrong, it ends with status 0, prints nothing that is not whole, and writes one line into the file of failures: memorist can never stop the agent.
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
"""Time between two looks whether the process behind the hooks is there."""
LATE_SECONDS = 0.5
"""So long after its limit the program ends in any case, whatever it waits for."""
BROKEN_SECONDS = 60.0
"""So long after a process that could not start none is started."""
OWN = ("-P", "-m", "memorist", "daemon")
"""How the process behind the hooks is started; `-P` keeps the folder that it is started in out of what it loads."""


class GaveUpError(Exception):
    """There is no answer, for this reason."""


class Asked:
    """What is asked, and how long it may take."""

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
        """Seconds that are left. Raises GaveUpError when none are."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise GaveUpError(f"no answer within {self.seconds:g} seconds")
        return left


def _told(folder: str) -> dict[str, float]:
    """The limits that the settings name, as the process behind the hooks wrote them down."""
    try:
        with open(f"{folder}/{wire.LIMITS}", encoding="utf-8") as file:
            return wire.limits(file.read(4_096))
    except (OSError, ValueError):
        return {}


def main(arguments: list[str]) -> None:
    """Ask and print. Never returns, and ends with status 0."""
    asked = None
    try:
        asked = Asked(arguments)
        _thread.start_new_thread(_watch, (asked,))
        _print(answer(asked, _input(asked)))
    finally:
        _end(asked, sys.exception())


def _watch(asked: Asked) -> None:
    """End the program when it is late, whatever it waits for."""
    time.sleep(asked.seconds + LATE_SECONDS)
    _end(asked, GaveUpError("it did not end by itself"))


def _end(asked: Asked | None, error: BaseException | None) -> None:
    """The end, in any case; first the reason, if there is one."""
    try:
        if asked is not None and error is not None:
            why = str(error) if isinstance(error, GaveUpError) else f"{type(error).__name__}: {error}"
            note(asked.folder, asked.event, asked.client, why)
    finally:
        os._exit(0)


def _input(asked: Asked) -> bytes:
    """What the agent says. All of it is read, so that the agent can go on writing; of too much nothing is kept."""
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
    """What is to be printed. Starts the process behind the hooks where there is none, or one of another version.

    Raises GaveUpError, or what the system says.
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
            raise GaveUpError("the process behind the hooks ended in the middle of it, twice")
        if said is None or found is not None:
            starting.begin()
        time.sleep(min(STEP_SECONDS, asked.left))


def enter(home: str, folder: str) -> None:
    """Make the folder, private to the user, and go there. Raises GaveUpError for one in which others may write, or what the system says."""
    os.makedirs(os.path.dirname(home), exist_ok=True)
    for path in (home, folder):
        if not os.path.isdir(path):
            os.makedirs(path, mode=0o700, exist_ok=True)
    found = os.stat(folder)
    if found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise GaveUpError(f"others may write to {folder}; make it private with chmod 700")
    os.chdir(folder)


def _try(asked: Asked, question: bytes) -> bytes | None:
    """All that is answered; None where nobody is there, and what came until then where it was broken off."""
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
    """Starts the process behind the hooks, once, and only one of the programs that find none does."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._process = 0
        self._turn = -1

    def begin(self) -> None:
        """Start it, unless it is being started. Raises GaveUpError when it ended at once, now or lately."""
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
    """Start the process behind the hooks, apart from the agent: in a session of its own, without its input and output. Gives its id."""
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
    """Add a line to the file of failures. A disk that refuses loses the line."""
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
