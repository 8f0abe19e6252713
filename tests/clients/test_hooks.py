"""The real Codex and Claude Code with memorist in their settings: what the model is shown, what is
kept, and that nothing stops them.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from clients.plugged import (
    PluggedClaude,
    PluggedCodex,
    a_home,
    accept_what_waits,
    process_of,
    wait_for,
)
from memorist.core.messages import JsonObject, Usage
from memorist.hooks.hook_client import spawn_daemon
from memorist.testing import CallTool, Say, ScriptedServer, Step

pytestmark = pytest.mark.real_client

TOLD = (
    "Remember that invoices are kept in the folder ledger, one file for each year, because "
    "the old ones are needed for the tax office."
)
ASKED = (
    "Where are the old invoices of a year kept, and in which form does the tax office want them?"
)
BY_HAND = """\
---
name: tax-office
description: the form that the tax office wants invoices in
type: project
---

The tax office wants the old invoices of a year as one PDF, sorted by date, with the ledger's page numbers.
"""
"""A memory that the person wrote into the folder; the index does not say all of it."""
RULE = "Which invoice in invoices.txt is the oldest? Never change that file."
OWN: JsonObject = {
    "model": "claude-sonnet-4-5",
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]},
}
COMPACTED = Say(text="<analysis>Short.</analysis>\n<summary>Two invoices.</summary>")

CLAUDE_STEPS: tuple[Step, ...] = (
    Say(text="Noted."),
    CallTool(name="Bash", input={"command": "cat invoices.txt"}),
    Say(text="Birch is the oldest."),
    COMPACTED,
    Say(text="Alder."),
    Say(text="In ledger."),
)
CODEX_STEPS: tuple[Step, ...] = (
    Say(text="Noted."),
    CallTool(
        name="exec_command", input={"cmd": "cat invoices.txt"}, usage=Usage(input=250_000, output=9)
    ),
    Say(text="Two invoices.", usage=Usage(input=251_000, output=5)),
    Say(text="Birch is the oldest."),
    Say(text="Alder."),
    Say(text="In ledger."),
)


class Story:
    """A session with memorist, a compaction in it, and a second session."""

    def __init__(
        self,
        home: Path,
        requests: list[list[str]],
        restored: list[str],
        asked: list[str],
        settings: list[dict[str, bytes]],
    ) -> None:
        self.home = home
        self.requests = requests
        self.restored = restored
        """The request after the compaction."""
        self.asked = asked
        """The request for the summary."""
        self.before, self.during, self.after = settings

    @property
    def failures(self) -> str:
        """Why hooks gave nothing; empty where none failed."""
        path = self.home / "hooks" / "failures.log"
        return path.read_text("utf-8") if path.exists() else ""

    def files(self, pattern: str) -> list[str]:
        """The texts of files below the home folder."""
        return [path.read_text("utf-8") for path in sorted(self.home.glob(pattern))]


def remembered(home: Path, folder: Path) -> None:
    """Accept what was said in the first turn, and put another memory beside it."""
    found = accept_what_waits(home, folder / "project")
    found.with_name("tax-office.md").write_text(BY_HAND, "utf-8")


@pytest.fixture(scope="module")
def claude_story(claude_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """Claude Code."""
    folder = tmp_path_factory.mktemp("claude-hooks")
    with a_home(folder) as home, ScriptedServer(CLAUDE_STEPS) as server:
        agent = PluggedClaude(claude_program, folder, server, home, OWN)
        settings = [agent.files()]
        agent.install()
        settings.append(agent.files())
        for words in (TOLD, RULE, "/compact", "Who is the other one?"):
            agent.ask(words)
        remembered(home, folder)
        agent.again(str(uuid4()))
        agent.ask(ASKED)
        agent.uninstall()
        settings.append(agent.files())
        requests = [agent.texts(request.body) for request in server.received]
        assert server.refusals == []
        yield Story(home, requests, requests[4], requests[3], settings)


@pytest.fixture(scope="module")
def codex_story(codex_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """Codex CLI."""
    folder = tmp_path_factory.mktemp("codex-hooks")
    with a_home(folder) as home, ScriptedServer(CODEX_STEPS) as server:
        agent = PluggedCodex(codex_program, folder, server, home)
        settings = [agent.files()]
        agent.install()
        settings.append(agent.files())
        for words in (TOLD, RULE, "Who is the other one?"):
            agent.ask(words)
        remembered(home, folder)
        agent.again()
        agent.ask(ASKED)
        agent.uninstall()
        settings.append(agent.files())
        requests = [agent.texts(request.body) for request in server.received]
        assert server.refusals == []
        yield Story(home, requests, requests[3], requests[2], settings)


@pytest.fixture(params=["claude_story", "codex_story"])
def story(request: pytest.FixtureRequest) -> Story:
    """Each agent's."""
    found: Story = request.getfixturevalue(request.param)
    return found


def holding(texts: list[str], words: str) -> list[str]:
    """The texts of a request that hold the words, memorist's own alone."""
    return [text for text in texts if words in text and "[memorist]" in text]


@pytest.mark.covers("IN-2")
def test_no_hook_fails(story: Story) -> None:
    """Every event of the real agent is understood."""
    assert story.failures == ""


@pytest.mark.covers("IN-2", "AM-5")
def test_what_the_first_session_was_told_the_second_one_is_shown(story: Story) -> None:
    """The memory stands in the first request of another session, once in the index of memories and
    once in what past sessions said; in the first session's own first request there is none.
    """
    shown = holding(story.requests[-1], "invoices are kept in the folder ledger")

    assert holding(story.requests[0], "ledger") == []
    assert [text.count("invoices are kept in the folder ledger") for text in shown] == [1, 1]
    assert "</system-reminder>\n</system-reminder>" not in shown[0]


