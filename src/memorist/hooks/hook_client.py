"""`memorist hook EVENT`: send a hook event to the daemon and print its response.

This program is started for every event, so it imports only compiled modules of Python: `socket` and
`signal` would load six more. On any error it exits with status 0, prints no partial output, and
adds one line to the failures log: memorist can never stop the agent.
"""

from __future__ import annotations

import _thread
import os
import select
import sys
import time

from memorist import __version__
from memorist.hooks import hook_protocol, hook_time_limits
from memorist.platforms import file_locks, sockets, spawning, storage_errors, user_home
from memorist.platforms.file_descriptors import NO_LINKS, NON_INHERITED_BINARY_FLAGS

CHUNK_BYTES = 1024 * 1024
RETRY_SECONDS = 0.01
"""Pause between two attempts to connect to the daemon."""
EXIT_GRACE_SECONDS = 0.5
"""How long after its time limit the program exits unconditionally, whatever it waits for."""
START_BACKOFF_SECONDS = 60.0
"""How long no daemon is started after one failed to start."""
DAEMON_ARGUMENTS = ("-P", "-m", "memorist", "daemon")
"""Arguments that start the daemon; `-P` keeps the working folder out of `sys.path`."""


OFF_NOTICE = (
    b'{"systemMessage":"memorist: memory is off for this session, since MEMORIST_OFF is set"}'
)
"""Told to the user at the start of a session without memory."""


OF_ANOTHER_USER = (
    "{home} belongs to another user, as after a run with sudo; its owner works there again after: "
    "sudo chown -R NAME {home}"
)
MAX_NAME_CHARACTERS = 200
"""Of the name that a folder is given by the path of a home; file systems allow 255 bytes."""
MAX_ID_BYTES = 200
"""Longest id of a session; clients use 36 characters."""


class HookGotNoResponse(Exception):
    """There is no response; the message says why."""


class HomeCannotBeUsed(HookGotNoResponse):
    """There is none until the user has done what the message says: they are told."""


MAX_NAMED_CHARACTERS = 24
"""Longest wrong argument that is named: events have up to 16 letters, secrets mostly more."""


class HookCommandArguments:
    """The arguments and the deadline of one hook call."""

    def __init__(self, arguments: list[str]) -> None:
        self.event = arguments[0] if arguments and not arguments[0].startswith("-") else ""
        named = dict(zip(arguments[1::2], arguments[2::2], strict=False))
        self.project = os.environ.get("CLAUDE_PROJECT_DIR", "")
        self.client = named.get("--client", "") or ("claude-code" if self.project else "")
        given = named.get("--home") or os.environ.get("MEMORIST_HOME")
        self.home = os.path.abspath(os.path.expanduser(given or "~/.memorist"))
        self.folder = find_hooks_folder(self.home)
        self.unknown_home = "" if given else user_home.explain_unknown_home()
        self.wrong_argument = explain_wrong_argument(self, arguments)
        self.seconds = hook_time_limits.resolve_event_time_limit(
            self.event, _read_time_limits(self.folder)
        )
        self.deadline = time.monotonic() + self.seconds

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline. Raises HookGotNoResponse when it has passed."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise HookGotNoResponse(f"no answer within {self.seconds:g} seconds")
        return left


def _read_time_limits(folder: str) -> dict[str, float]:
    """The time limits of the settings, as the daemon wrote them to the limits file."""
    try:
        with open(f"{folder}/{hook_protocol.LIMITS}", encoding="utf-8") as file:
            return hook_time_limits.parse_time_limits_file(file.read(4_096))
    except (OSError, ValueError):
        return {}


def run_hook(arguments: list[str]) -> None:
    """Send the event and print the response. Never returns: the process exits with status 0."""
    asked = None
    try:
        if os.environ.get("MEMORIST_OFF", "") not in ("", "0"):
            if arguments[:1] == ["SessionStart"]:
                _write_output(OFF_NOTICE)
                asked = HookCommandArguments(arguments)
                record_memory_off_session(asked, _read_event(asked))
            return  # one session without memory: nothing of it is read, shown or written
        asked = HookCommandArguments(arguments)
        _thread.start_new_thread(_enforce_deadline, (asked,))
        _write_output(ensure_and_ask_daemon(asked, _read_event(asked)))
    finally:
        _exit(asked, sys.exception())


def explain_wrong_argument(call: HookCommandArguments, arguments: list[str]) -> str:
    """What is wrong in the command of a settings file; empty for nothing."""
    if call.event not in hook_protocol.KNOWN_EVENTS:
        known = ", ".join(hook_protocol.KNOWN_EVENTS[:-1])
        return f"{_name_argument(call.event)} is none of the events {known}"
    for option in arguments[1::2]:
        if option not in ("--client", "--home"):
            return f"{_name_argument(option)} is neither --client nor --home"
    if call.client not in ("", *hook_protocol.CLIENT_NAMES):
        return f"{_name_argument(call.client)} is none of {', '.join(hook_protocol.CLIENT_NAMES)}"
    return ""


