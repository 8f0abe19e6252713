"""Start a program that goes on by itself, or this one anew.

Imports only compiled modules: the program that is started for every hook loads it.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess

_started: dict[int, subprocess.Popen[bytes]] = {}
"""Processes that were started where only their object tells of their end."""


def restart_in_utf8() -> None:
    """Start this program again with UTF-8 for file names, which a Latin-1 or ASCII locale would
    read as other names than the rest of the time. What it prints stays in that encoding.
    """
    if sys.stdout is not None:
        os.environ.setdefault("PYTHONIOENCODING", f"{sys.stdout.encoding}:backslashreplace")
    words = [word.encode("utf-8", "surrogateescape") for word in sys.orig_argv[1:]]
    program = os.fsencode(sys.executable)
    os.execv(program, [program, b"-X", b"utf8", *words])  # noqa: S606 - this very program


def spawn_detached(
    words: list[str],
    environment: dict[str, str],
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
    actions: list[tuple[int, int, str, int, int] | tuple[int, int, int]] = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        if stdin is None
        else (os.POSIX_SPAWN_DUP2, stdin, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, errors, flags, 0o600),
    ]
    try:
        return os.posix_spawn(words[0], words, environment, file_actions=actions, setsid=True)
    # this system cannot spawn into a new session; a group of its own keeps signals away
    except NotImplementedError:
        return os.posix_spawn(words[0], words, environment, file_actions=actions, setpgroup=0)


def _spawn_by_subprocess(
    words: list[str], environment: dict[str, str], stdin: int | None, errors: int
) -> int:
    import subprocess

    try:
        process = subprocess.Popen(
            words,
            env=environment,
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
        return _started[process].poll()
    try:
        found, status = os.waitpid(process, os.WNOHANG)
    except ChildProcessError:
        return 0
    return status if found else None
