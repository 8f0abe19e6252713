"""memorist's own transcript: one JSON object per line, the first of them `{"memorist":
"transcript", "version": 1, "head": {…}}`.

Every other line is `{"type": …, "entry": {…}}` with the fields of the value, so that what is read
equals what was written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import msgspec
from msgspec import Struct

from memorist.core.messages import Message
from memorist.errors import UnreadableSession
from memorist.formats.jsonl import FAILURES, REPLACED, mended, reason
from memorist.formats.recorded import Aside, Boundary, Entry, Head, Line, Lines, Measured, Mend, RolledBack, Skip, WorldRecord

VERSION = 1
"""Version of the file format; a reader rejects a higher one."""

_SURROGATE = re.compile("[\ud800-\udfff]")


class _Opening(Struct, omit_defaults=True):
    memorist: str
    version: int
    head: Head


class _Message(Struct, tag="message"):
    entry: Message


class _Boundary(Struct, tag="boundary"):
    entry: Boundary


class _RolledBack(Struct, tag="rolled_back"):
    entry: RolledBack


class _World(Struct, tag="world_state"):
    entry: WorldRecord


class _Measured(Struct, tag="measured"):
    entry: Measured


class _Any(Struct):
    type: str = ""
    memorist: str = ""
    version: int = 0


_encoder = msgspec.json.Encoder()
_Record = _Message | _Boundary | _RolledBack | _World | _Measured
_entry: Callable[[bytes], _Record] = msgspec.json.Decoder(_Record).decode
_opening = msgspec.json.Decoder(_Opening).decode
_any = msgspec.json.Decoder(_Any).decode


def encode(entry: Entry) -> bytes:
    """One line for the entry, including its line end; empty for side records, skipped and repaired
    lines, which describe another file.

    A lone surrogate, which JSON text cannot hold, becomes the replacement character.
    """
    line: Struct
    match entry:
        case Head():
            line = _Opening("transcript", VERSION, entry)
        case Message():
            line = _Message(entry)
        case Boundary():
            line = _Boundary(entry)
        case RolledBack():
            line = _RolledBack(entry)
        case WorldRecord():
            line = _World(entry)
        case Measured():
            line = _Measured(entry)
        case Aside() | Skip() | Mend():
            return b""
    try:
        return _encoder.encode(line) + b"\n"
    except (UnicodeEncodeError, OverflowError):  # a lone surrogate; an integer of more than 64 bits
        text = json.dumps(msgspec.to_builtins(line), ensure_ascii=False)
        return _SURROGATE.sub("\ufffd", text).encode() + b"\n"


def read(lines: Lines) -> Iterator[Entry]:
    """Read a transcript: the `SessionHead` (an empty one when its line is lost), then every entry
    as it was written; bad lines as `SkippedLine`.

    Raises UnreadableSession when a newer memorist wrote the file.
    """
    opened = False
    for line in lines:
        if not (line.problem or line.data.strip()):
            continue
        entries = _read_line(line, opened=opened)
        if not opened:
            opened = True
            if not isinstance(entries[-1], Head):
                yield Head(session="", format="memorist")
        yield from entries
    if not opened:
        yield Head(session="", format="memorist")


def _read_line(line: Line, *, opened: bool) -> tuple[Entry, ...]:
    if line.problem:
        return (Skip(line.number, line.problem),)
    try:
        return (_entry(line.data).entry,)
    except FAILURES:
        pass
    data = line.data
    try:
        return (_read_other(data, line.number, opened=opened),)
    except FAILURES:
        repaired = mended(data)
    if repaired is None:
        return (Skip(line.number, reason(data, last=False)),)
    try:
        return Mend(line.number, REPLACED), _read_repaired(repaired, line.number, opened=opened)
    except FAILURES:
        return (Skip(line.number, reason(data, last=False)),)


def _read_repaired(data: bytes, number: int, *, opened: bool) -> Entry:
    try:
        record = _entry(data)
    except msgspec.ValidationError:
        return _read_other(data, number, opened=opened)
    return record.entry


def _read_other(data: bytes, number: int, *, opened: bool) -> Entry:
    """The opening line, or a record of a kind that this version does not know. Raises one of
    `FAILURES`.
    """
    record = _any(data)
    if record.memorist:
        if record.version > VERSION:
            raise UnreadableSession(
                f"The transcript has version {record.version}, which a newer memorist wrote; update memorist to read it."
            )
        return Aside("head", number, data.rstrip()) if opened else _opening(data).head
    if record.type == "world_state":
        return WorldRecord(full=False, state=None, line=number)
    if record.type in ("message", "boundary", "rolled_back", "measured"):
        return Skip(number, "its fields are not those of such a record")
    return Aside(record.type or "unknown", number, data.rstrip())
