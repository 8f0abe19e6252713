"""The command line: what it prints, what it writes, and how it fails."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from memorist.cli.command_group import LazyCommandGroup
from memorist.cli.main import memorist_group
from memorist.errors import SettingsError, StoreError
from memorist.store.transcript_writer import hold_transcript_writer_lock
from support.program import run_program

CLAUDE = [
    {"type": "user", "uuid": "11111111-0000-4000-8000-000000000001", "parentUuid": None, "sessionId": "s", "cwd": "/home/dev/shop",
     "timestamp": "2026-01-02T03:04:05.000Z", "isSidechain": False, "message": {"role": "user",
     "content": "Why is the total wrong? Do not touch the schema."}},
    {"type": "assistant", "uuid": "11111111-0000-4000-8000-000000000002", "parentUuid": "11111111-0000-4000-8000-000000000001", "sessionId": "s",
     "timestamp": "2026-01-02T03:04:06.000Z", "isSidechain": False, "message": {"id": "msg_1", "role": "assistant", "model": "claude-opus-4-6",
     "content": [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "python -m unittest"}}], "stop_reason": "tool_use",
     "usage": {"input_tokens": 12000, "output_tokens": 40}}},
    {"type": "user", "uuid": "11111111-0000-4000-8000-000000000003", "parentUuid": "11111111-0000-4000-8000-000000000002", "sessionId": "s",
     "timestamp": "2026-01-02T03:04:07.000Z", "isSidechain": False, "message": {"role": "user", "content": [
         {"type": "tool_result", "tool_use_id": "toolu_1", "content": "FAILED (failures=1)", "is_error": True}]}},
    {"type": "assistant", "uuid": "11111111-0000-4000-8000-000000000004", "parentUuid": "11111111-0000-4000-8000-000000000003", "sessionId": "s",
     "timestamp": "2026-01-02T03:04:08.000Z", "isSidechain": False, "message": {"id": "msg_2", "role": "assistant", "model": "claude-opus-4-6",
     "content": [{"type": "text", "text": "The total is wrong because prices.py rounds each line."}], "stop_reason": "end_turn",
     "usage": {"input_tokens": 12500, "output_tokens": 40}}},
]  # fmt: skip


def run(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_program(*arguments, cwd=cwd, environment=environment)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A small recorded session with one broken line."""
    path = tmp_path / "session.jsonl"
    lines = [json.dumps(record) for record in CLAUDE]
    path.write_text("\n".join([*lines[:2], "{broken", *lines[2:]]) + "\n", "utf-8")
    return path


