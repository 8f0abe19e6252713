"""Sessions that workers on several machines share, on a real PostgreSQL: processes with homes of
their own, one of them killed in the middle of a turn, and a server that stops.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

from memorist.engine.engine import Memorist
from memorist.engine.tenants import Tenants
from memorist.errors import SessionInUse, SettingsError
from memorist.formats.transcript_format import read_session
from memorist.settings import Settings
from memorist.store import shared_sessions
from memorist.store.shared_sessions import CONNECT_TIMEOUT_SECONDS, SharedSessions
from memorist.store.transcript_reader import UnpackedUtf8Lines
from support.sweeps import sampled

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the server's socket")

WINDOW = 8_000
CHILD = Path(__file__).with_name("machine_child.py")


class Machine:
    """A process that serves turns from homes of its own."""

    def __init__(self, root: Path, address: str) -> None:
        self.root = root
        self.address = address
        root.mkdir(exist_ok=True)
        (root / "config.toml").write_text(
            f'shared_sessions = "{address}"\n'
            f'[models.prices."chat-model"]\nwindow = {WINDOW}\nmax_output = 500\n'
        )
        with (root / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, CHILD, root],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )

    def send(self, turn: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to a turn; None from a machine that died."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(turn) + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        return msgspec.json.decode(line) if line else None

    def transcript(self, user: str, thread: str) -> Path:
        (path,) = self.root.glob(f"{user}/projects/*/{thread}/transcript.jsonl")
        return path

    @property
    def log(self) -> str:
        return (self.root / "log").read_text()

    def close(self) -> None:
        with self._process, suppress(BrokenPipeError):
            self._process.communicate(timeout=30)


class Thread:
    """The conversation of a user, whose client sends the whole history with each turn."""

    def __init__(self, user: str, name: str) -> None:
        self._user = user
        self._name = name
        self.messages: list[dict[str, Any]] = []
        self.sent: list[dict[str, Any]] = []

    def turn(self, machine: Machine, *, dies: bool = False) -> dict[str, Any] | None:
        """One turn, asked again elsewhere when the machine dies."""
        number = len(self.messages) // 2
        words = f"Question {number} of {self._user}. " + f"Line of {self._user}. " * 300
        asked = [*self.messages, {"role": "user", "content": words}]
        reply = f"Answer {number} for {self._user}."
        answer = machine.send(
            {
                "user": self._user,
                "thread": self._name,
                "messages": asked,
                "reply": reply,
                "dies": dies,
            }
        )
        if answer is not None:
            self.messages = [*asked, {"role": "assistant", "content": reply}]
            self.sent.append(answer["request"])
        return answer


@pytest.fixture(params=sampled((2, 3), {2}))
def machines(
    tmp_path: Path, address: str, request: pytest.FixtureRequest
) -> Iterator[list[Machine]]:
    with ExitStack() as closing:
        found = [
            Machine(tmp_path / f"machine-{number}", address) for number in range(request.param)
        ]
        for machine in found:
            closing.callback(machine.close)
        yield found


def said(path: Path) -> list[str]:
    entries: list[Any] = [e for e in read_session(UnpackedUtf8Lines(path)) if hasattr(e, "blocks")]
    return [entry.text for entry in entries if entry.role == "user" and entry.text]


def compactions(path: Path) -> int:
    return path.with_name("events.jsonl").read_bytes().count(b'"conversation_compacted"')


def starts_alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether a request goes on from another, so that the provider's cache has it."""
    shown = [msgspec.json.encode(message) for message in one["messages"]]
    return shown[:-1] == [msgspec.json.encode(m) for m in other["messages"]][: len(shown) - 1]


def test_a_thread_goes_from_machine_to_machine_with_all_that_it_had(
    machines: list[Machine],
) -> None:
    """Nine turns on the machines in turn: transcript whole and in order on the last one, the
    conversation compacted once for each time that its window was full and not again on each
    machine, and no other request breaks the prefix.
    """
    thread = Thread("alice", "t1")

    for number in range(9):
        machine = machines[number % len(machines)]
        assert thread.turn(machine) is not None, machine.log

    last = machines[8 % len(machines)].transcript("alice", "t1")
    asked = [m["content"] for m in thread.messages if m["role"] == "user"]
    broken = sum(
        not starts_alike(before, after)
        for before, after in zip(thread.sent, thread.sent[1:], strict=False)
    )
    assert said(last) == asked
    assert 1 <= compactions(last) <= 4
    assert broken <= compactions(last)
    assert all(len(msgspec.json.encode(body)) / 4 < WINDOW for body in thread.sent)


