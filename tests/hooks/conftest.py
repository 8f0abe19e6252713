"""A home whose process behind the hooks is ended, and hooks as an agent calls them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clients.plugged import a_home

HOOK_SECONDS = 600.0


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session in this process looks again sooner; how long it waits is none of the claims."""
    monkeypatch.setattr("memorist.hooks.hook_session.LOOK_AGAIN_SECONDS", (0.0, 0.05, 0.1))
    monkeypatch.setattr("memorist.hooks.hook_session.PROMPT_LOOK_SECONDS", (0.05, 0.1))


class Hooks:
    """Calls hooks of one home."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def start(self, event: str, *options: str) -> subprocess.Popen[bytes]:
        """The program, waiting for its input."""
        words = [
            sys.executable,
            "-m",
            "memorist",
            "hook",
            event,
            "--home",
            str(self.home),
            *options,
        ]
        return subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def raw(self, event: str, data: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
        """What came of an event with this input."""
        program = self.start(event, *options)
        said, complained = program.communicate(data, timeout=HOOK_SECONDS)
        return subprocess.CompletedProcess(program.args, program.returncode, said, complained)

    def call(self, event: str, **fields: Any) -> str:
        """What the agent is shown; empty for nothing."""
        given = {"session_id": "s1", "cwd": "/home/dev/shop", "hook_event_name": event, **fields}
        done = self.raw(event, json.dumps(given).encode())
        assert (done.returncode, done.stderr) == (0, b"")
        if not done.stdout.startswith(b"{"):
            return done.stdout.decode()
        shown = json.loads(done.stdout).get("hookSpecificOutput", {})
        return str(shown.get("additionalContext", ""))

    def notice(self, event: str, **fields: Any) -> str:
        """The line that the user sees; empty for none."""
        given = {"session_id": "s1", "cwd": "/home/dev/shop", "hook_event_name": event, **fields}
        done = self.raw(event, json.dumps(given).encode())
        return str(json.loads(done.stdout or b"{}").get("systemMessage", ""))

    def failures(self) -> str:
        """The file of failures."""
        path = self.home / "hooks" / "failures.log"
        return path.read_text("utf-8") if path.exists() else ""


@pytest.fixture
def hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hooks]:
    """Hooks of a home of their own. The usual waits are long ones, since other tests run on this
    machine too.
    """
    monkeypatch.chdir(tmp_path)
    with a_home(tmp_path) as home:
        home.chmod(0o700)
        (home / "config.toml").write_text(
            "[hooks]\nstart_seconds = 300\nprompt_seconds = 300\ncompaction_seconds = "
            "300\nother_seconds = 300\n"
        )
        (home / "hooks").mkdir(mode=0o700)
        (home / "hooks" / "limits").write_text(
            "SessionStart 300\nUserPromptSubmit 300\nPreCompact 300\n* 300\n"
        )
        yield Hooks(home)