def shape(value: Any) -> Any:
    """The keys of a JSON value, all the way down."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    return [shape(value[0])] if isinstance(value, list) and value else type(value).__name__


def test_replay_prints_the_object_that_the_documentation_promises(
    session: Path, tmp_path: Path
) -> None:
    """`--json` is a contract: its keys and their kinds."""
    said = run("replay", str(session), "--out", "out", "--json", cwd=tmp_path)
    found = json.loads(said.stdout)["sessions"][0]

    assert said.returncode == 0
    assert shape(found) == {
        "source": "str",
        "format": "str",
        "records": "int",
        "skipped": [{"line": "int", "why": "str"}],
        "mended": "list",
        "messages": "int",
        "turns": "int",
        "tokens_peak": "int",
        "session_memory": {
            "path": "str",
            "updates": [{"message": "str", "tokens": "int", "why": "str"}],
            "final": {"message": "str", "tokens": "int", "why": "str"},
        },
        "memory": {
            "steps": [{"message": "int", "what": "str", "paths": ["str"], "why": "str"}],
            "given": "list",
        },
        "prefix": {"requests": "int", "breaks": "list"},
        "receipts": {
            "requests": "int",
            "input": "int",
            "cache_read": "int",
            "cache_write": "int",
            "output": "int",
            "cost_usd": "float",
        },
        "seconds": "float",
    }
    assert (found["format"], found["messages"], found["turns"], found["tokens_peak"]) == (
        "claude_code",
        4,
        1,
        12_540,
    )
    assert found["skipped"][0]["line"] == 3
    assert found["receipts"] == {
        "requests": 0,
        "input": 0,
        "cache_read": 0,
        "cache_write": 0,
        "output": 0,
        "cost_usd": 0.0,
    }


@pytest.mark.covers("SM-13")
def test_replay_writes_notes_transcript_events_and_one_report(
    session: Path, tmp_path: Path
) -> None:
    """Everything below --out, nothing in the home."""
    run("replay", str(session), "--out", "out", cwd=tmp_path)
    folder = tmp_path / "out" / "session"

    notes = (folder / "session-memory" / "summary.md").read_text("utf-8")
    assert "Do not touch the schema." in notes
    assert "prices.py" in notes
    assert (folder / "transcript.jsonl").stat().st_size > 0
    assert (
        json.loads((folder / "events.jsonl").read_text("utf-8").splitlines()[0])["event"]["type"]
        == "session_opened"
    )
    assert "<svg" in (tmp_path / "out" / "report.html").read_text("utf-8")
    assert not Path(os.environ["MEMORIST_HOME"]).exists()


def test_replaying_again_replaces_what_was_there(session: Path, tmp_path: Path) -> None:
    """The same notes, and nothing left over."""
    run("replay", str(session), "--out", "out", cwd=tmp_path)
    first = (tmp_path / "out/session/session-memory/summary.md").read_text("utf-8")
    said = run("replay", str(session), "--out", "out", cwd=tmp_path)

    assert said.returncode == 0
    assert (tmp_path / "out/session/session-memory/summary.md").read_text("utf-8") == first
    assert not [path.name for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]


def test_a_folder_that_holds_replays_is_replayed_without_them(
    session: Path, tmp_path: Path
) -> None:
    """What an earlier replay wrote there is no further session."""
    for out in (".", "out"):
        run("replay", str(session), "--out", out, cwd=tmp_path)
    said = run("replay", ".", "--out", ".", "--json", cwd=tmp_path)

    assert said.returncode == 0, said.stderr
    assert [Path(each["source"]).name for each in json.loads(said.stdout)["sessions"]] == [
        session.name
    ]


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.jsonl", b""),
        ("binary.jsonl", bytes(range(256)) * 100),
        ("foreign.jsonl", b'{"level": "info", "message": "a log"}\n' * 20),
        ("table.jsonl", b"a,b,c\n1,2,3\n" * 20),
        ("page.jsonl", b"<!doctype html><html></html>\n"),
        ("missing.jsonl", None),
    ],
)
def test_a_file_that_is_no_session_gets_one_clear_sentence(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    """Exit status 1, no traceback, and the other files are still done."""
    if content is not None:
        (tmp_path / name).write_bytes(content)
    good = tmp_path / "good.jsonl"
    good.write_text("\n".join(map(json.dumps, CLAUDE)), "utf-8")
    said = run("replay", name, str(good), "--out", "out", "--json", cwd=tmp_path)

    assert said.returncode == 1
    assert "Traceback" not in said.stderr
    assert len(said.stderr.strip().splitlines()) == 1
    assert name in said.stderr
    assert [Path(found["source"]).name for found in json.loads(said.stdout)["sessions"]] == [
        "good.jsonl"
    ]


@pytest.mark.covers("SF-5")
def test_a_folder_that_cannot_be_written_gets_one_clear_sentence(
    session: Path, tmp_path: Path
) -> None:
    """A file stands where --out should be."""
    (tmp_path / "out").write_text("in the way", "utf-8")
    said = run("replay", str(session), "--out", "out", cwd=tmp_path)

    assert said.returncode == 1
    assert "Traceback" not in said.stderr
    assert "out" in said.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["replay"],
        ["replay", "x", "--context-window", "many"],
        ["unknown"],
        ["replay", "x", "--model", "what:is:this"],
        ["bench", "x"],
    ],
)
def test_a_wrong_call_exits_with_two(tmp_path: Path, arguments: list[str]) -> None:
    """Status 2 tells scripts that the call, not the job, was wrong."""
    (tmp_path / "x").write_text("", "utf-8")
    said = run(*arguments, cwd=tmp_path)

    assert said.returncode == 2
    assert "Traceback" not in said.stderr


@pytest.mark.parametrize("command", ["notes", "compact", "handoff", "context", "replay"])
def test_a_name_that_is_too_long_gets_one_clear_sentence(tmp_path: Path, command: str) -> None:
    """A session's name may be a file's; one that no file system takes is an error, no traceback."""
    done = run(command, "n" * 300, cwd=tmp_path)

    assert done.stderr.endswith(
        "n…: the name is too long for the file system; choose a shorter one\n"
    )
    assert (done.stderr.count("\n"), done.returncode) == (1, 1)


@pytest.mark.parametrize("words", [("install", "claude-code", "--home"), ("machines", "init")])
def test_an_argument_that_is_no_utf_8_gets_one_clear_sentence(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """What is stored is UTF-8: such an argument is a wrong call, and no traceback."""
    done = run(*words, os.fsdecode(b"\xff"), cwd=tmp_path)

    assert "\\udcff' " in done.stderr
    assert "not valid UTF-8" in done.stderr
    assert (done.stderr.count("\n"), done.returncode) == (1, 2)


def test_an_interrupt_that_breaks_an_import_is_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C ends with 130, also where half a module is left that fails otherwise; any other error
    of a command is raised as before.
    """

    def fail(cause: BaseException | None) -> None:
        try:
            if cause is not None:
                raise cause
        finally:
            raise AttributeError("partially initialized module")

    monkeypatch.setattr(
        "memorist.cli.project_overview.print_project_overview", lambda: fail(KeyboardInterrupt())
    )
    done = run(cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "Aborted!\n")

    monkeypatch.setattr("memorist.cli.project_overview.print_project_overview", lambda: fail(None))
    with pytest.raises(AttributeError):
        run(cwd=tmp_path)


