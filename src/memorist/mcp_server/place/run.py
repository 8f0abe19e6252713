"""Which project a client works in: the configured one, else by its roots, else by the working
folder; never a guess (AM-4).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from memorist.auto_memory.place.run import project_root
from memorist.errors import InputError

NAME_ONE = "start the server with --project FOLDER"
ROOTS = 100
"""Roots that are considered; editors name a few."""
LOCAL = ("", "localhost", "127.0.0.1")


def folder_of(root: str) -> Path | None:
    """Return the folder that a root's URI names on this machine; None for any other URI."""
    try:
        parts = urlsplit(root)
        path = unquote(parts.path, errors="strict")
    except (ValueError, UnicodeDecodeError):
        return None
    if parts.scheme.lower() != "file" or (parts.netloc or "").lower() not in LOCAL or "\0" in path or not path.startswith("/"):
        return None
    try:
        return Path(path) if Path(path).is_dir() else None
    except (OSError, UnicodeEncodeError):
        return None


def by_roots(roots: Sequence[str], working: Path) -> Path | None:
    """Return the project of a client that reports roots; None when it reports none.

    Of several projects the one of the working folder counts. Raises InputError when the project is
    ambiguous.
    """
    if not roots:
        return None
    found = sorted({project_root(folder) for root in roots[:ROOTS] if (folder := folder_of(root)) is not None})
    own = project_root(working)
    if own in found:
        return own
    if len(found) != 1:
        what = f"{len(found)} projects ({', '.join(map(str, found[:5]))})" if found else "no folder of this machine"
        raise InputError(f"the client works in {what}, so it is not known whose memory is meant; {NAME_ONE}")
    return found[0]


def by_folder(working: Path) -> Path:
    """Return the project of the working folder.

    Raises InputError for `/` and the home folder, which any program may be started in.
    """
    root = project_root(working)
    if root in (Path("/"), Path(os.path.realpath(Path.home()))):
        raise InputError(f"the working folder {working} is no project, so it is not known whose memory is meant; {NAME_ONE}")
    return root


def chosen(named: Path | None, roots: Sequence[str], working: Path) -> Path:
    """Return the root of the project: of the configured folder, by the client's roots, or of the
    working folder, in this order. Raises InputError.
    """
    if named is not None:
        return project_root(named)
    return by_roots(roots, working) or by_folder(working)
