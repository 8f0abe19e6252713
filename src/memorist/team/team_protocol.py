"""The protocol between team client and server, as JSON. Paths are below `/v1/team/SPACE`.

    GET  (If-None-Match)               200 TeamListing and an entity tag, or 304
    POST /read TeamTextsRequest        200 TeamTexts
    GET  /log?key=NAME                 200 TeamChangeHistory, newest first; of all without a name
    PUT  TeamChangesRequest (If-Match) 200 TeamChangesAppliedReceipt, or 412 TeamRefusal with the
                                       current checksums

Refusals: 400 (malformed, a bad name), 401, 403, 404, 412, 413 (too large, too many), 421
(host), 422 (a secret), 503.
"""

from __future__ import annotations

import re

from msgspec import Struct, field

from memorist.store.home_layout import make_folder_name

MAX_REQUEST_BYTES = 2_000_000
"""Upper bound of a request in bytes: the 200,000 of texts that a client sends at once, or one of
250,000, with worst-case JSON escaping (six for one).
"""
MAX_RESPONSE_BYTES = 8_000_000
"""Upper bound of a response that a client accepts, in bytes."""
SPACE_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")
"""Valid team names."""
_CHECKSUM = re.compile(r"(?:sha256:[0-9a-f]{64})?\Z")


class MemoryHashAndSize(Struct, frozen=True):
    """One memory: checksum and bytes."""

    hash: str
    bytes: int


class TeamListing(Struct, frozen=True, kw_only=True):
    """A team's memories without their texts, and what was deleted."""

    id: str
    """Random id created with the team: no other store has it."""
    version: int
    """Number of changes so far."""
    entries: dict[str, MemoryHashAndSize]
    deleted: list[str] = field(default_factory=list, name="gone")
    by: dict[str, tuple[str, int]] = {}
    """Who last changed each memory, and when (seconds since the epoch by the server's clock)."""


class LoggedMemoryChange(Struct, frozen=True, kw_only=True):
    """One change of a memory: the version of the team's state, the token's owner, and the time
    (seconds since the epoch by the server's clock).
    """

    key: str
    version: int
    by: str
    at: int
    deleted: bool = False


class TeamChangeHistory(Struct, frozen=True):
    """Changes, newest first."""

    changes: list[LoggedMemoryChange]


class TeamTextsRequest(Struct, frozen=True):
    """Names of the requested texts."""

    keys: list[str]


class TeamTexts(Struct, frozen=True):
    """Texts by name."""

    texts: dict[str, str]


class TeamTextChange(Struct, frozen=True):
    """A change: the text (null deletes), and the checksum of what it replaces."""

    text: str | None
    was: str = ""


class TeamChangesRequest(Struct, frozen=True):
    """Changes by name; applied all or none."""

    changes: dict[str, TeamTextChange]


class TeamChangesAppliedReceipt(Struct, frozen=True, kw_only=True):
    """The changes were applied."""

    id: str
    version: int


class TeamRefusal(Struct, frozen=True, kw_only=True):
    """The request was refused. `error` is one word for programs, `detail` a sentence for
    the user.
    """

    error: str
    detail: str = ""
    keys: dict[str, str] = {}
    limit: int = 0


def build_entity_tag(id: str, version: int) -> str:
    """Return the entity tag of a team's whole state."""
    return f'"{id}-{version}"'


def is_checksum_or_empty(text: str) -> bool:
    """Tell whether a text is a checksum, or empty for nothing."""
    return _CHECKSUM.match(text) is not None


def derive_space_name_from_remote(address: str) -> str:
    """Return the team's name for a project, derived from the address of its Git remote: the same on
    every machine, whether cloned by SSH or by HTTPS.
    """
    plain = (
        re.sub(r"^\w+://", "", address.strip())
        .rpartition("@")[2]
        .removesuffix("/")
        .removesuffix(".git")
    )
    name = make_folder_name(re.sub(r":(?:\d+/)?/*", "/", plain, count=1).lower())
    return name if SPACE_PATTERN.match(name) else f"p{name}"[:100]
