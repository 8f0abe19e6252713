"""Hand a recorded session over: the first prompt that tells another agent what it takes up, and the
session file by which a client resumes it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from uuid import uuid4

from msgspec import Struct

from memorist.compaction.handoff import HandoffSource, render_handoff
from memorist.core.prompt_templates import load_prompt
from memorist.engine.recorded_session import (
    RecordedSessionLocation,
    read_recorded_window,
    read_session_notes,
)
from memorist.errors import InputError
from memorist.formats.resumable_session import (
    MAX_FOLDER_NAME_CHARACTERS,
    ResumableClient,
    render_resumable_session,
)
from memorist.formats.transcript_format import FORMAT_TITLES
from memorist.platforms.user_home import expand_user
from memorist.session_memory.notes_template import parse_authored_sections
from memorist.store.disk_files import DiskFiles


def render_session_handoff(session: RecordedSessionLocation, budget: int) -> str:
    """The hand-over of a session, in at most `budget` tokens; nothing of the session is changed.

    Raises InputError where it holds no message, and StoreError.
    """
    recorded = read_recorded_window(session)
    kind = recorded.head.format if recorded.head else "memorist"
    return render_handoff(
        HandoffSource(
            recorded=recorded,
            agent=f"a session of {FORMAT_TITLES.get(kind, kind)}",
            transcript=str(session.path),
            notes=_read_written_notes(session),
        ),
        load_prompt("compaction/handoff"),
        budget,
    )


def _read_written_notes(session: RecordedSessionLocation) -> str:
    """What a model wrote into the notes; what structure gives is made anew."""
    bodies = parse_authored_sections(
        read_session_notes(session), load_prompt("session_memory/template")
    )
    return "\n".join(f"### {title}\n{body}" for title, body in bodies.items() if body)


class ResumableSessionFile(Struct, frozen=True):
    """A session file of a client, and the arguments by which the client resumes it."""

    path: Path
    arguments: tuple[str, ...]


def write_handoff_session(
    text: str,
    client: ResumableClient,
    *,
    folder: Path,
    environment: Mapping[str, str],
    at: datetime,
) -> ResumableSessionFile:
    """Write a new session among the client's own that begins with `text`, for work in `folder`.

    Raises InputError where the client could not find it, and StoreError.
    """
    cwd = os.path.realpath(folder)
    if client == "claude-code" and len(cwd) > MAX_FOLDER_NAME_CHARACTERS:
        raise InputError(
            "the path of this folder is too long for Claude Code to find a session by it; "
            "hand over without --resumable"
        )
    home = Path(environment.get("HOME") or expand_user())
    folders = {
        "claude-code": environment.get("CLAUDE_CONFIG_DIR") or home / ".claude",
        "codex": environment.get("CODEX_HOME") or home / ".codex",
    }
    written = render_resumable_session(client, text, id=uuid4(), cwd=cwd, at=at)
    path = Path(folders[client], written.path).absolute()
    if not DiskFiles().create(path, written.data):
        raise InputError(f"{path} exists already")
    return ResumableSessionFile(path, written.arguments)
