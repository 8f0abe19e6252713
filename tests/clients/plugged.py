"""Coding agents with memorist in their settings, as `memorist install` puts it there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from clients.agents import ClaudeCode, Codex, _run
from memorist.core.messages import JsonObject
from memorist.testing import ScriptedServer

MEMORIST = (sys.executable, "-m", "memorist")
WAIT_SECONDS = 180.0
"""Longest wait for work that goes on behind an agent; it takes well under a second on an idle
machine.
"""


def wait_for(there: Callable[[], Any], what: str) -> Any:
    """What is there, as soon as it is."""
    until = time.monotonic() + WAIT_SECONDS
    while not (found := there()):
        assert time.monotonic() < until, f"this never came: {what}"
        time.sleep(0.02)
    return found


def process_of(home: Path) -> int:
    """The process behind the hooks of a home; 0 where there is none."""
    with suppress(OSError, ValueError):
        number = int((home / "hooks" / "lock").read_text("utf-8"))
        os.kill(number, 0)
        return number
    return 0


def end(home: Path) -> None:
    """End the process behind the hooks, and wait for it to be gone."""
    number = process_of(home)
    if number:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGTERM)
        wait_for(
            lambda: not process_of(home) or _is_dead(number),
            "the end of the process behind the hooks",
        )


def _is_dead(number: int) -> bool:
    """Whether the process is gone but for its entry, which its parent may leave."""
    try:
        return Path(f"/proc/{number}/stat").read_text("utf-8").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@contextmanager
def a_home(folder: Path) -> Iterator[Path]:
    """A home of memorist, whose process is ended afterwards."""
    home = folder / "memorist"
    home.mkdir(parents=True, exist_ok=True)
    try:
        yield home
    finally:
        end(home)


def accept_what_waits(home: Path, project: Path, about: str = "ledger") -> Path:
    """The memory that a prompt in print mode came to: nobody is known to have typed it, so it waits
    until the user accepts it. What else waits, not about this word, is left there.
    """

    def find(pattern: str) -> list[Path]:
        return [*home.glob(f"projects/*/{pattern}")]

    wait_for(
        lambda: find("memory-state/inbox/*.json") or find(f"memory/*{about}*.md"), "what was told"
    )
    for path in find("memory-state/inbox/*.json"):
        if about not in path.read_text("utf-8"):
            continue
        words = ["memory", "inbox", "accept", path.stem]
        command(words, {"MEMORIST_HOME": str(home)}, project)
    (found,) = find(f"memory/*{about}*.md")
    return found


def command(arguments: list[str], environment: dict[str, str], cwd: Path | None = None) -> str:
    """Run memorist as its user does, and give what it prints."""
    done = subprocess.run(
        [*MEMORIST, *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=WAIT_SECONDS,
    )
    return done.stdout


class PluggedCodex(Codex):
    """Codex with memorist's hooks."""

    settings = ("hooks.json", "config.toml")

    def __init__(
        self, program: Path, folder: Path, server: ScriptedServer, home: Path, extra: str = ""
    ) -> None:
        super().__init__(program, folder, server)
        config = self._home / "config.toml"
        config.write_text(f"{extra}{config.read_text('utf-8')}", encoding="utf-8")
        self.where = {"CODEX_HOME": str(self._home)}
        self.home = home

    def files(self) -> dict[str, bytes]:
        """The settings as they are."""
        return {
            name: (self._home / name).read_bytes()
            for name in self.settings
            if (self._home / name).exists()
        }

    def install(self, *options: str) -> str:
        """Put memorist into the settings."""
        return command(
            ["install", "codex", "--no-mcp", "--home", str(self.home), *options], self.where
        )

    def uninstall(self) -> str:
        """Take it out."""
        return command(["uninstall", "codex", "--no-mcp", "--home", str(self.home)], self.where)

    def ask(self, words: str, *, folder: str = "", model: str = "") -> None:
        """One turn."""
        resumed = ["resume", self.session_file().stem[-36:]] if self._begun else []
        self._begun = True
        other = ["--model", model] if model else []
        options = [*other, "--dangerously-bypass-hook-trust", "--skip-git-repo-check"]
        _run(
            [str(self._program), "exec", *resumed, *options, words],
            self._project / folder,
            self._environment,
        )

    def again(self) -> None:
        """The next turn begins a new session."""
        self._begun = False

    def session_file(self) -> Path:
        """The newest rollout."""
        return max(
            (self._home / "sessions").rglob("rollout-*.jsonl"),
            key=lambda path: path.stat().st_mtime_ns,
        )

    def texts(self, body: JsonObject) -> list[str]:
        """Every text that a request shows the model."""
        return [
            part.get("text", "")
            for item in body["input"]
            for part in item.get("content") or []
            if isinstance(part, dict)
        ]


class PluggedClaude(ClaudeCode):
    """Claude Code with memorist's hooks."""

    settings = ("settings.json",)

    def __init__(
        self,
        program: Path,
        folder: Path,
        server: ScriptedServer,
        home: Path,
        own: JsonObject | None = None,
    ) -> None:
        super().__init__(program, folder, server)
        self._home.mkdir()
        self._settings.write_text("{}", encoding="utf-8")  # nothing but what memorist installs
        if own is not None:
            (self._home / "settings.json").write_text(json.dumps(own, indent=4), encoding="utf-8")
        self.where = {"CLAUDE_CONFIG_DIR": str(self._home)}
        self.home = home

    def files(self) -> dict[str, bytes]:
        """The settings as they are."""
        return {
            name: (self._home / name).read_bytes()
            for name in self.settings
            if (self._home / name).exists()
        }

    def install(self, *options: str) -> str:
        """Put memorist into the settings."""
        return command(
            ["install", "claude-code", "--no-mcp", "--home", str(self.home), *options], self.where
        )

    def uninstall(self) -> str:
        """Take it out."""
        return command(
            ["uninstall", "claude-code", "--no-mcp", "--home", str(self.home)], self.where
        )

    def again(self, session: str) -> None:
        """The next turn begins a new session of this id."""
        self._begun, self._session = False, session

    def session_file(self) -> Path:
        """The newest transcript."""
        return max(
            (self._home / "projects").glob("*/*.jsonl"), key=lambda path: path.stat().st_mtime_ns
        )

    def texts(self, body: JsonObject) -> list[str]:
        """Every text that a request shows the model."""
        found = []
        for message in body["messages"]:
            content = message["content"]
            found += (
                [content]
                if isinstance(content, str)
                else [block.get("text", "") for block in content]
            )
        return found
