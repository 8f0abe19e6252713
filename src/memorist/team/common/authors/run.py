"""Who changed which memory last, as the remote told at the last look: kept beside the state, and only to be shown."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from memorist.ports import Files
from memorist.store.files import present
from memorist.store.layout import TeamLayout
from memorist.team.remote import By, Look


class Authors:
    """One project's. A file that cannot be read tells of nobody."""

    def __init__(self, where: TeamLayout, files: Files) -> None:
        self._where = where
        self._files = files

    def known(self) -> dict[str, By]:
        """By name of the memory; what was changed here since is left out."""
        try:
            return msgspec.json.decode(self._files.read(self._where.authors), type=dict[str, By])
        except (FileNotFoundError, msgspec.DecodeError):
            return {}

    def told(self, look: Look | None) -> None:
        """The remote was looked at; None where it was as before. Raises StoreError."""
        if look is not None:
            self._keep({key: by for key, by in look.by.items() if key in look.there})

    def ours(self, sent: Collection[str]) -> None:
        """These were sent from here: the history of the folder tells who changed them. Raises StoreError."""
        known = self.known()
        if known.keys() & set(sent):
            self._keep({key: by for key, by in known.items() if key not in sent})

    def _keep(self, known: dict[str, By]) -> None:
        data = msgspec.json.encode(known, order="sorted")
        if present(self._files, self._where.authors) != data:
            self._files.write(self._where.authors, data)
