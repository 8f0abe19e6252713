"""The interface of a remote that stores a team's memories, with its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

MAX_KEYS = 5_000
"""Upper bound of memories in one team. No user reads 5,000; more is a mistake or an attack."""


MAX_REVISIONS = 1_000
"""Upper bound of revisions reported at once, and of commits examined for them. Our choice."""
MAX_NAME_CHARACTERS = 100
"""Characters of a user's name. Our choice."""


class RemoteState(Struct, frozen=True, kw_only=True):
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


class TeamRevision(Struct, frozen=True, kw_only=True):
    """One change of a memory, as the remote reports it."""

    key: str
    version: str
    """The remote's own mark: a number, or an abbreviated commit."""
    by: ChangeAuthor
    deleted: bool = False


class RemoteListing(Struct, frozen=True, kw_only=True):
    """What a remote holds now, by name: checksums, not texts."""

    state: RemoteState
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

    def fetch_listing(self, known_state: RemoteState) -> RemoteListing | None:
        """Fetch the listing; None if nothing changed since `known_state`.

        Raises RemoteWentBack if it is older than that state.
        """
        ...

    def read_texts(self, keys: Sequence[str], sizes: Mapping[str, int], /) -> dict[str, str]:
        """Read texts by name, as of the last listing; a name may be missing."""
        ...

    def push_changes(
        self, changes: Mapping[str, RemoteChange], known_state: RemoteState
    ) -> RemoteState:
        """Apply all of the changes or none; return the remote's new state, with an entity tag if no
        other change was made since the last listing.

        Raises RemoteMoved if one of them was changed meanwhile; nothing is applied then.
        """
        ...

    def list_revisions(self, key: str = "") -> tuple[TeamRevision, ...]:
        """List changes up to the last listing, newest first: of one memory, or of all.

        At most `MAX_REVISIONS`.
        """
        ...

    def close(self) -> None:
        """Close connections. May be called twice."""
        ...
