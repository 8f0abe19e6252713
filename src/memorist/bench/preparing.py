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
from collections.abc import Sequence
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
    ours = await _costs(OURS, sizes)
    rows = [
        row
        for size in sizes
        for row in (
            Row(f"memorist at {size:,} tokens, median", ours[size].median, "µs"),
            Row(f"memorist at {size:,} tokens, mean", ours[size].mean, "µs"),
            Row(f"memorist at {size:,} tokens, mean with the notes in the background", ours[size].whole, "µs"),
        )
    ]
    flat = ours[sizes[-1]].median / ours[sizes[0]].median
    rows.append(Row(f"memorist: {sizes[-1]:,} to {sizes[0]:,} tokens, medians", flat, "times", f"at most {FLAT}", flat <= FLAT))
    rows.append(Row(f"memorist: {sizes[-1]:,} to {sizes[0]:,} tokens, means", ours[sizes[-1]].mean / ours[sizes[0]].mean, "times"))
    for way in others:
        rows += await _beside(way, ours)
    return Result("prepare", tuple(rows))


async def _beside(way: Way, ours: dict[int, Cost]) -> list[Row]:
    try:
        version = importlib.metadata.version(way.distribution)
    except importlib.metadata.PackageNotFoundError:
        return [Row(f"{way.name}: not measured, {way.distribution} is not installed", math.nan)]
    try:
        theirs = await _costs(way, tuple(ours))
    except ImportError as missing:
        return [Row(f"{way.name}: not measured, {way.distribution} {version} cannot be imported ({missing})", math.nan)]
    rows = []
    for size, cost in theirs.items():
        times = cost.median / ours[size].median
        what = f"{way.name} to memorist at {size:,} tokens"
        rows.append(Row(f"{way.name} ({version}) at {size:,} tokens, median", cost.median, "µs"))
        rows.append(Row(what, times, "times", f"at least {GOAL}", times >= GOAL) if size == COMPARED else Row(what, times, "times"))
    return rows


async def _costs(way: Way, sizes: Sequence[int]) -> dict[int, Cost]:
    """Conversations of all sizes take turns, in changing order, so that whatever else the machine does falls on all."""
    around: dict[int, list[float]] = {size: [] for size in sizes}
    whole: dict[int, list[float]] = {size: [] for size in sizes}
    async with AsyncExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        grown: dict[int, Follower] = {}
        for size in sizes:
            folder = root / str(size)
            folder.mkdir()
            grown[size] = await way.begin(folder)
            stack.push_async_callback(grown[size].close)
            await grown[size].grow([_turn(number) for number in range(_first(size))])
        gc.collect()
        for step in range(TURNS):
            for place in range(len(sizes)):
                size = sizes[(step + place) % len(sizes)]
                turn = _turn(_first(size) + step)
                began = time.process_time()
                around[size].append(await grown[size].turn(turn))
                await grown[size].settle()
                whole[size].append(time.process_time() - began)
    return {
        size: Cost(statistics.median(around[size]) * 1e6, statistics.mean(around[size]) * 1e6, statistics.mean(whole[size]) * 1e6)
        for size in sizes
    }


def _first(size: int) -> int:
    """How many turns come before the timed ones."""
    return max(0, size // (2 * MESSAGE) - TURNS // 2)


def _turn(number: int) -> Turn:
    """No two messages are alike, all are equally long."""
    user, reply = (
        f"{who} {number} {_WORDS * (CHARACTERS * MESSAGE // len(_WORDS) + 1)}"[: CHARACTERS * MESSAGE] for who in ("user", "reply")
    )
    return Turn(user, reply, 2 * MESSAGE * number, 2 * MESSAGE)
