"""Decide when the notes are due (SM-2, SM-3). Pure."""

from __future__ import annotations

from msgspec import Struct

from memorist.settings import SessionMemorySettings


class NotesProgress(Struct, frozen=True, kw_only=True):
    """What happened since the last update."""

    tokens: int
    """Current size of the context."""
    tokens_at_update: int
    """Size of the context at the last update; 0 when there was none."""
    calls: int
    """Tool calls since the last update."""
    last_turn_called: bool
    """The newest reply holds tool calls: the turn goes on."""


class NotesDue(Struct, frozen=True):
    """An update is due, and why, in one clause for the user."""

    why: str
    tokens: int


def check_notes_due(progress: NotesProgress, settings: SessionMemorySettings) -> NotesDue | None:
    """Whether the notes are due now.

    The context must have reached the start size and must have grown since the last update; then
    either enough tool calls or a reply without tool calls (a natural break) is required. Growth is
    the difference of two context sizes, not the sum of billed tokens.
    """
    first = progress.tokens_at_update == 0
    if first and progress.tokens < settings.start_tokens:
        return None
    growth = progress.tokens - progress.tokens_at_update
    if growth < settings.growth_tokens:
        return None
    if progress.calls < settings.tool_calls and progress.last_turn_called:
        return None
    reason = f"{progress.calls} tool calls" if progress.last_turn_called else "a natural break"
    size = (
        f"the context reached {progress.tokens:,} tokens"
        if first
        else f"the context grew by {growth:,} tokens"
    )
    return NotesDue(why=f"{size}, with {reason}", tokens=progress.tokens)
