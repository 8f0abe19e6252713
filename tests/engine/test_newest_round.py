"""What the model has not answered yet survives every compaction of a live session as messages: the
request with its picture, the newest calls and their results.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memorist.core.messages import Message, Origin, TextBlock, ToolResult, ToolUse
from memorist.core.token_count import estimate_messages_tokens, get_token_factor
from memorist.engine.engine import Memorist
from memorist.events import CompactionFailed, ConversationCompacted, Event, ResultsStored
from memorist.formats.codec_registry import find_codec
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.ports import Request
from memorist.settings import CompactionSettings, Settings
from memorist.testing.models import ScriptedModel
from memorist.testing.provider_server import ScriptedServer
from memorist.testing.steps import HttpError, Say, Step
from support.sweeps import sampled

MODEL = "claude-made-up"
PICTURE = {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}


def settings(window: int, **compaction: Any) -> Settings:
    """A model of this window."""
    prices = {MODEL: ModelPrice(window=window, max_output=1_000, input=3.0, output=15.0)}
    return Settings(
        models=ModelSettings(prices=prices), compaction=CompactionSettings(**compaction)
    )


def request(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 1_000, "messages": messages}


def page(id: str, characters: int) -> dict[str, Any]:
    """A result of this length whose two ends can be told apart."""
    text = f"BEGIN-{id} " + "timber and tar, " * (characters // 16) + f" END-{id}"
    return {"type": "tool_result", "tool_use_id": id, "content": text}


def summarize_reading(rounds: int, parallel: int) -> str:
    """A true summary of that many rounds: it names every page that was read."""
    ids = [f"t{number}_{each}" for number in range(rounds) for each in range(parallel)]
    read = " ".join(f"BEGIN-{id} END-{id}" for id in ids)
    return f"<summary>1. Request and intent: read every page. Read so far: {read}</summary>"


def reading(rounds: int, characters: int, *, parallel: int = 1) -> list[dict[str, Any]]:
    """A turn that begins with a picture and reads a page, or several at once, in each round."""
    messages: list[dict[str, Any]] = [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Read every page, and compare it with this picture."},
                {"type": "image", "source": PICTURE},
            ],
        }
    ]
    for number in range(rounds):
        ids = [f"t{number}_{each}" for each in range(parallel)]
        calls = [
            {"type": "tool_use", "id": id, "name": "read_page", "input": {"page": id}} for id in ids
        ]
        messages += [
            {"role": "assistant", "content": calls},
            {"role": "user", "content": [page(id, characters) for id in ids]},
        ]
    return messages


def blocks(body: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """The blocks of this type in a request."""
    return [
        block
        for message in body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == kind
    ]


@pytest.mark.covers("CP-3", "CP-10", "CP-12", "CP-15", "CP-16")
@pytest.mark.parametrize("parallel", [1, 3])
@pytest.mark.parametrize(
    ("family", "way"),
    [("file-native", "structural"), ("file-native", "full"), ("rollout", "inline")],
)
async def test_the_result_just_asked_for_is_whole_after_a_compaction(
    tmp_path: Path, family: Any, way: str, parallel: int
) -> None:
    """Results of 25,000 characters in a window of 200,000: in every way of compaction the newest
    calls and their results are the last thing that the model reads, whole, with the request and its
    picture as a message before them.
    """
    events: list[Event] = []
    summary = summarize_reading(30 // parallel, parallel)
    model = "structural" if way == "structural" else ScriptedModel([Say(text=summary)] * 9)
    chosen = settings(200_000, family=family)
    messages = reading(30 // parallel, 25_000, parallel=parallel)
    async with Memorist(model=model, home=tmp_path, settings=chosen) as engine:
        session = await engine.open("s", listener=events.append)
        body = await session.prepare(request(messages))

    ways = [event.strategy for event in events if isinstance(event, ConversationCompacted)]
    assert ways == [way]
    asked = [block["tool_use_id"] for block in messages[-1]["content"]]
    assert [block["tool_use_id"] for block in blocks(body, "tool_result")][-parallel:] == asked
    newest = {block["tool_use_id"]: block["content"] for block in blocks(body, "tool_result")}
    for block in messages[-1]["content"]:
        assert block["content"] in str(newest[block["tool_use_id"]])
    assert [block["source"] for block in blocks(body, "image")] == [PICTURE]
    assert {block["id"] for block in blocks(body, "tool_use")} == set(newest)


@pytest.mark.covers("CP-15")
async def test_a_result_larger_than_the_window_keeps_both_ends_and_its_way_back(
    tmp_path: Path,
) -> None:
    """Only such a result is cut: in the middle, with the id under which the whole is found."""
    own = CompactionSettings(result_characters=10_000_000, message_result_characters=10_000_000)
    chosen = settings(20_000)
    chosen = Settings(models=chosen.models, compaction=own)
    messages = [*reading(3, 8_000), *reading(1, 200_000)[1:]]
    async with Memorist(model="structural", home=tmp_path, settings=chosen) as engine:
        session = await engine.open("s")
        body = await session.prepare(request(messages))
        whole = session.fetch("t0_0")

    (last,) = blocks({"messages": body["messages"][-1:]}, "tool_result")
    text = str(last["content"])
    assert "BEGIN-t0_0" in text
    assert "END-t0_0" in text
    assert "tokens cut" in text
    assert "t0_0]" in text
    assert len(text) < 64_000
    assert whole is not None


@pytest.mark.covers("CP-2", "CP-4")
@pytest.mark.parametrize("parallel", [1, 3])
async def test_results_that_went_to_disk_make_no_compaction_due(
    tmp_path: Path, parallel: int
) -> None:
    """Results of 600,000 characters of which the request shows previews: what is not sent counts
    for nothing, so that nothing is compacted, and compaction is not given up because the rest
    were fixed.
    """
    events: list[Event] = []
    messages = reading(2, 2_000)
    async with Memorist(model="structural", home=tmp_path, settings=settings(60_000)) as engine:
        session = await engine.open("s", listener=events.append)
        await session.prepare(request(messages))
        messages += [
            {**each, "content": [{**block, "id": f"x{at}"} for at, block in enumerate(calls)]}
            if (calls := each["content"])[0]["type"] == "tool_use"
            else {
                **each,
                "content": [{**block, "tool_use_id": f"x{at}"} for at, block in enumerate(calls)],
            }
            for each in reading(1, 600_000 // parallel, parallel=parallel)[1:]
        ]
        body = await session.prepare(request(messages))

    assert any(isinstance(event, ResultsStored) for event in events)
    assert not [e for e in events if isinstance(e, ConversationCompacted | CompactionFailed)]
    assert "BEGIN-t1_0" in str(body["messages"])


@pytest.mark.covers("CP-14")
async def test_compaction_goes_on_where_no_reply_is_observed(tmp_path: Path) -> None:
    """A host that never calls `observe`: its replies count when the next request shows them, so
    that compaction is never switched off and every request stays within the window.
    """
    events: list[Event] = []
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read all pages."}]
    sizes = []
    async with Memorist(model="structural", home=tmp_path, settings=settings(24_000)) as engine:
        session = await engine.open("s", listener=events.append)
        for number in range(80):
            messages += reading(1, 6_000)[1:] if not number else []
            id = f"n{number}"
            call = {"type": "tool_use", "id": id, "name": "read_page", "input": {"page": number}}
            messages += [
                {"role": "assistant", "content": [call]},
                {"role": "user", "content": [page(id, 6_000)]},
            ]
            body = await session.prepare(request(messages))
            sizes.append(len(str(body["messages"])) // 4)

    assert max(sizes) < 24_000
    assert not [event for event in events if isinstance(event, CompactionFailed)]
    assert len([event for event in events if isinstance(event, ConversationCompacted)]) > 3


@pytest.mark.covers("CP-18")
async def test_by_default_nothing_is_cut_before_the_threshold(tmp_path: Path) -> None:
    """The window is the user's: the schedule `price` edits earlier, and only where it is set."""
    messages = reading(20, 25_000)
    async with Memorist(model="structural", home=tmp_path, settings=settings(200_000)) as engine:
        session = await engine.open("s")
        body = await session.prepare(request(messages))

    assert len(blocks(body, "tool_result")) == 20
    assert CompactionSettings().schedule == "threshold"


