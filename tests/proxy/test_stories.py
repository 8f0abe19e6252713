"""What an agent gains from the proxy with the real SDKs: its base address is all that it changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic
from openai import OpenAI

from memorist.core.token_count import estimate_text_tokens
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.settings import CompactionSettings, Settings
from memorist.testing import CallTool, Say, ScriptedServer
from proxy.conftest import KEY, Proxied, anthropic, user

MODEL = "claude-made-up"
WINDOW = 30_000
PRICES = ModelSettings(
    prices={MODEL: ModelPrice(window=WINDOW, max_output=1_000, input=3.0, output=15.0)}
)
SMALL = Settings(models=PRICES, compaction=CompactionSettings(schedule="threshold"))
PAGE = (
    "The importer reads rows from orders.csv and writes them to the table orders_2024; each "
    "row has a price in cents. "
)
RULE = "Never touch the schema of orders_2024, whatever happens."
TOOL = {"name": "Read", "description": "Read a file.", "input_schema": {"type": "object"}}


@pytest.fixture
def sdk() -> Iterator[Callable[..., Any]]:
    """Makes clients of the SDKs; all are closed at the end."""
    with ExitStack() as clients:
        yield lambda kind, url, **more: clients.enter_context(
            kind(base_url=url, api_key=KEY, max_retries=0, **more)
        )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.mark.covers("IN-3", "CP-15")
def test_a_messages_loop_with_tools_and_streaming_runs_past_its_window(
    proxied: Proxied, sdk: Any
) -> None:
    """The client keeps its whole history and knows nothing; each request that reaches the strict
    provider fits, and holds the user's rule.
    """
    messages: list[Any] = [user(RULE)]
    words: list[str] = []
    with ScriptedServer(_reads_and_says, window=WINDOW) as server:
        proxy = proxied(server, settings=SMALL)
        client = sdk(Anthropic, proxy.url)
        for number in range(30):
            while True:
                with client.messages.stream(
                    model=MODEL, max_tokens=1_000, tools=[TOOL], messages=messages
                ) as stream:
                    reply = stream.get_final_message()
                    words.append(stream.response.headers["x-memorist"])
                messages.append({"role": "assistant", "content": reply.content})
                calls = [block for block in reply.content if block.type == "tool_use"]
                if not calls:
                    break
                result = {
                    "type": "tool_result",
                    "tool_use_id": calls[0].id,
                    "content": f"part {number}\n{PAGE * 40}",
                }
                messages.append({"role": "user", "content": [result]})
            messages.append(user(f"Look at part {number}."))
        proxy.close()

    texts = [json.dumps(request.body) for request in server.received]
    assert not server.refusals
    assert {"changed"} <= set(words)
    assert all(RULE in text for text in texts)
    assert (
        max(map(estimate_text_tokens, texts))
        < WINDOW
        < estimate_text_tokens(json.dumps([str(each) for each in messages]))
    )
    assert [name for name in proxy.files() if name.endswith("events.jsonl")]
    assert (
        sum(
            b'"conversation_compacted"' in data
            for name, data in proxy.files().items()
            if name.endswith("events.jsonl")
        )
        == 1
    )


def _reads_and_says(request: Any) -> Any:
    last = request.body["messages"][-1]["content"]
    answered = isinstance(last, list) and any(block.get("type") == "tool_result" for block in last)
    return (
        Say(text="Read.")
        if answered
        else CallTool(name="Read", input={"file_path": "/srv/shop/part.py"})
    )


@pytest.mark.covers("IN-3", "RC-1")
def test_what_a_user_said_once_is_shown_in_the_next_session_of_the_same_project_and_nowhere_else(
    proxied: Proxied, sdk: Any, project: Path
) -> None:
    """Said through one API, remembered through another; a project of another name, and a client
    that names none, are shown nothing.
    """
    with ScriptedServer(lambda request: Say(text="Done.")) as server:
        proxy = proxied(server)
        here = {"x-memorist-project": str(project)}
        first = sdk(Anthropic, proxy.url, default_headers=here)
        first.messages.create(
            model=MODEL,
            max_tokens=100,
            messages=[user("No, always use pnpm in this repo, never npm.")],
        )
        proxy.close()
        again = proxied(server)
        chat = sdk(OpenAI, f"{again.url}/v1", default_headers=here)
        chat.chat.completions.create(
            model="gpt-made-up", messages=[user("Add the package left-pad to the shop")]
        )
        environment = f"You help.\n<env>\nWorking directory: {project}\n</env>"
        sdk(OpenAI, f"{again.url}/v1").responses.create(
            model="m", instructions=environment, input="Add the package left-pad to the shop"
        )
        for headers in ({"x-memorist-project": str(project.parent / "other")}, {}):
            again.ask(
                "/v1/messages",
                anthropic([user("Add the package left-pad to the shop")]),
                headers=headers,
            )

    sent = [json.dumps(request.body) for request in server.received[1:]]
    assert ["always use pnpm in this repo" in text for text in sent] == [True, True, False, False]


@pytest.mark.covers("IN-3")
@pytest.mark.parametrize("streams", [False, True])
def test_the_three_formats_are_taken_into_transcripts_with_and_without_streaming(
    proxied: Proxied, sdk: Any, streams: bool
) -> None:
    """One session for each conversation, known again by its history alone; what was said stands in
    its transcript, and the notes can be made of it.
    """
    with ScriptedServer(lambda request: Say(text=f"Noted, {request.format}.")) as server:
        proxy = proxied(server)
        sessions = {
            "anthropic": _messages(sdk(Anthropic, proxy.url), streams=streams),
            "openai_chat": _chat(sdk(OpenAI, f"{proxy.url}/v1"), streams=streams),
            "openai_responses": _responses(sdk(OpenAI, f"{proxy.url}/v1"), streams=streams),
        }
        proxy.close()

    assert [request.format for request in server.received] == ["anthropic"] * 2 + [
        "openai_chat"
    ] * 2 + ["openai_responses"] * 2
    for format, (first, second) in sessions.items():
        assert first == second
        transcript = proxy.transcript(first)
        assert [
            transcript.count(words)
            for words in ("The first thing.", "The second thing.", f"Noted, {format}.")
        ] == [1, 1, 2]


def _messages(client: Any, *, streams: bool) -> tuple[str, str]:
    def ask(messages: list[Any]) -> tuple[Any, str]:
        if streams:
            with client.messages.stream(model=MODEL, max_tokens=100, messages=messages) as stream:
                return stream.get_final_message(), stream.response.headers["x-memorist-session"]
        raw = client.messages.with_raw_response.create(
            model=MODEL, max_tokens=100, messages=messages
        )
        return raw.parse(), raw.headers["x-memorist-session"]

    reply, first = ask([user("The first thing.")])
    _, second = ask(
        [
            user("The first thing."),
            {"role": "assistant", "content": reply.content},
            user("The second thing."),
        ]
    )
    return first, second


def _chat(client: Any, *, streams: bool) -> tuple[str, str]:
    def ask(messages: list[Any]) -> tuple[str, str]:
        raw = client.chat.completions.with_raw_response.create(
            model="m", messages=messages, stream=streams
        )
        found: Any = raw.parse()
        if streams:
            return "".join(
                part.choices[0].delta.content or "" for part in found if part.choices
            ), raw.headers["x-memorist-session"]
        return found.choices[0].message.content, raw.headers["x-memorist-session"]

    said, first = ask([user("The first thing.")])
    _, second = ask(
        [
            user("The first thing."),
            {"role": "assistant", "content": said},
            user("The second thing."),
        ]
    )
    return first, second


def _responses(client: Any, *, streams: bool) -> tuple[str, str]:
    def ask(given: str, previous: str | None) -> tuple[str, str]:
        raw = client.responses.with_raw_response.create(
            model="m", input=given, previous_response_id=previous, stream=streams
        )
        found: Any = raw.parse()
        reply = (
            next(event for event in found if event.type == "response.completed").response
            if streams
            else found
        )
        return reply.id, raw.headers["x-memorist-session"]

    previous, first = ask("The first thing.", None)
    _, second = ask("The second thing.", previous)
    return first, second


@pytest.mark.covers("IN-3")
def test_images_and_what_memorist_does_not_know_go_on_as_they_came(proxied: Proxied) -> None:
    """Keys and blocks of tomorrow, a picture, odd spaces and escapes: the very bytes reach the
    provider.
    """
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="},
    }
    body = anthropic(
        [
            {
                "role": "user",
                "content": [
                    picture,
                    {"type": "text", "text": "Grüße 🙂", "cache_control": {"type": "ephemeral"}},
                ],
            }
        ],
        a_key_of_tomorrow={"x": [1.50, 1e3]},
    )
    raw = json.dumps(body, indent=1).replace("1000.0", "1e3").encode()
    with ScriptedServer([Say(text="Seen.")]) as server:
        answer = proxied(server).ask("/v1/messages?beta=true", raw)

    assert (answer.word, answer.status) == ("unchanged", 200)
    assert server.received[0].raw == raw
    assert server.received[0].path == "/v1/messages?beta=true"


@pytest.mark.covers("IN-3", "CP-18")
def test_what_was_cached_stays_the_same_to_the_byte_while_memorist_adds_to_the_conversation(
    proxied: Proxied, project: Path
) -> None:
    """The client marks its newest message. Whatever is shown beside, a request begins with the
    bytes of the one before up to where that was marked, in the client's own spelling; so the
    provider's cache serves it.
    """
    with ScriptedServer(lambda request: Say(text="Done."), cache_minimum=1) as server:
        proxy = proxied(server)
        here = {"x-memorist-project": str(project), "x-memorist-session": "s"}
        proxy.ask(
            "/v1/messages",
            anthropic([user("No, always use pnpm in this repo, never npm.")]),
            headers={**here, "x-memorist-session": "before"},
        )
        proxy.close()
        again = proxied(server)
        answers = [again.ask("/v1/messages", _marked(count), headers=here) for count in range(1, 5)]

    sent = [request.raw for request in server.received[1:]]
    read = [answer.body["usage"]["cache_read_input_tokens"] for answer in answers]
    assert [answer.word for answer in answers] == ["changed"] * 4
    assert all(b"always use pnpm" in raw for raw in sent)
    for before, after, turn in zip(sent, sent[1:], range(1, 5), strict=False):
        end = before.index(f"Turn {turn}:".encode())
        assert before[:end] == after[:end]
        assert b"left\\u00a0pad" in before
    assert read == sorted(read)
    assert read[0] < read[1] < read[-1]


def _marked(count: int) -> bytes:
    """A request of so many turns, spelled as nobody else would."""
    system = [{"type": "text", "text": "You help.", "cache_control": {"type": "ephemeral"}}]
    history: list[Any] = []
    for turn in range(1, count + 1):
        block: dict[str, Any] = {
            "type": "text",
            "text": f"Turn {turn}: add the package left\u00a0pad to the shop, please",
        }
        history.append({"role": "user", "content": [block]})
        if turn < count:
            history.append({"role": "assistant", "content": "Done."})
        else:
            block["cache_control"] = {"type": "ephemeral"}
    return json.dumps({"system": system, **anthropic(history)}, indent=3).encode()
