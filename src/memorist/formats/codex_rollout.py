"""Reading Codex rollout files as the live conversation.

The lines are read twice: once for the kind of each line and the rolled-back turns, once for the
content. The order of the file is the order of the conversation. Events that repeat history items
are ignored; a file of events alone is read from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.core.json_decoding import build_json_decoder
from memorist.core.messages import Block, Message, Origin, Role, TextBlock, ThinkingBlock
from memorist.formats.codex_rollout_records import (
    CompactionLine,
    HistoryItemLine,
    LenientHistoryItemLine,
    SessionMetaLine,
    SessionMetaPayload,
    TextEventLine,
    TokenCountLine,
    TokenCounts,
    TurnContextLine,
    TurnContextPayload,
    TurnRollbackTracker,
    WorldStateLine,
    read_call_message,
    read_call_output_message,
)
from memorist.formats.host_markup import detect_origin, is_wrapped_in_program_tag
from memorist.formats.openai_responses import (
    CALL_ITEMS,
    MESSAGE_KINDS,
    OUTPUT_ITEMS,
    decode_input_item,
    read_codex_recorded_origins,
)
from memorist.formats.transcript_format import (
    FAILURES,
    MALFORMED,
    REPLACED_CHARACTERS,
    CompactionBoundary,
    RawTranscriptLine,
    RecordedLines,
    RepairedLine,
    SessionHead,
    SideRecord,
    SkippedLine,
    TranscriptEntry,
    TurnRollback,
    UsageReport,
    WorldStateRecord,
    convert_datetime_to_epoch_seconds,
    explain_bad_line,
    parse_iso_timestamp,
    repair_transcript_line,
)

# First pass over a Codex rollout file: the kind of each line, the session's metadata, and which
# turns were rolled back.

BLANK, PROBLEM, ITEM, BARE_ITEM, USER_EVENT, AGENT_EVENT, REASONING_EVENT = range(7)
(
    TOKEN_COUNT, ROLLBACK, COMPACTED, TURN_CONTEXT, SESSION_META, TURN_STARTED, CALL, CALL_OUTPUT,
    WORLD_STATE, UNTYPED,
) = range(7, 17)  # fmt: skip
"""Codes of lines. A BARE_ITEM is a history item that is a line of its own, as the oldest clients
wrote them.
"""

_FIRST_KINDS = (
    "", " ", "response_item", "item", "user_message", "agent_message", "agent_reasoning",
)  # fmt: skip
_MORE_KINDS = (
    "token_count", "thread_rolled_back", "compacted", "turn_context", "session_meta",
    "task_started", "call", "answer", "world_state", "untyped",
)  # fmt: skip
_EVENTS = {
    kind: code
    for code, kind in enumerate((*_FIRST_KINDS, *_MORE_KINDS))
    if code in (4, 5, 6, TOKEN_COUNT, ROLLBACK, TURN_STARTED)
}
_EVENTS["turn_started"] = TURN_STARTED
_RECORDS = {
    "response_item": ITEM,
    "compacted": COMPACTED,
    "turn_context": TURN_CONTEXT,
    "session_meta": SESSION_META,
    "world_state": WORLD_STATE,
}
_ITEMS = {
    "function_call": CALL,
    "custom_tool_call": CALL,
    "function_call_output": CALL_OUTPUT,
    "custom_tool_call_output": CALL_OUTPUT,
}
_ITEM_CODES = frozenset({ITEM, BARE_ITEM, CALL, CALL_OUTPUT})
_ITEM_KINDS = MESSAGE_KINDS | CALL_ITEMS.keys() | OUTPUT_ITEMS.keys() | {"reasoning"}
_UNRECORDED = frozenset({"ghost_snapshot", "additional_tools", "compaction_trigger", "other"})
"""Items that a client leaves out of its history (Codex)."""
_METADATA_CODES = (TURN_CONTEXT, TURN_STARTED, SESSION_META, UNTYPED)
_MAX_KINDS = 250
FIRST_PASS_CACHE_BYTES = 16 * 1024 * 1024
"""Bytes of lines that are kept from the first pass, so that files up to about this size are read
from disk once.
"""
_match_start = re.compile(
    rb'\{"timestamp":"[^"]{1,40}",("type":"(?:[^"]{1,40}","payload":\{"type":"[^"]{1,60}|'
    rb'turn_context","payload":\{))"'
).match
"""Matches the bytes that determine a line's kind: its type and its payload's type. A
`turn_context`, which is long, is determined by its type alone.
"""
_BRACE = ord("}")
"""Second-last byte of a line that is not cut off."""


class _RolloutPayload(Struct, gc=False):
    type: str | None = None
    role: str | None = None
    num_turns: int | None = None


class _RolloutProbe(Struct, gc=False):
    type: str | None = None
    payload: _RolloutPayload | None = None
    role: str | None = None


class _RolloutKind(Struct, gc=False):
    type: str | None = None


_decode_probe = build_json_decoder(_RolloutProbe)
_decode_kind = build_json_decoder(_RolloutKind)
_decode_undated = build_json_decoder(LenientHistoryItemLine)
_decode_meta = build_json_decoder(SessionMetaLine)
_decode_bare_meta = build_json_decoder(SessionMetaPayload)
_decode_turn = build_json_decoder(TurnContextLine)


class CodexRolloutIndex:
    """The result of the first pass."""

    def __init__(self) -> None:
        self.codes = bytearray(1)
        """A code for each line, from line 1."""
        self.kinds: dict[str, int] = {
            kind: code for code, kind in enumerate((*_FIRST_KINDS, *_MORE_KINDS))
        }
        self.cached_lines: list[RawTranscriptLine] = []
        """The first lines of the file."""
        self.is_fully_cached = False
        """Whether those are all lines."""
        self.turns = TurnRollbackTracker()
        self.rollbacks: dict[int, tuple[int, int]] = {}
        """For the line of a rollback marker, the numbers of turns and messages that it removed."""
        self.meta: SessionMetaLine | None = None
        self.turn = TurnContextPayload()
        self.has_events_only = False
        """Whether the file has no history items, so that its events are the conversation."""

    def build_session_head(self) -> SessionHead:
        """The session as a whole; the first `session_meta` counts, later ones may come from a
        fork.
        """
        line = self.meta or SessionMetaLine(SessionMetaPayload())
        meta = line.payload
        given = meta.base_instructions or meta.instructions
        text = given.get("text") if isinstance(given, dict) else given
        return SessionHead(
            session=meta.id or meta.session_id or "",
            format="codex",
            cwd=meta.cwd or self.turn.cwd or "",
            model=self.turn.model or "",
            version=meta.cli_version or "",
            branch=(meta.git.branch if meta.git else None) or "",
            remote=(meta.git.repository_url if meta.git else None) or "",
            started=parse_iso_timestamp(meta.timestamp or line.timestamp),
            window=self.turn.model_context_window,
            instructions=text if isinstance(text, str) else "",
            forked_from=meta.forked_from_id or "",
        )


def build_rollout_index(lines: Iterable[RawTranscriptLine]) -> CodexRolloutIndex:
    """Classify every line; when turns were rolled back, read the lines once more to find out which.

    The bytes from the type to the payload's type determine most lines without decoding their JSON.
    """
    index = CodexRolloutIndex()
    known: dict[bytes, int] = {}
    add_code, keep = index.codes.append, index.cached_lines.append
    room = FIRST_PASS_CACHE_BYTES
    for line in lines:
        _, data, problem = line
        if room >= 0:
            room -= len(data)
            keep(line)
        if problem or not data or data.isspace():
            add_code(PROBLEM if problem else BLANK)
            continue
        found = _match_start(data)
        start = found[1] if found is not None and data[-2] == _BRACE else b""
        code = known.get(start, BLANK)
        if not code:
            code = _probe_line(index, data)
            if start and code != PROBLEM:
                known[start] = code
        add_code(code)
        if code in _METADATA_CODES:
            _note_session(index, code, data)
    index.is_fully_cached = room >= 0
    index.has_events_only = _ITEM_CODES.isdisjoint(index.codes)
    if ROLLBACK in index.codes:
        _track_turns(index, lines)
    return index


def _probe_line(index: CodexRolloutIndex, data: bytes) -> int:
    """The code of a line by decoding it; after repair if it needs one, by its kind alone when its
    fields have other types.
    """
    sound: bytes | None = data
    for _ in range(2):
        try:
            return _record_code(index, _decode_probe(sound or b""))
        except FAILURES:
            pass
        try:
            kind = _decode_kind(sound or b"").type
        except FAILURES:
            sound = repair_transcript_line(data)
            continue
        return PROBLEM if kind in _RECORDS else _record_code(index, _RolloutProbe(type=kind))
    return PROBLEM


def _record_code(index: CodexRolloutIndex, probe: _RolloutProbe) -> int:
    """The code of a record; a new one for a kind seen for the first time."""
    kind, code = _known_code(probe)
    if code == UNTYPED and index.meta is not None:
        code = BLANK
    if code:
        return code
    code = index.kinds.get(kind, BLANK)
    if code > UNTYPED:
        return code
    if len(index.kinds) >= _MAX_KINDS or code or not kind.strip():
        kind = "unknown"
    return index.kinds.setdefault(kind, len(index.kinds))


def _known_code(probe: _RolloutProbe) -> tuple[str, int]:
    """The kind of a record and its code; BLANK for a kind that the second pass ignores."""
    kind = probe.type or "unknown"
    if probe.payload is None:
        bare = BARE_ITEM if kind in _ITEM_KINDS else BLANK
        return kind, bare if probe.type else UNTYPED
    inner = probe.payload.type or kind
    if kind == "event_msg":
        return inner, _EVENTS.get(inner, BLANK)
    if kind == "response_item":
        return inner, BLANK if inner in _UNRECORDED else _ITEMS.get(inner, ITEM)
    return kind, _RECORDS.get(kind, BLANK)


def _note_session(index: CodexRolloutIndex, code: int, data: bytes) -> None:
    """Record what the line says about the session; the first value wins."""
    if code in (TURN_CONTEXT, TURN_STARTED):
        known = index.turn
        if known.model and known.cwd and known.model_context_window:
            return
        turn = read_turn_context(data)
        known.model, known.cwd = known.model or turn.model, known.cwd or turn.cwd
        known.model_context_window = known.model_context_window or turn.model_context_window
    elif index.meta is None:
        index.meta = _try_meta(data) if code == SESSION_META else _try_bare_meta(data)


def _track_turns(index: CodexRolloutIndex, lines: Iterable[RawTranscriptLine]) -> None:
    """Find the line ranges that were rolled back."""
    turns = index.turns
    for number, data, _ in lines:
        code = index.codes[number] if number < len(index.codes) else BLANK
        if code == TURN_STARTED:
            turns.on_turn_started(number)
        elif code == WORLD_STATE:
            turns.on_context(number)
        elif code == ROLLBACK:
            index.rollbacks[number] = turns.roll_back(_rolled_back_turns(data), number)
        elif code == USER_EVENT and index.has_events_only:
            turns.on_message(number, typed=True, context=False)
        elif code in (AGENT_EVENT, REASONING_EVENT) and index.has_events_only:
            turns.on_message(number, typed=False, context=False)
        elif (
            code in _ITEM_CODES
            and (message := read_message_from_rollout_line(data, number, bare=code == BARE_ITEM))
            is not None
        ):
            typed = message.origin in (Origin.USER, Origin.AGENT) and message.role == "user"
            turns.on_message(
                number,
                typed=typed,
                context=not typed and message.role in ("user", "developer", "system"),
            )


def _rolled_back_turns(data: bytes) -> int:
    try:
        payload = _decode_probe(data).payload
    except FAILURES:
        return 0
    return (payload.num_turns if payload else None) or 0


def read_message_from_rollout_line(data: bytes, number: int, *, bare: bool) -> Message | None:
    """The message of a line with a history item; None when it is damaged beyond repair."""
    sound: bytes | None = data
    for _ in range(2):
        try:
            payload = (
                msgspec.json.decode(sound or b"") if bare else _decode_undated(sound or b"").payload
            )
        except FAILURES:
            sound = repair_transcript_line(data)
            continue
        return _read_recorded_item(payload, f"item-{number}")
    return None


def _read_recorded_item(item: object, name: str) -> Message:
    """The message of a history item. What stands in a program's tag as a whole is nobody's word,
    unless Codex recorded that the user wrote it.
    """
    message = decode_input_item(item, name)
    if message.origin is not Origin.USER or not is_wrapped_in_program_tag(message.text):
        return message
    if isinstance(item, dict) and read_codex_recorded_origins(item, message.blocks) is not None:
        return message
    return replace(message, origin=Origin.INJECTED)


def read_turn_context(data: bytes) -> TurnContextPayload:
    """The turn metadata in a line; empty when its fields have other types."""
    try:
        return _decode_turn(data).payload
    except FAILURES:
        return TurnContextPayload()


def _try_bare_meta(data: bytes) -> SessionMetaLine | None:
    """The first line of the oldest clients: the session's metadata without a type."""
    try:
        meta = _decode_bare_meta(data)
    except FAILURES:
        return None
    return SessionMetaLine(meta) if meta.id and meta.timestamp else None


