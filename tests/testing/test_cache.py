"""Prompt-cache accounting behaves as the providers describe it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.testing.prompt_cache import (
    CumulativePrefixBlock,
    InputTokenCounts,
    PromptCacheState,
    compute_openai_usage_and_cache,
    compute_request_usage,
    find_common_prefix_length,
    split_anthropic_blocks,
)

WORDS = st.lists(st.text("ab ", min_size=1, max_size=30), min_size=1, max_size=6)


def text(said: str, *, mark: bool | str = False) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": said}
    if mark:
        block["cache_control"] = {"type": "ephemeral"} | (
            {"ttl": mark} if isinstance(mark, str) else {}
        )
    return block


def body(
    *blocks: dict[str, Any], system: list[dict[str, Any]] | None = None, **more: Any
) -> dict[str, Any]:
    return {
        "model": "m",
        "system": system or [],
        "messages": [{"role": "user", "content": list(blocks)}],
        **more,
    }


def run(*bodies: dict[str, Any], wire_format: str = "anthropic") -> list[InputTokenCounts]:
    state, seen = PromptCacheState(), []
    for one in bodies:
        state, counts = compute_request_usage(state, wire_format, one)
        seen.append(counts)
    return seen


@pytest.mark.covers("FK-1")
def test_the_same_marked_request_is_read_whole() -> None:
    """First written, then read; nothing is billed twice."""
    one = body(text("one " * 50), text("two " * 50, mark=True))
    first, second = run(one, one)

    assert (first.cache_read, first.input) == (0, 0)
    assert (second.cache_read, second.cache_write) == (first.cache_write, 0)


@pytest.mark.covers("FK-1")
def test_without_a_mark_nothing_is_cached() -> None:
    """Anthropic caches only where it is told to."""
    one = body(text("one " * 50))

    assert [counts.cache_read + counts.cache_write for counts in run(one, one)] == [0, 0]


@pytest.mark.covers("FK-1")
@pytest.mark.parametrize(
    "change",
    [{"model": "other"}, {"system": [text("new")]}, {"tools": [{"name": "t", "input_schema": {}}]}],
)
def test_a_change_before_the_mark_loses_the_cache(change: dict[str, Any]) -> None:
    """A byte that differs before a mark is a miss for all that follows."""
    one = body(text("one " * 50, mark=True))

    assert run(one, one | change)[1].cache_read == 0


@pytest.mark.covers("FK-1")
def test_other_thinking_spares_tools_and_system() -> None:
    """A change of thinking or tool choice loses the messages' cache only."""
    one = body(text("one " * 50, mark=True), system=[text("rules " * 50, mark=True)])
    counts = run(one, one | {"thinking": {"type": "enabled", "budget_tokens": 1024}})[1]

    assert 0 < counts.cache_read < counts.total
    assert counts.cache_write > 0


@pytest.mark.covers("FK-1")
def test_a_mark_finds_prefixes_twenty_blocks_back_and_no_further() -> None:
    """The provider's look-back: a turn with more blocks between two marks misses."""
    start = [text(f"block {index}") for index in range(3)]
    marked = [*start[:2], text("block 2", mark=True)]
    near = body(*start, *[text(f"more {index}") for index in range(19)], text("end", mark=True))
    far = body(*start, *[text(f"more {index}") for index in range(20)], text("end", mark=True))

    assert run(body(*marked), near)[1].cache_read > 0
    assert run(body(*marked), far)[1].cache_read == 0


@pytest.mark.covers("FK-1")
def test_where_a_mark_stands_is_no_part_of_the_text() -> None:
    """Marks move every turn; a string and its one text block are the same."""
    plain = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
    marked = {"model": "m", "messages": [{"role": "user", "content": [text("hello", mark=True)]}]}

    assert split_anthropic_blocks(plain)[-1].key == split_anthropic_blocks(marked)[-1].key


@pytest.mark.covers("CP-18")
def test_hour_long_marks_are_counted_apart() -> None:
    """What lies before the last one-hour mark is written for an hour, the rest for five minutes."""
    counts = run(
        body(
            text("rules " * 50),
            text("more " * 50, mark=True),
            system=[text("sys " * 100, mark="1h")],
        )
    )[0]

    assert 0 < counts.cache_write_long < counts.cache_write
    assert counts.input == 0


