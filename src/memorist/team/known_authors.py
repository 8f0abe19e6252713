"""Who changed which of the team's memories, as the remote last reported; stored next to the state,
and only for display.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from memorist.ports import FileSystem
from memorist.store.disk_files import read_if_exists
from memorist.store.home_layout import TeamLayout
from memorist.team.team_remote import ChangeAuthor, RemoteListing, TeamRevision

MAX_CHANGES_PER_MEMORY = 20
"""Newest changes of one memory that are stored.

Our choice: no user reads more, and the remote has them.
"""


class KnownAuthors:
    """The authors of one project. An unreadable file counts as empty."""

    def __init__(self, where: TeamLayout, files: FileSystem) -> None:
        self._where = where
        self._files = files

    def load(self) -> dict[str, list[ChangeAuthor]]:
        """Return the changes by memory name, newest first."""
        try:
            return msgspec.json.decode(
                self._files.read(self._where.authors), type=dict[str, list[ChangeAuthor]]
            )
        except (FileNotFoundError, msgspec.DecodeError):
            return {}

    def record_listing(self, listing: RemoteListing, log: Sequence[TeamRevision]) -> None:
        """Record a listing and its changes, newest first. Raises StoreError."""
        known = self.load()
        found: dict[str, list[ChangeAuthor]] = {key: [] for key in listing.checksums}
        for each in log:
            if each.key in found and len(found[each.key]) < MAX_CHANGES_PER_MEMORY:
                found[each.key].append(each.by)
        for key, by in listing.by.items():
            if key in found and not found[key] and known.get(key, [])[:1] != [by]:
                found[key] = [by]
        # Of one that was not changed for so long that the log does not reach back to it, what was
        # known stays true.
        self._save(
            {key: each or known.get(key, []) for key, each in found.items() if each or key in known}
        )

    def record_sent(self, sent: Collection[str]) -> None:
        """Record that these were sent from here, which outdates what the remote reported of them.

        Raises StoreError.
        """
        known = self.load()
        if known.keys() & set(sent):
            self._save({key: each for key, each in known.items() if key not in sent})

    def _save(self, known: dict[str, list[ChangeAuthor]]) -> None:
        data = msgspec.json.encode(known, order="sorted")
        if read_if_exists(self._files, self._where.authors) != data:
            self._files.write(self._where.authors, data)