def _name_argument(text: str) -> str:
    """A wrong argument as it is written down: what is no mere word could be a secret."""
    is_word = len(text) <= MAX_NAMED_CHARACTERS and text.strip("-").replace("-", "").isalpha()
    return repr(text) if is_word else "an argument of other signs" if text else "'(none)'"


def record_wrong_argument(call: HookCommandArguments, why: str) -> None:
    """Tell `memorist doctor`, and say it in one line on standard error. The event is sent all the
    same: the agent names it in what it writes.
    """
    record_hook_failure(call.folder, call.event, call.client, f"wrong command: {why}")
    os.write(2, f"memorist hook: {why}\n".encode("utf-8", "replace"))


def _render_notice(why: str) -> bytes:
    """What the user is told at the start of a session where the disk refuses what memory needs."""
    text = " ".join(why.replace("\\", "/").replace('"', "'").split())[:500]
    notice = f'{{"systemMessage":"memorist: no memory in this session: {text}"}}'
    return notice.encode("utf-8", "replace")


def _enforce_deadline(asked: HookCommandArguments) -> None:
    """Exit the program when it is late, whatever it waits for. Runs in a thread."""
    time.sleep(asked.seconds + EXIT_GRACE_SECONDS)
    _exit(asked, HookGotNoResponse("it did not end by itself"))


def _exit(asked: HookCommandArguments | None, error: BaseException | None) -> None:
    """Log the reason, if there is one, and exit in any case."""
    try:
        if asked is not None and error is not None:
            why = _describe_error(asked, error)
            is_recorded = record_hook_failure(asked.folder, asked.event, asked.client, why)
            is_reported = not is_recorded or isinstance(error, OSError | HomeCannotBeUsed)
            if is_reported and asked.event == "SessionStart":
                _write_output(_render_notice(why))
        if asked is not None and asked.wrong_argument:
            record_wrong_argument(asked, asked.wrong_argument)
    finally:
        os._exit(0)


def _describe_error(asked: HookCommandArguments, error: BaseException) -> str:
    if isinstance(error, HookGotNoResponse):
        return str(error)
    if isinstance(error, OSError) and error.errno is not None:
        path = error.filename or asked.folder
        return f"cannot use {path}: {storage_errors.describe_storage_error(error)}"
    return f"{type(error).__name__}: {error}"


def _read_event(asked: HookCommandArguments) -> bytes:
    """Read the event from standard input.

    All of it is read, so that the agent does not block on writing; an event that is too large is
    discarded.
    """
    parts: list[bytes] = []
    size = 0
    while True:
        # Windows cannot wait for a pipe; there the deadline's thread ends a late program
        if os.name == "posix" and not select.select([0], [], [], asked.seconds_left)[0]:
            continue
        part = os.read(0, CHUNK_BYTES)
        if not part:
            break
        size += len(part)
        if size <= hook_protocol.MAX_EVENT_BYTES:
            parts.append(part)
    if size > hook_protocol.MAX_EVENT_BYTES:
        raise HookGotNoResponse(f"the event is larger than {hook_protocol.MAX_EVENT_BYTES:,} bytes")
    return b"".join(parts)


