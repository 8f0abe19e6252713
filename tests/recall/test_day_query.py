"""A search by nothing but a day."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from memorist.recall.day_query import find_days_of_query
from memorist.recall.session_index import SessionIndex
from support.past_sessions import ROUNDING, TALK, write_session

NOW = time.mktime((2026, 11, 28, 12, 0, 0, 0, 0, -1))
"""A Saturday."""


@pytest.mark.covers("PS-1")
@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("2026-11-24", "11-24", ""),
        ("24 November", "11-24", ""),
        ("Nov 24, 2026", "11-24", ""),
        ("24.11.", "11-24", ""),
        ("11/24/2026", "11-24", ""),
        ("24 de noviembre", "11-24", ""),
        ("11月24日", "11-24", ""),
        ("last tuesday", "11-24", ""),
        ("letzten Dienstag", "11-24", ""),
        ("on friday", "11-27", ""),
        ("gestern", "11-27", ""),
        ("昨天", "11-27", ""),
        ("What did we do yesterday?", "11-27", ""),
        ("Was haben wir gestern gemacht?", "11-27", ""),
        ("3 days ago", "11-25", ""),
        ("Was haben wir am Dienstag gemacht?", "11-24", ""),
        ("Qu'est-ce qu'on a fait hier ?", "11-27", ""),
        ("Que s'est-il passé aujourd'hui ?", "11-28", ""),
        ("Cosa abbiamo fatto ieri?", "11-27", ""),
        ("2026-11-24 to 2026-11-20", "11-20", "11-24"),
        ("last week", "11-16", "11-22"),
        ("November 2026", "11-01", "11-30"),
    ],
)
def test_a_day_is_read_in_the_forms_that_are_typed(query: str, first: str, last: str) -> None:
    """Absolute or relative, alone or in a question that says nothing else."""
    days = date.fromisoformat(f"2026-{first}"), date.fromisoformat(f"2026-{last or first}")
    assert find_days_of_query(query, NOW) == days


@pytest.mark.covers("PS-1")
def test_a_day_without_a_year_is_not_to_come() -> None:
    """The latest one."""
    assert find_days_of_query("12 Dezember", NOW) == (date(2025, 12, 12),) * 2


@pytest.mark.covers("PS-1")
@pytest.mark.parametrize(
    "query",
    [
        "yesterday's rounding decision", "was ist hier passiert?", "rounding 2026-11-24", "1.2.3", "python 3.11", "may",
        "version 2.4.", "31/02/2026", "29 february", "march", "10.0.0.1", "", "2026", "third",
        "9999-12-31", "0001-01-01",
    ],
)  # fmt: skip
def test_other_words_numbers_and_versions_are_no_day(query: str) -> None:
    """They are searched like any other."""
    assert find_days_of_query(query, NOW) is None


@pytest.mark.covers("PS-1")
def test_a_search_by_a_day_finds_what_was_said_on_it(tmp_path: Path) -> None:
    """In order of time, of each session something; a day on which nothing was said finds the turns
    that name it as the query does.
    """
    sessions = [
        write_session(tmp_path, "b", ROUNDING, 5),
        write_session(tmp_path, "c", TALK, 5),
        write_session(tmp_path, "d", [("Is 2026-11-20 the day of the release?", "It is.")], 6),
    ]
    with closing(SessionIndex(tmp_path / "i" / "index")) as index:
        index.sync(sessions)
        found = {
            query: [(each.session, each.passage.line) for each in index.search(query, 2)]
            for query in ("2026-11-05", "2026-11-06", "2026-11-20", "2026-11-21")
        }

    assert found == {
        "2026-11-05": [("b", 1), ("c", 1)],
        "2026-11-06": [("d", 1)],
        "2026-11-20": [("d", 1)],
        "2026-11-21": [],
    }
