"""Check the home folder: present, writable, private, with free space, and without files of killed
writers.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from memorist.cli.checks.finding import FIX, Finding, Place, counted, mended_or, put_aside, refusals
from memorist.magic_docs.registered.run import registered_at
from memorist.store.files import DiskFiles, leftovers

ROOM_BYTES = 100_000_000
"""Free space below which a long session may not fit. Our choice."""
LEFT_SECONDS = 3_600.0
"""Age from which a temporary file belongs to no write in progress: a write takes milliseconds.

Our choice.
"""
LOOKED_AT = 100_000
"""Most files and folders that are inspected."""
AHEAD_SECONDS = 86_400.0
"""A file dated further in the future than a day was written under a wrong clock; time zones and
other machines differ by less. Our choice.
"""


def check_home(place: Place) -> Iterator[Finding]:
    """Check the folder itself, then its content."""
    home = place.layout.home
    if not home.exists():
        yield Finding("good", f"{home} does not exist yet; it is made when it is needed")
        return
    if not home.is_dir():
        yield Finding("wrong", f"{home} is not a folder", "Move it away, or set MEMORIST_HOME to another place.")
        return
    if not os.access(home, os.W_OK | os.X_OK):
        yield Finding("wrong", f"{home} cannot be written", "Give yourself write access to it, or set MEMORIST_HOME to another place.")
        return
    if stat.S_IMODE(home.stat().st_mode) & 0o077:
        yield mended_or(place, f"others on this machine can look into {home}", f"chmod 700 {home}", lambda: _closed([home]))
    else:
        yield Finding("good", f"{home} is writable and private")
    yield _room(home)
    paths = list(_below(home))
    yield from _unreadable(paths)
    yield from _left(place, paths)
    yield from _ahead(place, paths)


def _below(home: Path) -> Iterator[Path]:
    """Everything in the home, without symbolic links and histories."""
    waiting, seen = [home], 0
    while waiting and seen < LOOKED_AT:
        folder = waiting.pop()
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            continue  # `_unreadable` names it
        for path in entries:
            seen += 1
            if path.is_symlink():
                continue
            yield path
            if path.is_dir() and path.name != "history":
                waiting.append(path)


def _room(home: Path) -> Finding:
    free = shutil.disk_usage(home).free
    if free < ROOM_BYTES:
        return Finding(
            "wrong", f"there are only {free // 1_000_000:,} MB free for {home}", "Free space; sessions are written there as they run."
        )
    return Finding("good", "there is room on its disk")


def _closed(paths: list[Path]) -> str:
    for path in paths:
        with refusals("close to others", path):
            path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o700)
    return "closed to others"


def _unreadable(paths: list[Path]) -> Iterator[Finding]:
    found = [path for path in paths if not os.access(path, os.R_OK | os.W_OK | (os.X_OK if path.is_dir() else 0))]
    if found:
        what = f"{counted(len(found), 'file')} in it cannot be read and written, such as {found[0]}"
        yield Finding("wrong", what, "Give yourself access: it may belong to another user, after a run as root for one.")


def _left(place: Place, paths: list[Path]) -> Iterator[Finding]:
    found = [
        path
        for path in paths
        if path.name.startswith(".memorist-") and path.name.endswith(".tmp") and _time(path) < place.now - LEFT_SECONDS
    ]
    if found:
        what = f"killed writers left {counted(len(found), 'temporary file')}, such as {found[0]}"
        yield mended_or(place, what, FIX, partial(_moved, place, found))


def check_documents(place: Place) -> Iterator[Finding]:
    """Check for files that killed writers left beside the Magic Docs that sessions of this home
    maintain.
    """
    files = DiskFiles()
    folders: dict[Path, None] = {}
    for listed in place.layout.projects.glob("*/*/magic-docs.json"):
        folders |= {Path(path).parent: None for path in registered_at(files, listed) if Path(path).is_absolute()}
    for folder in folders:
        if left := leftovers(folder, before=place.now - LEFT_SECONDS):
            what = f"killed writers left {counted(len(left), 'temporary file')} beside Magic Docs in {folder}"
            yield mended_or(place, what, FIX, partial(_moved, place, left))


def _moved(place: Place, paths: list[Path]) -> str:
    for path in paths:
        put_aside(place.layout, path)
    return f"moved to {place.layout.home / 'put-aside'}"


def _ahead(place: Place, paths: list[Path]) -> Iterator[Finding]:
    found = [path for path in paths if _time(path) > place.now + AHEAD_SECONDS]
    if found:

        def act() -> str:
            for path in found:
                with refusals("set the time of", path):
                    os.utime(path, (place.now, place.now))
            return "their time is now"

        yield mended_or(place, f"the times of {counted(len(found), 'file')} lie in the future, such as {found[0]}", FIX, act)


def _time(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0