def _write_output(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def record_memory_off_session(call: HookCommandArguments, event: bytes) -> None:
    """Note the id of a session without memory, so that its recording is not learned from later."""
    parts = event.partition(b'"session_id"')[2].split(b'"', 2)
    id = parts[1] if len(parts) > 2 and parts[0].strip() == b":" else b""
    if not id or len(id) > MAX_ID_BYTES or not id.replace(b"-", b"").replace(b"_", b"").isalnum():
        return
    enter_hooks_folder(call.home, call.folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | NON_INHERITED_BINARY_FLAGS | NO_LINKS
    descriptor = os.open(hook_protocol.OFF_SESSIONS, flags, 0o600)
    try:
        os.write(descriptor, id + b"\n")
    finally:
        os.close(descriptor)


def ensure_and_ask_daemon(call: HookCommandArguments, data: bytes) -> bytes:
    """Ask the daemon for the response. Starts a daemon if there is none, or one of another version.

    Raises HookGotNoResponse, or OSError.
    """
    if call.unknown_home:
        raise HomeCannotBeUsed(call.unknown_home)
    enter_hooks_folder(call.home, call.folder)
    question = (
        hook_protocol.encode_hook_header(
            __version__, call.event, call.client, call.project, len(data)
        )
        + data
    )
    starting = DaemonStarter(call.home)
    broken_off = 0
    while True:
        said = _exchange(call, question)
        found = None if said is None else hook_protocol.parse_daemon_response(said)
        if found is not None and found[0] == hook_protocol.DONE:
            return found[1]
        broken_off += said is not None and found is None
        if broken_off > 1:
            raise HookGotNoResponse("the hook daemon ended during the request, twice")
        if said is None or found is not None:
            starting.start()
        time.sleep(min(RETRY_SECONDS, call.seconds_left))


def find_hooks_folder(home: str) -> str:
    """The folder with the files of the hooks. Of the user's own home that cannot be written, such
    as one that is mounted read-only, it is a folder of the system for files that do not stay.
    """
    own = f"{home}/{hook_protocol.FOLDER}"
    used = own if os.path.isdir(own) else home
    if os.name != "posix" or not os.path.isdir(home) or os.access(used, os.W_OK):
        return own
    if os.stat(home).st_uid != os.getuid():
        return own
    root = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("TMPDIR") or f"{os.sep}tmp"
    return f"{root}/memorist-{os.getuid()}/{home.replace('/', '-')[-MAX_NAME_CHARACTERS:]}"


def enter_hooks_folder(home: str, folder: str) -> None:
    """Create the private hooks folder if needed and change into it.

    Raises HomeCannotBeUsed if it is another user's or others may write to it, or OSError.
    """
    parent = os.path.dirname(folder)
    os.makedirs(os.path.dirname(parent), exist_ok=True)
    try:
        for path in (parent, folder):
            if not os.path.isdir(path):
                os.makedirs(path, mode=0o700, exist_ok=True)
        found = os.stat(folder)
        if parent != home and os.lstat(parent).st_uid != os.getuid():
            raise HomeCannotBeUsed(f"{parent} belongs to another user")
    except PermissionError:
        if not os.path.isdir(home):
            raise
        raise HomeCannotBeUsed(OF_ANOTHER_USER.format(home=home)) from None
    if hasattr(os, "getuid") and found.st_uid != os.getuid():
        raise HomeCannotBeUsed(OF_ANOTHER_USER.format(home=home))
    if hasattr(os, "getuid") and found.st_mode & 0o022:
        raise HomeCannotBeUsed(f"others may write to {folder}; make it private with chmod 700")
    os.chdir(folder)


def _exchange(asked: HookCommandArguments, question: bytes) -> bytes | None:
    """Send the request once and return all that came back.

    None if nobody listens; the bytes received so far if the connection broke.
    """
    said = b""
    try:
        line = sockets.connect(hook_protocol.SOCKET, asked.seconds_left)
    except (FileNotFoundError, ConnectionRefusedError, BlockingIOError):
        return None
    try:
        line.sendall(question)
        while part := line.recv(CHUNK_BYTES):
            said += part
            line.settimeout(asked.seconds_left)
    except (ConnectionResetError, BrokenPipeError):
        return said
    except TimeoutError:
        raise HookGotNoResponse(f"no answer within {asked.seconds:g} seconds") from None
    finally:
        line.close()
    return said


class DaemonStarter:
    """Starts the daemon once, and only from one of the hook programs that find none."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._process = 0
        self._lock = -1

    def start(self) -> None:
        """Start the daemon, unless it is being started.

        Raises HookGotNoResponse if it failed to start, now or within START_BACKOFF_SECONDS.
        """
        if self._process:
            self._check_started()
            return
        if self._lock < 0:
            self._lock = os.open(
                hook_protocol.STARTING,
                os.O_CREAT | os.O_RDWR | NON_INHERITED_BINARY_FLAGS | NO_LINKS,
                0o600,
            )
        if not file_locks.try_lock(self._lock):
            return
        lately = time.time() - os.fstat(self._lock).st_mtime
        if os.fstat(self._lock).st_size and 0 <= lately < START_BACKOFF_SECONDS:
            raise HookGotNoResponse(
                f"the process behind the hooks could not start {lately:.0f} seconds ago; "
                f"{self._output_hint}"
            )
        os.ftruncate(self._lock, 0)
        self._process = spawn_daemon(self._home)

    @property
    def _output_hint(self) -> str:
        return f"{self._home}/{hook_protocol.FOLDER}/{hook_protocol.OUTPUT} says why"

    def _check_started(self) -> None:
        if spawning.find_exit_status(self._process):
            os.write(self._lock, b"broken")
            raise HookGotNoResponse(
                f"the process behind the hooks ended at once; {self._output_hint}"
            )


def spawn_daemon(home: str) -> int:
    """Start the daemon in a session of its own, detached from the agent's input and output.

    Returns its process id.
    """
    words = [sys.executable, *DAEMON_ARGUMENTS, "--home", home]
    return spawning.spawn_detached(words, dict(os.environ), errors=hook_protocol.OUTPUT)


def record_hook_failure(folder: str, event: str, client: str, why: str) -> bool:
    """Append a line to the failures log. False where the disk refuses, and the line is lost.

    An event or client that is not known is left out: whatever stands in its place may be a secret.
    """
    event = event if event in hook_protocol.KNOWN_EVENTS else ""
    client = client if client in hook_protocol.CLIENT_NAMES else ""
    words = (f"{time.time():.3f}", event, client, why)
    line = "\t".join(" ".join(word.split())[:500] for word in words) + "\n"
    path = f"{folder}/{hook_protocol.FAILURES}"
    try:
        file = os.open(
            path,
            os.O_CREAT | os.O_WRONLY | os.O_APPEND | NON_INHERITED_BINARY_FLAGS | NO_LINKS,
            0o600,
        )
        try:
            os.write(file, line.encode("utf-8", "replace"))
            if os.fstat(file).st_size > hook_protocol.MAX_FAILURES_BYTES:
                os.replace(path, f"{path}.1")
        finally:
            os.close(file)
    except OSError:
        return False
    return True
