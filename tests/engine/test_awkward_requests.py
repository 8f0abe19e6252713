"""Requests with parts that no other test makes: server-side tools, thinking with signatures,
documents, pictures, cache marks, other scripts, results of 25,000 characters side by side.

What a provider takes goes out as what it takes, in the types of the provider's own SDK, and fits.
"""

from __future__ import annotations

import asyncio
import copy
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.core.messages import JsonObject
from memorist.core.token_count import estimate_text_tokens
from memorist.engine.engine import Memorist
from memorist.errors import WireFormatError
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.settings import Settings
from memorist.testing.request_checks import find_request_problem
from support.sweeps import examples

WINDOW = 20_000
SETTINGS = Settings(
    models=ModelSettings(
        prices={
            "m": ModelPrice(window=WINDOW, max_output=500, input=3.0, output=15.0, cache_read=0.3)
        }
    )
)
SCRIPTS = [
    "word ",
    "これは試験です。",
    "هذا اختبار طويل. ",
    "Это проверка. ",
    "🎉👩‍👩‍👧 ",
    "x" * 60,
]
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ" * 40
MEDIA = {"image", "input_image", "document", "input_file", "reasoning", "web_search_tool_result"}
"""Parts whose bytes are no text that a provider counts as such."""

HISTORY = {"anthropic": "messages", "openai_responses": "input"}
SDK_TYPES = {
    "anthropic": ("anthropic.types", "MessageParam"),
    "openai_responses": ("openai.types.responses", "ResponseInputItemParam"),
}
Turn = tuple[str, int, list[int], set[str]]
"""Script; characters of the user's text and of the reply; those of each result; odd parts."""

TURNS: st.SearchStrategy[list[Turn]] = st.lists(
    st.tuples(
        st.sampled_from(SCRIPTS),
        st.integers(1, 4_000),
        st.lists(st.sampled_from([0, 1, 900, 25_000]), max_size=4),
        st.sets(st.sampled_from(["picture", "document", "thinking", "search", "mark", "error"])),
    ),
    min_size=1,
    max_size=9,
)


