"""How a session is opened again in the agent that recorded it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from glob import escape
from pathlib import Path

from msgspec import Struct

from memorist.errors import UnreadableSession
from memorist.rollouts.session_metadata import read_session_metadata
from memorist.rollouts.session_sources import list_agent_session_folders
from memorist.store.home_layout import Layout
from memorist.store.transcript_reader import UnpackedUtf8Lines

_RESUME_ARGUMENTS = {"claude-code": ("claude", "--resume"), "codex": ("codex", "resume")}
"""Program and arguments of each client, before the session's id."""


class SessionResumeCommand(Struct, frozen=True):
    """The client's own file of a session, and the call that goes on with it."""

    file: str
    folder: str
    """Where the session ran; Claude Code finds it from there alone. It may be gone."""
    command: str
    """For a shell, after a change to the folder."""


def find_client_resume_command(
    layout: Layout, id: str, environment: Mapping[str, str]
) -> SessionResumeCommand | None:
    """Search the clients' folders for the session's own file; None where it has none, or one of
    another agent.
    """
    for client, arguments in _RESUME_ARGUMENTS.items():
        for source in list_agent_session_folders(client, layout, environment):
            for file in sorted(source.folder.rglob(f"*{escape(id)}.jsonl")):
                return SessionResumeCommand(
                    str(file), _read_folder(file), shlex.join((*arguments, id))
                )
    return None


def _read_folder(file: Path) -> str:
    try:
        return read_session_metadata(UnpackedUtf8Lines(file)).head.cwd
    except (UnreadableSession, OSError):
        return ""