@pytest.mark.covers("CP-11", "CP-12")
async def test_a_hand_over_is_asked_for_in_its_own_words_and_stands_before_the_new_request(
    tmp_path: Path,
) -> None:
    """The rollout family: the model gets the request for a hand-over, not that for a summary, and
    the next thing after the hand-over is what the user has just asked.
    """
    model = ScriptedModel([Say(text="- done: the import; left: the export")] * 3)
    messages: list[dict[str, Any]] = []
    for number in range(6):
        messages += [
            {"role": "user", "content": f"Question {number}. " + "timber and tar, " * 1_200},
            {"role": "assistant", "content": f"Answer {number}. " + "rope, " * 600},
        ]
    messages.append({"role": "user", "content": "Question 6."})
    async with Memorist(
        model=model, home=tmp_path, settings=settings(24_000, family="rollout")
    ) as engine:
        body = await (await engine.open("s")).prepare(request(messages))

    asked = str(model.requests[-1].body["messages"][-1])
    assert "hand-over" in asked
    assert "nine sections" not in asked
    shown = [str(message["content"]) for message in body["messages"]]
    assert shown[-1].endswith("Question 6.") or "Question 6." in shown[-1]
    assert "left: the export" in shown[-2] or "left: the export" in shown[-1]


def last_pages(codec: Any, body: dict[str, Any]) -> list[int]:
    """The pages whose results are the last thing in a request; none where something else is."""
    found: list[int] = []
    for message in reversed(codec.decode_request(body).messages):
        if not message.tool_results:
            break
        found += [int(each.tool_use_id[1:]) for each in message.tool_results]
        assert all(
            each.text == page_text(int(each.tool_use_id[1:])) for each in message.tool_results
        )
    return found


