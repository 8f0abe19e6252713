"""memorist's own transcript: one JSON object per line, the first of them `{"memorist":
"transcript", "version": 1, "head": {…}}`.

Every other line is `{"type": …, "entry": {…}}` with the fields of the value, so that what is read
equals what was written.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.core.json_decoding import build_json_decoder
from memorist.core.messages import Message, Origin
from memorist.errors import UnreadableSession
from memorist.safety.redacted_json import encode_redacted, redact_json

# Shared by the readers of JSONL session files: timestamps, lines that need repair, and why a
# line cannot be used.


FAILURES = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding a bad line raises; RecursionError for excessive nesting."""

MALFORMED = "its fields are not those of such a record"
REPLACED_CHARACTERS = "characters that are not valid text were replaced"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_iso_timestamp(timestamp: object) -> float | None:
    """A recorded time (ISO 8601, UTC when it names no zone) as seconds since the epoch; None for
    anything else.
    """
    if not isinstance(timestamp, str):
        return None
    try:
        if timestamp.endswith("Z"):
            return datetime.fromisoformat(timestamp).timestamp()
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def convert_datetime_to_epoch_seconds(moment: datetime | None) -> float | None:
    """A decoded time (UTC when it names no zone) as seconds since the epoch."""
    if moment is None:
        return None
    # What `timestamp` gives, in half its time.
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH).total_seconds()


def repair_transcript_line(data: bytes) -> bytes | None:
    """Repair a line: strip NUL bytes around it; replace bad UTF-8, lone surrogates and numbers
    unknown to JSON. None when it is no object.
    """
    try:
        record = json.loads(
            data.strip(b"\0\r\n \t").decode("utf-8", "replace"),
            strict=False,
            parse_constant=_drop_constant,
            parse_float=_finite_number,
        )
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    return _SURROGATE.sub("\ufffd", json.dumps(record, ensure_ascii=False)).encode()


def _drop_constant(_: str) -> None:
    return None


def _finite_number(number: str) -> float | None:
    value = float(number)
    return value if math.isfinite(value) else None


def explain_bad_line(data: bytes, *, last: bool) -> str:
    """Why a line is no record, in one clause."""
    if repair_transcript_line(data) is not None:
        return MALFORMED
    if not data.strip(b"\0\r\n \t"):
        return "it holds only NUL bytes"
    if b"\0" in data:
        return "it is binary, not text"
    return "it is cut off" if last else "it is not a JSON object"


# The entries of a recorded session file of any client: the values that the readers yield.


class RawTranscriptLine(NamedTuple):
    """One line of a file. `problem` is set, and `data` empty, when the line could not be read
    (longer than the limit).
    """

    number: int
    """Counted from 1."""
    data: bytes
    problem: str = ""


RecordedLines = Iterable[RawTranscriptLine]
"""Lines of one file; every `iter()` starts at its beginning."""


FORMAT_TITLES = {
    "claude_code": "Claude Code",
    "codex": "Codex",
    "copilot_cli": "Copilot CLI",
    "cursor": "Cursor",
    "gemini_cli": "Gemini CLI",
    "memorist": "memorist",
    "opencode": "opencode",
    "pi": "pi",
}
"""The name of the program that recorded a session, by `SessionHead.format`."""


class SessionHead(Struct, frozen=True, kw_only=True):
    """The session's metadata. Empty text when the file does not record it."""

    session: str
    format: str
    """A key of `FORMAT_TITLES`."""
    cwd: str = ""
    model: str = ""
    version: str = ""
    branch: str = ""
    remote: str = ""
    """Address of the repository's remote (Codex)."""
    title: str = ""
    started: float | None = None
    """Seconds since the epoch, UTC."""
    window: int | None = None
    """The model's context window in tokens, when the file names it."""
    instructions: str = ""
    """Base instructions recorded with the session (Codex)."""
    forked_from: str = ""
    """Id of the session whose history was copied to the beginning of this one (Codex, and `/branch`
    of Claude Code).
    """
    is_subagent: bool = False
    """Whether an agent gave it its task (memorist's transcripts)."""