def test_a_machine_that_is_killed_in_the_middle_of_a_turn_holds_nothing(
    machines: list[Machine],
) -> None:
    """The next machine takes the thread over, which it tries for `MAX_HANDOVER_WAIT_SECONDS` alone, with all
    ended turns; when the first one is back it goes on from there and not from what lies on its own
    disk.
    """
    thread = Thread("bob", "t1")
    first, killed, last = machines[0], machines[1], machines[-1]
    following = first if last is killed else last
    for machine in (first, first, killed, killed):
        thread.turn(machine)
    assert thread.turn(killed, dies=True) is None

    assert thread.turn(following) is not None, following.log
    for machine in (first, following, first):
        assert thread.turn(machine) is not None, machine.log
    with_disk = Machine(killed.root, killed.address)
    assert thread.turn(with_disk) is not None, with_disk.log
    with_disk.close()

    asked = [m["content"] for m in thread.messages if m["role"] == "user"]
    assert said(with_disk.transcript("bob", "t1")) == asked
    assert all(len(msgspec.json.encode(body)) / 4 < WINDOW for body in thread.sent)


def settings(address: str) -> Settings:
    return Settings(shared_sessions=address)


def request(*texts: str) -> dict[str, Any]:
    roles = ("user", "assistant")
    said = [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]
    return {"model": "m", "max_tokens": 100, "messages": said}


async def test_a_session_that_is_not_offered_is_nobody_elses(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who opened a session for itself keeps it: another machine is told where it is open; the same id of another tenant is another session."""
    monkeypatch.setattr("memorist.engine.engine.MAX_HANDOVER_WAIT_SECONDS", 0.2)
    async with (
        Tenants(tmp_path / "one", settings=settings(address)) as one,
        Tenants(tmp_path / "other", settings=settings(address)) as other,
    ):
        own = await one.open("alice", "t1", project="shop")
        await own.prepare(request("Hello."))
        with pytest.raises(SessionInUse, match=f"process {os.getpid()}"):
            await other.open("alice", "t1", project="shop")
        bobs = await other.open("bob", "t1", project="shop")
        await bobs.prepare(request("Hello from bob."))
        await own.close()
        moved = await other.open("alice", "t1", project="shop")

        assert "Hello." in moved.layout.transcript.read_text()
        assert "from bob" not in moved.layout.transcript.read_text()
        await bobs.close()
        await moved.close()


async def test_a_server_that_does_not_answer_stops_no_session(
    tmp_path: Path, address: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped server, whose socket takes the connection and answers never, costs one bounded
    wait and one line in the log; the session goes on with what is on this machine, and is shared
    when the server answers again.
    """
    bounds = []
    connect = psycopg.connect

    def try_to_connect(*address: Any, connect_timeout: int, **options: Any) -> Any:
        bounds.append(connect_timeout)
        return connect(*address, connect_timeout=connect_timeout, **options)

    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(folder / ".s.PGSQL.5432"))
        silent.listen()
        dead = f"postgresql://tests@/postgres?host={folder}"
        monkeypatch.setattr(psycopg, "connect", try_to_connect)
        async with Tenants(tmp_path / "one", settings=settings(dead)) as one:
            for thread in ("t0", "t1"):
                async with one.session("alice", thread, project="shop") as session:
                    await session.prepare(request("Hello."))
                    await session.end_turn()
    monkeypatch.setattr(psycopg, "connect", connect)
    shutil.rmtree(folder)
    lines = [line for line in caplog.messages if "is of this machine alone" in line]

    assert len(lines) == 2
    assert bounds == [CONNECT_TIMEOUT_SECONDS]

    async with (
        Tenants(tmp_path / "one", settings=settings(address)) as one,
        Tenants(tmp_path / "other", settings=settings(address)) as other,
    ):
        async with one.session("alice", "t0", project="shop") as session:
            await session.end_turn()
        async with other.session("alice", "t0", project="shop") as session:
            assert "Hello." in session.layout.transcript.read_text()


