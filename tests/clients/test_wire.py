"""The requests of real agents: read, written and forked without a byte lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clients import stories
from clients.agents import ClaudeCode, Codex, Ran, converse
from clients.readings import typed
from memorist.core.messages import JsonObject, Usage
from memorist.formats.codec_registry import find_codec
from memorist.formats.request_codec import Codec
from memorist.models.model_choice import create_model_from_string
from memorist.models.model_settings import ModelSettings
from memorist.ports import Request
from memorist.testing import FrozenClock, Say, ScriptedServer

pytestmark = pytest.mark.real_client

FORK_WORDS = "Bring the notes up to date."
SESSIONS = {
    "codex_session": "openai_responses",
    "codex_compaction": "openai_responses",
    "claude_session": "anthropic",
}


@pytest.fixture(params=SESSIONS)
def session(request: pytest.FixtureRequest) -> tuple[Ran, Codec]:
    """Each session with the codec of its requests."""
    ran: Ran = request.getfixturevalue(request.param)
    return ran, find_codec(SESSIONS[request.param])


def written(value: Any) -> str:
    """JSON with keys in the order they have."""
    return json.dumps(value, ensure_ascii=False)


def unmarked(value: Any) -> Any:
    """The same without cache marks."""
    if isinstance(value, dict):
        return {key: unmarked(inner) for key, inner in value.items() if key != "cache_control"}
    return [unmarked(inner) for inner in value] if isinstance(value, list) else value


def answer(wire: Codec, body: JsonObject, following: JsonObject) -> tuple[JsonObject, int]:
    """The reply to a request as the agent repeats it in its next one, and how many entries of the
    history it is.
    """
    key = wire.history_key()
    news = following[key][len(body[key]) :]
    if wire.name == "anthropic":
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": news[0]["content"],
        }, 1
    replied = [
        item
        for item in news
        if item.get("role") == "assistant" or item["type"] in ("reasoning", "function_call")
    ]
    return {"id": "resp_1", "object": "response", "status": "completed", "output": replied}, len(
        replied
    )


@pytest.mark.covers("FM-2")
def test_every_request_of_a_real_agent_is_recognised_and_written_again_as_it_came(
    session: tuple[Ran, Codec],
) -> None:
    """Every body with its tools, cache marks, metadata and unknown parameters."""
    ran, wire = session

    for body in ran.bodies:
        assert wire.encode_request(wire.decode_request(body)) == body


@pytest.mark.covers("FM-7")
def test_the_typed_words_are_found_in_the_requests(session: tuple[Ran, Codec]) -> None:
    """In the newest request before any compaction: the prompts, letter for letter, and nothing that
    the agent put beside them.
    """
    ran, wire = session
    prompt = wire.decode_request(ran.bodies[1])
    asked = [words for words in ran.asked if words in typed(prompt.messages)]

    assert typed(prompt.messages) == asked
    assert asked == list(ran.asked[: len(asked)])
    assert asked


@pytest.mark.covers("FK-1", "FM-2")
def test_a_fork_has_the_request_of_a_real_agent_as_its_exact_prefix(
    session: tuple[Ran, Codec],
) -> None:
    """The fork of the last request: the same parameters, the same entries byte for byte, and one
    user message after them.
    """
    ran, wire = session
    body, key = ran.bodies[-1], wire.history_key()

    fork = wire.append_reply_and_messages(body, None, wire.build_user_messages(FORK_WORDS))

    assert written(fork[key]).startswith(written(body[key])[:-1] + ", ")
    assert written({**fork, key: []}) == written({**body, key: []})
    assert typed(wire.decode_request(fork).messages)[-1] == FORK_WORDS


@pytest.mark.covers("FK-1")
def test_a_fork_repeats_the_reply_as_the_real_agent_does(session: tuple[Ran, Codec]) -> None:
    """Request and reply stand in the fork as in the agent's next request, so that both read the
    same prefix from the cache.
    """
    ran, wire = session
    body, following, key = ran.bodies[0], ran.bodies[1], wire.history_key()
    reply, count = answer(wire, body, following)
    upto = len(body[key]) + count

    fork = wire.append_reply_and_messages(body, reply, wire.build_user_messages(FORK_WORDS))

    assert count > 0
    assert written(unmarked(fork[key][:upto])) == written(unmarked(following[key][:upto]))


@pytest.mark.covers("FK-1")
async def test_a_fork_of_claude_code_is_read_from_the_cache(
    claude_program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The strict server takes the fork, and reads all that the agent's request wrote."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
    with ScriptedServer([Say(text="Birch."), Say(text="Noted.")]) as server:
        ran = converse(
            ClaudeCode(claude_program, tmp_path, server),
            server,
            stories.ASKED[:1],
            [Say(text="Birch.")],
            tmp_path,
        )
        fork = await forked(ran.bodies[0], f"anthropic:claude-sonnet-4-5@{server.url}", "anthropic")

    assert server.refusals == []
    assert fork.cache_read > 1_000
    assert fork.input < 100


@pytest.mark.covers("FK-1")
async def test_a_fork_of_codex_is_read_from_the_cache(
    codex_program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The strict server takes the fork, and reads all that the agent's request wrote."""
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    with ScriptedServer([Say(text="Birch."), Say(text="Noted.")]) as server:
        ran = converse(
            Codex(codex_program, tmp_path, server),
            server,
            stories.ASKED[:1],
            [Say(text="Birch.")],
            tmp_path,
        )
        fork = await forked(
            ran.bodies[0], f"openai:scripted@{server.openai_url}", "openai_responses"
        )

    assert server.refusals == []
    assert fork.cache_read > 1_000
    assert fork.input < 200


async def forked(body: JsonObject, name: str, spoken: str) -> Usage:
    """Send a fork of a request through the real SDK; gives what the server counted."""
    wire = find_codec(spoken)
    model = create_model_from_string(name, ModelSettings(), clock=FrozenClock())
    assert model is not None
    request = Request(
        format=spoken,
        body=wire.append_reply_and_messages(body, None, wire.build_user_messages(FORK_WORDS)),
        label="fork",
    )
    try:
        reply = await model.send(request)
    finally:
        await model.close()
    return reply.usage
