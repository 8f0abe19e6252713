"""First pass over a Codex rollout file: the kind of each line, the session's metadata, and which
turns were rolled back (codex.md 3.7 and part 5).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from memorist.core.messages import Message, Origin
from memorist.formats.codex_rollout_records import MetaLine, MetaPayload, TurnLine, TurnPayload, UndatedItemLine
from memorist.formats.codex_rollout_turns import Turns
from memorist.formats.jsonl import FAILURES, mended, seconds
from memorist.formats.openai_responses_items import CALLS, MESSAGE_KINDS, OUTPUTS, read_item
from memorist.formats.recorded import Head, Line

BLANK, PROBLEM, ITEM, BARE_ITEM, USER_EVENT, AGENT_EVENT, REASONING_EVENT = range(7)
COUNT, ROLLBACK, COMPACTED, CONTEXT, META, STARTED, CALL, ANSWER, SAID, THOUGHT, WORLD, UNTYPED = range(7, 19)
"""Codes of lines. A BARE_ITEM is a history item that is a line of its own, as the oldest clients
wrote them.
"""

_KINDS = ("", " ", "response_item", "item", "user_message", "agent_message", "agent_reasoning")
_MORE_KINDS = (
    "token_count",
    "thread_rolled_back",
    "compacted",
    "turn_context",
    "session_meta",
    "task_started",
    "call",
    "answer",
    "said",
    "thought",
    "world_state",
    "untyped",
)
_EVENTS = {kind: code for code, kind in enumerate((*_KINDS, *_MORE_KINDS)) if code in (4, 5, 6, COUNT, ROLLBACK, STARTED)}
_EVENTS["turn_started"] = STARTED
_RECORDS = {"response_item": ITEM, "compacted": COMPACTED, "turn_context": CONTEXT, "session_meta": META, "world_state": WORLD}
_ITEMS = {
    "function_call": CALL,
    "custom_tool_call": CALL,
    "function_call_output": ANSWER,
    "custom_tool_call_output": ANSWER,
    "message": SAID,
    "reasoning": THOUGHT,
}
_ITEM_CODES = frozenset({ITEM, BARE_ITEM, CALL, ANSWER, SAID, THOUGHT})
_ITEM_KINDS = MESSAGE_KINDS | CALLS.keys() | OUTPUTS.keys() | {"reasoning"}
_UNRECORDED = frozenset({"ghost_snapshot", "additional_tools", "compaction_trigger", "other"})
"""Items that a client leaves out of its history (codex.md sections 3.1 and 3.8)."""
_TELLING = (CONTEXT, STARTED, META, UNTYPED)
_MOST_KINDS = 250
KEPT_BYTES = 16 * 1024 * 1024
"""Bytes of lines that are kept from the first pass, so that files up to about this size are read
from disk once.
"""
_start = re.compile(
    rb'\{"timestamp":"[^"]{1,40}",("type":"(?:[^"]{1,40}","payload":\{"type":"[^"]{1,60}|turn_context","payload":\{))"'
).match
"""Matches the bytes that determine a line's kind: its type and its payload's type. A
`turn_context`, which is long, is determined by its type alone.
"""
_BRACE = ord("}")
"""Second-last byte of a line that is not cut off."""


class _Payload(Struct, gc=False):
    type: str | None = None
    role: str | None = None
    num_turns: int | None = None


class _Probe(Struct, gc=False):
    type: str | None = None
    payload: _Payload | None = None
    role: str | None = None


class _Kind(Struct, gc=False):
    type: str | None = None


_probe = msgspec.json.Decoder(_Probe).decode
_kind = msgspec.json.Decoder(_Kind).decode
_undated = msgspec.json.Decoder(UndatedItemLine).decode
_meta = msgspec.json.Decoder(MetaLine).decode
_bare_meta = msgspec.json.Decoder(MetaPayload).decode
_turn = msgspec.json.Decoder(TurnLine).decode


class Index:
    """The result of the first pass."""

    def __init__(self) -> None:
        self.codes = bytearray(1)
        """A code for each line, from line 1."""
        self.kinds: dict[str, int] = {kind: code for code, kind in enumerate((*_KINDS, *_MORE_KINDS))}
        self.kept: list[Line] = []
        """The first lines of the file."""
        self.whole = False
        """Whether those are all lines."""
        self.turns = Turns()
        self.rollbacks: dict[int, tuple[int, int]] = {}
        """For the line of a rollback marker, the numbers of turns and messages that it removed."""
        self.meta: MetaLine | None = None
        self.turn = TurnPayload()
        self.by_events = False
        """Whether the file has no history items, so that its events are the conversation."""

    def head(self) -> Head:
        """The session as a whole; the first `session_meta` counts, later ones may come from a fork.
        """
        line = self.meta or MetaLine(MetaPayload())
        meta = line.payload
        given = meta.base_instructions or meta.instructions
        text = given.get("text") if isinstance(given, dict) else given
        return Head(
            session=meta.id or meta.session_id or "",
            format="codex",
            cwd=meta.cwd or self.turn.cwd or "",
            model=self.turn.model or "",
            version=meta.cli_version or "",
            branch=(meta.git.branch if meta.git else None) or "",
            started=seconds(meta.timestamp or line.timestamp),
            window=self.turn.model_context_window,
            instructions=text if isinstance(text, str) else "",
        )


def build(lines: Iterable[Line]) -> Index:
    """Classify every line; when turns were rolled back, read the lines once more to find out which.

    The bytes from the type to the payload's type determine most lines without decoding their JSON.
    """
    index = Index()
    known: dict[bytes, int] = {}
    add_code, keep = index.codes.append, index.kept.append
    room = KEPT_BYTES
    for line in lines:
        _, data, problem = line
        if room >= 0:
            room -= len(data)
            keep(line)
        if problem or not data or data.isspace():
            add_code(PROBLEM if problem else BLANK)
            continue
        found = _start(data)
        start = found[1] if found is not None and data[-2] == _BRACE else b""
        code = known.get(start, BLANK)
        if not code:
            code = _look(index, data)
            if start and code != PROBLEM:
                known[start] = code
        add_code(code)
        if code in _TELLING:
            _note(index, code, data)
    index.whole = room >= 0
    index.by_events = _ITEM_CODES.isdisjoint(index.codes)
    if ROLLBACK in index.codes:
        _follow_turns(index, lines)
    return index


def _look(index: Index, data: bytes) -> int:
    """The code of a line by decoding it; after repair if it needs one, by its kind alone when its
    fields have other types.
    """
    sound: bytes | None = data
    for _ in range(2):
        try:
            return _code(index, _probe(sound or b""))
        except FAILURES:
            pass
        try:
            kind = _kind(sound or b"").type
        except FAILURES:
            sound = mended(data)
            continue
        return PROBLEM if kind in _RECORDS else _code(index, _Probe(type=kind))
    return PROBLEM


def _code(index: Index, probe: _Probe) -> int:
    """The code of a record; a new one for a kind seen for the first time."""
    kind, code = _known(probe)
    if code == UNTYPED and index.meta is not None:
        code = BLANK
    if code:
        return code
    code = index.kinds.get(kind, BLANK)
    if code > UNTYPED:
        return code
    if len(index.kinds) >= _MOST_KINDS or code or not kind.strip():
        kind = "unknown"
    return index.kinds.setdefault(kind, len(index.kinds))


def _known(probe: _Probe) -> tuple[str, int]:
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


def _note(index: Index, code: int, data: bytes) -> None:
    """Record what the line says about the session; the first value wins."""
    if code in (CONTEXT, STARTED):
        known = index.turn
        if known.model and known.cwd and known.model_context_window:
            return
        turn = turn_of(data)
        known.model, known.cwd = known.model or turn.model, known.cwd or turn.cwd
        known.model_context_window = known.model_context_window or turn.model_context_window
    elif index.meta is None:
        index.meta = _try_meta(data) if code == META else _try_bare_meta(data)


def _follow_turns(index: Index, lines: Iterable[Line]) -> None:
    """Find the line ranges that were rolled back."""
    turns = index.turns
    for number, data, _ in lines:
        code = index.codes[number] if number < len(index.codes) else BLANK
        if code == STARTED:
            turns.started(number)
        elif code == WORLD:
            turns.told(number)
        elif code == ROLLBACK:
            index.rollbacks[number] = turns.take_back(_turns_of(data), number)
        elif code == USER_EVENT and index.by_events:
            turns.said(number, typed=True, context=False)
        elif code in (AGENT_EVENT, REASONING_EVENT) and index.by_events:
            turns.said(number, typed=False, context=False)
        elif code in _ITEM_CODES and (message := item_of(data, number, bare=code == BARE_ITEM)) is not None:
            typed = message.origin in (Origin.USER, Origin.AGENT) and message.role == "user"
            turns.said(number, typed=typed, context=not typed and message.role in ("user", "developer", "system"))


def _turns_of(data: bytes) -> int:
    try:
        payload = _probe(data).payload
    except FAILURES:
        return 0
    return (payload.num_turns if payload else None) or 0


def item_of(data: bytes, number: int, *, bare: bool) -> Message | None:
    """The message of a line with a history item; None when it is damaged beyond repair."""
    sound: bytes | None = data
    for _ in range(2):
        try:
            payload = msgspec.json.decode(sound or b"") if bare else _undated(sound or b"").payload
        except FAILURES:
            sound = mended(data)
            continue
        return read_item(payload, f"item-{number}")
    return None


def turn_of(data: bytes) -> TurnPayload:
    """The turn metadata in a line; empty when its fields have other types."""
    try:
        return _turn(data).payload
    except FAILURES:
        return TurnPayload()


def _try_bare_meta(data: bytes) -> MetaLine | None:
    """The first line of the oldest clients: the session's metadata without a type."""
    try:
        meta = _bare_meta(data)
    except FAILURES:
        return None
    return MetaLine(meta) if meta.id and meta.timestamp else None


def _try_meta(data: bytes) -> MetaLine | None:
    try:
        return _meta(data)
    except FAILURES:
        return None
