"""`memorist notes`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from memorist.auto_memory.memory_location import locate_project_root
from memorist.cli import output
from memorist.cli.command_environment import find_home, load_project_settings
from memorist.cli.recorded_sessions import SessionFile, find_recorded_session
from memorist.cli.sessions_command import find_newest_notes
from memorist.compaction.offline_compaction import (
    build_structural_notes,
)
from memorist.compaction.window_at_message import read_recorded_window
from memorist.core.prompt_templates import load_prompt
from memorist.engine.engine import Memorist
from memorist.engine.session_list import list_known_sessions
from memorist.errors import NothingToDo, SessionInUse
from memorist.formats.format_detection import read_session
from memorist.session_memory.structural_notes import NotesBudget
from memorist.store.disk_files import DiskFiles, read_if_exists
from memorist.store.home_layout import SessionLayout
from memorist.store.transcript_reader import LineFile


@click.command()
@click.argument("session", default="")
@click.option(
    "--update", is_flag=True, help="Bring the notes up to date first, whatever the thresholds say."
)
@click.option(
    "--model",
    default=None,
    help="Model for --update, such as anthropic:NAME. [default: the setting, structural at first]",
)
@output.JSON_OPTION
def notes_command(session: str, update: bool, model: str | None, as_json: bool) -> None:
    """Show the notes of a session; without SESSION of the newest one of this folder.

    SESSION is its id, the start of its id, its file, or its folder (such as one that `memorist
    replay` wrote). `memorist sessions` lists them. Of a session that memorist took no part in,
    notes are made from the recording, and not kept.

    Example: memorist notes 01a20126
    """
    found = find_recorded_session(session) if session else _find_newest_session()
    layout = found.layout
    if update:
        text = _update_unless_open(found, model)
    else:
        text = _read_notes(layout) or _make_notes(found)
    if as_json:
        path = str(layout.notes) if layout and layout.notes.exists() else ""
        output.print_json({"session": found.name, "path": path, "notes": text})
    else:
        output.print_notes(text)


def _find_newest_session() -> SessionFile:
    """The newest session of this folder that has notes, else the newest that is recorded. Raises
    NothingToDo.
    """
    try:
        name, layout = find_newest_notes()
    except NothingToDo:
        recorded = [
            each
            for each in list_known_sessions(find_home(), locate_project_root(Path.cwd()))
            if each.file
        ]
        if not recorded:
            raise
        return SessionFile(recorded[0].id, Path(recorded[0].file))
    return SessionFile(name, layout.transcript, layout)


def _read_notes(layout: SessionLayout | None) -> str:
    """The notes that are kept of a session; empty where there are none."""
    raw = read_if_exists(DiskFiles(), layout.notes) if layout else None
    return (raw or b"").decode("utf-8", "replace")


def _make_notes(found: SessionFile) -> str:
    """The notes that a recording proves."""
    recorded = read_recorded_window(read_session(LineFile(found.path)))
    if not recorded.all_messages:
        raise NothingToDo(f"{found.path} holds no message, so there is nothing to take notes of")
    click.echo(f"memorist: no notes are kept of {found.name}; these are made from it now", err=True)
    tokens = load_project_settings().session_memory.structural_tokens
    return build_structural_notes(
        recorded, load_prompt("session_memory/template"), NotesBudget(total_tokens=tokens)
    )


def _update_unless_open(found: SessionFile, model: str | None) -> str:
    """The notes brought up to date; those that stand where another process has the session open,
    such as the one behind an agent's hooks, which keeps them by itself.
    """
    try:
        return asyncio.run(_update_notes(found, model))
    except SessionInUse:
        text = _read_notes(found.layout)
        if not text:
            raise
        click.echo(
            f"memorist: {found.name} goes on in another process, which brings its notes up to date "
            "by itself; these are the newest",
            err=True,
        )
        return text


async def _update_notes(found: SessionFile, model: str | None) -> str:
    if found.layout is None or not found.layout.transcript.exists():
        raise NothingToDo(
            f"memorist keeps no transcript of {found.name}, so it has no notes to bring up to "
            "date; leave --update out to see what its recording proves"
        )
    async with Memorist(model=model) as engine:
        session = await engine.open(found.name, folder=found.layout.folder)
        return await session.summarise()
