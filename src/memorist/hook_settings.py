"""The settings of the hooks that coding agents call."""

from __future__ import annotations

from msgspec import Struct


class HooksSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long a client may be kept waiting, and how long the hooks daemon lives. Chosen here
    unless a source is named.
    """

    enabled: bool = True
    """False answers every hook with nothing, immediately."""
    start_seconds: float = 5.0
    """Longest wait at the start of a session: long enough for the daemon to start."""
    prompt_seconds: float = 2.0
    """Longest wait before a prompt goes to the model."""
    compaction_seconds: float = 10.0
    """Longest wait before a compaction, for notes that are being updated."""
    other_seconds: float = 1.0
    """Longest wait at any other event; nothing is shown there, so only the delivery of the event
    counts (Codex stops the hook at the end of a session after 3 s).
    """
    idle_seconds: float = 1_800.0
    """The daemon ends after this long without an event."""
    session_idle_seconds: float = 600.0
    """A session without an event for this long is closed; its next event opens it again."""
