"""Sessions of agents that keep them in a database: each is copied into a transcript of memorist, by
which everything else reads it. The database is opened for reading alone.

A copy is made again only when its session was changed after it was made: the copy's modification
time is the session's.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from memorist.core.messages import Message
from memorist.formats.cursor import read_chat
from memorist.formats.json_records import ChatDocument, JsonRecord, RecordFields
from memorist.formats.opencode import read_exported_session
from memorist.formats.transcript_format import (
    FAILURES,
    SkippedLine,
    TranscriptEntry,
    encode_transcript_entry,
)
from memorist.platforms.regular_files import read_regular_file
from memorist.platforms.user_home import expand_user
from memorist.rollouts.session_sources import SkippedFile
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout, make_folder_name
from memorist.store.session_memory_mode import read_memory_off_sessions

MAX_COPIED_BYTES = 400_000_000
"""Largest session that is copied, in bytes of its rows: what the index of sessions reads."""
BUSY_TIMEOUT_SECONDS = 2.0
"""Longest wait for a database that its agent is writing to."""


def find_database_folder(agent: str, environment: Mapping[str, str]) -> str:
    """Where an agent keeps its database; empty for an agent that keeps files."""
    home = Path(environment.get("HOME") or expand_user())
    if agent == "opencode":
        data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
        return str(data / "opencode")
    if agent != "cursor":
        return ""
    if sys.platform == "darwin":
        return str(home / "Library" / "Application Support" / "Cursor" / "User")
    roaming = environment.get("APPDATA", "") if sys.platform == "win32" else ""
    settings = roaming or environment.get("XDG_CONFIG_HOME") or home / ".config"
    return str(Path(settings) / "Cursor" / "User")


def copy_opencode_sessions(layout: Layout, environment: Mapping[str, str]) -> list[SkippedFile]:
    """Copy the sessions of opencode that are new or changed; what could not be read, with why.
    Raises StoreError when a copy cannot be written.
    """
    folder = Path(find_database_folder("opencode", environment))
    target = layout.copied_sessions / "opencode"
    skipped: list[SkippedFile] = []
    off = read_memory_off_sessions(DiskFiles(), layout)
    for path in sorted(folder.glob("opencode*.db")):
        try:
            with closing(_open_for_reading(path)) as database:
                for session in _list_opencode_sessions(database):
                    id = session.text("id")
                    copy = target / f"{make_folder_name(id)}.jsonl"
                    changed = session.count("time_updated") * 1_000_000
                    if id not in off and _is_due(copy, changed):
                        document = _read_opencode_session(database, session)
                        _write_copy(copy, read_exported_session(document), changed)
        except sqlite3.Error as error:
            skipped.append(SkippedFile(path=str(path), why=f"it cannot be read ({error})"))
    return skipped


def _open_for_reading(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=BUSY_TIMEOUT_SECONDS)
    connection.row_factory = sqlite3.Row
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


def _list_opencode_sessions(database: sqlite3.Connection) -> Iterator[RecordFields]:
    """The rows of sessions that are no sub-agent's work."""
    for row in database.execute("select * from session").fetchall():
        session = RecordFields(dict(row))
        if session.text("id") and not session.get("parent_id"):
            yield session


def _read_opencode_session(database: sqlite3.Connection, session: RecordFields) -> ChatDocument:
    id = session.text("id")
    info = {
        "id": id,
        "directory": session.text("directory"),
        "title": session.text("title"),
        "version": session.text("version"),
        "time": {"created": session.get("time_created")},
        "revert": _parse_row(session.get("revert")),
        "permission": _decode(session.get("permission")),
    }
    messages: dict[str, RecordFields] = {}
    remarks: list[SkippedLine] = []
    for row in database.execute(
        "select id, data from message where session_id = ? order by time_created, id", (id,)
    ):
        about = _parse_row(row["data"]) | {"id": row["id"]}
        messages[row["id"]] = RecordFields(info=about, parts=[])
    size = 0
    for row in database.execute(
        "select id, message_id, data from part where session_id = ? order by message_id, id", (id,)
    ):
        size += len(row["data"] or "")
        if size > MAX_COPIED_BYTES:
            remarks.append(SkippedLine(0, f"the session is longer than {MAX_COPIED_BYTES:,} bytes"))
            break
        if row["message_id"] in messages:
            part = _parse_row(row["data"]) | {"id": row["id"]}
            messages[row["message_id"]]["parts"].append(part)
    records = [JsonRecord(number, each) for number, each in enumerate(messages.values(), 1)]
    return ChatDocument(RecordFields(info=info), tuple(records), tuple(remarks))


