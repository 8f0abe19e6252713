"""What is ranked and what the ranker answers. Pure."""

from __future__ import annotations

from msgspec import Struct


class Place(Struct, frozen=True):
    """Where an entry stands among others: turns of one conversation, parts of one page."""

    group: str
    """The conversation, session or page."""
    number: int
    """Its place there. Entries next to each other lend each other weight."""
    heading: str = ""
    """What holds for the whole group, such as the day of a session. The first entry of a group that has one decides."""


class Entry(Struct, frozen=True, kw_only=True):
    """One memory, as it is to be found."""

    id: str
    """Unique among the entries of one index. A zero byte or half a surrogate pair in it comes back as a replacement character."""
    title: str = ""
    description: str = ""
    body: str = ""
    author: str = ""
    """Who said it, by the name that a question would use (not a role such as `user`, which questions use for other things)."""
    place: Place | None = None
    """None for entries without an order, as memory files are."""
    fingerprint: str = ""
    """Changes when the entry does (a hash, or time and size of a file). Empty: made from the entry itself."""


class Ranked(Struct, frozen=True, kw_only=True):
    """One answer."""

    id: str
    score: float
    """What the order follows. Comparable within one answer only."""
    lexical: float
    """The part that words gave; 0 when only the meaning was near."""
    dense: float | None
    """Cosine of question and entry, -1 to 1; None without an embedder or before the entry is embedded."""
    coverage: float
    """Share of the question's words that stand in the entry itself, the rare ones counting for more, 0 to 1: what a floor can be put on."""
    matched: tuple[str, ...]
    """Those words, as the question has them, the rarest first."""
    why: str
    """One line for people: which words, whose, how near in meaning."""


class Synced(Struct, frozen=True, kw_only=True):
    """What bringing the index up to date did, in entries."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    kept: int = 0
    rebuilt: bool = False
    """The file was damaged, foreign or of another version, and was begun anew."""
    unembedded: int = 0
    """Entries that have no vector yet; 0 without an embedder."""
