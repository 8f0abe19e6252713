"""Detecting which client recorded a session file, from its content, never from its name."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec
from msgspec import Struct

from memorist.errors import UnreadableSession
from memorist.formats import claude_code_jsonl, codex_rollout_jsonl, memorist_jsonl
from memorist.formats.jsonl import FAILURES, mended
from memorist.formats.recorded import Entry, Line, Lines

LOOKED_AT = 50
"""Usable lines that are examined; the first records of every format identify it."""
_MOST_LINES = 10_000
_CODEX_RECORDS = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"})
_CODEX_ITEMS = frozenset({"message", "reasoning", "function_call", "function_call_output", "local_shell_call", "custom_tool_call"})
_CLAUDE_RECORDS = frozenset({"user", "assistant", "attachment", "system", "progress"})
_CLAUDE_ASIDES = frozenset({"summary", "file-history-snapshot", "queue-operation", "custom-title", "ai-title", "last-prompt", "mode"})


class _Probe(Struct, gc=False, rename={"kind": "type", "parent_uuid": "parentUuid", "session_id": "sessionId"}):
    kind: msgspec.Raw = msgspec.Raw()
    memorist: msgspec.Raw = msgspec.Raw()
    payload: msgspec.Raw = msgspec.Raw()
    uuid: msgspec.Raw = msgspec.Raw()
    parent_uuid: msgspec.Raw = msgspec.Raw()
    session_id: msgspec.Raw = msgspec.Raw()


_probe = msgspec.json.Decoder(_Probe).decode


def recognise(lines: Lines) -> str:
    """Detect the format: `claude_code`, `codex` or `memorist`.

    Raises UnreadableSession, which says what the file seems to be instead: empty, binary, another
    kind of text, or JSON of another shape.
    """
    usable = 0
    binary = records = False
    first = b""
    for line in islice(lines, _MOST_LINES):
        if line.problem or not line.data.strip():
            continue
        binary = binary or b"\0" in line.data
        first = first or line.data
        usable += 1
        probe = _look(line)
        if probe is not None:
            records = True
            if found := _format_of(probe):
                return found
        if usable >= LOOKED_AT:
            break
    raise UnreadableSession(_why(first, binary=binary, records=records))


def read(lines: Lines) -> Iterator[Entry]:
    """Detect the format of the file and read it with that format's reader. Raises
    UnreadableSession.
    """
    match recognise(lines):
        case "claude_code":
            return claude_code_jsonl.read(lines)
        case "codex":
            return codex_rollout_jsonl.read(lines)
        case _:
            return memorist_jsonl.read(lines)


def _look(line: Line) -> _Probe | None:
    try:
        return _probe(line.data)
    except FAILURES:
        pass
    repaired = mended(line.data)
    return None if repaired is None else _probe(repaired)


def _format_of(probe: _Probe) -> str:
    if bytes(probe.memorist) == b'"transcript"':
        return "memorist"
    kind = bytes(probe.kind).decode("utf-8", "replace").strip('"')
    if kind in _CODEX_RECORDS and bytes(probe.payload):
        return "codex"
    if kind in _CLAUDE_RECORDS and bytes(probe.uuid) and (bytes(probe.parent_uuid) or bytes(probe.session_id)):
        return "claude_code"
    if kind in _CLAUDE_ASIDES and not bytes(probe.payload):
        return "claude_code"
    if kind in _CODEX_ITEMS and not bytes(probe.uuid):
        return "codex"
    return ""


def _why(first: bytes, *, binary: bool, records: bool) -> str:
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
