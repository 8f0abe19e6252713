"""The benches of jobs and workers: what they show is what they measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import rollouts
from benchmarks.report import BenchResult, BenchRow
from benchmarks.rollouts_workers import draw_workers_chart


def test_the_picture_tells_every_number_in_words_too() -> None:
    """Readers of the text get what the bars show."""
    text = draw_workers_chart([24.0, 12.0, 6.0])

    assert (
        "1 worker 120 a minute (24.0 s), 2 workers 240 a minute (12.0 s), 4 workers 480 a "
        "minute (6.0 s)</desc>" in text
    )


def test_a_part_that_cannot_be_measured_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their rows stand in order; only where none could be measured does the whole say why."""
    parts = [
        lambda _: BenchResult("a", (BenchRow("x", 1),)),
        lambda _: BenchResult("b", absent="no server"),
        lambda _: BenchResult("c", (BenchRow("y", 2),)),
    ]
    monkeypatch.setattr(rollouts, "PARTS", parts)
    some = rollouts.measure(Path())
    monkeypatch.setattr(rollouts, "PARTS", parts[1:2])
    none = rollouts.measure(Path())

    assert ([row.what for row in some.rows], some.absent) == (["x", "y"], "")
    assert (none.rows, none.absent) == ((), "no server")
