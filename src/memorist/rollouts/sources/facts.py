"""Metadata from the beginning and the end of a session file: owner, place, time, first words. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

import msgspec
from msgspec import Struct

from memorist.auto_memory.evidence import typed_words
from memorist.core.messages import Message
from memorist.errors import UnreadableSession
from memorist.formats.jsonl import seconds
from memorist.formats.recognise import read, recognise
from memorist.formats.recorded import Head, Line
from memorist.rollouts.cleaning import cleaned_line
from memorist.rollouts.meaning import Act, act_of
from memorist.session_memory.sentences import shorten
from memorist.store.thread import Mode

LOOKED_AT = 400
"""Lines at the beginning of a file that are read for its metadata."""
LOOKED_AT_BYTES = 4_000_000
"""Upper bound of their bytes, plus one line."""
WORDS = 160
"""Characters of the user's first words."""

_TIME = re.compile(rb'"timestamp"\s*:\s*"([^"]{10,40})"')
_MODE = re.compile(rb'"memory_mode"\s*:\s*"(\w{1,20})"')
_BY_AGENT = ("subagent", "sub_agent", "internal", "memory_consolidation")


def begins(lines: Iterable[Line]) -> list[Line]:
    """Return the first lines, up to the limits."""
    found: list[Line] = []
    size = 0
    for line in islice(iter(lines), LOOKED_AT):
        found.append(line)
        size += len(line.data)
        if size > LOOKED_AT_BYTES:
            break
    return found


class Facts(Struct, frozen=True, kw_only=True):
    """Metadata from the beginning.

    `why_not` says why it is not a session of its own; empty if it is one.
    """

    head: Head
    source: str = ""
    first_words: str = ""
    mode: Mode = "enabled"
    why_not: str = ""


class _Meta(Struct):
    id: str | None = None
    source: object = None
    parent_thread_id: str | None = None
    memory_mode: str | None = None


class _First(Struct, rename={"side": "isSidechain", "agent": "agentId"}):
    type: str | None = None
    payload: msgspec.Raw = msgspec.Raw()
    side: bool | None = None
    agent: str | None = None
    entrypoint: str | None = None


class _Time(Struct):
    timestamp: str | float | None = None


class _Stamp(Struct):
    timestamp: str | float | None = None
    entry: _Time | None = None


_stamp = msgspec.json.Decoder(_Stamp).decode
_first = msgspec.json.Decoder(_First).decode
_meta = msgspec.json.Decoder(_Meta).decode


def facts(lines: Iterable[Line]) -> Facts:
    """Read a session's metadata from its beginning. Raises UnreadableSession for any other file."""
    first = begins(lines)
    recognise(first)
    head: Head | None = None
    words = ""
    for entry in read(first):
        if isinstance(entry, Head):
            head = entry
        elif isinstance(entry, Message) and (typed := typed_words(entry)) and act_of(typed, first=True) is not Act.COMMAND:
            words = cleaned_line(shorten(typed, WORDS))
            break
    if head is None:
        raise UnreadableSession("The file holds no beginning of a session.")
    source, why_not, mode = _origin(first, head.format)
    return Facts(head=head, source=source, first_words=words, mode=mode, why_not=why_not)


def _origin(lines: Iterable[Line], form: str) -> tuple[str, str, Mode]:
    """Return who ran it, why it is not a session of its own, and whether it may become memory."""
    if form == "memorist":
        return "memorist", "", "enabled"
    return _codex(lines) if form == "codex" else _claude(lines)


def _codex(lines: Iterable[Line]) -> tuple[str, str, Mode]:
    """The first session_meta is the file's own; later ones may be copied from the session it was
    forked from.
    """
    for line in lines:
        first = _decoded(line.data)
        if first is None or first.type != "session_meta":
            continue
        try:
            meta = _meta(first.payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return "", "", "enabled"
        source = _named(meta.source)
        by_agent = source.startswith(_BY_AGENT) or bool(meta.parent_thread_id)
        return source, "it is the work of a sub-agent, which its parent's session tells of" if by_agent else "", mode_of(meta.memory_mode)
    return "", "", "enabled"


def _named(source: object) -> str:
    """Return the source as a word: a string as it is, `{"custom": "x"}` as x, any other object by
    its key.
    """
    if isinstance(source, str):
        return source[:60].lower()
    if isinstance(source, dict) and source:
        key, value = next(iter(source.items()))
        return str(value if key == "custom" and isinstance(value, str) else key)[:60].lower()
    return ""


def _claude(lines: Iterable[Line]) -> tuple[str, str, Mode]:
    entrypoint, side, main = "", False, False
    for line in lines:
        first = _decoded(line.data)
        if first is None or first.type not in ("user", "assistant"):
            continue
        entrypoint = entrypoint or first.entrypoint or ""
        side, main = side or bool(first.side), main or not first.side
        if main and entrypoint:
            break
    why_not = "it is the work of a sub-agent, which its parent's session tells of" if side and not main else ""
    return entrypoint[:60].lower(), why_not, "enabled"


def _decoded(data: bytes) -> _First | None:
    try:
        return _first(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def mode_of(text: str | None) -> Mode:
    """Parse a memory mode; an unknown word forbids rather than allows."""
    if text in (None, "", "enabled"):
        return "enabled"
    return "polluted" if text == "polluted" else "disabled"


def newest_time(tail: bytes) -> float | None:
    """Find the newest time in the records at the end of a file, in seconds since the epoch; None if
    they hold none.
    """
    found = [moment for line in tail.split(b"\n") if (moment := _moment(line)) is not None]
    if not found:  # one line longer than what was looked at
        found = [moment for match in _TIME.findall(tail) if (moment := seconds(match.decode("ascii", "replace"))) is not None]
    return max(found, default=None)


def _moment(line: bytes) -> float | None:
    """Return the time of a record: its own, or that of its message (memorist's transcripts)."""
    try:
        record = _stamp(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    given = record.timestamp if record.timestamp is not None else record.entry.timestamp if record.entry is not None else None
    return float(given) if isinstance(given, int | float) else seconds(given)


def last_mode(tail: bytes) -> Mode | None:
    """Find the last mode change in the records at the end of a file; None if there is none."""
    found = _MODE.findall(tail)
    return mode_of(found[-1].decode("ascii", "replace")) if found else None
