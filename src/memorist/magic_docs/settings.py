"""The settings of Magic Docs."""

from __future__ import annotations

from msgspec import Struct


class MagicDocsSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which Magic Docs are kept up to date, and how often."""

    enabled: bool = True
    """False changes none of them automatically; `memorist docs update` still does."""
    every_turns: int = 1
    """Turns from one update to the next (claude-code.md 11.2: every turn that ends without tool
    calls).
    """
    documents: int = 20
    """Upper bound of documents that one session updates.

    Each costs a request at the end of a turn. Our choice.
    """
    max_bytes: int = 65_536
    """Largest document in bytes, before and after an update: all of it goes into the request.

    Our choice; about 16,000 tokens.
    """
    drain_seconds: float = 60.0
    """Longest wait for an update when a session is closed (AM-9's bound for every drain)."""
