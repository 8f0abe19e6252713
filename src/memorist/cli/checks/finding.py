"""What a look at one thing found, and what a check may look at."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from memorist.errors import MemoristError
from memorist.settings import Resolved, Settings
from memorist.store.files import make_folders, refusal
from memorist.store.layout import Layout


class Finding(Struct, frozen=True):
    """One thing that was looked at. `mend` says what to do, and is empty when nothing is to be done."""

    state: Literal["good", "note", "wrong", "mended"]
    """`note` is worth knowing and no fault; `mended` was wrong until now."""
    what: str
    mend: str = ""
    area: str = ""


class Place(Struct, frozen=True, kw_only=True):
    """What a check may look at. Only with `fix` may it change anything, and then nothing is lost by it."""

    resolved: Resolved
    layout: Layout
    now: float
    """Seconds since the epoch."""
    fix: bool = False
    reach: bool = False
    """Whether a connection may be made."""

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.resolved.settings


Check = Callable[[Place], Iterator[Finding]]

FIX = "memorist doctor --fix"


def mended_or(place: Place, what: str, mend: str, act: Callable[[], str]) -> Finding:
    """The fault, or with `fix` what `act` says that it did; what the disk refuses leaves it wrong."""
    if not place.fix:
        return Finding("wrong", what, mend)
    try:
        return Finding("mended", f"{what}: {act()}")
    except MemoristError as error:
        return Finding("wrong", what, str(error))


def put_aside(layout: Layout, path: Path) -> str:
    """Move something out of the way, into the folder `put-aside` of the home folder; says where it is. Raises StoreError."""
    folder = layout.home / "put-aside"
    make_folders(folder)
    number = 1
    while (target := folder / f"{path.name}-{number}").exists() or target.is_symlink():
        number += 1
    try:
        shutil.move(path, target)  # a project may lie on another disk than the home
    except OSError as error:
        raise refusal("move", path, error) from error
    return f"it is now {target}"


@contextlib.contextmanager
def refusals(doing: str, path: Path) -> Iterator[None]:
    """Turn what the system refuses into StoreError; `doing` is the verb."""
    try:
        yield
    except OSError as error:
        raise refusal(doing, path, error) from error


def counted(number: int, thing: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
