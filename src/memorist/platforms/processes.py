"""Find and end processes."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress


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


def end_with_parent() -> None:
    """Let this process end as soon as the one that spawned it is gone, also by a kill."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(0)

    threading.Thread(target=wait, name="memorist-parent", daemon=True).start()


def call_on_end_signals(loop: asyncio.AbstractEventLoop, act: Callable[[], object]) -> None:
    """Call `act` in the loop when the process is asked to end."""
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, act)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(act))
