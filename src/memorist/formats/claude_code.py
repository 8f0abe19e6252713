"""Reading Claude Code session files (`<session>.jsonl`) as the live conversation (Claude Code).

The lines are read twice: once for the tree, decoding only its fields, and once for the content of
the live records. Where the conversation does not follow the order of the file, lines that come too
early are buffered, within a limit, and further passes read the rest. Prompts that stand in the
client's queue alone are put where they were sent.
"""

from __future__ import annotations

import heapq
import re
from array import array
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from msgspec import Struct

from memorist.core.json_decoding import build_json_decoder
from memorist.core.messages import Message, Origin, TextBlock, WireInfo
from memorist.formats.claude_code_records import read_compaction_boundary, read_record_message
from memorist.formats.claude_code_tree import (
    ASSISTANT,
    BLANK,
    BOUNDARY,
    PROBLEM,
    SIDE,
    LiveConversation,
    SessionTreeIndex,
    build_tree_index,
    find_live_conversation,
)
from memorist.formats.request_codec import detect_origin_of_user_message
from memorist.formats.transcript_format import (
    FAILURES,
    MALFORMED,
    REPLACED_CHARACTERS,
    RawTranscriptLine,
    RecordedLines,
    RepairedLine,
    SideRecord,
    SkippedLine,
    TranscriptEntry,
    explain_bad_line,
    parse_iso_timestamp,
)

# Prompts that Claude Code records in its queue alone.

QUEUE_KIND = "queue-operation"
_VERSION = re.compile(r"([0-9]{1,6})\.([0-9]{1,6})\.([0-9]{1,6})")
_FIRST_WITH_RECORDS = (2, 1, 97)
"""The version from which on recorded sessions hold such prompts as attachments."""
MAX_WAITING_PROMPTS = 100
"""Prompts that wait at once; of more the oldest are left out."""
_MESSAGES_OF_PROGRAMS = ("{", "<", "[", "/")
"""How a notice of a background task, another agent's message or a slash command begins."""
_ID_LENGTH = 16


class _QueueOperation(Struct, gc=False, rename="camel"):
    operation: str | None = None
    content: Any = None
    timestamp: str | None = None


class _QueuedPrompt(Struct):
    message: Message
    is_sent: bool = False
    """Sent within a turn."""


_operation = build_json_decoder(_QueueOperation)


def records_messages_in_queue_alone(version: str) -> bool:
    """Whether a version of Claude Code records in the queue alone what is sent within a turn."""
    found = _VERSION.fullmatch(version)
    return found is not None and tuple(map(int, found.groups())) < _FIRST_WITH_RECORDS


class QueuedPrompts:
    """The queue of one session, followed record by record."""

    def __init__(self) -> None:
        self._waiting: list[_QueuedPrompt] = []

    def on_operation(self, data: bytes, line: int, *, is_typed: bool) -> None:
        """Follow a record of the queue; `is_typed` as of the prompts around it."""
        try:
            done = _operation(data)
        except FAILURES:
            return
        first = next((each for each in self._waiting if not each.is_sent), None)
        if done.operation == "enqueue":
            self._enqueue(done, line, is_typed=is_typed)
        elif done.operation == "popAll":  # back into the field in which the user types
            self._waiting = [each for each in self._waiting if each.is_sent]
        elif done.operation == "dequeue" and first is not None:  # its record follows
            self._waiting.remove(first)
        elif done.operation == "remove" and first is not None:
            first.is_sent = True

    def _enqueue(self, done: _QueueOperation, line: int, *, is_typed: bool) -> None:
        text = done.content.strip() if isinstance(done.content, str) else ""
        origin, blocks = detect_origin_of_user_message((TextBlock(text),))
        is_users = origin is Origin.USER and not text.startswith(_MESSAGES_OF_PROGRAMS)
        key = f"{done.timestamp}\n{text}"  # the same in a copy that a resumed session begins with
        message = Message(
            id=f"queued-{sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:_ID_LENGTH]}",
            role="user",
            blocks=blocks,
            origin=origin if text and is_users else Origin.NOTIFICATION,
            timestamp=parse_iso_timestamp(done.timestamp),
            line=line,
            wire=WireInfo("claude_code", plain=True),
            is_typed=is_typed,
        )
        self._waiting.append(_QueuedPrompt(message))
        del self._waiting[:-MAX_WAITING_PROMPTS]

    def take_sent(self) -> Iterator[Message]:
        """What was sent within the turn since the last call."""
        sent = [each for each in self._waiting if each.is_sent]
        self._waiting = [each for each in self._waiting if not each.is_sent]
        yield from (each.message for each in sent if each.message.origin is Origin.USER)


MAX_OUT_OF_ORDER_BYTES = 32 * 1024 * 1024
"""Limit in bytes of the lines buffered while earlier messages of the conversation are still to
come.
"""


def read_session(lines: RecordedLines) -> Iterator[TranscriptEntry]:
    """Read a session: the `SessionHead`, then the live conversation in its order, and everything
    else as side records, skipped and repaired lines in the order of the file.
    """
    index = build_tree_index(lines)
    yield index.build_session_head()
    yield from _ClaudeCodeReader(index, find_live_conversation(index)).entries(lines)


