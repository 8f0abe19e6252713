"""The process behind the hooks: there is one, it comes when it is needed, survives nothing it
should not, and makes room.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
from pathlib import Path
from typing import cast

import pytest

from clients.plugged import end, process_of, wait_for
from hooks.conftest import Hooks
from memorist import __version__
from memorist.engine.engine import Memorist
from memorist.hooks import daemon_socket, hook_daemon, hook_protocol
from memorist.hooks.daemon_socket import open_daemon_socket
from memorist.hooks.hook_session import HookOutput, HookSessionPool

STOP = json.dumps({"session_id": "s1", "cwd": "/home/dev/shop", "hook_event_name": "Stop"}).encode()


def stop(version: str) -> bytes:
    """The end of a turn, as a program of this version asks."""
    return hook_protocol.encode_hook_header(version, "Stop", "", "", len(STOP)) + STOP


def ask(home: Path, question: bytes) -> bytes:
    """What a program that asks this is answered."""
    before = Path.cwd()
    os.chdir(home / "hooks")
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(300)
            line.connect(hook_protocol.SOCKET)
            line.sendall(question)
            said = b""
            while part := line.recv(4_096):
                said += part
            return said
    finally:
        os.chdir(before)


@pytest.mark.covers("IN-2")
def test_hooks_that_race_start_one_process(hooks: Hooks) -> None:
    """Of several events at once, with nobody there, each is answered, and one process is behind
    them.
    """
    programs = [hooks.start("Stop") for _ in range(4)]
    for program in programs:
        said, complained = program.communicate(STOP, timeout=300)
        assert (program.returncode, said, complained) == (0, b"", b"")

    first = process_of(hooks.home)

    assert hooks.failures() == ""
    assert first
    assert ask(hooks.home, stop(__version__)) == b"done\t0\n"
    assert process_of(hooks.home) == first


@pytest.mark.covers("IN-2", "SF-4")
def test_one_that_was_killed_is_replaced(hooks: Hooks) -> None:
    """A dead process leaves a socket and no lock: the next event starts another, and the session
    goes on.
    """
    hooks.call("SessionStart", source="startup")
    first = process_of(hooks.home)
    os.kill(first, signal.SIGKILL)

    hooks.call("SessionStart", source="resume")

    assert process_of(hooks.home) not in (0, first)
    assert hooks.failures() == ""


@pytest.mark.parametrize("question", [stop("0.0.0"), b"memorist\t2\twhatever it says\n"])
@pytest.mark.covers("IN-2")
def test_another_version_finds_room(question: bytes, hooks: Hooks) -> None:
    """A process that is asked by another version says so, closes its sessions and ends; the event
    that asked is answered by the next one.
    """
    hooks.call("SessionStart", source="startup")
    first = process_of(hooks.home)

    said = ask(hooks.home, question)
    hooks.call("SessionStart", source="resume")

    assert said == b"moved\t0\n"
    assert process_of(hooks.home) not in (0, first)
    assert hooks.failures() == ""


@pytest.mark.covers("IN-2")
def test_a_replaced_program_finds_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new installation has the same number where it comes from a checkout: the old process went
    on for half an hour with the code that was replaced.
    """
    program = tmp_path / "program.py"
    program.write_text("old")
    monkeypatch.setattr(hook_daemon, "_PROGRAM", program)
    monkeypatch.chdir(tmp_path)
    found = open_daemon_socket(tmp_path / "home")
    assert found is not None
    with found:
        daemon = hook_daemon.HookDaemon(tmp_path / "home", found)
        assert not daemon._is_outdated()

        program.write_text("another")

        assert daemon._is_outdated()


