"""One folder in the place of another, so that a kill between any two steps loses neither. Callers hold a lock."""

from __future__ import annotations

import shutil
from pathlib import Path

from memorist.store.files import refusal


def aside(place: Path) -> Path:
    """Where the new folder for a place is built."""
    return place.with_name(f".{place.name}-new")


def _old(place: Path) -> Path:
    return place.with_name(f".{place.name}-old")


def replace_folder(place: Path) -> None:
    """Put the folder that was built `aside` into its place, or none where none was built, and delete the old one. Raises StoreError."""
    try:
        shutil.rmtree(_old(place), ignore_errors=True)
        if place.exists():
            place.rename(_old(place))
        elif aside(place).exists():
            aside(place).rename(place)
    except OSError as error:
        raise refusal("replace", place, error) from error
    settle_folder(place)


def settle_folder(place: Path) -> None:
    """Finish a replacement that was killed half-way, or undo one that had not begun: no copy stays beside the place. Raises StoreError."""
    old, new = _old(place), aside(place)
    try:
        if old.exists():
            if new.exists() and not place.exists():
                new.rename(place)
            shutil.rmtree(old)
        if new.exists():
            shutil.rmtree(new)
    except OSError as error:
        raise refusal("replace", place, error) from error
