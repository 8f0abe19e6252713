"""Decoding assistant messages and reasoning straight into typed records.

This is the fast path for lines of the usual shape, like `read_call` for calls: the general reader
gives an equal message (a test asserts that).
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from memorist.core.messages import JsonObject, Message, Origin, Text, Thinking, Wire
from memorist.formats.jsonl import epoch
from memorist.formats.openai_responses_items import read_item


class _Part(Struct, forbid_unknown_fields=True, tag_field="type", tag="output_text", gc=False):
    text: str


class _Said(Struct, forbid_unknown_fields=True, tag_field="type", tag="message"):
    role: Literal["assistant"]
    content: list[_Part]
    id: str | UnsetType = UNSET
    phase: str | UnsetType = UNSET
    internal_chat_message_metadata_passthrough: JsonObject | UnsetType = UNSET


class _Thought(Struct, forbid_unknown_fields=True, tag_field="type", tag="reasoning"):
    summary: list[Any]
    encrypted_content: str | UnsetType | None = UNSET
    id: str | UnsetType = UNSET
    content: Any = UNSET
    internal_chat_message_metadata_passthrough: JsonObject | UnsetType = UNSET


class _SaidLine(Struct):
    payload: _Said
    timestamp: datetime


class _ThoughtLine(Struct):
    payload: _Thought
    timestamp: datetime


_said = msgspec.json.Decoder(_SaidLine).decode
_thought = msgspec.json.Decoder(_ThoughtLine).decode
_SAID_WIRE = read_item({"type": "message", "role": "assistant", "content": []}, "").wire or Wire("openai_responses")
_THOUGHT_WIRE = read_item({"type": "reasoning", "summary": []}, "").wire
_MODEL = Origin.MODEL


def read_said(data: bytes, number: int, reply: str, model: str | None) -> Message:
    """The message of a line with an assistant message. Raises msgspec.ValidationError for another
    shape.
    """
    record = _said(data)
    item = record.payload
    metadata = item.internal_chat_message_metadata_passthrough
    if item.id is UNSET and metadata is UNSET:
        wire = _wire(item.phase)
    else:
        fields = {"id": item.id, "phase": item.phase, "internal_chat_message_metadata_passthrough": metadata}
        wire = Wire(_SAID_WIRE.format, "message", extra={key: value for key, value in fields.items() if value is not UNSET})
    return Message(
        id=item.id or f"item-{number}" if item.id is not UNSET else f"item-{number}",
        role="assistant",
        blocks=tuple([Text(part.text) for part in item.content]),
        origin=_MODEL,
        timestamp=epoch(record.timestamp),
        reply_id=reply,
        model=model,
        line=number,
        wire=wire,
    )


@lru_cache(maxsize=16)
def _wire(phase: str | UnsetType) -> Wire:
    """Shared `WireInfo` of messages with no other extra than their phase, which has few values."""
    return _SAID_WIRE if phase is UNSET else Wire(_SAID_WIRE.format, "message", extra={"phase": phase})


def read_thought(data: bytes, number: int, reply: str, model: str | None) -> Message:
    """The message of a line with reasoning. Raises msgspec.ValidationError for another shape."""
    record = _thought(data)
    item = record.payload
    texts = [part["text"] for part in item.summary if isinstance(part, dict) and isinstance(part.get("text"), str)]
    sealed = item.encrypted_content if isinstance(item.encrypted_content, str) else None
    return Message(
        id=item.id or f"item-{number}" if item.id is not UNSET else f"item-{number}",
        role="assistant",
        blocks=(Thinking("\n\n".join(texts), sealed, _beside(item)),),
        origin=_MODEL,
        timestamp=epoch(record.timestamp),
        reply_id=reply,
        model=model,
        line=number,
        wire=_THOUGHT_WIRE,
    )


def _beside(item: _Thought) -> JsonObject:
    """The keys of the item that no field of the block holds."""
    extra: JsonObject = {} if item.id is UNSET else {"id": item.id}
    extra["summary"] = item.summary
    if item.content is not UNSET:
        extra["content"] = item.content
    if item.encrypted_content is None:
        extra["encrypted_content"] = None
    if item.internal_chat_message_metadata_passthrough is not UNSET:
        extra["internal_chat_message_metadata_passthrough"] = item.internal_chat_message_metadata_passthrough
    return extra
