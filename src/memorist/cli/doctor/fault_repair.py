"""Repairs of what a check of the doctor finds wrong (`memorist doctor --fix`); no data is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from memorist.cli.doctor.check_result import CheckResult, DoctorContext
from memorist.errors import MemoristError
from memorist.store.disk_files import make_folders, raise_os_errors_as_store_errors
from memorist.store.home_layout import Layout

FIX_COMMAND = "memorist doctor --fix"


def repair_or_report_fault(
    context: DoctorContext, what: str, remedy: str, repair: Callable[[], str]
) -> CheckResult:
    """Report the fault, or with `fix` run `repair` and report what it did; if the disk refuses, the
    fault stays.
    """
    if not context.may_repair:
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
    with raise_os_errors_as_store_errors("move", path):
        shutil.move(path, target)  # a project may lie on another disk than the home
    return f"it is now {target}"
