"""The bench of each host's own facility beside memorist: what its model answers, and what it counts
of the requests that a server received.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import hosts
from benchmarks.host_task import (
    ASKED_AT_MOST,
    READ_FACTS,
    SAID_FACTS,
    SUMMARY_CHARACTERS,
    TURNS,
    TaskModel,
    count,
    list_turns,
    read_page,
)
from memorist.core.messages import JsonObject
from memorist.ports import Request
from memorist.testing.provider_server import ReceivedRequest
from memorist.testing.steps import CallTool, ReplyParts, Say

TOOLS: list[JsonObject] = [{"type": "function", "function": {"name": "read_page"}}]


def body(*texts: str, tools: bool = True) -> JsonObject:
    messages: list[JsonObject] = [{"role": "user", "content": text} for text in texts]
    return {"model": "m", "messages": messages} | ({"tools": TOOLS} if tools else {})


def ask(model: TaskModel, *texts: str, tools: bool = True) -> Any:
    return model(Request(format="openai_chat", body=body(*texts, tools=tools)))


def received(number: int, sent: JsonObject) -> ReceivedRequest:
    return ReceivedRequest(
        number=number,
        method="POST",
        path="/v1/x",
        headers={},
        raw=b"",
        body=sent,
        format="openai_chat",
    )


def test_every_early_fact_stands_where_the_document_says() -> None:
    """Three are said by the user, three stand in a page that an early turn reads."""
    turns = list_turns()
    assert len(turns) == TURNS
    assert all(SAID_FACTS[turn.number] in turn.said for turn in turns[: len(SAID_FACTS)])
    early = {page for turn in turns[:4] for group in turn.groups for page in group}
    assert all(fact in read_page(page) for page, fact in READ_FACTS.items() if page in early)
    assert early >= set(READ_FACTS)


def test_the_model_asks_again_for_what_it_does_not_see_and_gives_up_at_last() -> None:
    """Pages that are never shown are read a few times, and counted as read again."""
    model = TaskModel()
    turn = next(turn for turn in list_turns() if turn.number == 6)
    model.begin(turn)
    for _ in range(ASKED_AT_MOST):
        assert isinstance(ask(model, turn.said), ReplyParts)
    assert isinstance(ask(model, turn.said), Say)
    assert model.given_up == [6]
    assert len(model.asked) == ASKED_AT_MOST * len(turn.groups[0])


def test_the_model_goes_on_from_the_last_page_that_it_sees_whole() -> None:
    """Pages before it may be gone; a page cut short does not count; without its order it asks."""
    model = TaskModel()
    turn = next(turn for turn in list_turns() if len(turn.groups) == 8)
    model.begin(turn)
    third, fourth = turn.groups[2][0], turn.groups[3][0]
    step = ask(model, turn.said, read_page(third), read_page(fourth)[:-9])
    assert isinstance(step, CallTool)
    assert step.input == {"number": fourth}
    ask(model, read_page(fourth))
    assert model.orders_lost == [turn.number]


def test_a_summary_holds_all_that_the_summariser_was_given() -> None:
    """All notes and early facts together fit, and what was not given is not there."""
    model = TaskModel()
    turns = list_turns()
    model.begin(turns[-1])
    everything = [*(turn.said for turn in turns), *READ_FACTS.values()]
    whole, half = (ask(model, *texts, tools=False).text for texts in (everything, everything[24:]))
    assert len(whole) <= SUMMARY_CHARACTERS
    assert all(turn.mark in whole for turn in turns)
    assert all(fact in whole for fact in (*SAID_FACTS.values(), *READ_FACTS.values()))
    assert turns[0].mark not in half


def test_what_the_server_received_is_counted() -> None:
    """The last request of the agent says what is left; a summary is no request of the agent; a
    request that drops the first message extends nothing.
    """
    model = TaskModel()
    model.asked = [1, 2, 2]
    first, second = (turn.said for turn in list_turns()[:2])
    sent = [body(first), body(first, second), body("Sum up.", tools=False), body(second)]
    refusals = ["This model's maximum context length is 9 tokens", "a result without its call"]
    found = count("way", [received(*each) for each in enumerate(sent, 1)], refusals, model)
    assert (found.requests, found.summaries, found.repeated) == (3, 1, 1)
    assert (found.marks, found.said_facts, found.read_facts) == (1, 1, 0)
    assert found.extending == 0.5
    assert (found.too_long, found.invalid) == (1, 1)
    assert found.tokens == found.uncached > 0


def test_without_an_environment_it_says_what_makes_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing is measured, and every host is named."""
    monkeypatch.setattr(hosts, "ENVIRONMENTS", tmp_path)
    result = hosts.measure(tmp_path)
    assert not result.rows
    assert all(f"make build/plugs/{host}/made" in result.absent for host in hosts.HOSTS)
