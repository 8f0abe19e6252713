"""Answers that repeat themselves without end, over the real SDKs and by the rule alone."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Callable
from typing import Any

import pytest

from memorist.budget.model_speed import compute_speed_of_requests
from memorist.core.messages import Usage
from memorist.forks.fork_spec import ForkRequestMeasurements
from memorist.formats.codec_registry import find_codec
from memorist.formats.request_codec import REPEATED_REASON
from memorist.models.answer_repetition import count_repeated_characters
from memorist.ports import Model, Reply, Request
from memorist.testing import CallTool, InterruptedReply, ReplyParts, Say, ScriptedServer, Think

Open = Callable[..., Model]

LINE = "- The user wants the tests to run with pytest.\n"


async def ask(model: Model) -> Reply:
    body = find_codec(model.format).build_request(
        "claude-sonnet-4-5", system="Be short.", text="Summarize.", max_output=16_000
    )
    return await model.send(Request(format=model.format, body=body, timeout_seconds=20.0))


@pytest.mark.covers("FK-8")
async def test_an_answer_that_loops_is_read_no_further(open_at: Open) -> None:
    """The connection is closed while the server would still write; what stood before the loop and
    its line, once, are the answer, and its tokens are estimated.
    """
    looping = Say(text="Here it is:\n" + LINE * 1_000)
    with ScriptedServer([InterruptedReply(step=looping, at=0.7, then="hang")]) as server:
        reply = await ask(open_at(server))
        assert await asyncio.to_thread(server.wait_left, 1)

    assert "".join(message.text for message in reply.messages) == "Here it is:\n" + LINE.strip()
    assert reply.stop_reason == REPEATED_REASON
    assert reply.attempts == 1
    assert reply.usage.input > 0
    assert 300 < reply.usage.output < 3_000


@pytest.mark.parametrize("then", ["hang", "end"])
async def test_an_answer_that_is_read_no_further_leaves_no_reader_half_way(
    open_at: Open, then: str
) -> None:
    """Every generator of the SDK and its HTTP client has run to its end: one that the interpreter
    had to end later failed now and then, while another thread collected garbage.
    """
    left: list[str] = []
    finish = sys.get_asyncgen_hooks().finalizer
    assert finish is not None

    def note(generator: Any) -> None:
        left.append(generator.__qualname__)
        finish(generator)

    first = sys.get_asyncgen_hooks().firstiter
    sys.set_asyncgen_hooks(firstiter=first, finalizer=note)
    try:
        looping = Say(text="Here it is:\n" + LINE * 1_000)
        step = InterruptedReply(step=looping, at=0.7, then="hang") if then == "hang" else looping
        with ScriptedServer([step]) as server:
            await ask(open_at(server))
    finally:
        sys.set_asyncgen_hooks(firstiter=first, finalizer=finish)

    assert left == []


@pytest.mark.covers("FK-8")
@pytest.mark.parametrize(
    "looping",
    [
        ReplyParts(parts=(Say(text="Done."), CallTool(name="write", input={"text": LINE * 900}))),
        ReplyParts(parts=(Think(text=LINE * 900, signature="s"),)),
    ],
    ids=["call", "thought"],
)
async def test_a_call_or_thought_that_loops_is_no_part_of_the_answer(
    open_at: Open, looping: Any
) -> None:
    """Half a call cannot be carried out, and half a thought is nothing."""
    with ScriptedServer([InterruptedReply(step=looping, at=0.8, then="hang")]) as server:
        reply = await ask(open_at(server))

    assert reply.stop_reason == REPEATED_REASON
    assert not [call for message in reply.messages for call in message.tool_uses]
    said = "".join(message.text for message in reply.messages)
    assert said == ("Done." if len(looping.parts) == 2 else "")


REPETITIVE = {
    "a table": "| name | yes | no |\n|---|---|---|\n"
    + "".join(f"| row {number} | yes | no |\n" for number in range(400)),
    "paths": "".join(f"src/parts/part_{number}/test_part.py\n" for number in range(300)),
    "objects": "[" + ", ".join(f'{{"id": {number}, "kind": "row"}}' for number in range(400)) + "]",
    "a rule": "=" * 3_000,
    "zeros": "0, " * 1_500,
    "equal lines": "    assert next(rows) is None\n" * 30,
    "a code word": "    }\n" * 300,
    "blank": "Yes." + "\n" * 3_000,
    "five paragraphs": ("One sentence after the other, in a long paragraph. " * 5 + "\n") * 4,
}


@pytest.mark.covers("FK-8")
@pytest.mark.parametrize("text", REPETITIVE.values(), ids=REPETITIVE.keys())
def test_what_repeats_for_a_reason_is_no_loop(text: str) -> None:
    """Rows that differ in one character, short pieces, and a few equal lines: none ends early."""
    assert not any(count_repeated_characters(text[:end]) for end in range(200, len(text) + 1, 200))


@pytest.mark.covers("FK-8")
@pytest.mark.parametrize(
    "piece", ["and so on, and ", "ありがとうございます。続けてください。", "x" * 31 + "y", "ab"]
)
def test_a_loop_is_found_wherever_it_begins(piece: str) -> None:
    """Whatever the language and the length of the piece, all but its first copy counts."""
    before = "".join(random.Random(1).choices("abcdefgh \n", k=500)) + "#"
    text = before + piece * (6_400 // len(piece))

    repeated = count_repeated_characters(text)

    assert text[: len(text) - repeated] == before + piece


@pytest.mark.covers("SG-1")
def test_the_speed_of_a_model_is_not_taken_from_a_loop() -> None:
    """Its tokens are an estimate, also those that the server had cached."""
    record = ForkRequestMeasurements(
        started=0.0, seconds=1.0, usage=Usage(input=50_000, output=400), stop_reason=REPEATED_REASON
    )

    assert compute_speed_of_requests([record]) is None
