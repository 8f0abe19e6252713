"""A home that cannot be written: whoever reads goes on, nothing is lost, and it is said once."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memorist.auto_memory.memory_file import MemoryKind
from memorist.budget.budget_governor import BudgetGovernor
from memorist.cli.main import memorist_group
from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.errors import StoreError
from memorist.events import ConversationCompacted, Event
from memorist.forks.fork_spec import ForkRunDenial, ForkSpec, NoToolsPermission
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.settings import CompactionSettings, Settings, SpendSettings
from memorist.store import sqlite_database as database_module
from memorist.store.session_rows import list_sessions
from memorist.store.sqlite_database import UnsavedDatabaseConnection, open_database
from memorist.system import SystemClock
from memorist.testing import FrozenClock
from rollouts.conftest import claude
from support.past_sessions import ROUNDING, write_session
from support.waiting import count_lock_waits

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Disk:
    """Refuses every write below a folder, as a file system does that is mounted for reading, or one
    that is full.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._patch = str(folder), monkeypatch
        self._number = errno.EROFS

    def _is_inside(self, path: object) -> bool:
        return isinstance(path, str | Path) and str(path).startswith(self._folder)

    def _refuse(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def refusing(path: object, *rest: Any, **named: Any) -> Any:
            if self._is_inside(path) or (rest and self._is_inside(rest[0])):
                raise self._error(path)
            return call(path, *rest, **named)

        return refusing

    def _error(self, path: object) -> OSError:
        return OSError(self._number, os.strerror(self._number), str(path))

    def fill(self) -> None:
        """From here on there is no room, for what is open too."""
        files = os.path.realpath(self._folder)
        written: Callable[..., int] = os.write

        def write(descriptor: int, data: bytes) -> int:
            if os.path.realpath(f"/proc/self/fd/{descriptor}").startswith(files):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return written(descriptor, data)

        self.lock(errno.ENOSPC)
        self._patch.setattr(os, "write", write)

    def lock(self, number: int = errno.EROFS) -> None:
        """From here on nothing can be written, by the error of this number."""
        self._number = number
        opened: Callable[..., int] = os.open
        connected: Callable[..., sqlite3.Connection] = sqlite3.connect

        def open_file(path: object, flags: int, *rest: Any, **named: Any) -> int:
            if self._is_inside(path) and flags & WRITES:
                raise self._error(path)
            return opened(path, flags, *rest, **named)

        def connect(path: object, *rest: Any, **named: Any) -> sqlite3.Connection:
            if self._is_inside(path) and not named.get("uri"):
                words = ("disk I/O error", "attempt to write a readonly database")
                raise sqlite3.OperationalError(words[self._number == errno.EROFS])
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


def talk(*texts: str) -> dict[str, Any]:
    sent = request(*texts)
    for message in sent["messages"][1::2]:
        message["role"] = "assistant"
    return sent


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


async def test_an_observed_session_reads_on_a_disk_that_refuses(
    home: Path, tmp_path: Path, disk: Disk
) -> None:
    """The agent with hooks is shown what is known, and its user is told why nothing new is kept."""
    disk.lock()
    try:
        async with Memorist(home=home, model="structural") as engine:
            session = engine.observe_session("later", project=str(tmp_path))
            texts = await session.take_opening_texts()
            await session.close()
    finally:
        disk.unlock()

    assert "pnpm" in "".join(texts)
    assert "the file system is read-only" in session.why_unsaved


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


async def test_a_session_is_opened_again_while_the_disk_is_away(
    home: Path, tmp_path: Path, disk: Disk
) -> None:
    """As often as its host likes, with all that was said before; once the disk is back all of it
    comes home, be the session open then or not.
    """
    said = [f"Step {number} of the importer." for number in range(4)]
    async with Memorist(home=home, model="structural") as engine:
        disk.lock()
        for count in (1, 2, 3):
            async with await engine.open("s", project=str(tmp_path)) as session:
                await session.prepare(request(*said[:count]))
        disk.unlock()
        async with await engine.open("s", project=str(tmp_path)) as session:
            await session.prepare(request(*said))
            assert session.layout.folder.is_relative_to(home)
    text = session.layout.transcript.read_text("utf-8")

    assert [text.count(each) for each in said] == [1, 1, 1, 1]


async def test_a_history_is_rewritten_and_compacted_whatever_the_disk_does(
    home: Path, tmp_path: Path, disk: Disk
) -> None:
    """What was shown before cannot be removed, and the notes cannot be read: the request goes out
    all the same.
    """
    pages = [f"Page {number}. " + "The importer drops its row. " * 500 for number in range(9)]
    settings = Settings(
        home=str(home), model="structural", compaction=CompactionSettings(window=20_000)
    )
    async with Memorist(settings=settings) as engine:
        session = await engine.open("s", project=str(tmp_path))
        first = await session.prepare(talk(*pages))
        disk.lock()
        try:
            rewritten = await session.prepare(talk("Another beginning.", *pages[1:3]))
        finally:
            disk.unlock()
        session.layout.notes.unlink(missing_ok=True)
        session.layout.notes.mkdir(parents=True)
        again = await session.prepare(talk("Another beginning.", *pages[1:]))

    assert len(first["messages"]) < len(pages)
    assert "Another beginning." in str(rewritten["messages"])
    assert len(again["messages"]) < len(pages)


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


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC])
def test_commands_that_read_go_on(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Every command that only reads ends well and shows what is there, with memories that nobody
    has looked at since they were changed, as in a home that was copied.
    """
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "home"))
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    run = CliRunner().invoke
    assert run(memorist_group, ["memory", "add", "Use pnpm, never npm"]).exit_code == 0
    assert run(memorist_group, ["search", "pnpm"]).exit_code == 0
    for path in tmp_path.glob("home/projects/*/memory/*.md"):
        os.utime(path, (1, 1))
    disk.lock(number)
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


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC])
@pytest.mark.parametrize("words", ["import --yes", "rollouts sync", "worker --once"])
def test_past_sessions_are_not_extracted_where_nothing_can_be_kept(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    """The command ends with an error that names the home: it extracted every session, said so, and
    all of it was lost. Once the disk takes writes, the same command keeps them.
    """
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMORIST_ROLLOUTS__MAX_AGE_DAYS", "36500")
    recorded = tmp_path / ".claude" / "projects" / "shop"
    recorded.mkdir(parents=True)
    write_session(recorded, "aaaa", ROUNDING, 5)
    run = CliRunner().invoke
    assert run(memorist_group, ["memory", "add", "Use pnpm, never npm"]).exit_code == 0
    disk.lock(number)
    try:
        found = run(memorist_group, words.split())
    finally:
        disk.unlock()

    assert isinstance(found.exception, StoreError), found.output
    assert str(tmp_path / "home") in str(found.exception)
    assert "extracted" not in found.output
    assert "kept" not in found.output
    assert run(memorist_group, words.split()).exit_code == 0
    assert list((tmp_path / "home" / "memories" / "rollout_summaries").iterdir())


def test_what_cannot_be_counted_asks_no_model(home: Path, disk: Disk) -> None:
    """A copy of the counts in memory is no count: background work waits."""
    disk.lock()
    try:
        database = open_database(home / "state.sqlite")
    finally:
        disk.unlock()

    assert isinstance(database, UnsavedDatabaseConnection)
    governor = BudgetGovernor(database, "s", clock=SystemClock(), settings=SpendSettings())
    spec = ForkSpec(label="session_memory", why="", instruction="", permission=NoToolsPermission())
    assert isinstance(governor.request_admission(spec, "anthropic:claude-made-up"), ForkRunDenial)
    database.close()


async def test_the_database_is_written_again_when_the_disk_is_back(home: Path, disk: Disk) -> None:
    """An engine that began on a disk that refused counts in the file again after a minute."""
    clock = FrozenClock(1_795_000_000.0)
    async with Memorist(home=home, model="structural", clock=clock) as engine:
        disk.lock()
        assert isinstance(engine.database(), UnsavedDatabaseConnection)
        disk.unlock()
        assert isinstance(engine.database(), UnsavedDatabaseConnection)
        clock.advance(61)
        assert not isinstance(engine.database(), UnsavedDatabaseConnection)


def said_once(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the log was told, no line twice."""
    lines = [record.getMessage() for record in caplog.records if record.name == "memorist"]
    assert len(lines) == len(set(lines))
    return lines


async def take_turns(session: Session, messages: list[dict[str, Any]], names: str) -> str:
    """A turn for each digit, in which the person asks to remember something; what was sent last."""
    sent: Any = {}
    for name in names:
        text = f"Remember that the staging database {name} runs on port 543{name}."
        messages.append({"role": "user", "content": text})
        sent = await session.prepare({**request(), "messages": list(messages)})
        reply = {"role": "assistant", "content": [{"type": "text", "text": f"Kept {name}."}]}
        await session.observe({**reply, "type": "message", "stop_reason": "end_turn"})
        messages.append(reply)
        await session.end_turn()
    return str(sent)


@pytest.mark.skipif(sys.platform != "linux", reason="what a descriptor is open for: /proc says so")
async def test_a_disk_that_fills_up_is_caught_up_with(
    home: Path, tmp_path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    """It fills up between two turns and has room again later: no call fails, one line is said, and
    in the end transcript and memory hold what was said meanwhile.
    """
    messages: list[dict[str, Any]] = []
    async with Memorist(home=home, model="structural") as engine:
        session = await engine.open("s", project=str(tmp_path))
        await take_turns(session, messages, "1")
        with caplog.at_level(logging.WARNING, "memorist"):
            disk.fill()
            try:
                await take_turns(session, messages, "23")
            finally:
                disk.unlock()
        await take_turns(session, messages, "4")
        transcript = session.layout.transcript
    async with Memorist(home=home, model="structural") as engine:
        kept = str([head.description for head in engine.memory(str(tmp_path)).headers()])

    (line,) = said_once(caplog)
    assert "the session s is not saved for now" in line
    assert "the disk is full" in line
    for name in "1234":
        assert f"Kept {name}." in transcript.read_text("utf-8")
        assert f"database {name} runs" in kept


async def test_a_disk_that_stays_full_costs_the_rest_of_the_session(
    home: Path, tmp_path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    """No call fails, and the loss is said."""
    with caplog.at_level(logging.WARNING, "memorist"):
        async with Memorist(home=home, model="structural") as engine:
            session = await engine.open("s", project=str(tmp_path))
            disk.fill()
            try:
                await take_turns(session, [], "1")
                await session.close()
            finally:
                disk.unlock()

    assert sum("the session s is lost from here on" in line for line in said_once(caplog)) == (
        sys.platform == "linux"
    )


async def test_a_disk_that_stays_full_for_long_takes_no_more_than_its_share_of_memory(
    home: Path,
    tmp_path: Path,
    disk: Disk,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is said once too much waits is given up, and the log says so with the number."""
    monkeypatch.setattr("memorist.store.transcript_writer.MAX_UNWRITTEN_BYTES", 1)
    monkeypatch.setattr("memorist.store.transcript_writer._WRITE_BUFFER", 1)
    with caplog.at_level(logging.WARNING, "memorist"):
        async with Memorist(home=home, model="structural") as engine:
            session = await engine.open("s", project=str(tmp_path))
            disk.fill()
            await take_turns(session, [], "1")
            disk.unlock()
            await session.close()

    lost = [line for line in said_once(caplog) if "entries that its disk did not take" in line]
    assert len(lost) == (sys.platform == "linux")


async def test_databases_that_stay_locked_cost_a_second_once(
    home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the home and of recall, from before the session opens: it opens, is shown what is
    known and keeps what is said; it waits a second for each, not at each turn; and it is in the list
    of sessions when the lock is gone.
    """
    async with Memorist(home=home, model="structural") as engine:
        engine.memory(str(tmp_path)).add(
            "The mill takes linseed oil.", kind=MemoryKind.PROJECT, name="mill", description="oil"
        )
        (recall,) = home.glob("projects/*/memory-state")
        places = [home / "state.sqlite", recall / "recall.sqlite"]
    with contextlib.ExitStack() as stack, caplog.at_level(logging.WARNING, "memorist"):
        for place in places:
            other = sqlite3.connect(place, isolation_level=None)
            other.execute("pragma journal_mode = wal")
            other.execute("begin exclusive")
            stack.callback(other.close)
        async with Memorist(home=home, model="structural") as engine:
            waits = count_lock_waits(monkeypatch)
            session = await engine.open("locked", project=str(tmp_path))
            first = await session.prepare(request("Which oil does the mill take?"))
            await take_turns(session, [], "123456")
            stack.close()
            await session.end_turn()
            kept = str([head.description for head in engine.memory(str(tmp_path)).headers()])
            sessions = [row[0] for row in list_sessions(engine.database())]

    assert "linseed" in str(first)
    assert len(waits) == len(places)
    assert "database 1 runs" in kept
    assert "locked" in sessions
    assert len(said_once(caplog)) == len(places)


async def test_a_home_that_is_a_file_stops_no_session(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A session opens and goes on; what it says is said to be lost."""
    (tmp_path / "home").write_text("no folder")
    with caplog.at_level(logging.WARNING, "memorist"):
        async with Memorist(home=tmp_path / "home", model="structural") as engine:
            session = await engine.open("s", project=str(tmp_path))
            sent = await take_turns(session, [], "12")

    assert "database 2 runs" in sent
    assert any("a part of the path is a file" in line for line in said_once(caplog))
    assert any("the session s is lost" in line for line in said_once(caplog))


async def test_a_home_that_is_deleted_stops_no_session(
    home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The rest of the session is said to be lost, and what it asks to remember is kept in a new
    home.
    """
    messages: list[dict[str, Any]] = []
    with caplog.at_level(logging.WARNING, "memorist"):
        async with Memorist(home=home, model="structural") as engine:
            session = await engine.open("s", project=str(tmp_path))
            await take_turns(session, messages, "12")
            for part in home.iterdir():
                shutil.rmtree(part) if part.is_dir() else part.unlink()
            await take_turns(session, messages, "34")
            kept = str([head.description for head in engine.memory(str(tmp_path)).headers()])

    assert ["database 3" in kept, "database 4" in kept, "database 1" in kept] == [True, True, False]
    assert said_once(caplog) == [
        "the session s was deleted while it runs; what is said now is lost"
    ]


def test_a_search_goes_on_where_the_database_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was indexed before is found, and it is said that nothing newer was searched."""
    monkeypatch.setattr(database_module, "BUSY_TIMEOUT_SECONDS", 0.1)
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "home"))
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    run = CliRunner().invoke
    assert run(memorist_group, ["memory", "add", "Use pnpm, never npm"]).exit_code == 0
    assert run(memorist_group, ["search", "pnpm"]).exit_code == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "home" / "state.sqlite")) as other:
        other.execute("begin exclusive")
        found = run(memorist_group, ["search", "pnpm"])

    assert found.exit_code == 0
    assert "pnpm" in found.stdout
    assert "not searched: what is new" in found.stderr


@pytest.mark.parametrize(
    "command",
    [("rollouts", "retry"), ("rollouts", "reset", "--yes"), ("rollouts", "leave-out", "one")],
)
def test_a_correction_of_past_sessions_that_would_be_lost_is_refused(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """On a disk that takes no writes no session is left out in words alone."""
    claude(
        tmp_path / ".claude" / "projects" / "p" / "one.jsonl", ["Always run the linter.", "Thanks."]
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    disk.lock()
    done = CliRunner().invoke(memorist_group, command)
    disk.unlock()

    assert isinstance(done.exception, StoreError)
    assert f"cannot be kept in {tmp_path / 'home'}" in str(done.exception)


def test_a_database_that_is_locked_before_it_is_brought_up_to_date_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an update of memorist: a copy of it is brought up to date in memory."""
    monkeypatch.setattr(database_module, "HOST_BUSY_TIMEOUT_SECONDS", 0.1)
    place = tmp_path / "state.sqlite"
    with contextlib.closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("pragma journal_mode = wal")
        other.execute("begin exclusive")
        copy = open_database(place, waits_once=True)

    assert isinstance(copy, UnsavedDatabaseConnection)
    assert list_sessions(copy) == []
    copy.close()


@pytest.mark.skipif(sys.platform != "linux", reason="what a descriptor is open for: /proc says so")
async def test_a_conversation_fits_its_window_while_the_disk_is_full(
    home: Path, tmp_path: Path, disk: Disk
) -> None:
    """It is compacted as ever, and its calls fail no more than on a disk with room."""
    prices = {"claude-made-up": ModelPrice(window=20_000, max_output=100, input=3.0, output=15.0)}
    chosen = Settings(
        models=ModelSettings(prices=prices), compaction=CompactionSettings(schedule="threshold")
    )
    events: list[Event] = []
    async with Memorist(home=home, model="structural", settings=chosen) as engine:
        session = await engine.open("s", project=str(tmp_path), listener=events.append)
        disk.fill()
        try:
            page = "The ship Marigold came in with timber and tar. " * 200
            messages = [{"role": "user", "content": "Read every page of the report."}]
            for number in range(12):
                messages += [
                    {"role": "assistant", "content": f"Page {number}. {page}"},
                    {"role": "user", "content": f"And page {number + 1}?"},
                ]
                sent = await session.prepare({**request(), "messages": list(messages)})
        finally:
            disk.unlock()
        transcript = session.layout.transcript

    assert any(isinstance(event, ConversationCompacted) for event in events)
    assert "Read every page" in str(sent)
    assert "Page 11." in str(sent)
    assert "Page 3." in transcript.read_text("utf-8")


def test_a_program_without_a_loop_goes_on_in_a_home_that_is_a_file(tmp_path: Path) -> None:
    """By the blocking calls."""
    (tmp_path / "home").write_text("no folder")
    with Memorist(home=tmp_path / "home", model="structural") as engine:
        session = engine.open("s", project=str(tmp_path))
        sent = session.prepare(request("Install left-pad with npm please"))
        session.close()

    assert "left-pad" in str(sent)
