"""Which sessions are consolidated."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.rollouts.stage_two import select_extracts_to_consolidate
from memorist.store.extract_rows import RolloutExtract, StoredExtract

DAY = 86_400
NOW = 100 * DAY


def kept(
    thread: str, *, updated: int = NOW, uses: int = 0, last_use: int | None = None, raw: str = "x"
) -> StoredExtract:
    return StoredExtract(
        extracted=RolloutExtract(thread=thread, updated=updated, raw_memory=raw, generated=updated),
        uses=uses,
        last_use=last_use,
    )


def chosen(rows: list[StoredExtract], limit: int = 256) -> list[str]:
    return [
        row.extracted.thread
        for row in select_extracts_to_consolidate(rows, limit=limit, unused_days=30, now=NOW)
    ]


@pytest.mark.covers("RO-5")
def test_use_comes_before_recency() -> None:
    """What was cited more often stays when there is no room for all."""
    rows = [
        kept("new"),
        kept("used", updated=NOW - 50 * DAY, uses=3, last_use=NOW - DAY),
        kept("newer", updated=NOW + 1),
    ]

    assert chosen(rows, 1) == ["used"]
    assert chosen(rows, 2) == ["newer", "used"]


@pytest.mark.covers("RO-5")
def test_what_nobody_used_for_long_is_left_out() -> None:
    """Thirty days since the last use, or, where it was never used, since the session or its
    extraction; the border counts.
    """
    border = NOW - 30 * DAY
    rows = [
        kept("fresh", updated=border),
        kept("old", updated=border - 1),
        kept("once", uses=9, last_use=border - 1),
        kept("again", updated=0, uses=1, last_use=border),
        StoredExtract(
            extracted=RolloutExtract(thread="imported", updated=0, raw_memory="x", generated=border)
        ),
    ]

    assert chosen(rows) == ["again", "fresh", "imported"]


@pytest.mark.covers("RO-5")
def test_an_extract_without_content_is_no_session_to_consolidate() -> None:
    """A remembered no-op gives nothing."""
    assert chosen([kept("a", raw=" \n")]) == []


@pytest.mark.covers("RO-5")
@settings(deadline=None)
@given(
    st.permutations(
        [kept(name, uses=uses) for name, uses in zip("abcdef", (0, 0, 2, 1, 1, 0), strict=True)]
    ),
    st.integers(0, 7),
)
def test_the_order_of_the_rows_decides_nothing(rows: list[StoredExtract], limit: int) -> None:
    """The same rows in any order give the same selection, by ascending id."""
    found = chosen(rows, limit)

    assert found == sorted(found)
    assert found == chosen(rows[::-1], limit)
    assert len(found) == min(limit, 6)
