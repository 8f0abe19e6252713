"""`memorist notes`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from memorist.cli import output
from memorist.cli.command_environment import load_home_layout, load_project_settings
from memorist.engine.engine import Memorist
from memorist.engine.recorded_session import (
    RecordedSessionLocation,
    build_structural_session_notes,
    find_newest_session_preferring_notes,
    find_recorded_session,
    read_session_notes,
)
from memorist.errors import NothingToDo, SessionInUse
from memorist.session_memory.structural_notes import NotesBudget


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
    found = (
        find_recorded_session(load_home_layout(), session)
        if session
        else find_newest_session_preferring_notes(load_home_layout(), Path.cwd())
    )
    if update:
        text = _update_unless_open(found, model)
    else:
        text = read_session_notes(found) or _build_notes(found)
    if as_json:
        path = str(found.layout.notes) if found.layout and found.layout.notes.exists() else ""
        output.print_json({"session": found.id, "path": path, "notes": text})
    else:
        output.print_session_notes(text)


def _build_notes(found: RecordedSessionLocation) -> str:
    budget = NotesBudget.from_settings(load_project_settings().session_memory)
    notes = build_structural_session_notes(found, budget)
    click.echo(f"memorist: no notes are kept of {found.id}; these are made from it now", err=True)
    return notes


def _update_unless_open(found: RecordedSessionLocation, model: str | None) -> str:
    """The notes brought up to date; those that stand where another process has the session open,
    such as the one behind an agent's hooks, which keeps them by itself.
    """
    try:
        return asyncio.run(_update_notes(found, model))
    except SessionInUse:
        text = read_session_notes(found)
        if not text:
            raise
        click.echo(
            f"memorist: {found.id} goes on in another process, which brings its notes up to date "
            "by itself; these are the newest",
            err=True,
        )
        return text


async def _update_notes(found: RecordedSessionLocation, model: str | None) -> str:
    if found.layout is None or not found.layout.transcript.exists():
        raise NothingToDo(
            f"memorist keeps no transcript of {found.id}, so it has no notes to bring up to "
            "date; leave --update out to see what its recording proves"
        )
    async with Memorist(model=model) as engine:
        session = await engine.open(found.id, folder=found.layout.folder)
        return await session.update_notes()
