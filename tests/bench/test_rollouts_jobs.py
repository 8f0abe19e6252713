"""The benches of jobs and workers: what they show is what they measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import rollouts
from benchmarks.report import BenchResult, BenchRow


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
