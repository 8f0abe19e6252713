"""The settings of Magic Docs."""

from __future__ import annotations

from msgspec import Struct


class MagicDocsSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which Magic Docs are kept up to date, and how often."""

    enabled: bool = True
    """False changes none of them; `memorist docs update` still does."""
    every_turns: int = 1
    """Turns from one update to the next (claude-code.md 11.2: every turn that ends without tool calls)."""
    documents: int = 20
    """Documents that one session keeps up to date; what it reads beyond them is left. Each costs a request at the end of a turn. Ours."""
    max_bytes: int = 65_536
    """Largest document, before and after an update: all of it stands in the request. Ours; about 16,000 tokens."""
    drain_seconds: float = 60.0
    """Longest wait for an update when a session is closed (AM-9's bound for every drain)."""
