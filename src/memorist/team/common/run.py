"""Texts that both sides had in common, kept by checksum: what two changes of one memory are brought together by."""

from __future__ import annotations

from collections.abc import Iterable

from memorist.errors import StoreError
from memorist.ports import Files
from memorist.store.files import discard, present
from memorist.store.layout import TeamLayout
from memorist.team.wire import digest


class Common:
    """One project's. A text that is lost or damaged is none: two changes are then kept beside each other."""

    def __init__(self, where: TeamLayout, files: Files) -> None:
        self._folder = where.base
        self._files = files

    def keep(self, texts: Iterable[str]) -> None:
        """Keep texts. Raises StoreError."""
        for text in texts:
            self._files.create(self._folder / _name(digest(text)), text.encode("utf-8", "surrogatepass"))

    def text(self, checksum: str) -> str | None:
        """The text with this checksum; None where there is none."""
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
