"""The folder that a replay writes: what is in it, and what may be replaced there. Anybody may name
a folder that holds files of theirs; those stay.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from memorist.errors import StoreError, UsageError
from memorist.store.disk_files import DiskFiles, make_folders, raise_os_errors_as_store_errors

PARTIAL_PREFIX = ".partial-"
_OLD_PREFIX = ".old-"
ENGINE_FOLDER = "engine"
"""Folder below `out` that serves as the home of the engine."""
REPORT_FILE = "report.html"
_MARK = ".memorist-replay"
"""File in the engine's folder by which a later replay knows it."""
_OWN_FILES = frozenset(
    {_MARK, "state.sqlite", "transcript.jsonl", "transcript.jsonl.lock", "events.jsonl"}
)
"""One of these is in every folder that a replay makes, also a killed one."""


def prepare_replay_folder(out: Path, names: Iterable[str]) -> Path:
    """Make the folder, remove what killed runs left, and return an empty home for the engine, so
    that a replay shows what these sessions alone would have left.

    Raises UsageError, before anything is removed, where something that no replay made has the name
    of what would be written (`names` are those of the sessions), and StoreError.
    """
    make_folders(out)
    home = out / ENGINE_FOLDER
    for path in (home, out / REPORT_FILE, *(out / name for name in names)):
        if path.exists() and not _is_own(path):
            raise UsageError(
                f"{path} is there and no replay made it; name a folder of its own with --out"
            )
    _clear_partial(out)
    shutil.rmtree(home, ignore_errors=True)
    DiskFiles(durable=False).write(home / _MARK, b"")
    return home


def _is_own(path: Path) -> bool:
    if path.is_dir():
        found = {each.name for each in path.iterdir()}
        return not found or not found.isdisjoint(_OWN_FILES)
    return path.name == REPORT_FILE and b"memorist" in path.read_bytes()


def _clear_partial(out: Path) -> None:
    """Remove what killed runs left; restore a session that was being replaced."""
    for left in filter(_is_own, out.glob(f"{PARTIAL_PREFIX}*")):
        shutil.rmtree(left, ignore_errors=True)
    for left in filter(_is_own, out.glob(f"{_OLD_PREFIX}*")):
        target = out / left.name.removeprefix(_OLD_PREFIX)
        if target.exists():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.rename(target)


def publish_replayed_session(partial: Path, folder: Path, loss: StoreError | None) -> None:
    """Move a finished folder into its final location; not one that misses what the disk refused,
    whose `loss` is raised.

    An existing folder is renamed first; if the process is killed in between, the next run repairs
    that.
    """
    if loss is not None:
        raise loss
    old = folder.with_name(f"{_OLD_PREFIX}{folder.name}")
    with raise_os_errors_as_store_errors("write", folder):
        if not folder.exists():
            partial.replace(folder)
            return
        folder.rename(old)
        partial.replace(folder)
        shutil.rmtree(old, ignore_errors=True)
