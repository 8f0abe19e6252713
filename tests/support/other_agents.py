"""One small session as each other agent records it: what was asked, a failing command, the answer.

The shapes follow what the programs write; the words are ours.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

ASKED = "Count the amounts in invoices.txt by hand, never with a script."
ANSWERED = "The marmot ledger holds 200.50 in all."
COMMAND = "cat ledger.txt"
FAILED = "cat: ledger.txt: No such file or directory"
_MS = 1_780_000_000_000
_ISO = "2026-05-28T20:26:40.000Z"


def _lines(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in records)


def pi_session(cwd: str) -> bytes:
    """Version 3 of pi's format, with a branch that was left."""

    def entry(id: str, parent: str | None, **more: Any) -> dict[str, Any]:
        return {"id": id, "parentId": parent, "timestamp": _ISO, **more}

    def message(id: str, parent: str | None, **said: Any) -> dict[str, Any]:
        return entry(id, parent, type="message", message=said)

    text = [{"type": "text", "text": ASKED}]
    call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": COMMAND}}
    return _lines(
        {"type": "session", "version": 3, "id": "pi-1", "timestamp": _ISO, "cwd": cwd},
        entry("m0", None, type="model_change", provider="p", modelId="scripted"),
        message("a0", "m0", role="user", content=[{"type": "text", "text": "a left branch"}]),
        message("a1", "m0", role="user", content=text),
        message("a2", "a1", role="assistant", content=[call], usage={"input": 7, "output": 3}),
        message(
            "a3",
            "a2",
            role="toolResult",
            toolCallId="c1",
            toolName="bash",
            isError=True,
            content=[{"type": "text", "text": FAILED}],
        ),
        message("a4", "a3", role="assistant", content=[{"type": "text", "text": ANSWERED}]),
    )


def copilot_session(cwd: str) -> bytes:
    """The log of events of Copilot CLI."""

    def event(kind: str, **data: Any) -> dict[str, Any]:
        return {"type": kind, "data": data, "id": f"e-{kind}", "timestamp": _ISO}

    call = {"toolCallId": "c1", "name": "bash", "arguments": {"command": COMMAND}}
    return _lines(
        event("session.start", sessionId="cop-1", startTime=_ISO, context={"cwd": cwd}),
        event("system.message", role="system", content="You are an agent."),
        event("user.message", content=ASKED, transformedContent=f"<now/>{ASKED}"),
        event("assistant.message", content="", toolRequests=[call], outputTokens=3),
        event("tool.execution_start", toolCallId="c1", toolName="bash"),
        event("tool.execution_complete", toolCallId="c1", success=False, error={"message": FAILED}),
        event("assistant.message", content="hidden", parentToolCallId="c9"),
        event("assistant.message", content=ANSWERED, toolRequests=[]),
    )


def _gemini_messages() -> list[dict[str, Any]]:
    response = {"functionResponse": {"id": "c1", "response": {"error": FAILED}}}
    call = {
        "id": "c1",
        "name": "run_shell_command",
        "args": {"command": COMMAND},
        "status": "error",
        "result": [response],
    }
    return [
        {"id": "g1", "timestamp": _ISO, "type": "user", "content": [{"text": ASKED}]},
        {"id": "g2", "timestamp": _ISO, "type": "info", "content": "Update available"},
        {"id": "g3", "timestamp": _ISO, "type": "gemini", "content": "", "toolCalls": [call]},
        {"id": "g4", "timestamp": _ISO, "type": "gemini", "content": ANSWERED},
    ]


def _gemini_head(cwd: str) -> dict[str, Any]:
    del cwd
    return {"sessionId": "gem-1", "projectHash": "h", "startTime": _ISO, "lastUpdated": _ISO}


def gemini_document(cwd: str) -> bytes:
    """One document, as Gemini CLI wrote it first."""
    return json.dumps({**_gemini_head(cwd), "messages": _gemini_messages()}, indent=2).encode()


def gemini_session(cwd: str) -> bytes:
    """Lines, with a message recorded twice and one taken back."""
    first, *others = _gemini_messages()
    taken_back = {"id": "g9", "timestamp": _ISO, "type": "user", "content": "a left branch"}
    return _lines(
        _gemini_head(cwd),
        {**first, "content": "half"},
        first,
        taken_back,
        {"$rewindTo": "g9"},
        *others,
        {"$set": {"lastUpdated": _ISO}},
    )


