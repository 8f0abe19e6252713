"""The program that an agent calls: whatever goes wrong, it ends well, says nothing that could be
misread, and leaves the reason.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hooks.conftest import Hooks
from memorist.hooks import hook_protocol
from memorist.hooks.hook_client import HookGotNoResponse, enter_hooks_folder, find_hooks_folder

EVENT = json.dumps(
    {
        "session_id": "s1",
        "cwd": "/home/dev/shop",
        "hook_event_name": "UserPromptSubmit",
        "prompt": "hello",
    }
).encode()
SHORT = "* 0.4\nUserPromptSubmit 0.4\n"


def nothing(done: subprocess.CompletedProcess[bytes]) -> bool:
    """Whether the agent goes on as if there were no hook."""
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@contextmanager
def answering(folder: Path, answer: Callable[[socket.socket], None]) -> Iterator[None]:
    """Something on the socket that answers as told, instead of memorist."""
    before = Path.cwd()
    os.chdir(folder)
    line = socket.socket(socket.AF_UNIX)
    line.bind(hook_protocol.SOCKET)
    os.chdir(before)
    line.listen(8)

    def serve() -> None:
        while True:
            try:
                one, _ = line.accept()
            except OSError:
                return
            with one:
                answer(one)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        line.shutdown(socket.SHUT_RDWR)
        line.close()
        (folder / hook_protocol.SOCKET).unlink(missing_ok=True)
        thread.join(5)


@pytest.mark.covers("IN-2")
def test_the_program_loads_nothing_but_pythons_own() -> None:
    """Neither the command line nor the engine, nor any package of others, nor much of Python:
    loading would cost more than all the rest.
    """
    code = (
        "import sys; before = set(sys.modules); import memorist.__main__\n"
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before} - "
        "set(sys.stdlib_module_names)))\n"
        "print(*sorted(name for name in sys.modules if name.startswith('memorist')))\n"
        "print(*sorted(name for name in set(sys.modules) - before if not "
        "name.startswith('memorist')))"
    )

    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    ).stdout.split("\n")

    assert said[0] == "memorist"
    assert said[1].split() == [
        "memorist",
        "memorist.__main__",
        "memorist.hooks",
        "memorist.hooks.hook_client",
        "memorist.hooks.hook_protocol",
        "memorist.hooks.hook_time_limits",
        "memorist.platforms",
        "memorist.platforms.file_descriptors",
        "memorist.platforms.file_locks",
        "memorist.platforms.sockets",
        "memorist.platforms.spawning",
        "memorist.platforms.storage_errors",
        "memorist.platforms.user_home",
    ]
    assert said[2].split() == ["__future__", "_socket", "errno", "fcntl", "select"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"junk",
        b"[]",
        b'{"session_id": "s1"',
        b"\xff\xfe\x00",
        b'{"session_id": 5}',
        b"{" * 5_000,
    ],
)
@pytest.mark.covers("IN-2")
def test_broken_json_stops_nobody(hooks: Hooks, data: bytes) -> None:
    """What is no event gives nothing, and the reason stands in the file of failures."""
    assert nothing(hooks.raw("Stop", data))
    assert hooks.failures()


@pytest.mark.covers("IN-2")
def test_an_event_that_is_not_known_stops_nobody(hooks: Hooks) -> None:
    """A new agent's new event gives nothing, and its name is kept for doctor."""
    done = hooks.raw("MoonRise", EVENT.replace(b"UserPromptSubmit", b"MoonRise"))

    assert (done.returncode, done.stdout) == (0, b"")
    assert "MoonRise" in hooks.failures()


