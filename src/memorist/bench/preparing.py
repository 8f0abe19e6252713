"""What a turn costs beside what LangChain's summarisation middleware and the OpenAI Agents SDK's session take for the same messages (EN-1).

Made-up conversations of 10,000, 200,000 and 2,000,000 tokens go on for some turns, each a message of the user and a reply. Only what a library does
around the call of the model is timed, in processor time: other programs on the machine are not counted, and neither is waiting for the disk, which
favours the session that commits to a file on each turn. No history is ever compacted or summarised.

The others are measured where they are installed beside memorist, `pip install langchain openai-agents`; written against langchain 1.4.7 with
langchain-core 1.7.2, and openai-agents 0.24.0. They need no key and no network.
"""

from __future__ import annotations

import asyncio
import gc
import importlib.metadata
import math
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from msgspec import Struct

from memorist.bench.preparing_ways import OTHERS, OURS, Follower, Turn, Way
from memorist.bench.result import Result, Row

SIZES = (10_000, 200_000, 2_000_000)
COMPARED = 200_000
"""Tokens of the conversation for which the goal against the others holds."""
TURNS = 40
"""Timed ones; half of them stand before a conversation's nominal size and half after it, so that the median is at that size."""
BLOCK = 5
"""Turns with one library before the next has its own: enough that most find the processor's caches warm."""
MESSAGE = 250
"""Tokens of a message: between the means of the recorded sessions of two coding agents, 258 and 198."""
CHARACTERS = 4
"""Of a token."""
GOAL, FLAT = 20, 1.2
_WORDS = "the quick agent reads a file and writes what it found into the notes of the session "


class Cost(Struct, frozen=True):
    """Microseconds of a turn: the median around the call of the model; the mean of that; and the mean with what ran in the background."""

    median: float
    mean: float
    whole: float


def measure(data: Path) -> Result:
    """Time turns of short and long conversations with each library. Needs no data; takes less than a minute."""
    del data
    return asyncio.run(compare(SIZES, OTHERS))


async def compare(sizes: Sequence[int], others: Sequence[Way]) -> Result:
    """The rows for these sizes in tokens, ascending. An other library that is not there has one row, which says so."""
    async with AsyncExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ours = await _grown(OURS, sizes, root / "ours", stack)
        theirs: dict[str, _Timed] = {}
        absent: dict[str, Row] = {}
        for number, way in enumerate(others):
            try:
                version = importlib.metadata.version(way.distribution)
                theirs[f"{way.name} ({version})"] = await _grown(way, sizes, root / str(number), stack)
            except importlib.metadata.PackageNotFoundError:
                absent[way.name] = Row(f"{way.name}: not measured, {way.distribution} is not installed", math.nan)
            except ImportError as missing:
                absent[way.name] = Row(f"{way.name}: not measured, {way.distribution} cannot be imported ({missing})", math.nan)
        gc.collect()
        await _time([ours, *theirs.values()], sizes)
    costs = {size: ours.cost(size) for size in sizes}
    rows = _own(costs, sizes)
    for name, timed in theirs.items():
        rows += _beside(name, {size: timed.cost(size) for size in sizes}, costs)
    return Result("prepare", (*rows, *absent.values()))


def _own(ours: Mapping[int, Cost], sizes: Sequence[int]) -> list[Row]:
    rows = [
        row
        for size in sizes
        for row in (
            Row(f"memorist at {size:,} tokens, median", ours[size].median, "µs"),
            Row(f"memorist at {size:,} tokens, mean", ours[size].mean, "µs"),
            Row(f"memorist at {size:,} tokens, mean with the notes in the background", ours[size].whole, "µs"),
        )
    ]
    first, last = ours[sizes[0]], ours[sizes[-1]]
    what = f"memorist: {sizes[-1]:,} to {sizes[0]:,} tokens"
    flat = last.median / first.median
    rows.append(Row(f"{what}, medians", flat, "times", f"at most {FLAT}", flat <= FLAT))
    rows.append(Row(f"{what}, means", last.mean / first.mean, "times"))
    return rows


def _beside(name: str, theirs: Mapping[int, Cost], ours: Mapping[int, Cost]) -> list[Row]:
    rows = []
    for size, cost in theirs.items():
        times = cost.median / ours[size].median
        what = f"{name} to memorist at {size:,} tokens"
        rows.append(Row(f"{name} at {size:,} tokens, median", cost.median, "µs"))
        rows.append(Row(what, times, "times", f"at least {GOAL}", times >= GOAL) if size == COMPARED else Row(what, times, "times"))
    return rows


class _Timed:
    """Conversations with one library, by their size, and the seconds that their turns took: around the call of the model, and in all."""

    def __init__(self) -> None:
        self.grown: dict[int, Follower] = {}
        self.around: dict[int, list[float]] = defaultdict(list)
        self.whole: dict[int, list[float]] = defaultdict(list)

    def cost(self, size: int) -> Cost:
        around = self.around[size]
        return Cost(statistics.median(around) * 1e6, statistics.mean(around) * 1e6, statistics.mean(self.whole[size]) * 1e6)

    async def turn(self, size: int, turn: Turn) -> None:
        began = time.process_time()
        self.around[size].append(await self.grown[size].turn(turn))
        await self.grown[size].settle()
        self.whole[size].append(time.process_time() - began)


async def _grown(way: Way, sizes: Sequence[int], folder: Path, stack: AsyncExitStack) -> _Timed:
    timed = _Timed()
    for size in sizes:
        home = folder / str(size)
        home.mkdir(parents=True)
        timed.grown[size] = await way.begin(home)
        stack.push_async_callback(timed.grown[size].close)
        await timed.grown[size].grow([_turn(number) for number in range(_first(size))])
    return timed


async def _time(all_timed: Sequence[_Timed], sizes: Sequence[int]) -> None:
    """The libraries take turns a few at a time, and the sizes in changing order, so that a slower minute of the machine falls on all."""
    for start in range(0, TURNS, BLOCK):
        for timed in all_timed:
            for step in range(start, start + BLOCK):
                for place in range(len(sizes)):
                    size = sizes[(step + place) % len(sizes)]
                    await timed.turn(size, _turn(_first(size) + step))


def _first(size: int) -> int:
    """How many turns come before the timed ones."""
    return max(0, size // (2 * MESSAGE) - TURNS // 2)


def _turn(number: int) -> Turn:
    """No two messages are alike, all are equally long."""
    user, reply = (
        f"{who} {number} {_WORDS * (CHARACTERS * MESSAGE // len(_WORDS) + 1)}"[: CHARACTERS * MESSAGE] for who in ("user", "reply")
    )
    return Turn(user, reply, 2 * MESSAGE * number, 2 * MESSAGE)