def opencode_export(cwd: str) -> dict[str, Any]:
    """What `opencode export` prints."""
    time = {"created": _MS}
    state = {"status": "error", "input": {"command": COMMAND}, "error": FAILED}
    tool = {"type": "tool", "tool": "bash", "callID": "c1", "state": state, "id": "p3"}
    return {
        "info": {"id": "ses_1", "directory": cwd, "title": "Amounts", "version": "1", "time": time},
        "messages": [
            {
                "info": {"id": "m1", "role": "user", "time": time},
                "parts": [
                    {"type": "text", "text": ASKED, "id": "p1"},
                    {"type": "text", "text": "a reminder", "synthetic": True, "id": "p2"},
                ],
            },
            {"info": {"id": "m2", "role": "assistant", "time": time}, "parts": [tool]},
            {
                "info": {"id": "m3", "role": "assistant", "time": time},
                "parts": [{"type": "text", "text": ANSWERED, "id": "p4"}],
            },
        ],
    }


def opencode_document(cwd: str) -> bytes:
    """The export as text."""
    return json.dumps(opencode_export(cwd), indent=2).encode()


RECORDED: dict[str, Callable[[str], bytes]] = {
    "copilot_cli": copilot_session,
    "gemini_cli": gemini_session,
    "gemini_cli document": gemini_document,
    "opencode": opencode_document,
    "pi": pi_session,
}
"""What a file of each format holds for a session in a folder."""


def write_opencode_database(path: Path, export: dict[str, Any], *, updated: int = _MS) -> None:
    """The tables of opencode that hold sessions, as far as they matter here."""
    path.parent.mkdir(parents=True, exist_ok=True)
    info = export["info"]
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(
            "create table if not exists session (id text primary key, parent_id text, directory "
            "text, title text, version text, revert text, permission text, time_created integer, "
            "time_updated integer); create table if not exists message (id text primary key, session_id text, "
            "time_created integer, data text); create table if not exists part (id text primary "
            "key, message_id text, session_id text, data text);"
        )
        database.execute(
            "insert or replace into session values (?, null, ?, ?, ?, null, ?, ?, ?)",
            (
                info["id"],
                info["directory"],
                info["title"],
                info["version"],
                json.dumps(info.get("permission")),
                _MS,
                updated,
            ),
        )
        for number, message in enumerate(export["messages"]):
            id = message["info"]["id"]
            database.execute(
                "insert or replace into message values (?, ?, ?, ?)",
                (id, info["id"], _MS + number, json.dumps(message["info"])),
            )
            for part in message["parts"]:
                database.execute(
                    "insert or replace into part values (?, ?, ?, ?)",
                    (part["id"], id, info["id"], json.dumps(part)),
                )


def write_cursor_databases(user: Path, cwd: Path) -> None:
    """Cursor's database of all chats, and that of the workspace that a chat belongs to."""
    chat = {
        "composerId": "cur-1",
        "name": "Amounts",
        "createdAt": _MS,
        "lastUpdatedAt": _MS,
        "fullConversationHeadersOnly": [
            {"bubbleId": f"b{number}", "type": kind} for number, kind in ((1, 1), (2, 2), (3, 2))
        ],
    }
    tool = {
        "name": "run_terminal_cmd",
        "toolCallId": "c1",
        "status": "error",
        "rawArgs": json.dumps({"command": COMMAND}),
        "result": json.dumps({"output": FAILED}),
    }
    rows = {
        "composerData:cur-1": chat,
        "bubbleId:cur-1:b1": {"bubbleId": "b1", "type": 1, "text": ASKED, "createdAt": _ISO},
        "bubbleId:cur-1:b2": {"bubbleId": "b2", "type": 2, "text": "", "toolFormerData": tool},
        "bubbleId:cur-1:b3": {"bubbleId": "b3", "type": 2, "text": ANSWERED},
    }
    _write_rows(user / "globalStorage" / "state.vscdb", "cursorDiskKV", rows)
    workspace = user / "workspaceStorage" / "w1"
    _write_rows(
        workspace / "state.vscdb",
        "ItemTable",
        {"composer.composerData": {"allComposers": [{"composerId": "cur-1"}]}},
    )
    (workspace / "workspace.json").write_text(json.dumps({"folder": cwd.as_uri()}))


_INSERTS = {
    "cursorDiskKV": "insert into cursorDiskKV values (?, ?)",
    "ItemTable": "insert into ItemTable values (?, ?)",
}


def _write_rows(path: Path, table: str, rows: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"create table {table} (key text unique, value blob)")
        database.executemany(
            _INSERTS[table], [(key, json.dumps(value)) for key, value in rows.items()]
        )
