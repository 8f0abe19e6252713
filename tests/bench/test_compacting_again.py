"""The measure of what later compactions of a session keep."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import compacting_again
from benchmarks.compacting_again import WAYS, measure_session, read_history

SESSION = Path(__file__).parents[2] / "examples/sessions/codex-invoice-rounding.jsonl"

pytestmark = pytest.mark.covers("CP-15")


@pytest.mark.slow
def test_each_way_is_measured_at_the_same_kind_of_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A made-up session that is compacted often enough: shares are between 0 and 1."""
    monkeypatch.setattr(compacting_again, "THRESHOLD", 6_000)
    monkeypatch.setattr(compacting_again, "BUDGET", 2_000)
    cwd, messages = read_history(SESSION)

    found = {name: list(measure_session(cwd, messages, way)) for name, way in WAYS.items()}

    assert all(found.values())
    for kept in found.values():
        assert all(0 <= each.facts <= 1 and 0 <= each.spans <= 1 for each in kept)
