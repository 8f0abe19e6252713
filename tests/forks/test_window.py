"""The window is looked at before every turn of a fork, on a server over a socket."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist.core.messages import JsonObject
from memorist.forks.fork_runner import run_fork
from memorist.forks.fork_spec import (
    FolderAccess,
    ForkLimits,
    ForkOutcome,
    ForkSpec,
    ParentCall,
    Receipt,
)
from memorist.models.model_access import ModelAccess
from memorist.models.model_settings import ModelSettings
from memorist.models.openai_chat_model import OpenAIChatModel
from memorist.ports import Request
from memorist.testing import CallTool, FrozenClock, InMemoryFiles, Say, ScriptedServer
from memorist.testing.steps import Step

LONG = Path("/mem/long.md")


def read_tool() -> JsonObject:
    shape = {"type": "object", "properties": {"file_path": {"type": "string"}}}
    edit = {"name": "Edit", "description": "Edit", "parameters": shape}
    read = {"name": "Read", "description": "Read", "parameters": shape}
    return {"tools": [{"type": "function", "function": each} for each in (read, edit)]}


async def play(
    window: int,
    script: list[Step],
    *,
    lines: int,
    history: int = 200,
    usage: bool = True,
    configured: int | None = None,
) -> tuple[Receipt, ScriptedServer]:
    """A fork of a parent on a server with this window; the fork may read a file of so many lines."""
    files = InMemoryFiles()
    files.write(LONG, b"some words of the file\n" * lines)
    body: JsonObject = {
        "model": "m",
        "max_tokens": 300,
        "messages": [{"role": "user", "content": "word " * history}],
        **read_tool(),
    }
    with ScriptedServer([Say(text="The host's answer."), *script], window=window) as server:
        access = ModelAccess(key="none", base_url=server.openai_url)
        model = OpenAIChatModel("openai-chat:m", "m", access, ModelSettings(window=configured))
        try:
            asked = Request(format="openai_chat", body=body)
            reply = (await model.send(asked)).body
            if not usage:
                reply = {key: value for key, value in reply.items() if key != "usage"}
            spec = ForkSpec(
                label="extraction",
                why="a test",
                instruction="Read the file.",
                permission=FolderAccess(folder=LONG.parent),
                parent=ParentCall(asked, reply),
                limits=ForkLimits(output=1_000),
            )
            receipt = await run_fork(spec, model=model, files=files, clock=FrozenClock())
        finally:
            await model.close()
    return receipt, server


READ = CallTool(name="Read", input={"file_path": str(LONG)})


@pytest.mark.covers("FK-5", "FK-7")
async def test_a_later_turn_over_the_window_is_not_sent() -> None:
    """What a fork reads can fill the window: it ends there, says so with both sizes, and the
    provider refuses nothing.
    """
    receipt, server = await play(4_096, [READ, Say(text="Done.")], lines=2_000)

    assert server.refusals == []
    assert len(server.received) == 2
    assert (receipt.outcome, receipt.requests) == (ForkOutcome.OVER_LIMIT, 1)
    assert "would not fit into the window of 4,096" in receipt.said


@pytest.mark.covers("FK-5", "FK-7")
async def test_a_turn_that_fits_is_sent_with_the_output_that_is_left() -> None:
    """Servers count the output limit towards the window, so it shrinks as the history grows."""
    receipt, server = await play(2_048, [READ, Say(text="Done.")], lines=70)
    limits = [request.body["max_tokens"] for request in server.received]

    assert server.refusals == []
    assert receipt.outcome is ForkOutcome.UNCHANGED
    assert receipt.turns == 2
    assert limits[0] == 300
    assert limits[1] > limits[2] > 0


@pytest.mark.covers("FK-5", "FK-7")
@pytest.mark.parametrize("usage", [True, False])
async def test_the_first_turn_of_a_full_conversation_is_not_sent(usage: bool) -> None:
    """A parent that nearly fills the window leaves no room for the fork's own text, by the
    provider's count or, where it gave none, by estimate.
    """
    receipt, server = await play(2_048, [Say(text="Done.")], lines=1, history=1_540, usage=usage)

    assert server.refusals == []
    assert (receipt.outcome, receipt.requests) == (ForkOutcome.OVER_LIMIT, 0)


@pytest.mark.covers("FK-7")
async def test_a_window_that_the_parent_has_outgrown_stops_nothing() -> None:
    """A conversation larger than the window we know shows that the real one is larger."""
    receipt, server = await play(
        200_000, [Say(text="Done.")], lines=1, history=1_000, configured=1_000
    )

    assert server.refusals == []
    assert (receipt.outcome, receipt.turns) == (ForkOutcome.UNCHANGED, 1)
