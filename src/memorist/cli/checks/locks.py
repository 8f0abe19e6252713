"""Check locks: who holds one, and what else stands at its path.

The system releases the lock of a killed process, so no lock outlives its holder.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from memorist.cli.checks.finding import FIX, Finding, Place, mended_or, put_aside
from memorist.dream.lock.run import STALE_SECONDS, alive, read_holder
from memorist.errors import StoreError
from memorist.store.locks import held

PATIENCE_SECONDS = 2.0
"""Wait for a lock whose holder needs it for milliseconds. Our choice."""


def check_locks(place: Place) -> Iterator[Finding]:
    """Check the locks of memories and of transcripts."""
    projects = place.layout.projects
    short = [*projects.glob("*/memory-state/lock"), *projects.glob("*/memory-state/purge.lock")]
    sessions = sorted(projects.glob("*/*/transcript.jsonl.lock"))
    others = [
        *projects.glob("*/memory-state/team/lock"),
        *projects.glob("*/memory-state/dream/lock"),
        *projects.glob("*/memory-state/dream/lock.guard"),
    ]
    found = [*_blocked(place, [*short, *sessions, *others])]
    sound = [path for path in short if path.is_file() and not path.is_symlink()]
    found += [finding for path in sorted(sound) for finding in _stuck(path)]
    yield from found
    if not found:
        yield Finding("good", "no lock is stuck")
    for path in sessions:
        holder = _holder(path)
        if holder:
            yield Finding("note", f"the session {path.parent.name} is open in process {holder}")
    for path in sorted(projects.glob("*/memory-state/dream/lock")):
        yield from _dreamer(path, place.now)


def _blocked(place: Place, paths: list[Path]) -> Iterator[Finding]:
    """A lock whose path is not a regular file can never be acquired."""
    for path in paths:
        if path.is_symlink() or not path.is_file():
            yield mended_or(place, f"{path} is no file, so that nobody can take the lock", FIX, partial(put_aside, place.layout, path))


def _stuck(path: Path) -> Iterator[Finding]:
    try:
        with held(path, wait_seconds=PATIENCE_SECONDS):
            return
    except StoreError as error:
        yield Finding("wrong", str(error), f"What holds it is shown by: fuser -v {path}")


def _dreamer(path: Path, now: float) -> Iterator[Finding]:
    """Report who dreams.

    The lock file of a killed dream blocks nobody and holds the time of the dream before it, so it
    needs no repair.
    """
    try:
        holder, since = read_holder(path.read_bytes()), path.stat().st_mtime
    except OSError:
        return
    if holder is None or not holder.mark:
        return
    if alive(holder) and abs(now - since) < STALE_SECONDS:
        yield Finding(
            "note", f"process {holder.pid} has been dreaming over {path.parents[2] / 'memory'} for {(now - since) / 60:,.0f} minutes"
        )
    else:
        what = f"a dream over {path.parents[2] / 'memory'} was killed, or has hung for an hour; it blocks nothing"
        yield Finding("note", what, "Nothing: the next dream takes its place.")


def _holder(path: Path) -> str:
    """Id of the process that writes the transcript; empty if none does."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return ""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        said = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
        return (said or "of unknown number") if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else ""
    finally:
        os.close(descriptor)
    return ""
