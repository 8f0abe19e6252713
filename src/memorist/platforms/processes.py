"""Find, name and end processes."""

from __future__ import annotations

import multiprocessing
import os
import platform
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

PARENT_CHECK_SECONDS = 5.0
"""How often a process looks whether its starter is still there. Our choice."""


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
    import ctypes

    kernel = getattr(ctypes, "windll").kernel32
    handle = kernel.OpenProcess(0x0010_0000, 0, process)  # SYNCHRONIZE
    if not handle:
        return False
    try:
        return bool(kernel.WaitForSingleObject(handle, 0) == 0x102)  # WAIT_TIMEOUT
    finally:
        kernel.CloseHandle(handle)


def read_process_start_id(pid: int) -> str:
    """Return what distinguishes a process from a later one with its pid: the boot and the tick at
    which it began. Empty if the system has no /proc, or there is no such process.
    """
    try:
        # The name in brackets may hold blanks and brackets of its own; the tick is the twentieth
        # value behind it.
        tick = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
        return f"{_boot_id()}-{tick}"
    except (OSError, IndexError, UnicodeDecodeError):
        return ""


def _boot_id() -> str:
    """The id of this boot of the machine; containers of one machine share it."""
    return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()


def _process_namespace() -> str:
    """The namespace in which this process has its pid; empty if the system has none."""
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return ""


def build_unique_process_name() -> str:
    """Return a name of this process that no other has: machine, pid, what tells a later process
    with that pid apart, the namespace of the pid, and a few random digits, divided by colons.
    """
    pid, host = os.getpid(), platform.node() or "host"
    return (
        f"{host}:{pid}:{read_process_start_id(pid)}:{_process_namespace()}:{secrets.token_hex(3)}"
    )


def render_process_name_for_user(name: str) -> str:
    """The process of a name by `build_unique_process_name`, for a user; any other name as it is."""
    host, *rest = name.rsplit(":", 4)
    return f"process {rest[0]} on {host}" if len(rest) == 4 else name


def is_named_process_dead(name: str) -> bool:
    """Whether the process of a name by `build_unique_process_name` is surely dead: it is none of
    this machine's, its pid is another's by now, or the machine has been restarted since.

    False where that is not known: for other machines and containers, and for other names.
    """
    parts = name.rsplit(":", 4)
    if len(parts) < 5 or parts[0] != (platform.node() or "host") or not parts[1].isdecimal():
        return False
    number, mark, namespace, _ = parts[1:]
    with suppress(OverflowError, OSError):  # no number that a process can have; no /proc
        if mark and mark.rpartition("-")[0] != _boot_id():
            return True
        if namespace != _process_namespace():
            return False
        return not is_running(int(number)) or (read_process_start_id(int(number)) or mark) != mark
    return False


def request_process_termination(process: int) -> None:
    """Ask a process to end; where the system knows no asking, end it."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, signal.SIGTERM)


def kill_process_group(process: int) -> None:
    """Kill a process and, where there are process groups, all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process, signal.SIGKILL)
        else:
            os.kill(process, signal.SIGTERM)


def end_this_process_with_parent() -> None:
    """Let this process end as soon as the one that spawned it is gone, also by a kill."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(0)

    threading.Thread(target=wait, name="memorist-parent", daemon=True).start()


def end_this_process_with_starter() -> None:
    """Let this process end within PARENT_CHECK_SECONDS once the one that started it is gone; not on
    Windows, which gives it no other parent then.
    """
    parent = os.getppid()

    def wait() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK_SECONDS)
        os._exit(0)

    threading.Thread(target=wait, name="memorist-starter", daemon=True).start()


def call_on_termination_signals(loop: asyncio.AbstractEventLoop, act: Callable[[], object]) -> None:
    """Call `act` in the loop when the process is asked to end."""
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, act)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(act))
