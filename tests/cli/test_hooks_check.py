"""What `memorist doctor` and `status` say of hooks."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from clients.plugged import a_home, process_of
from hooks.conftest import Hooks
from memorist.cli.doctor.check_result import CheckResult, DoctorContext
from memorist.cli.doctor.hook_check import check_hooks, describe_hook_failures, parse_hook_failures
from memorist.cli.main import memorist_group
from memorist.hooks import daemon_socket as listening
from memorist.hooks.hook_client import record_hook_failure
from memorist.settings import ResolvedSettings, Settings
from memorist.store.home_layout import Layout


def home() -> Path:
    """The home of this test."""
    return Path(os.environ["MEMORIST_HOME"])


def found(where: Path | None = None) -> list[CheckResult]:
    """What the check says."""
    place = DoctorContext(
        resolved=ResolvedSettings(Settings(), {}), layout=Layout(where or home()), now=time.time()
    )
    return list(check_hooks(place))


def install(client: str) -> None:
    done = CliRunner().invoke(memorist_group, ["install", client])
    assert done.exit_code == 0, done.output


def test_without_hooks_there_is_nothing_to_say() -> None:
    """Whoever uses no agent hears nothing of them."""
    assert found() == []


@pytest.mark.parametrize("client", ["claude-code", "codex"])
@pytest.mark.covers("IN-2", "OP-1")
def test_installed_hooks_are_good(client: str) -> None:
    """Each agent's file is named."""
    install(client)

    states = [(each.state, each.what) for each in found()]
    assert {state for state, _ in states} == {"good"}
    assert any(client in what for _, what in states)


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
@pytest.mark.parametrize("whose", ["user", "project"])
def test_hooks_that_a_setting_turns_off_are_told(
    whose: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claude Code runs none then: all else looked right, and nothing was remembered."""
    install("claude-code")
    monkeypatch.chdir(tmp_path)
    path = Path(os.environ["HOME"] if whose == "user" else tmp_path) / ".claude" / name
    path.parent.mkdir(exist_ok=True)
    settings = json.loads(path.read_text("utf-8")) if path.exists() else {}
    path.write_text(json.dumps({**settings, "disableAllHooks": True}), encoding="utf-8")

    said = [each.what for each in found() if each.state == "wrong"]
    joined = CliRunner().invoke(memorist_group, ["setup", "--only", "claude-code", "--no-past"])

    if (whose, name) == ("user", "settings.local.json"):
        assert said == []
        return
    assert said == [
        f"{path} sets disableAllHooks: claude-code runs no hook here, and nothing is remembered"
    ]
    assert f"but it runs no hook: {path} sets disableAllHooks" in joined.output


@pytest.mark.covers("IN-2", "OP-1")
def test_a_program_that_is_gone_is_wrong() -> None:
    """A stale path is named, with the command that puts it right."""
    install("codex")
    path = Path(os.environ["HOME"]) / ".codex" / "hooks.json"
    path.write_text(path.read_text("utf-8").replace("/memorist hook", "/gone/memorist hook"))

    (wrong,) = [each for each in found() if each.state == "wrong"]

    assert "/gone/memorist" in wrong.what
    assert "memorist install codex" in wrong.remedy


def test_a_hook_that_is_missing_is_told() -> None:
    """An event of ours that somebody took out is a note, not a fault."""
    install("codex")
    path = Path(os.environ["HOME"]) / ".codex" / "hooks.json"
    path.write_text(
        path.read_text("utf-8")
        .replace('"SubagentStop"', '"Other"')
        .replace("hook SubagentStop", "hook_Other")
    )

    (told_of,) = [each for each in found() if each.state == "note"]

    assert "SubagentStop" in told_of.what


def test_settings_that_cannot_be_read_are_told() -> None:
    """A broken file of the agent is named."""
    install("codex")
    (Path(os.environ["HOME"]) / ".codex" / "hooks.json").write_text("{broken")

    assert any("hooks.json cannot be read" in each.what for each in found())


@pytest.mark.covers("IN-2", "OP-1")
def test_a_process_that_does_not_answer_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that runs is good; one that hangs, or holds the lock without a socket, is wrong and can
    be ended by the command that is shown.
    """
    monkeypatch.setenv("MEMORIST_HOOKS__START_SECONDS", "300")
    monkeypatch.setattr(listening, "PING_TIMEOUT_SECONDS", 120.0)
    with a_home(tmp_path) as where:
        (where / "hooks").mkdir(mode=0o700)
        (where / "hooks" / "limits").write_text("SessionStart 300\n")
        Hooks(where).call("SessionStart", source="startup")
        number = process_of(where)
        good = found(where)
        os.kill(number, signal.SIGSTOP)
        monkeypatch.setattr(listening, "PING_TIMEOUT_SECONDS", 0.1)
        hangs = found(where)
        (where / "hooks" / "socket").rename(where / "hooks" / "away")
        gone = found(where)
        (where / "hooks" / "away").rename(where / "hooks" / "socket")
        os.kill(number, signal.SIGCONT)

    assert ("good", f"the process behind the hooks, {number}, answers") in [
        (each.state, each.what) for each in good
    ]
    for wrong in (hangs, gone):
        (mend,) = [each.remedy for each in wrong if each.state == "wrong"]
        assert f"kill -9 {number};" in mend


@pytest.mark.covers("IN-2", "OP-1")
def test_why_hooks_gave_nothing_is_shown() -> None:
    """Doctor and status show each reason of the last day once, with how often it came, and none of
    the days before.
    """
    folder = home() / "hooks"
    folder.mkdir(parents=True)
    (folder / "failures.log").write_text(f"{time.time() - 200_000:.3f}\tStop\tcodex\tlong ago\n")
    for _ in range(3):
        record_hook_failure(str(folder), "Stop", "codex", "no answer\nwithin 1 seconds")

    findings = [each.what for each in found()]
    status = CliRunner().invoke(memorist_group, ["status"]).output

    assert "Stop, 3 times: no answer within 1 seconds" in findings
    assert "Stop, 3 times: no answer within 1 seconds" in status
    assert not any("long ago" in text for text in (*findings, status))


@given(st.text())
def test_a_damaged_file_of_failures_is_read_as_far_as_it_goes(text: str) -> None:
    """Whatever stands in the file, the reasons can be shown."""
    assert len(describe_hook_failures(parse_hook_failures(text, 0.0))) <= len(text.splitlines())
