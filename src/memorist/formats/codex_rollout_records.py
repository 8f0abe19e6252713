"""The records of a Codex rollout file, as far as they are read (codex.md part 5). Fields that are
not named are skipped without being built.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct


class ItemLine(Struct):
    """A line that holds one history item."""

    payload: Any
    timestamp: datetime | None = None


class UndatedItemLine(Struct):
    """The same, when the time is of another type."""

    payload: Any


class Git(Struct, gc=False):
    """The state of the repository."""

    branch: str | None = None


class MetaPayload(Struct, gc=False):
    """The session's metadata."""

    id: str | None = None
    session_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    cli_version: str | None = None
    git: Git | None = None
    base_instructions: Any = None
    instructions: Any = None


class MetaLine(Struct, gc=False):
    """The record at the start of a rollout."""

    payload: MetaPayload
    timestamp: str | None = None


class TokenCounts(Struct, gc=False):
    """Tokens of one call, or of all; the input includes cached tokens."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0


class TokenInfo(Struct, gc=False):
    """The counts after a call."""

    total_token_usage: TokenCounts | None = None
    last_token_usage: TokenCounts | None = None
    model_context_window: int | None = None


class CountPayload(Struct, gc=False):
    """A `token_count`; without `info` it reports rate limits alone."""

    info: TokenInfo | None = None


class CountLine(Struct, gc=False):
    """A record of token counts."""

    payload: CountPayload


class CompactedPayload(Struct):
    """A compaction: the summary as a message, and the history that replaced the old one."""

    message: str | None = None
    replacement_history: list[Any] | None = None
    window_id: str | None = None


class CompactedLine(Struct):
    """A record of a compaction."""

    payload: CompactedPayload
    timestamp: str | None = None


class SpokenPayload(Struct, gc=False):
    """An event that repeats a text: `message` of the user and the agent, `text` of its reasoning.
    """

    message: str | None = None
    text: str | None = None


class SpokenLine(Struct, gc=False):
    """A record of a user or agent message, or of reasoning."""

    payload: SpokenPayload
    timestamp: str | None = None


class TurnPayload(Struct, gc=False):
    """The content of `turn_context` and `task_started`."""

    turn_id: str | None = None
    cwd: str | None = None
    model: str | None = None
    model_context_window: int | None = None


class TurnLine(Struct, gc=False):
    """A record about a turn."""

    payload: TurnPayload


class WorldPayload(Struct, gc=False):
    """The environment as told to the model: in full, or its changes."""

    full: bool
    state: dict[str, Any]


class WorldLine(Struct, gc=False):
    """A record of the environment."""

    payload: WorldPayload