class _ClaudeCodeReader:
    """The second pass over the file, with its state."""

    def __init__(self, index: SessionTreeIndex, chain: LiveConversation) -> None:
        self.index = index
        self.chain = chain
        self.next_position = 0
        """The next position of the chain to yield."""
        self.buffered: dict[int, bytes] = {}
        self.buffered_positions: list[int] = []
        """Buffered positions, negated for a max-heap: the last one first."""
        self.buffered_bytes = 0
        self.positions = array("i", [-1]) * len(index.codes)
        """For each line, its position in the chain; -1 for none."""
        for position, number in enumerate(chain.order):
            self.positions[index.line_numbers[number]] = position
        self.names = list(index.kinds)
        is_read = records_messages_in_queue_alone(index.build_session_head().version)
        self.queue_code = index.kinds.get(QUEUE_KIND) if is_read else None
        self.queue = QueuedPrompts()
        self.is_typed = False
        """Whether a person typed the newest prompt."""
        self.reply_hash = 0
        """Of the newest reply."""
        self.ends_reply = self._last_of_replies()
        self.is_sidechain = bytearray(len(index.codes))
        for number, flags in enumerate(index.flags):
            self.is_sidechain[index.line_numbers[number]] = flags & SIDE

    def _last_of_replies(self) -> bytearray:
        """For each position, whether it is the last record of its reply."""
        last = bytearray(len(self.chain.order))
        seen: set[int] = set()
        for position in reversed(range(len(last))):
            number = self.chain.order[position]
            reply = self.index.reply_hashes[number]
            if self.index.flags[number] & ASSISTANT and (not reply or reply not in seen):
                last[position] = 1
                seen.add(reply)
        return last

    def entries(self, lines: RecordedLines) -> Iterator[TranscriptEntry]:
        """Every entry but the head."""
        size, positions = len(self.positions), self.positions
        for line in lines:
            number = line.number
            if number >= size:
                break  # the file has grown since the first pass
            position = positions[number]
            if position == self.next_position:
                yield from self._take_sent_prompts(position)
                yield from self._live_entries(line.data, position)
                if self.buffered:
                    yield from self._release()
            elif position < 0:
                yield from self._other_entry(line)
            else:
                self._buffer(position, line.data)
        while self.next_position < len(self.chain.order):
            before = self.next_position
            yield from self._read_again(lines)
            if self.next_position == before:
                self.next_position += 1  # the line is gone: the file changed since the first pass

    def _take_sent_prompts(self, position: int) -> Iterator[Message]:
        """What was sent before the reply that begins at this position and stands in the queue
        alone: behind the results of the calls before, so that these stay together.
        """
        number = self.chain.order[position]
        reply = self.index.reply_hashes[number]
        if self.index.flags[number] & ASSISTANT and reply != self.reply_hash:
            self.reply_hash = reply
            yield from self.queue.take_sent()

    def _read_again(self, lines: RecordedLines) -> Iterator[TranscriptEntry]:
        """One more pass, for positions that did not fit the buffer."""
        for line in lines:
            position = self.positions[line.number] if line.number < len(self.positions) else -1
            if position == self.next_position:
                yield from self._live_entries(line.data, position)
                yield from self._release()
            elif position > self.next_position and position not in self.buffered:
                self._buffer(position, line.data)

    def _buffer(self, position: int, data: bytes) -> None:
        """Buffer a line; beyond the limit the lines that are due last are dropped and read again
        later.
        """
        self.buffered[position] = data
        self.buffered_bytes += len(data)
        heapq.heappush(self.buffered_positions, -position)
        while self.buffered_bytes > MAX_OUT_OF_ORDER_BYTES and self.buffered_positions:
            self.buffered_bytes -= len(
                self.buffered.pop(-heapq.heappop(self.buffered_positions), b"")
            )

    def _release(self) -> Iterator[TranscriptEntry]:
        """The entries of buffered lines whose position has come."""
        while (data := self.buffered.pop(self.next_position, None)) is not None:
            self.buffered_bytes -= len(data)
            yield from self._live_entries(data, self.next_position)
        if not self.buffered:
            self.buffered_positions.clear()

    def _live_entries(self, data: bytes, position: int) -> tuple[TranscriptEntry, ...]:
        """The entries of the line at the current position."""
        self.next_position = position + 1
        number = self.chain.order[position]
        line = self.index.line_numbers[number]
        try:
            if self.index.flags[number] & BOUNDARY:
                return (
                    read_compaction_boundary(data, line, self.chain.kept_messages.get(number, 0)),
                )
            message, was_mended = read_record_message(
                data, line, last_of_reply=bool(self.ends_reply[position])
            )
        except FAILURES:
            return (SkippedLine(line, MALFORMED),)
        entry: TranscriptEntry
        if message is None or (
            number in self.chain.recovered and message.role == "user" and not message.tool_results
        ):
            entry = SideRecord(self.names[self.index.codes[line]], line, data.rstrip())
        else:
            entry = message
            if message.origin is Origin.USER and not message.tool_results:
                self.is_typed = message.is_typed
        return (RepairedLine(line, REPLACED_CHARACTERS), entry) if was_mended else (entry,)

    def _other_entry(self, line: RawTranscriptLine) -> tuple[TranscriptEntry, ...]:
        """The entry of a line that is not live; none for a blank one."""
        code = self.index.codes[line.number]
        if code == BLANK:
            return ()
        if code == PROBLEM:
            return (
                SkippedLine(
                    line.number,
                    line.problem
                    or explain_bad_line(line.data, last=line.number == len(self.positions) - 1),
                ),
            )
        if code == self.queue_code:
            self.queue.on_operation(line.data, line.number, is_typed=self.is_typed)
        kind = self.names[code]
        if kind in ("user", "assistant", "attachment"):
            kind = "sidechain" if self.is_sidechain[line.number] else "branch"
        return (SideRecord(kind, line.number, line.data.rstrip()),)
