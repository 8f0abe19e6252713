"""Bodies that were read lately: of the next one only what is new is read, whoever sends between."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.proxy import request_body_cache as module
from memorist.proxy.declared_conversation import hash_instructions_and_tools
from memorist.proxy.request_body import parse_request_body
from memorist.proxy.request_body_cache import BodyCache
from proxy.conftest import anthropic, assistant, user

OPENING = "You are asked about the shop. " * 60
"""Longer than what two bodies are compared by at first."""


def sent(readings: BodyCache, messages: list[Any], **more: Any) -> tuple[int, int]:
    """Entries that were known from an earlier body, and all of them."""
    raw = json.dumps({"messages": messages, **more}).encode()
    reading = readings.parse_with_cache("anthropic", raw)
    readings.store(reading)

    alone = parse_request_body(raw, "messages")
    assert (reading.body.values, reading.body.entry_spans, reading.body.key_spans) == (
        alone.values,
        alone.entry_spans,
        alone.key_spans,
    )
    assert reading.shape == hash_instructions_and_tools("anthropic", alone)
    return reading.body.shared_entries, len(alone.items)


@pytest.mark.covers("IN-3")
def test_conversations_that_begin_alike_are_each_read_on_from_where_they_were() -> None:
    """Two hundred sessions of one application at once, none of which names itself: no request makes
    another's history be read again.
    """
    readings = BodyCache()
    talks = [[user(OPENING), assistant(f"Talk {number}."), user("Go on.")] for number in range(200)]
    for talk in talks:
        sent(readings, talk)
    for talk in talks:
        talk += [assistant("Yes."), user("More.")]

        assert sent(readings, talk) == (3, 5)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.sampled_from(["a", "b"]),
            st.booleans(),
            st.sampled_from(["", "You code."]),
        ),
        max_size=25,
    )
)
def test_what_is_read_on_is_what_is_read_alone(steps: list[tuple[int, str, bool, str]]) -> None:
    """Whichever history is gone on from, cut, or sent again with other instructions (`sent`
    compares).
    """
    readings, histories = BodyCache(), [[user(OPENING)]]
    for place, text, cut, system in steps:
        talk = [*histories[place % len(histories)], assistant(text), user(text)]
        histories.append(talk[2:] if cut and len(talk) > 3 else talk)
        sent(readings, histories[-1], system=system)


def test_what_is_kept_is_bounded_in_bytes_and_in_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest goes first; of it the others know the opening alone."""
    for name, most in (("MAX_BODIES_PER_PREFIX", 4), ("MAX_CACHED_BYTES", 1_000_000)):
        readings = BodyCache()
        monkeypatch.setattr(module, name, most)
        talks = [
            [user(OPENING), assistant(f"{number}" + "x" * 200_000 * (name == "MAX_CACHED_BYTES"))]
            for number in range(6)
        ]
        for talk in talks:
            sent(readings, talk)

        known = [sent(readings, [*talk, user("More.")])[0] for talk in reversed(talks)]
        assert known[:4] == [2, 2, 2, 2]
        assert known[-1] == 1


def test_a_body_that_two_requests_go_on_from_is_let_go_once() -> None:
    """Two requests at once: the first takes the place of what both began with, and the size that is
    kept stays right.
    """
    readings = BodyCache()
    raw = json.dumps(anthropic([user(OPENING), assistant("Yes.")])).encode()
    first = readings.parse_with_cache("anthropic", raw)
    readings.store(first)
    both = [
        readings.parse_with_cache(
            "anthropic",
            json.dumps(anthropic([user(OPENING), assistant("Yes."), user(text)])).encode(),
        )
        for text in "ab"
    ]
    for reading in both:
        readings.store(reading)

    assert [reading.body.shared_entries for reading in both] == [2, 2]
    assert readings._size == sum(len(reading.body.raw) for reading in both)
