"""The texts that both sides had in common, stored by checksum: the bases for merging
two changes.
"""

from __future__ import annotations

from collections.abc import Iterable

from memorist.errors import StoreError
from memorist.ports import FileSystem
from memorist.store.disk_files import read_if_exists, remove_if_exists
from memorist.store.home_layout import TeamLayout
from memorist.team.shared_file import compute_text_checksum


class BaseTextStore:
    """The base texts of one project.

    A lost or damaged text counts as missing: two changes then end in a conflict copy.
    """

    def __init__(self, where: TeamLayout, files: FileSystem) -> None:
        self._folder = where.base_texts
        self._files = files

    def save(self, texts: Iterable[str]) -> None:
        """Save texts. Raises StoreError."""
        for text in texts:
            self._files.create(
                self._folder / _file_name(compute_text_checksum(text)),
                text.encode("utf-8", "surrogatepass"),
            )

    def load(self, checksum: str) -> str | None:
        """Return the text with this checksum; None if there is none."""
        if not checksum:
            return None
        try:
            found = read_if_exists(self._files, self._folder / _file_name(checksum))
        except StoreError:
            return None
        text = None if found is None else found.decode("utf-8", "surrogatepass")
        return text if text is not None and compute_text_checksum(text) == checksum else None

    def prune(self, wanted: Iterable[str]) -> None:
        """Delete all but these."""
        names = {_file_name(checksum) for checksum in wanted if checksum}
        try:
            paths = self._files.walk(self._folder)
        except FileNotFoundError:
            return
        for path in paths:
            if path.name not in names:
                remove_if_exists(self._files, path)


def _file_name(checksum: str) -> str:
    return checksum.removeprefix("sha256:")