def test_without_an_event_or_with_strange_arguments_it_ends_well(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No argument is a reason to fail: an old settings file may name what a new memorist does not
    take.
    """
    monkeypatch.setenv("MEMORIST_HOME", str(hooks.home))
    for arguments in (
        [],
        ["--client"],
        ["Stop", "--new-option"],
        ["Stop", "--new-option", "x", "--home"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "memorist", "hook", *arguments],
            input=b"",
            capture_output=True,
            timeout=300,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.covers("IN-2")
def test_a_process_that_hangs_is_not_waited_for(hooks: Hooks) -> None:
    """Where nothing is answered the program ends at its limit, and says so."""
    (hooks.home / "hooks" / "limits").write_text(SHORT)
    with answering(hooks.home / "hooks", lambda one: time.sleep(3)):
        assert nothing(hooks.raw("UserPromptSubmit", EVENT))
    assert any(
        why in hooks.failures()
        for why in ("no answer within 0.4 seconds", "it did not end by itself")
    )  # the latter on a busy machine


@pytest.mark.parametrize(
    "said", [b"", b"done\t", b"done\t90\nhalf", b"junk\n", b"done\t1\ntoo much", b"\0" * 100]
)
@pytest.mark.covers("IN-2")
def test_half_an_answer_is_not_printed(hooks: Hooks, said: bytes) -> None:
    """An answer that is broken off, or none at all, is asked for once more and then given up."""

    def answer(one: socket.socket) -> None:
        while not one.recv(1 << 20).endswith(EVENT[-20:]):
            pass
        one.sendall(said)

    with answering(hooks.home / "hooks", answer):
        assert nothing(hooks.raw("UserPromptSubmit", EVENT))
    assert hooks.failures()


@pytest.mark.covers("IN-2")
def test_an_agent_that_never_closes_its_side_is_not_waited_for(hooks: Hooks) -> None:
    """Standard input that stays open costs the limit and no more."""
    (hooks.home / "hooks" / "limits").write_text(SHORT)
    program = hooks.start("Stop")

    assert program.wait(300) == 0
    assert program.stdin is not None
    assert program.stdout is not None
    assert program.stderr is not None
    assert program.stdout.read() == b""
    for end in (program.stdin, program.stdout, program.stderr):
        end.close()
    assert any(why in hooks.failures() for why in ("no answer", "it did not end by itself"))


@pytest.mark.covers("IN-2")
def test_an_event_of_any_size_is_read_to_its_end(hooks: Hooks) -> None:
    """Forty megabytes are taken, seventy are read and left, and the agent that writes them never
    meets a closed pipe.
    """
    for size in (40, 70):
        event = {
            "session_id": "s1",
            "hook_event_name": "PostToolUse",
            "tool_response": "x" * (size << 20),
        }
        assert nothing(hooks.raw("PostToolUse", json.dumps(event).encode()))
    assert "larger than" in hooks.failures()
    assert hooks.failures().count("\n") == 1


@pytest.mark.covers("IN-2")
def test_a_home_that_cannot_be_used_stops_nobody(tmp_path: Path) -> None:
    """A file in the place of the folder, a folder that others may write to, a link to nowhere."""
    a_file, open_to_all, a_link = tmp_path / "file", tmp_path / "open", tmp_path / "link"
    a_file.write_text("")
    (open_to_all / "hooks").mkdir(parents=True)
    (open_to_all / "hooks").chmod(0o777)
    a_link.symlink_to(tmp_path / "nowhere" / "deep")

    for home in (a_file, open_to_all, a_link):
        assert nothing(Hooks(home).raw("Stop", EVENT))
    assert "chmod 700" in Hooks(open_to_all).failures()
    for home in (a_file, open_to_all):  # where there is no file of failures, the user sees why
        notice = Hooks(home).notice("SessionStart", source="startup")
        assert ("something else has that name; move it away" in notice) == (home == a_file)
    assert not (open_to_all / "hooks" / hook_protocol.SOCKET).exists()


def refuse_hooks_folder(path: str, mode: int = 0o777, exist_ok: bool = False) -> None:
    """As the system does in a folder of somebody else."""
    if path.endswith("hooks"):
        raise PermissionError(13, "Permission denied", path)


@pytest.mark.parametrize("cause", ["owner", "permission"])
def test_a_home_that_a_run_with_sudo_made_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cause: str
) -> None:
    """It told the user to make a folder private that was, or named the number of an error."""
    home = tmp_path / "home"
    home.mkdir()
    if cause == "owner":
        monkeypatch.setattr(os, "getuid", lambda: 4_242_424, raising=False)
    else:
        monkeypatch.setattr(os, "makedirs", refuse_hooks_folder)

    with pytest.raises(HookGotNoResponse, match="belongs to another user") as unanswered:
        enter_hooks_folder(str(home), str(home / "hooks"))

    assert f"sudo chown -R NAME {home}" in str(unanswered.value)


def test_a_home_that_is_mounted_read_only_has_its_socket_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder that is the user's alone, always the same one; one of somebody else is none."""
    home, runtime = str(tmp_path / "home"), tmp_path / "run"
    Path(home).mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    assert find_hooks_folder(home) == f"{home}/hooks"

    monkeypatch.setattr(os, "access", lambda path, _mode: not path.startswith(home))
    folder = find_hooks_folder(home)
    enter_hooks_folder(home, folder)

    assert Path.cwd().is_relative_to(runtime)
    assert [stat.S_IMODE(each.stat().st_mode) for each in (Path(), Path(".."))] == [0o700, 0o700]
    assert find_hooks_folder(home) == folder
    monkeypatch.setattr(os, "getuid", lambda: 4_711)
    with pytest.raises(HookGotNoResponse, match="belongs to another user"):
        enter_hooks_folder(home, folder)


@pytest.mark.covers("IN-2")
def test_a_process_that_cannot_start_is_tried_once_a_minute(hooks: Hooks) -> None:
    """Where the process behind the hooks ends at once, an agent waits for it once, and not at every
    event.
    """
    (hooks.home / "hooks" / "lock").mkdir()

    first, second = hooks.raw("Stop", EVENT), hooks.raw("Stop", EVENT)

    assert nothing(first)
    assert nothing(second)
    reasons = hooks.failures().splitlines()
    assert "ended at once" in reasons[0]
    assert "could not start" in reasons[-1]
    assert (hooks.home / "hooks" / "output.log").read_text("utf-8")


@pytest.mark.covers("IN-2")
def test_settings_that_were_put_right_are_read_by_the_next_event(hooks: Hooks) -> None:
    """A session that starts right after wrong settings were corrected has its memory; it was told
    once more that memory is off, for a reason that was gone.
    """
    event = EVENT.replace(b"UserPromptSubmit", b"SessionStart")
    settings = hooks.home / "config.toml"
    settings.write_text("model = no quotes\n", "utf-8")
    wrong = hooks.raw("SessionStart", event)
    settings.write_text('long_term = "both"\n', "utf-8")

    right = hooks.raw("SessionStart", event)

    assert b"memory is off" in wrong.stdout
    assert b"memory is off" not in right.stdout
    assert not right.stderr


@pytest.mark.covers("IN-2")
def test_a_full_disk_stops_nobody(hooks: Hooks) -> None:
    """Where the reason cannot be written down it is lost, and nothing else."""
    (hooks.home / "hooks" / "failures.log").symlink_to("/dev/full")

    assert nothing(hooks.raw("Stop", b"junk"))


def test_the_file_of_failures_stays_small(hooks: Hooks) -> None:
    """Above its size it begins anew, and the one before is kept."""
    path = hooks.home / "hooks" / "failures.log"
    path.write_bytes(b"x" * hook_protocol.MAX_FAILURES_BYTES)

    hooks.raw("Stop", b"junk")
    hooks.raw("Stop", b"junk")

    assert path.stat().st_size < 1_000
    assert path.with_name("failures.log.1").stat().st_size > hook_protocol.MAX_FAILURES_BYTES


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("SessionStrat",), "SessionStart"),
        (("SessionStart", "--cleint", "codex"), "'--cleint'"),
        (("SessionStart", "--client", "claude"), "claude-code"),
    ],
)
def test_a_slip_in_the_command_of_a_settings_file_is_seen(
    hooks: Hooks, words: tuple[str, ...], named: str
) -> None:
    """In one line on standard error and in the file that `doctor` reads; the agent goes on, and
    the event counts that the agent names.
    """
    given = json.dumps({"session_id": "s1", "hook_event_name": "SessionStart"}).encode()

    done = hooks.raw(words[0], given, *words[1:])

    assert done.returncode == 0
    assert done.stderr.decode().startswith("memorist hook: ")
    assert done.stderr.count(b"\n") == 1
    assert named in done.stderr.decode()
    assert "wrong command" in hooks.failures()


