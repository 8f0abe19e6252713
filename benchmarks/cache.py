"""What a session costs under each way of keeping its history small, with prompt caching and by the
price table (CP-18).

Recorded sessions, and strings of the sessions of one repository, are played call by call against
the cache accounting of the loopback server with their own time stamps; `cache_play` says what is
counted, `cache_ways` what each way does. The prices are those of one Anthropic and one OpenAI
model.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from benchmarks.cache_replay import Bill, CacheStrategy, CacheTerms, Play
from benchmarks.cache_strategies import (
    AtThreshold,
    ByPrice,
    after_an_hour,
    clear_at_threshold,
    clear_each_request,
    nothing,
)
from benchmarks.cache_trace import Trace, families, strung, trace_of
from benchmarks.datasets import all_sessions
from benchmarks.report import Bar, BenchResult, BenchRow, Panel, draw_bar_plot
from memorist.compaction.compaction_thresholds import compute_request_thresholds
from memorist.compaction.edit_economics import NOTES_FROM_SHARE
from memorist.settings import CompactionSchedule, CompactionSettings, Settings

MODELS = ("claude-opus-4-6", "gpt-5.4")
WINDOWS = (64_000, 200_000)
MAX_OUTPUT = 20_000
"""The reserve for a summary's output is taken in full."""

SCHEDULES: tuple[CompactionSchedule, CompactionSchedule] = ("threshold", "price")

CLEARING = "clearing at the threshold"
PLAN = "by price"
SINGLE: Mapping[str, Callable[[], CacheStrategy]] = {
    "nothing": lambda: nothing,
    "clearing at each request": lambda: clear_each_request,
    CLEARING: lambda: clear_at_threshold,
    "clearing after an hour": lambda: after_an_hour,
    "session memory compact": lambda: AtThreshold("notes"),
    "full compact": lambda: AtThreshold("summary"),
    "extractive summary": lambda: AtThreshold("digest"),
}
PRICED: Mapping[str, Callable[[], CacheStrategy]] = {
    "by price, results from half": lambda: ByPrice(talk_from=1.0, results_from=NOTES_FROM_SHARE),
    "by price, talk only when forced": lambda: ByPrice(talk_from=1.0),
    PLAN: ByPrice,
    "by price alone": lambda: ByPrice(talk_from=0.0),
}
GOAL_SAVED = 0.30


class Played(Struct, frozen=True):
    """One set of sessions under one model and window: the bills by way and session, and which
    sessions pass the auto threshold.
    """

    terms: CacheTerms
    what: str
    bills: Mapping[str, Mapping[str, Bill]]
    passing: tuple[str, ...]

    def usd(self, way: str, names: Sequence[str] | None = None) -> float:
        """US dollars of a way over the sessions that pass, or those named."""
        return sum(self.bills[way][name].usd for name in (self.passing if names is None else names))

    @property
    def names(self) -> tuple[str, ...]:
        """All sessions."""
        return tuple(self.bills[PLAN])

    def over_best(self, name: str, way: str = PLAN) -> float:
        """What a way costs over the best single way for this very session, chosen with knowledge of
        its end.
        """
        return self.bills[way][name].usd / min(self.bills[single][name].usd for single in SINGLE)


def cache_terms(model: str, window: int) -> CacheTerms:
    """The thresholds of this window, as the product has them."""
    limits, priced = (
        compute_request_thresholds(
            {"model": model, "max_tokens": MAX_OUTPUT},
            Settings(compaction=CompactionSettings(window=window, schedule=schedule)),
        )
        for schedule in SCHEDULES
    )
    return CacheTerms(
        model=model,
        window=window,
        limit=limits.auto,
        price_limit=priced.auto,
        effective=limits.effective,
    )


def play_traces(what: str, traces: Sequence[Trace], terms: CacheTerms) -> Played:
    """Every session under every way."""
    passing = tuple(trace.name for trace in traces if _whole(trace, terms) > terms.limit)
    bills = {
        way: {trace.name: Play(trace, terms).run(make()) for trace in traces}
        for way, make in {**SINGLE, **PRICED}.items()
    }
    return Played(terms, what, bills, passing)


def _whole(trace: Trace, terms: CacheTerms) -> float:
    return Play(trace, terms).prefix + trace.history * terms.factor


def strings(traces: Sequence[Trace]) -> list[Trace]:
    """The sessions of each repository as one long session, where there is more than one."""
    return [
        strung(f"{name}, {len(group)} sessions", group)
        for name, group in families(traces).items()
        if len(group) > 1
    ]


