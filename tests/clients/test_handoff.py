"""A recorded session of one real program, handed over by the command and taken up by the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from clients import stories
from clients.agents import ClaudeCode, Codex, Ran
from memorist.cli.main import memorist_group
from memorist.compaction.history_extracts import list_texts_in_tool_input
from memorist.compaction.measured_conversation import get_typed_text
from memorist.core.messages import JsonObject, Message, Origin
from memorist.formats.format_detection import read_session
from memorist.formats.host_markup import strip_host_markup
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.testing import Say, ScriptedServer

pytestmark = pytest.mark.real_client

ASKED_NOW = "And in euros?"
FAILED = "missing.txt: No such file or directory"


OTHERS_ASKED = {"codex": stories.ASKED, "claude-code": (*stories.ASKED, stories.ASKED_AROUND[2])}
"""What the user typed in the recorded session of each client."""

FOLDER_VARIABLES = {"codex": "CODEX_HOME", "claude-code": "CLAUDE_CONFIG_DIR"}


def hand_over(session: Path, *arguments: str) -> JsonObject:
    """What `memorist handoff` says as JSON."""
    called = ["handoff", str(session), *arguments, "--json"]
    done = CliRunner().invoke(memorist_group, called)
    assert done.exit_code == 0, done.output
    found: JsonObject = json.loads(done.output)
    return found


def begin(to: str, program: Path, folder: Path, server: ScriptedServer) -> ClaudeCode | Codex:
    """The client that takes the work up."""
    return (Codex if to == "codex" else ClaudeCode)(program, folder, server)


def check_taken_up(
    agent: ClaudeCode | Codex, server: ScriptedServer, asked: tuple[str, ...]
) -> None:
    """The model is shown what the user had typed, verbatim, what failed and what was found out
    last; the client goes on in its file, in which only what is typed now is the user's word.
    """
    sent = "\n".join(list_texts_in_tool_input({"body": server.requests[-1].body}))
    for words in (*asked, FAILED, ASKED_NOW):
        assert words in sent, words
    assert f"Asked last: {asked[-1]}" in sent
    messages = [
        entry
        for entry in read_session(UnpackedUtf8Lines(agent.session_file()))
        if isinstance(entry, Message)
    ]
    assert messages[-1].origin is Origin.MODEL
    typed = [strip_host_markup(get_typed_text(each)).strip() for each in messages]
    assert [words for words in typed if words] == [ASKED_NOW]


@pytest.mark.covers("CP-16")
@pytest.mark.parametrize("way", ["prompt", "resumable"])
@pytest.mark.parametrize("to", ["codex", "claude-code"])
def test_the_other_client_goes_on_with_a_recorded_session(
    to: str,
    way: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """A session that one client recorded is handed over by the command, as the first prompt of the
    other or as a session that it resumes, and the next words of the user are typed there.
    """
    source: Ran = request.getfixturevalue("claude_session" if to == "codex" else "codex_session")
    program: Path = request.getfixturevalue(f"{to.removesuffix('-code')}_program")
    asked = OTHERS_ASKED["claude-code" if to == "codex" else "codex"]
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "memorist"))
    with ScriptedServer([Say(text="I take it up."), Say(text="In euros, yes.")]) as server:
        agent = begin(to, program, tmp_path, server)
        monkeypatch.setenv(FOLDER_VARIABLES[to], str(agent.own_folder))
        monkeypatch.chdir(tmp_path / "project")
        if way == "resumable":
            command = hand_over(source.files[-1], "--to", to, "--resumable")["command"]
            agent.resume(command.split()[-1])
        else:
            agent.ask(Path(hand_over(source.files[-1], "--to", to)["path"]).read_text("utf-8"))
        agent.ask(ASKED_NOW)
        assert server.refusals == []
        check_taken_up(agent, server, asked)
