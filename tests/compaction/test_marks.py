"""Cache breakpoints stand where the provider will find them, and change nothing but themselves."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.compaction.cache_breakpoints import (
    LOOKBACK_BLOCKS,
    MAX_BREAKPOINTS,
    add_cache_breakpoints,
    get_minimum_cacheable_tokens,
)
from memorist.testing.prompt_cache import (
    PromptCacheState,
    compute_request_usage,
    get_cache_mark_lifetime,
    split_anthropic_blocks,
)
from memorist.testing.request_checks import find_request_problem

LONG = "word " * 6_000
MODEL = "claude-opus-4-6"
CONTROL = {"type": "ephemeral"}


def text(said: str, ttl: str | None = None) -> dict[str, Any]:
    return {"type": "text", "text": said} | (
        {"cache_control": CONTROL | {"ttl": ttl}} if ttl else {}
    )


def said(*blocks: dict[str, Any] | str, role: str = "user") -> dict[str, Any]:
    return {
        "role": role,
        "content": blocks[0] if len(blocks) == 1 and isinstance(blocks[0], str) else list(blocks),
    }


def body(*messages: dict[str, Any], system: Any = LONG, **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 100, "system": system, "messages": list(messages), **more}


def places(request: dict[str, Any]) -> list[tuple[int, int]]:
    """Message and block of each mark in the history."""
    return [
        (entry, index)
        for entry, message in enumerate(request["messages"])
        for index, block in enumerate(
            message["content"] if isinstance(message["content"], list) else []
        )
        if get_cache_mark_lifetime(block)
    ]


@pytest.mark.covers("CP-18")
def test_the_system_prompt_and_the_last_message_are_marked() -> None:
    """Two marks, as the file-native client sets them; texts become blocks to carry them."""
    marked = add_cache_breakpoints(body(said("hello")))

    assert marked["system"] == [{"type": "text", "text": LONG, "cache_control": CONTROL}]
    assert marked["messages"] == [said({"type": "text", "text": "hello", "cache_control": CONTROL})]


@pytest.mark.covers("CP-18")
def test_reasoning_and_empty_text_carry_no_mark() -> None:
    """The mark goes on the last block that is neither."""
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    marked = add_cache_breakpoints(
        body(said("go"), said(text("one"), text("two"), text(""), thinking, role="assistant"))
    )

    assert places(marked) == [(1, 1)]


@pytest.mark.covers("CP-18")
def test_a_long_turn_gets_a_mark_where_the_last_request_ended() -> None:
    """With more than 15 new blocks the provider's look-back might not reach back; a mark between
    makes it a hit.
    """
    start = [said("go"), said(text("ok"), role="assistant"), said("on")]
    few = [said(*[text(f"r{index}") for index in range(LOOKBACK_BLOCKS)])]
    many = [said(*[text(f"r{index}") for index in range(40)])]

    assert places(add_cache_breakpoints(body(*start, *few), unchanged_entries=3)) == [
        (3, LOOKBACK_BLOCKS - 1)
    ]
    assert places(add_cache_breakpoints(body(*start, *many), unchanged_entries=3)) == [
        (2, 0),
        (3, 39),
    ]
    assert places(add_cache_breakpoints(body(*start, *many))) == [(3, 39)]


@pytest.mark.covers("CP-18")
def test_after_an_edit_the_unchanged_beginning_is_still_read() -> None:
    """An old result is cleared far back: with the mark at the end of what is unchanged, all before
    the edit is read from the cache.
    """
    history = [
        said(text(f"step {index} " * 200), role="user" if index % 2 == 0 else "assistant")
        for index in range(61)
    ]
    state = PromptCacheState()
    for end in range(1, 62, 2):
        state, _ = compute_request_usage(
            state,
            "anthropic",
            add_cache_breakpoints(body(*history[:end]), unchanged_entries=max(0, end - 2)),
        )
    edited = [
        *history[:30],
        said(text("cleared")),
        *history[31:],
        said(text("next"), role="assistant"),
        said("on"),
    ]

    told = compute_request_usage(
        state, "anthropic", add_cache_breakpoints(body(*edited), unchanged_entries=30)
    )[1]
    untold = compute_request_usage(state, "anthropic", add_cache_breakpoints(body(*edited)))[1]

    unchanged = split_anthropic_blocks(body(*edited[:30]))[-1].tokens
    system = split_anthropic_blocks(body())[-1].tokens
    assert untold.cache_read == system
    assert unchanged - 1_500 < told.cache_read <= unchanged


@pytest.mark.covers("CP-18")
def test_the_marks_of_the_host_stay_as_they_are() -> None:
    """Theirs are never moved or removed; ours fill what is free, up to four in all."""
    tools = [{"name": "t", "input_schema": {}, "cache_control": CONTROL}]
    own = body(
        said(text("a", "5m"), text("b", "5m")),
        said(text("c"), role="assistant"),
        said("d"),
        system=[text(LONG, "5m"), text("more")],
        tools=tools,
    )
    marked = add_cache_breakpoints(own)

    assert marked["tools"] == tools
    assert marked["system"] == own["system"]
    assert places(marked) == [(0, 0), (0, 1)]
    assert places(add_cache_breakpoints(body(said(text("a", "5m")), said("d")))) == [(0, 0), (1, 0)]


@pytest.mark.covers("CP-18")
def test_longer_lifetimes_stand_before_shorter_ones() -> None:
    """Before a host's mark for an hour ours is for an hour, else for five minutes; between one for
    five minutes and one for an hour there is none.
    """
    hour_later = add_cache_breakpoints(body(said(text("a", "1h")), said("b")))
    five_before = add_cache_breakpoints(body(said("b"), system=[text(LONG, "5m")]))

    assert hour_later["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert five_before["messages"][0]["content"][0]["cache_control"] == CONTROL


@pytest.mark.covers("CP-18")
def test_the_automatic_mark_counts() -> None:
    """Where the host asks for automatic caching, the last block is marked already."""
    marked = add_cache_breakpoints(body(said("a"), cache_control=CONTROL))

    assert places(marked) == []
    assert marked["system"][0]["cache_control"] == CONTROL
    hour = CONTROL | {"ttl": "1h"}
    marked = add_cache_breakpoints(body(said("a"), cache_control=hour))
    assert marked["system"][0]["cache_control"] == hour  # no shorter one before it


@pytest.mark.covers("CP-18")
def test_marks_inside_a_tool_result_count_each() -> None:
    """A result with three parts that are marked leaves room for one more."""
    result = {"type": "tool_result", "tool_use_id": "u", "content": [text("r", "5m")] * 3}
    marked = add_cache_breakpoints(body(said(result), said("b", role="assistant"), said("c")))

    assert [mark for mark in places(marked) if mark[0]] == [(2, 0)]
    assert marked["system"] == LONG


@pytest.mark.covers("CP-18")
@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-opus-5", 512),
        ("claude-opus-4-8", 1_024),
        ("claude-sonnet-4-5", 1_024),
        ("claude-opus-4-7", 2_048),
        ("claude-haiku-4-5", 4_096),
        ("claude-opus-4-6", 4_096),
    ],
)
def test_what_is_too_short_to_be_cached_is_not_marked(model: str, tokens: int) -> None:
    """The least prefix by model (Claude Code); a short request keeps its shape."""
    short = body(said("hello"), system="rules") | {"model": model}

    assert get_minimum_cacheable_tokens(model) == tokens
    assert add_cache_breakpoints(short) is short


BLOCKS = st.lists(
    st.one_of(
        st.builds(text, st.text("ab", max_size=3), st.sampled_from([None, None, None, "5m", "1h"])),
        st.just({"type": "thinking", "thinking": "t", "signature": "s"}),
        st.just({"type": "tool_result", "tool_use_id": "u", "content": [text("r")]}),
    ),
    max_size=12,
)
MESSAGES = st.lists(
    st.one_of(BLOCKS.map(lambda blocks: said(*blocks)), st.text("ab", max_size=3).map(said)),
    max_size=8,
)


def bare(value: Any) -> Any:
    """Without marks, each text as one block: what the provider's cache sees."""
    if isinstance(value, dict):
        plain = {key: bare(each) for key, each in value.items() if key != "cache_control"}
        for key in ("content", "system"):
            if isinstance(plain.get(key), str):
                plain[key] = [text(plain[key])]
        return plain
    return [bare(each) for each in value] if isinstance(value, list) else value