def page_text(number: int) -> str:
    return f"page {number} " + "timber and tar, " * (25_000 // 16)


@pytest.mark.covers("CP-3", "CP-15", "CP-16")
@pytest.mark.parametrize(
    "wire", sampled(["anthropic", "openai_chat", "openai_responses"], {"openai_responses"})
)
async def test_a_model_that_goes_by_its_last_result_repeats_no_call(
    tmp_path: Path, wire: str
) -> None:
    """Ninety pages of 25,000 characters, three calls at once, in a window of 100,000, in each wire
    format: the model asks for what follows the newest result that it sees, and would begin anew
    where it sees none. No page is asked for twice, over many compactions, and every newest result
    is whole.
    """
    events: list[Event] = []
    codec = find_codec(wire)
    told = Message(
        id="u",
        role="user",
        blocks=(TextBlock("Read all pages."),),
        origin=Origin.USER,
        is_typed=True,
    )
    history: list[Any] = list(codec.encode_messages([told]))
    asked: list[int] = []
    async with Memorist(model="structural", home=tmp_path, settings=settings(100_000)) as engine:
        session = await engine.open("s", format=wire, listener=events.append)
        for _ in range(30):
            body = await session.prepare({"model": MODEL, codec.history_key(): history})
            at = max(last_pages(codec, body), default=-1) + 1
            pages = range(at, at + 3)
            asked += pages
            calls = tuple(
                ToolUse(id=f"p{page}", name="read_page", input={"page": page}) for page in pages
            )
            results = tuple(
                ToolResult(tool_use_id=f"p{page}", content=(TextBlock(page_text(page)),))
                for page in pages
            )
            round_ = [
                Message(id=f"a{at}", role="assistant", blocks=calls, origin=Origin.MODEL),
                Message(id=f"r{at}", role="tool", blocks=results, origin=Origin.TOOL),
            ]
            history = [*history, *codec.encode_messages(round_)]

    assert asked == list(range(90))
    assert sum(isinstance(event, ConversationCompacted) for event in events) >= 5


@pytest.mark.covers("CP-12")
@pytest.mark.parametrize("gone", [False, True])
async def test_on_a_switch_to_a_smaller_model_the_previous_one_writes_the_hand_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: bool
) -> None:
    """The rollout family, memorist's own model being the small one: the large one, which still sees
    everything, is asked with its own last request; where it is gone, memorist's own is.
    """
    monkeypatch.setenv("MEMORIST_API_KEY", "none")
    asked: list[str] = []

    def answer(sent: Request) -> Step:
        asked.append(sent.body["model"])
        if gone and sent.body["model"] == "large":
            return HttpError(code=400, message="no such model")
        return Say(text="- done: the import; left: the export")

    messages: list[dict[str, Any]] = []
    for number in range(6):
        messages += [
            {"role": "user", "content": f"Question {number}. " + "timber and tar, " * 1_200},
            {"role": "assistant", "content": f"Answer {number}. " + "rope, " * 600},
        ]
    messages.append({"role": "user", "content": "Question 6."})
    prices = {
        "large": ModelPrice(window=400_000, max_output=1_000),
        "small": ModelPrice(window=40_000, max_output=1_000),
    }
    chosen = Settings(
        models=ModelSettings(prices=prices), compaction=CompactionSettings(family="rollout")
    )
    with ScriptedServer(answer) as server:
        async with Memorist(
            model=f"anthropic:small@{server.url}", home=tmp_path, settings=chosen
        ) as engine:
            session = await engine.open("s")
            await session.prepare({**request(messages[:-2]), "model": "large"})
            assert asked == []
            body = await session.prepare({**request(messages), "model": "small"})

    assert asked[0] == "large"
    assert asked[1:] == (["small"] if gone else [])
    assert "left: the export" in str(body["messages"])
    assert "Question 6." in str(body["messages"][-1])


