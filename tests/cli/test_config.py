"""`memorist config show` and `memorist doctor` on feature flags: what they set, and what is wrong
with them.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from memorist.cli import config_command
from memorist.cli.main import memorist_group
from memorist.flags import flag_file


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The flags file that the environment names; the folder is no project."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMORIST_FLAGS__FILE", str(tmp_path / "flags.toml"))
    return tmp_path / "flags.toml"


def show(*options: str) -> Result:
    return CliRunner().invoke(memorist_group, ["config", "show", *options], catch_exceptions=False)


def examine() -> tuple[int, list[tuple[str, str, str]]]:
    """The exit status, and the findings that tell of flags."""
    made = CliRunner().invoke(memorist_group, ["doctor", "--json"], catch_exceptions=False)
    findings = json.loads(made.output)["findings"]
    return made.exit_code, [
        (each["state"], each["what"], each["remedy"]) for each in findings if "flag" in each["what"]
    ]


@pytest.mark.covers("FG-1", "FG-2")
def test_a_flag_is_the_source_of_the_value_that_it_overrides(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In text and in JSON, whatever set the value before."""
    monkeypatch.setenv("MEMORIST_SESSION_MEMORY__TOOL_CALLS", "7")
    file.write_text("[session_memory]\ntool_calls = 9\n[dream]\nenabled = false\n", "utf-8")

    lines = {line.split()[0]: line.split()[1:] for line in show("--source").stdout.splitlines()}
    data = json.loads(show("--json").stdout)

    assert lines["session_memory.tool_calls"] == ["9", "(flag)"]
    assert lines["dream.enabled"] == ["false", "(flag)"]
    assert lines["dream.hours"] == ["24.0", "(default)"]
    assert data["settings"]["session_memory.tool_calls"] == 9
    assert (data["sources"]["session_memory.tool_calls"], data["sources"]["flags.file"]) == (
        "flag",
        "environment",
    )
    assert data["ignored"] == []


@pytest.mark.covers("FG-2")
def test_a_mistyped_flag_is_told_by_both_commands(file: Path) -> None:
    """Ignored, and not silently; an installation is not broken for it."""
    file.write_text("[session_memory]\nstart_token = 5\ntool_calls = 0\n", "utf-8")

    shown = show("--source")
    code, findings = examine()

    assert "did you mean session_memory.start_tokens?" in shown.stderr
    assert "session_memory.tool_calls is 0" in shown.stderr
    assert len(json.loads(show("--json").stdout)["ignored"]) == 2
    assert code == 0
    assert ("good", f"the flags file {file} is readable and sets 0 flags") in [
        each[:2] for each in findings
    ]
    assert [state for state, _, _ in findings].count("note") == 2
    assert all(str(file) in mend for state, _, mend in findings if state == "note")


@pytest.mark.covers("FG-2", "OP-1")
@pytest.mark.parametrize("text", ["= broken", "\x00", "[a", "'a'"])
def test_a_broken_flags_file_is_wrong_and_the_settings_hold(file: Path, text: str) -> None:
    """`doctor` fails and names the file; `config show` still shows the settings, and says so."""
    file.write_text(text, "utf-8")

    shown = show()
    code, findings = examine()

    assert shown.exit_code == 0
    assert "flags.toml" in shown.stderr
    assert "session_memory.tool_calls" in shown.stdout
    assert code == 1
    assert [(state, "flags.toml" in what, bool(mend)) for state, what, mend in findings] == [
        ("wrong", True, True)
    ]


@pytest.mark.covers("FG-2")
def test_a_flags_file_that_does_not_answer_holds_nobody_up(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that hangs, here until the test is over, is waited for only so long."""
    answers = threading.Event()
    file.write_text("")
    monkeypatch.setattr(config_command, "FLAGS_WAIT_SECONDS", 0.05)
    monkeypatch.setattr(flag_file, "read_regular_text_file", lambda path: "" * answers.wait(30))

    code, findings = examine()

    assert code == 1
    assert "did not answer" in findings[0][1]
    assert "did not answer" in show().stderr
    answers.set()


@pytest.mark.covers("FG-2")
def test_a_pipe_in_place_of_the_flags_is_an_error(file: Path) -> None:
    """Nobody waits for what somebody may write to it."""
    os.mkfifo(file)

    code, findings = examine()

    assert code == 1
    assert "no ordinary file" in findings[0][1]


@pytest.mark.covers("FG-2")
def test_a_missing_flags_file_is_a_note_and_none_is_nothing(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may come later; most have none."""
    assert [(state, "does not exist" in what) for state, what, _ in examine()[1]] == [
        ("note", True)
    ]
    monkeypatch.delenv("MEMORIST_FLAGS__FILE")
    assert [state for state, _, _ in examine()[1]] == ["good"]
    monkeypatch.setenv("MEMORIST_FLAGS__FILE", file.name)
    assert [(state, "absolute" in what) for state, what, _ in examine()[1]] == [("wrong", True)]


def test_old_spellings_are_read_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project's file and a variable of the version before give the values they meant, and both
    commands name the new spelling.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".memorist").mkdir()
    (tmp_path / ".memorist" / "config.toml").write_text(
        '[compaction]\nfamily = "file_native"\n', "utf-8"
    )
    monkeypatch.setenv("MEMORIST_COMPACTION__BY_PRICE", "true")

    data = json.loads(show("--json").stdout)
    told = show().stderr

    assert data["settings"]["compaction.family"] == "file-native"
    assert data["settings"]["compaction.schedule"] == "price"
    assert len(data["notes"]) == 2
    assert "file-native" in told
    assert 'compaction.schedule = "price"' in told


@pytest.mark.covers("FG-1")
def test_a_name_shows_one_setting_or_all_below_it(file: Path) -> None:
    """Only whole names count, and one that is none is an error, not an empty answer."""
    file.write_text("", "utf-8")

    below = [line.split()[0] for line in show("dream").stdout.splitlines()]
    one = show("compaction.micro_cached").stdout.split()
    wrong = CliRunner().invoke(memorist_group, ["config", "show", "drea"])

    assert len(below) > 3
    assert all(name.startswith("dream.") for name in below)
    assert one == ["compaction.micro_cached", "false"]
    assert "drea" in str(wrong.exception)