class _Writer:
    """What the daemon writes to one hook program."""

    def __init__(self) -> None:
        self.said = b""
        self.is_closed = False

    def write(self, data: bytes) -> None:
        self.said += data

    async def drain(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        self.is_closed = True


async def _serve_one(daemon: hook_daemon.HookDaemon, data: bytes, *, ends: bool) -> _Writer:
    reader, writer = asyncio.StreamReader(limit=hook_protocol.MAX_HEADER_BYTES), _Writer()
    reader.feed_data(data)
    if ends:
        reader.feed_eof()
    await daemon._serve_connection(reader, cast("asyncio.StreamWriter", writer))
    return writer


@pytest.mark.covers("IN-2")
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(
            b"memorist\t1\t" + b"x" * 2 * hook_protocol.MAX_HEADER_BYTES, id="long header"
        ),
        pytest.param(
            hook_protocol.encode_hook_header(
                __version__, "Stop", "", "", hook_protocol.MAX_EVENT_BYTES + 1
            ),
            id="large event",
        ),
        pytest.param(stop(__version__)[:-1], id="never whole"),
        pytest.param(b"", id="silent"),
    ],
)
async def test_a_request_beyond_its_bounds_is_dropped(
    data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of size or of time: it is closed without an answer, and does not keep the process alive."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hook_daemon, "REQUEST_READ_TIMEOUT_SECONDS", 0.01)
    found = open_daemon_socket(tmp_path / "home")
    assert found is not None
    with found:
        daemon = hook_daemon.HookDaemon(tmp_path / "home", found)
        writer = await _serve_one(daemon, data, ends=False)

        assert (writer.said, writer.is_closed, daemon._asked) == (b"", True, 0)


@pytest.mark.covers("IN-2")
async def test_one_process_waits_for_an_ending_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others that hooks start meanwhile end at once, as do those that find one that listens."""
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "home"
    ending = open_daemon_socket(home)
    assert ending is not None
    ending.remove_socket_file()
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    def listens() -> bool:
        loop.call_soon_threadsafe(begun.set)
        return False

    monkeypatch.setattr(daemon_socket, "is_daemon_listening", listens)
    waiting = asyncio.create_task(asyncio.to_thread(open_daemon_socket, home))
    await begun.wait()

    assert open_daemon_socket(home) is None
    assert not waiting.done()
    with ending:
        pass
    found = await waiting
    assert found is not None
    with found:
        assert found.is_ours


@pytest.mark.covers("IN-2")
async def test_an_answer_that_never_comes_does_not_keep_an_ending_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it has gone no other can begin; the hook that waits is let go, and the log says so."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hook_daemon, "MAX_LAST_ANSWERS_WAIT_SECONDS", 0.01)
    begun = asyncio.Event()

    async def hangs(*_: object) -> HookOutput:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(hook_daemon.HookDaemon, "_prepare_answer", hangs)
    found = open_daemon_socket(tmp_path / "home")
    assert found is not None
    with found:
        daemon = hook_daemon.HookDaemon(tmp_path / "home", found)
        async with Memorist(model="structural", home=tmp_path / "home") as engine:
            daemon._sessions = HookSessionPool(engine, lambda *_: None)
            asked = asyncio.create_task(_serve_one(daemon, stop(__version__), ends=True))
            await begun.wait()
            await daemon._finish_answers()
            await asyncio.wait([asked])

        assert (daemon._asked, len(daemon._answers)) == (0, 0)
        failures = (tmp_path / "home" / "hooks" / hook_protocol.FAILURES).read_text()
        assert "1 hooks were not done" in failures


@pytest.mark.covers("IN-2")
def test_changed_settings_take_force(hooks: Hooks) -> None:
    """The process ends when the file of settings changed, and the next one writes down the new
    limits.
    """
    hooks.call("SessionStart", source="startup")
    first = process_of(hooks.home)

    (hooks.home / "config.toml").write_text("[hooks]\nother_seconds = 25\n")
    wait_for(
        lambda: process_of(hooks.home) != first or not (hooks.home / "hooks" / "socket").exists(),
        "the end of the old process",
    )
    hooks.call("SessionStart", source="resume")

    assert "* 25\n" in (hooks.home / "hooks" / "limits").read_text("utf-8")


@pytest.mark.covers("IN-2")
def test_settings_that_cannot_be_used_stop_nobody(hooks: Hooks) -> None:
    """The agent is shown nothing until the settings are put right, and the user is told why."""
    (hooks.home / "config.toml").write_text("[hooks]\nother_minutes = 25\n")

    assert hooks.call("SessionStart", source="startup") == ""
    assert "other_minutes" in hooks.notice("SessionStart", source="startup")
    assert "other_minutes" in hooks.failures()


def test_it_ends_when_nothing_comes(hooks: Hooks) -> None:
    """Without sessions and events it is gone after the time that the settings say."""
    (hooks.home / "config.toml").write_text(
        "[hooks]\nidle_seconds = 0.1\nsession_idle_seconds = 0.1\nother_seconds = 30\n"
    )
    hooks.call("Stop")

    wait_for(
        lambda: not (hooks.home / "hooks" / "socket").exists(),
        "the end of a process that nobody needs",
    )


def test_it_ends_when_its_home_is_gone(hooks: Hooks) -> None:
    """A home that was moved away is not written to any more."""
    hooks.call("Stop")
    first = process_of(hooks.home)
    away = hooks.home.with_name("away")
    hooks.home.rename(away)

    wait_for(lambda: not Path(f"/proc/{first}").exists() or not _holds(away), "its end")


def _holds(home: Path) -> bool:
    import fcntl

    with (home / "hooks" / "lock").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@pytest.mark.covers("IN-2")
def test_only_its_user_can_speak_to_it(hooks: Hooks) -> None:
    """Folder and socket are private, however long the path of the home is."""
    deep = Hooks(hooks.home / ("a" * 100) / ("b" * 100))
    deep.home.parent.mkdir(mode=0o700)
    try:
        deep.call("SessionStart", source="startup")

        assert stat.S_IMODE((deep.home / "hooks").stat().st_mode) == 0o700
        assert stat.S_IMODE((deep.home / "hooks" / "socket").stat().st_mode) == 0o600
    finally:
        end(deep.home)


@pytest.mark.covers("IN-2")
def test_junk_on_the_socket_disturbs_nobody(hooks: Hooks) -> None:
    """Who speaks otherwise, or hangs up in the middle, is dropped; the next event is answered."""
    hooks.call("Stop")
    before = Path.cwd()
    for junk in (
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"x" * 100_000,
        hook_protocol.encode_hook_header(__version__, "Stop", "", "", 500) + b"half",
    ):
        os.chdir(hooks.home / "hooks")
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(hook_protocol.SOCKET)
            os.chdir(before)
            try:
                line.sendall(junk)
            except BrokenPipeError:
                continue

    assert ask(hooks.home, stop(__version__)) == b"done\t0\n"
    assert hooks.failures() == ""


def test_hooks_can_be_switched_off(hooks: Hooks) -> None:
    """With the setting off nothing is kept and nothing shown."""
    (hooks.home / "config.toml").write_text("[hooks]\nenabled = false\nstart_seconds = 30\n")

    assert hooks.call("SessionStart", source="startup") == ""
    assert not (hooks.home / "projects").exists()
