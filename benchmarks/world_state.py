"""What a turn without changes costs, and how normalisation grows with the history (CX-3, CX-5):
rows for `make bench NAME=context`.

Everything is made up and in memory. Processor time is taken, the least of some runs; ratios are of
two sizes in one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.report import BenchRow
from memorist.context.history_repair import normalize_history
from memorist.context.world_state import (
    EMPTY_WORLD_STATE,
    WorldSection,
    diff_world_state,
    make_title_renderer,
)
from memorist.core.messages import Message, Origin, TextBlock, ToolResult, ToolUse

TURN_MILLISECONDS = 1.0
"""Goal for a turn without changes, at any length of history."""
SECTIONS, SKILLS = 12, 200
TURNS = (0, 1_000, 10_000)
"""Turns that went before, each with a change."""
ITEMS = (10_000, 100_000)
LINEAR = 15.0
"""Times that ten times the items may take: ten, and half as much again for a processor whose caches
no longer hold them.
"""
RUNS = 5


def world_rows(sizes: Sequence[int] = ITEMS, turns: Sequence[int] = TURNS) -> list[BenchRow]:
    """The rows, for these two sizes in items, ascending, and these numbers of turns."""
    return [
        *_turn_rows(turns),
        *(
            row
            for name in ("anthropic", "openai_responses", "openai_chat")
            for row in _growth(name, sizes)
        ),
    ]


def _sections(turn: int) -> list[WorldSection]:
    """A usual set of surroundings, with a catalogue of skills as the largest."""
    few = [
        WorldSection(
            f"section-{number}",
            {"value": "word " * 50, "number": number},
            make_title_renderer("section"),
        )
        for number in range(SECTIONS)
    ]
    skills = {
        f"skill-{number}": f"what skill {number} is for, in a sentence of usual length"
        for number in range(SKILLS)
    }
    return [
        *few,
        WorldSection("cwd", f"/home/dev/{turn}", make_title_renderer("folder")),
        WorldSection("skills", skills, make_title_renderer("skills")),
    ]


def _turn_rows(turns: Sequence[int]) -> list[BenchRow]:
    rows = []
    for count in turns:
        state = EMPTY_WORLD_STATE
        for turn in range(count + 1):
            state = diff_world_state(state, _sections(turn)).state
        taken = _least(partial(diff_world_state, state, _sections(count)), 100) * 1_000
        goal = f"under {TURN_MILLISECONDS:g}"
        rows.append(
            BenchRow(
                f"a turn without changes after {count:,} turns",
                taken,
                "ms",
                goal,
                taken < TURN_MILLISECONDS,
            )
        )
    return rows


def _growth(name: str, sizes: Sequence[int]) -> list[BenchRow]:
    """Half of the items are messages in order; the rest are calls without output, outputs without a
    call, and outputs that stand too late.
    """
    # As much work for either size: what else the machine does then counts alike.
    taken = [
        _least(partial(normalize_history, _history(size), name), sizes[-1] // size)
        for size in sizes
    ]
    times = taken[-1] / taken[0]
    return [
        BenchRow(f"normalisation of {sizes[-1]:,} items for {name}", taken[-1] * 1_000, "ms"),
        BenchRow(
            f"normalisation for {name}: {sizes[-1]:,} to {sizes[0]:,} items",
            times,
            "times",
            f"at most {LINEAR:g}",
            times <= LINEAR,
        ),
    ]


def _history(items: int) -> list[Message]:
    found: list[Message] = []
    while len(found) < items:
        name = f"call-{len(found)}"
        found += [
            Message(
                id=f"a{name}",
                role="assistant",
                blocks=(TextBlock("Look."), ToolUse(name, "Read", {"path": "x"})),
                origin=Origin.MODEL,
            ),
            Message(
                id=f"b{name}",
                role="tool",
                blocks=(ToolResult(name, (TextBlock("what it holds"),)),),
                origin=Origin.TOOL,
            ),
            Message(
                id=f"c{name}",
                role="assistant",
                blocks=(ToolUse(f"{name}-open", "Read", {}),),
                origin=Origin.MODEL,
            ),
            Message(
                id=f"d{name}",
                role="user",
                blocks=(TextBlock("Stop."),),
                origin=Origin.USER,
                is_typed=True,
            ),
            Message(
                id=f"e{name}",
                role="tool",
                blocks=(ToolResult(f"{name}-orphan", (TextBlock("late"),)),),
                origin=Origin.TOOL,
            ),
        ]
    return found[:items]


def _least(work: Callable[[], object], times: int) -> float:
    """Seconds of processor time for one call, the least of some runs."""
    best = float("inf")
    for _ in range(RUNS):
        began = time.process_time()
        for _ in range(times):
            work()
        best = min(best, (time.process_time() - began) / times)
    return best
