"""Real coding agents as tests run them: the program, a folder for all that it writes, and a
scripted model server on loopback.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import pytest

from memorist.core.messages import JsonObject, Message
from memorist.formats.format_detection import read_session
from memorist.formats.resumable_session import ResumableSession
from memorist.formats.transcript_format import TranscriptEntry
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.testing import ScriptedServer, Step

INSTALLED = Path(__file__).parents[2] / "build" / "clients" / "node_modules"
"""Where `make test-clients` puts the agents; package.json beside this file names their versions."""

TURN_SECONDS = 300.0
"""Longest wait for one turn; a turn takes about a second."""

FILES = {
    "invoices.txt": "2024-03-01 Alder 120.00\n2024-02-11 Birch 80.50\n",
    "AGENTS.md": "Amounts have two decimals.\n",
    "CLAUDE.md": "Amounts have two decimals.\n",
}
"""The project that the agents work in; both read rules from a file of their own, which no user
typed.
"""

_CODEX_CONFIG = """\
model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.scripted]
name = "Scripted"
base_url = "{url}"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[features]
plugins = false
apps = false

[analytics]
enabled = false
"""

_CLAUDE_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
}

ID_LENGTH = 36
"""Characters of a UUID, with which the name of a rollout ends."""

HOOK_WORDS = "The hook counts from zero."
"""What a hook adds to every prompt of Claude Code."""

_CLAUDE_SETTINGS = (
    '{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo \''
    + HOOK_WORDS
    + '\'", "timeout": 20}]}]}}'
)


def find_program(variable: str, pattern: str) -> Path:
    """The program that the variable names, or else the installed one. Skips the test when there is
    neither.
    """
    named = os.environ.get(variable)
    if named:
        return Path(named)
    found = sorted(INSTALLED.glob(pattern))
    if not found:
        pytest.skip(
            f"there is no {pattern.rpartition('/')[2]} in build/clients; run make "
            f"test-clients, or name the program in {variable}"
        )
    return found[0]


class Agent(Protocol):
    """An agent in the middle of a session."""

    def ask(self, words: str, *, folder: str = "", model: str = "") -> None:
        """One turn: the first begins the session, every other one resumes it; in a folder below the
        project, or by another model, where named.
        """
        ...

    def session_file(self) -> Path:
        """The one file that it recorded the session in."""
        ...


class Codex:
    """Codex CLI."""

    def __init__(self, program: Path, folder: Path, server: ScriptedServer) -> None:
        self._program = program
        self._project = _project(folder)
        self._home = folder / "codex"
        self._home.mkdir()
        (self._home / "config.toml").write_text(
            _CODEX_CONFIG.format(url=server.openai_url), encoding="utf-8"
        )
        self._environment = {"CODEX_HOME": str(self._home), "SCRIPTED_KEY": "any"}
        self._begun = False

    @property
    def own_folder(self) -> Path:
        """The folder of its settings and sessions."""
        return self._home

    def take_up(self, session: ResumableSession) -> None:
        """Put a session file among its own; the next turn resumes it."""
        _write_session(self._home, session)
        self.resume(session.arguments[-1])

    def resume(self, id: str) -> None:
        """The next turn resumes this session, the only one among its own."""
        self._begun = True
        assert id in self.session_file().name

    def ask(self, words: str, *, folder: str = "", model: str = "") -> None:
        """One turn. By its id a session is resumed from any folder."""
        resumed = ["resume", self.session_file().stem[-ID_LENGTH:]] if self._begun else []
        self._begun = True
        other = ["--model", model] if model else []
        _run(
            [str(self._program), "exec", *resumed, "--skip-git-repo-check", *other, words],
            self._project / folder,
            self._environment,
        )

    def session_file(self) -> Path:
        """The rollout."""
        (found,) = (self._home / "sessions").rglob("rollout-*.jsonl")
        return found


class ClaudeCode:
    """Claude Code, with a hook that adds words to every prompt. `window` in tokens, where it is to
    compact by itself.
    """

    def __init__(
        self, program: Path, folder: Path, server: ScriptedServer, *, window: int | None = None
    ) -> None:
        self._program = program
        self._project = _project(folder)
        self._home = folder / "claude"
        self._settings = folder / "settings.json"
        self._settings.write_text(_CLAUDE_SETTINGS, encoding="utf-8")
        self._session = str(uuid4())
        self._environment = {
            "CLAUDE_CONFIG_DIR": str(self._home),
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": "any",
            **_CLAUDE_QUIET,
            **({} if window is None else {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(window)}),
        }
        self._begun = False

    @property
    def own_folder(self) -> Path:
        """The folder of its settings and sessions."""
        return self._home

    def take_up(self, session: ResumableSession) -> None:
        """Put a session file among its own; the next turn resumes it."""
        _write_session(self._home, session)
        self.resume(session.arguments[-1])

    def resume(self, id: str) -> None:
        """The next turn resumes this session of its own."""
        self._session, self._begun = id, True

    def ask(self, words: str, *, folder: str = "", model: str = "") -> None:
        """One turn. `/compact …` compacts."""
        session = ["--resume" if self._begun else "--session-id", self._session]
        self._begun = True
        options = [
            "--model",
            model or "claude-sonnet-4-5",
            "--allowedTools",
            "Bash,Skill",
            "--settings",
            str(self._settings),
        ]
        _run(
            [str(self._program), "-p", words, *session, *options, "--output-format", "json"],
            self._project / folder,
            self._environment,
        )

    def session_file(self) -> Path:
        """The transcript."""
        (found,) = (self._home / "projects").glob("*/*.jsonl")
        return found


def _write_session(home: Path, session: ResumableSession) -> None:
    path = home / session.path
    path.parent.mkdir(parents=True)
    path.write_bytes(session.data)


def _project(folder: Path) -> Path:
    project = folder / "project"
    project.mkdir(parents=True)
    (folder / "home").mkdir()
    for name, text in FILES.items():
        (project / name).write_text(text, encoding="utf-8")
    return project


def _run(command: Sequence[str], project: Path, own: Mapping[str, str]) -> None:
    """Run one turn to its end. The agent sees nothing of the environment but the path."""
    home = project.parent / "home"
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        **own,
    }
    done = subprocess.run(
        command,
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TURN_SECONDS,
        check=False,
    )
    assert done.returncode == 0, (
        f"{command[0]} ended with {done.returncode}: {done.stdout[-1000:]} {done.stderr[-1000:]}"
    )


@dataclass(frozen=True)
class Ran:
    """A session that is over."""

    asked: tuple[str, ...]
    files: tuple[Path, ...]
    """The session file as it was after each turn."""
    bodies: tuple[JsonObject, ...]
    """Every request body, in order."""

    def entries(self, turn: int = -1) -> list[TranscriptEntry]:
        """What memorist reads from the file as it was after a turn, the last one unless told
        otherwise.
        """
        return list(read_session(UnpackedUtf8Lines(self.files[turn])))

    def messages(self, turn: int = -1) -> list[Message]:
        """The messages among them."""
        return [entry for entry in self.entries(turn) if isinstance(entry, Message)]


def converse(
    agent: Agent, server: ScriptedServer, asked: Sequence[str], steps: Sequence[Step], folder: Path
) -> Ran:
    """Ask in turns, keep the session file after each, and see that the script was played as it was
    written.
    """
    files = []
    for number, words in enumerate(asked, 1):
        agent.ask(words)
        kept = folder / f"after-{number}.jsonl"
        kept.write_bytes(agent.session_file().read_bytes())
        files.append(kept)
    assert server.refusals == []
    assert len(server.received) == len(steps)
    return Ran(tuple(asked), tuple(files), tuple(request.body for request in server.received))
