"""What client and server say to each other, as JSON. The paths are below `/v1/team/SPACE`.

    GET  (If-None-Match)         200 View and an entity tag, or 304
    POST /read   Wanted          200 Texts
    GET  /log?key=NAME           200 Log, newest first; without a name of all memories
    PUT  Changes (If-Match)      200 Done, or 412 Refusal with the checksums that are there now

Refusals: 400 (not understood, a bad name), 401, 403, 404, 412, 413 (too large, too many), 421 (host), 422 (a secret), 503.
"""

from __future__ import annotations

import re

from msgspec import Struct

from memorist.store.layout import folder_name

MOST_BODY = 2_000_000
"""Bytes of one request: the 200,000 of texts that a client sends at once, or one of 250,000, escaped as badly as JSON can (six for one)."""
MOST_ANSWER = 8_000_000
"""Bytes of one answer that a client takes."""
SPACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")
"""What the name of a team may be."""
_DIGEST = re.compile(r"(?:sha256:[0-9a-f]{64})?\Z")


class Entry(Struct, frozen=True):
    """One memory: checksum and bytes."""

    hash: str
    bytes: int


class View(Struct, frozen=True, kw_only=True):
    """A team's memories without their texts."""

    id: str
    version: int
    entries: dict[str, Entry]
    gone: list[str] = []
    by: dict[str, tuple[str, int]] = {}
    """Who changed each of them last, and when (seconds since the epoch by the server's clock)."""


class Changed(Struct, frozen=True, kw_only=True):
    """One change of a memory: which version of the team's state made it, whose token, and when (seconds since the epoch by the server's clock)."""

    key: str
    version: int
    by: str
    at: int
    deleted: bool = False


class Log(Struct, frozen=True):
    """Changes, newest first."""

    changes: list[Changed]


class Wanted(Struct, frozen=True):
    """Names whose texts are asked for."""

    keys: list[str]


class Texts(Struct, frozen=True):
    """Texts by name."""

    texts: dict[str, str]


class NewText(Struct, frozen=True):
    """A change: the text (null deletes), and the checksum of what it replaces."""

    text: str | None
    was: str = ""


class Changes(Struct, frozen=True):
    """Changes by name; all are made or none."""

    changes: dict[str, NewText]


class Done(Struct, frozen=True, kw_only=True):
    """They were made."""

    id: str
    version: int


class Refusal(Struct, frozen=True, kw_only=True):
    """They were not. `error` is one word for programs, `detail` a sentence for people."""

    error: str
    detail: str = ""
    keys: dict[str, str] = {}
    limit: int = 0


def entity_tag(id: str, version: int) -> str:
    """The entity tag of a team's whole state."""
    return f'"{id}-{version}"'


def is_digest(text: str) -> bool:
    """Whether a text is a checksum, or empty for nothing."""
    return _DIGEST.match(text) is not None


def space_name(address: str) -> str:
    """The team's name for a project, by the address of its Git remote: the same on every machine, whether it was cloned by SSH or by HTTPS."""
    plain = re.sub(r"^\w+://", "", address.strip()).rpartition("@")[2].removesuffix("/").removesuffix(".git")
    name = folder_name(re.sub(r":(?:\d+/)?/*", "/", plain, count=1).lower())
    return name if SPACE.match(name) else f"p{name}"[:100]
