"""Saves which files a session keeps as Magic Docs for a later process, above all those that only
the host reported.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from memorist.errors import StoreError
from memorist.ports import Files
from memorist.store.files import discard_leftovers, present

LEFT_SECONDS = 3_600.0
"""Age from which a temporary file belongs to no running write. Our choice, as in `memorist
doctor`.
"""


class Registered:
    """The list of one session; without a path nothing is saved.

    If the disk refuses, the list is lost, but no turn fails.
    """

    def __init__(self, files: Files, path: Path | None) -> None:
        self._files = files
        self._path = path

    def known(self) -> tuple[str, ...]:
        """Return the paths as they were read; empty if there is no list or it is unreadable."""
        return () if self._path is None else registered_at(self._files, self._path)

    def keep(self, paths: Iterable[str]) -> None:
        """Save the list if it changed."""
        now = tuple(paths)
        if self._path is not None and now != self.known():
            with contextlib.suppress(StoreError):
                self._files.write(self._path, msgspec.json.encode(now))

    def clean(self, document: Path, now: float) -> None:
        """Delete temporary files that a killed writer left next to a document at least an
        hour ago.
        """
        with contextlib.suppress(StoreError):
            discard_leftovers(document.parent, before=now - LEFT_SECONDS)


def registered_at(files: Files, path: Path) -> tuple[str, ...]:
    """Read the paths of a list."""
    try:
        return msgspec.json.decode(present(files, path) or b"[]", type=tuple[str, ...])
    except (StoreError, msgspec.DecodeError):
        return ()
