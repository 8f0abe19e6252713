"""The interface of a remote that stores a team's memories, with its values, the splitting of
changes into requests that it accepts, and the authors that it last reported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec
from msgspec import Struct

from memorist.ports import FileSystem
from memorist.store.disk_files import read_if_exists, read_json_if_valid
from memorist.store.home_layout import TeamStateLayout

MAX_KEYS = 5_000
"""Upper bound of memories in one team. No user reads 5,000; more is a mistake or an attack."""


MAX_REVISIONS = 1_000
"""Upper bound of revisions reported at once, and of commits examined for them. Our choice."""
MAX_NAME_CHARACTERS = 100
"""Characters of a user's name. Our choice."""


class LastSeenRemoteState(Struct, frozen=True, kw_only=True):
    """A remote's state when last seen. `version` is the remote's own mark: a number, or a
    commit.
    """

    id: str = ""
    """Identifies the store; another id is another store, unrelated to what was seen before."""
    version: str = ""
    tag: str = ""
    """Entity tag of its whole state."""


class ChangeAuthor(Struct, frozen=True):
    """Who last changed a memory, as the remote reports, and when (seconds since the epoch by its
    clock).
    """

    name: str
    at: float


class MemoryRevision(Struct, frozen=True, kw_only=True):
    """One change of a memory, as the remote reports it."""

    key: str
    version: str
    """The remote's own mark: a number, or an abbreviated commit."""
    by: ChangeAuthor
    deleted: bool = False


class RemoteListing(Struct, frozen=True, kw_only=True):
    """What a remote holds now, by name: checksums, not texts."""

    state: LastSeenRemoteState
    checksums: dict[str, str]
    """Name to checksum of the shared text."""
    deleted: frozenset[str] = frozenset()
    """Names deleted on the remote.

    What is neither present nor deleted was lost there, and is sent again.
    """
    sizes: dict[str, int] = {}
    """Bytes of each text, if the remote reports them."""
    problems: dict[str, str] = {}
    """Names that cannot be used, and why."""
    by: dict[str, ChangeAuthor] = {}
    """Who last changed each present or deleted memory, if the remote reports it with its
    listing.
    """


class RemoteChange(Struct, frozen=True):
    """One change to push: the new text (None deletes), and the checksum of what it replaces (empty
    for nothing).
    """

    text: str | None
    was: str


class TeamRemote(Protocol):
    """A store shared by a team.

    Every method raises `RemoteUnavailable` if it cannot be reached for now, `RemoteRefused` if
    retrying does not help.
    """

    @property
    def name(self) -> str:
        """Display name, without user name or token."""
        ...

    def fetch_listing(self, known_state: LastSeenRemoteState) -> RemoteListing | None:
        """Fetch the listing; None if nothing changed since `known_state`.

        Raises RemoteWentBack if it is older than that state.
        """
        ...

    def read_texts(self, keys: Sequence[str], sizes: Mapping[str, int], /) -> dict[str, str]:
        """Read texts by name, as of the last listing; a name may be missing."""
        ...

    def push_changes(
        self, changes: Mapping[str, RemoteChange], known_state: LastSeenRemoteState
    ) -> LastSeenRemoteState:
        """Apply all of the changes or none; return the remote's new state, with an entity tag if no
        other change was made since the last listing.

        Raises RemoteMoved if one of them was changed meanwhile; nothing is applied then.
        """
        ...

    def list_revisions(self, key: str = "") -> tuple[MemoryRevision, ...]:
        """List changes up to the last listing, newest first: of one memory, or of all.

        At most `MAX_REVISIONS`.
        """
        ...

    def close(self) -> None:
        """Close connections. May be called twice."""
        ...


MAX_CHANGES_PER_REQUEST = 500
"""Upper bound of changes in one request."""


def split_changes_into_batches(
    changes: Mapping[str, RemoteChange], limit: int
) -> Iterator[dict[str, RemoteChange]]:
    """Split the changes into parts of at most `limit` bytes of text, sorted; a larger one goes
    alone.

    Deletions and changes of existing memories go first, so that a full store still accepts them.
    """
    batch: dict[str, RemoteChange] = {}
    size = 0
    for key in sorted(changes, key=lambda key: (changes[key].was == "", key)):
        more = len((changes[key].text or "").encode("utf-8", "surrogatepass")) + len(
            key.encode("utf-8", "surrogatepass")
        )
        if batch and (size + more > limit or len(batch) >= MAX_CHANGES_PER_REQUEST):
            yield batch
            batch, size = {}, 0
        batch[key] = changes[key]
        size += more
    if batch:
        yield batch


MAX_CHANGES_PER_MEMORY = 20
"""Newest changes of one memory that are stored.

Our choice: no user reads more, and the remote has them.
"""


class TeamMemoryAuthorsFile:
    """The authors of one project. An unreadable file counts as empty."""

    def __init__(self, where: TeamStateLayout, files: FileSystem) -> None:
        self._where = where
        self._files = files

    def load(self) -> dict[str, list[ChangeAuthor]]:
        """Return the changes by memory name, newest first."""
        found = read_json_if_valid(self._files, self._where.authors, dict[str, list[ChangeAuthor]])
        return found or {}

    def record_listing(self, listing: RemoteListing, log: Sequence[MemoryRevision]) -> None:
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