def played(
    data: Path, models: Sequence[str] = MODELS, windows: Sequence[int] = WINDOWS
) -> list[Played]:
    """All sets of sessions under all models and windows.

    Raises UnreadableSession for a session file that cannot be read.
    """
    traces = [trace for trace in map(trace_of, all_sessions(data)) if trace.calls]
    sets = (("recorded sessions", traces), ("strings of sessions", strings(traces)))
    return [
        play_traces(what, group, cache_terms(model, window))
        for model in models
        for window in windows
        for what, group in sets
    ]


def measure(data: Path) -> BenchResult:
    """Cost of each way over the sessions that pass the window; the plan by price against the best
    of them and against clearing.
    """
    if not all_sessions(data):
        return BenchResult("cache", absent=f"no recorded sessions below {data}")
    return BenchResult("cache", tuple(row for each in played(data) for row in cache_rows(each)))


def cache_rows(each: Played) -> list[BenchRow]:
    """One set as rows: dollars over the sessions that pass, then the goals, then all sessions."""
    head = f"{each.terms.model}, {each.terms.window // 1000}k, {each.what}"
    if not each.passing:
        return [BenchRow(f"{head}: that pass the threshold", 0, f"of {len(each.names)}")]
    made = [
        BenchRow(f"{head}: that pass the threshold", len(each.passing), f"of {len(each.names)}")
    ]
    made += [BenchRow(f"{head}: {way}", each.usd(way), "USD") for way in each.bills]
    best = min(SINGLE, key=each.usd)
    ratio, saved = each.usd(PLAN) / each.usd(best), 1 - each.usd(PLAN) / each.usd(CLEARING)
    made.append(
        BenchRow(
            f"{head}: {PLAN} over the best single way ({best})", ratio, "", "at most 1", ratio <= 1
        )
    )
    made.append(
        BenchRow(
            f"{head}: {PLAN}, cheaper than {CLEARING} by",
            100 * saved,
            "%",
            "at least 30",
            saved >= GOAL_SAVED,
        )
    )
    dearer = [name for name in each.passing if each.over_best(name) > 1]
    made.append(
        BenchRow(
            f"{head}: of those, dearer than their own best single way, known afterwards",
            len(dearer),
            "sessions",
            "0",
            not dearer,
        )
    )
    whole = [name for name in each.names if each.over_best(name) > 1]
    best_of_all = min(SINGLE, key=lambda way: each.usd(way, each.names))
    made += [
        BenchRow(
            f"{head}: all of them, {PLAN} over {best_of_all}",
            each.usd(PLAN, each.names) / each.usd(best_of_all, each.names),
        ),
        BenchRow(
            f"{head}: all of them, dearer than their own best single way",
            len(whole),
            f"of {len(each.names)}",
        ),
        BenchRow(
            f"{head}: the worst of these",
            max(each.over_best(name) for name in each.names),
            "times its best",
        ),
        BenchRow(f"{head}: cuts of talk in 100 calls, {PLAN}", 100 * _rate(each, PLAN, "cuts")),
        BenchRow(f"{head}: cuts of talk in 100 calls, {best}", 100 * _rate(each, best, "cuts")),
        BenchRow(
            f"{head}: files fetched again in 100 calls, {PLAN}", 100 * _rate(each, PLAN, "fetches")
        ),
    ]
    return made


def _rate(each: Played, way: str, what: str) -> float:
    bills = [each.bills[way][name] for name in each.passing]
    return float(sum(getattr(bill, what) for bill in bills)) / max(
        1, sum(bill.calls for bill in bills)
    )


def draw_cache_chart(sets: Sequence[Played]) -> str:
    """The cost of the sessions that pass, as bars."""
    panels = [
        Panel(
            f"{each.terms.model}, window {each.terms.window // 1000}k: {len(each.passing)} "
            f"{each.what} that pass it",
            tuple(
                Bar(way, each.usd(way), f"${each.usd(way):,.0f}", way in PRICED)
                for way in each.bills
            ),
        )
        for each in sets
        if each.passing
    ]
    return draw_bar_plot(
        "What a session costs, by how its history is kept small",
        "US dollars, prompt caching counted; less is better",
        panels,
    )


if __name__ == "__main__":
    sys.stdout.write(draw_cache_chart(played(Path(sys.argv[1]), MODELS[:1], WINDOWS[1:])))
