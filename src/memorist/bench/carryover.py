"""What of the earlier conversation the assistant goes on to use, and how much of it each way of compaction keeps (CP-15, CP-16). No model.

- *Points*: each recorded session is cut where 40, 60 and 80 % of its estimated tokens are reached, at the newest place that parts no pair, if there
  are 20,000 tokens and more before it: so a budget of 20,000 always means that something goes.
- *Used*: the facts and spans (`carryover_use`) of the assistant's later texts and tool inputs, to the session's end, that stand in the history
  before the cut and that no user, tool or harness shows between the cut and their first use. Reasoning after the cut does not count.
- *Kept*: a used fact, or span, that stands in the compacted history's texts. Figures are over all points together, so that each use counts once.

Budgets are estimated tokens (`core.tokens`, factor 1).
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from msgspec import Struct

from memorist.bench.carryover_plot import Line, picture
from memorist.bench.carryover_use import Used, kept, used_later
from memorist.bench.carryover_ways import DIGEST, LANGCHAIN, ways
from memorist.bench.result import Result, Row
from memorist.bench.synthesis import all_sessions
from memorist.core.messages import Message
from memorist.core.pairing import safe_starts
from memorist.core.tokens import estimate_message
from memorist.formats.recognise import read
from memorist.formats.recorded import Head
from memorist.store.lines import LineFile

BUDGETS = (2_000, 8_000, 20_000, 40_000)
SHARES = (0.4, 0.6, 0.8)
LEAST = 20_000
"""Tokens before a point."""

GOAL_BUDGETS = (8_000, 20_000)
FACT_GOAL = 0.95
SPAN_GOAL = 1.25


class Point(Struct, frozen=True):
    """A place where a session is compacted: the history before it, and what of it is used later."""

    session: str
    cwd: str
    history: tuple[Message, ...]
    used: Used


class Share(Struct, frozen=True):
    """What a way keeps at a budget: parts of the used facts and spans, from 0 to 1, over all points."""

    facts: float
    spans: float


class Carryover(Struct, frozen=True):
    """The whole measurement: by way and budget; points, used facts and used spans."""

    shares: dict[str, dict[int, Share]]
    points: int
    facts: int
    spans: int

    def best_other(self, budget: int) -> Share:
        """The best of the other ways in each measure."""
        others = [found[budget] for name, found in self.shares.items() if name != DIGEST]
        return Share(max(each.facts for each in others), max(each.spans for each in others))


def points(paths: Sequence[Path]) -> Iterator[Point]:
    """The points of these sessions."""
    for path in paths:
        head, messages = "", []
        for entry in read(LineFile(path)):
            if isinstance(entry, Head):
                head = entry.cwd
            elif isinstance(entry, Message):
                messages.append(entry)
        for cut in cuts(messages):
            used = used_later(messages[:cut], messages[cut:])
            if used.facts or used.spans:
                yield Point(path.stem, head, tuple(messages[:cut]), used)


def cuts(messages: Sequence[Message]) -> list[int]:
    """Where a session is compacted."""
    sizes = list(accumulate(estimate_message(message) for message in messages))
    starts = safe_starts(messages)
    found: list[int] = []
    for share in SHARES if sizes else ():
        start = starts[max(0, bisect_right(starts, bisect_right(sizes, sizes[-1] * share)) - 1)]
        if start and sizes[start - 1] >= LEAST:
            found.append(start)
    return found


def compare(found: Sequence[Point], budgets: Sequence[int] = BUDGETS) -> Carryover:
    """Every way at every budget over these points."""
    facts = sum(len(point.used.facts) for point in found)
    spans = sum(len(point.used.spans) for point in found)
    shares: dict[str, dict[int, Share]] = {}
    for name, way in ways().items():
        shares[name] = {}
        for budget in budgets:
            held = [(point.used, kept(way(point.history, budget, point.cwd), point.used)) for point in found]
            held_facts = sum(share[0] * len(used.facts) for used, share in held)
            held_spans = sum(share[1] * len(used.spans) for used, share in held)
            shares[name][budget] = Share(held_facts / max(1, facts), held_spans / max(1, spans))
    return Carryover(shares, len(found), facts, spans)


def measure(data: Path) -> Result:
    """Every way at every budget, as a table with the goals of the digest."""
    made = compared(data)
    if made is None:
        return Result("carryover", absent=f"no recorded session below {data} is long enough")
    return Result("carryover", rows(made))


def compared(data: Path) -> Carryover | None:
    """Every way at every budget over the recorded sessions below this folder; None where none is long enough."""
    found = list(points(all_sessions(data)))
    return compare(found) if found else None


def chart(made: Carryover) -> str:
    """The comparison as a picture."""
    lines = [
        Line(name, tuple(each.facts for each in by.values()), tuple(each.spans for each in by.values()), name == DIGEST)
        for name, by in made.shares.items()
    ]
    below = (
        f"at {made.points} places in recorded sessions: {made.facts:,} facts and {made.spans:,} spans of ten words; by tokens that are left"
    )
    budgets = list(next(iter(made.shares.values()), {}))
    return picture("What of the earlier conversation is used again, and still there", below, ("Facts", "Verbatim spans"), budgets, lines)


def rows(made: Carryover) -> tuple[Row, ...]:
    """The figures of a comparison."""
    table = [
        Row("points of compaction", made.points),
        Row("facts used again", made.facts),
        Row("spans used again", made.spans),
    ]
    if LANGCHAIN not in made.shares:
        table.append(Row(f"{LANGCHAIN} (not installed: pip install langchain-core)", 0))
    for name, by_budget in made.shares.items():
        for budget, share in by_budget.items():
            table += _rows(made, name, budget, share)
    return tuple(table)


def _rows(made: Carryover, name: str, budget: int, share: Share) -> list[Row]:
    facts, spans = f"{name}, {budget:,} tokens: facts", f"{name}, {budget:,} tokens: spans"
    if name != DIGEST:
        return [Row(facts, share.facts), Row(spans, share.spans)]
    best = made.best_other(budget)
    asked = budget in GOAL_BUDGETS
    least_facts = max(best.facts, FACT_GOAL) if asked else best.facts
    least_spans = best.spans * SPAN_GOAL if asked else best.spans
    return [
        Row(facts, share.facts, "", f"at least {least_facts:.2f}", share.facts >= least_facts),
        Row(spans, share.spans, "", f"at least {least_spans:.2f}", share.spans >= least_spans),
    ]


if __name__ == "__main__":
    whole = compared(Path(sys.argv[1]))
    sys.stdout.write(chart(whole) if whole is not None else "")