@pytest.mark.covers("CP-18")
def test_a_small_prefix_is_not_cached_where_a_minimum_is_set() -> None:
    """The provider's minimum can be switched on."""
    one = body(text("one", mark=True))

    assert (
        compute_request_usage(PromptCacheState(), "anthropic", one, minimum=1_024)[1].cache_write
        == 0
    )


@pytest.mark.covers("CP-18")
@pytest.mark.parametrize(("ttl", "lifetime"), [("5m", 300.0), ("1h", 3_600.0)])
def test_with_a_clock_entries_die_and_each_hit_renews_them(ttl: str, lifetime: float) -> None:
    """Read within the lifetime, again within the lifetime of that, and gone a second after it."""
    one, state, reads = body(text("one " * 50, mark=ttl)), PromptCacheState(), []
    for now in (0.0, lifetime, 2 * lifetime, 3 * lifetime + 1):
        state, counts = compute_request_usage(state, "anthropic", one, now=now)
        reads.append(counts.cache_read > 0)

    assert reads == [False, True, True, False]


@pytest.mark.covers("CP-18")
def test_openai_forgets_after_ten_idle_minutes() -> None:
    """With a clock; without one, nothing is forgotten."""
    one, state, reads = {"model": "m", "input": "word " * 2_000}, PromptCacheState(), []
    for now in (0.0, 600.0, 1_201.0, None):
        state, counts = compute_request_usage(state, "openai_responses", one, now=now)
        reads.append(counts.cache_read > 0)

    assert reads == [False, True, False, True]


@pytest.mark.covers("CP-18")
def test_openai_counts_whole_blocks_of_a_request_that_is_cut_already() -> None:
    """The longest beginning that an earlier request had, in steps of 128, from 1,024 tokens on."""
    blocks = [
        CumulativePrefixBlock("a", 1_000, None),
        CumulativePrefixBlock("b", 1_500, None),
        CumulativePrefixBlock("c", 2_000, None),
    ]
    state, first = compute_openai_usage_and_cache(PromptCacheState(), blocks)

    assert first == InputTokenCounts(input=2_000)
    assert compute_openai_usage_and_cache(
        state, [*blocks[:2], CumulativePrefixBlock("d", 2_500, None)]
    )[1] == InputTokenCounts(input=2_500 - 1_408, cache_read=1_408)
    assert (
        compute_openai_usage_and_cache(state, [blocks[0], CumulativePrefixBlock("d", 2_500, None)])[
            1
        ].cache_read
        == 0
    )


@pytest.mark.covers("FK-1")
@pytest.mark.parametrize("key", ["input", "messages"])
def test_openai_caches_long_beginnings_in_steps(key: str) -> None:
    """From 1,024 tokens on, in steps of 128, without marks."""
    wire_format = "openai_responses" if key == "input" else "openai_chat"

    def asked(words: int, end: str) -> dict[str, Any]:
        return {
            "model": "m",
            key: [{"role": "user", "content": "word " * words}, {"role": "user", "content": end}],
        }

    short = run(asked(100, "a"), asked(100, "b"), wire_format=wire_format)
    long = run(asked(2_000, "a"), asked(2_000, "b"), wire_format=wire_format)

    assert short[1].cache_read == 0
    assert long[0].cache_read == 0
    assert long[1].cache_read >= 2_432
    assert long[1].cache_read % 128 == 0


@pytest.mark.covers("FK-1")
@given(WORDS, st.integers(0, 5), st.sampled_from(["anthropic", "openai_responses", "openai_chat"]))
def test_parts_never_overlap_and_never_exceed_the_whole(
    words: list[str], marked: int, wire_format: str
) -> None:
    """Read, written and plain input are the whole input, in any order of requests."""
    one = body(*[text(word, mark=index == marked) for index, word in enumerate(words)])
    one["input"] = one["messages"]
    for counts in run(one, one, body(text("x")) | {"input": []}, one, wire_format=wire_format):
        assert (
            min(counts.input, counts.cache_read, counts.cache_write, counts.cache_write_long) >= 0
        )
        assert counts.cache_write_long <= counts.cache_write
    assert len({counts.total for counts in run(one, one, wire_format=wire_format)}) == 1


@pytest.mark.covers("FK-1")
@given(st.text("ab", max_size=40), st.text("ab", max_size=40))
def test_the_common_beginning_is_exact(left: str, right: str) -> None:
    """As many characters as really agree."""
    length = find_common_prefix_length(left, right)

    assert left[:length] == right[:length]
    assert length in {len(left), len(right)} or left[length] != right[length]
