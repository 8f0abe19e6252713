"""Start due work on past sessions in a process of its own, never in the host's event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from memorist.errors import StoreError
from memorist.platforms import processes, spawning
from memorist.ports import Clock, FileSystem
from memorist.settings import Settings
from memorist.store.home_layout import Layout

START_INTERVAL_SECONDS = 1_800.0
"""Seconds between two starts in one home.

Sessions become eligible by the hour, so half an hour is soon enough.
"""

MAX_WORKER_EXIT_WAIT_SECONDS = 5.0
"""Longest wait for a worker to give back what it is at. Our choice."""
_POLL_SECONDS = 0.02
WORKER_ARGUMENTS = ("-P", "-m", "memorist", "worker", "--once", "--settings-from-stdin")


def start_worker_unless_recently_started(
    settings: Settings,
    *,
    files: FileSystem,
    clock: Clock,
    environment: Mapping[str, str] | None = None,
) -> int | None:
    """Start a worker that does what is due and ends, with these settings and variables (None: this
    process's).

    Returns its process id, or None when one was started within `START_INTERVAL_SECONDS`. The worker
    outlives this process. If the system refuses to start it, the next session tries again.
    """
    layout = Layout.from_setting(settings.home)
    mark = layout.rollouts_state / "started"
    now = clock.now()
    try:
        last = float(files.read(mark)) if files.lstat(mark) is not None else 0.0
    except (StoreError, FileNotFoundError, ValueError):
        last = 0.0
    if 0.0 <= now - last < START_INTERVAL_SECONDS:
        return None
    try:
        files.write(mark, str(now).encode())
        return _spawn_worker(
            msgspec.json.encode(settings), os.environ if environment is None else environment
        )
    except OSError:
        with contextlib.suppress(StoreError):
            files.remove(mark)  # no worker was started
    except StoreError:
        pass
    return None


def _spawn_worker(settings: bytes, environment: Mapping[str, str]) -> int:
    """Spawn the worker.

    The settings go through a pipe, so that nothing is written to disk; keys in environment
    variables are inherited.
    """
    reading, writing = os.pipe()
    try:
        process = spawning.spawn_detached(
            [sys.executable, *WORKER_ARGUMENTS], dict(environment), stdin=reading
        )
    finally:
        os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(settings)
    return process


def is_temporary_home(home: Path) -> bool:
    """Whether a home lies in the system's folder for temporary files: whoever made it may delete
    it once the engine is closed.
    """
    return home.resolve().is_relative_to(Path(tempfile.gettempdir()).resolve())


async def stop_worker(process: int) -> None:
    """End a worker and wait for that; it gives back what it is at."""
    processes.request_process_termination(process)
    for _ in range(int(MAX_WORKER_EXIT_WAIT_SECONDS / _POLL_SECONDS)):
        if reap_if_exited(process):
            return
        await asyncio.sleep(_POLL_SECONDS)
    processes.kill_process_group(process)
    reap_if_exited(process)


def reap_if_exited(process: int) -> bool:
    """Whether a started worker has exited; reaps it, so that it does not stay as a zombie."""
    return spawning.find_exit_status(process) is not None
