"""Metadata from the beginning and the end of a session file: owner, place, time, first words.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

import msgspec
from msgspec import Struct

from memorist.auto_memory.statements.user_prose import extract_redacted_user_text
from memorist.core.json_decoding import decode_json
from memorist.core.messages import Message
from memorist.core.sentences import shorten_to_one_line
from memorist.core.utc_time import LATEST_SECOND
from memorist.errors import UnreadableSession
from memorist.formats import gemini_cli
from memorist.formats.format_detection import detect_format, read_session
from memorist.formats.host_markup import put_typed_text_before_pastes
from memorist.formats.transcript_format import RawTranscriptLine, SessionHead, parse_iso_timestamp
from memorist.rollouts.raw_memory import clean_raw_memory_line
from memorist.rollouts.user_reactions import UserReaction, classify_user_reaction
from memorist.store.rollout_rows import MemoryMode

MAX_HEAD_LINES = 400
"""Lines at the beginning of a file that are read for its metadata."""
MAX_HEAD_BYTES = 4_000_000
"""Upper bound of their bytes, plus one line."""
MAX_FIRST_WORDS_CHARACTERS = 160
"""Characters of the user's first words."""

_TIME = re.compile(rb'"timestamp"\s*:\s*"([^"]{10,40})"')
_MODE = re.compile(rb'"memory_mode"\s*:\s*"(\w{1,20})"')
WORK_OF_SUBAGENT = "it is the work of a sub-agent, which its parent's session tells of"
_SUBAGENT_SOURCES = ("subagent", "sub_agent", "internal", "memory_consolidation")


def read_head_lines(
    lines: Iterable[RawTranscriptLine], limit: int = MAX_HEAD_LINES
) -> list[RawTranscriptLine]:
    """Return the first lines, up to `limit` and to `MAX_HEAD_BYTES`."""
    found: list[RawTranscriptLine] = []
    size = 0
    for line in islice(iter(lines), limit):
        found.append(line)
        size += len(line.data)
        if size > MAX_HEAD_BYTES:
            break
    return found


class SessionMetadata(Struct, frozen=True, kw_only=True):
    """Metadata from the beginning.

    `why_not` says why it is not a session of its own; empty if it is one.
    """

    head: SessionHead
    source: str = ""
    first_words: str = ""
    mode: MemoryMode = "enabled"
    why_not: str = ""


class _SessionMeta(Struct):
    id: str | None = None
    source: object = None
    parent_thread_id: str | None = None
    memory_mode: str | None = None


class _HeadRecord(Struct, rename={"side": "isSidechain", "agent": "agentId"}):
    type: str | None = None
    payload: msgspec.Raw = msgspec.Raw()
    side: bool | None = None
    agent: str | None = None
    entrypoint: str | None = None


class _NestedTimestamp(Struct):
    timestamp: str | float | None = None


class _TimestampRecord(Struct):
    timestamp: str | float | None = None
    entry: _NestedTimestamp | None = None


def read_session_metadata(lines: Iterable[RawTranscriptLine]) -> SessionMetadata:
    """Read a session's metadata from its beginning. Raises UnreadableSession for any other file."""
    first = read_head_lines(lines)
    if detect_format(first) in ("gemini_cli", "opencode"):  # may be one document of many lines
        first = read_head_lines(lines, MAX_HEAD_BYTES)
    head: SessionHead | None = None
    words = ""
    for entry in read_session(first):
        if isinstance(entry, SessionHead):
            head = entry
        elif (
            isinstance(entry, Message)
            and (typed := put_typed_text_before_pastes(extract_redacted_user_text(entry)))
            and classify_user_reaction(typed, first=True) is not UserReaction.COMMAND
        ):
            words = clean_raw_memory_line(shorten_to_one_line(typed, MAX_FIRST_WORDS_CHARACTERS))
            break
    if head is None:
        raise UnreadableSession("The file holds no beginning of a session.")
    source, why_not, mode = _read_origin(first, head)
    return SessionMetadata(head=head, source=source, first_words=words, mode=mode, why_not=why_not)


