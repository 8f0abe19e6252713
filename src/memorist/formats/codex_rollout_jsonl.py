"""Reading Codex rollout files as the live conversation (codex.md section 3.7 and part 5, clients.md
section 1.3).

The lines are read twice: once for the kind of each line and the rolled-back turns, once for the
content. The order of the file is the order of the conversation. Events that repeat history items
are ignored; a file of events alone is read from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from memorist.core.messages import Block, Message, Origin, Role, Text, Thinking
from memorist.formats.codex_rollout_calls import read_answer, read_call
from memorist.formats.codex_rollout_index import (
    AGENT_EVENT,
    ANSWER,
    BARE_ITEM,
    CALL,
    COMPACTED,
    CONTEXT,
    COUNT,
    ITEM,
    PROBLEM,
    REASONING_EVENT,
    ROLLBACK,
    SAID,
    STARTED,
    THOUGHT,
    UNTYPED,
    USER_EVENT,
    WORLD,
    Index,
    build,
    turn_of,
)
from memorist.formats.codex_rollout_records import CompactedLine, CountLine, ItemLine, SpokenLine, TokenCounts, UndatedItemLine, WorldLine
from memorist.formats.codex_rollout_said import read_said, read_thought
from memorist.formats.harness import origin_of
from memorist.formats.jsonl import FAILURES, MALFORMED, REPLACED, epoch, mended, reason, seconds
from memorist.formats.openai_responses_items import read_item
from memorist.formats.recorded import Aside, Boundary, Entry, Line, Lines, Measured, Mend, RolledBack, Skip, WorldRecord

_item = msgspec.json.Decoder(ItemLine).decode
_undated = msgspec.json.Decoder(UndatedItemLine).decode
_count = msgspec.json.Decoder(CountLine).decode
_compacted = msgspec.json.Decoder(CompactedLine).decode
_world = msgspec.json.Decoder(WorldLine).decode
_spoken = msgspec.json.Decoder(SpokenLine).decode

_TYPED = {CALL: read_call, SAID: read_said, THOUGHT: read_thought}
"""Readers of the model's own items of the usual shape."""
_MODEL = Origin.MODEL
_ASSISTANT, _ROLE_WITHIN = b'"role":"assistant"', 250
"""The bytes that identify an assistant message, and within how many bytes of its line they stand.
"""
_EVENT_CODES = (USER_EVENT, AGENT_EVENT, REASONING_EVENT)
_HISTORY_CODES = (CALL, ANSWER, SAID, THOUGHT, ITEM)
_LIVE_CODES = (*_HISTORY_CODES, BARE_ITEM, *_EVENT_CODES, COUNT, COMPACTED, WORLD)
"""Lines that are rolled back together with their turn."""


def read(lines: Lines) -> Iterator[Entry]:
    """Read a rollout: the `SessionHead`, then the conversation, and everything else as side
    records, skipped and repaired lines at their position.
    """
    index = build(lines)
    yield index.head()
    yield from _Reading(index).entries(index.kept if index.whole else lines)


