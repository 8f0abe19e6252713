"""Who changed which memory, as the remote last reported; stored next to the state, and only for
display.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from memorist.ports import Files
from memorist.store.files import present
from memorist.store.layout import TeamLayout
from memorist.team.remote import By, Look, Revision

MOST_EACH = 20
"""Newest changes of one memory that are stored.

Our choice: no user reads more, and the remote has them.
"""


class Authors:
    """The authors of one project. An unreadable file counts as empty."""

    def __init__(self, where: TeamLayout, files: Files) -> None:
        self._where = where
        self._files = files

    def known(self) -> dict[str, list[By]]:
        """Return the changes by memory name, newest first."""
        try:
            return msgspec.json.decode(self._files.read(self._where.authors), type=dict[str, list[By]])
        except (FileNotFoundError, msgspec.DecodeError):
            return {}

    def told(self, look: Look, log: Sequence[Revision]) -> None:
        """Record a listing and its changes, newest first. Raises StoreError."""
        known = self.known()
        found: dict[str, list[By]] = {key: [] for key in look.there}
        for each in log:
            if each.key in found and len(found[each.key]) < MOST_EACH:
                found[each.key].append(each.by)
        for key, by in look.by.items():
            if key in found and not found[key] and known.get(key, [])[:1] != [by]:
                found[key] = [by]
        # Of one that was not changed for so long that the log does not reach back to it, what was
        # known stays true.
        self._keep({key: each or known.get(key, []) for key, each in found.items() if each or key in known})

    def ours(self, sent: Collection[str]) -> None:
        """Record that these were sent from here, which outdates what the remote reported of them.

        Raises StoreError.
        """
        known = self.known()
        if known.keys() & set(sent):
            self._keep({key: each for key, each in known.items() if key not in sent})

    def _keep(self, known: dict[str, list[By]]) -> None:
        data = msgspec.json.encode(known, order="sorted")
        if present(self._files, self._where.authors) != data:
            self._files.write(self._where.authors, data)
