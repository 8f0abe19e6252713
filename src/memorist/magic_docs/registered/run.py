"""Which files a session keeps as Magic Docs, written down so that a later process knows them too: those that only the host told of, above all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from memorist.errors import StoreError
from memorist.ports import Files
from memorist.store.files import discard_leftovers, present

LEFT_SECONDS = 3_600.0
"""Age from which on a temporary file belongs to no write under way. Ours, as in `memorist doctor`."""


class Registered:
    """The list of one session; without a path nothing is written down. What the disk refuses costs the list, and no turn."""

    def __init__(self, files: Files, path: Path | None) -> None:
        self._files = files
        self._path = path

    def known(self) -> tuple[str, ...]:
        """The paths, as they were read; none where there is no list or it cannot be understood."""
        return () if self._path is None else registered_at(self._files, self._path)

    def keep(self, paths: Iterable[str]) -> None:
        """Write the list down where it is another one."""
        now = tuple(paths)
        if self._path is not None and now != self.known():
            with contextlib.suppress(StoreError):
                self._files.write(self._path, msgspec.json.encode(now))

    def clean(self, document: Path, now: float) -> None:
        """Delete what a killed writer left beside a document an hour ago or longer: half of what was to take its place."""
        with contextlib.suppress(StoreError):
            discard_leftovers(document.parent, before=now - LEFT_SECONDS)


def registered_at(files: Files, path: Path) -> tuple[str, ...]:
    """The paths of a list."""
    try:
        return msgspec.json.decode(present(files, path) or b"[]", type=tuple[str, ...])
    except (StoreError, msgspec.DecodeError):
        return ()
