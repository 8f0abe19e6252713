"""A home that cannot be written: whoever reads goes on, nothing is lost, and it is said once."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memorist.budget.governor import BudgetGovernor
from memorist.cli.main import memorist_group
from memorist.engine.engine import Memorist
from memorist.forks.spec import ForkRefusal, ForkSpec, NoTools
from memorist.settings import SpendSettings
from memorist.store import database as database_module
from memorist.store.database import UnsavedConnection, open_database
from memorist.system import SystemClock
from memorist.testing import FrozenClock

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Disk:
    """Refuses every write below a folder, as a file system does that is mounted for reading."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._patch = str(folder), monkeypatch

    def _is_inside(self, path: object) -> bool:
        return isinstance(path, str | Path) and str(path).startswith(self._folder)

    def _refuse(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def refusing(path: object, *rest: Any, **named: Any) -> Any:
            if self._is_inside(path) or (rest and self._is_inside(rest[0])):
                raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
            return call(path, *rest, **named)

        return refusing

    def lock(self) -> None:
        """From here on nothing can be written."""
        opened: Callable[..., int] = os.open
        connected: Callable[..., sqlite3.Connection] = sqlite3.connect

        def open_file(path: object, flags: int, *rest: Any, **named: Any) -> int:
            if self._is_inside(path) and flags & WRITES:
                raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
            return opened(path, flags, *rest, **named)

        def connect(path: object, *rest: Any, **named: Any) -> sqlite3.Connection:
            if self._is_inside(path) and not named.get("uri"):
                raise sqlite3.OperationalError("attempt to write a readonly database")
            return connected(path, *rest, **named)

        self._patch.setattr(os, "open", open_file)
        self._patch.setattr(sqlite3, "connect", connect)
        for name in ("mkdir", "rename", "replace", "unlink", "link", "rmdir"):
            self._patch.setattr(os, name, self._refuse(getattr(os, name)))

    def unlock(self) -> None:
        """The disk takes writes again."""
        self._patch.undo()


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    """The disk of the home, which takes writes."""
    database_module._warned.clear()
    return Disk(tmp_path / "home", pytest.MonkeyPatch())


def request(*texts: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": text} for text in texts]
    return {"model": "claude-made-up", "max_tokens": 100, "messages": messages}


async def remember(home: Path, project: Path) -> None:
    """A session that keeps a rule and leaves a transcript."""
    async with Memorist(home=home, model="structural") as engine:
        session = await engine.open("s", project=str(project))
        await session.prepare(request("Never use npm here, use pnpm."))


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    """A home with a memory and a session."""
    await remember(tmp_path / "home", tmp_path)
    return tmp_path / "home"


async def test_a_session_opens_and_reads_on_a_disk_that_refuses(
    home: Path, tmp_path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    """The next session is shown what is known, a warning says what is wrong, once for each folder
    and session, and not a byte of the home changes.
    """
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    disk.lock()
    try:
        with caplog.at_level(logging.WARNING, "memorist"):
            async with Memorist(home=home, model="structural") as engine:
                session = await engine.open("later", project=str(tmp_path))
                sent = await session.prepare(request("Install left-pad with npm please"))
    finally:
        disk.unlock()

    assert "pnpm" in str(sent)
    said = [record.getMessage() for record in caplog.records if record.name == "memorist"]
    assert any("cannot be written" in text for text in said)
    assert any("session later" in text and "not saved" in text for text in said)
    assert len(said) == len(set(said))
    after = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    assert before == {path: after[path] for path in before}


async def test_a_session_comes_home_when_the_disk_is_back(
    home: Path, tmp_path: Path, disk: Disk
) -> None:
    """What was said meanwhile stands in the session's transcript afterwards."""
    async with Memorist(home=home, model="structural") as engine:
        disk.lock()
        session = await engine.open("s", project=str(tmp_path))
        await session.prepare(request("Never use npm here, use pnpm.", "And now the importer."))
        disk.unlock()
        await session.close()
    async with Memorist(home=home, model="structural") as engine:
        again = await engine.open("s", project=str(tmp_path))
        text = again.layout.transcript.read_text("utf-8")
        modes = {path.stat().st_mode & 0o077 for path in again.layout.folder.iterdir()}

    assert "Never use npm here" in text
    assert "And now the importer." in text
    assert modes == {0}  # as private as a session that was saved all along


async def test_what_cannot_be_brought_home_is_said_to_be_lost(
    home: Path, tmp_path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    """A disk that refuses to the end costs the session, with a warning that names it."""
    disk.lock()
    try:
        with caplog.at_level(logging.WARNING, "memorist"):
            async with Memorist(home=home, model="structural") as engine:
                session = await engine.open("s", project=str(tmp_path))
                await session.prepare(request("Never use npm here, use pnpm."))
    finally:
        disk.unlock()

    assert any("session s is lost" in record.getMessage() for record in caplog.records)


def test_commands_that_read_go_on(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command that only reads ends well and shows what is there."""
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "home"))
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    run = CliRunner().invoke
    assert run(memorist_group, ["memory", "add", "Use pnpm, never npm"]).exit_code == 0
    assert run(memorist_group, ["search", "pnpm"]).exit_code == 0
    disk.lock()
    try:
        for words in (
            "status",
            "sessions",
            "memory list",
            "memory check",
            "memory log",
            "memory inbox",
            "memory show use-pnpm-never-npm",
            "memory why use-pnpm-never-npm",
            "recall pnpm",
            "search pnpm",
            "context .",
            "dream journal",
            "rollouts status",
            "config show",
        ):
            found = run(memorist_group, words.split())
            assert found.exit_code == 0, (words, found.output, found.exception)
            if words.split()[0] in {"memory", "recall", "search"} and "inbox" not in words:
                assert "pnpm" in found.output or "nothing is wrong" in found.output, words
    finally:
        disk.unlock()


def test_what_cannot_be_counted_asks_no_model(home: Path, disk: Disk) -> None:
    """A copy of the counts in memory is no count: background work waits."""
    disk.lock()
    try:
        database = open_database(home / "state.sqlite")
    finally:
        disk.unlock()

    assert isinstance(database, UnsavedConnection)
    governor = BudgetGovernor(database, "s", clock=SystemClock(), settings=SpendSettings())
    spec = ForkSpec(label="session_memory", why="", instruction="", permission=NoTools())
    assert isinstance(governor.ask(spec, "anthropic:claude-made-up"), ForkRefusal)
    database.close()


async def test_the_database_is_written_again_when_the_disk_is_back(home: Path, disk: Disk) -> None:
    """An engine that began on a disk that refused counts in the file again after a minute."""
    clock = FrozenClock(1_795_000_000.0)
    async with Memorist(home=home, model="structural", clock=clock) as engine:
        disk.lock()
        assert isinstance(engine.database(), UnsavedConnection)
        disk.unlock()
        assert isinstance(engine.database(), UnsavedConnection)
        clock.advance(61)
        assert not isinstance(engine.database(), UnsavedConnection)
