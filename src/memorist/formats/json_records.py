"""Reading what other agents record as JSON: lines and whole documents, torn or hostile, in values
that any field may have.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.core.messages import Block, JsonObject, Message, Origin, TextBlock, ToolResult, Usage
from memorist.formats.transcript_format import (
    FAILURES,
    REPLACED_CHARACTERS,
    CompactionBoundary,
    RecordedLines,
    RepairedLine,
    SideRecord,
    SkippedLine,
    explain_bad_line,
    parse_iso_timestamp,
    repair_transcript_line,
)

_LATEST_SECONDS = 253_402_300_799
"""The end of the year 9999, the last that a date can hold."""
_decode = msgspec.json.Decoder().decode
_find_end = json.JSONDecoder(strict=False).raw_decode


class RecordFields(dict[str, Any]):
    """The fields of a record, each of which may hold anything."""

    def text(self, key: str) -> str:
        """The text of a field; empty for anything else."""
        value = self.get(key)
        return value if isinstance(value, str) else ""

    def fields(self, key: str) -> RecordFields:
        """The object of a field; an empty one for anything else."""
        value = self.get(key)
        return RecordFields(value if isinstance(value, dict) else ())

    def field_list(self, key: str) -> list[RecordFields]:
        """The objects in the list of a field."""
        value = self.get(key)
        listed = value if isinstance(value, list) else ()
        return [RecordFields(each) for each in listed if isinstance(each, dict)]

    def count(self, key: str) -> int:
        """The whole number of a field, 0 or more; 0 for anything else."""
        value = self.get(key)
        if isinstance(value, float) and math.isfinite(value):
            value = int(value)
        return value if isinstance(value, int) and 0 <= value < 2**53 else 0

    def epoch_seconds(self, key: str) -> float | None:
        """The time of a field, ISO text or milliseconds, in seconds since the epoch."""
        value = self.get(key)
        if isinstance(value, str):
            return parse_iso_timestamp(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value / 1000 if 0 < value / 1000 < _LATEST_SECONDS else None
        return None


class JsonRecord(NamedTuple):
    """One object of a file and the line it begins on."""

    line: int
    data: RecordFields


def read_records(lines: RecordedLines) -> Iterator[JsonRecord | SkippedLine | RepairedLine]:
    """The objects of a file of JSON lines, with what could not be used and what was repaired."""
    for line in lines:
        if line.problem:
            yield SkippedLine(line.number, line.problem)
        elif line.data.strip():
            record, repaired = _decode_object(line.data)
            if record is None:
                whole = line.data.endswith(b"\n")
                yield SkippedLine(line.number, explain_bad_line(line.data, last=not whole))
                continue
            if repaired:
                yield RepairedLine(line.number, REPLACED_CHARACTERS)
            yield JsonRecord(line.number, RecordFields(record))


def _decode_object(data: bytes) -> tuple[JsonObject | None, bool]:
    """The object of a text, and whether it had to be repaired; None for no object."""
    try:
        found = _decode(data)
    except FAILURES:
        repaired = repair_transcript_line(data)
        return (None if repaired is None else _decode(repaired)), True
    return (found if isinstance(found, dict) else None), False


class ChatDocument(Struct, frozen=True):
    """A document `{…, "messages": […]}` as far as it can be read."""

    fields: RecordFields
    """Every field but the messages."""
    messages: tuple[JsonRecord, ...]
    remarks: tuple[SkippedLine | RepairedLine, ...] = ()


def read_chat_document(lines: RecordedLines) -> ChatDocument | None:
    """Read a document that may be torn: what is before the tear is kept. None for a text that
    is no object. It is held in memory.
    """
    parts: list[bytes] = []
    remarks: list[SkippedLine | RepairedLine] = []
    for line in lines:
        parts.append(line.data or b"\n")
        if line.problem:
            remarks.append(SkippedLine(line.number, line.problem))
    text = b"".join(parts).decode("utf-8", "replace").lstrip("\ufeff")
    start = _skip_space(text, 0)
    if text[start : start + 1] != "{":
        return None
    cursor = _DocumentCursor(text, start + 1)
    fields, messages = cursor.read()
    return ChatDocument(fields, tuple(messages), (*remarks, *cursor.remarks))


class _DocumentCursor:
    """Goes through the text of a document, value by value."""

    def __init__(self, text: str, position: int) -> None:
        self.text = text
        self.position = position
        self.remarks: list[SkippedLine | RepairedLine] = []
        self._line = 1 + text.count("\n", 0, position)
        self._counted = position

    def read(self) -> tuple[RecordFields, list[JsonRecord]]:
        """Fields and messages up to the end or the tear."""
        fields = RecordFields()
        messages: list[JsonRecord] = []
        try:
            while self._next_sign() not in ("}", ""):
                key, self.position = _find_end(self.text, self.position)
                self._next_sign()
                if key == "messages" and self.text[self.position : self.position + 1] == "[":
                    self.position += 1
                    self._read_messages(messages)
                elif isinstance(key, str):
                    fields[key] = self._read_value()
                else:
                    break
        except (ValueError, RecursionError):
            self.remarks.append(SkippedLine(self._line_here(), "it is cut off, or no JSON"))
        else:
            if self.text[self.position : self.position + 1] != "}":
                self.remarks.append(SkippedLine(self._line_here(), "it is cut off"))
        return fields, messages

    def _read_messages(self, messages: list[JsonRecord]) -> None:
        while self._next_sign() not in ("]", ""):
            line = self._line_here()
            value = self._read_value()
            if isinstance(value, dict):
                messages.append(JsonRecord(line, RecordFields(value)))
        self.position += 1

    def _read_value(self) -> object:
        start = self.position
        _, self.position = _find_end(self.text, start)
        raw = self.text[start : self.position].encode("utf-8", "replace")
        try:
            return _decode(raw)
        except FAILURES:
            self.remarks.append(RepairedLine(self._line_here(), REPLACED_CHARACTERS))
            repaired = repair_transcript_line(b'{"value":' + raw + b"}")
            return None if repaired is None else _decode(repaired)["value"]

    def _next_sign(self) -> str:
        """Skip space, commas and colons; the sign there, empty at the end."""
        while (position := _skip_space(self.text, self.position)) < len(self.text):
            self.position = position
            if self.text[position] not in ",:":
                return self.text[position]
            self.position += 1
        self.position = len(self.text)
        return ""

    def _line_here(self) -> int:
        self._line += self.text.count("\n", self._counted, self.position)
        self._counted = self.position
        return self._line


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n\0":
        position += 1
    return position


class RecordMessageBuilder(NamedTuple):
    """Builds the messages of one record: what they share is its id, its line and its time."""

    id: str
    line: int
    timestamp: float | None

    def build_user_message(
        self, blocks: Sequence[Block], origin: Origin = Origin.USER
    ) -> tuple[Message, ...]:
        """The message of the user's turn; none without blocks."""
        return (self._build("user", blocks, origin),) if blocks else ()

    def build_summary(self, text: str) -> Message:
        """The summary of what was compacted."""
        summary = self._build("user", (TextBlock(text),), Origin.SUMMARY)
        return replace(summary, id=f"{self.id}-summary")

    def build_compaction_boundary(self, tokens_before: int = 0) -> CompactionBoundary:
        """The place of a compaction; 0 tokens where their number is not known."""
        return CompactionBoundary(
            id=self.id,
            line=self.line,
            tokens_before=tokens_before or None,
            timestamp=self.timestamp,
        )

    def build_reply(
        self,
        blocks: Sequence[Block],
        *,
        model: str = "",
        stop_reason: str = "",
        usage: Usage | None = None,
    ) -> tuple[Message, ...]:
        """The model's message; none where it says nothing."""
        if all(isinstance(block, TextBlock) and not block.text.strip() for block in blocks):
            return ()
        reply = self._build("assistant", blocks, Origin.MODEL)
        return (replace(reply, model=model or None, stop_reason=stop_reason or None, usage=usage),)

    def build_tool_results_message(self, results: Sequence[ToolResult]) -> tuple[Message, ...]:
        """The message that carries tool results; none without results."""
        return (self._build("user", results, Origin.TOOL),) if results else ()

    def build_round(
        self, reply: tuple[Message, ...], results: Sequence[ToolResult]
    ) -> tuple[Message, ...]:
        """A reply, and the results that were recorded with it; none without a reply."""
        after = self._replace(id=f"{self.id}-results")
        return (*reply, *after.build_tool_results_message(results)) if reply else ()

    def _build(
        self, role: Literal["user", "assistant"], blocks: Sequence[Block], origin: Origin
    ) -> Message:
        return Message(
            id=self.id,
            role=role,
            blocks=tuple(blocks),
            origin=origin,
            timestamp=self.timestamp,
            line=self.line,
            is_typed=origin is Origin.USER,
        )


def make_tool_result(call: str, text: str, *, is_error: bool = False) -> ToolResult:
    """A tool result of one text."""
    return ToolResult(call, (TextBlock(text),), is_error)


def make_side_record(kind: str, line: int, data: JsonObject) -> SideRecord:
    """A record outside the conversation."""
    try:
        raw = msgspec.json.encode(data)
    except (UnicodeEncodeError, OverflowError):  # an integer of more than 64 bits
        raw = json.dumps(data).encode()
    return SideRecord(kind, line, raw)
