"""Where a team's memories are kept alike: what a remote must do, whichever it is. Values and a port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

MOST_KEYS = 5_000
"""Memories of one team at most. A person reads none of 5,000; more is a mistake or an attack."""


MOST_REVISIONS = 1_000
"""Changes that are told at once, and commits that are looked at for them. Ours."""
MOST_NAME = 100
"""Characters of a person's name. Ours."""


class Seen(Struct, frozen=True, kw_only=True):
    """How a remote was seen last. `version` is the remote's own mark: a number, or a commit."""

    id: str = ""
    """Names the store itself; another id is another store, with nothing in common with what was seen before."""
    version: str = ""
    tag: str = ""
    """Entity tag of its whole state."""


class By(Struct, frozen=True):
    """Who changed a memory last, as the remote tells, and when (seconds since the epoch by its clock)."""

    name: str
    at: float


class Revision(Struct, frozen=True, kw_only=True):
    """One change of a memory, as the remote tells."""

    key: str
    version: str
    """The remote's own mark: a number, or the beginning of a commit."""
    by: By
    deleted: bool = False


class Look(Struct, frozen=True, kw_only=True):
    """What a remote holds now, by name: checksums, not texts."""

    seen: Seen
    there: dict[str, str]
    """Name to checksum of the shared text."""
    gone: frozenset[str] = frozenset()
    """Names that were deleted there. What is neither there nor deleted was lost there, and is sent again."""
    sizes: dict[str, int] = {}
    """Bytes of each text, where the remote tells."""
    problems: dict[str, str] = {}
    """Names that cannot be used, and why."""
    by: dict[str, By] = {}
    """Who changed each last, of those that are there and those that were deleted, where the remote tells it with its look."""


class Put(Struct, frozen=True):
    """One change to be made: the new text (None deletes), and the checksum of what it replaces (empty for nothing)."""

    text: str | None
    was: str


class Remote(Protocol):
    """A store shared by a team. Every method raises `RemoteUnavailable` when it cannot be reached for now, `RemoteRefused` when trying again does not
    help.
    """

    @property
    def name(self) -> str:
        """What a person calls it, without user name or token."""
        ...

    def look(self, seen: Seen) -> Look | None:
        """What it holds; None when nothing changed since. Raises RemoteWentBack when it shows an older state than was seen before."""
        ...

    def read(self, keys: Sequence[str], sizes: Mapping[str, int], /) -> dict[str, str]:
        """Texts by name, as they were at the last look; a name may be missing."""
        ...

    def put(self, changes: Mapping[str, Put], seen: Seen) -> Seen:
        """Make all of the changes or none; gives how the remote is seen then: with an entity tag where nobody else changed anything since the last look.

        Raises RemoteMoved when somebody changed one of them meanwhile; nothing is made then.
        """
        ...

    def log(self, key: str = "") -> tuple[Revision, ...]:
        """Changes up to the last look, newest first: of one memory, or of all. At most `MOST_REVISIONS`."""
        ...

    def close(self) -> None:
        """Let go of connections. May be called twice."""
        ...
