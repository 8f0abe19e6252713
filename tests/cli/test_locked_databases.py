"""A command beside a process that keeps all databases locked."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from memorist.store.sqlite_database import LockWaitCircuitBreaker, open_database, open_unsaved_copy

COUNTING = """
from memorist.__main__ import main
from memorist.store.sqlite_database import LockWaitCircuitBreaker

begin = LockWaitCircuitBreaker.start_pause

def count(wait):
    print("waited", flush=True)
    begin(wait)

LockWaitCircuitBreaker.start_pause = count
main()
"""
"""The program, which says each time that it waited in vain."""

NO_LOCKS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

#define ANSWER(name) \\
  int name(int file, int command, ...) { \\
    va_list rest; \\
    va_start(rest, command); \\
    void *argument = va_arg(rest, void *); \\
    if (command == F_SETLK || command == F_SETLKW) { errno = ENOLCK; return -1; } \\
    return ((int (*)(int, int, ...))dlsym(RTLD_NEXT, #name))(file, command, argument); \\
  }
ANSWER(fcntl)
ANSWER(fcntl64)
int flock(int file, int operation) { errno = ENOLCK; return -1; }
"""
"""A library that refuses every lock, as some network folders do."""


def run(home: Path, *words: str) -> tuple[str, str]:
    """What a command prints on both streams."""
    done = subprocess.run(
        [sys.executable, "-c", COUNTING, *words],
        cwd=home,
        env=os.environ | {"MEMORIST_HOME": str(home / "home"), "HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux names the holder")
def test_a_command_waits_once_for_all_databases_and_names_who_has_them(tmp_path: Path) -> None:
    """With every database locked, `search` answers as ever after one wait of a second, and says in
    one line which process has the lock.
    """
    run(tmp_path, "memory", "add", "--kind", "feedback", "Use pnpm, never npm, here")
    asked = ("search", "pnpm")
    answer, _ = run(tmp_path, *asked)
    with ExitStack() as locks:
        found = sorted((tmp_path / "home").rglob("*.sqlite"))
        for path in found:
            database = locks.enter_context(closing(sqlite3.connect(path, isolation_level=None)))
            database.execute("begin exclusive")
        locked, said = run(tmp_path, *asked)

    assert len(found) >= 3
    assert "waited" not in answer.splitlines()
    assert locked.splitlines().count("waited") == 1
    assert set(answer.splitlines()) <= set(locked.splitlines())
    assert said.count(f"is locked by process {os.getpid()}:") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="fcntl is answered as a network folder does")
def test_a_file_system_without_locks_is_named_and_not_waited_for(tmp_path: Path) -> None:
    """SQLite says `locked` there, and its copy would wait for ever: the state, a search and the
    list of sessions print what they have, with the cause. The doctor finds nothing else wrong, and
    a change says why it cannot be made.
    """
    build = subprocess.run(
        ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(tmp_path / "no_locks.so"), "-ldl"],
        input=NO_LOCKS,
        text=True,
        check=False,
    )
    if build.returncode:
        pytest.skip("no C compiler")
    run(tmp_path, "memory", "add", "Use tabs")
    run(tmp_path, "search", "tabs")  # makes the databases of recall
    preload = {"LD_PRELOAD": str(tmp_path / "no_locks.so"), "MEMORIST_HOME": str(tmp_path / "home")}
    failing = (("doctor", "--json"), ("memory", "add", "Use spaces"))
    for words in (("status",), ("search", "tabs"), ("sessions",), *failing):
        done = subprocess.run(
            [sys.executable, "-m", "memorist", *words],
            cwd=tmp_path,
            env=os.environ | preload | {"HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert "file system has no locks" in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        assert done.returncode == (words in failing)
        if words == failing[0]:
            findings = json.loads(done.stdout)["findings"]
            assert [each["area"] for each in findings if each["state"] == "wrong"] == ["home"]


def test_saying_why_a_database_is_locked_keeps_the_locks_of_this_process(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another connection of the process holds the database: after the reason is said no other
    process gets in, as it would where the file itself had been opened and closed.
    """
    monkeypatch.setattr(LockWaitCircuitBreaker, "of_process", LockWaitCircuitBreaker())
    path = tmp_path / "state.sqlite"
    write = f"import sqlite3; sqlite3.connect({str(path)!r}, timeout=0).execute('begin immediate')"
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.executescript("create table words (word text); begin exclusive")
        with closing(open_database(path, waits_once=True)):
            pass
        other = subprocess.run(
            [sys.executable, "-c", write], capture_output=True, text=True, check=False
        )

    assert "is locked by" in caplog.text
    assert "database is locked" in other.stderr


def test_a_database_that_is_held_alone_is_copied_as_the_file_stands(tmp_path: Path) -> None:
    """Its holder lets nobody read; the copy does not wait for it."""
    path = tmp_path / "held.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.executescript("create table words (word text); insert into words values ('tabs')")
        holder.execute("begin exclusive")
        error = sqlite3.OperationalError("database is locked")
        with closing(open_unsaved_copy(path, error, lambda _: None)) as copy:
            assert copy.execute("select word from words").fetchall() == [("tabs",)]
