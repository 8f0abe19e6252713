"""The structure of a request: roles and tags in order, and no text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.context.context_tags import SCAFFOLD_TABLE
from memorist.errors import InputError
from support.context_outline import (
    OutlineItem,
    build_outline,
    compare_outlines,
    find_added_items,
    parse_outline_item,
)

RESPONSES: dict[str, Any] = {
    "model": "m",
    "input": [
        {"role": "developer", "content": [{"type": "input_text", "text": "Work with care."}]},
        {
            "role": "developer",
            "content": [
                {
                    "type": "input_text",
                    "text": "<permissions instructions>\nAsk.\n</permissions instructions>",
                },
                {"type": "input_text", "text": "<weather_report>\nRain.\n</weather_report>"},
                {"type": "input_text", "text": "Speak plainly."},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "input_text",
                    "text": "<environment_context>\n  <cwd>/srv</cwd>\n</environment_context>",
                }
            ],
        },
        {"role": "user", "content": [{"type": "input_text", "text": "What is <b>this</b>?"}]},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "A stone."},
        {"role": "assistant", "content": [{"type": "output_text", "text": "A stone."}]},
    ],
}
ANTHROPIC: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "system": [
        {"type": "text", "text": "Work with care."},
        {"type": "text", "text": "<env>\nWorking folder: /srv\n</env>"},
    ],
    "messages": [
        {
            "role": "user",
            "content": [
                {
                    "type": "text",
                    "text": "<system-reminder>\nTwo "
                    "decimals.\n</system-reminder>\n<system-reminder>\nIt "
                    "rains.\n</system-reminder>",
                },
                {"type": "text", "text": "What is this?"},
            ],
        }
    ],
}
FACTS = {"rules": ("Two decimals",), "weather": ("rains", "Rain")}


@pytest.mark.covers("CX-1")
def test_a_responses_request_is_outlined_by_the_table() -> None:
    """Each part has its role and tag; a tag that the table does not know is named, and what has
    none is known by its role.
    """
    assert [str(each) for each in build_outline(RESPONSES)] == [
        "developer: base_instructions",
        "developer: permissions instructions",
        "+ developer: <weather_report>",
        "+ developer: no tag",
        "user: environment_context",
        "user: prompt",
        "assistant: tool_use",
        "tool: tool_result",
        "assistant: reply",
    ]


@pytest.mark.covers("CX-2")
def test_reminders_are_told_apart_by_facts() -> None:
    """What a reminder is about is said by the first fact whose word is found in it; a tag that says
    it by itself needs none.
    """
    assert [str(each) for each in build_outline(ANTHROPIC, FACTS)] == [
        "system: no tag",
        "+ system: env",
        "user: system-reminder (rules)",
        "+ user: system-reminder (weather)",
        "+ user: prompt",
    ]


@pytest.mark.covers("CX-1", "CX-2")
def test_a_summary_is_one_item_whatever_it_quotes() -> None:
    """A reminder that stands in a summary is a part of its words, in the first words of either
    client and in ours.
    """
    for lead in (
        "This session is being continued from a previous conversation",
        "[memorist] Hand-over from the model that worked on this",
    ):
        text = f"{lead}.\n<system-reminder>\nquoted\n</system-reminder>\nThe rest."
        body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": text}]}
        assert build_outline(body) == (OutlineItem("user", "summary"),)


@given(
    st.text(alphabet="abc <>/_\n", max_size=60), st.sampled_from(["user", "developer", "assistant"])
)
@pytest.mark.covers("CX-1", "SF-1")
def test_no_text_of_a_request_is_in_its_outline(text: str, role: str) -> None:
    """Whatever is said, the tags are those of the table, a few words of ours, or one name in angle
    brackets.
    """
    words = {row.tag for row in SCAFFOLD_TABLE} | {
        "no tag",
        "base_instructions",
        "prompt",
        "reply",
        "summary",
        "injected",
        "notification",
        "agent",
    }
    body = {
        "model": "m",
        "input": [{"role": role, "content": [{"type": "input_text", "text": text}]}],
    }

    for each in build_outline(body):
        name = each.tag.removeprefix("<").removesuffix(">")
        assert each.tag in words or (
            each.tag == f"<{name}>" and not set(name) & set(" <>/\n") and f"<{name}" in text
        )
        assert each.about == ""


@given(st.lists(st.sampled_from("abcd"), max_size=8), st.lists(st.sampled_from("abcd"), max_size=8))
@pytest.mark.covers("CX-1")
def test_a_comparison_loses_nothing_and_says_same_only_of_what_is(
    left: list[str], right: list[str]
) -> None:
    """Their side in its order, ours whole, the same kind on both sides of a full row; equal
    sequences are the same in every row.
    """
    theirs, ours = (
        [OutlineItem("user", tag) for tag in left],
        [OutlineItem("user", tag) for tag in right],
    )

    pairs = compare_outlines(theirs, ours)

    assert [pair.theirs for pair in pairs if pair.theirs] == theirs
    assert sorted(str(pair.ours) for pair in pairs if pair.ours) == sorted(map(str, ours))
    assert all(pair.theirs and pair.ours for pair in pairs if pair.same or pair.moved)
    assert all(str(pair.theirs) == str(pair.ours) for pair in pairs if pair.theirs and pair.ours)
    assert all(pair.same for pair in pairs) == (left == right)


@pytest.mark.covers("CX-1")
def test_a_message_that_is_shared_in_another_way_is_not_the_same() -> None:
    """Two parts of one message are not two messages; behind something that one side has alone it is
    no difference.
    """
    first, second = OutlineItem("user", "a"), OutlineItem("user", "b")
    together = OutlineItem("user", "b", joined=True)

    assert [pair.same for pair in compare_outlines([first, together], [first, second])] == [
        True,
        False,
    ]
    assert [pair.same for pair in compare_outlines([first, together], [second])] == [False, True]


@pytest.mark.covers("CX-1")
def test_what_a_request_adds_is_what_stands_behind_the_one_before() -> None:
    """All of it where it does not go on from that."""
    one, two = OutlineItem("user", "prompt"), OutlineItem("assistant", "reply")

    assert find_added_items([one], [one, two]) == (two,)
    assert find_added_items([two], [one, two]) == (one, two)


@given(
    st.builds(
        OutlineItem,
        st.sampled_from(["user", "developer"]),
        st.sampled_from([row.tag for row in SCAFFOLD_TABLE] + ["<x>"]),
        st.sampled_from(["", "git", "deferred tools"]),
        st.booleans(),
    )
)
@pytest.mark.covers("CX-1")
def test_an_item_is_read_as_it_was_written(made: OutlineItem) -> None:
    """For every tag of the table, with and without what it is about."""
    assert parse_outline_item(str(made)) == made


@pytest.mark.covers("CX-1")
def test_what_is_no_item_is_refused() -> None:
    """With the words that are none."""
    with pytest.raises(InputError, match="nothing at all"):
        parse_outline_item("nothing at all")
