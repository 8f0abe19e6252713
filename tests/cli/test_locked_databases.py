"""A command beside a process that keeps all databases locked."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

COUNTING = """
from memorist.__main__ import main
from memorist.store.database import LockWaitCircuitBreaker

begin = LockWaitCircuitBreaker.begin

def count(wait):
    print("waited", flush=True)
    begin(wait)

LockWaitCircuitBreaker.begin = count
main()
"""
"""The program, which says each time that it waited in vain."""


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
