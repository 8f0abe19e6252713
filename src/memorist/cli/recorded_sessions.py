"""Find the session that a command names: by its file, its id, the start of its id, or memorist's
folder of it.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from memorist.cli.command_environment import find_home
from memorist.errors import InputError
from memorist.store.database import open_database
from memorist.store.home_layout import SessionLayout
from memorist.store.rollout_rows import list_rollouts
from memorist.store.session_rows import find_session_folders
from memorist.store.state_database import SqliteState
from memorist.system import SystemClock


class SessionFile(Struct, frozen=True):
    """Where a session is recorded: its file, and memorist's folder of it, if any."""

    name: str
    path: Path
    layout: SessionLayout | None = None


def find_recorded_session(session: str) -> SessionFile:
    """Find where a session is recorded, by a file, an id, the start of an id, or memorist's own
    folder of it. The client's file is preferred to memorist's transcript. The file may not exist.

    Raises InputError.
    """
    path = Path(session).expanduser()
    if path.is_file() or (_names_file(path) and not path.is_dir()):
        return SessionFile(path.stem, path.absolute())
    past = None if path.is_dir() else _find_past(session)
    if past is not None:
        return past
    name, layout = _find_session(session)
    return SessionFile(name, layout.transcript, layout)


def _names_file(path: Path) -> bool:
    """Whether a name can only be that of a file: ids have neither folders nor endings."""
    return len(path.parts) > 1 or bool(path.suffix)


def _find_past(session: str) -> SessionFile | None:
    """The one session file of a client whose id begins so, with memorist's folder where it has
    notes of it; None where memorist knows none.

    Raises InputError where several do.
    """
    home = find_home()
    if not home.database.exists():
        return None
    database = open_database(home.database)
    try:
        rollouts = list_rollouts(SqliteState(database, SystemClock().now))
        folders = dict(find_session_folders(database, session))
    finally:
        database.close()
    fitting = [each for each in rollouts if each.id.startswith(session)]
    exact = [each for each in fitting if each.id == session] or fitting
    if len(exact) > 1:
        some = ", ".join(each.id for each in exact[:5])
        raise InputError(
            f"{len(exact)} sessions begin with {session!r} ({some} …); give more of the id"
        )
    if not exact or not Path(exact[0].path).is_file():
        return None
    folder = folders.get(exact[0].id)
    layout = None if folder is None else SessionLayout(Path(folder))
    return SessionFile(exact[0].id, Path(exact[0].path), layout)


def _find_session(session: str) -> tuple[str, SessionLayout]:
    """Id and folder of the session given by its id, the start of its id, or its folder.

    Raises InputError.
    """
    folder = Path(session)
    if folder.is_dir():
        return folder.resolve().name, SessionLayout(folder.resolve())
    home = find_home()
    if not home.database.exists():
        raise InputError(f"there is no file {session!r}, and {home.home} knows no session yet")
    database = open_database(home.database)
    try:
        found = find_session_folders(database, session)
    finally:
        database.close()
    exact = [row for row in found if row[0] == session] or found
    if not exact:
        raise InputError(
            f"{session!r} is no file, and no session's id begins so; memorist sessions lists them"
        )
    if len(exact) > 1:
        some = ", ".join(row[0] for row in exact[:5])
        raise InputError(
            f"{len(exact)} sessions begin with {session!r} ({some} …); give more of the id"
        )
    return exact[0][0], SessionLayout(Path(exact[0][1]))
