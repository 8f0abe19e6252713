"""The engine behind real agents: it sees each message once, whatever the agent does to its history."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from clients import stories
from clients.agents import Ran
from memorist.core.messages import JsonObject, Message, Origin
from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.formats.codec_registry import find_codec
from memorist.formats.format_detection import read_session
from memorist.formats.transcript_format import CompactionBoundary
from memorist.store.transcript_reader import UnpackedUtf8Lines

pytestmark = pytest.mark.real_client


async def followed(
    bodies: Sequence[JsonObject], spoken: str, home: Path
) -> tuple[Session, list[int]]:
    """A closed session that was shown these requests, and how many messages it had taken after
    each.
    """
    counts = []
    async with Memorist(model="structural", home=home) as engine:
        session = await engine.open("s", format=spoken, folder=home / "session")
        for body in bodies:
            assert await session.prepare(body) == body
            counts.append(session.tracker.messages)
        await session.update_notes()
    return session, counts


def recorded(session: Session) -> list[Message | CompactionBoundary]:
    """The messages and boundaries of the transcript that the session wrote."""
    return [
        entry
        for entry in read_session(UnpackedUtf8Lines(session.layout.transcript))
        if isinstance(entry, Message | CompactionBoundary)
    ]


def marks(body: JsonObject) -> set[tuple[int, int]]:
    """Where the cache marks of the history are: message and block."""
    return {
        (number, place)
        for number, message in enumerate(body["messages"])
        for place, block in enumerate(message["content"])
        if "cache_control" in block
    }


@pytest.mark.covers("FM-5", "SM-8")
async def test_the_moving_cache_mark_of_claude_code_makes_no_message_twice(
    claude_session: Ran, tmp_path: Path
) -> None:
    """After each request as many messages are taken as it holds, and the size is that of the last
    request alone.
    """
    bodies = claude_session.bodies[: stories.BEFORE_COMPACTION]

    session, counts = await followed(bodies, "anthropic", tmp_path / "each")
    at_once, _ = await followed(bodies[-1:], "anthropic", tmp_path / "last")
    messages = recorded(session)

    assert len({tuple(marks(body)) for body in bodies}) == len(bodies)
    assert counts == [len(body["messages"]) for body in bodies]
    assert (session.tracker.tokens, session.tracker.turns) == (at_once.tracker.tokens, 2)
    assert len({message.id for message in messages}) == len(messages) == len(bodies[-1]["messages"])
    assert "Never change that file." in (session.notes or "")


@pytest.mark.covers("FM-5", "SM-8")
async def test_a_session_of_codex_is_taken_once_item_by_item(
    codex_session: Ran, tmp_path: Path
) -> None:
    """After each request as many messages are taken as it has items, and the size is that of the
    last request alone.
    """
    bodies = codex_session.bodies

    session, counts = await followed(bodies, "openai_responses", tmp_path / "each")
    at_once, _ = await followed(bodies[-1:], "openai_responses", tmp_path / "last")
    messages = recorded(session)

    assert counts == [len(body["input"]) for body in bodies]
    assert (session.tracker.tokens, session.tracker.turns) == (at_once.tracker.tokens, 2)
    assert len({message.id for message in messages}) == len(messages) == len(bodies[-1]["input"])
    assert "Never change that file." in (session.notes or "")


@pytest.mark.parametrize(
    ("run", "spoken"), [("codex_compaction", "openai_responses"), ("claude_session", "anthropic")]
)
@pytest.mark.covers("FM-7")
def test_the_compaction_prompt_of_an_agent_is_not_the_users(
    run: str, spoken: str, request: pytest.FixtureRequest
) -> None:
    """What the agent itself asks for at the end of its compaction request has another origin than
    the user.
    """
    ran: Ran = request.getfixturevalue(run)
    number = 2 if spoken == "openai_responses" else stories.BEFORE_COMPACTION
    last = find_codec(spoken).decode_request(ran.bodies[number]).messages[-1]

    assert last.origin is not Origin.USER


@pytest.mark.parametrize(
    ("run", "spoken"), [("codex_compaction", "openai_responses"), ("claude_session", "anthropic")]
)
@pytest.mark.covers("SM-2")
async def test_after_an_agents_compaction_the_context_is_what_the_request_holds(
    run: str, spoken: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A session that saw the compaction and one that sees the request after it alone agree on the
    size of the context.
    """
    ran: Ran = request.getfixturevalue(run)

    session, _ = await followed(ran.bodies, spoken, tmp_path / "each")
    at_once, _ = await followed(ran.bodies[-1:], spoken, tmp_path / "last")

    assert session.tracker.tokens == at_once.tracker.tokens