def write(script: str, size: int) -> str:
    return (script * (size // len(script) + 1))[:size]


def anthropic_turn(number: int, turn: Turn) -> Iterator[JsonObject]:
    script, size, results, odd = turn
    source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
    asked: list[JsonObject] = [{"type": "text", "text": f"Q{number} {write(script, size)}"}]
    if "mark" in odd:
        asked[0]["cache_control"] = {"type": "ephemeral"}
    if "picture" in odd:
        asked.insert(0, {"type": "image", "source": source})
    if "document" in odd:
        pdf = {"type": "base64", "media_type": "application/pdf", "data": "JVBE" * 500}
        asked.append({"type": "document", "source": pdf})
    yield {"role": "user", "content": asked}
    said: list[JsonObject] = []
    if "thinking" in odd:
        said.append({"type": "thinking", "thinking": write(script, 400), "signature": "c2ln"})
        said.append({"type": "redacted_thinking", "data": "ZGF0YQ=="})
    if "search" in odd:
        hit = {
            "type": "web_search_result", "url": "https://e.org", "title": "t",
            "encrypted_content": "ZW5j" * 200, "page_age": None,
        }  # fmt: skip
        call = {"id": f"srvtoolu_{number}", "name": "web_search", "input": {"query": "q"}}
        said.append({"type": "server_tool_use", **call})
        found = {"tool_use_id": f"srvtoolu_{number}", "content": [hit]}
        said.append({"type": "web_search_tool_result", **found})
    said.append({"type": "text", "text": f"A{number} {write(script, size // 2)}"})
    for each in range(len(results)):
        call = {"id": f"toolu_{number}_{each}", "name": "Read", "input": {"file_path": f"f{each}"}}
        said.append({"type": "tool_use", **call})
    yield {"role": "assistant", "content": said}
    if results:
        given_back: list[JsonObject] = []
        for each, length in enumerate(results):
            content: Any = write(script, length) if each % 2 else [
                {"type": "text", "text": f"R{write(script, length)}"},
                *([{"type": "image", "source": source}] if "picture" in odd else []),
            ]  # fmt: skip
            result = {"tool_use_id": f"toolu_{number}_{each}", "content": content}
            given_back.append({"type": "tool_result", "is_error": "error" in odd, **result})
        yield {"role": "user", "content": given_back}


def responses_turn(number: int, turn: Turn) -> Iterator[JsonObject]:
    script, size, results, odd = turn
    picture = {"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}"}
    asked: list[JsonObject] = [{"type": "input_text", "text": f"Q{number} {write(script, size)}"}]
    if "picture" in odd:
        asked.append({"detail": "auto", **picture})
    if "document" in odd:
        data = "data:application/pdf;base64," + "JVBE" * 500
        asked.append({"type": "input_file", "filename": "a.pdf", "file_data": data})
    yield {"type": "message", "role": "user", "content": asked}
    if "thinking" in odd:
        yield {
            "type": "reasoning", "id": f"rs_{number}", "summary": [],
            "encrypted_content": "ZW5j" * 300,
        }  # fmt: skip
    if "search" in odd:
        yield {
            "type": "web_search_call", "id": f"ws_{number}", "status": "completed",
            "action": {"type": "search", "query": "q"},
        }  # fmt: skip
    text = {"type": "output_text", "text": f"A{number} {write(script, size // 2)}"}
    yield {
        "type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
        "content": [{"annotations": [], **text}],
    }  # fmt: skip
    for each in range(len(results)):
        name = {"call_id": f"call_{number}_{each}"}
        yield (
            {"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin", **name}
            if "error" in odd
            else {"type": "function_call", "name": "shell", "arguments": "{}", **name}
        )
    for each, length in enumerate(results):
        kind = "custom_tool_call_output" if "error" in odd else "function_call_output"
        output: Any = write(script, length)
        if "picture" in odd:
            output = [{"type": "input_text", "text": f"R{output}"}, {"detail": "auto", **picture}]
        yield {"type": kind, "call_id": f"call_{number}_{each}", "output": output}


TELL: dict[str, Callable[[int, Turn], Iterator[JsonObject]]] = {
    "anthropic": anthropic_turn,
    "openai_responses": responses_turn,
}


def text_tokens(value: Any) -> int:
    """Estimated tokens of all texts of a request, its names and kinds included."""
    match value:
        case str():
            return estimate_text_tokens(value)
        case dict():
            if value.get("type") in MEDIA:
                return 0
            return sum(map(text_tokens, value.values()))
        case list():
            return sum(map(text_tokens, value))
    return 0


def without_old_marks(history: list[JsonObject]) -> list[JsonObject]:
    """Hosts move their marks: the two newest stay."""
    sent = copy.deepcopy(history)
    marked = [
        block
        for message in sent
        for block in message.get("content", ())
        if isinstance(block, dict) and "cache_control" in block
    ]
    for block in marked[:-2]:
        del block["cache_control"]
    return sent


async def play(wire: str, turns: list[Turn], check: Callable[[JsonObject, str], None]) -> None:
    history: list[JsonObject] = []
    with tempfile.TemporaryDirectory() as home:
        async with Memorist(model="structural", home=home, settings=SETTINGS) as engine:
            session = await engine.open("s", format=wire)
            for number, turn in enumerate(turns):
                for item in TELL[wire](number, turn):
                    history.append(item)
                    if item.get("role") == "assistant" or "call" in str(item.get("type")):
                        continue  # the model answers what the user and the tools say
                    body: JsonObject = {"model": "m", HISTORY[wire]: without_old_marks(history)}
                    if wire == "anthropic":
                        body["max_tokens"] = 500
                    if find_request_problem(wire, body, window=10**9, tokens=1) is None:
                        check(await session.prepare(body), f"Q{number} ")


@pytest.mark.covers("CP-10", "CP-14", "CP-15")
@examples(4, whole=12)
@given(turns=TURNS, wire=st.sampled_from(sorted(HISTORY)))
def test_what_goes_out_is_what_the_provider_takes(turns: list[Turn], wire: str) -> None:
    """Pairs are whole, marks few, every part of a type that the SDK knows; the texts fit into the
    window, and the newest question is in view.
    """
    module, name = SDK_TYPES[wire]
    item: Any = getattr(pytest.importorskip(module), name)
    items = pytest.importorskip("pydantic").TypeAdapter(list[item])

    def check(sent: JsonObject, newest: str) -> None:
        assert find_request_problem(wire, sent, window=10**9, tokens=1) is None
        raw = msgspec.json.encode(sent[HISTORY[wire]])
        items.validate_json(raw)
        assert text_tokens(sent[HISTORY[wire]]) <= WINDOW
        assert newest.encode() in raw

    asyncio.run(play(wire, turns, check))


@pytest.mark.parametrize("wire", ["openai_chat", "openai_responses"])
@pytest.mark.parametrize("levels", [150, 500, 900, 970, 5_000])
def test_arguments_that_are_nested_without_end_stay_as_they_are(wire: str, levels: int) -> None:
    """As the text that the model wrote: from about 900 levels on a session failed with a
    RecursionError.
    """
    arguments = '{"v":' + "[" * levels + "]" * levels + "}"
    call: dict[str, Any] = {"name": "f", "arguments": arguments}
    output = "[" * levels + "]" * levels
    history: list[dict[str, Any]] = [{"role": "user", "content": "Look at the parser."}]
    if wire == "openai_chat":
        calls = [{"id": "t", "type": "function", "function": call}]
        history.append({"role": "assistant", "content": None, "tool_calls": calls})
        history.append({"role": "tool", "tool_call_id": "t", "content": output})
    else:
        history.append({"type": "function_call", "call_id": "t", **call})
        history.append({"type": "function_call_output", "call_id": "t", "output": output})
    request = {"model": "m", HISTORY.get(wire, "messages"): history}
    with tempfile.TemporaryDirectory() as home, Memorist(home=home, settings=SETTINGS) as engine:
        session = engine.open("s", format=wire)
        assert session.prepare(request) == request
        session.compact("", "auto")
        session.close()


def test_tools_that_are_nested_without_end_are_refused_in_words() -> None:
    """By an error of memorist's own, as other parts are: it was a RecursionError."""
    schema: dict[str, Any] = {}
    for _ in range(5_000):
        schema = {"a": schema}
    said = [{"role": "user", "content": "Hello."}]
    tools = [{"name": "f", "input_schema": schema}]
    request = {"model": "m", "max_tokens": 9, "messages": said, "tools": tools}
    with tempfile.TemporaryDirectory() as home, Memorist(home=home, settings=SETTINGS) as engine:
        session = engine.open("s")
        for _ in range(2):
            with pytest.raises(WireFormatError, match="nested too deep"):
                session.prepare(request)
