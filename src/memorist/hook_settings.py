"""The settings of the hooks that coding agents call."""

from __future__ import annotations

from msgspec import Struct


class HooksSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long an agent may be kept waiting, and how long the process behind the hooks lives. Ours, where no source is named."""

    enabled: bool = True
    """False answers every hook with nothing, at once."""
    start_seconds: float = 5.0
    """Longest wait at the start of a session: long enough for the process behind the hooks to start."""
    prompt_seconds: float = 2.0
    """Longest wait before a prompt goes to the model."""
    compaction_seconds: float = 10.0
    """Longest wait before a compaction, for notes that are brought up to date."""
    other_seconds: float = 1.0
    """Longest wait at any other event; nothing is shown there, so that only the handing over counts (Codex stops the one at the end after 3 s)."""
    idle_seconds: float = 1_800.0
    """The process behind the hooks ends when nothing came for so long."""
    session_idle_seconds: float = 600.0
    """A session from which nothing came for so long is closed; the next event opens it again."""
