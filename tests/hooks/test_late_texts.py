"""What a slow machine had ready too late is shown at the next prompt."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from memorist import __version__
from memorist.hooks import hook_daemon, hook_protocol
from memorist.hooks.daemon_socket import open_daemon_socket
from memorist.hooks.hook_event import HookEvent, HookEventProblem, parse_hook_event
from memorist.hooks.hook_session import HookOutput
from memorist.hooks.hook_texts import MAX_SESSIONS, LateTexts
from memorist.settings import HooksSettings


def event(name: str, session: str = "s1", source: str = "") -> HookEvent:
    """An event as Claude Code sends it."""
    fields = {"session_id": session, "cwd": "/p", "hook_event_name": name, "source": source}
    found = parse_hook_event(msgspec.json.encode(fields), name)
    assert not isinstance(found, HookEventProblem)
    return found


def test_a_late_text_is_shown_once_at_the_next_prompt_of_its_session() -> None:
    """In front of what that prompt brings itself; other sessions do not see it."""
    late = LateTexts()
    late.keep(event("SessionStart"), "the index")
    late.keep(event("UserPromptSubmit"), "a quotation")

    assert late.join(event("UserPromptSubmit", "s2"), "codex", "other") == "other"
    assert late.join(event("Stop"), "codex", "") == ""
    shown = late.join(event("UserPromptSubmit"), "codex", "a memory")
    assert shown == "the index\n\na quotation\n\na memory"
    assert late.join(event("UserPromptSubmit"), "codex", "") == ""


@pytest.mark.parametrize(
    "ends", [event("SessionEnd"), event("SessionStart", source="compact"), event("SessionStart")]
)
def test_a_session_that_starts_anew_needs_no_late_text(ends: HookEvent) -> None:
    """It is shown the index again; one that is resumed is not."""
    late = LateTexts()
    late.keep(event("SessionStart"), "the index")
    assert late.join(event("SessionStart", source="resume"), "claude-code", "") == "the index"
    late.keep(event("SessionStart"), "the index")

    late.join(ends, "claude-code", "again")

    assert late.join(event("UserPromptSubmit"), "claude-code", "") == ""


def test_a_late_notice_is_shown_once_at_the_next_event_that_shows_one() -> None:
    """Also at the end of a turn, and behind a start: what was remembered is still news."""
    late = LateTexts()
    late.keep(event("Stop"), "", "memorist: remembered “use pnpm”")
    late.join(event("SessionStart", source="clear"), "claude-code", "")

    assert late.join_notice(event("Stop", "s2"), "") == ""
    assert late.join_notice(event("PreToolUse"), "") == ""
    shown = late.join_notice(event("Stop"), "memorist: 1 waits")
    assert shown == "memorist: remembered “use pnpm” · memorist: 1 waits"
    assert late.join_notice(event("Stop"), "") == ""


def test_little_is_kept() -> None:
    """Not what belongs to a call or a compaction, no empty text, and no endless row of sessions."""
    late = LateTexts()
    late.keep(event("PreCompact"), "keep this")
    late.keep(event("UserPromptSubmit"), " ")
    assert late.join(event("UserPromptSubmit"), "codex", "") == ""
    for number in range(MAX_SESSIONS + 1):
        late.keep(event("SessionStart", f"s{number}"), "the index")

    assert late.join(event("UserPromptSubmit", "s0"), "codex", "") == ""
    assert late.join(event("UserPromptSubmit", "s1"), "codex", "") == "the index"


class SlowSessions:
    """Answers the first event when it is let, and the others at once with nothing."""

    def __init__(self) -> None:
        self.let = asyncio.Event()
        self.first = True

    async def render_output_for_event(self, *_: object) -> HookOutput:
        """A quotation, for the first event."""
        if not self.first:
            return HookOutput("")
        self.first = False
        await self.let.wait()
        return HookOutput("a quotation", "memorist: remembered “use pnpm”")


PROMPT = msgspec.json.encode({"session_id": "s1", "cwd": "/p", "prompt": "which port?"})


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[hook_daemon.HookDaemon]:
    """One that waits a moment for an answer."""
    monkeypatch.chdir(tmp_path)
    found = open_daemon_socket(tmp_path / "home")
    assert found is not None
    with found:
        daemon = hook_daemon.HookDaemon(tmp_path / "home", found)
        daemon._settings = HooksSettings(prompt_seconds=0.1)
        yield daemon


@pytest.mark.covers("IN-2")
async def test_an_answer_that_took_too_long_is_not_lost(
    daemon: hook_daemon.HookDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counted as shown, and the session never saw it."""
    sessions = SlowSessions()
    monkeypatch.setattr(daemon, "_sessions", sessions)
    asked = hook_daemon.HookRequest("UserPromptSubmit", "claude-code", "/p", PROMPT)

    first = await daemon._answer(asked)
    sessions.let.set()
    await asyncio.gather(*daemon._answers)
    second = await daemon._answer(asked)

    assert first.output == b""
    assert b"a quotation" in second.output
    assert "remembered “use pnpm”" in second.output.decode()
    assert (await daemon._answer(asked)).output == b""


@pytest.mark.covers("IN-2")
@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs a pair of Unix sockets")
async def test_an_answer_that_nobody_waits_for_any_more_is_not_lost(
    daemon: hook_daemon.HookDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook program gives up by its own clock, which also counts the start of the process."""
    sessions = SlowSessions()
    sessions.let.set()
    monkeypatch.setattr(daemon, "_sessions", sessions)
    ours, theirs = socket.socketpair()
    header = hook_protocol.encode_hook_header(
        __version__, "UserPromptSubmit", "claude-code", "/p", len(PROMPT)
    )
    theirs.sendall(header + PROMPT)
    theirs.close()

    await daemon._serve_connection(*await asyncio.open_unix_connection(sock=ours))

    assert daemon._late.join(event("UserPromptSubmit"), "claude-code", "") == "a quotation"
    assert "use pnpm" in daemon._late.join_notice(event("Stop"), "")
