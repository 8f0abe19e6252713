"""Detecting which client recorded a session file, from its content, never from its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import msgspec
from msgspec import Struct

from memorist.core.json_decoding import build_json_decoder
from memorist.core.text_analysis import parse_word_list
from memorist.errors import UnreadableSession
from memorist.formats import (
    claude_code,
    codex_rollout,
    copilot_cli,
    gemini_cli,
    opencode,
    pi,
    transcript_format,
)
from memorist.formats.json_records import read_chat_document
from memorist.formats.transcript_format import (
    FAILURES,
    RawTranscriptLine,
    RecordedLines,
    TranscriptEntry,
    repair_transcript_line,
)

MAX_PROBED_LINES = 50
"""Usable lines that are examined; the first records of every format identify it."""
_MAX_LINES = 10_000
_CODEX_RECORDS = frozenset(
    {"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"}
)
_CODEX_ITEMS = parse_word_list(
    """
         message reasoning function_call function_call_output local_shell_call custom_tool_call
    """
)
_CLAUDE_RECORDS = frozenset({"user", "assistant", "attachment", "system", "progress"})
_CLAUDE_SIDE_RECORDS = parse_word_list(
    """
         summary file-history-snapshot queue-operation custom-title ai-title last-prompt mode
    """
)

_COPILOT_RECORDS = (
    "session.", "user.message", "assistant.", "tool.execution", "hook.", "system.", "permission.",
)  # fmt: skip


class _FormatProbe(
    Struct,
    gc=False,
    rename={
        "kind": "type",
        "parent_uuid": "parentUuid",
        "session_id": "sessionId",
        "project_hash": "projectHash",
    },
):
    kind: msgspec.Raw = msgspec.Raw()
    memorist: msgspec.Raw = msgspec.Raw()
    payload: msgspec.Raw = msgspec.Raw()
    uuid: msgspec.Raw = msgspec.Raw()
    parent_uuid: msgspec.Raw = msgspec.Raw()
    session_id: msgspec.Raw = msgspec.Raw()
    project_hash: msgspec.Raw = msgspec.Raw()
    message: msgspec.Raw = msgspec.Raw()
    data: msgspec.Raw = msgspec.Raw()
    cwd: msgspec.Raw = msgspec.Raw()
    info: msgspec.Raw = msgspec.Raw()


_decode_probe = build_json_decoder(_FormatProbe)


Reader = Callable[[RecordedLines], Iterator[TranscriptEntry]]
SESSION_READERS: dict[str, Reader] = {
    "claude_code": claude_code.read_session,
    "codex": codex_rollout.read_session,
    "copilot_cli": copilot_cli.read_session,
    "gemini_cli": gemini_cli.read_session,
    "memorist": transcript_format.read_session,
    "opencode": opencode.read_session,
    "pi": pi.read_session,
}
"""The reader of each format that a file may have."""


def detect_format(lines: RecordedLines) -> str:
    """Detect the format: a key of `SESSION_READERS`.

    Raises UnreadableSession, which says what the file seems to be instead: empty, binary, another
    kind of text, or JSON of another shape.
    """
    usable: list[RawTranscriptLine] = []
    binary = records = False
    for line in islice(lines, _MAX_LINES):
        if line.problem or not line.data.strip():
            continue
        binary = binary or b"\0" in line.data
        usable.append(line)
        probe = _probe_line(line)
        if probe is not None:
            records = True
            if found := _format_of(probe):
                return found
        if len(usable) >= MAX_PROBED_LINES:
            break
    if found := _detect_document(usable):
        return found
    first = usable[0].data if usable else b""
    raise UnreadableSession(_describe_file(first, binary=binary, records=records))


def _detect_document(lines: Sequence[RawTranscriptLine]) -> str:
    """The format of a document that is spread over lines, by what is before its messages."""
    document = read_chat_document(lines) if lines and lines[0].data.lstrip()[:1] == b"{" else None
    if document is None:
        return ""
    if gemini_cli.is_session_head(document.fields):
        return "gemini_cli"
    return "opencode" if opencode.is_session_info(document.fields.get("info")) else ""


def read_session(lines: RecordedLines) -> Iterator[TranscriptEntry]:
    """Detect the format of the file and read it with that format's reader. Raises
    UnreadableSession.
    """
    return SESSION_READERS[detect_format(lines)](lines)


def _probe_line(line: RawTranscriptLine) -> _FormatProbe | None:
    try:
        return _decode_probe(line.data)
    except FAILURES:
        pass
    repaired = repair_transcript_line(line.data)
    return None if repaired is None else _decode_probe(repaired)


def _format_of(probe: _FormatProbe) -> str:
    if bytes(probe.memorist) == b'"transcript"':
        return "memorist"
    kind = bytes(probe.kind).decode("utf-8", "replace").strip('"')
    return _format_of_client(probe, kind) or _format_of_other(probe, kind)


def _format_of_client(probe: _FormatProbe, kind: str) -> str:
    """Whether Claude Code or Codex wrote the record."""
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
    if kind in _CODEX_ITEMS and not bytes(probe.uuid) and not bytes(probe.message):
        return "codex"
    return ""


def _format_of_other(probe: _FormatProbe, kind: str) -> str:
    """Which other agent wrote the record."""
    if bytes(probe.session_id) and bytes(probe.project_hash) and not kind:
        return "gemini_cli"
    if kind.startswith(_COPILOT_RECORDS) and bytes(probe.data):
        return "copilot_cli"
    if (kind == "session" and bytes(probe.cwd)) or (kind == "message" and bytes(probe.message)):
        return "pi"
    if bytes(probe.info) and opencode.is_session_info(msgspec.json.decode(probe.info)):
        return "opencode"
    return ""


def _describe_file(first: bytes, *, binary: bool, records: bool) -> str:
    """One sentence on what the file is instead of a session."""
    expected = (
        "give a session recorded by Claude Code, Codex, Copilot CLI, Gemini CLI or pi, one that "
        "opencode exported, or a transcript of memorist"
    )
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
