"""What counts as the next run of a prompt that a schedule sends."""

from __future__ import annotations

import pytest

from memorist.recall.scheduled_prompt import is_same_but_for_numbers

LIMIT = 200


@pytest.mark.parametrize(
    ("earlier", "prompt"),
    [
        ("Write the daily report for 2026-11-26.", "Write the daily report for 2026-11-27."),
        ("Review PR #998: run its tests", "Review PR #1002: run its tests"),
        (
            "Today is Thursday, November 26th, 2026. Look at the backups.",
            "Today is Tuesday, December 1st, 2026. Look at the backups.",
        ),
        (
            "Heute ist Donnerstag, der 26. November. Prüfe die Sicherungen.",
            "Heute ist Dienstag, der 1. Dezember. Prüfe die Sicherungen.",
        ),
        (
            "It is Sat Oct 24 03:00:01 CEST 2026: triage the queue",
            "It is Sun Oct 25 03:00:02 CET 2026: triage the queue",
        ),
        ("Triage commit 3f2a91c now", "Triage commit b81d0ee now"),
        (
            "Go on with job 123e4567-e89b-12d3-a456-426614174000",
            "Go on with job 9f0e4567-aaaa-12d3-b456-426614174fff",
        ),
        ("Read the logs since 9:00 PM", "Read the logs since 10:00 am"),
        ("2026年11月26日(木曜日)の日報を書いて", "2026年12月1日(火曜日)の日報を書いて"),
        ("写日报 2026年11月26日 星期四", "写日报 2026年11月27日 星期五"),
        (
            "Queue of 9 jobs. " + "Look at each. " * 30,
            "Queue of 1234 jobs. " + "Look at each. " * 30,
        ),
        ("12", "12"),
    ],
)
def test_the_next_run_has_the_same_words(earlier: str, prompt: str) -> None:
    """With another day, number, id or time; of a long one, as far as it was kept."""
    assert is_same_but_for_numbers(prompt, earlier[:LIMIT], LIMIT)


@pytest.mark.parametrize(
    ("earlier", "prompt"),
    [
        ("12", "13"),
        ("Mend the login page", "Mend the settings page"),
        ("Fix issue 12", "Review issue 13"),
        ("Test 3 pages, the last first", "Test 3 pages, the first last"),
    ],
)
def test_another_task_is_no_next_run(earlier: str, prompt: str) -> None:
    """Its words differ, or nothing but the number says what it is."""
    assert not is_same_but_for_numbers(prompt, earlier, LIMIT)