@pytest.mark.covers("SF-1")
def test_a_secret_in_the_place_of_an_argument_is_written_nowhere(hooks: Hooks) -> None:
    """As after a slip in pasting: neither on standard error nor in the file of failures."""
    token = "ghp_" + "0aK9xmP2qLr7vBn4wZs8tYc3dF6gH1jQ5eXu"
    given = json.dumps({"session_id": "s1", "hook_event_name": token}).encode()

    done = hooks.raw(token, given, "--client", token)

    assert b"none of the events" in done.stderr
    assert token not in done.stderr.decode() + hooks.failures()
    assert "wrong command" in hooks.failures()


@pytest.mark.parametrize("named", ["", "relative/home"])
def test_an_unknown_home_folder_is_told_and_nothing_is_written_elsewhere(
    named: str, tmp_path: Path
) -> None:
    """An empty or relative HOME is neither the root folder nor the project: no memory of a
    session begins there, by a hook or a command, and the user is told what to set.
    """
    environment = {**os.environ, "HOME": named, "MEMORIST_HOME": ""}
    start = json.dumps({"session_id": "s1", "hook_event_name": "SessionStart"}).encode()
    said = {}
    for words, given in ((("hook", "SessionStart"), start), (("memory", "add", "use pnpm"), b"")):
        program = [sys.executable, "-m", "memorist", *words]
        done = subprocess.run(
            program, input=given, capture_output=True, cwd=tmp_path, env=environment, check=False
        )
        said[words[0]] = done.stdout + done.stderr

    assert all(b"HOME is '" + named.encode() in each for each in said.values()), said
    assert b"systemMessage" in said["hook"]
    assert not [*tmp_path.iterdir()]