def test_any_number_of_changes_may_be_asked_for(tmp_path: Path) -> None:
    """`--limit` beyond what a machine counts to shows all."""
    run("memory", "add", "Use pnpm", cwd=tmp_path)
    done = run("memory", "log", "--limit", "9" * 20, cwd=tmp_path)

    assert "add: Use pnpm" in done.stdout


@pytest.mark.parametrize(
    ("piped", "said"),
    [
        (b"Gr\xfc\xdfe", "memorist: the text is not in UTF-8; convert it, as with `iconv -f"),
        ("Grüße\r\nan alle".encode("utf-16"), "remembered: grüsse-an-alle.md"),
        ("Grüße an alle".encode(), "remembered: grüsse-an-alle.md"),
        (b"word " * 200_001, "memorist: the text has more than 1,000,000 bytes; split it"),
    ],
)
def test_a_text_is_remembered_in_its_letters_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piped: bytes, said: str
) -> None:
    """What is piped in Latin-1 was kept with a question mark for each letter that it has of its
    own; in UTF-16, as PowerShell pipes, it is read. A note of past sessions and a line of the log
    can be piped as well: a dash was kept. More than a memory may have is refused before it is read:
    30 MB took two minutes and a gigabyte, and were kept whole as a note.
    """
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(piped), "utf-8"))
    done = run("memory", "add", "-", cwd=tmp_path)

    assert (done.stdout + done.stderr).startswith(said)
    for place in (("rollouts", "note"), ("dream", "log")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(piped), "utf-8"))
        done = run(*place, "-", cwd=tmp_path)
        assert (done.returncode == 0) is said.startswith("remembered"), done.stderr
    assert done.returncode or "an alle" in done.stdout
    named = ("memory", "add", "Use pnpm")
    for words in (
        ("memory", "add"),
        (*named, "--name"),
        (*named, "--description"),
        ("rollouts", "note"),
        ("dream", "log"),
        ("search",),
    ):
        typed = run(*words, os.fsdecode(b"Gr\xfc\xdfe"), cwd=tmp_path)
        assert (typed.stdout, typed.returncode) == ("", 2)
        assert "is not in UTF-8" in typed.stderr


def test_settings_that_are_no_json_are_a_wrong_call_of_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine pipes them; whoever types the option is answered in one sentence."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    done = run("worker", "--once", "--settings-from-stdin", cwd=tmp_path)

    assert done.stderr.startswith("memorist: standard input holds no settings: ")
    assert done.returncode == 2


def test_notes_shows_a_replayed_session_and_updates_it(session: Path, tmp_path: Path) -> None:
    """By its folder; what is not kept is made from the transcript, and --update keeps it again."""
    run("replay", str(session), "--out", "out", cwd=tmp_path)
    shown = run("notes", "out/session", cwd=tmp_path)
    (tmp_path / "out/session/session-memory/summary.md").unlink()
    unkept = run("notes", "out/session", cwd=tmp_path)
    made = run("notes", "out/session", "--update", "--json", cwd=tmp_path)

    assert "Do not touch the schema." in shown.stdout
    assert "Do not touch the schema." in unkept.stdout
    assert "no notes are kept of session" in unkept.stderr
    assert "Do not touch the schema." in json.loads(made.stdout)["notes"]


