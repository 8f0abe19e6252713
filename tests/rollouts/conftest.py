"""Sessions made up for the tests of rollout memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from memorist.core.messages import Message, Origin, TextBlock, ToolResult, ToolUse
from memorist.formats.transcript_format import SessionHead, TranscriptEntry, encode_transcript_entry
from memorist.store.rollout_rows import Rollout

START = 1_780_000_000.0
"""28 May 2026, in seconds since the epoch."""


class Talk:
    """Messages of a session, one after another."""

    def __init__(self) -> None:
        self.entries: list[TranscriptEntry] = []

    def _add(self, role: Any, origin: Origin, *blocks: Any) -> Talk:
        number = len(self.entries) + 2
        self.entries.append(
            Message(
                id=f"m{number}",
                role=role,
                blocks=blocks,
                origin=origin,
                is_typed=origin is Origin.USER,
                timestamp=START + number,
                line=number,
            )
        )
        return self

    def user(self, text: str) -> Talk:
        """The person says something."""
        return self._add("user", Origin.USER, TextBlock(text))

    def agent(self, text: str) -> Talk:
        """The agent says something."""
        return self._add("assistant", Origin.MODEL, TextBlock(text))

    def run(self, command: str, answer: str = "", *, code: int = 0) -> Talk:
        """The agent runs a command and has its answer."""
        return self.call(
            "Bash",
            {"command": command},
            f"Exit code: {code}\n{answer}" if code else answer,
            error=code != 0,
        )

    def edit(self, path: str = "/home/dev/shop/till.py") -> Talk:
        """The agent changes a file."""
        return self.call(
            "Edit",
            {"file_path": path, "old_string": "a", "new_string": "b"},
            "The file was updated.",
        )

    def call(self, name: str, given: dict[str, Any], answer: str, *, error: bool = False) -> Talk:
        """The agent calls a tool and has its answer."""
        use = f"call-{len(self.entries)}"
        self._add("assistant", Origin.MODEL, ToolUse(id=use, name=name, input=given))
        return self._add(
            "user",
            Origin.TOOL,
            ToolResult(tool_use_id=use, content=(TextBlock(answer),), is_error=error),
        )

    def thread(self, path: Path, **about: Any) -> Rollout:
        """The session as a file of memorist's, and the thread that it is."""
        head = SessionHead(session="s1", format="memorist", cwd="/home/dev/shop")
        path.write_bytes(b"".join(map(encode_transcript_entry, [head, *self.entries])))
        facts: dict[str, Any] = {
            "id": "s1",
            "path": str(path),
            "format": "memorist",
            "size": path.stat().st_size,
            "modified_ns": 1,
            "updated": 9,
        }
        facts |= {"cwd": "/home/dev/shop", "repository": "/home/dev/shop", "branch": "main"}
        return Rollout(**(facts | about))


def claude(
    path: Path,
    words: Sequence[str],
    *,
    session: str = "c1",
    side: bool = False,
    at: str = "2026-05-28T10:00:00.000Z",
    uuids: Sequence[object] = (),
    forked_from: str = "",
    cwd: str = "/home/dev/shop",
) -> Path:
    """A Claude Code session file in which the person says these things, each answered. `uuids`
    begin the ids of each exchange's records.
    """
    records: list[dict[str, Any]] = []
    parent = None
    for number, text in enumerate(words):
        for role, content in (
            ("user", text),
            ("assistant", [{"type": "text", "text": f"Done: {number}"}]),
        ):
            turn = uuids[number] if uuids else session
            uuid = f"{turn}-0000-4000-8000-{len(records):012x}"
            fork = {"forkedFrom": {"sessionId": forked_from}} if forked_from else {}
            records.append(
                {"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": session, "isSidechain": side, "cwd": cwd,
                 "gitBranch": "main", "timestamp": at, "message": {"role": role, "content": content}} | fork
            )  # fmt: skip
            parent = uuid
    return lines(path, records)


def codex(
    path: Path, words: Sequence[str], *, session: str = "x1", source: Any = "cli", **meta: Any
) -> Path:
    """A Codex rollout in which the person says these things, each answered."""
    at = "2026-05-28T11:00:00.000Z"
    records: list[dict[str, Any]] = [
        {
            "timestamp": at,
            "type": "session_meta",
            "payload": {
                "id": session,
                "cwd": "/home/dev/shop",
                "source": source,
                "git": {"branch": "main"},
            }
            | meta,
        }
    ]
    for text in words:
        for role, kind, said in (
            ("user", "input_text", text),
            ("assistant", "output_text", f"Done: {text}"),
        ):
            payload = {"type": "message", "role": role, "content": [{"type": kind, "text": said}]}
            records.append({"timestamp": at, "type": "response_item", "payload": payload})
    return lines(path, records)


def lines(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    """The records as a file of JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path
