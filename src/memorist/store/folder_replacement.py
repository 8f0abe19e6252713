"""Replacing one folder by another such that a kill between any two steps loses neither."""

from __future__ import annotations

import shutil
from pathlib import Path

from memorist.store.disk_files import to_store_error


def staging_folder(folder: Path) -> Path:
    """Where the replacement for a folder is built."""
    return folder.with_name(f".{folder.name}-new")


def _backup_folder(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}-old")


def replace_folder(folder: Path) -> None:
    """Move the folder built in `staging_folder` into place (or none where none was built), and
    delete the old one. Raises StoreError.
    """
    try:
        shutil.rmtree(_backup_folder(folder), ignore_errors=True)
        if folder.exists():
            folder.rename(_backup_folder(folder))
        elif staging_folder(folder).exists():
            staging_folder(folder).rename(folder)
    except OSError as error:
        raise to_store_error("replace", folder, error) from error
    finish_replacement(folder)


def finish_replacement(folder: Path) -> None:
    """Finish a replacement that was killed half-way, or undo one that had not begun; no copy
    remains. Raises StoreError.
    """
    old, new = _backup_folder(folder), staging_folder(folder)
    try:
        if old.exists():
            if new.exists() and not folder.exists():
                new.rename(folder)
            shutil.rmtree(old)
        if new.exists():
            shutil.rmtree(new)
    except OSError as error:
        raise to_store_error("replace", folder, error) from error
