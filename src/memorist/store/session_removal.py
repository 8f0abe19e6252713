"""Remove memorist's own copies of one session, for what somebody wants gone for good."""

from __future__ import annotations

import contextlib
import shutil
from itertools import islice
from pathlib import Path

from memorist.core.messages import Message
from memorist.errors import StoreError
from memorist.store.disk_files import DiskFiles, raise_os_errors_as_store_errors
from memorist.store.home_layout import Layout, SessionLayout, is_session_folder, make_folder_name
from memorist.store.session_memory_mode import record_memory_off_session
from memorist.store.session_rows import delete_session_rows, list_old_unnamed_sessions
from memorist.store.sqlite_database import convert_sqlite_errors, open_database, transaction
from memorist.store.transcript_reader import read_transcript
from memorist.store.transcript_writer import hold_transcript_writer_lock

MAX_SINGLE_QUESTIONS = 1_000
"""Sessions without a name and with one question that a home holds. Our choice: about 20 MB."""


def remove_session_copies(layout: Layout, id: str) -> tuple[Path, ...]:
    """Delete the folder of a session with its transcript, notes and events, its row in the state
    database of this machine, a copy out of a client's database, and the index of past sessions,
    which is made anew without it. Returns what was deleted; doing it again deletes nothing.

    What the deleted rows held is overwritten. Of receipts and the usage of memories the counts
    stay: their texts may name a file or repeat a word. Raises SessionInUse where another process
    has the session open, StoreError.
    """
    if not layout.home.exists():
        return ()
    deleted: list[Path] = []
    with contextlib.closing(open_database(layout.database)) as database:
        rows = database.execute("select folder from sessions where id = ?", (id,)).fetchall()
        # A database that was lost or damaged was begun anew, and has no row of the session.
        named = (Path(row["folder"]) for row in rows)
        for folder in {*named, *layout.projects.glob(f"*/{make_folder_name(id)}")}:
            if folder.is_dir() and _is_session_folder(layout, folder):
                _remove_folder(folder)
                deleted.append(folder)
        with convert_sqlite_errors("the session cannot be removed from the database"):
            database.execute("pragma secure_delete = on")
            with transaction(database):
                database.execute("delete from sessions where id = ?", (id,))
                database.execute(
                    "update receipts set why = '', said = '', files = '[]', denied = '[]' "
                    "where session = ?",
                    (id,),
                )
                database.execute("update memory_uses set why = '' where session = ?", (id,))
            database.execute("pragma wal_checkpoint(truncate)")
    copies = sorted(layout.copied_sessions.glob(f"*/{make_folder_name(id)}.jsonl"))
    if copies:  # the client's own database has it still, and it would be copied again
        record_memory_off_session(DiskFiles(), layout, id)
    for path in (*copies, *layout.list_session_index_files()):
        path.unlink(missing_ok=True)
        deleted.append(path)
    return tuple(deleted)


def remove_old_single_questions(layout: Layout) -> tuple[str, ...]:
    """Delete the sessions that nobody named and in which one thing was asked, but for the newest
    `MAX_SINGLE_QUESTIONS`; returns their ids. What was learned from them stays. Raises StoreError.
    """
    with contextlib.closing(open_database(layout.database)) as database:
        removed = []
        for id, folder in list_old_unnamed_sessions(database, MAX_SINGLE_QUESTIONS):
            with contextlib.suppress(StoreError):  # it is open, or cannot be read: the next time
                if _is_session_folder(layout, Path(folder)) and _has_single_question(Path(folder)):
                    _remove_folder(Path(folder))
                    removed.append(id)
        delete_session_rows(database, removed)
    return tuple(removed)


def _has_single_question(folder: Path) -> bool:
    entries = read_transcript(SessionLayout(folder).transcript)
    asked = (each for each in entries if isinstance(each, Message) and each.role == "user")
    return sum(1 for _ in islice(asked, 2)) < 2


def _is_session_folder(layout: Layout, folder: Path) -> bool:
    """A damaged row must name neither the home itself, nor a project or its memory, nor lead out
    of the home.
    """
    return (
        layout.home in folder.parents
        and ".." not in folder.parts
        and (is_session_folder(layout, folder) or SessionLayout(folder).transcript.exists())
    )


def _remove_folder(folder: Path) -> None:
    with (
        hold_transcript_writer_lock(SessionLayout(folder).transcript),
        raise_os_errors_as_store_errors("remove", folder),
    ):
        shutil.rmtree(folder)
