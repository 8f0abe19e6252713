"""Remove memorist's own copies of one session, for what somebody wants gone for good."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from memorist.store.disk_files import DiskFiles, raise_os_errors_as_store_errors
from memorist.store.home_layout import Layout, SessionLayout, is_session_folder, make_folder_name
from memorist.store.session_memory_mode import record_memory_off_session
from memorist.store.sqlite_database import convert_sqlite_errors, open_database, transaction
from memorist.store.transcript_writer import hold_transcript_writer_lock


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