def test_a_folder_that_cannot_be_made_is_told_in_words(tmp_path: Path) -> None:
    """The user reads what happened and what to do, not the number of an error."""
    (tmp_path / "file").write_text("")
    program = [sys.executable, "-m", "memorist", "hook", "SessionStart"]
    start = json.dumps({"session_id": "s1", "hook_event_name": "SessionStart"}).encode()
    done = subprocess.run(
        [*program, "--home", f"{tmp_path}/file/home"], input=start, capture_output=True, check=False
    )

    notice = json.loads(done.stdout)["systemMessage"]
    assert "Errno" not in notice
    assert notice.endswith("something else has that name; move it away")


@pytest.mark.skipif(os.name != "posix", reason="other systems have no modes")
def test_a_home_that_cannot_be_used_is_told_as_the_session_starts(tmp_path: Path) -> None:
    """As that of another user after `su` without `-`: what was said in the session was lost, and
    only `memorist doctor` knew. Once, and not at every event.
    """
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks").chmod(0o777)
    program = [sys.executable, "-m", "memorist", "hook"]
    said = {}
    for event in ("SessionStart", "UserPromptSubmit", "Stop"):
        given = json.dumps({"session_id": "s1", "hook_event_name": event}).encode()
        words = [*program, event, "--client", "codex", "--home", str(tmp_path)]
        said[event] = subprocess.run(words, input=given, capture_output=True, check=True).stdout

    notice = json.loads(said.pop("SessionStart"))["systemMessage"]
    assert notice.startswith("memorist: no memory in this session: others may write to")
    assert notice.endswith("make it private with chmod 700")
    assert set(said.values()) == {b""}
    assert len((tmp_path / "hooks" / "failures.log").read_text("utf-8").splitlines()) == 3
