"""`memorist dream` and what belongs to it, as a person calls them."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from memorist.cli.main import memorist_group
from memorist.engine.engine import Memorist
from memorist.errors import ModelUnavailable
from memorist.models.model_choice import create_model_from_string
from memorist.testing import Fail, Say, ScriptedModel


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    add("Use pnpm here.", "feedback", "use-pnpm-here")
    add("The port is 8080", "project", "port-8080")
    # the command would put these in the place of those; an editor does not
    for name, first, then in (
        ("pnpm-here", "Bake bread on Mondays", "use pnpm here"),
        ("port-9090", "The harbour closes at noon", "The port is 9090"),
    ):
        add(first, "feedback" if name == "pnpm-here" else "project", name)
        (path,) = Path(os.environ["MEMORIST_HOME"]).glob(f"projects/*/memory/{name}.md")
        path.write_text(path.read_text("utf-8").replace(first, then), "utf-8")
    return folder


def run(*words: str, status: int = 0) -> Result:
    result = CliRunner().invoke(memorist_group, list(words))
    assert result.exit_code == status, result.output
    return result


def read(*words: str, status: int = 0) -> Any:
    return json.loads(run(*words, "--json", status=status).output)


def add(text: str, kind: str, name: str) -> None:
    run("memory", "add", text, "--kind", kind, "--name", name)


def names() -> set[str]:
    return {row["path"] for row in read("memory", "list")["memories"]}


@pytest.mark.covers("DR-1")
def test_dream_alone_explains_the_gates(project: Path) -> None:
    """Without an option it changes nothing, and names the gate that is shut and why."""
    before = names()
    told = read("dream")
    assert (told["open"], told["gate"]) == (False, "sessions")
    assert "5 are needed" in run("dream").output
    assert names() == before


@pytest.mark.covers("DR-4", "DR-5")
def test_dry_run_now_archive_journal_and_undo(project: Path) -> None:
    """What the dry run shows the dream does; it is in the journal and the archive, a question
    waits, and one command takes it back; so it does once that was undone.
    """
    before = names()
    would = read("dream", "--dry-run")
    assert "would wait in the inbox (" in run("dream", "--dry-run").output
    assert names() == before
    assert (
        "--- a/use-pnpm-here.md\n+++ /dev/null" in would["diff"]
        or "--- a/pnpm-here.md\n+++ /dev/null" in would["diff"]
    )

    told = run("dream", "--now").output

    assert "says the same" in told
    assert "memorist dream undo" in told
    assert len(names()) == 3
    assert len(read("dream", "archive")["archive"]) == 1
    assert "says the same" in read("dream", "journal")["journal"]
    assert "port-8080.md" in run("memory", "inbox").output
    run("dream", "undo", "--yes")
    assert names() == before
    assert "took nothing out" in run("dream", "archive").output
    assert "no dream to take back" in str(run("dream", "undo", "--yes", status=1).exception)
    run("memory", "undo", read("memory", "log")["changes"][0]["id"], "--yes")
    assert len(names()) == 3
    run("dream", "undo", "--yes")
    assert names() == before


@pytest.mark.covers("DR-6")
def test_the_nightly_run_dreams_for_every_project(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both projects of the home are dreamt of, once: the same night again finds that it was done.
    The crontab line is the same each time.

    It works where cron runs it: with the path of a program that is there, and the home of this one.
    """
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    monkeypatch.chdir(other)
    add("Something else.", "project", "something")

    first = {row["project"]: row["dream"] for row in read("dream", "nightly")["projects"]}
    second = read("dream", "nightly")["projects"]

    assert {Path(name).name for name in first} == {"shop", "other"}
    assert sorted(len(dream["acts"]) for dream in first.values()) == [0, 1]
    assert [row["dream"]["ran"] for row in second] == [False, False]
    line = read("dream", "nightly", "--cron")["cron"]
    minute, hour, *rest = line.split()
    assert (int(minute) < 60, int(hour) < 5, rest[:3], rest[-2:]) == (
        True,
        True,
        ["*", "*", "*"],
        ["dream", "nightly"],
    )
    assert Path(rest[3]).is_absolute()
    assert Path(rest[3]).exists()
    assert line == read("dream", "nightly", "--cron")["cron"]
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "50% of it"))
    assert (
        f" MEMORIST_HOME='{tmp_path}/50\\% of it' /" in read("dream", "nightly", "--cron")["cron"]
    )


@pytest.mark.covers("DR-6")
def test_a_line_of_the_log_is_kept(project: Path) -> None:
    """`dream log` adds a line with its time; an empty one is refused."""
    assert read("dream", "log", "we moved the queue")["line"].endswith("we moved the queue")
    run("dream", "log", " ", status=2)


@pytest.mark.covers("DR-3", "DR-4")
@pytest.mark.parametrize("works", [True, False])
def test_a_model_that_is_named_is_asked(
    project: Path, monkeypatch: pytest.MonkeyPatch, works: bool
) -> None:
    """Its account is shown; where it fails, what rules prove is done, and the exit status says that
    the dream did not come to its end.
    """
    scripted = ScriptedModel(
        lambda _: (
            Say(text="Nothing needed a change.")
            if works
            else Fail(error=ModelUnavailable("it is down"))
        )
    )

    def opened(name: str, *given: Any, **more: Any) -> Any:
        return scripted if name == "anthropic:m" else create_model_from_string(name, *given, **more)

    monkeypatch.setattr("memorist.cli.dream_command.create_model_from_string", opened)
    told = run("dream", "--now", "--model", "anthropic:m", status=0 if works else 1).output

    assert ("Nothing needed a change." in told) is works
    assert ("not finished" in told) is not works
    assert len(names()) == 3
    assert scripted.closed


@pytest.mark.covers("DR-1")
def test_status_names_the_projects_that_a_dream_is_due_for(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After as many sessions as the gate wants, and not one earlier; not after the dream; not where
    dreams are off. Nothing is written by asking.
    """

    async def talk(number: int) -> None:
        async with Memorist(model="structural") as engine:
            session = await engine.open(f"s{number}", project=str(project))
            await session.prepare(
                {
                    "model": "m",
                    "max_tokens": 10,
                    "messages": [{"role": "user", "content": f"Hello number {number}."}],
                }
            )
            await session.close()

    def due() -> list[str]:
        return [row["why"] for row in read("status")["due"] if row["what"] == "dream"]

    for number in range(4):
        asyncio.run(talk(number))
    early = due()
    asyncio.run(talk(4))
    lock = next(Path(os.environ["MEMORIST_HOME"]).glob("projects/*/memory-state")) / "dream"
    before = sorted(lock.rglob("*"))
    (told,) = due()
    assert sorted(lock.rglob("*")) == before
    assert early == []
    assert told.startswith(f"{project}: 5 other sessions so far; ")
    monkeypatch.setenv("MEMORIST_DREAM__ENABLED", "false")
    assert due() == []
    monkeypatch.delenv("MEMORIST_DREAM__ENABLED")
    run("dream", "--now")
    assert due() == []


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("MEMORIST_OFF", "1"),
        ("MEMORIST_AUTO_MEMORY__ENABLED", "false"),
        ("MEMORIST_AUTO_MEMORY__POLICY", "off"),
    ],
)
def test_where_memory_is_off_no_dream_is_announced(
    project: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    """The first gate is closed then, and the command says which setting closes it."""
    assert read("dream")["gate"] == "sessions"

    monkeypatch.setenv(variable, value)

    assert read("dream")["gate"] == "on"
    assert "not yet (gate: on): memory is off here" in run("dream").output
