"""The records of a Codex rollout file, as far as they are read. Fields that are
not named are skipped without being built.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import UNSET, Struct, UnsetType, field

from memorist.core.json_decoding import build_json_decoder
from memorist.core.messages import JsonObject, Message, Origin, TextBlock, ToolResult, ToolUse
from memorist.formats.openai_responses import decode_input_item
from memorist.formats.request_codec import parse_tool_arguments_or_none
from memorist.formats.transcript_format import convert_datetime_to_epoch_seconds


class HistoryItemLine(Struct):
    """A line that holds one history item."""

    payload: Any
    timestamp: datetime | None = None


class LenientHistoryItemLine(Struct):
    """The same, when the time is of another type."""

    payload: Any


class GitInfo(Struct, gc=False):
    """The state of the repository."""

    branch: str | None = None
    repository_url: str | None = None


class SessionMetaPayload(Struct, gc=False):
    """The session's metadata."""

    id: str | None = None
    session_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    cli_version: str | None = None
    git: GitInfo | None = None
    base_instructions: Any = None
    instructions: Any = None
    forked_from_id: str | None = None
    source: Any = None
    """Who opened the session: a word, or an object with one key, which says more of it."""
    parent_thread_id: str | None = None

    @property
    def is_typed(self) -> bool:
        """Whether a person types into the session. `codex exec` may get its prompt through a pipe,
        a server from a program, and a subagent gets it from a model; what is not known counts as
        none of the person's.
        """
        custom = isinstance(self.source, dict) and "custom" in self.source
        return not self.parent_thread_id and (custom or self.source in _TYPED_SOURCES)


_TYPED_SOURCES = (None, "", "cli", "vscode")
"""Sources into which a person types; the oldest clients wrote none, and Codex's desktop application
writes `vscode`.
"""


class SessionMetaLine(Struct, gc=False):
    """The record at the start of a rollout."""

    payload: SessionMetaPayload
    timestamp: str | None = None


