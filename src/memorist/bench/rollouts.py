"""Rollout memory: the measurements of its parts, one after another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from memorist.bench import rollouts_jobs, rollouts_workers
from memorist.bench.result import Result

PARTS: list[Callable[[Path], Result]] = [
    rollouts_jobs.measure,
    rollouts_workers.measure,
]


def measure(data: Path) -> Result:
    """Every part; one that could not be measured is left out, and takes its own bench's word for it."""
    found = [part(data) for part in PARTS]
    rows = tuple(row for each in found for row in each.rows)
    return Result("rollouts", rows, absent="" if rows else "; ".join(each.absent for each in found))
