"""A session by the name that its user gives: a file, an id, the start of an id, or memorist's
folder of it; and the notes that are kept or can be made of it.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from pathlib import Path

from msgspec import Struct

from memorist.auto_memory.memory_location import locate_project_root
from memorist.compaction.offline_compaction import build_structural_notes
from memorist.compaction.window_at_message import RecordedWindow, rebuild_recorded_window
from memorist.context.turn_rollback import drop_rolled_back_entries
from memorist.core.prompt_templates import load_prompt
from memorist.engine.session_list import list_known_sessions
from memorist.errors import InputError, NothingToDo
from memorist.formats.format_detection import read_session
from memorist.session_memory.structural_notes import NotesBudget
from memorist.store.disk_files import DiskFiles, read_if_exists
from memorist.store.home_layout import Layout, SessionLayout
from memorist.store.rollout_rows import list_rollouts
from memorist.store.session_rows import find_sessions_by_id_prefix
from memorist.store.sqlite_database import open_database
from memorist.store.state_database import SqliteStateDatabase
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.system import SystemClock


class RecordedSessionLocation(Struct, frozen=True):
    """Where a session is recorded: its file, and memorist's folder of it, if any."""

    id: str
    path: Path
    """The client's own file where it is known, else memorist's transcript; it may not exist."""
    layout: SessionLayout | None = None


def find_recorded_session(home: Layout, name: str) -> RecordedSessionLocation:
    """Find where a session is recorded, by a file, an id, the start of an id, or memorist's own
    folder of it.

    Raises InputError where none or several are called so, and StoreError.
    """
    path = Path(name).expanduser()
    if path.is_file():
        return RecordedSessionLocation(path.stem, path.absolute())
    past = None if path.is_dir() else _find_past(home, name)
    if past is not None:
        return past
    try:
        id, layout = _find_own(home, name)
    except InputError:
        if _names_file(path) and not path.is_dir():
            return RecordedSessionLocation(path.stem, path.absolute())
        raise
    return RecordedSessionLocation(id, layout.transcript, layout)


def find_newest_session_preferring_notes(home: Layout, folder: Path) -> RecordedSessionLocation:
    """The newest session of the project in this folder that has notes, else the newest that is
    recorded.

    Raises NothingToDo, StoreError.
    """
    known = list_known_sessions(home, locate_project_root(folder))
    with_notes = next((each for each in known if each.has_notes), None)
    if with_notes is not None:
        layout = SessionLayout(Path(with_notes.folder))
        return RecordedSessionLocation(with_notes.id, layout.transcript, layout)
    recorded = next((each for each in known if each.file), None)
    if recorded is not None:
        return RecordedSessionLocation(recorded.id, Path(recorded.file))
    raise NothingToDo(
        "no session of this project has notes yet"
        if home.database.exists()
        else "no session is known yet; `memorist setup` joins your agent"
    )


def read_session_notes(session: RecordedSessionLocation) -> str:
    """The notes that memorist keeps of a session; empty where it keeps none. Raises StoreError."""
    raw = read_if_exists(DiskFiles(), session.layout.notes) if session.layout else None
    return (raw or b"").decode("utf-8", "replace")


def read_recorded_window(session: RecordedSessionLocation, until: str = "") -> RecordedWindow:
    """What the model was shown at a message of a session, by default the last one, and all before
    it that was not rolled back.

    Raises InputError where there is no such message, and StoreError.
    """
    entries = read_session(UnpackedUtf8Lines(session.path))
    return rebuild_recorded_window(drop_rolled_back_entries(entries), until)


def build_structural_session_notes(session: RecordedSessionLocation, budget: NotesBudget) -> str:
    """The notes that a recording proves, made now and not kept.

    Raises InputError where it holds no message, and StoreError.
    """
    recorded = read_recorded_window(session)
    return build_structural_notes(recorded, load_prompt("session_memory/template"), budget)


def _names_file(path: Path) -> bool:
    """Whether a name looks like that of a file more than like an id."""
    return len(path.parts) > 1 or bool(path.suffix)


def _find_past(home: Layout, name: str) -> RecordedSessionLocation | None:
    """The one session file of a client whose id begins so, with memorist's folder where it has
    notes of it; None where memorist knows none.

    Raises InputError where several do.
    """
    if not home.database.exists():
        return None
    database = open_database(home.database)
    try:
        rollouts = list_rollouts(SqliteStateDatabase(database, SystemClock().now))
        folders = dict(find_sessions_by_id_prefix(database, name))
    finally:
        database.close()
    paths = {each.id: Path(each.path) for each in rollouts if each.id.startswith(name)}
    if not paths:
        return None
    id = _choose_id(paths, name)
    folder = folders.get(id)
    if not paths[id].is_file():
        if folder is not None:
            return None  # memorist's own transcript is there
        raise InputError(
            f"the session {id} is known, and its recording is no longer there: {paths[id]}"
        )
    return RecordedSessionLocation(
        id, paths[id], None if folder is None else SessionLayout(Path(folder))
    )


def _choose_id(ids: Collection[str], name: str) -> str:
    """The id that a name stands for, of those that begin so. Raises InputError for several."""
    if name in ids or len(ids) == 1:
        return name if name in ids else next(iter(ids))
    some = ", ".join(islice(ids, 5))
    raise InputError(f"{len(ids)} sessions begin with {name!r} ({some} …); give more of the id")


def _find_own(home: Layout, name: str) -> tuple[str, SessionLayout]:
    """Id and folder of the session given by its id, the start of its id, or its folder.

    Raises InputError.
    """
    folder = Path(name)
    if folder.is_dir():
        return folder.resolve().name, SessionLayout(folder.resolve())
    if not home.database.exists():
        raise InputError(
            f"there is no file {name!r}, and {home.home} knows no session yet; "
            "`memorist sessions` finds those of your agents"
        )
    database = open_database(home.database)
    try:
        folders = dict(find_sessions_by_id_prefix(database, name))
    finally:
        database.close()
    if not folders:
        raise InputError(
            f"{name!r} is no file, and no session's id begins so; `memorist sessions` lists them"
        )
    id = _choose_id(folders, name)
    return id, SessionLayout(Path(folders[id]))
