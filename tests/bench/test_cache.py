"""What sessions cost under each way of managing their history: the accounting by hand, and the
goals over recorded sessions.
"""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from benchmarks.cache import (
    CLEARING,
    PLAN,
    SINGLE,
    cache_rows,
    cache_terms,
    draw_cache_chart,
    play_traces,
    strings,
)
from benchmarks.cache_replay import FETCH_OUTPUT, CacheTerms, Play
from benchmarks.cache_strategies import AtThreshold, ByPrice, clear_at_threshold, nothing
from benchmarks.cache_trace import Trace, TracedCall, TracedPiece, strung, trace_of
from benchmarks.report import Bar, Panel, draw_bar_plot

HUGE = 10_000_000
OPUS = CacheTerms(
    model="claude-opus-4-6", window=HUGE, limit=HUGE, price_limit=HUGE, effective=HUGE
)
GPT = CacheTerms(model="gpt-5.4", window=HUGE, limit=HUGE, price_limit=HUGE, effective=HUGE)


def call(
    number: int,
    *,
    at: float,
    result: int = 10_000,
    edits: tuple[str, ...] = (),
    shows: tuple[str, ...] = (),
) -> TracedCall:
    news = (
        (TracedPiece(f"result {number}", result, "result", shows),)
        if number
        else (TracedPiece("prompt", 10_000, "said"),)
    )
    return TracedCall(
        at, news, (TracedPiece(f"reply {number}", 1_000, "reply"),), 1_000, edits, 500
    )


def trace(*calls: TracedCall, prefix: int = 10_000) -> Trace:
    return Trace("made", prefix, calls)


@pytest.mark.covers("CP-18")
def test_a_warm_session_costs_what_the_price_table_says() -> None:
    """By hand, Opus 4.6 at 1.42 tokens: 28,400 are written, then read while 15,620 are written;
    1,420 come out each time.
    """
    bill = Play(trace(call(0, at=0), call(1, at=60)), OPUS).run(nothing)

    assert (bill.written, bill.read, bill.plain) == (28_400 + 15_620, 28_400, 0)
    assert bill.usd == pytest.approx((44_020 * 6.25 + 28_400 * 0.5 + 2 * 1_420 * 25) / 1e6)


@pytest.mark.covers("CP-18")
def test_after_six_minutes_all_is_written_again() -> None:
    """Real time stamps decide whether the cache still holds."""
    bill = Play(trace(call(0, at=0), call(1, at=361)), OPUS).run(nothing)

    assert (bill.written, bill.read) == (28_400 + 44_020, 0)


@pytest.mark.covers("CP-18")
def test_openai_reads_whole_beginnings_without_marks() -> None:
    """By hand at 1.05: the 21,000 tokens of the first request are read in steps of 128."""
    bill = Play(trace(call(0, at=0), call(1, at=60)), GPT).run(nothing)

    assert (bill.written, bill.read) == (0, 21_000 // 128 * 128)


@pytest.mark.covers("CP-18")
def test_what_was_cleared_before_an_edit_is_fetched_again() -> None:
    """A file that is edited must be in view: its text comes back with one more call, and the bill
    says so.
    """
    read = call(1, at=1, shows=("app.py",))
    more = [call(number, at=number) for number in range(2, 12)]
    session = trace(call(0, at=0), read, *more, call(12, at=12, edits=("app.py",)))
    tight = CacheTerms(
        model="claude-opus-4-6",
        window=200_000,
        limit=100_000,
        price_limit=100_000,
        effective=180_000,
    )
    bill = Play(session, tight).run(clear_at_threshold)
    calm = Play(session, OPUS).run(nothing)

    assert (bill.fetches, calm.fetches) == (1, 0)
    assert bill.calls == calm.calls + 1
    assert bill.output == calm.output + FETCH_OUTPUT


@pytest.mark.covers("CP-18")
def test_no_request_is_larger_than_the_window() -> None:
    """Whatever the way, the oldest pieces go before too much is sent."""
    session = trace(call(0, at=0), *[call(number, at=number) for number in range(1, 30)])
    tight = cache_terms("claude-opus-4-6", 100_000)
    for way in (
        nothing,
        AtThreshold("notes"),
        AtThreshold("summary"),
        AtThreshold("digest"),
        ByPrice(),
    ):
        assert Play(session, tight).run(way).largest <= tight.effective


@pytest.mark.covers("CP-18")
def test_a_long_session_costs_less_by_price_than_by_any_single_way() -> None:
    """Sixty calls with results of 2,000 tokens each, a minute apart, in a window of 200,000."""
    session = trace(
        call(0, at=0), *[call(number, at=60 * number, result=2_000) for number in range(1, 60)]
    )
    played = play_traces("made", [session], cache_terms("claude-opus-4-6", 200_000))

    assert played.usd(PLAN, ["made"]) < min(played.usd(way, ["made"]) for way in SINGLE)


@pytest.mark.covers("CP-18")
def test_strung_sessions_follow_each_other_after_a_pause() -> None:
    """Later sessions begin an hour after the one before ended; the first one's system prompt serves
    all.
    """
    one = trace(call(0, at=100), call(1, at=160), prefix=7)
    made = strung("both", [one, trace(call(0, at=5), call(1, at=6))])

    assert [each.at for each in made.calls] == [100, 160, 160 + 3_600, 160 + 3_601]
    assert made.prefix == 7


class Tags(HTMLParser):
    """What an SVG holds: its texts, and the tags that are still open."""

    def __init__(self, svg: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(svg)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        assert attrs is not None
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.covers("CP-18")
def test_the_picture_is_well_formed_and_says_every_number() -> None:
    """An SVG with the figures as text, whatever the names hold."""
    made = Tags(
        draw_bar_plot(
            "A & B",
            "less is better",
            [
                Panel(
                    "first <one>", (Bar("this way", 2.0, "$2", marked=True), Bar("that", 0.0, "$0"))
                )
            ],
        )
    )

    assert made.open == []
    assert {"$2", "$0", "A & B"} <= set(made.texts)
    assert any("first <one>: this way $2, that $0" in each for each in made.texts)


@pytest.mark.slow
@pytest.mark.covers("CP-18")
def test_over_recorded_sessions_the_plan_by_price_meets_its_goals(
    recorded_sessions: list[Path],
) -> None:
    """Over those that pass a window of 200,000: no dearer than the best single way, and 30 %
    cheaper than clearing at a threshold.
    """
    largest = sorted(recorded_sessions, key=lambda path: path.stat().st_size, reverse=True)[:8]
    played = play_traces(
        "recorded sessions",
        [trace_of(path) for path in largest],
        cache_terms("claude-opus-4-6", 200_000),
    )

    assert played.passing
    assert played.usd(PLAN) <= min(played.usd(way) for way in SINGLE)
    assert played.usd(PLAN) <= 0.7 * played.usd(CLEARING)
    assert {
        row.met for row in cache_rows(played) if "at most 1" in row.goal or "30" in row.goal
    } == {True}
    assert "by price" in draw_cache_chart([played])
    assert strings([trace_of(path) for path in largest])
