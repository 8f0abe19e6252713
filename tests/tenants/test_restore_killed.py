"""A machine that is killed while it brings a session's folder from the server of shared sessions,
which is then away.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memorist.errors import SessionInUse, StoreError
from memorist.store import disk_files, shared_session_folder, shared_sessions
from memorist.store.shared_sessions import SharedSessions

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a process to kill")

TRACED = {
    module.__file__ for module in (shared_sessions, shared_session_folder, disk_files, shutil)
}
LINES = 700
"""A few more than a restore of these files goes through."""
OLD = {"transcript.jsonl": b"one\n", "notes.md": b"Old.", "pins.json": b"[]", "a/old.txt": b"x"}
NEW = {"transcript.jsonl": b"one\ntwo\n", "notes.md": b"New.", "a/new.txt": b"y", "b.json": b"{}"}


def read_files(folder: Path) -> dict[str, bytes]:
    """What a session that opens the folder finds there."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".lock" and path.name != ".shared.json"
    }


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def run_and_kill(work: Callable[[], object], line: int) -> bool:
    """Do the work in a process that dies before this line of the traced files; whether it did."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    left = line

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename not in TRACED:
            return None
        if event == "line":
            left -= 1
            if left < 0:
                os._exit(9)
        return trace

    sys.settrace(trace)
    try:
        work()
    finally:
        os._exit(0)


@pytest.fixture
def shared(address: str, tmp_path: Path) -> Path:
    """Two machines' folders of one session: `other` has saved the newer state."""
    one, other = tmp_path / "one" / "t1", tmp_path / "other" / "t1"
    first = SharedSessions(address)
    for folder, files in ((one, OLD), (other, NEW)):
        write_files(folder, {})
        first.acquire("t1", folder)
        write_record = (folder / ".shared.json").read_bytes() if folder == other else None
        write_files(folder, files)
        if write_record is not None:
            (folder / ".shared.json").write_bytes(write_record)
        assert first.save("t1", folder, offered=True)
        first.release("t1")
    return one


def _acquire_when_free(server: SharedSessions, folder: Path) -> None:
    """Acquire the session; the database needs a moment to see that a process was killed."""
    for _ in range(50):
        with contextlib.suppress(SessionInUse):
            server.acquire("t1", folder)
            return
        time.sleep(0.1)
    server.acquire("t1", folder)


def test_a_kill_between_any_two_lines_leaves_one_state_or_the_other(
    shared: Path, address: str, tmp_path: Path
) -> None:
    """The server is away when the machine is back: the session goes on with all files as they were
    or all as the other machine left them, and has those once the server is back.
    """
    seen = set()

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=12)
    @example(0)
    @example(LINES)
    @given(st.integers(0, LINES))
    def killed(line: int) -> None:
        folder = tmp_path / f"killed-{line}" / "t1"
        shutil.rmtree(folder.parent, ignore_errors=True)
        shutil.copytree(shared, folder)
        run_and_kill(lambda: SharedSessions(address).acquire("t1", folder), line)
        with pytest.raises(StoreError):
            SharedSessions(f"postgresql://t@/t?host={tmp_path}").acquire("t1", folder)
        found = read_files(folder)
        assert found in (OLD, NEW), sorted(found.items())
        seen.add(found == NEW)

        server = SharedSessions(address)
        _acquire_when_free(server, folder)
        server.release("t1")
        assert read_files(folder) == NEW
        assert [path.name for path in folder.parent.iterdir()] == ["t1"]

    killed()
    assert seen == {False, True}
