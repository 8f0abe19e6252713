"""A session file whose first message is a given text, as Claude Code or Codex resumes it by its id.
Pure.

The records are the fewest that both clients open. Claude Code finds a session below the folder that
is named after the working folder, Codex below the day on which it began.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from memorist.core.messages import JsonObject

ResumableClient = Literal["claude-code", "codex"]
"""A client whose session files are known."""

MAX_FOLDER_NAME_CHARACTERS = 200
"""Characters up to which Claude Code names a folder after the working folder's path alone."""

_RECORD_VERSION = "2.0.0"
"""Version of Claude Code's records of this shape."""


class ResumableSession(Struct, frozen=True):
    """A session file to be written, and the arguments by which the client resumes it."""

    path: str
    """Relative to the client's own folder."""
    data: bytes
    arguments: tuple[str, ...]


def render_resumable_session(
    client: ResumableClient, text: str, *, id: UUID, cwd: str, at: datetime
) -> ResumableSession:
    """The session `id` in the resolved folder `cwd`, begun at the aware time `at` with the user
    message `text`.
    """
    moment = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if client == "codex":
        name = f"rollout-{at:%Y-%m-%dT%H-%M-%S}-{id}.jsonl"
        return ResumableSession(
            f"sessions/{at:%Y/%m/%d}/{name}",
            _encode_lines(_build_codex_records(text, str(id), cwd, moment)),
            ("resume", str(id)),
        )
    folder = re.sub(r"[^a-zA-Z0-9]", "-", cwd)
    return ResumableSession(
        f"projects/{folder}/{id}.jsonl",
        _encode_lines([_build_claude_code_record(text, id, cwd, moment)]),
        ("--resume", str(id)),
    )


def _build_codex_records(text: str, id: str, cwd: str, moment: str) -> list[JsonObject]:
    head = {
        "id": id,
        "timestamp": moment,
        "cwd": cwd,
        "originator": "memorist",
        "cli_version": "0.0.0",
        "source": "cli",
    }
    content = [{"type": "input_text", "text": text}]
    return [
        {"timestamp": moment, "type": kind, "payload": payload}
        for kind, payload in (
            ("session_meta", head),
            ("response_item", {"type": "message", "role": "user", "content": content}),
            ("event_msg", {"type": "user_message", "message": text, "images": []}),
        )
    ]


def _build_claude_code_record(text: str, id: UUID, cwd: str, moment: str) -> JsonObject:
    return {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": cwd,
        "sessionId": str(id),
        "version": _RECORD_VERSION,
        "type": "user",
        "message": {"role": "user", "content": text},
        "uuid": str(id),
        "timestamp": moment,
    }


def _encode_lines(records: list[JsonObject]) -> bytes:
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)
