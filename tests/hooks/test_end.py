"""Ending the process behind the hooks loses nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hooks.conftest import Hooks
from hooks.recordings import FOLDER, ClaudeFile, CodexFile
from memorist.cli.hook_commands import stop_daemon
from support.sweeps import sampled

EVENTS: dict[str, dict[str, str]] = {
    "SessionStart": {"source": "startup"},
    "UserPromptSubmit": {"prompt": "Where is it?"},
    "Stop": {},
    "SessionEnd": {"reason": "other"},
}


@pytest.mark.parametrize(
    ("client", "kind", "again"),
    sampled(
        [
            ("claude-code", ClaudeFile, False),
            ("claude-code", ClaudeFile, True),
            ("codex", CodexFile, False),
            ("codex", CodexFile, True),
        ],
        {("claude-code", ClaudeFile, True), ("codex", CodexFile, False)},
    ),
)
def test_a_session_that_ended_just_before_is_kept_whole(
    hooks: Hooks, tmp_path: Path, client: str, kind: Any, again: bool
) -> None:
    """Its transcript holds the turn, and its notes are there, also after another session."""
    ids = ["s1", "s2"] if again else ["s1"]
    for id in ids:
        file, path = kind(id), tmp_path / f"{id}.jsonl"
        about = {"session_id": id, "transcript_path": str(path), "cwd": FOLDER}
        for event, more in EVENTS.items():
            if event == "Stop":
                file.user("Where is it?")
                file.says("There.")
                path.write_bytes(b"".join(file.lines))
            data = json.dumps({**about, "hook_event_name": event, **more}).encode()
            assert hooks.raw(event, data, "--client", client).returncode == 0
    stop_daemon(hooks.home)

    assert hooks.failures() == ""
    texts = [path.read_text() for path in hooks.home.glob("projects/*/*/transcript.jsonl")]
    notes = [*hooks.home.glob("projects/*/*/session-memory/summary.md")]
    assert len(texts) == len(notes) == len(ids)
    assert all("Where is it?" in text and "There." in text for text in texts)