def _try_meta(data: bytes) -> SessionMetaLine | None:
    try:
        return _decode_meta(data)
    except FAILURES:
        return None


_decode_item = build_json_decoder(HistoryItemLine)
_decode_undated_item = build_json_decoder(LenientHistoryItemLine)
_decode_count = build_json_decoder(TokenCountLine)
_decode_compaction = build_json_decoder(CompactionLine)
_decode_world_state = build_json_decoder(WorldStateLine)
_decode_utterance = build_json_decoder(TextEventLine)

_MODEL_AUTHOR = Origin.MODEL
_EVENT_CODES = (USER_EVENT, AGENT_EVENT, REASONING_EVENT)
_HISTORY_CODES = (CALL, CALL_OUTPUT, ITEM)
_LIVE_CODES = (*_HISTORY_CODES, BARE_ITEM, *_EVENT_CODES, TOKEN_COUNT, COMPACTED, WORLD_STATE)
"""Lines that are rolled back together with their turn."""


def read_session(lines: RecordedLines) -> Iterator[TranscriptEntry]:
    """Read a rollout: the `SessionHead`, then the conversation, and everything else as side
    records, skipped and repaired lines at their position.
    """
    index = build_rollout_index(lines)
    yield index.build_session_head()
    yield from _RolloutReader(index).entries(index.cached_lines if index.is_fully_cached else lines)