class TokenCounts(Struct, gc=False):
    """Tokens of one call, or of all; the input includes cached tokens."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0
    total_tokens: int = 0


class TokenInfo(Struct, gc=False):
    """The counts after a call."""

    total_token_usage: TokenCounts | None = None
    last_token_usage: TokenCounts | None = None
    model_context_window: int | None = None


class TokenCountPayload(Struct, gc=False):
    """A `token_count`; without `info` it reports rate limits alone."""

    info: TokenInfo | None = None


class TokenCountLine(Struct, gc=False):
    """A record of token counts."""

    payload: TokenCountPayload


class CodexCompactionPayload(Struct):
    """A compaction: the summary as a message, and the history that replaced the old one."""

    message: str | None = None
    replacement_history: list[Any] | None = None
    window_id: str | None = None


class CompactionLine(Struct):
    """A record of a compaction."""

    payload: CodexCompactionPayload
    timestamp: str | None = None


class TextEventPayload(Struct, gc=False):
    """An event that repeats a text: `message` of the user and the agent, `text` of its
    reasoning.
    """

    message: str | None = None
    text: str | None = None


class TextEventLine(Struct, gc=False):
    """A record of a user or agent message, or of reasoning."""

    payload: TextEventPayload
    timestamp: str | None = None


class TurnContextPayload(Struct, gc=False):
    """The content of `turn_context` and `task_started`."""

    turn_id: str | None = None
    cwd: str | None = None
    model: str | None = None
    model_context_window: int | None = None


class TurnContextLine(Struct, gc=False):
    """A record about a turn."""

    payload: TurnContextPayload


class WorldStatePayload(Struct, gc=False):
    """The environment as told to the model: in full, or its changes."""

    full: bool
    state: dict[str, Any]


class WorldStateLine(Struct, gc=False):
    """A record of the environment."""

    payload: WorldStatePayload


# Decoding tool calls and their results, the bulk of a rollout, straight into typed records.


class _ItemExtras(Struct, forbid_unknown_fields=True, kw_only=True, tag_field="type"):
    id: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    internal_chat_message_metadata_passthrough: JsonObject | UnsetType = UNSET


class _FunctionCall(_ItemExtras, tag="function_call"):
    name: str
    arguments: str
    call_id: str


class _CustomToolCall(_ItemExtras, tag="custom_tool_call"):
    name: str
    arguments: str = field(name="input")
    call_id: str


class _FunctionCallOutput(_ItemExtras, tag="function_call_output"):
    call_id: str
    output: str


class _CustomToolCallOutput(_ItemExtras, tag="custom_tool_call_output"):
    call_id: str
    output: str


class _ToolCallLine(Struct):
    payload: _FunctionCall | _CustomToolCall
    timestamp: datetime


class _CallOutputLine(Struct):
    payload: _FunctionCallOutput | _CustomToolCallOutput
    timestamp: datetime


_decode_call = build_json_decoder(_ToolCallLine)
_decode_output = build_json_decoder(_CallOutputLine)
_CALL_WIRES = {
    _FunctionCall: decode_input_item(
        {"type": "function_call", "call_id": "", "name": "", "arguments": ""}, ""
    ).wire,
    _CustomToolCall: decode_input_item(
        {"type": "custom_tool_call", "call_id": "", "name": "", "input": ""}, ""
    ).wire,
}
_OUTPUT_WIRES = {
    _FunctionCallOutput: decode_input_item(
        {"type": "function_call_output", "call_id": "", "output": ""}, ""
    ).wire,
    _CustomToolCallOutput: decode_input_item(
        {"type": "custom_tool_call_output", "call_id": "", "output": ""}, ""
    ).wire,
}
_MODEL_ORIGIN, _TOOL_ORIGIN = Origin.MODEL, Origin.TOOL


def read_call_message(data: bytes, number: int, reply: str, model: str | None) -> Message:
    """The message of a line with a call. Raises msgspec.ValidationError for another shape."""
    record = _decode_call(data)
    item = record.payload
    block = ToolUse(
        item.call_id,
        item.name,
        parse_tool_arguments_or_none(item.arguments) or {},
        item.arguments,
        None,
        _item_extra(item),
    )
    return Message(
        id=item.id or f"item-{number}" if item.id is not UNSET else f"item-{number}",
        role="assistant",
        blocks=(block,),
        origin=_MODEL_ORIGIN,
        timestamp=convert_datetime_to_epoch_seconds(record.timestamp),
        reply_id=reply,
        model=model,
        line=number,
        wire=_CALL_WIRES[type(item)],
    )


def read_call_output_message(data: bytes, number: int, *, is_typed: bool) -> Message:
    """The message of a line with a call's result. Raises msgspec.ValidationError for another
    shape.
    """
    record = _decode_output(data)
    item = record.payload
    return Message(
        id=item.id or f"item-{number}" if item.id is not UNSET else f"item-{number}",
        role="tool",
        blocks=(ToolResult(item.call_id, (TextBlock(item.output),), extra=_item_extra(item)),),
        origin=_TOOL_ORIGIN,
        timestamp=convert_datetime_to_epoch_seconds(record.timestamp),
        line=number,
        wire=_OUTPUT_WIRES[type(item)],
        is_typed=is_typed,
    )


def _item_extra(item: _ItemExtras) -> JsonObject | None:
    metadata = item.internal_chat_message_metadata_passthrough
    if item.id is UNSET and item.status is UNSET and metadata is UNSET:
        return None
    fields = {
        "id": item.id,
        "status": item.status,
        "internal_chat_message_metadata_passthrough": metadata,
    }
    return {key: value for key, value in fields.items() if value is not UNSET}


# The turns of a Codex rollout, and which of them were rolled back.


class _CutMark(Struct, frozen=True):
    """A point to which a history may be cut back: the line, and the number of live messages before
    it.
    """

    line: int
    messages: int


class TurnRollbackTracker:
    """The turns of a rollout so far, and the line ranges that were rolled back."""

    def __init__(self) -> None:
        self.messages = 0
        self.rolled_back_lines: list[tuple[int, int]] = []
        """First line and the line after the last, in order, without overlaps."""
        self._starts: list[_CutMark] = []
        self._segment: _CutMark | None = None
        self._context: _CutMark | None = None

    def on_turn_started(self, line: int) -> None:
        """A turn begins; the user's message follows."""
        self._segment = _CutMark(line, self.messages)

    def on_message(self, line: int, *, typed: bool, context: bool) -> None:
        """A message at the line: typed by the user, injected by the host (`context`), or from the
        model and its tools.
        """
        here = _CutMark(line, self.messages)
        if typed:
            self._start_turn(here)
        if context:
            self._context = self._context or here
        else:
            self._context = None
        self.messages += 1

    def on_context(self, line: int) -> None:
        """Injected context at the line; directly before a user message it belongs to that turn."""
        self._context = self._context or _CutMark(line, self.messages)

    def _start_turn(self, mark: _CutMark) -> None:
        """Begin a turn at a user message.

        A message typed while a turn runs belongs to that turn. The first turn begins at its
        message: what comes before belongs to the session.
        """
        if not self._starts:
            self._starts.append(mark)
        elif self._segment is None:
            self._starts.append(self._context or mark)
        elif self._starts[-1].line < self._segment.line:
            self._starts.append(self._segment)

    def roll_back(self, turns: int, line: int) -> tuple[int, int]:
        """Drop the last turns; returns how many turns there were to drop, and how many messages
        they held.
        """
        dropped = self._starts[-turns:] if turns > 0 else []
        if not dropped:
            return 0, 0
        del self._starts[-len(dropped) :]
        cut = dropped[0]
        while self.rolled_back_lines and self.rolled_back_lines[-1][0] >= cut.line:
            self.rolled_back_lines.pop()
        self.rolled_back_lines.append((cut.line, line))
        removed = self.messages - cut.messages
        self.messages, self._segment, self._context = cut.messages, None, None
        return len(dropped), removed
