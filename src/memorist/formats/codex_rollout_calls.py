"""Decoding tool calls and their results, the bulk of a rollout, straight into typed records.

This is the fast path for lines of the usual shape; `openai_responses.read_item` reads every shape
and gives an equal message for these (a test asserts that).
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from memorist.core.messages import JsonObject, Message, Origin, Text, ToolResult, ToolUse
from memorist.formats.jsonl import epoch
from memorist.formats.openai_responses_items import read_item
from memorist.formats.wire import parsed_arguments


class _Extras(Struct, forbid_unknown_fields=True, kw_only=True, tag_field="type"):
    id: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    internal_chat_message_metadata_passthrough: JsonObject | UnsetType = UNSET


class _Call(_Extras, tag="function_call"):
    name: str
    arguments: str
    call_id: str


class _CustomCall(_Extras, tag="custom_tool_call"):
    name: str
    arguments: str = field(name="input")
    call_id: str


class _Answer(_Extras, tag="function_call_output"):
    call_id: str
    output: str


class _CustomAnswer(_Extras, tag="custom_tool_call_output"):
    call_id: str
    output: str


class _CallLine(Struct):
    payload: _Call | _CustomCall
    timestamp: datetime


class _AnswerLine(Struct):
    payload: _Answer | _CustomAnswer
    timestamp: datetime


_call = msgspec.json.Decoder(_CallLine).decode
_answer = msgspec.json.Decoder(_AnswerLine).decode
_CALL_WIRES = {
    _Call: read_item({"type": "function_call", "call_id": "", "name": "", "arguments": ""}, "").wire,
    _CustomCall: read_item({"type": "custom_tool_call", "call_id": "", "name": "", "input": ""}, "").wire,
}
_ANSWER_WIRES = {
    _Answer: read_item({"type": "function_call_output", "call_id": "", "output": ""}, "").wire,
    _CustomAnswer: read_item({"type": "custom_tool_call_output", "call_id": "", "output": ""}, "").wire,
}
_MODEL, _TOOL = Origin.MODEL, Origin.TOOL


def read_call(data: bytes, number: int, reply: str, model: str | None) -> Message:
    """The message of a line with a call. Raises msgspec.ValidationError for another shape."""
    record = _call(data)
    item = record.payload
    block = ToolUse(item.call_id, item.name, parsed_arguments(item.arguments) or {}, item.arguments, None, _extra(item))
    return Message(
        id=item.id or f"item-{number}" if item.id is not UNSET else f"item-{number}",
        role="assistant",
        blocks=(block,),
        origin=_MODEL,
        timestamp=epoch(record.timestamp),
        reply_id=reply,
        model=model,
        line=number,
        wire=_CALL_WIRES[type(item)],
    )


def read_answer(data: bytes, number: int) -> Message:
    """The message of a line with a call's result. Raises msgspec.ValidationError for another shape.
    """
    record = _answer(data)
    item = record.payload
    return Message(
        id=item.id or f"item-{number}" if item.id is not UNSET else f"item-{number}",
        role="tool",
        blocks=(ToolResult(item.call_id, (Text(item.output),), extra=_extra(item)),),
        origin=_TOOL,
        timestamp=epoch(record.timestamp),
        line=number,
        wire=_ANSWER_WIRES[type(item)],
    )


def _extra(item: _Extras) -> JsonObject | None:
    metadata = item.internal_chat_message_metadata_passthrough
    if item.id is UNSET and item.status is UNSET and metadata is UNSET:
        return None
    fields = {"id": item.id, "status": item.status, "internal_chat_message_metadata_passthrough": metadata}
    return {key: value for key, value in fields.items() if value is not UNSET}
