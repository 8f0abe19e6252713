"""Check locks: who holds one, and what else stands at its path.

The system releases the lock of a killed process, so no lock outlives its holder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from memorist.cli.doctor.check_result import (
    FIX_COMMAND,
    CheckResult,
    DoctorContext,
    put_file_aside,
    repair_or_report_fault,
)
from memorist.dream.dream_lock import STALE_LOCK_SECONDS, is_lock_holder_alive, parse_lock_holder
from memorist.errors import StoreError
from memorist.platforms import file_locks
from memorist.platforms.file_descriptors import NO_LINKS, NON_INHERITED_BINARY_FLAGS, read_at_offset
from memorist.platforms.regular_files import read_regular_file
from memorist.store.process_lock import hold_lock
from memorist.store.sqlite_database import is_database_or_disk_error

MAX_LOCK_WAIT_SECONDS = 2.0
"""Wait for a lock whose holder needs it for milliseconds. Our choice."""


def check_locks(context: DoctorContext) -> Iterator[CheckResult]:
    """Check the locks of memories and of transcripts."""
    projects = context.layout.projects
    short = [*projects.glob("*/memory-state/lock"), *projects.glob("*/memory-state/purge.lock")]
    sessions = sorted(projects.glob("*/*/transcript.jsonl.lock"))
    others = [
        *projects.glob("*/memory-state/team/lock"),
        *projects.glob("*/memory-state/dream/lock"),
        *projects.glob("*/memory-state/dream/lock.guard"),
    ]
    found = [*_check_blocked(context, [*short, *sessions, *others])]
    sound = [path for path in short if path.is_file() and not path.is_symlink()]
    found += [finding for path in sorted(sound) for finding in _check_stuck(path)]
    yield from found
    if not found:
        yield CheckResult("good", "no lock is stuck")
    open_sessions = [
        (holder, path.parent.name) for path in sessions if (holder := _transcript_writer(path))
    ]
    for holder in sorted({holder for holder, _ in open_sessions}):
        names = [name for each, name in open_sessions if each == holder]
        which = f"session {names[0]} is" if len(names) == 1 else f"{len(names):,} sessions are"
        yield CheckResult("note", f"{which} open in process {holder}")
    for path in sorted(projects.glob("*/memory-state/dream/lock")):
        yield from _check_dream(path, context.now)


def _check_blocked(context: DoctorContext, paths: list[Path]) -> Iterator[CheckResult]:
    """A lock whose path is not a regular file can never be acquired."""
    for path in paths:
        if path.is_symlink() or not path.is_file():
            yield repair_or_report_fault(
                context,
                f"{path} is no file, so that nobody can take the lock",
                FIX_COMMAND,
                partial(put_file_aside, context.layout, path),
            )


def _check_stuck(path: Path) -> Iterator[CheckResult]:
    try:
        with hold_lock(path, wait_seconds=MAX_LOCK_WAIT_SECONDS):
            return
    except StoreError as error:
        if not is_database_or_disk_error(error):  # what is wrong with the home is said already
            yield CheckResult("wrong", str(error), f"What holds it is shown by: fuser -v {path}")


def _check_dream(path: Path, now: float) -> Iterator[CheckResult]:
    """Report who dreams.

    The lock file of a killed dream blocks nobody and holds the time of the dream before it, so it
    needs no repair.
    """
    try:
        holder, since = parse_lock_holder(read_regular_file(path)), path.stat().st_mtime
    except OSError:
        return
    if holder is None or not holder.mark:
        return
    if is_lock_holder_alive(holder) and abs(now - since) < STALE_LOCK_SECONDS:
        yield CheckResult(
            "note",
            f"process {holder.pid} has been dreaming over {path.parents[2] / 'memory'} for "
            f"{(now - since) / 60:,.0f} minutes",
        )
    else:
        what = (
            f"a dream over {path.parents[2] / 'memory'} was killed, or has hung for an "
            f"hour; it blocks nothing"
        )
        yield CheckResult("note", what, "Nothing: the next dream takes its place.")


def _transcript_writer(path: Path) -> str:
    """Id of the process that writes the transcript; empty if none does."""
    try:
        descriptor = os.open(path, os.O_RDONLY | NON_INHERITED_BINARY_FLAGS | NO_LINKS)
    except OSError:
        return ""
    try:
        if file_locks.try_lock(descriptor, shared=True):
            return ""
        holder = read_at_offset(descriptor, 32, 0).split(b"\n")[0]
        return holder.decode("ascii", "replace").strip() or "of unknown number"
    except OSError:
        return ""
    finally:
        os.close(descriptor)