async def test_a_server_that_stops_in_the_middle_of_a_session_is_left_alone(
    tmp_path: Path, address: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is cut off after a bounded time, the turn and the close go on, and what was
    not saved is saved by the next opening on this machine.
    """
    monkeypatch.setattr(shared_sessions, "PAUSE_AFTER_BUSY_SECONDS", 0.0)
    async with (
        Tenants(tmp_path / "one", settings=settings(address)) as one,
        Tenants(tmp_path / "other", settings=settings(address)) as other,
    ):
        session = await one.open("alice", "t1", project="shop")
        monkeypatch.setattr(shared_sessions, "STATEMENT_TIMEOUT_SECONDS", 0.3)
        with psycopg.connect(address) as connection:
            (backend,) = connection.execute(
                "select pid from pg_stat_activity where application_name = 'memorist sessions'"
            ).fetchall()
        os.kill(backend[0], signal.SIGSTOP)
        await session.prepare(request("Hello.", "Yes?", "Goodbye."))
        await session.end_turn()
        await session.close()  # while the server is stopped
        os.kill(backend[0], signal.SIGCONT)
        monkeypatch.setattr(shared_sessions, "STATEMENT_TIMEOUT_SECONDS", 60.0)

        assert "is of this machine alone" in caplog.text
        async with one.session("alice", "t1", project="shop") as again:
            await again.end_turn()
        async with other.session("alice", "t1", project="shop") as moved:
            assert "Goodbye." in moved.layout.transcript.read_text()


@pytest.fixture
async def two(tmp_path: Path, address: str) -> AsyncIterator[tuple[Tenants, Tenants]]:
    """Two machines on one server."""
    async with (
        Tenants(tmp_path / "one", settings=settings(address)) as one,
        Tenants(tmp_path / "other", settings=settings(address)) as other,
    ):
        yield one, other


async def turn(machine: Tenants, *texts: str) -> Path:
    """One turn of alice's thread, opened for it alone; returns the session's folder there."""
    session = await machine.open("alice", "t1", project="shop")
    await session.prepare(request(*texts))
    await session.end_turn()
    await session.close()
    return session.layout.folder


def break_connection(patch: pytest.MonkeyPatch, place: int, *, is_done: bool) -> None:
    """Break the connection before or after its exchange number `place` with the server."""
    wait, left = psycopg.Connection.wait, [place]

    def broken(self: Any, *args: Any, **more: Any) -> Any:
        left[0] -= 1
        if left[0] != -1:
            return wait(self, *args, **more)
        if is_done:
            wait(self, *args, **more)
        self.close()
        raise psycopg.OperationalError("broken")

    patch.setattr(psycopg.Connection, "wait", broken)


@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.parametrize("place", sampled(range(15, 30, 3), {18, 27}))
async def test_a_connection_that_breaks_anywhere_loses_and_doubles_nothing(
    two: tuple[Tenants, Tenants], monkeypatch: pytest.MonkeyPatch, place: int, *, is_done: bool
) -> None:
    """It breaks before or after some statement of a turn, or its commit: the next turn here has
    what was here, and the machine after it has all of that and every message once.
    """
    one, other = two
    folder = await turn(one, "First.")
    monkeypatch.setattr(shared_sessions, "PAUSE_AFTER_BUSY_SECONDS", 0.0)
    with monkeypatch.context() as patch:
        break_connection(patch, place, is_done=is_done)
        await turn(one, "First.", "Yes.", "Second.")
    (folder / "tool-results").mkdir(exist_ok=True)
    (folder / "tool-results" / "own.txt").write_text("Found here.")

    await turn(one, "First.", "Yes.", "Second.", "Yes.", "Third.")
    moved = await turn(other, "First.", "Yes.", "Second.", "Yes.", "Third.", "Yes.", "Last.")

    assert said(moved / "transcript.jsonl") == ["First.", "Second.", "Third.", "Last."]
    assert (moved / "tool-results" / "own.txt").read_text() == "Found here."


async def test_a_lease_that_went_with_its_connection_is_the_next_machines(
    two: tuple[Tenants, Tenants], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who lost the connection goes on, but saves nothing over the machine that has the session
    now, which ends with its own state.
    """
    monkeypatch.setattr(shared_sessions, "PAUSE_AFTER_BUSY_SECONDS", 0.0)
    monkeypatch.setattr(shared_sessions, "_open_in_process", lambda where, _: SharedSessions(where))
    one, _ = two
    own = await one.open("alice", "t1", project="shop")
    await own.prepare(request("First."))
    await own.end_turn()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where application_name = 'memorist sessions'"
        )
    async with Tenants(one.root.parent / "third", settings=settings(address)) as third:
        theirs = await third.open("alice", "t1", project="shop")
        await theirs.prepare(request("First.", "Yes.", "Theirs."))
        await own.prepare(request("First.", "Yes.", "Own."))
        await own.end_turn()
        await own.close()
        await theirs.end_turn()
        await theirs.close()

    moved = await turn(one, "First.", "Yes.", "Theirs.", "Yes.", "Last.")
    assert said(moved / "transcript.jsonl") == ["First.", "Theirs.", "Last."]


