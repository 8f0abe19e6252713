"""How many modules a value passes on its way through memorist: nothing only hands on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from memorist import Memorist
from memorist.hooks.hook_event import HookEvent
from memorist.hooks.hook_session import HookSessionPool
from memorist.recall.session_recall import SessionMemoryRecall
from memorist.store.disk_files import DiskFiles

MAX_MODULES = 8


def modules_on_the_stack() -> list[str]:
    """The modules of memorist that are in the middle of a call, outermost first."""
    frame, names = sys._getframe(1), []
    while frame.f_back is not None:
        frame = frame.f_back
        names.append(frame.f_globals.get("__name__", ""))
    return list(dict.fromkeys(name for name in reversed(names) if name.startswith("memorist.")))


async def test_a_sentence_becomes_a_file_through_eight_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From `Session.prepare` to the write of the memory's file at most eight modules hand the
    user's sentence on, the list of extensions and the disk included.
    """
    walks: list[list[str]] = []
    create = DiskFiles.create

    def create_and_note(self: DiskFiles, path: Path, data: bytes) -> bool:
        if path.suffix == ".md" and b"pnpm" in data:
            walks.append(modules_on_the_stack())
        return create(self, path, data)

    monkeypatch.setattr(DiskFiles, "create", create_and_note)
    async with Memorist(home=tmp_path) as engine:
        session = await engine.open("s1", project="/home/dev/shop")
        said = {"role": "user", "content": "Remember that we always use pnpm."}
        await session.prepare({"model": "m", "max_tokens": 100, "messages": [said]})

    assert walks
    assert max(map(len, walks)) <= MAX_MODULES, walks


async def test_a_hook_event_is_answered_through_eight_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prompt is handed from the hook's program through the daemon to recall; with the parser of
    the event and the renderer of the answer these are at most eight modules.
    """
    walks: list[list[str]] = []
    begin_turn = SessionMemoryRecall.start_search_for_message

    def begin_and_note(self: SessionMemoryRecall, *arguments: Any, **options: Any) -> Any:
        walks.append(modules_on_the_stack())
        return begin_turn(self, *arguments, **options)

    monkeypatch.setattr(SessionMemoryRecall, "start_search_for_message", begin_and_note)
    event = HookEvent(
        hook_event_name="UserPromptSubmit", session_id="s1", cwd="/home/dev/shop", prompt="Test it."
    )
    async with Memorist(home=tmp_path) as engine:
        sessions = HookSessionPool(engine, lambda *_: None)
        await sessions.render_output_for_event("claude-code", event, "/home/dev/shop", 60.0)
        await sessions.close()

    around = ["hook_client", "hook_daemon", "hook_event", "hook_response"]
    (walk,) = walks
    assert len(
        {*walk, *(f"memorist.hooks.{name}" for name in around), SessionMemoryRecall.__module__}
    ) <= (MAX_MODULES), walk
