"""A home that an earlier version wrote, before modules, classes and settings got the names of today.

`home_of_0_1.zip` was made by that version's own commands and sessions in the folder /srv/shop: three
sessions, memories with a history, a proposal that waits, and a session of Codex that was imported.
"""

from __future__ import annotations

import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from memorist.cli.main import memorist_group
from memorist.core.messages import Message, Origin
from memorist.engine.engine import Memorist
from memorist.errors import MemoristError
from memorist.store.home_layout import make_folder_name
from memorist.store.transcript_reader import read_transcript
from support.program import run_program

PACKED = Path(__file__).with_name("home_of_0_1.zip")
OLD_PROJECT, OLD_HOME = "/srv/shop", "/srv/home/.memorist"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The old home, as if its project had been at `tmp_path / "shop"`."""
    shop, made = tmp_path / "shop", tmp_path / "home"
    (shop / ".git").mkdir(parents=True)
    with zipfile.ZipFile(PACKED) as packed:
        packed.extractall(made)
    (project,) = (made / "projects").iterdir()
    assert project.name == make_folder_name(OLD_PROJECT), (
        "the folder of a project has another name now"
    )
    for path in [*project.glob("*/transcript.jsonl"), project / "memory-state" / "project.json"]:
        path.write_text(path.read_text("utf-8").replace(OLD_PROJECT, str(shop)), "utf-8")
    project.rename(project.with_name(make_folder_name(str(shop))))
    with closing(sqlite3.connect(made / "state.sqlite")) as state, state:
        for old, new in (
            (OLD_PROJECT, str(shop)),
            (OLD_HOME, str(made)),
            (project.name, make_folder_name(str(shop))),
        ):
            for change in (
                "update sessions set project = replace(project, :old, :new), "
                "folder = replace(folder, :old, :new)",
                "update threads set cwd = replace(cwd, :old, :new), "
                "repository = replace(repository, :old, :new)",
            ):
                state.execute(change, {"old": old, "new": new})
    for path in (made, *made.rglob("*")):  # an archive keeps no modes
        path.chmod(0o700 if path.is_dir() else 0o600)
    return made


def said(home: Path, *arguments: str) -> str:
    """What a command prints in the project."""
    done = run_program(
        *arguments, cwd=home.parent / "shop", environment={"MEMORIST_HOME": str(home)}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.covers("AM-1", "AM-10")
def test_memories_history_and_inbox_of_an_old_home_are_read(home: Path) -> None:
    """The three memories with their trust, every change, also of one that was forgotten, and the
    proposal, which can be accepted.
    """
    listed = said(home, "memory", "list")
    log = said(home, "memory", "log")

    assert "till-rounds-half.md  [project, stated" in listed
    assert "run-linter-commit.md  [feedback, stated" in listed
    assert "use-pnpm-never-npm-in-this-repository.md  [feedback, reviewed" in listed
    assert "deploys-happen-on-fridays.md" in log
    assert "pnpm" in said(home, "memory", "show", "use-pnpm-never-npm-in-this-repository.md")
    assert "22d650a4" in said(home, "memory", "inbox")
    assert "deploy" in said(home, "memory", "inbox", "accept", "22d650a4")
    assert "never-deploy-without-tag.md" in said(home, "memory", "list")
    assert "pnpm" in said(home, "recall", "which package manager, npm or pnpm?")


@pytest.mark.covers("RO-6")
def test_sessions_notes_and_rollouts_of_an_old_home_are_read(home: Path) -> None:
    """The notes of a session, the extract of an imported one, and what was made of it."""
    assert "Why is the total of order 17 wrong?" in said(home, "notes", "first")
    assert "Never round an amount down" in said(home, "rollouts", "show", "0196f0d2")
    assert "1 session known" in said(home, "rollouts", "status")
    assert [line.split()[2] for line in said(home, "sessions").splitlines()] == [
        "third",
        "second",
        "first",
        "0196f0d2-0000",
    ]


def test_who_typed_a_message_of_an_old_transcript_is_known_by_its_origin(home: Path) -> None:
    """That version did not write it; a request that a program may have passed on proves nothing."""
    (transcript,) = home.glob("projects/*/*first*/transcript.jsonl")
    users = [
        entry
        for entry in read_transcript(transcript)
        if isinstance(entry, Message) and entry.role == "user"
    ]

    assert users
    assert [each.is_typed for each in users] == [each.origin is Origin.USER for each in users]
    assert any(each.is_typed for each in users)


def test_old_spellings_of_settings_are_read(home: Path) -> None:
    """`file_native`, `by_price` and `skills.off` are what they were, and a session of then goes
    on.
    """
    config = home / "config.toml"
    config.write_text(config.read_text("utf-8") + '\n[skills]\noff = ["deploy"]\n', "utf-8")
    shown = said(home, "config", "show")

    values = {line.split()[0]: line.split()[-1] for line in shown.splitlines() if line.strip()}
    assert values["compaction.family"] == '"file-native"'
    assert values["compaction.schedule"] == '"price"'
    assert values["session_memory.tool_calls"] == "2"
    assert "deploy" in values["skills.excluded"]
    assert "error" not in said(home, "doctor").lower()


COMMANDS = (
    "", "status", "status --days 3", "status --effect", "sessions --all", "notes first", "memory list",
    "memory log", "memory diff", "memory check", "memory inbox", "memory search pnpm", "memory why pnpm",
    "memory blame till-rounds-half.md", "memory show till-rounds-half.md", "recall pnpm", "recall pnpm --why",
    "search pnpm", "search pnpm --all", "rollouts status", "rollouts show 0196f0d2", "rollouts sync",
    "compact first --dry-run", "context first", "handoff first", "replay first", "docs list", "skills list",
    "dream --dry-run", "config show --source", "worker --once", "import --yes", "doctor", "doctor --fix",
    "memory add x", "memory mute till-rounds-half.md", "memory undo --yes", "memory forget till-rounds-half.md",
    "memory forget --hard --yes run-linter-commit.md", "rollouts leave-out 0196f0d2",
    "rollouts leave-out 0196f0d2 --hard --yes", "rollouts reset",
)  # fmt: skip
"""Commands that read or change what a home keeps, in an order in which each still finds it."""


def test_no_command_ends_in_a_traceback_in_an_old_home(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each does its work, or says in one sentence why not."""
    monkeypatch.setenv("MEMORIST_HOME", str(home))
    monkeypatch.setenv("HOME", str(home.parent))
    monkeypatch.chdir(home.parent / "shop")
    failed = {}
    for command in COMMANDS:
        done = CliRunner().invoke(memorist_group, command.split())
        if not isinstance(done.exception, MemoristError | SystemExit | None):
            failed[command] = repr(done.exception)

    assert failed == {}


async def test_a_session_of_an_old_home_goes_on(home: Path) -> None:
    """It is taken up with what was said, and a new one is shown what was remembered."""
    shop = str(home.parent / "shop")
    async with Memorist(home=home) as engine:
        again = await engine.open("first", project=shop)
        kept = again.tracker.messages
        new = await engine.open("new", project=shop)
        sent = await new.prepare(
            {
                "model": "m",
                "max_tokens": 9,
                "messages": [{"role": "user", "content": "Run npm install?"}],
            }
        )

    assert kept == 4
    assert "Use pnpm, never npm" in json.dumps(sent)
