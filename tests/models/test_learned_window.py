"""The window of a model that no table knows: learned from its server, not guessed for ever."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memorist import HostInfo, Memorist, Settings
from memorist.errors import ContextTooLong
from memorist.events import Event, WindowLearned
from memorist.models.context_window_observer import ContextWindowObserver
from memorist.models.model_choice import create_model_from_string
from memorist.models.model_settings import ModelSettings
from memorist.ports import Request
from memorist.testing.provider_server import ScriptedServer
from memorist.testing.steps import HttpError

PAGE = "The ferry leaves at nine and comes back at noon, if the tide lets it. " * 40


def reply(counted: int) -> dict[str, Any]:
    return {
        "choices": [{"message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": counted, "completion_tokens": 5},
    }


async def play(home: Path, served: int, turns: int) -> tuple[list[Event], list[int]]:
    """A conversation of 700 tokens a turn with a server that silently reads `served` tokens at
    most; the events, and the messages in each request.
    """
    events: list[Event] = []
    sizes: list[int] = []
    history: list[dict[str, Any]] = []
    async with Memorist(settings=Settings(home=str(home))) as engine:
        session = await engine.open("s", format="openai_chat", listener=events.append)
        for turn in range(turns):
            history.append({"role": "user", "content": f"Page {turn}. {PAGE}"})
            sent = await session.prepare({"model": "qwen-of-mine", "messages": list(history)})
            sizes.append(len(sent["messages"]))
            size = sum(len(str(each["content"])) for each in sent["messages"]) // 4
            await session.observe(reply(min(served, size)))
            history.append({"role": "assistant", "content": "Yes."})
            await session.end_turn()
    return events, sizes


async def test_a_server_that_cuts_without_a_word_is_noticed(tmp_path: Path) -> None:
    """Ollama reads the end of what does not fit and says nothing: its count stops growing. From
    then on the conversation is compacted to what it reads.
    """
    events, sizes = await play(tmp_path, served=4_096, turns=16)

    learned = [event for event in events if isinstance(event, WindowLearned)]
    assert [(event.model, event.why) for event in learned] == [("qwen-of-mine", "cut")]
    assert 3_500 <= learned[0].window <= 4_200
    assert max(sizes) < 31


@pytest.mark.covers("CP-2")
@pytest.mark.parametrize(
    "words",
    [
        "The input (9500 tokens) is longer than the model's context length (8192 tokens).",
        "Trying to keep the first 9500 tokens when context the overflows. However, the model is "
        "loaded with context length of only 8192 tokens, which is not enough.",
        "prompt token count of 9500 exceeds the limit of 8192",
        "Please reduce the length of the messages. Current length is 9500 while limit is 8192",
    ],
)
async def test_a_refusal_in_a_servers_own_words_names_the_window(words: str) -> None:
    """SGLang, LM Studio, Copilot and Cerebras: the request is refused once, as too long, with the
    size and the window that the server named.
    """
    body = {"model": "qwen-of-mine", "messages": [{"role": "user", "content": PAGE}]}
    with ScriptedServer([HttpError(code=400, message=words)] * 2) as server:
        model = create_model_from_string(
            f"openai-chat:qwen-of-mine@{server.openai_url}", ModelSettings()
        )
        assert model is not None
        with pytest.raises(ContextTooLong) as refused:
            await model.send(Request(format="openai_chat", body=body))
        await model.close()

    assert (refused.value.tokens, refused.value.window) == (9_500, 8_192)
    assert len(server.received) == 1


async def test_a_refusal_teaches_the_window(tmp_path: Path) -> None:
    """After one refusal of a size below the assumed window, the next request is smaller before it
    goes out, and so is that of another session with the same model.
    """
    events: list[Event] = []
    body = {
        "model": "qwen-of-mine",
        "messages": [{"role": "user", "content": f"Page {n}. {PAGE}"} for n in range(12)],
    }
    async with Memorist(settings=Settings(home=str(tmp_path))) as engine:
        first = await engine.open("a", format="openai_chat", listener=events.append)
        await first.prepare(body)
        await first.shrink_refused_request()
        second = await engine.open("b", format="openai_chat")
        sent = await second.prepare(body)

    learned = [event for event in events if isinstance(event, WindowLearned)]
    assert [event.why for event in learned] == ["refused"]
    assert 5_000 < learned[0].window < 12_000
    assert len(str(sent)) < len(str(body)) * 0.8


async def test_one_setting_moves_every_window(tmp_path: Path) -> None:
    """`models.window` counts for a host's model that no table knows as well."""
    body = {
        "model": "qwen-of-mine",
        "messages": [{"role": "user", "content": f"Page {n}. {PAGE}"} for n in range(12)],
    }
    settings = Settings(home=str(tmp_path), models=ModelSettings(window=8_192))
    async with Memorist(settings=settings) as engine:
        session = await engine.open("a", format="openai_chat")
        sent = await session.prepare(body)

    assert len(str(sent)) < len(str(body)) * 0.8


