"""The result of a doctor check, what a check may use, and the repairs of `--fix`."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from memorist.errors import MemoristError
from memorist.settings import ResolvedSettings, Settings
from memorist.store.disk_files import make_folders, raise_os_errors_as_store_errors
from memorist.store.home_layout import Layout


class CheckResult(Struct, frozen=True):
    """One checked fact. `remedy` says how to fix it, and is empty if nothing is to be done."""

    state: Literal["good", "note", "wrong", "fixed"]
    """`note` is worth knowing but no fault; `fixed` was just repaired."""
    what: str
    remedy: str = ""
    area: str = ""


class DoctorContext(Struct, frozen=True, kw_only=True):
    """What a check may use. Only with `may_repair` may it change something, and loses no data."""

    resolved: ResolvedSettings
    layout: Layout
    now: float
    """Seconds since the epoch."""
    may_repair: bool = False
    may_use_network: bool = False
    """Whether network connections are allowed."""

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.resolved.settings


Check = Callable[[DoctorContext], Iterator[CheckResult]]


# Repairs of what a check of the doctor finds wrong (`memorist doctor --fix`); no data is lost.

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
