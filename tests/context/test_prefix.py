"""The prefix of requests only grows, or the checker says where and why not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.context.request_prefix_growth import PrefixChecker
from memorist.core.messages import Message, Origin, TextBlock
from memorist.formats.transcript_format import CompactionBoundary, TurnRollback
from memorist.replay.replay_results import PrefixBreakTracker
from memorist.testing import assert_prefix_grows, check_prefix

MARK = {"cache_control": {"type": "ephemeral"}}


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text, **more}]}


def body(*history: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "model": "m",
        "system": "You help.",
        "tools": [{"name": "Read", "input_schema": {"a": 1, "b": 2}}],
        "messages": [*history],
        **more,
    }


FIRST, SECOND = body(user("one")), body(user("one"), user("two"))


@pytest.mark.covers("CX-8")
def test_requests_that_extend_each_other_pass() -> None:
    """Cache marks may move, and a text may be written as a string or as one block."""
    with assert_prefix_grows() as sent:
        assert sent(body(user("one", **MARK))) is None
        assert sent(body({"role": "user", "content": "one"}, user("two", **MARK))) is None

    assert str(sent) == "the prefix only grew over 2 requests"


@pytest.mark.covers("CX-8")
@pytest.mark.parametrize(
    ("second", "part", "why", "index"),
    [
        (body(user("one"), user("two"), tools=[{"name": "Write"}]), "tools", "tools", None),
        (
            body(user("one"), tools=[{"name": "Read", "input_schema": {"b": 2, "a": 1}}]),
            "tools",
            "tools",
            None,
        ),
        (body(user("one"), user("two"), system="Another."), "system", "system", None),
        (body(user("one"), user("two"), model="n"), "model", "model", None),
        (body(user("one"), user("two"), thinking={"type": "enabled"}), "params", "params", None),
        (body(user("changed"), user("two")), "messages", "host rewrite", 0),
        (body(), "messages", "rolled back", 0),
    ],
)
def test_a_difference_is_named(
    second: dict[str, Any], part: str, why: str, index: int | None
) -> None:
    """The part, the cause and the first entry of the history that differs."""
    prefix = PrefixChecker()
    prefix(FIRST)

    found = prefix(second)

    assert found is not None
    assert (found.request, found.part, found.why, found.index) == (2, part, why, index)
    assert why in str(prefix)


@pytest.mark.covers("CX-8")
def test_a_summary_names_a_compaction() -> None:
    """A history that begins with a summary was compacted, whoever did it."""
    summary = (
        "This session is being continued from a previous conversation that ran out of "
        "context. It was about a test."
    )
    prefix = PrefixChecker()
    prefix(SECOND)
    found = prefix(body(user(summary), user("three")))

    assert found is not None
    assert found.why == "compaction"


@pytest.mark.covers("CX-8")
def test_a_system_message_within_the_history_is_the_system_prompt() -> None:
    """Chat Completions and Codex keep it there."""
    prefix = PrefixChecker()
    prefix({"model": "m", "messages": [{"role": "system", "content": "A"}, user("one")]})

    found = prefix(
        {"model": "m", "messages": [{"role": "system", "content": "B"}, user("one"), user("two")]}
    )

    assert found is not None
    assert (found.part, found.index) == ("system", 0)


@pytest.mark.covers("CX-8")
def test_a_test_fails_with_the_difference() -> None:
    """The claim names every cause that was not allowed, and a failure within the block is not
    hidden.
    """
    with pytest.raises(AssertionError, match="request 2: tools"):
        check_prefix([FIRST, body(user("one"), tools=[])])
    check_prefix([FIRST, body(user("one"), tools=[])], except_for={"tools"})

    def fails() -> None:
        with assert_prefix_grows() as sent:
            sent(SECOND)
            sent(FIRST)
            raise KeyError

    with pytest.raises(KeyError):
        fails()


@pytest.mark.covers("CX-8")
@given(texts=st.lists(st.text(max_size=3), min_size=2, max_size=8), data=st.data())
def test_exactly_the_sequences_that_grow_pass(texts: list[str], data: st.DataObject) -> None:
    """Any growing list passes; with one old entry changed in the last request, that entry is named."""
    entries = [user(text) for text in texts]
    bodies = [body(*entries[:count]) for count in range(1, len(entries) + 1)]
    check_prefix(bodies)

    place = data.draw(st.integers(0, len(entries) - 2))
    changed = [*entries]
    changed[place] = user(texts[place] + "!")
    prefix = PrefixChecker()
    for each in [*bodies[:-1], body(*changed)]:
        prefix(each)

    assert [(each.request, each.index) for each in prefix.differences] == [(len(entries), place)]


def said(
    text: str, origin: Origin = Origin.USER, model: str | None = None, line: int = 0
) -> Message:
    role: Any = "assistant" if origin is Origin.MODEL else "user"
    return Message(
        id=text,
        role=role,
        blocks=(TextBlock(text),),
        origin=origin,
        is_typed=origin is Origin.USER,
        model=model,
        line=line,
    )


@pytest.mark.covers("CX-8")
def test_a_recorded_session_tells_where_its_prefix_parted() -> None:
    """A request for each reply; a compaction, turns taken back and another model part it, each with
    its line.
    """
    prefix = PrefixBreakTracker()
    replies = [said(f"r{number}", Origin.MODEL, "m") for number in range(4)]
    entries: list[Any] = [
        said("one"), replies[0], said("two"), replies[1],
        CompactionBoundary(id="c", line=9, replacement=(said("one"), said("sum"))),
        said("three"), replies[2], TurnRollback(1, 2, 12), said("four"), replies[3],
        said("five"), said("r5", Origin.MODEL, "n", line=15),
    ]  # fmt: skip
    for entry in entries:
        prefix.on_entry(entry)

    assert prefix.requests == 5
    assert [(each.request, each.why, each.line) for each in prefix.breaks] == [
        (3, "compaction", 9),
        (4, "rolled back", 12),
        (5, "model", 15),
    ]
    assert "4 messages became 2; the first that differs is number 2" in prefix.breaks[0].what