async def test_a_host_names_its_window_in_one_line(tmp_path: Path) -> None:
    """It comes before the price table and the settings."""
    body = {
        "model": "claude-sonnet-5",
        "max_tokens": 500,
        "messages": [{"role": "user", "content": f"Page {n}. {PAGE}"} for n in range(12)],
    }
    async with Memorist(settings=Settings(home=str(tmp_path))) as engine:
        session = await engine.open("a", host=HostInfo(window=8_192))
        sent = await session.prepare(body)

    assert len(str(sent)) < len(str(body)) * 0.8


@pytest.mark.parametrize(
    ("counts", "window"),
    [
        ([(4_000, 4_000), (8_000, 4_010)], 4_010),
        ([(4_000, 4_000), (4_700, 4_000), (4_700, 4_000)], 4_000),
        ([(4_000, 4_000), (8_000, 7_900)], None),
        ([(4_000, 4_000), (4_100, 4_000)], None),
        ([(4_000, 4_000), (4_700, 4_000), (1_500, 1_500), (1_700, 1_500)], None),
        ([(8_000, 5_000), (9_700, 6_000)], None),
        ([(500, 500), (2_000, 500)], None),
        ([(99_500 + 500 * turn, 99_500 + 500 * turn) for turn in range(200)], None),
        ([(99_800 + 260 * turn, 99_800 + 200 * turn) for turn in range(200)], None),
        ([(8_000, 8_000), *[(8_700, 8_000 + 50 * (turn % 2)) for turn in range(4)]], 8_050),
    ],
)
def test_only_a_count_that_stops_growing_is_a_cut(
    counts: list[tuple[int, int]], window: int | None
) -> None:
    """Neither a compaction, a small turn, a long context that grows by a little with each request,
    nor a tokenizer that counts less is taken for one; a count that wavers where it stands is.
    """
    observer = ContextWindowObserver()

    assert [observer.on_reply(*each) for each in counts][-1] == window


@pytest.mark.covers("CP-2")
@pytest.mark.parametrize("count", [1, 4, 25])
async def test_a_request_of_too_many_bytes_teaches_no_window(tmp_path: Path, count: int) -> None:
    """Anthropic refuses more than 32 MB: with 25 screenshots of 1.5 MB, which are 45,000 tokens, a
    model's window of 200,000 was taken for 43,000 from then on, in all sessions of the engine. A
    server between may refuse more than 1 MB. The request that is sent instead is far smaller all
    the same.
    """
    picture = {"type": "base64", "media_type": "image/png", "data": "iVBORw0K" * 180_000}
    history: list[dict[str, object]] = []
    for at in range(count):
        content = [{"type": "text", "text": f"screen {at}"}, {"type": "image", "source": picture}]
        history.append({"role": "user", "content": content})
        history.append({"role": "assistant", "content": f"seen {at}"})
    history.append({"role": "user", "content": "compare the last two"})
    body = {"model": "claude-sonnet-4-5", "max_tokens": 1_000, "messages": history}
    events: list[Event] = []
    async with Memorist(settings=Settings(home=str(tmp_path))) as engine:
        session = await engine.open("a", listener=events.append)
        await session.prepare(body)
        smaller = await session.shrink_refused_request()
    assert smaller is not None
    assert len(str(smaller)) < max(1, count // 2) * 1_440_000
    assert not [event for event in events if isinstance(event, WindowLearned)]


@pytest.mark.covers("CP-2")
async def test_a_conversation_compacted_with_every_request_teaches_no_window(
    tmp_path: Path,
) -> None:
    """Each compaction gives the same size, so the server's count stands still while its estimate is
    a little higher each time. That was added up and taken for a server that cuts: the window fell
    from 16,384 to 946 tokens, too little for anything, and 215,000 tokens went out as they were.
    """
    events: list[Event] = []
    sizes: list[int] = []
    settings = Settings(home=str(tmp_path), models=ModelSettings(window=16_384))
    history: list[dict[str, Any]] = [{"role": "user", "content": "Check all files."}]
    async with Memorist(settings=settings) as engine:
        session = await engine.open("s", listener=events.append)
        for turn in range(24):
            body = {"model": "of-mine", "max_tokens": 1_000, "messages": list(history)}
            sent = await session.prepare(body)
            sizes.append(len(json.dumps(sent["messages"])) // 4)
            use = {"type": "tool_use", "id": f"t{turn}", "name": "Read", "input": {"part": turn}}
            usage = {"input_tokens": sizes[-1], "output_tokens": 20}
            answer = {"type": "message", "role": "assistant", "content": [use], "usage": usage}
            await session.observe({"id": f"m{turn}", "stop_reason": "tool_use", **answer})
            words = " ".join(f"w{turn * 7919 % 997}_{each * 31 % 1013}" for each in range(3_400))
            result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": words[:30_000]}
            history.append({"role": "assistant", "content": [use]})
            history.append({"role": "user", "content": [result]})

    assert not [event for event in events if isinstance(event, WindowLearned)]
    assert max(sizes) < 16_384
