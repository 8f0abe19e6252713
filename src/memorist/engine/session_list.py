"""The sessions that are known, of a project or of all: each with its title, its agent, where it is
recorded, what became of it, and the notes that are kept of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from memorist.auto_memory.memory_location import locate_root_of_recorded_folder
from memorist.core.prompt_templates import load_prompt
from memorist.errors import UnreadableSession
from memorist.formats.format_detection import read_session
from memorist.formats.transcript_format import FORMAT_TITLES, TranscriptEntry
from memorist.rollouts.raw_memory import parse_raw_memory
from memorist.rollouts.session_metadata import read_session_metadata
from memorist.session_memory.notes_template import (
    STRUCTURAL_MARK,
    TITLE_SECTION,
    parse_section_bodies,
)
from memorist.store.disk_files import DiskFiles, read_if_exists
from memorist.store.extract_rows import find_extract
from memorist.store.home_layout import Layout, SessionLayout
from memorist.store.rollout_rows import Rollout, list_rollouts
from memorist.store.session_rows import list_sessions_newest_first
from memorist.store.sqlite_database import open_database
from memorist.store.state_database import SqliteStateDatabase
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.system import SystemClock


class KnownSession(Struct, frozen=True, kw_only=True):
    """One session of the list."""

    id: str
    updated: float
    """Seconds since the epoch."""
    project: str
    agent: str
    title: str
    has_notes: bool = field(name="notes")
    """Whether memorist keeps notes of it."""
    file: str = ""
    """Where it is recorded."""
    folder: str = ""
    """Where memorist keeps its notes; empty where it keeps none."""


def list_known_sessions(home: Layout, root: Path | None) -> list[KnownSession]:
    """The sessions that memorist took part in or found on the disk, newest first; of one project by
    its root, or of all. Raises StoreError.
    """
    if not home.database.exists():
        return []
    database = open_database(home.database)
    try:
        rows = list_sessions_newest_first(database)
        past = {
            each.id: each
            for each in list_rollouts(SqliteStateDatabase(database, SystemClock().now))
        }
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


def find_session_outcomes(home: Layout, ids: Iterable[str]) -> dict[str, str]:
    """What became of these sessions, as far as it was extracted: `success`, `partial` or `fail`."""
    if not home.database.exists():
        return {}
    with contextlib.closing(open_database(home.database)) as database:
        state = SqliteStateDatabase(database, SystemClock().now)
        found = {id: find_extract(state, id) for id in ids}
    return {
        id: parse_raw_memory(outcome.extracted.raw_memory).outcome
        for id, outcome in found.items()
        if outcome is not None and not outcome.extracted.is_empty
    }


def read_notes_of_known_session(entry: KnownSession) -> str:
    """The notes that memorist keeps of a session; empty where it keeps none. Raises StoreError."""
    if not entry.folder:
        return ""
    notes = read_if_exists(DiskFiles(), SessionLayout(Path(entry.folder)).notes) or b""
    return notes.decode("utf-8", "replace").strip()


def read_transcript_of_session(entry: KnownSession) -> Iterator[TranscriptEntry]:
    """The entries of a session as it is recorded, from the first on. Raises StoreError."""
    return read_session(UnpackedUtf8Lines(Path(entry.file)))


def read_recording_size(entry: KnownSession) -> int:
    """Bytes of the file that a session is recorded in; 0 where there is none."""
    facts = DiskFiles().lstat(Path(entry.file))
    return 0 if facts is None else facts.size


def _root_of(project: str, roots: dict[str, Path]) -> Path:
    if project not in roots:
        roots[project] = locate_root_of_recorded_folder(project)
    return roots[project]


def _from_row(
    id: str, project: str, folder: str, updated: float, past: Mapping[str, Rollout]
) -> KnownSession:
    notes = read_if_exists(DiskFiles(), SessionLayout(Path(folder)).notes) or b""
    file = past.get(id)
    transcript = SessionLayout(Path(folder)).transcript
    title = _title_of(notes.decode("utf-8", "replace"))
    if not title:
        title = _read_first_words(transcript) if file is None else file.first_words
    return KnownSession(
        id=id,
        updated=max(updated, 0.0 if file is None else file.updated),
        project=project if file is None else file.repository or project,
        agent="memorist" if file is None else FORMAT_TITLES[file.format],
        title=title,
        has_notes=bool(notes.strip()),
        file=str(transcript) if file is None else file.path,
        folder=folder,
    )


def _from_rollout(file: Rollout) -> KnownSession:
    return KnownSession(
        id=file.id,
        updated=file.updated,
        project=file.repository or file.cwd,
        agent=FORMAT_TITLES[file.format],
        title=file.first_words,
        has_notes=False,
        file=file.path,
    )


def _read_first_words(transcript: Path) -> str:
    """What the user asked first in a session that runs, or that no import has seen yet."""
    with contextlib.suppress(UnreadableSession, OSError):
        return read_session_metadata(UnpackedUtf8Lines(transcript)).first_words
    return ""


def _title_of(notes: str) -> str:
    """The title that the notes give a session; empty where they give none."""
    body = parse_section_bodies(notes, load_prompt("session_memory/template")).get(
        TITLE_SECTION, ""
    )
    lines: Sequence[str] = body.replace(STRUCTURAL_MARK, "").strip().splitlines()
    return lines[0].strip() if lines else ""