class _Reading:
    """The second pass over the file, with its state."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.names = list(index.kinds)
        self.last = len(index.codes) - 1
        self.model = ""
        self.turn = ""
        self.reply: str | None = None
        """Id of the current reply; a user message or tool result ends it."""
        self.context: int | None = None
        self.total: tuple[TokenCounts | None, TokenCounts] | None = None

    def entries(self, lines: Iterable[Line]) -> Iterator[Entry]:
        """Every entry but the head."""
        end, all_codes = self.last + 1, self.index.codes
        stretches = iter([*self.index.turns.stretches, (end, end)])
        first, after = next(stretches)
        repeated = () if self.index.by_events else _EVENT_CODES
        for line in lines:
            number, data, _ = line
            if number >= end:
                break  # the file has grown since the first pass
            if number >= after:
                first, after = next(stretches)
            code = all_codes[number]
            if code in _HISTORY_CODES and number < first:
                try:
                    yield self._item(code, number, data)
                except FAILURES:
                    yield from self._after_mending(ITEM, number, data)
            elif code > UNTYPED or (code in repeated and number < first):
                yield Aside(self.names[code], number, data.rstrip())
            else:
                yield from self._other(line, gone=number >= first)

    def _item(self, code: int, number: int, data: bytes) -> Message:
        """The message of a line with a history item. Raises one of `FAILURES`."""
        if code == ANSWER:
            answer = read_answer(data, number)
            self.reply = None
            return answer
        if code in _TYPED and (code != SAID or _ASSISTANT in data[:_ROLE_WITHIN]):
            reply = self.reply or f"{self.turn or 'reply'}-{number}"
            message = _TYPED[code](data, number, reply, self.model or None)
            self.reply = reply
            return message
        record = _item(data)
        return self._message(read_item(record.payload, f"item-{number}"), epoch(record.timestamp), number)

    def _other(self, line: Line, *, gone: bool) -> tuple[Entry, ...]:
        """The entry of any other line; none for a blank one. `rolled_back` says that it belongs to
        a rolled-back turn.
        """
        number, data, problem = line
        code = self.index.codes[number]
        if code == PROBLEM:
            return (Skip(number, problem or reason(data, last=number == self.last)),)
        if code < PROBLEM:
            return ()
        if gone and code in _LIVE_CODES:
            return (Aside("rolled_back", number, data.rstrip()),)
        try:
            return (self._entry(code, number, data),)
        except FAILURES:
            return self._after_mending(code, number, data)

    def _after_mending(self, code: int, number: int, data: bytes) -> tuple[Entry, ...]:
        """The entry of a line that could not be read as it is."""
        if code == ITEM:
            try:
                return (self._unusual_item(number, data),)
            except FAILURES:
                pass
        repaired = mended(data)
        try:
            if repaired is None:
                return (Skip(number, reason(data, last=number == self.last)),)
            return Mend(number, REPLACED), self._entry(code, number, repaired)
        except FAILURES:
            return (Skip(number, MALFORMED),)

    def _unusual_item(self, number: int, data: bytes) -> Message:
        """The message of a call or result of an unusual shape, or of an item with an invalid time.
        Raises one of `FAILURES`.
        """
        try:
            return self._item(ITEM, number, data)
        except FAILURES:
            return self._message(read_item(_undated(data).payload, f"item-{number}"), None, number)

    def _entry(self, code: int, number: int, data: bytes) -> Entry:
        """The entry of a line by its code. Raises one of `FAILURES`."""
        if code == ITEM:
            return self._item(code, number, data)
        found: Entry | None = None
        if code == COUNT:
            found = self._measured(number, data)
        elif code == BARE_ITEM:
            found = self._message(read_item(msgspec.json.decode(data), f"item-{number}"), None, number)
        elif code in _EVENT_CODES:
            found = self._event(code, number, data)
        elif code == WORLD:
            found = _world_record(number, data)
        elif code == COMPACTED:
            found = self._boundary(number, data)
        elif code == ROLLBACK:
            found = RolledBack(*self.index.rollbacks[number], number)
        elif code in (CONTEXT, STARTED):
            turn = turn_of(data)
            self.model, self.turn = turn.model or self.model, turn.turn_id or self.turn
        return found or Aside(self.names[code], number, data.rstrip())

    def _message(self, message: Message, timestamp: float | None, number: int) -> Message:
        """The message with the values that its line and turn add."""
        if message.origin is not _MODEL:
            if message.role in ("user", "tool"):
                self.reply = None
            return replace(message, timestamp=timestamp, line=number)
        if self.reply is None:
            self.reply = f"{self.turn or 'reply'}-{number}"
        return replace(message, timestamp=timestamp, line=number, reply_id=self.reply, model=self.model or None)

    def _event(self, code: int, number: int, data: bytes) -> Message:
        """The message of an event, in a file without history items."""
        record = _spoken(data)
        text = record.payload.message or record.payload.text or ""
        role: Role = "user" if code == USER_EVENT else "assistant"
        block: Block = Thinking(text) if code == REASONING_EVENT else Text(text)
        origin = origin_of(text) if role == "user" else Origin.MODEL
        return self._message(Message(id=f"event-{number}", role=role, blocks=(block,), origin=origin), seconds(record.timestamp), number)

    def _measured(self, number: int, data: bytes) -> Measured | None:
        """The usage of a call; None when the line repeats the previous count, or reports rate
        limits alone.

        After a compaction the total is unchanged and the last usage holds the new size of the
        context, so both are compared.
        """
        info = _count(data).payload.info
        if (
            info is None
            or info.last_token_usage is None
            or (self.total is not None and (info.total_token_usage, info.last_token_usage) == self.total)
        ):
            return None
        last = info.last_token_usage
        self.total = info.total_token_usage, last
        self.context = last.total_tokens or last.input_tokens + last.output_tokens
        return Measured(
            context=self.context,
            line=number,
            input=max(0, last.input_tokens - last.cached_input_tokens),
            cache_read=last.cached_input_tokens,
            output=last.output_tokens,
            window=info.model_context_window,
        )

    def _boundary(self, number: int, data: bytes) -> Boundary:
        """A compaction. An old record has no replacement history: its summary alone then replaces
        what was before.
        """
        record = _compacted(data)
        about = record.payload
        if about.replacement_history is not None:
            replacement = tuple(
                replace(read_item(item, f"item-{number}-{place}"), line=number) for place, item in enumerate(about.replacement_history)
            )
        else:
            summary = Text(about.message or "")
            replacement = (Message(id=f"item-{number}-0", role="user", blocks=(summary,), origin=Origin.SUMMARY, line=number),)
        before, self.context, self.reply = self.context, None, None
        return Boundary(
            id=about.window_id or f"compaction-{number}",
            line=number,
            tokens_before=before,
            timestamp=seconds(record.timestamp),
            replacement=replacement,
        )


def _world_record(number: int, data: bytes) -> WorldRecord:
    """The environment the model was told about. A record of another shape holds nothing, and the
    state is unknown from there on.
    """
    try:
        payload = _world(data).payload
    except msgspec.ValidationError:
        msgspec.json.decode(data)
        return WorldRecord(full=False, state=None, line=number)
    return WorldRecord(full=payload.full, state=payload.state, line=number)