@pytest.mark.covers("CP-18")
@given(
    MESSAGES,
    st.sampled_from([LONG, [text(LONG)], [text(LONG), text("x", "1h")], []]),
    st.integers(0, 8),
)
def test_marks_change_nothing_but_marks(
    messages: list[dict[str, Any]], system: Any, same: int
) -> None:
    """For any request: never more than four where the host had no more, the same text, the given
    objects untouched, the unmarked entries shared.
    """
    given_body = body(*messages, system=system)
    before = copy.deepcopy(given_body)
    host = [block.ttl for block in split_anthropic_blocks(given_body) if block.ttl]
    marked = add_cache_breakpoints(given_body, unchanged_entries=same)
    after = [block.ttl for block in split_anthropic_blocks(marked) if block.ttl]

    assert given_body == before
    assert len(after) <= max(MAX_BREAKPOINTS, len(host))
    assert msgspec.json.encode(bare(marked)) == msgspec.json.encode(bare(given_body))
    assert [block.key for block in split_anthropic_blocks(marked)] == [
        block.key for block in split_anthropic_blocks(given_body)
    ]
    assert all(
        old is new or new != old for old, new in zip(messages, marked["messages"], strict=True)
    )
    assert sum(old is not new for old, new in zip(messages, marked["messages"], strict=True)) <= 2
    if host == sorted(host):  # "1h" sorts before "5m": the host's own order is legal
        assert after == sorted(after)


@pytest.mark.covers("CP-18")
def test_a_strict_provider_takes_the_marked_request() -> None:
    """The loopback server's own check of marks finds nothing wrong."""
    history = [
        said("go"),
        said(text("ok"), role="assistant"),
        said(*[text(f"r{index}") for index in range(40)]),
    ]

    assert (
        find_request_problem(
            "anthropic",
            add_cache_breakpoints(body(*history), unchanged_entries=1),
            window=200_000,
            tokens=10_000,
        )
        is None
    )


def test_what_is_known_to_be_long_is_not_measured_again() -> None:
    """A mark stood at the end of the unchanged beginning, so one may stand at any later message; a
    system prompt is measured still.
    """
    history = [said(text("a")), said(text("b"), role="assistant"), said(text("c"))]

    assert places(add_cache_breakpoints(body(*history, system="Short."), unchanged_entries=1)) == []
    settled = add_cache_breakpoints(
        body(*history, system="Short."), unchanged_entries=1, known_cacheable=True
    )
    assert places(settled) == [(2, 0)]
    assert settled["system"] == "Short."


def test_the_callers_copy_of_the_messages_gets_the_marks() -> None:
    """A caller that has a copy already need not make another."""
    request = body(said(text(LONG)))
    ready = list(request["messages"])
    marked = add_cache_breakpoints(request, copy_list=lambda _: ready)

    assert marked["messages"] is ready
    assert places(marked) == [(0, 0)]
    assert places(request) == []
