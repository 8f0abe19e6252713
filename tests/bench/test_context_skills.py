"""The rows on skills."""

from __future__ import annotations

import pytest

from benchmarks.context import skills_rows


@pytest.mark.covers("SK-2")
def test_twenty_skills_are_measured_and_all_listed() -> None:
    """Each row has its figure; the catalogue leaves none out and keeps its budget."""
    rows = skills_rows(20)

    assert [row.met for row in rows] == [None, None, None, None, True, True]
    assert rows[4].figure == 20
    assert 0 < rows[5].figure <= 4_000