class CompactionBoundary(Struct, frozen=True, kw_only=True):
    """A compaction that the recorded agent made: what came before is no longer in its context."""

    id: str
    line: int
    trigger: str = ""
    tokens_before: int | None = None
    timestamp: float | None = None
    kept: int = 0
    """Messages before the boundary that stayed in the context."""
    replacement: tuple[Message, ...] = ()
    """The history that replaced the old one, when the file holds it (Codex)."""


class TurnRollback(Struct, frozen=True):
    """The user rolled back the last `turns` turns; the reader left out their `messages`
    messages.
    """

    turns: int
    messages: int
    line: int
    kept: bool = False
    """The messages still are before this marker: memorist's own transcript deletes nothing (CX-7,
    `context.turn_rollback.drop_rolled_back_entries`).
    """


class WorldStateRecord(Struct, frozen=True, kw_only=True):
    """The environment as told to the model from here on: in full, or as an RFC 7386 merge patch on
    the previous state (CX-3).
    """

    full: bool
    state: dict[str, Any] | None
    """Snapshots by section, or the patch; None when the record cannot be read."""
    line: int = 0


class UsageReport(Struct, frozen=True):
    """Usage reported apart from a message (Codex `token_count`): the context in tokens after the
    last reply, and the call's own usage.
    """

    context: int
    line: int
    input: int = 0
    cache_read: int = 0
    output: int = 0
    window: int | None = None
    reasoning: int = 0
    """Output tokens that are hidden reasoning."""


class SideRecord(Struct, frozen=True):
    """A record outside the main conversation, kept as received: bookkeeping, progress, a side
    chain, an unknown kind.
    """

    kind: str
    line: int
    raw: bytes


class SkippedLine(Struct, frozen=True):
    """A line that could not be used, and why, in one clause for the user."""

    line: int
    why: str


class RepairedLine(Struct, frozen=True):
    """A line that was used after a repair, and what was repaired."""

    line: int
    why: str


TranscriptEntry = (
    SessionHead
    | Message
    | CompactionBoundary
    | TurnRollback
    | WorldStateRecord
    | UsageReport
    | SideRecord
    | SkippedLine
    | RepairedLine
)
"""The first entry is always the `SessionHead`. Messages of the live conversation come in order."""


