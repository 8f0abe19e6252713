"""Stores the texts that both sides had in common, by checksum: the bases for merging two changes of
one memory.
"""

from __future__ import annotations

from collections.abc import Iterable

from memorist.errors import StoreError
from memorist.ports import Files
from memorist.store.files import discard, present
from memorist.store.layout import TeamLayout
from memorist.team.wire import digest


class Common:
    """The base texts of one project.

    A lost or damaged text counts as missing: two changes then end in a conflict copy.
    """

    def __init__(self, where: TeamLayout, files: Files) -> None:
        self._folder = where.base
        self._files = files

    def keep(self, texts: Iterable[str]) -> None:
        """Save texts. Raises StoreError."""
        for text in texts:
            self._files.create(self._folder / _name(digest(text)), text.encode("utf-8", "surrogatepass"))

    def text(self, checksum: str) -> str | None:
        """Return the text with this checksum; None if there is none."""
        if not checksum:
            return None
        try:
            found = present(self._files, self._folder / _name(checksum))
        except StoreError:
            return None
        text = None if found is None else found.decode("utf-8", "surrogatepass")
        return text if text is not None and digest(text) == checksum else None

    def prune(self, wanted: Iterable[str]) -> None:
        """Delete all but these."""
        names = {_name(checksum) for checksum in wanted if checksum}
        try:
            paths = self._files.walk(self._folder)
        except FileNotFoundError:
            return
        for path in paths:
            if path.name not in names:
                discard(self._files, path)


def _name(checksum: str) -> str:
    return checksum.removeprefix("sha256:")