def _read_origin(
    lines: Iterable[RawTranscriptLine], head: SessionHead
) -> tuple[str, str, MemoryMode]:
    """Return who ran it, why it is not a session of its own, and whether it may become memory."""
    form = head.format
    if form == "memorist":
        return "memorist", WORK_OF_SUBAGENT if head.is_subagent else "", "enabled"
    if form == "codex":
        return _codex_origin(lines)
    if form == "claude_code":
        return _claude_origin(lines)
    if form == "gemini_cli" and gemini_cli.is_subagent_chat(lines):
        return "", WORK_OF_SUBAGENT, "enabled"
    return "", "", "enabled"


def _codex_origin(lines: Iterable[RawTranscriptLine]) -> tuple[str, str, MemoryMode]:
    """The first session_meta is the file's own; later ones may be copied from the session it was
    forked from.
    """
    for line in lines:
        first = _decode_record(line.data)
        if first is None or first.type != "session_meta":
            continue
        try:
            meta = decode_json(first.payload, as_type=_SessionMeta)
        except msgspec.DecodeError:
            return "", "", "enabled"
        source = _source_name(meta.source)
        by_agent = source.startswith(_SUBAGENT_SOURCES) or bool(meta.parent_thread_id)
        return (source, WORK_OF_SUBAGENT if by_agent else "", parse_memory_mode(meta.memory_mode))
    return "", "", "enabled"


def _source_name(source: object) -> str:
    """Return the source as a word: a string as it is, `{"custom": "x"}` as x, any other object by
    its key.
    """
    if isinstance(source, str):
        return source[:60].lower()
    if isinstance(source, dict) and source:
        key, value = next(iter(source.items()))
        return str(value if key == "custom" and isinstance(value, str) else key)[:60].lower()
    return ""


def _claude_origin(lines: Iterable[RawTranscriptLine]) -> tuple[str, str, MemoryMode]:
    entrypoint, side, main = "", False, False
    for line in lines:
        first = _decode_record(line.data)
        if first is None or first.type not in ("user", "assistant"):
            continue
        entrypoint = entrypoint or first.entrypoint or ""
        side, main = side or bool(first.side), main or not first.side
        if main and entrypoint:
            break
    why_not = WORK_OF_SUBAGENT if side and not main else ""
    return entrypoint[:60].lower(), why_not, "enabled"


def _decode_record(data: bytes) -> _HeadRecord | None:
    try:
        return decode_json(data, as_type=_HeadRecord)
    except msgspec.DecodeError:
        return None


def parse_memory_mode(text: str | None) -> MemoryMode:
    """Parse a memory mode; an unknown word forbids rather than allows."""
    if text in (None, "", "enabled"):
        return "enabled"
    return "polluted" if text == "polluted" else "disabled"


def find_newest_time(tail: bytes) -> float | None:
    """Find the newest time in the records at the end of a file, in seconds since the epoch; None if
    they hold none.
    """
    found = [moment for line in tail.split(b"\n") if (moment := _record_time(line)) is not None]
    if not found:  # one line longer than what was looked at
        found = [
            moment
            for match in _TIME.findall(tail)
            if (moment := parse_iso_timestamp(match.decode("ascii", "replace"))) is not None
        ]
    return max(found, default=None)


def _record_time(line: bytes) -> float | None:
    """Return the time of a record: its own, or that of its message (memorist's transcripts); None
    for a number outside the calendar.
    """
    try:
        record = decode_json(line, as_type=_TimestampRecord)
    except msgspec.DecodeError:
        return None
    given = (
        record.timestamp
        if record.timestamp is not None
        else record.entry.timestamp
        if record.entry is not None
        else None
    )
    if isinstance(given, str | None):
        return parse_iso_timestamp(given)
    return given if 0 <= given <= LATEST_SECOND else None


def find_last_memory_mode(tail: bytes) -> MemoryMode | None:
    """Find the last mode change in the records at the end of a file; None if there is none."""
    found = _MODE.findall(tail)
    return parse_memory_mode(found[-1].decode("ascii", "replace")) if found else None