def _parse_row(text: object) -> RecordFields:
    """The object of a row; an empty one for anything else."""
    return RecordFields(value=_decode(text)).fields("value")


def _decode(text: object) -> object:
    """The value of a column that holds JSON; None for anything else."""
    if not isinstance(text, str | bytes):
        return None
    try:
        return msgspec.json.decode(text)
    except FAILURES:
        return None


def copy_cursor_chats(layout: Layout, environment: Mapping[str, str]) -> list[SkippedFile]:
    """Copy the chats of Cursor that are new or changed; what could not be read, with why. Raises
    StoreError when a copy cannot be written.
    """
    user = Path(find_database_folder("cursor", environment))
    path = user / "globalStorage" / "state.vscdb"
    target = layout.copied_sessions / "cursor"
    if not path.exists():
        return []
    folders = _find_chat_folders(user / "workspaceStorage")
    off = read_memory_off_sessions(DiskFiles(), layout)
    try:
        with closing(_open_for_reading(path)) as database:
            for chat in _list_chats(database):
                id = chat.text("composerId")
                copy = target / f"{make_folder_name(id)}.jsonl"
                updated = chat.count("lastUpdatedAt") or chat.count("createdAt")
                if id not in off and _is_due(copy, updated * 1_000_000):
                    messages = tuple(_read_bubbles(database, chat))
                    entries = read_chat(ChatDocument(chat, messages), folders.get(id, ""))
                    _write_copy(copy, entries, updated * 1_000_000)
    except sqlite3.Error as error:
        return [SkippedFile(path=str(path), why=f"it cannot be read ({error})")]
    return []


def _list_chats(database: sqlite3.Connection) -> Iterator[RecordFields]:
    rows = database.execute(
        "select value from cursorDiskKV where key >= 'composerData:' and key < 'composerData;'"
    ).fetchall()
    for row in rows:
        chat = _parse_row(row["value"])
        if chat.text("composerId"):
            yield chat


def _read_bubbles(database: sqlite3.Connection, chat: RecordFields) -> Iterator[JsonRecord]:
    """The messages of a chat: within its record, as once, or in rows of their own."""
    chats = chat.field_list("conversation")
    number = 0
    for number, bubble in enumerate(chats, 1):
        yield JsonRecord(number, bubble)
    for header in () if chats else chat.field_list("fullConversationHeadersOnly"):
        id = header.text("bubbleId")
        row = database.execute(
            "select value from cursorDiskKV where key = ?",
            (f"bubbleId:{chat.text('composerId')}:{id}",),
        ).fetchone()
        bubble = _parse_row(row["value"]) if row is not None else RecordFields()
        number += 1
        yield JsonRecord(number, RecordFields(header | bubble))


def _find_chat_folders(storage: Path) -> dict[str, str]:
    """The project's folder of each chat, as the workspaces tell it."""
    found: dict[str, str] = {}
    for workspace_file in sorted(storage.glob("*/workspace.json")):
        with suppress(OSError, ValueError, sqlite3.Error):
            folder = urlsplit(_parse_row(read_regular_file(workspace_file)).text("folder"))
            if folder.scheme != "file":
                continue
            with closing(_open_for_reading(workspace_file.with_name("state.vscdb"))) as database:
                row = database.execute(
                    "select value from ItemTable where key = 'composer.composerData'"
                ).fetchone()
            chats = _parse_row(row["value"] if row else None).field_list("allComposers")
            found |= dict.fromkeys(
                (each.text("composerId") for each in chats), unquote(folder.path)
            )
    return found


def _is_due(copy: Path, changed_ns: int) -> bool:
    try:
        return copy.stat().st_mtime_ns < changed_ns
    except FileNotFoundError:
        return True


def _write_copy(path: Path, entries: Iterator[TranscriptEntry], changed_ns: int) -> None:
    lines: list[bytes] = []
    for entry in entries:
        numbered = (
            msgspec.structs.replace(entry, line=len(lines) + 1)
            if isinstance(entry, Message)
            else entry
        )
        if line := encode_transcript_entry(numbered, redacts=True):
            lines.append(line)
    DiskFiles().write(path, b"".join(lines))
    os.utime(path, ns=(changed_ns, changed_ns))
