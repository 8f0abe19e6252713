"""Detecting which client recorded a session file, from its content, never from its name."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec
from msgspec import Struct

from memorist.errors import UnreadableSession
from memorist.formats import claude_code, codex_rollout, transcript
from memorist.formats.transcript import (
    FAILURES,
    RecordedLine,
    RecordedLines,
    TranscriptEntry,
    repair_line,
)

MAX_PROBED_LINES = 50
"""Usable lines that are examined; the first records of every format identify it."""
_MAX_LINES = 10_000
_CODEX_RECORDS = frozenset(
    {"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"}
)
_CODEX_ITEMS = frozenset(
    {
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "local_shell_call",
        "custom_tool_call",
    }
)
_CLAUDE_RECORDS = frozenset({"user", "assistant", "attachment", "system", "progress"})
_CLAUDE_SIDE_RECORDS = frozenset(
    {
        "summary",
        "file-history-snapshot",
        "queue-operation",
        "custom-title",
        "ai-title",
        "last-prompt",
        "mode",
    }
)


class _FormatProbe(
    Struct,
    gc=False,
    rename={"kind": "type", "parent_uuid": "parentUuid", "session_id": "sessionId"},
):
    kind: msgspec.Raw = msgspec.Raw()
    memorist: msgspec.Raw = msgspec.Raw()
    payload: msgspec.Raw = msgspec.Raw()
    uuid: msgspec.Raw = msgspec.Raw()
    parent_uuid: msgspec.Raw = msgspec.Raw()
    session_id: msgspec.Raw = msgspec.Raw()


_decode_probe = msgspec.json.Decoder(_FormatProbe).decode


def detect_format(lines: RecordedLines) -> str:
    """Detect the format: `claude_code`, `codex` or `memorist`.

    Raises UnreadableSession, which says what the file seems to be instead: empty, binary, another
    kind of text, or JSON of another shape.
    """
    usable = 0
    binary = records = False
    first = b""
    for line in islice(lines, _MAX_LINES):
        if line.problem or not line.data.strip():
            continue
        binary = binary or b"\0" in line.data
        first = first or line.data
        usable += 1
        probe = _probe_line(line)
        if probe is not None:
            records = True
            if found := _format_of(probe):
                return found
        if usable >= MAX_PROBED_LINES:
            break
    raise UnreadableSession(_describe_file(first, binary=binary, records=records))


def read_session(lines: RecordedLines) -> Iterator[TranscriptEntry]:
    """Detect the format of the file and read it with that format's reader. Raises
    UnreadableSession.
    """
    match detect_format(lines):
        case "claude_code":
            return claude_code.read_session(lines)
        case "codex":
            return codex_rollout.read_session(lines)
        case _:
            return transcript.read_session(lines)


def _probe_line(line: RecordedLine) -> _FormatProbe | None:
    try:
        return _decode_probe(line.data)
    except FAILURES:
        pass
    repaired = repair_line(line.data)
    return None if repaired is None else _decode_probe(repaired)


def _format_of(probe: _FormatProbe) -> str:
    if bytes(probe.memorist) == b'"transcript"':
        return "memorist"
    kind = bytes(probe.kind).decode("utf-8", "replace").strip('"')
    if kind in _CODEX_RECORDS and bytes(probe.payload):
        return "codex"
    if (
        kind in _CLAUDE_RECORDS
        and bytes(probe.uuid)
        and (bytes(probe.parent_uuid) or bytes(probe.session_id))
    ):
        return "claude_code"
    if kind in _CLAUDE_SIDE_RECORDS and not bytes(probe.payload):
        return "claude_code"
    if kind in _CODEX_ITEMS and not bytes(probe.uuid):
        return "codex"
    return ""


def _describe_file(first: bytes, *, binary: bool, records: bool) -> str:
    """One sentence on what the file is instead of a session."""
    expected = "give a session recorded by Claude Code or Codex, or a transcript of memorist"
    start = first.lstrip()[:200].lower()
    if binary:
        what = "is binary, not text"
    elif not first:
        what = "is empty"
    elif start.startswith((b"<!doctype", b"<html", b"<?xml")):
        what = "is a web page or XML"
    elif start.startswith(b"["):
        what = "is one JSON array, not one JSON object a line"
    elif records:
        what = "holds JSON lines of an unknown kind"
    elif start.startswith(b"{"):
        what = "is JSON spread over several lines, not one object a line"
    else:
        what = "is text, not JSON lines"
    return f"The file {what}; {expected}."
