"""Start, find and end processes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

_started: dict[int, Any] = {}
"""Processes that were started where only their object tells of their end."""


def spawn_detached(
    words: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdin: int | None = None,
    errors: str = os.devnull,
) -> int:
    """Start a program apart from this one's terminal and signals; its id.

    `errors` is the file that its error output replaces. Raises OSError.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
    if not hasattr(os, "posix_spawn"):
        return _spawn_by_subprocess(words, environment, stdin, os.open(errors, flags, 0o600))
    actions: list[Any] = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        if stdin is None
        else (os.POSIX_SPAWN_DUP2, stdin, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, errors, flags, 0o600),
    ]
    try:
        return os.posix_spawn(
            words[0], list(words), dict(environment), file_actions=actions, setsid=True
        )
    # this system cannot spawn into a new session; a group of its own keeps signals away
    except NotImplementedError:
        return os.posix_spawn(
            words[0], list(words), dict(environment), file_actions=actions, setpgroup=0
        )


def _spawn_by_subprocess(
    words: Sequence[str], environment: Mapping[str, str], stdin: int | None, errors: int
) -> int:
    import subprocess  # noqa: PLC0415 - slow to load, and needed on Windows alone

    try:
        process = subprocess.Popen(
            words,
            env=dict(environment),
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
            | getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    finally:
        os.close(errors)
    _started[process.pid] = process
    return process.pid


def find_exit_status(process: int) -> int | None:
    """The exit status of a process that was started here; None while it runs, 0 if unknown."""
    if process in _started:
        status: int | None = _started[process].poll()
        return status
    try:
        found, status = os.waitpid(process, os.WNOHANG)
    except ChildProcessError:
        return 0
    return status if found else None


def is_running(process: int) -> bool:
    """Whether a process of this number runs; True also for another user's.

    Raises OverflowError for no number that a process can have.
    """
    if sys.platform == "win32":
        return _is_running_on_windows(process)
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _is_running_on_windows(process: int) -> bool:
    """`os.kill` would end it there: the process is opened and asked for its end."""
    import ctypes  # noqa: PLC0415 - needed on Windows alone

    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009 - unknown to other systems
    handle = kernel.OpenProcess(0x0010_0000, 0, process)  # SYNCHRONIZE
    if not handle:
        return False
    try:
        return bool(kernel.WaitForSingleObject(handle, 0) == 0x102)  # WAIT_TIMEOUT
    finally:
        kernel.CloseHandle(handle)


def terminate(process: int) -> None:
    """Ask a process to end; where the system knows no asking, end it."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, signal.SIGTERM)


def kill_group(process: int) -> None:
    """Kill a process and, where there are process groups, all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process, signal.SIGKILL)
        else:
            os.kill(process, signal.SIGTERM)


def call_on_end_signals(loop: asyncio.AbstractEventLoop, act: Callable[[], object]) -> None:
    """Call `act` in the loop when the process is asked to end."""
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, act)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(act))
