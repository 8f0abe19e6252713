"""Repairs of what a check of the doctor finds wrong (`memorist doctor --fix`); no data is lost."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from memorist.cli.doctor.check_result import CheckResult, DoctorContext
from memorist.errors import MemoristError
from memorist.store.disk_files import convert_os_error_to_store_error, make_folders
from memorist.store.home_layout import Layout

FIX_COMMAND = "memorist doctor --fix"


def repair_or_report_fault(
    context: DoctorContext, what: str, remedy: str, repair: Callable[[], str]
) -> CheckResult:
    """Report the fault, or with `fix` run `repair` and report what it did; if the disk refuses, the
    fault stays.
    """
    if not context.fix:
        return CheckResult("wrong", what, remedy)
    try:
        return CheckResult("fixed", f"{what}: {repair()}")
    except MemoristError as error:
        return CheckResult("wrong", what, str(error))


def put_file_aside(layout: Layout, path: Path) -> str:
    """Move a file into the folder `put-aside` of the home and say where it is.

    Raises StoreError.
    """
    folder = layout.home / "put-aside"
    make_folders(folder)
    number = 1
    while (target := folder / f"{path.name}-{number}").exists() or target.is_symlink():
        number += 1
    try:
        shutil.move(path, target)  # a project may lie on another disk than the home
    except OSError as error:
        raise convert_os_error_to_store_error("move", path, error) from error
    return f"it is now {target}"


@contextlib.contextmanager
def raise_os_errors_as_store_errors(doing: str, path: Path) -> Iterator[None]:
    """Turn OSError into StoreError; `doing` is the verb of its message."""
    try:
        yield
    except OSError as error:
        raise convert_os_error_to_store_error(doing, path, error) from error
