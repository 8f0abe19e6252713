"""What is done for money's sake: old results go, or the notes take over, when that saves more than
it costs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memorist.compaction.compaction_thresholds import CompactionThresholds
from memorist.compaction.edit_economics import TokenRates
from memorist.compaction.measured_conversation import MeasuredConversation, measure_conversation
from memorist.compaction.profitable_edits import (
    EditCostInputs,
    HistoryReplaceableByNotes,
    ProfitableEdit,
    find_profitable_edit,
)
from memorist.core.messages import Message, Origin, TextBlock, ToolResult, ToolUse
from memorist.engine.engine import Memorist
from memorist.events import ConversationCompacted, Event
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.settings import CompactionSettings, Settings
from memorist.testing.frozen_clock import FrozenClock

SETTINGS = CompactionSettings()
RATES = TokenRates(cache_read=0.5e-6, cache_write=6.25e-6)


def history(reads: int, size: int = 4_000) -> MeasuredConversation:
    """A question, and so many reads of so many bytes, each seen by a reply."""
    messages = [
        Message(
            id="q", role="user", blocks=(TextBlock("Look."),), origin=Origin.USER, is_typed=True
        )
    ]
    for number in range(reads):
        use = ToolUse(f"c{number}", "Read", {"file_path": f"f{number}"})
        messages.append(
            Message(
                id=f"a{number}",
                role="assistant",
                blocks=(use,),
                origin=Origin.MODEL,
                reply_id=f"r{number}",
            )
        )
        result = ToolResult(f"c{number}", (TextBlock("x" * size),))
        messages.append(Message(id=f"u{number}", role="user", blocks=(result,), origin=Origin.TOOL))
    messages.append(
        Message(
            id="end",
            role="assistant",
            blocks=(TextBlock("Seen."),),
            origin=Origin.MODEL,
            reply_id="end",
        )
    )
    return measure_conversation(messages)


def money(**more: Any) -> EditCostInputs:
    return EditCostInputs(
        **{
            "rates": RATES,
            "output": 25e-6,
            "cached": 30_000,
            "age_seconds": 10.0,
            "calls": 40,
            "first_request_tokens": 1_000,
            **more,
        }
    )


def limits_at(auto: int) -> CompactionThresholds:
    return CompactionThresholds(effective=auto, auto=auto, warning=auto, blocking=auto, base=auto)


def pays(held: MeasuredConversation, limit: int, **more: Any) -> ProfitableEdit | None:
    return find_profitable_edit(
        held, money(**more), used=held.tokens, limits=limits_at(limit), settings=SETTINGS
    )


@pytest.mark.covers("CP-18")
def test_with_room_left_nothing_is_cleared_for_money() -> None:
    """Below half the threshold what the model can see it need not fetch."""
    held = history(40)

    assert pays(held, limit=held.tokens * 3) is None


@pytest.mark.covers("CP-18")
def test_a_cold_cache_makes_clearing_pay() -> None:
    """Everything is written again anyway, so what is gone is not written; the newest five results
    stay.
    """
    held = history(40)
    found = pays(held, limit=round(held.tokens * 1.5), age_seconds=4_000.0)

    assert found is not None
    assert set(found.ids) <= {f"c{number}" for number in range(35)}
    assert "c0" in found.ids


@pytest.mark.covers("CP-18")
def test_a_warm_cache_near_the_end_of_the_window_is_left_alone() -> None:
    """Few calls are to come before the window is full, so the reset would not be earned back."""
    held = history(12)

    assert pays(held, limit=held.tokens + 200, calls=12) is None


@pytest.mark.covers("CP-18")
def test_the_notes_take_over_where_that_pays_more_than_clearing() -> None:
    """Offered from half the threshold on; never below it."""
    held = history(60, size=8_000)
    talk = HistoryReplaceableByNotes(start=len(held.messages) - 12, tokens=1_500)
    with_talk = find_profitable_edit(
        held,
        money(age_seconds=4_000.0),
        used=held.tokens,
        limits=limits_at(held.tokens + 50_000),
        settings=SETTINGS,
        replaceable=talk,
    )
    later = CompactionSettings(talk_from=1.0)
    without = find_profitable_edit(
        held,
        money(age_seconds=4_000.0),
        used=held.tokens,
        limits=limits_at(held.tokens + 50_000),
        settings=later,
        replaceable=talk,
    )

    assert with_talk is not None
    assert with_talk.notes
    assert without is not None
    assert not without.notes


@pytest.mark.covers("CP-18")
async def test_a_live_session_clears_for_money_only_where_a_price_is_known(tmp_path: Path) -> None:
    """The same conversation, with a price and without: the second is left as it is."""
    told: dict[str, list[Event]] = {"priced": [], "unpriced": []}
    known = ModelPrice(
        window=60_000, max_output=500, input=5.0, output=25.0, cache_read=0.5, cache_write=6.25
    )
    for name, price in (("priced", known), ("unpriced", ModelPrice(window=60_000, max_output=500))):
        table = {"m": price}
        settings = Settings(
            models=ModelSettings(prices=table),
            compaction=CompactionSettings(schedule="price", talk_from=1.0),
        )
        clock = FrozenClock()
        async with Memorist(
            model="structural", home=tmp_path / name, settings=settings, clock=clock
        ) as engine:
            session = await engine.open("s", listener=told[name].append)
            messages: list[dict[str, Any]] = [{"role": "user", "content": "Look."}]
            for number in range(28):
                clock.advance(
                    600 if number == 25 else 5
                )  # a pause longer than the cache lives, and shorter than an hour
                await session.prepare({"model": "m", "max_tokens": 500, "messages": messages})
                content = [
                    {
                        "type": "tool_use",
                        "id": f"c{number}",
                        "name": "Read",
                        "input": {"file_path": f"f{number}"},
                    }
                ]
                tokens = 2_000 + 1_200 * number
                usage = {
                    "input_tokens": 1_200,
                    "cache_read_input_tokens": tokens - 1_200,
                    "output_tokens": 20,
                }
                await session.observe(
                    {
                        "id": f"m{number}",
                        "type": "message",
                        "role": "assistant",
                        "model": "m",
                        "content": content,
                        "usage": usage,
                    }
                )
                messages.append({"role": "assistant", "content": content})
                result = {
                    "type": "tool_result",
                    "tool_use_id": f"c{number}",
                    "content": "y" * 4_000,
                }
                messages.append({"role": "user", "content": [result]})

    compactions = {
        name: [event for event in events if isinstance(event, ConversationCompacted)]
        for name, events in told.items()
    }
    assert not compactions["unpriced"]
    assert compactions["priced"]
    assert all(event.tokens_after < event.tokens_before for event in compactions["priced"])
