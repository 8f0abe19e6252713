"""The result of a doctor check, and what a check may use."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from memorist.errors import MemoristError
from memorist.settings import ResolvedSettings, Settings
from memorist.store.disk_files import make_folders, to_store_error
from memorist.store.home_layout import Layout


class CheckResult(Struct, frozen=True):
    """One checked fact. `mend` says how to fix it, and is empty if nothing is to be done."""

    state: Literal["good", "note", "wrong", "mended"]
    """`note` is worth knowing but no fault; `mended` was just repaired."""
    what: str
    mend: str = ""
    area: str = ""


class DoctorContext(Struct, frozen=True, kw_only=True):
    """What a check may use. It may change something only with `fix`, and then loses no data."""

    resolved: ResolvedSettings
    layout: Layout
    now: float
    """Seconds since the epoch."""
    fix: bool = False
    reach: bool = False
    """Whether network connections are allowed."""

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.resolved.settings


Check = Callable[[DoctorContext], Iterator[CheckResult]]

FIX_COMMAND = "memorist doctor --fix"


def repair_or_report(
    context: DoctorContext, what: str, mend: str, repair: Callable[[], str]
) -> CheckResult:
    """Report the fault, or with `fix` run `repair` and report what it did; if the disk refuses, the
    fault stays.
    """
    if not context.fix:
        return CheckResult("wrong", what, mend)
    try:
        return CheckResult("mended", f"{what}: {repair()}")
    except MemoristError as error:
        return CheckResult("wrong", what, str(error))


def set_aside(layout: Layout, path: Path) -> str:
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
        raise to_store_error("move", path, error) from error
    return f"it is now {target}"


@contextlib.contextmanager
def as_store_error(doing: str, path: Path) -> Iterator[None]:
    """Turn OSError into StoreError; `doing` is the verb of its message."""
    try:
        yield
    except OSError as error:
        raise to_store_error(doing, path, error) from error


def pluralize(number: int, thing: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
