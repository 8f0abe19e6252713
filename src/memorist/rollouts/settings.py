"""The settings of rollout memory."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct


class RolloutsSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which sessions become memory, and how much work that may be.

    Whether it runs automatically is `long_term`.

    Source of each default: codex.md sections 1.3 to 1.10, requirements RO-1 to RO-9.
    """

    form: Literal["full", "lean"] = "full"
    """`full` keeps MEMORY.md, memory_summary.md and skills; `lean` one summary under
    `lean_bytes`.
    """
    model: str = ""
    """Model of stage one; empty uses the model of background work (`model`)."""
    consolidation_model: str = ""
    """Model of stage two; empty uses that of stage one."""
    max_age_days: Annotated[int, Meta(ge=0)] = 10
    """Older sessions are not extracted automatically."""
    min_idle_hours: Annotated[int, Meta(ge=0)] = 6
    """Hours since a session's newest message before it counts as finished."""
    sources: tuple[str, ...] = ("", "cli", "vscode", "sdk-cli", "memorist")
    """Session sources that are extracted; subagents and internal sessions never are."""
    scan: Annotated[int, Meta(ge=1)] = 5_000
    """Newest sessions examined in one scan."""
    running: Annotated[int, Meta(ge=1)] = 2
    """Sessions extracted at the same time, over all processes."""
    lease_seconds: Annotated[int, Meta(ge=60)] = 3_600
    """Lifetime of a claim without a heartbeat."""
    retries: Annotated[int, Meta(ge=1)] = 3
    """Attempts at a session before it waits for a newer version of it or for the user."""
    retry_seconds: Annotated[int, Meta(ge=0)] = 3_600
    """Delay after a failed attempt."""
    cooldown_hours: Annotated[int, Meta(ge=0)] = 6
    """Delay after a successful consolidation."""
    consolidated: Annotated[int, Meta(ge=1)] = 256
    """Upper bound of consolidated sessions."""
    unused_days: Annotated[int, Meta(ge=1)] = 30
    """A session neither used nor changed for that long is no longer consolidated, and its extract
    is eventually removed.
    """
    summary_tokens: Annotated[int, Meta(ge=0)] = 2_500
    """Tokens of the summary that are shown, cut by whole entries."""
    lean_bytes: Annotated[int, Meta(ge=0)] = 10_000
    """Bytes of the summary in the lean form."""
    pollutes: bool = False
    """True excludes sessions that took in content from the web or from MCP servers."""