@pytest.mark.covers("CP-10", "CP-14", "CP-15")
async def test_instructions_larger_than_the_window_do_not_displace_the_request(
    tmp_path: Path,
) -> None:
    """Developer messages of some 20,000 tokens in a window of 16,000, as a client for large models
    sends them to a small one: the request and the result just asked for are whole, the user's
    earlier words are there, and the request fits.
    """
    chosen = settings(16_000)
    call = {"type": "function_call", "name": "read_page", "call_id": "t1", "arguments": "{}"}
    result = page("t1", 6_000)["content"]
    history: list[dict[str, Any]] = [
        {"role": "developer", "content": "Never push. " + "Be brief, be kind. " * 4_200},
        {"role": "user", "content": "Keep two decimals."},
        {"role": "assistant", "content": "Gladly. " * 4_000},
        {"role": "user", "content": "Read page one."},
        call,
        {"type": "function_call_output", "call_id": "t1", "output": result},
    ]
    async with Memorist(model="structural", home=tmp_path, settings=chosen) as engine:
        session = await engine.open("s", format="openai_responses")
        body = await session.prepare({"model": MODEL, "max_output_tokens": 1_000, "input": history})

    sent = str(body["input"])
    assert "Never push." in sent
    assert "Keep two decimals." in sent
    assert "Read page one." in sent
    assert body["input"][-1]["output"] == result
    decoded = find_codec("openai_responses").decode_request(body).messages
    assert estimate_messages_tokens(decoded, get_token_factor(MODEL)) <= 15_000


@pytest.mark.covers("CP-15")
async def test_what_the_agent_said_before_its_call_stays_with_it(tmp_path: Path) -> None:
    """In Responses the words before a call are an item of their own: they stay as the agent's
    message in front of the call, and are not only quoted in the digest.
    """
    why = "The harness timed out; I run it once more to tell a flaky host from a regression."
    history: list[dict[str, Any]] = [{"role": "user", "content": "Run the tests."}]
    for number in range(12):
        words = why if number == 11 else f"Run number {number}."
        text = {"type": "output_text", "text": words, "annotations": []}
        history += [
            {"type": "message", "role": "assistant", "content": [text]},
            {
                "type": "function_call",
                "name": "read_page",
                "call_id": f"t{number}",
                "arguments": "{}",
            },
            {
                "type": "function_call_output",
                "call_id": f"t{number}",
                "output": page(f"t{number}", 9_000)["content"],
            },
        ]
    async with Memorist(model="structural", home=tmp_path, settings=settings(20_000)) as engine:
        session = await engine.open("s", format="openai_responses")
        body = await session.prepare({"model": MODEL, "max_output_tokens": 1_000, "input": history})
    assert len(body["input"]) < len(history)
    assert body["input"][-3:] == history[-3:]
