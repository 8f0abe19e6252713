"""Which folder a project is that a program names."""

from __future__ import annotations

import os
from pathlib import Path, PurePath, PureWindowsPath

from memorist.engine.session_arguments import check_project
from memorist.errors import UsageError

MAX_NAME_BYTES = 255
"""Longest name of a folder in bytes, on all usual file systems."""


def find_working_folder() -> Path:
    """The working folder of the process; the root of all where it was deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path("/")


def _is_path(text: str) -> bool:
    """Whether a file system can have such a path."""
    try:
        names = os.fsencode(text).split(b"/")
    except UnicodeEncodeError:
        return False
    return "\0" not in text and max(map(len, names)) <= MAX_NAME_BYTES


def resolve_project(project: str | PurePath, folder: Path) -> str:
    """Return the project as an absolute path, a relative one from `folder`; empty for none. A path
    of Windows stays as it is on other systems, below the root of all. Raises UsageError for what is
    neither a path nor a text.
    """
    text = check_project(project)
    if not _is_path(text):
        raise UsageError(f"{text[:80]!r} is no name of a folder; give the project's root folder")
    if not text or Path(text).is_absolute():
        return text
    of_windows = os.path.sep == "/" and PureWindowsPath(text).drive
    return f"/{text}" if of_windows else os.path.normpath(folder / Path(text).expanduser())
