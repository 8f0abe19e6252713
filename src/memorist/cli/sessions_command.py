"""`memorist sessions`: the sessions of a project, or of all, newest first, each with its title."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

import click
from msgspec import Struct

from memorist.auto_memory.memory_location import locate_project_root
from memorist.cli import output
from memorist.cli.command_environment import find_home
from memorist.core.prompt_templates import load_prompt
from memorist.core.sentences import shorten
from memorist.errors import NothingToDo
from memorist.formats.format_detection import read_session
from memorist.formats.transcript_format import FORMAT_TITLES, TranscriptEntry
from memorist.mcp_server.project_sessions import ProjectSessions
from memorist.rollouts.raw_memory import parse_raw_memory
from memorist.session_memory.notes_template import (
    STRUCTURAL_MARK,
    TITLE_SECTION,
    parse_section_bodies,
)
from memorist.store.database import open_database
from memorist.store.disk_files import DiskFiles, read_if_exists
from memorist.store.extract_rows import find_extract
from memorist.store.home_layout import SessionLayout
from memorist.store.rollout_rows import Rollout, list_rollouts
from memorist.store.session_rows import list_newest_sessions
from memorist.store.state_database import SqliteState
from memorist.store.transcript_reader import LineFile
from memorist.system import SystemClock

TITLE_CHARACTERS = 90
"""Characters of a title on one line of a terminal. Our choice."""


class SessionEntry(Struct, frozen=True, kw_only=True):
    """One session of the list."""

    id: str
    updated: float
    """Seconds since the epoch."""
    project: str
    agent: str
    title: str
    notes: bool
    """Whether memorist keeps notes of it."""
    file: str = ""
    """Where it is recorded."""
    folder: str = ""
    """Where memorist keeps its notes; empty where it keeps none."""


@click.command("sessions")
@click.option("--all", "everywhere", is_flag=True, help="Of every project, not of this one alone.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Sessions to show."
)
@output.JSON_OPTION
def sessions_command(everywhere: bool, limit: int, as_json: bool) -> None:
    """List the sessions of this project, newest first, with what each was about.

    Example: memorist sessions --all --limit 5
    """
    found = list_known_sessions(None if everywhere else locate_project_root(Path.cwd()))
    if as_json:
        output.print_json({"sessions": found[:limit]})
        return
    for each in found[:limit]:
        day = datetime.fromtimestamp(each.updated).astimezone().strftime("%Y-%m-%d %H:%M")
        prefix = f"{Path(each.project).name}: " if everywhere else ""
        title = output.make_one_line(prefix + (each.title or "(nothing was asked)"))
        click.echo(
            f"{day}  {each.id[:13]:<13}  {each.agent:<11}  {'notes' if each.notes else '     '}  "
            f"{shorten(title, TITLE_CHARACTERS)}"
        )
    if not found:
        click.echo("no session of this folder is known yet; --all shows those of others")
    elif len(found) > limit:
        click.echo(f"{len(found) - limit:,} older ones: --limit {len(found)}")


def list_known_sessions(root: Path | None) -> list[SessionEntry]:
    """The sessions that memorist took part in or found on the disk, newest first; of one project by
    its root, or of all. Raises StoreError.
    """
    home = find_home()
    if not home.database.exists():
        return []
    database = open_database(home.database)
    try:
        rows = list_newest_sessions(database)
        past = {each.id: each for each in list_rollouts(SqliteState(database, SystemClock().now))}
    finally:
        database.close()
    own = {
        id: _from_row(id, project, folder, updated, past) for id, project, folder, updated in rows
    }
    found = [*own.values(), *(_from_rollout(each) for id, each in past.items() if id not in own)]
    roots: dict[str, Path] = {}
    return sorted(
        (each for each in found if root is None or _root_of(each.project, roots) == root),
        key=lambda each: each.updated,
        reverse=True,
    )


def find_outcomes(ids: Iterable[str]) -> dict[str, str]:
    """What became of these sessions, as far as it was extracted: `success`, `partial` or `fail`."""
    home = find_home()
    if not home.database.exists():
        return {}
    with closing(open_database(home.database)) as database:
        state = SqliteState(database, SystemClock().now)
        found = {id: find_extract(state, id) for id in ids}
    return {
        id: parse_raw_memory(outcome.extracted.raw_memory).outcome
        for id, outcome in found.items()
        if outcome is not None and not outcome.extracted.is_empty
    }


def read_kept_notes(entry: SessionEntry) -> str:
    """The notes that memorist keeps of a session; empty where it keeps none. Raises StoreError."""
    if not entry.folder:
        return ""
    notes = read_if_exists(DiskFiles(), SessionLayout(Path(entry.folder)).notes) or b""
    return notes.decode("utf-8", "replace").strip()


def read_recording(entry: SessionEntry) -> Iterator[TranscriptEntry]:
    """The entries of a session as it is recorded, from the first on. Raises StoreError."""
    return read_session(LineFile(Path(entry.file)))


def measure_recording(entry: SessionEntry) -> int:
    """Bytes of the file that a session is recorded in; 0 where there is none."""
    facts = DiskFiles().facts(Path(entry.file))
    return 0 if facts is None else facts.size


def _root_of(project: str, roots: dict[str, Path]) -> Path:
    if project not in roots:
        roots[project] = locate_project_root(Path(project)) if project else Path()
    return roots[project]


def _from_row(
    id: str, project: str, folder: str, updated: float, past: Mapping[str, Rollout]
) -> SessionEntry:
    notes = read_if_exists(DiskFiles(), SessionLayout(Path(folder)).notes) or b""
    file = past.get(id)
    return SessionEntry(
        id=id,
        updated=max(updated, 0.0 if file is None else file.updated),
        project=project,
        agent="memorist" if file is None else FORMAT_TITLES[file.format],
        title=_title_of(notes.decode("utf-8", "replace"))
        or ("" if file is None else file.first_words),
        notes=bool(notes.strip()),
        file=str(SessionLayout(Path(folder)).transcript) if file is None else file.path,
        folder=folder,
    )


def _from_rollout(file: Rollout) -> SessionEntry:
    return SessionEntry(
        id=file.id,
        updated=file.updated,
        project=file.repository or file.cwd,
        agent=FORMAT_TITLES[file.format],
        title=file.first_words,
        notes=False,
        file=file.path,
    )


def _title_of(notes: str) -> str:
    """The title that the notes give a session; empty where they give none."""
    body = parse_section_bodies(notes, load_prompt("session_memory/template")).get(
        TITLE_SECTION, ""
    )
    lines: Sequence[str] = body.replace(STRUCTURAL_MARK, "").strip().splitlines()
    return lines[0].strip() if lines else ""


def find_newest_notes() -> tuple[str, SessionLayout]:
    """Id and folder of the newest session of this folder that has notes. Raises NothingToDo."""
    home = find_home()
    if not home.database.exists():
        raise NothingToDo("no session is known yet; `memorist setup` joins your agent")
    database = open_database(home.database)
    try:
        sessions = ProjectSessions(
            locate_project_root(Path.cwd()), files=DiskFiles(), database=lambda: database
        )
        found, _ = sessions.find_notes("")
    finally:
        database.close()
    return found.id, found.layout
