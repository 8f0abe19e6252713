"""The commands that `memorist install` brings, given in the real Claude Code and Codex: each reaches
the model with what it is to do, and what the model then calls or runs does it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from clients.agents import _run
from clients.plugged import PluggedClaude, PluggedCodex, a_home, command
from memorist.core.messages import JsonObject
from memorist.testing import CallTool, Say, ScriptedServer, Step

pytestmark = pytest.mark.real_client

FACT = "invoices are kept in the folder ledger"
RULE = "Which invoice in invoices.txt is the oldest? Never rename that file."
WRITE: JsonObject = {"text": FACT, "quote": FACT, "kind": "project"}
PATH: JsonObject = {"path": "invoices-are-kept-in-the-folder-ledger.md"}
SEARCH: JsonObject = {"query": "invoices ledger"}
FORGET = "{} where the invoices are kept"
NOTES, DREAM = "notes --update", "dream --dry-run"
COMPACTED = Say(text="<analysis>Short.</analysis>\n<summary>Two invoices.</summary>")


Turns = Sequence[tuple[str, Sequence[Step]]]


class Given:
    """A session in which commands were given: every request to the model, as text."""

    def __init__(self, requests: list[str]) -> None:
        self.requests = requests

    def holding(self, words: str) -> list[str]:
        """The requests that hold the words."""
        return [text for text in self.requests if words in text]


class Claude(PluggedClaude):
    """Claude Code with all that `memorist install` brings, which may use it."""

    def ask(self, words: str, *, folder: str = "", model: str = "") -> None:
        """One turn."""
        session = ["--resume" if self._begun else "--session-id", self._session]
        self._begun = True
        options = ["--model", model or "claude-sonnet-4-5", "--output-format", "json"]
        options += ["--allowedTools", "Bash,mcp__memorist"]
        _run(
            [str(self._program), "-p", words, *session, *options],
            self._project / folder,
            self._environment,
        )


def install(agent: PluggedClaude | PluggedCodex, name: str) -> None:
    """As its user does, with the MCP server and the commands."""
    command(["install", name, "--home", str(agent.home)], agent.where)


def program_of(text: str, words: str) -> str:
    """The command line that a command's file tells the agent to run."""
    return next(part for part in text.split("`") if part.endswith(words))


def play(
    agent: PluggedClaude | PluggedCodex, server: ScriptedServer, turns: Turns, left: list[Step]
) -> Given:
    """Give the turns, each with what the model answers."""
    for words, steps in turns:
        left += steps
        agent.ask(words)
    assert (server.refusals, left) == ([], [])
    return Given([json.dumps(request.body) for request in server.received])


@pytest.fixture(scope="module")
def claude_given(claude_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Given]:
    """Claude Code: `/memorist:remember` and its like, and its own `/compact TEXT`."""
    folder = tmp_path_factory.mktemp("claude-commands")
    left: list[Step] = []
    with a_home(folder) as home, ScriptedServer(lambda _: left.pop(0)) as server:
        agent = Claude(claude_program, folder, server, home)
        install(agent, "claude-code")
        files = folder / "claude" / "commands" / "memorist"

        def call(name: str, values: JsonObject) -> CallTool:
            return CallTool(name=f"mcp__memorist__memory_{name}", input=values)

        def run(words: str, file: str) -> CallTool:
            text = (files / file).read_text("utf-8")
            return CallTool(name="Bash", input={"command": program_of(text, words)})

        turns: Turns = (
            (RULE, (Say(text="Birch."),)),
            (f"/memorist:remember {FACT}", (call("write", WRITE), Say(text="Kept."))),
            ("/memorist:summary", (run(NOTES, "summary.md"), Say(text="Notes."))),
            ("/memorist:notes", (Say(text="Notes."),)),
            ("/memorist:dream", (run(DREAM, "dream.md"), Say(text="In order."))),
            (FORGET.format("/memorist:forget"), (call("search", SEARCH), Say(text="Which?"))),
            ("That one.", (call("forget", PATH), Say(text="Gone."))),
            ("/compact keep the name of the tax office", (COMPACTED,)),
        )
        yield play(agent, server, turns, left)


