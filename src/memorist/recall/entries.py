"""The ranker's input and output types. Pure."""

from __future__ import annotations

from msgspec import Struct


class Place(Struct, frozen=True):
    """An entry's position among others: turns of a conversation, parts of a page."""

    group: str
    """The conversation, session or page."""
    number: int
    """Its position there. Adjacent entries lend each other weight."""
    heading: str = ""
    """What applies to the whole group, such as the day of a session. The group's first entry that
    has one decides.
    """


class Entry(Struct, frozen=True, kw_only=True):
    """One searchable memory."""

    id: str
    """Unique among the entries of one index. Zero bytes and lone surrogates are returned as
    replacement characters.
    """
    title: str = ""
    description: str = ""
    body: str = ""
    author: str = ""
    """Who said it, by the name a query would use (not a role such as `user`, which queries use for
    other things).
    """
    place: Place | None = None
    """None for entries without an order, such as memory files."""
    fingerprint: str = ""
    """Changes when the entry does (a hash, or time and size of a file). Empty: computed from the
    entry.
    """


class Ranked(Struct, frozen=True, kw_only=True):
    """One search result."""

    id: str
    score: float
    """Defines the order. Comparable within one result list only."""
    lexical: float
    """The lexical part of the score; 0 when only the meaning was near."""
    dense: float | None
    """Cosine of query and entry, -1 to 1; None without an embedder or before the entry is embedded.
    """
    coverage: float
    """Share of the query's words in the entry itself, weighted by rarity, 0 to 1: suited for a
    threshold.
    """
    matched: tuple[str, ...]
    """Those words, as spelled in the query, rarest first."""
    why: str
    """One line for humans: which words, whose, how near in meaning."""


class Synced(Struct, frozen=True, kw_only=True):
    """Result of a sync, in entries."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    kept: int = 0
    rebuilt: bool = False
    """The file was damaged, foreign or of another version, and was rebuilt."""
    unembedded: int = 0
    """Entries without a vector yet; 0 without an embedder."""
