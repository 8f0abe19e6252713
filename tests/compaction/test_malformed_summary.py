"""Whatever form a summary comes in, its text is used or nothing is lost, in both compactions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from memorist.core.messages import JsonObject
from memorist.engine.engine import Memorist
from memorist.events import CompactionFailed, Event
from memorist.forks.fork_request import FORK_MARK
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.ports import Request
from memorist.settings import SessionMemorySettings, Settings
from memorist.testing import Say, ScriptedModel

MODEL = "claude-made-up"
SETTINGS = Settings(
    models=ModelSettings(
        prices={MODEL: ModelPrice(window=30_000, max_output=1_000, input=3.0, output=15.0)}
    ),
    session_memory=SessionMemorySettings(enabled=False),
)
PAGE = "The importer reads rows from orders.csv; each row has a price in cents. " * 60
RULE = "Never touch the schema of orders_2024, whatever happens."
TEXT = "1. The importer stays slow.\n2. Prices are cents."
THOUGHT = "Perhaps the schema was changed."

USED = {
    "plain": TEXT,
    "two fences": f"```\n```md\n<summary>{TEXT}</summary>\n```\n```",
    "a thought before it": f"<think>\n{THOUGHT}\n</think>\n<summary>{TEXT}</summary>",
    "an object": json.dumps({"summary": TEXT}),
    "an object with a comment, in a fence": (
        f'```json\n{{ // so\n "summary": {json.dumps(TEXT)},\n}}\n```'
    ),
    "an element around it": f"<answer><summary>{TEXT}</summary></answer>",
}
REFUSED = {
    "empty": " ",
    "a thought without an end": f"<think>\n{THOUGHT}",
    "cut in the middle": f"<analysis>{THOUGHT}</analysis><summary>{TEXT}"[:-9],
    "cut in its analysis": f"<analysis>{THOUGHT}",
    "a loop": f"<summary>{TEXT * 4_000}",
    "a tool call": '<tool_call>{"name": "Read", "arguments": {"path": "orders.csv"}}</tool_call>',
}


async def compact(
    folder: Path, answer: str, strategy: Literal["full", "inline"]
) -> tuple[str | None, str]:
    """The text of the new history, None where the conversation stays; and what was told of it."""
    told: list[Event] = []

    def reply(request: Request) -> Say:
        asked = FORK_MARK in msgspec.json.encode(request.body).decode()
        return Say(text=answer if asked else PAGE)

    model = ScriptedModel(reply, name=f"scripted:{MODEL}")
    messages: list[JsonObject] = []
    for said in (RULE, "One.", "Two.", "Three."):
        messages += [
            {"role": "user", "content": said},
            {"role": "assistant", "content": [{"type": "text", "text": PAGE}]},
        ]
    messages.append({"role": "user", "content": "Go on."})
    async with Memorist(model=model, home=folder, settings=SETTINGS) as engine:
        session = await engine.open("s", listener=told.append)
        await session.prepare({"model": MODEL, "max_tokens": 1_000, "messages": messages})
        done = await session.compact("", strategy)
    failed = [event.why for event in told if isinstance(event, CompactionFailed)]
    made = None if done.result is None else "\n".join(each.text for each in done.result.messages)
    return made, " ".join(failed)


@pytest.mark.covers("CP-7", "CP-16")
@pytest.mark.parametrize("strategy", ["full", "inline"])
@pytest.mark.parametrize("form", USED)
async def test_a_summary_is_used_in_whatever_form_it_comes(
    tmp_path: Path, strategy: Literal["full", "inline"], form: str
) -> None:
    """Its lines beside the user's words, without what was wrapped around it or only thought."""
    made, _ = await compact(tmp_path, USED[form], strategy)

    assert made is not None
    assert set(TEXT.split("\n")) <= {line.strip() for line in made.split("\n")}
    assert RULE in made
    assert THOUGHT not in made
    assert '"summary"' not in made


@pytest.mark.covers("CP-7", "CP-14")
@pytest.mark.parametrize("strategy", ["full", "inline"])
@pytest.mark.parametrize("form", REFUSED)
async def test_an_answer_that_is_no_summary_leaves_the_conversation(
    tmp_path: Path, strategy: Literal["full", "inline"], form: str
) -> None:
    """And the event says why."""
    made, why = await compact(tmp_path, REFUSED[form], strategy)

    assert made is None
    assert why
