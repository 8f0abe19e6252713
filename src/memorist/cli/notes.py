"""`memorist notes`."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click

from memorist.cli import show
from memorist.configuration import load_settings
from memorist.engine.memorist import Memorist
from memorist.errors import InputError, NothingToDo
from memorist.store.database import open_database
from memorist.store.layout import Layout, SessionLayout
from memorist.store.sessions import session_folders


@click.command()
@click.argument("session")
@click.option("--update", is_flag=True, help="Bring the notes up to date first, whatever the thresholds say.")
@click.option("--model", default=None, help="Model for --update, such as anthropic:NAME. [default: the setting, structural at first]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def notes(session: str, update: bool, model: str | None, as_json: bool) -> None:
    """Show the notes of a session.

    SESSION is its id, the start of its id, or its folder (such as one that `memorist replay` wrote).
    """
    name, layout = find_session(session)
    text = asyncio.run(_updated(name, layout, model)) if update else _read(layout, session)
    if as_json:
        show.json({"session": name, "path": str(layout.notes), "notes": text})
    else:
        show.notes(text)


def find_session(session: str) -> tuple[str, SessionLayout]:
    """Id and folder of the session given by its id, the start of its id, or its folder.

    Raises InputError.
    """
    folder = Path(session)
    if folder.is_dir():
        return folder.resolve().name, SessionLayout(folder.resolve())
    home = Layout(Path(load_settings(os.environ).settings.home).expanduser())
    if not home.database.exists():
        raise InputError(f"no session {session!r} is known: {home.home} holds none yet")
    database = open_database(home.database)
    try:
        found = session_folders(database, session)
    finally:
        database.close()
    exact = [row for row in found if row[0] == session] or found
    if not exact:
        raise InputError(f"no session begins with {session!r}; give an id, its start, or a session's folder")
    if len(exact) > 1:
        some = ", ".join(row[0] for row in exact[:5])
        raise InputError(f"{len(exact)} sessions begin with {session!r} ({some} …); give more of the id")
    return exact[0][0], SessionLayout(Path(exact[0][1]))


def _read(layout: SessionLayout, session: str) -> str:
    try:
        return layout.notes.read_text("utf-8", "replace")
    except OSError as error:
        raise NothingToDo(f"the session {session!r} has no notes yet; make them with: memorist notes {session} --update") from error


async def _updated(name: str, layout: SessionLayout, model: str | None) -> str:
    if not layout.transcript.exists():
        raise NothingToDo(f"{layout.folder} holds no transcript, so there is nothing to take notes of")
    async with Memorist(model=model) as engine:
        session = await engine.open(name, folder=layout.folder)
        return await session.summarise()