def test_notes_of_a_session_that_goes_on_elsewhere_are_shown_as_they_stand(
    session: Path, tmp_path: Path
) -> None:
    """An agent that is asked for them runs the command in the middle of its session."""
    run("replay", str(session), "--out", "out", cwd=tmp_path)
    with hold_transcript_writer_lock(tmp_path / "out/session/transcript.jsonl"):
        said = run("notes", "out/session", "--update", cwd=tmp_path)

    assert "Do not touch the schema." in said.stdout
    assert "goes on in another process" in said.stderr


def test_a_replay_without_a_session_promises_no_report(tmp_path: Path) -> None:
    """One sentence, and nothing on standard output."""
    said = run("replay", "nowhere/session.jsonl", cwd=tmp_path)

    assert (said.returncode, said.stdout) == (1, "")
    assert "no file" in said.stderr


def test_notes_of_an_unknown_session_says_so(tmp_path: Path) -> None:
    """One sentence."""
    said = run("notes", "nobody", cwd=tmp_path)

    assert said.returncode == 1
    assert "nobody" in said.stderr


@pytest.mark.covers("FG-1")
def test_config_show_names_the_source_of_each_value(tmp_path: Path) -> None:
    """Environment and default are told apart."""
    said = run("config", "show", "--source", cwd=tmp_path, MEMORIST_SESSION_MEMORY__TOOL_CALLS="7")

    assert "session_memory.tool_calls" in said.stdout
    assert [
        line.split()[1:]
        for line in said.stdout.splitlines()
        if line.startswith("session_memory.tool_calls")
    ] == [["7", "(environment)"]]
    assert [
        line.split()[2:]
        for line in said.stdout.splitlines()
        if line.startswith("session_memory.start_tokens")
    ] == [["(default)"]]


HOME_COMMANDS = (
    "", "status", "search x", "sessions", "notes", "memory list", "memory add x", "memory log",
    "memory undo --yes", "memory check", "memory inbox", "memory search x", "memory show x",
    "recall x", "rollouts status", "dream", "handoff x", "compact x", "import", "worker --once",
    "docs list", "skills list", "team status", "setup --yes",
)  # fmt: skip
"""Commands that read or write the home."""


