"""Whatever a host does, each request is one that the provider takes: pairs whole, the newest words
in view.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorist.compaction.compaction_result import CompactionStrategy
from memorist.context.first_context_assembly import HostContext
from memorist.engine.engine import Memorist
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.ports import Reply, Request
from memorist.settings import Settings
from memorist.testing.frozen_clock import FrozenClock
from memorist.testing.models import ScriptedModel
from memorist.testing.steps import CallTool, ReplyParts, Say, Step
from support.sweeps import examples

MODEL = "made-up"
SETTINGS = Settings(
    models=ModelSettings(
        prices={
            MODEL: ModelPrice(window=20_000, max_output=500, input=3.0, output=15.0, cache_read=0.3)
        }
    )
)

# One move of the host: a user's text of so many words, then a reply with so many calls, each
# answered by so many words; or a compaction by hand.
MOVES = st.one_of(
    st.tuples(st.integers(1, 400), st.lists(st.integers(0, 3_000), max_size=3)),
    st.sampled_from(["auto", "micro", "structural", "session-memory", "tail"]),
)


@pytest.mark.covers("CP-10", "CP-14", "CP-15")
@examples(5, whole=15)
@given(
    st.lists(MOVES, min_size=1, max_size=14),
    st.sampled_from(["anthropic", "openai_responses", "openai_chat"]),
)
def test_every_request_of_any_session_is_one_that_the_provider_takes(
    moves: list[Any], name: str
) -> None:
    """The scripted model is as strict as the providers about pairs; and the user's newest message
    is in every request.
    """
    asyncio.run(_play(moves, name, None))


@pytest.mark.covers("CX-1", "CX-2", "CX-5", "CX-7", "CP-10")
@examples(5, whole=15)
@example([(1, []), "tail", (1, []), "back", (1, [])], "anthropic", "rollout")
@example([(1, [0, 2635]), "stop", "auto", (1, [])], "anthropic", "rollout")
@given(
    st.lists(st.one_of(MOVES, st.sampled_from(["back", "stop", "day"])), min_size=1, max_size=14),
    st.sampled_from(["anthropic", "openai_responses", "openai_chat"]),
    st.sampled_from(["rollout", "file-native"]),
)
def test_every_request_of_an_assembled_session_is_one_that_the_provider_takes(
    moves: list[Any], name: str, family: Any
) -> None:
    """With turns taken back, calls that were interrupted and days that pass, too; and the first
    context stands in every request, once.
    """
    asyncio.run(_play(moves, name, family))


async def _play(moves: list[Any], name: str, family: Any) -> None:
    answer: list[Step] = []
    model = ScriptedModel(
        lambda request: answer.pop(), format=name, name=f"scripted:{MODEL}", window=10_000_000
    )
    body: dict[str, Any] = {"model": MODEL, HISTORY[name]: []}
    if name == "anthropic":
        body["max_tokens"] = 500
    clock = FrozenClock(1_784_894_400.0)
    starts: list[int] = []
    with tempfile.TemporaryDirectory() as home:
        (Path(home) / "CLAUDE.md").write_text(RULE, "utf-8")
        (Path(home) / "AGENTS.md").write_text(RULE, "utf-8")
        async with Memorist(
            model="structural", home=home, settings=SETTINGS, clock=clock
        ) as engine:
            session = await engine.open("s", format=name)
            if family is not None:
                session.assemble_context(HostContext(folder=home, family=family))
            for number, move in enumerate(moves):
                if move == "day":
                    clock.advance(86_400.0)
                elif move == "back":
                    del body[HISTORY[name]][starts.pop() if starts else 0 :]
                elif isinstance(move, str) and move != "stop" and starts:
                    await session.compact(strategy=cast("CompactionStrategy", move))
                if isinstance(move, str) and move != "stop":
                    continue
                words, results = (5, [0]) if move == "stop" else move
                starts.append(len(body[HISTORY[name]]))
                said = f"Question {number} " + "word " * words
                body[HISTORY[name]].append({"role": "user", "content": said})
                calls = tuple(
                    CallTool(
                        name="Read",
                        input={"file_path": f"f{number}_{each}"},
                        id=f"c{number}_{each}",
                    )
                    for each in range(len(results))
                )
                answer.append(ReplyParts(parts=(Say(text=f"Looking {number}."), *calls)))
                reply = await _call(session, model, body, said)
                body[HISTORY[name]] += ECHO[name](reply.body)
                if results and move != "stop":
                    body[HISTORY[name]] += ANSWER[name](
                        [(f"c{number}_{each}", "line " * size) for each, size in enumerate(results)]
                    )
                    answer.append(Say(text="Done."))
                    reply = await _call(session, model, body, said)
                    body[HISTORY[name]] += ECHO[name](reply.body)
                await session.session_memory.wait_or_cancel(5)


async def _call(session: Any, model: ScriptedModel, body: dict[str, Any], said: str) -> Reply:
    request = await session.prepare(body)
    shown = msgspec.json.encode(request).decode()
    assert said[:14] in shown
    assert shown.count(RULE) == (session.first_context != ())
    reply = await model.send(Request(format=model.format, body=request))
    await session.observe(reply.body)
    return reply


RULE = "Every commit has a test."
HISTORY = {"anthropic": "messages", "openai_responses": "input", "openai_chat": "messages"}
ECHO: dict[str, Callable[[Any], list[Any]]] = {
    "anthropic": lambda reply: [{"role": "assistant", "content": reply["content"]}],
    "openai_responses": lambda reply: list(reply["output"]),
    "openai_chat": lambda reply: [reply["choices"][0]["message"]],
}
ANSWER: dict[str, Callable[[list[tuple[str, str]]], list[Any]]] = {
    "anthropic": lambda pairs: [
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": name, "content": text}
                for name, text in pairs
            ],
        }
    ],
    "openai_responses": lambda pairs: [
        {"type": "function_call_output", "call_id": name, "output": text} for name, text in pairs
    ],
    "openai_chat": lambda pairs: [
        {"role": "tool", "tool_call_id": name, "content": text} for name, text in pairs
    ],
}
