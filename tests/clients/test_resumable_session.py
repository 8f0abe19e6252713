"""Session files that memorist writes, resumed by the real programs."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from clients.agents import ClaudeCode, Codex
from memorist.core.messages import Message, Origin
from memorist.formats.format_detection import read_session
from memorist.formats.resumable_session import ResumableSession, render_resumable_session
from memorist.formats.transcript_format import SkippedLine
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.testing import Say, ScriptedServer

pytestmark = pytest.mark.real_client

HAND_OVER = "[memorist] Hand-over of an earlier session: the importer skips empty rows now."
MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def check_resumed(
    agent: ClaudeCode | Codex, server: ScriptedServer, made: ResumableSession
) -> None:
    """One turn after the session was taken up: the request holds the hand-over, then the words, and
    the client goes on in the same file.
    """
    agent.take_up(made)
    agent.ask("Now the export.")

    sent = json.dumps(server.requests[-1].body)
    assert sent.index(HAND_OVER) < sent.index("Now the export.")
    entries = list(read_session(UnpackedUtf8Lines(agent.session_file())))
    messages = [each for each in entries if isinstance(each, Message)]
    assert messages[0].text == HAND_OVER
    assert messages[-1].origin is Origin.MODEL
    assert not [each for each in entries if isinstance(each, SkippedLine)]


@pytest.mark.covers("CP-16")
def test_claude_code_goes_on_in_a_session_file_of_ours(
    claude_program: Path, tmp_path: Path
) -> None:
    """`claude --resume` opens the file by its id in the folder that it was written for."""
    with ScriptedServer([Say(text="I go on.")]) as server:
        agent = ClaudeCode(claude_program, tmp_path, server)
        cwd = os.path.realpath(tmp_path / "project")
        made = render_resumable_session("claude-code", HAND_OVER, id=uuid4(), cwd=cwd, at=MOMENT)
        check_resumed(agent, server, made)


@pytest.mark.covers("CP-16")
def test_codex_goes_on_in_a_session_file_of_ours(codex_program: Path, tmp_path: Path) -> None:
    """`codex resume` opens the file by its id."""
    with ScriptedServer([Say(text="I go on.")]) as server:
        agent = Codex(codex_program, tmp_path, server)
        cwd = os.path.realpath(tmp_path / "project")
        made = render_resumable_session("codex", HAND_OVER, id=uuid4(), cwd=cwd, at=MOMENT)
        check_resumed(agent, server, made)
