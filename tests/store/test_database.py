"""The state database."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memorist.core.messages import Usage
from memorist.errors import StoreError
from memorist.forks.fork_spec import FileSizeChange, ForkOutcome, Receipt
from memorist.store.receipt_rows import list_session_receipts, record_receipt
from memorist.store.session_rows import find_sessions_by_id_prefix, list_sessions, record_session
from memorist.store.sqlite_database import (
    UnsavedDatabaseConnection,
    explain_database_error,
    load_migrations,
    open_database,
    transaction,
)


def test_a_new_database_is_private_and_has_every_migration(tmp_path: Path) -> None:
    """0600, and the newest version."""
    path = tmp_path / "home" / "state.sqlite"
    open_database(path).close()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (
        sqlite3.connect(path).execute("pragma user_version").fetchone()[0]
        == load_migrations()[-1][0]
    )


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    """Migrations run once."""
    database = open_database(tmp_path / "state.sqlite")
    record_session(database, "s1", project="p", folder="f", format="anthropic", now=1.0)
    database.close()

    assert find_sessions_by_id_prefix(open_database(tmp_path / "state.sqlite"), "s") == [
        ("s1", "f")
    ]


@pytest.mark.parametrize(
    "content",
    [b"this is no database at all, but text" * 100, b"SQLite format 3\x00" + b"\xff" * 5_000],
)
def test_a_damaged_database_is_put_aside_and_a_new_one_begun(
    tmp_path: Path, content: bytes
) -> None:
    """Nothing in it is the only copy of a user's words; the damaged file is kept."""
    path = tmp_path / "state.sqlite"
    path.write_bytes(content)
    open_database(path).execute("select count(*) from sessions")

    assert (tmp_path / "state.sqlite.damaged").read_bytes() == content


def test_a_place_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    """A folder stands where the database should be."""
    (tmp_path / "state.sqlite").mkdir()

    with pytest.raises(StoreError, match="cannot be opened"):
        open_database(tmp_path / "state.sqlite")


def test_a_database_without_access_is_named_with_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite says only that it could not open a file; the user is told which, and why."""
    path = tmp_path / "state.sqlite"
    path.touch()
    monkeypatch.setattr(os, "access", lambda where, mode: where != path)

    said = explain_database_error(path, sqlite3.OperationalError("unable to open database file"))

    assert said == "permission is denied; give yourself access to it"


@pytest.mark.skipif(not hasattr(os, "statvfs"), reason="the system counts no files")
def test_a_disk_that_has_room_for_no_more_files_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there is read, as where the bytes have run out: `status` and `search` ended with an
    error that named the database alone.
    """
    path = tmp_path / "state.sqlite"
    with closing(open_database(path)) as database:
        record_session(database, "s", project="/p", folder="/f", format="anthropic", now=1.0)
    facts = list(os.statvfs(tmp_path))
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result([*facts[:7], 0, *facts[8:]]))
    connected: Callable[..., sqlite3.Connection] = sqlite3.connect

    def connect(where: object, **named: Any) -> sqlite3.Connection:
        if where == path:
            raise sqlite3.OperationalError("unable to open database file")
        return connected(where, **named)

    monkeypatch.setattr(sqlite3, "connect", connect)
    with closing(open_database(path)) as database:
        assert isinstance(database, UnsavedDatabaseConnection)
        assert database.why == "the disk is full; free space and try again"
        assert [each[0] for each in list_sessions(database)] == ["s"]


@pytest.mark.covers("FK-8")
def test_a_receipt_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    """Every field of the ledger survives."""
    database = open_database(tmp_path / "state.sqlite")
    receipt = Receipt(
        label="session_memory",
        why="the context grew",
        model="anthropic:m",
        started=12.5,
        seconds=3.25,
        requests=2,
        turns=1,
        usage=Usage(input=1, cache_read=2, cache_write=3, output=4),
        cost_usd=0.001,
        files=(FileSizeChange("summary.md", 10, 20), FileSizeChange("new.md", None, 5)),
        denied=("not that path",),
        outcome=ForkOutcome.CHANGED,
        said="done",
    )

    assert record_receipt(database, "s1", receipt) == 1
    assert list_session_receipts(database, "s1") == [receipt]


@pytest.mark.covers("SF-4")
def test_two_connections_write_to_one_database(tmp_path: Path) -> None:
    """Two processes may work on one home."""
    first, second = (
        open_database(tmp_path / "state.sqlite"),
        open_database(tmp_path / "state.sqlite"),
    )
    for number in range(20):
        record_session(
            (first, second)[number % 2],
            f"s{number}",
            project="p",
            folder="f",
            format="anthropic",
            now=float(number),
        )

    assert len(find_sessions_by_id_prefix(first, "")) == 20


@pytest.mark.parametrize("fails", ["at its end", "by itself"])
def test_a_transaction_that_fails_leaves_the_connection_usable(tmp_path: Path, fails: str) -> None:
    """What fails at the commit is rolled back; where SQLite has ended it, as on a full disk, its
    own error is told.
    """
    with closing(open_database(tmp_path / "state.sqlite")) as database:
        database.execute("pragma foreign_keys = on")
        database.execute("create table a (id integer primary key)")
        database.execute("create table b (a references a (id) deferrable initially deferred)")
        with pytest.raises(sqlite3.Error, match=r"FOREIGN KEY|is full"):
            _fail_in_transaction(database, ends_it=fails == "by itself")
        with transaction(database):
            database.execute("insert into a values (1)")

        assert database.execute("select count(*) from b").fetchone()[0] == 0
        assert database.execute("select count(*) from a").fetchone()[0] == 1


def _fail_in_transaction(database: sqlite3.Connection, *, ends_it: bool) -> None:
    with transaction(database):
        database.execute("insert into b values (1)")
        if ends_it:
            database.execute("rollback")
            raise sqlite3.OperationalError("database or disk is full")


def test_processes_that_open_a_new_database_at_once_all_keep_what_they_write(
    tmp_path: Path,
) -> None:
    """As the workers of a server do at its first start: SQLite refuses all but one, at once."""
    context = multiprocessing.get_context("fork")

    def work(path: Path, barrier: Any) -> None:
        barrier.wait(timeout=60)
        connection = open_database(path, waits_once=True)
        os._exit(isinstance(connection, UnsavedDatabaseConnection))

    ended: list[int | None] = []
    for turn in range(25):
        arguments = (tmp_path / f"{turn}.sqlite", context.Barrier(4))
        processes = [context.Process(target=work, args=arguments) for _ in range(4)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
            ended.append(process.exitcode)

    assert ended == [0] * 100