@pytest.mark.parametrize("command", HOME_COMMANDS)
def test_a_home_that_is_a_file_is_named_in_one_sentence(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No command reads it as an empty home, or shows a number of the system."""
    (tmp_path / "taken").write_text("x", "utf-8")
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "taken"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    done = CliRunner().invoke(memorist_group, command.split())

    assert isinstance(done.exception, StoreError), done.output
    assert str(done.exception) == (
        f"{tmp_path / 'taken'} is not a folder; move it away, or set MEMORIST_HOME to another "
        f"folder"
    )
    assert "Errno" not in done.output


@pytest.mark.parametrize("name", ["  ", "/tmp/b\udcff"])
def test_a_home_whose_name_cannot_be_used_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is no UTF-8 had its memories written and then ended with a traceback; a blank one
    was a folder of blanks in the working folder.
    """
    monkeypatch.setenv("MEMORIST_HOME", name)
    monkeypatch.chdir(tmp_path)

    for command in ("status", "memory list", "config show", "config set model structural"):
        done = CliRunner().invoke(memorist_group, command.split())
        assert isinstance(done.exception, SettingsError), done.output
        assert "set MEMORIST_HOME to another folder" in str(done.exception)
    assert not [*tmp_path.iterdir()]


@pytest.mark.covers("OP-1")
def test_doctor_finds_what_is_wrong_and_says_how_to_mend_it(tmp_path: Path) -> None:
    """A sound installation is 0; an open home is named with its cure."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    sound = run("doctor", cwd=tmp_path, MEMORIST_HOME=str(home))
    home.chmod(0o755)
    (home / "state.sqlite").write_bytes(b"not a database" * 100)
    broken = run("doctor", cwd=tmp_path, MEMORIST_HOME=str(home))

    assert sound.returncode == 0
    assert broken.returncode == 1
    assert f"chmod 700 {home}" in broken.stdout
    assert "database" in broken.stdout


def test_demo_takes_the_users_newest_session_and_else_the_samples(
    session: Path, tmp_path: Path
) -> None:
    """It says which it took, shows the notes and names the report; a link to nothing and a folder
    are no session of theirs.
    """
    samples = tmp_path / "samples"
    samples.mkdir()
    session.rename(samples / "sample.jsonl")
    without = run("demo", "--samples", str(samples), "--out", "out", cwd=tmp_path)
    own = Path(os.environ["HOME"]) / ".claude" / "projects" / "p"
    own.mkdir(parents=True)
    (own / "mine.jsonl").write_text("\n".join(map(json.dumps, CLAUDE)), "utf-8")
    (own / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    (own / "newer.jsonl").mkdir()
    with_own = run("demo", "--samples", str(samples), "--out", "out", cwd=tmp_path)

    assert "sample.jsonl" in without.stdout
    assert "Do not touch the schema." in without.stdout
    assert "report.html" in without.stdout
    assert "mine.jsonl" in with_own.stdout


def test_an_error_shows_its_traceback_only_when_asked(tmp_path: Path) -> None:
    """`--debug` is for us."""
    command = [sys.executable, "-m", "memorist"]

    plain, debug = (
        subprocess.run(
            [*command, *more, "notes", "nobody"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        for more in ([], ["--debug"])
    )

    assert (plain.returncode, debug.returncode) == (1, 1)
    assert "Traceback" not in plain.stderr
    assert "Traceback" in debug.stderr


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("add x", "memorist memory add"),
        ("remember x", "memorist memory add"),
        ("forget x", "memorist memory forget"),
        ("list", "memorist memory list"),
        ("undo", "memorist memory undo"),
        ("find x", "search"),
        ("init", "setup"),
        ("push", "memorist team push"),
        ("help memory", "memorist memory --help"),
        ("memorist memory list", "memorist memory list"),
        ("config get model", "show"),
        ("memory inbox list", "memorist memory inbox"),
        ("memory list -help", "--help"),
        ("/?", "--help"),
        ("memory add use tabs —everywhere", "--everywhere"),
        ("memory list –-json", "--json"),
        ("version", "memorist --version"),
        ("memory ls", "list"),
        ("memory rm x", "forget"),
        ("memroy list", "memory"),
        ("accept 1", "memorist memory inbox accept"),
        ("memory accept 1", "memorist memory inbox accept"),
        ("spend", "memorist status"),
    ],
)
def test_a_word_that_is_no_command_is_answered_with_the_one_that_is_meant(
    typed: str, meant: str
) -> None:
    """What newcomers type before they have read anything, or paste from where two hyphens became
    one dash: it is no part of a sentence then.
    """
    made = CliRunner().invoke(memorist_group, typed.split())

    assert made.exit_code == 2
    assert f"Did you mean '{meant}'" in made.stderr


@pytest.mark.parametrize("command", [["search"], ["recall"], ["memory", "add"]])
def test_words_that_are_blank_are_refused(command: list[str]) -> None:
    """As with a variable that is not set: it is no query that nothing was found for."""
    made = CliRunner().invoke(memorist_group, [*command, " "])

    assert made.exit_code == 2
    assert "it is empty" in made.stderr


@pytest.mark.parametrize(
    ("variable", "value", "why"),
    [
        ("MEMORIST_OFF", "1", "MEMORIST_OFF is set"),
        ("MEMORIST_AUTO_MEMORY__POLICY", "off", 'auto_memory.policy is "off"'),
        ("MEMORIST_HOOKS__ENABLED", "false", "hooks.enabled is false"),
    ],
)
@pytest.mark.parametrize("command", [[], ["status"]])
def test_the_overview_says_that_memory_is_off_and_why(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    variable: str,
    value: str,
    why: str,
) -> None:
    """`memorist` alone and `memorist status`; nothing where memory is on."""
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    on = CliRunner().invoke(memorist_group, command)
    monkeypatch.setenv(variable, value)

    off = CliRunner().invoke(memorist_group, command)

    assert "memory is off" not in on.stdout
    assert f"memory is off here: {why}" in off.stdout


def test_sentences_need_no_quotes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To remember, to recall and to search."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "home"))

    def say(typed: str) -> str:
        return CliRunner().invoke(memorist_group, typed.split(), catch_exceptions=False).output

    say("memory add Use pnpm, never npm, in this repository")

    assert "Use pnpm, never npm" in say("recall should I use npm or pnpm")
    assert "use-pnpm" in say("search pnpm repository")
    assert "use-pnpm" in say("memory search pnpm repository")


COMPLETING = {"_MEMORIST_COMPLETE": "bash_complete", "COMP_WORDS": "memorist s", "COMP_CWORD": "1"}


@pytest.mark.parametrize(("words", "environment"), [(["--help"], {}), ([], COMPLETING)])
def test_the_list_of_commands_loads_none_of_them(
    words: list[str], environment: dict[str, str]
) -> None:
    """Whoever looks for a command, or presses the tab key, does not wait for all of them."""
    program = (
        "import sys; sys.argv[0] = 'memorist'; __import__('memorist.__main__').__main__.main()"
    )

    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", program, *words],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )

    assert "status" in done.stdout
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    own = ("", ".command_group", ".main", ".terminal_stream")
    assert {each for each in loaded if each.startswith("memorist.cli")} == {
        f"memorist.cli{name}" for name in own
    }
    assert not {"memorist.engine", "memorist.settings", "asyncio"} & loaded


def test_the_list_of_commands_says_what_each_says_of_itself() -> None:
    """The summaries in the list are the first sentences of the commands' own help."""
    context = click.Context(memorist_group)
    own = {
        name: command.get_short_help_str(1_000)
        for name in memorist_group.list_commands(context)
        if (command := memorist_group.get_command(context, name)) and not command.hidden
    }

    assert isinstance(memorist_group, LazyCommandGroup)
    assert own == memorist_group.summaries


UNUSED_BY_ALL = ("anthropic", "asyncio", "numpy", "openai", "pydantic", "rich", "tokenizers")
"""Packages that no command needs which reads memory files alone."""


@pytest.mark.parametrize(
    ("command", "unused"),
    [
        ("memory list", ("engine", "formats.format_detection", "models.embedder", "store.jobs")),
        ("memory show we-use-pnpm", ("engine", "formats.format_detection", "models.embedder")),
        ("memory add Answer briefly", ("engine", "formats.format_detection", "models.embedder")),
        ("memory forget we-use-pnpm", ("engine", "formats.format_detection", "models.embedder")),
        ("memory log", ("engine", "formats.format_detection", "models.embedder")),
        ("recall pnpm", ("engine.engine", "engine.session_log", "runtime", "session_memory.session_notes")),
        ("status", ("engine.engine", "engine.session_log", "runtime", "session_memory.session_notes")),
    ],
)  # fmt: skip
def test_a_command_loads_only_what_it_works_with(
    command: str, unused: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looks at a memory does not wait for the engine, a model, or parts of sessions."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(memorist_group, ["memory", "add", "We use pnpm"]).exit_code == 0
    parts = [
        "compaction",
        "dream.dream",
        "forks.fork_runner",
        "page",
        "proxy",
        "telemetry",
        *unused,
    ]
    banned = (*UNUSED_BY_ALL, *(f"memorist.{part}" for part in parts))

    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "memorist", *command.split()],
        capture_output=True,
        text=True,
        check=True,
    )

    loaded = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines()]
    assert "memorist.cli.main" in loaded
    assert [name for name in loaded if any(f"{name}.".startswith(f"{b}.") for b in banned)] == []


def test_a_browser_that_waits_for_the_page_gets_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As one in a terminal does, which is opened where there is no screen: the page is served while
    it waits.
    """
    pytest.importorskip("starlette")
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "home"))
    web_server = import_module("memorist.page.web_server")
    served, opened = threading.Event(), threading.Event()

    def open_and_wait(_: str) -> None:
        if served.wait(20):
            opened.set()

    def serve(_: object, listening: socket.socket) -> None:
        with listening:
            served.set()
            opened.wait(20)

    monkeypatch.setattr("webbrowser.open", open_and_wait)
    monkeypatch.setattr(web_server, "serve_page", serve)
    assert CliRunner().invoke(memorist_group, ["ui"]).exit_code == 0
    assert opened.is_set()
