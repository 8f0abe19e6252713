"""Several workers of one server: a conversation goes to whichever has its next request."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memorist.adapters.engine_thread import EngineThread
from memorist.engine.engine import Memorist
from memorist.errors import SessionInUse
from memorist.events import AdapterFailed, ConversationCompacted, Event
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.settings import Settings

PAGE = "The ferry leaves at nine and comes back at noon, if the tide lets it. " * 30
MODEL = "my-model"


class Workers:
    """Engines of several processes over one home, as their adapters open them."""

    def __init__(self, home: Path, count: int) -> None:
        prices = {MODEL: ModelPrice(window=12_000, max_output=1_000)}
        settings = Settings(home=str(home), models=ModelSettings(prices=prices))
        self.events: list[Event] = []
        self.engines = [
            EngineThread(settings=settings, listener=self.events.append) for _ in range(count)
        ]

    def turn(self, worker: int, conversation: str, history: list[dict[str, Any]]) -> dict[str, Any]:
        """One call of the model through a worker; gives the request that went out."""
        used = self.engines[worker].conversation(conversation, format="anthropic")
        body = {"model": MODEL, "max_tokens": 1_000, "messages": list(history)}
        sent = used.prepare(body)
        used.observe(
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "text", "text": "Yes."}],
                "usage": {"input_tokens": len(str(sent)) // 4, "output_tokens": 3},
                "stop_reason": "end_turn",
            }
        )
        used.end_turn()
        history.append({"role": "assistant", "content": [{"type": "text", "text": "Yes."}]})
        return sent

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    made = Workers(tmp_path, 3)
    yield made
    for engine in made.engines:
        engine.close()


def test_a_conversation_moves_between_workers_with_each_request(workers: Workers) -> None:
    """Each finds what the others decided: no request exceeds the window, and none is passed on
    without memorist. A worker lets go as soon as another asks.
    """
    history: list[dict[str, Any]] = []
    for turn in range(24):
        history.append({"role": "user", "content": f"Page {turn}. {PAGE}"})
        sent = workers.turn(turn % 3, "s", history)
        assert len(str(sent)) // 4 < 12_000
        assert f"Page {turn}." in str(sent)

    assert not workers.of(AdapterFailed)
    assert workers.of(ConversationCompacted)


def test_many_conversations_move_at_once(workers: Workers) -> None:
    """Threads that each move theirs do not wait for one another for ever, and lose nothing."""
    missing: list[str] = []

    def converse(name: int) -> None:
        history: list[dict[str, Any]] = []
        for turn in range(6):
            history.append({"role": "user", "content": f"{name}:{turn} {PAGE}"})
            sent = workers.turn((name + turn) % 3, f"s{name}", history)
            if f"{name}:{turn}" not in str(sent):
                missing.append(f"{name}:{turn}")

    threads = [threading.Thread(target=converse, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not missing
    assert not workers.of(AdapterFailed)


async def test_a_holder_that_does_not_hand_over_is_named_at_once(tmp_path: Path) -> None:
    """A program that opened a session for itself keeps it; who asks is told so without a wait."""
    settings = Settings(home=str(tmp_path))
    async with Memorist(settings=settings) as first, Memorist(settings=settings) as second:
        held = await first.open("s")
        with pytest.raises(SessionInUse, match="close that session first"):
            await second.open("s")
        held.allow_takeover()
        with pytest.raises(SessionInUse):
            second._open_log("s", "", "anthropic", held._log.context.host, None, None)
        wanted = held.is_takeover_requested
        await held.close()
        again = await second.open("s")

    assert wanted
    assert not again.is_takeover_requested
    assert not held.is_takeover_requested