@pytest.fixture(scope="module")
def codex_given(codex_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Given]:
    """Codex: `$memorist-remember` and its like."""
    folder = tmp_path_factory.mktemp("codex-commands")
    left: list[Step] = []
    with a_home(folder) as home, ScriptedServer(lambda _: left.pop(0)) as server:
        agent = PluggedCodex(codex_program, folder, server, home)
        install(agent, "codex")
        config = folder / "codex" / "config.toml"
        entry = "[mcp_servers.memorist]\n"
        waits = f"{entry}required = true\nstartup_timeout_sec = 60\n"
        config.write_text(config.read_text("utf-8").replace(entry, waits), "utf-8")
        files = folder / "codex" / "skills"

        def call(name: str, values: JsonObject) -> CallTool:
            return CallTool(name=f"memory_{name}", namespace="mcp__memorist", input=values)

        def run(words: str, skill: str) -> CallTool:
            text = (files / skill / "SKILL.md").read_text("utf-8")
            return CallTool(name="exec_command", input={"cmd": program_of(text, words)})

        turns: Turns = (
            (RULE, (Say(text="Birch."),)),
            (f"$memorist-remember {FACT}", (call("write", WRITE), Say(text="Kept."))),
            ("$memorist-summary", (run(NOTES, "memorist-summary"), Say(text="Notes."))),
            ("$memorist-dream", (run(DREAM, "memorist-dream"), Say(text="In order."))),
            (FORGET.format("$memorist-forget"), (call("search", SEARCH), Say(text="Which?"))),
            ("That one.", (call("forget", PATH), Say(text="Gone."))),
        )
        yield play(agent, server, turns, left)


@pytest.fixture(params=["claude_given", "codex_given"])
def given(request: pytest.FixtureRequest) -> Given:
    """Each agent's."""
    found: Given = request.getfixturevalue(request.param)
    return found


@pytest.mark.covers("IN-2")
def test_remember_keeps_what_the_user_wrote(given: Given) -> None:
    """The model is asked to write it word for word, and its tool does."""
    assert given.holding("The user asks to have this remembered")
    assert given.holding(f"remembered: {PATH['path']}")


def test_summary_shows_the_notes_of_the_session(given: Given) -> None:
    """By the program that the command's file names, whatever the search path of the agent's
    shell.
    """
    assert given.holding("show the user what it printed as it stands")
    assert given.holding("goes on in another process")
    assert given.holding("# Task specification")


def test_dream_says_first_what_it_would_change(given: Given) -> None:
    """And changes nothing before the user's yes."""
    assert given.holding("tell the user in a few lines what a dream would change")
    assert given.holding(PATH["path"])


def test_forget_takes_the_memory_out(given: Given) -> None:
    """After the search that the command asks for. Nobody is known to have typed what is given in
    print mode, so it waits for the user's yes.
    """
    assert given.holding("The user asks to have this forgotten")
    assert given.holding(f"waits for the user: {PATH['path']} (it would delete a memory")


def test_notes_are_shown_without_a_tool(claude_given: Given) -> None:
    """Claude Code runs the program while it reads the command."""
    shown = claude_given.holding("Show the user the text below as it stands")
    assert "# Task specification" in shown[0]


def test_compact_with_a_text_keeps_what_the_text_names(claude_given: Given) -> None:
    """The text reaches the model that summarises, beside what memorist asks it to keep."""
    (asked,) = claude_given.holding("Respond with TEXT ONLY")
    assert "keep the name of the tax office" in asked
    assert "Never rename that file" in asked


def test_no_command_stands_in_codex_for_the_model_until_it_is_named(codex_given: Given) -> None:
    """They cost no context: the list of skills that the model is given has none of them."""
    assert "memorist-remember" not in codex_given.requests[0]
