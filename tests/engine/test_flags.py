"""Feature flags in a running session: they take effect at the next check, and nobody waits for
them.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.errors import SettingsError
from memorist.flags.flag_lookup import InMemoryFlagSource
from memorist.settings import FlagsSettings, Settings

WAIT = 60.0


class Talk:
    """A host without a model of its own: it says how large its context is."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.messages: list[dict[str, Any]] = []

    async def turn(self, tokens: int) -> bool:
        """One question and answer, with a usage of so many tokens; whether there are notes after
        it.
        """
        self.messages.append({"role": "user", "content": f"Look at {tokens}."})
        await self.session.prepare({"model": "m", "max_tokens": 1000, "messages": self.messages})
        said = [{"type": "text", "text": "It is looked at."}]
        await self.session.observe({
            "id": f"msg_{tokens}", "type": "message", "role": "assistant", "model": "m", "content": said, "stop_reason": "end_turn",
            "usage": {"input_tokens": tokens - 5, "output_tokens": 5},
        })  # fmt: skip
        self.messages.append({"role": "assistant", "content": said})
        await self.session.session_memory.wait_or_cancel(WAIT)
        return self.session.notes is not None


def set_to(engine: Memorist, source: InMemoryFlagSource, **values: object) -> None:
    source.values = {f"session_memory.{name}": value for name, value in values.items()}
    engine.flags.refresh()
    assert engine.flags.wait_for_lookup(WAIT)


@pytest.mark.covers("FG-2", "SM-1", "SM-2")
async def test_a_threshold_that_changes_during_a_session_holds_at_the_next_check(
    tmp_path: Path,
) -> None:
    """6,000 tokens are not enough, until a flag says so."""
    source = InMemoryFlagSource()
    async with Memorist(model="structural", home=tmp_path, flags=source) as engine:
        talk = Talk(await engine.open("s"))

        assert not await talk.turn(6_000)
        set_to(engine, source, start_tokens=5_000)
        assert await talk.turn(6_500)


@pytest.mark.covers("FG-2", "SM-1")
async def test_the_gate_is_shut_and_opened_during_a_session(tmp_path: Path) -> None:
    """Switched off before the session began, no notes are kept; switched on, they come with the
    next reply; what is there stays when it is shut again.
    """
    source = InMemoryFlagSource({"session_memory.enabled": False})
    async with Memorist(model="structural", home=tmp_path, flags=source) as engine:
        session = await engine.open("s")
        talk = Talk(session)

        assert not await talk.turn(20_000)
        set_to(engine, source, enabled=True)
        assert await talk.turn(20_100)
        before = session.notes
        set_to(engine, source, enabled=False)
        await talk.turn(60_000)
        assert session.notes == before


@pytest.mark.covers("FG-2", "SM-1")
async def test_a_session_goes_on_while_the_source_hangs(tmp_path: Path) -> None:
    """Opening, the checks and the close come back with the source unanswered; the settings hold."""
    let_go = threading.Event()

    class Hanging:
        def read(self) -> Mapping[str, object]:
            let_go.wait()
            return {"session_memory.enabled": False}

    async with Memorist(model="structural", home=tmp_path, flags=Hanging()) as engine:
        talk = Talk(await engine.open("s"))
        assert not await talk.turn(6_000)
        assert await talk.turn(12_000)
    assert not let_go.is_set()
    let_go.set()


@pytest.mark.covers("FG-1", "FG-2")
async def test_the_file_of_the_settings_is_the_source_where_none_is_given(tmp_path: Path) -> None:
    """Set in code here; a change of the file reaches the running session; the engine ends the
    look-ups.
    """
    file = tmp_path / "flags.toml"
    settings = Settings(flags=FlagsSettings(file=str(file)))
    async with Memorist(model="structural", home=tmp_path / "home", settings=settings) as engine:
        talk = Talk(await engine.open("s"))
        assert not await talk.turn(6_000)
        file.write_text("[session_memory]\nstart_tokens = 5_000\n", "utf-8")
        engine.flags.refresh()
        assert engine.flags.wait_for_lookup(WAIT)
        assert await talk.turn(6_500)

    thread = engine.flags._thread
    assert thread is not None
    thread.join(WAIT)
    assert not thread.is_alive()


@pytest.mark.covers("FG-2")
async def test_a_recorded_session_begins_with_the_flags_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay waits for a source that is slow, so that its first messages are judged like its
    last.
    """
    monkeypatch.setattr("memorist.engine.engine.FLAGS_WAIT_SECONDS", WAIT)

    class Slow:
        def read(self) -> Mapping[str, object]:
            threading.Event().wait(0.2)
            return {"session_memory.start_tokens": 77}

    async with Memorist(model="structural", home=tmp_path, flags=Slow()) as engine:
        engine.replay_session("s", folder=tmp_path / "session")

        assert engine.flags.apply_to_section(engine.settings.session_memory).start_tokens == 77


def test_a_path_that_is_no_place_is_an_error_of_the_caller(tmp_path: Path) -> None:
    """Found when the engine is made."""
    with pytest.raises(SettingsError, match=r"flags\.file"):
        Memorist(home=tmp_path, settings=Settings(flags=FlagsSettings(file="flags.toml")))
