"""Decide when the notes are due (SM-1 to SM-3). Pure."""

from __future__ import annotations

from msgspec import Struct

from memorist.session_memory.settings import SessionMemorySettings


class Host(Struct, frozen=True, kw_only=True):
    """The host's own description, as last known; reading it never waits (SM-1)."""

    remote: bool = False
    """The agent runs on a machine whose disk does not outlive the session."""
    auto_compact: bool = True
    """The conversation will be compacted when full, by memorist or by the host."""
    interactive: bool = True
    """A user is present. A program that asks one question and exits has no time for a dream (DR-1).
    """
    main: bool = True
    """It is the main agent; subagents do not dream."""


class Progress(Struct, frozen=True, kw_only=True):
    """What happened since the last update."""

    tokens: int
    """Current size of the context."""
    tokens_at_update: int
    """Size of the context at the last update; 0 when there was none."""
    calls: int
    """Tool calls since the last update."""
    last_turn_called: bool
    """The newest reply holds tool calls: the turn goes on."""


class Due(Struct, frozen=True):
    """An update is due, and why, in one clause for the user."""

    why: str
    tokens: int


def allowed(host: Host, settings: SessionMemorySettings) -> bool:
    """Whether notes are kept at all for this host (SM-1)."""
    return settings.enabled and host.auto_compact and not host.remote


def due(progress: Progress, settings: SessionMemorySettings) -> Due | None:
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
    size = f"the context reached {progress.tokens:,} tokens" if first else f"the context grew by {growth:,} tokens"
    return Due(why=f"{size}, with {reason}", tokens=progress.tokens)