async def test_the_server_holds_no_secret_and_nothing_for_ever(
    two: tuple[Tenants, Tenants], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that was said is a mark in the database too; a copy that nobody saved for 90 days is
    taken away, and the machine that served the session last goes on with its own.
    """
    one, other = two
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    await turn(one, f"The token is {key}.")
    with psycopg.connect(address, autocommit=True) as connection:
        found = connection.execute("select data from memorist.shared_session_files").fetchall()
        assert any(b"The token is" in data for (data,) in found)
        assert not any(key.encode() in data for (data,) in found)

        connection.execute(
            "update memorist.shared_sessions set saved_at = now() - interval '91 days'"
        )
        folder = await turn(one, f"The token is {key}.", "Yes.", "Second.")
        assert folder.is_dir()
    moved = await turn(other, f"The token is {key}.", "Yes.", "Second.", "Yes.", "Last.")
    assert len(said(moved / "transcript.jsonl")) == 3


async def test_a_tenant_who_is_removed_is_gone_from_the_server_too(
    two: tuple[Tenants, Tenants], address: str
) -> None:
    """Their session begins afresh on every machine that had none of it; another tenant's is left,
    also where the one name begins like the other.
    """
    one, other = two
    await turn(one, "Mine alone.")
    async with one.session("alice-2", "t1", project="shop") as session:
        await session.prepare(request("Another's."))
        await session.end_turn()
    await one.remove("alice")

    with psycopg.connect(address, autocommit=True) as connection:
        names = connection.execute("select name from memorist.shared_sessions").fetchall()
    assert [name.split("/")[0] for (name,) in names] == ["alice-2"]
    moved = await turn(other, "Afresh.")
    assert said(moved / "transcript.jsonl") == ["Afresh."]


async def test_a_folder_that_is_too_large_is_not_shared_and_delays_no_other(
    two: tuple[Tenants, Tenants], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One line in the log names the bound; the next session is shared as ever."""
    one, other = two
    with monkeypatch.context() as patch:
        patch.setattr(shared_sessions, "MAX_FOLDER_BYTES", 100)
        await turn(one, "First.")
        assert caplog.text.count("it has more than 100 bytes") == 1
    await turn(one, "First.", "Yes.", "Second.")
    moved = await turn(other, "First.", "Yes.", "Second.", "Yes.", "Last.")
    assert said(moved / "transcript.jsonl") == ["First.", "Second.", "Last."]


async def test_a_file_outside_the_sessions_folder_is_not_written(
    two: tuple[Tenants, Tenants], address: str, tmp_path: Path
) -> None:
    """A path in the database that leads out of the folder is refused, and the session goes on."""
    one, other = two
    await turn(one, "First.")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("update memorist.shared_session_files set path = '../' || path")
    moved = await turn(other, "First.", "Yes.", "Last.")
    assert said(moved / "transcript.jsonl") == ["First.", "Last."]
    assert not [path for path in moved.parent.iterdir() if path.is_file()]


def test_an_address_that_is_none_is_refused_with_the_name_of_the_setting(tmp_path: Path) -> None:
    """The engine does not open, and says which setting is meant."""
    with pytest.raises(SettingsError, match="`shared_sessions` is postgresql"):
        Memorist(home=tmp_path, settings=settings("mysql://db"))