TRANSCRIPT_VERSION = 1
"""Version of the file format; a reader rejects a higher one."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class _TranscriptOpening(Struct, omit_defaults=True):
    memorist: str
    version: int
    head: SessionHead


class _MessageLine(Struct, tag="message"):
    entry: Message


class _BoundaryLine(Struct, tag="boundary"):
    entry: CompactionBoundary


class _RollbackLine(Struct, tag="rolled_back"):
    entry: TurnRollback


class _WorldStateLine(Struct, tag="world_state"):
    entry: WorldStateRecord


class _UsageLine(Struct, tag="measured"):
    entry: UsageReport


class _AnyLine(Struct):
    type: str = ""
    memorist: str = ""
    version: int = 0


_encoder = msgspec.json.Encoder()
_EntryLine = _MessageLine | _BoundaryLine | _RollbackLine | _WorldStateLine | _UsageLine
_decode_entry: Callable[[bytes], _EntryLine] = build_json_decoder(cast(type[Any], _EntryLine))
_decode_opening = build_json_decoder(_TranscriptOpening)
_decode_any = build_json_decoder(_AnyLine)


def encode_transcript_entry(entry: TranscriptEntry, *, redacts: bool = False) -> bytes:
    """One line for the entry, including its line end; empty for side records, skipped and repaired
    lines, which describe another file. With `redacts`, a mark stands for each secret.

    A lone surrogate, which JSON text cannot hold, becomes the replacement character.
    """
    line: Struct
    match entry:
        case SessionHead():
            line = _TranscriptOpening("transcript", TRANSCRIPT_VERSION, entry)
        case Message():
            line = _MessageLine(entry)
        case CompactionBoundary():
            line = _BoundaryLine(entry)
        case TurnRollback():
            line = _RollbackLine(entry)
        case WorldStateRecord():
            line = _WorldStateLine(entry)
        case UsageReport():
            line = _UsageLine(entry)
        case SideRecord() | SkippedLine() | RepairedLine():
            return b""
    try:
        return (encode_redacted(line) if redacts else _encoder.encode(line)) + b"\n"
    except (UnicodeEncodeError, OverflowError):  # a lone surrogate; an integer of more than 64 bits
        plain = msgspec.to_builtins(line)
        text = json.dumps(redact_json(plain) if redacts else plain, ensure_ascii=False)
        return _LONE_SURROGATE.sub("\ufffd", text).encode() + b"\n"


def read_session(lines: RecordedLines) -> Iterator[TranscriptEntry]:
    """Read a transcript: the `SessionHead` (an empty one when its line is lost), then every entry
    as it was written, a message that was read from no other file with its line in this one; bad
    lines as `SkippedLine`.

    Raises UnreadableSession when a newer memorist wrote the file.
    """
    opened = False
    for line in lines:
        if not (line.problem or line.data.strip()):
            continue
        entries = _read_line(line, opened=opened)
        if not opened:
            opened = True
            if not isinstance(entries[-1], SessionHead):
                yield SessionHead(session="", format="memorist")
        yield from entries
    if not opened:
        yield SessionHead(session="", format="memorist")


def _read_line(line: RawTranscriptLine, *, opened: bool) -> tuple[TranscriptEntry, ...]:
    if line.problem:
        return (SkippedLine(line.number, line.problem),)
    try:
        return (_decode_line(line.data, line.number),)
    except FAILURES:
        pass
    data = line.data
    try:
        return (_read_other(data, line.number, opened=opened),)
    except FAILURES:
        repaired = repair_transcript_line(data)
    if repaired is None:
        return (SkippedLine(line.number, explain_bad_line(data, last=False)),)
    try:
        return RepairedLine(line.number, REPLACED_CHARACTERS), _read_repaired(
            repaired, line.number, opened=opened
        )
    except FAILURES:
        return (SkippedLine(line.number, explain_bad_line(data, last=False)),)


def _read_repaired(data: bytes, number: int, *, opened: bool) -> TranscriptEntry:
    try:
        return _decode_line(data, number)
    except msgspec.ValidationError:
        return _read_other(data, number, opened=opened)


def _decode_line(data: bytes, number: int) -> TranscriptEntry:
    """One entry. Raises one of `FAILURES`.

    0.1 did not write who typed a message: there the origin alone says it.
    """
    entry = _decode_entry(data).entry
    if isinstance(entry, Message) and not entry.line:
        entry = replace(entry, line=number)
    # within a text the quotation marks of the field's name are escaped
    if isinstance(entry, Message) and entry.origin is Origin.USER and b'"is_typed":' not in data:
        return replace(entry, is_typed=True)
    return entry


def _read_other(data: bytes, number: int, *, opened: bool) -> TranscriptEntry:
    """The opening line, or a record of a kind that this version does not know. Raises one of
    `FAILURES`.
    """
    record = _decode_any(data)
    if record.memorist:
        if record.version > TRANSCRIPT_VERSION:
            raise UnreadableSession(
                f"The transcript has version {record.version}, which a newer memorist wrote; "
                f"update memorist to read it."
            )
        return SideRecord("head", number, data.rstrip()) if opened else _decode_opening(data).head
    if record.type == "world_state":
        return WorldStateRecord(full=False, state=None, line=number)
    if record.type in ("message", "boundary", "rolled_back", "measured"):
        return SkippedLine(number, "its fields are not those of such a record")
    return SideRecord(record.type or "unknown", number, data.rstrip())
