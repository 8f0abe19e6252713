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

from memorist.auto_memory.merge_conflict import is_conflicted_copy
from memorist.cli.doctor.check_result import (
    FIX_COMMAND,
    CheckResult,
    DoctorContext,
    put_file_aside,
    repair_or_report_fault,
)
from memorist.core.plural import pluralize
from memorist.magic_docs.document_files import read_registered_paths
from memorist.platforms.file_locks import find_folder_locking_problem
from memorist.platforms.regular_files import is_open_to_other_users
from memorist.platforms.storage_errors import describe_storage_error
from memorist.store.disk_files import (
    DiskFiles,
    find_temporary_leftovers,
    raise_os_errors_as_store_errors,
)

MIN_FREE_BYTES = 100_000_000
"""Free space below which a long session may not fit. Our choice."""
STALE_TEMPORARY_FILE_SECONDS = 3_600.0
"""Age from which a temporary file belongs to no write in progress: a write takes milliseconds.

Our choice.
"""
MAX_ENTRIES = 100_000
"""Most files and folders that are inspected."""
MAX_FUTURE_SECONDS = 86_400.0
"""A file dated further in the future than a day was written under a wrong clock; time zones and
other machines differ by less. Our choice.
"""


def check_home(context: DoctorContext) -> Iterator[CheckResult]:
    """Check the folder itself, then its content."""
    home = context.layout.home
    if not home.exists():
        yield CheckResult("good", f"{home} does not exist yet; it is made when it is needed")
        return
    if not home.is_dir():
        yield CheckResult(
            "wrong",
            f"{home} is not a folder",
            "Move it away, or set MEMORIST_HOME to another folder.",
        )
        return
    if not os.access(home, os.W_OK | os.X_OK):
        yield CheckResult(
            "wrong",
            f"{home} cannot be written",
            "Give yourself write access to it, or set MEMORIST_HOME to another folder.",
        )
        return
    if is_open_to_other_users(home):
        yield repair_or_report_fault(
            context,
            f"others on this machine can look into {home}",
            f"chmod 700 {home}",
            lambda: _make_private([home]),
        )
    else:
        yield CheckResult("good", f"{home} is writable and private")
    yield _check_free_space(home)
    if refusal := find_folder_locking_problem(context.layout.database.parent):
        yield CheckResult(
            "wrong",
            f"files in {home} cannot be locked, so that nothing new is kept",
            f"The cause: {describe_storage_error(refusal)}.",
        )
    yield from _check_kinds(context)
    paths = list(_walk(home))
    yield from _check_access(paths)
    yield from _check_leftovers(context, paths)
    yield from _check_conflicted_copies(paths)
    yield from _check_times(context, paths)


def _check_kinds(context: DoctorContext) -> Iterator[CheckResult]:
    """Files where memorist has folders, and the reverse: nothing can be read or written there."""
    layout = context.layout
    folders = [layout.projects, layout.rollouts, layout.rollouts_state, layout.machines]
    folders.append(layout.memory_off_sessions.parent)
    for path in folders:
        if path.exists() and not path.is_dir():
            yield repair_or_report_fault(
                context,
                f"{path} is not a folder",
                FIX_COMMAND,
                partial(put_file_aside, layout, path),
            )
    if layout.database.is_dir():
        yield CheckResult(
            "wrong", f"{layout.database} is a folder, not a file", "Move it away; another is made."
        )


def _walk(home: Path) -> Iterator[Path]:
    """Everything in the home, without symbolic links and histories."""
    waiting, seen = [home], 0
    while waiting and seen < MAX_ENTRIES:
        folder = waiting.pop()
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            continue  # another check names it
        for path in entries:
            seen += 1
            if path.is_symlink():
                continue
            yield path
            if path.is_dir() and path.name != "history":
                waiting.append(path)


def _check_free_space(home: Path) -> CheckResult:
    free = shutil.disk_usage(home).free
    if free < MIN_FREE_BYTES:
        return CheckResult(
            "wrong",
            f"there are only {free // 1_000_000:,} MB free for {home}",
            "Free space; sessions are written there as they run.",
        )
    return CheckResult("good", "there is room on its disk")


def _make_private(paths: list[Path]) -> str:
    for path in paths:
        with raise_os_errors_as_store_errors("close to others", path):
            path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o700)
    return "closed to others"


def _check_access(paths: list[Path]) -> Iterator[CheckResult]:
    found = [
        path
        for path in paths
        if not os.access(path, os.R_OK | os.W_OK | (os.X_OK if path.is_dir() else 0))
    ]
    if found:
        what = (
            f"{pluralize(len(found), 'file')} in it cannot be read and written, such as {found[0]}"
        )
        yield CheckResult(
            "wrong",
            what,
            "Give yourself access: it may belong to another user, after a run as root for one.",
        )


def _check_leftovers(context: DoctorContext, paths: list[Path]) -> Iterator[CheckResult]:
    found = [
        path
        for path in paths
        if path.name.startswith(".memorist-")
        and path.name.endswith(".tmp")
        and _modified_at(path) < context.now - STALE_TEMPORARY_FILE_SECONDS
    ]
    if found:
        what = f"killed writers left {pluralize(len(found), 'temporary file')}, such as {found[0]}"
        yield repair_or_report_fault(
            context, what, FIX_COMMAND, partial(_set_aside_all, context, found)
        )


def _check_conflicted_copies(paths: list[Path]) -> Iterator[CheckResult]:
    """Second versions of anything but memories, whose own check names them."""
    found = [path for path in paths if path.suffix != ".md" and is_conflicted_copy(path.name)]
    if found:
        yield CheckResult(
            "note",
            f"a program that keeps folders in step (Dropbox, Syncthing …) left "
            f"{pluralize(len(found), 'second version')} of files in it, such as {found[0]}",
            "Nothing reads them; delete them. Two machines must not write one home: share "
            "memories by `memorist machines`, which needs no common home.",
        )


def check_document_leftovers(context: DoctorContext) -> Iterator[CheckResult]:
    """Check for files that killed writers left beside the Magic Docs that sessions of this home
    maintain.
    """
    files = DiskFiles()
    folders: dict[Path, None] = {}
    for listed in context.layout.projects.glob("*/*/magic-docs.json"):
        folders |= {
            Path(path).parent: None
            for path in read_registered_paths(files, listed)
            if Path(path).is_absolute()
        }
    for folder in folders:
        if left := find_temporary_leftovers(
            folder, before=context.now - STALE_TEMPORARY_FILE_SECONDS
        ):
            what = (
                f"killed writers left {pluralize(len(left), 'temporary file')} beside Magic "
                f"Docs in {folder}"
            )
            yield repair_or_report_fault(
                context, what, FIX_COMMAND, partial(_set_aside_all, context, left)
            )


def _set_aside_all(context: DoctorContext, paths: list[Path]) -> str:
    for path in paths:
        put_file_aside(context.layout, path)
    return f"moved to {context.layout.home / 'put-aside'}"


def _check_times(context: DoctorContext, paths: list[Path]) -> Iterator[CheckResult]:
    found = [path for path in paths if _modified_at(path) > context.now + MAX_FUTURE_SECONDS]
    if found:

        def act() -> str:
            for path in found:
                with raise_os_errors_as_store_errors("set the time of", path):
                    os.utime(path, (context.now, context.now))
            return "their time is now"

        yield repair_or_report_fault(
            context,
            f"the times of {pluralize(len(found), 'file')} lie in the future, such as {found[0]}",
            FIX_COMMAND,
            act,
        )


def _modified_at(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0
