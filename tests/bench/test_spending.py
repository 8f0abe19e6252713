"""The measure of the spend governor."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import spending


@pytest.mark.covers("SG-1")
def test_the_table_has_both_times_their_growth_and_the_goal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Four rows; the goal is that of reading; every asking that is measured was granted and
    counted.
    """
    monkeypatch.setattr(spending, "MANY", 300)
    monkeypatch.setattr(spending, "ASKED", 20)

    rows = spending.measure(tmp_path).rows

    assert [bool(row.goal) for row in rows] == [True, False, False, False]
    assert all(row.figure > 0 for row in rows)
    assert "300 receipts" in rows[0].what
