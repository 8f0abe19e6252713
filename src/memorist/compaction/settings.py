"""The settings of compaction."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class CompactionSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When and how the conversation is made smaller (claude-code.md sections 5, 6, 15; codex.md part 2). Sizes are tokens unless a name says otherwise."""

    enabled: bool = True
    """False never compacts; session memory is off then as well."""
    family: Literal["file_native", "rollout"] = "file_native"
    """Which family's full compaction is used: a summary after the boundary, or inline compaction."""
    provider: bool = False
    """Use the provider's own compaction where it exists."""
    summary_reserve: int = 20_000
    """Room for the summary's own output, at most; 99.99 % of summaries are shorter than 17,387."""
    auto_buffer: int = 13_000
    """Auto compaction begins this far below the effective window."""
    warning_buffer: int = 20_000
    """A warning comes this far below the point where something happens."""
    blocking_buffer: int = 3_000
    """Below the effective window by this much a request is held back when nothing automatic can help."""
    window: int | None = None
    """Overrides the model's context window, downwards only."""
    percent: float | None = None
    """Compact at this share of the effective window, 0 to 100, if that is earlier."""
    result_characters: int = 50_000
    """A tool result longer than this goes to disk with a preview."""
    message_result_characters: int = 200_000
    """All results of one message longer than this: the largest go to disk until it fits."""
    preview_bytes: int = 2_000
    """Start of an offloaded result that stays in view."""
    micro_gap_minutes: float = 60.0
    """Idle time after which the provider's cache is surely cold, so that clearing old results costs nothing extra."""
    by_price: bool = True
    """Clear old results as soon as that saves money over the expected rest of the session, from half the auto threshold on; False waits for the window."""
    talk_from: float = 0.5
    """Share of the auto threshold from which the notes may take the place of older talk because it pays; 1 waits until the window demands it."""
    micro_keep: int = 5
    """Newest results that microcompact keeps; at least 1."""
    keep_minimum_tokens: int = 10_000
    """Session memory compact keeps at least this much of the newest conversation …"""
    keep_minimum_texts: int = 5
    """… and at least so many messages with text …"""
    keep_maximum_tokens: int = 40_000
    """… but stops here."""
    restore_files: int = 5
    """Newest-read files that come back after a full compaction."""
    restore_file_tokens: int = 5_000
    """Largest part of one file that comes back."""
    restore_files_tokens: int = 50_000
    """All files that come back."""
    restore_skill_tokens: int = 5_000
    """Largest part of one invoked skill that comes back."""
    restore_skills_tokens: int = 25_000
    """All skills that come back."""
    inline_user_tokens: int = 20_000
    """The user's messages that inline compaction keeps, newest first."""
    too_long_retries: int = 3
    """Tries to shorten a compaction request that is itself too long."""
    too_long_share: float = 0.2
    """Share of the oldest rounds dropped at such a try when the excess is not known."""
    failures: int = 3
    """Failures in a row after which compaction is not tried again in this session."""
    refills: int = 3
    """Times in a row that the window may be full again at once before it stops with an explanation."""
