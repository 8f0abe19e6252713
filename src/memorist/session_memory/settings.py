"""The settings of session memory."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct


class SessionMemorySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When notes are updated and how large they may be. All sizes are tokens. Source of each default: claude-code.md sections 11.1 and 15."""

    enabled: bool = True
    """False keeps no notes."""
    start_tokens: int = 10_000
    """Context size at which notes begin."""
    growth_tokens: int = 5_000
    """Growth of the context since the last update that every further update needs."""
    tool_calls: int = 3
    """Tool calls since the last update that, with the growth, call for an update in the middle of a turn."""
    section_tokens: int = 2_000
    """A section above this is named in a reminder, and cut when the notes stand in for a conversation."""
    total_tokens: int = 12_000
    """Notes above this get the stronger reminder."""
    structural_tokens: int = 2_900
    """Size of notes made without a model, all sections together; chosen so that they cost less than a page of conversation."""
    wait_seconds: float = 15.0
    """Longest time a compaction waits for an update that runs."""
    stale_seconds: float = 60.0
    """An update that began longer ago is not waited for."""


Current = Callable[[], SessionMemorySettings]
"""The settings in force, asked for at every decision: a feature flag may have changed them since. Answers at once (SM-1)."""
