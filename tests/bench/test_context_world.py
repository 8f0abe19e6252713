"""The measurement of world state and normalisation itself works."""

from __future__ import annotations

from benchmarks.world_state import world_rows


def test_the_rows_name_their_goals() -> None:
    """A small run gives a row for each number of turns, and two for each wire format, with goals
    that can be missed.
    """
    rows = world_rows(sizes=(20, 40), turns=(0, 3))

    assert len(rows) == 2 + 2 * 3
    assert all(row.figure >= 0 for row in rows)
    assert [bool(row.goal) for row in rows] == [True, True, *[False, True] * 3]