class _RolloutReader:
    """The second pass over the file, with its state."""

    def __init__(self, index: CodexRolloutIndex) -> None:
        self.index = index
        self.names = list(index.kinds)
        self.is_typed = index.meta is not None and index.meta.payload.is_typed
        self.announces = USER_EVENT in index.codes
        """Whether the client tells of each message that a person typed, in the line after it."""
        self.last_line = len(index.codes) - 1
        self.model = ""
        self.turn = index.build_session_head().session or "reply"
        """Id of the current turn, which a fork copies; the session's where turns have none."""
        self.replies = 0
        """Replies of the current turn."""
        self.reply: str | None = None
        """Id of the current reply; a user message or tool result ends it."""
        self.context_tokens: int | None = None
        self.last_count: tuple[TokenCounts | None, TokenCounts] | None = None

    def entries(self, lines: Iterable[RawTranscriptLine]) -> Iterator[TranscriptEntry]:
        """Every entry but the head."""
        end, all_codes = self.last_line + 1, self.index.codes
        stretches = iter([*self.index.turns.rolled_back_lines, (end, end)])
        first, after = next(stretches)
        repeated = () if self.index.has_events_only else _EVENT_CODES
        for line in lines:
            number, data, _ = line
            if number >= end:
                break  # the file has grown since the first pass
            if number >= after:
                first, after = next(stretches)
            code = all_codes[number]
            if code in _HISTORY_CODES and number < first:
                try:
                    yield self._item_message(code, number, data)
                except FAILURES:
                    yield from self._repaired_entry(ITEM, number, data)
            elif code > UNTYPED or (code in repeated and number < first):
                yield SideRecord(self.names[code], number, data.rstrip())
            else:
                yield from self._other_entry(line, rolled_back=number >= first)

    def _item_message(self, code: int, number: int, data: bytes) -> Message:
        """The message of a line with a history item. Raises one of `FAILURES`."""
        if code == CALL_OUTPUT:
            answer = read_call_output_message(data, number, is_typed=self.is_typed)
            self.reply = None
            return answer
        if code == CALL:
            return read_call_message(data, number, self._begin_reply(), self.model or None)
        record = _decode_item(data)
        return self._complete_message(
            _read_recorded_item(record.payload, f"item-{number}"),
            convert_datetime_to_epoch_seconds(record.timestamp),
            number,
        )

    def _other_entry(
        self, line: RawTranscriptLine, *, rolled_back: bool
    ) -> tuple[TranscriptEntry, ...]:
        """The entry of any other line; none for a blank one. `rolled_back` says that it belongs to
        a rolled-back turn.
        """
        number, data, problem = line
        code = self.index.codes[number]
        if code == PROBLEM:
            return (
                SkippedLine(
                    number, problem or explain_bad_line(data, last=number == self.last_line)
                ),
            )
        if code < PROBLEM:
            return ()
        if rolled_back and code in _LIVE_CODES:
            return (SideRecord("rolled_back", number, data.rstrip()),)
        try:
            return (self._build_entry(code, number, data),)
        except FAILURES:
            return self._repaired_entry(code, number, data)

    def _repaired_entry(self, code: int, number: int, data: bytes) -> tuple[TranscriptEntry, ...]:
        """The entry of a line that could not be read as it is."""
        if code == ITEM:
            try:
                return (self._unusual_item(number, data),)
            except FAILURES:
                pass
        repaired = repair_transcript_line(data)
        try:
            if repaired is None:
                return (SkippedLine(number, explain_bad_line(data, last=number == self.last_line)),)
            return RepairedLine(number, REPLACED_CHARACTERS), self._build_entry(
                code, number, repaired
            )
        except FAILURES:
            return (SkippedLine(number, MALFORMED),)

    def _unusual_item(self, number: int, data: bytes) -> Message:
        """The message of a call or result of an unusual shape, or of an item with an invalid time.
        Raises one of `FAILURES`.
        """
        try:
            return self._item_message(ITEM, number, data)
        except FAILURES:
            return self._complete_message(
                _read_recorded_item(_decode_undated_item(data).payload, f"item-{number}"),
                None,
                number,
            )

    def _build_entry(self, code: int, number: int, data: bytes) -> TranscriptEntry:
        """The entry of a line by its code. Raises one of `FAILURES`."""
        if code == ITEM:
            return self._item_message(code, number, data)
        found: TranscriptEntry | None = None
        if code == TOKEN_COUNT:
            found = self._usage_report(number, data)
        elif code == BARE_ITEM:
            found = self._complete_message(
                _read_recorded_item(msgspec.json.decode(data), f"item-{number}"), None, number
            )
        elif code in _EVENT_CODES:
            found = self._event_message(code, number, data)
        elif code == WORLD_STATE:
            found = _read_world_state(number, data)
        elif code == COMPACTED:
            found = self._compaction(number, data)
        elif code == ROLLBACK:
            found = TurnRollback(*self.index.rollbacks[number], number)
        elif code in (TURN_CONTEXT, TURN_STARTED):
            turn = read_turn_context(data)
            self.model = turn.model or self.model
            if turn.turn_id and turn.turn_id != self.turn:
                self.turn, self.replies = turn.turn_id, 0
        return found or SideRecord(self.names[code], number, data.rstrip())

    def _complete_message(self, message: Message, timestamp: float | None, number: int) -> Message:
        """The message with the values that its line and turn add."""
        if message.origin is not _MODEL_AUTHOR:
            if message.role in ("user", "tool"):
                self.reply = None
            typed = self.is_typed and self._is_announced(number)
            return replace(message, timestamp=timestamp, line=number, is_typed=typed)
        reply = self._begin_reply()
        return replace(
            message, timestamp=timestamp, line=number, reply_id=reply, model=self.model or None
        )

    def _begin_reply(self) -> str:
        """The id of the current reply, or of a new one: it counts within its turn, so that a copy
        of the turn has the same.
        """
        if self.reply is None:
            self.replies += 1
            self.reply = f"{self.turn}-{self.replies}"
        return self.reply

    def _is_announced(self, number: int) -> bool:
        """Whether a user's message in this line was typed: what the client itself puts into the
        user's turn, in whatever wrapping, it does not tell of. The last line may not be followed
        yet.
        """
        if not self.announces or number == self.last_line:
            return True
        return self.index.codes[number + 1] == USER_EVENT

    def _event_message(self, code: int, number: int, data: bytes) -> Message:
        """The message of an event, in a file without history items."""
        record = _decode_utterance(data)
        text = record.payload.message or record.payload.text or ""
        role: Role = "user" if code == USER_EVENT else "assistant"
        block: Block = ThinkingBlock(text) if code == REASONING_EVENT else TextBlock(text)
        origin = detect_origin(text) if role == "user" else Origin.MODEL
        return self._complete_message(
            Message(id=f"event-{number}", role=role, blocks=(block,), origin=origin),
            parse_iso_timestamp(record.timestamp),
            number,
        )

    def _usage_report(self, number: int, data: bytes) -> UsageReport | None:
        """The usage of a call; None when the line repeats the previous count, or reports rate
        limits alone.

        After a compaction the total is unchanged and the last usage holds the new size of the
        context, so both are compared.
        """
        info = _decode_count(data).payload.info
        if (
            info is None
            or info.last_token_usage is None
            or (
                self.last_count is not None
                and (info.total_token_usage, info.last_token_usage) == self.last_count
            )
        ):
            return None
        last = info.last_token_usage
        self.last_count = info.total_token_usage, last
        self.context_tokens = last.total_tokens or last.input_tokens + last.output_tokens
        return UsageReport(
            context=self.context_tokens,
            line=number,
            input=max(0, last.input_tokens - last.cached_input_tokens),
            cache_read=last.cached_input_tokens,
            output=last.output_tokens,
            reasoning=last.reasoning_output_tokens,
            window=info.model_context_window,
        )

    def _compaction(self, number: int, data: bytes) -> CompactionBoundary:
        """A compaction. An old record has no replacement history: its summary alone then replaces
        what was before.
        """
        record = _decode_compaction(data)
        about = record.payload
        if about.replacement_history is not None:
            replacement = tuple(
                replace(
                    _read_recorded_item(item, f"item-{number}-{index}"),
                    line=number,
                    is_typed=self.is_typed,
                )
                for index, item in enumerate(about.replacement_history)
            )
        else:
            summary = TextBlock(about.message or "")
            replacement = (
                Message(
                    id=f"item-{number}-0",
                    role="user",
                    blocks=(summary,),
                    origin=Origin.SUMMARY,
                    line=number,
                ),
            )
        before, self.context_tokens, self.reply = self.context_tokens, None, None
        return CompactionBoundary(
            id=about.window_id or f"compaction-{number}",
            line=number,
            tokens_before=before,
            timestamp=parse_iso_timestamp(record.timestamp),
            replacement=replacement,
        )


def _read_world_state(number: int, data: bytes) -> WorldStateRecord:
    """The environment the model was told about. A record of another shape holds nothing, and the
    state is unknown from there on.
    """
    try:
        payload = _decode_world_state(data).payload
    except msgspec.ValidationError:
        msgspec.json.decode(data)
        return WorldStateRecord(full=False, state=None, line=number)
    return WorldStateRecord(full=payload.full, state=payload.state, line=number)