@pytest.mark.covers("IN-2", "RC-2")
def test_what_bears_on_the_prompt_is_shown_beside_it(story: Story) -> None:
    """The whole of a memory that the index only names stands in the request with the prompt that it
    bears on, once, and in none before.
    """
    shown = [
        text for texts in story.requests for text in holding(texts, "as one PDF, sorted by date")
    ]

    assert len(shown) == len(holding(story.requests[-1], "as one PDF, sorted by date")) == 1
    assert "may bear on the last message" in shown[0]


@pytest.mark.covers("IN-2")
def test_after_the_compaction_the_demands_are_back(story: Story) -> None:
    """The request after the agent's own compaction holds the person's rule in memorist's notes,
    once, beside the index.
    """
    (notes,) = holding(story.restored, "Never change that file.")

    assert "ledger" in notes
    assert notes.count("# Task specification") == 1


@pytest.mark.covers("IN-2")
def test_claude_code_is_asked_to_keep_the_demands(claude_story: Story) -> None:
    """What is printed before the compaction stands in the agent's own request for a summary, once."""
    found = [text for text in claude_story.asked if "The summary must keep what follows" in text]

    assert len(found) == 1
    assert "Never change that file." in found[0]


@pytest.mark.covers("IN-2", "AM-11")
def test_only_what_the_person_asked_for_is_remembered(story: Story) -> None:
    """One memory besides the one by hand, after two sessions, a compaction, and everything that
    memorist showed in them.
    """
    (memory,) = story.files("projects/*/memory/*ledger*.md")

    assert "trust: stated" in memory or "trust: reviewed" in memory
    assert BY_HAND in story.files("projects/*/memory/*.md")
    assert len(story.files("projects/*/memory/*.md")) == 3  # with the index


@pytest.mark.covers("IN-2", "SM-11")
def test_each_session_has_notes_and_a_transcript_without_doubles(story: Story) -> None:
    """Each message of the agents stands once in memorist's own transcript, although every turn was
    a process of its own.
    """
    transcripts = [text.splitlines() for text in story.files("projects/*/*/transcript.jsonl")]
    notes = story.files("projects/*/*/session-memory/summary.md")

    for lines in transcripts:
        ids = [
            entry["entry"]["id"]
            for entry in map(json.loads, lines)
            if entry.get("type") == "message"
        ]
        assert len(ids) == len(set(ids)) > 1
    assert len(transcripts) == len(notes) == 2
    assert any("Never change that file." in text for text in notes)


@pytest.mark.covers("IN-2")
def test_uninstalling_leaves_the_settings_as_they_were(story: Story) -> None:
    """Byte for byte, and the user's own hook stood there all the time."""
    assert story.before == story.after
    assert story.during != story.before
    for name, data in story.before.items():
        assert name == "config.toml" or b'"command": "true"' in story.during[name]
        assert name != "config.toml" or story.during[name] == data


def gone(home: Path) -> None:
    """The program was removed; the settings still name it."""
    for settings in (
        home.parent / "claude" / "settings.json",
        home.parent / "codex" / "hooks.json",
    ):
        if settings.exists():
            settings.write_text(
                settings.read_text("utf-8")
                .replace("-m memorist", "-m gone")
                .replace("bin/memorist", "bin/gone"),
                "utf-8",
            )


def broken(home: Path) -> None:
    """The process behind the hooks cannot start."""
    (home / "hooks" / "lock").mkdir(parents=True)
    (home / "hooks").chmod(0o700)


def hangs(home: Path) -> None:
    """It is there and does not answer."""
    (home / "hooks").mkdir(mode=0o700)
    (home / "hooks" / "limits").write_text("SessionStart 0.5\nUserPromptSubmit 0.5\n* 0.5\n")
    before = Path.cwd()
    try:
        os.chdir(home / "hooks")
        spawn_daemon(str(home))
    finally:
        os.chdir(before)
    number = wait_for(
        lambda: (home / "hooks" / "socket").exists() and process_of(home), "the process"
    )
    os.kill(number, signal.SIGSTOP)


def unusable(home: Path) -> None:
    """The home is no folder."""
    home.rmdir()
    home.write_text("")


@pytest.mark.parametrize("bad", [gone, broken, hangs, unusable])
@pytest.mark.parametrize("client", ["claude_program", "codex_program"])
@pytest.mark.covers("IN-2")
def test_hooks_that_fail_do_not_stop_the_agent(
    client: str, bad: Callable[[Path], None], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Two turns with a tool call end as they would without memorist, and the model is shown nothing
    of the failure.
    """
    steps = (CLAUDE_STEPS if client == "claude_program" else CODEX_STEPS)[0:3]
    if client == "codex_program":
        steps = (
            Say(text="Noted."),
            CallTool(name="exec_command", input={"cmd": "ls"}),
            Say(text="Birch."),
        )
    program: Path = request.getfixturevalue(client)
    with a_home(tmp_path) as home, ScriptedServer(steps) as server:
        agent = (PluggedClaude if client == "claude_program" else PluggedCodex)(
            program, tmp_path, server, home
        )
        agent.install()
        (home / "hooks" / "installed.json").unlink()
        (home / "hooks").rmdir()
        try:
            bad(home)
            agent.ask("Good morning.")
            agent.ask("Which invoice is the oldest?")
        finally:
            if bad is hangs:
                os.kill(process_of(home), signal.SIGCONT)
        texts = [text for received in server.received for text in agent.texts(received.body)]

    assert server.refusals == []
    assert len(server.received) == len(steps)
    assert not [text for text in texts if "Traceback" in text or "memorist" in text]
