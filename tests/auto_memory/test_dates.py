"""Relative dates become absolute, and nothing else changes."""

from __future__ import annotations

import re
import time
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memorist.auto_memory.memory_file import parse_memory_file
from memorist.auto_memory.relative_dates import make_dates_absolute
from memorist.auto_memory.statement_changes import plan_new_memory
from memorist.auto_memory.statements.statement_parser import find_statements
from memorist.core.messages import Message, Origin, TextBlock
from memorist.recall.session_passages import format_day

pytestmark = pytest.mark.covers("AM-12")

WEDNESDAY = datetime(2026, 3, 4, 12, tzinfo=UTC).timestamp()
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MOMENTS = st.integers(631_152_000, 3_786_912_000).map(
    lambda second: datetime.fromtimestamp(second, UTC)
)
WORDS = st.sampled_from(
    [
        "tomorrow",
        "next Friday",
        "in two weeks",
        "the",
        "end of month",
        "3 days ago",
        "`today`",
        "last week",
        "every Friday",
        "2026-03-05",
        "(",
        ")",
        "明天",
        "下周五",
        "三天后",
        "月底",
        "以后天天",
        "，",
    ]
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the demo is tomorrow", "the demo is 2026-03-05 (tomorrow)"),
        ("tomorrow's demo", "2026-03-05 (tomorrow's) demo"),
        ("the day after tomorrow", "2026-03-06 (the day after tomorrow)"),
        ("due next Friday", "due 2026-03-13 (next Friday)"),
        ("since last Monday", "since 2026-03-02 (last Monday)"),
        ("this Friday", "2026-03-06 (this Friday)"),
        ("coming Wednesday", "2026-03-11 (coming Wednesday)"),
        ("in two weeks", "2026-03-18 (in two weeks)"),
        ("in 11 months", "2027-02-04 (in 11 months)"),
        ("three days ago", "2026-03-01 (three days ago)"),
        ("a year from now", "2027-03-04 (a year from now)"),
        ("by end of month", "by 2026-03-31 (end of month)"),
        ("by the end of next quarter", "by 2026-06-30 (the end of next quarter)"),
        ("next week", "2026-03-09 to 2026-03-15 (next week)"),
        ("next month", "2026-04 (next month)"),
        ("next year", "2027 (next year)"),
        ("明天上线", "2026-03-05（明天）上线"),
        ("下周五之前", "2026-03-13（下周五）之前"),
        ("三天后发布", "2026-03-07（三天后）发布"),
        ("两个月后", "2026-05-04（两个月后）"),
        ("下个月15号截止", "2026-04-15（下个月15号）截止"),
        ("月底前完成", "2026-03-31（月底）前完成"),
        ("明年", "2027（明年）"),
        ("ab nächster Woche", "ab 2026-03-09 to 2026-03-15 (nächster Woche)"),
        ("le mois prochain", "le 2026-04 (mois prochain)"),
        ("desde la próxima semana", "desde la 2026-03-09 to 2026-03-15 (próxima semana)"),
        ("a partir do mês que vem", "a partir do 2026-04 (mês que vem)"),
        ("в следующем году", "в 2027 (следующем году)"),
        ("завтра релиз", "2026-03-05 (завтра) релиз"),
        ("来週からpnpm", "2026-03-09 to 2026-03-15（来週）からpnpm"),
    ],
)
def test_a_relative_date_is_put_behind_its_absolute_one(text: str, expected: str) -> None:
    """Said on Wednesday, 4 March 2026; weeks begin on Monday."""
    assert make_dates_absolute(text, WEDNESDAY) == expected


@pytest.mark.parametrize(
    "text",
    [
        "every Friday",
        "on Friday",
        "soon",
        "in a few days",
        "`tomorrow`",
        'the button says "tomorrow"',
        "in 9999 years",
        "tomorrow_job",
        "/var/log/yesterday",
        "today()",
        "the tab 'today'",
        "the last Friday of the month",
        "we close the books at the end of the month",
        "Back up at the end of the week.",
        "每月底对账",
        "3月底",
        "以后天天跑",
        "下个月40号",
        "三天后端开发",
        "guten Morgen",
        "с завтрака",
        "por la mañana",
    ],
)
def test_what_is_ambiguous_quoted_or_no_date_is_left_alone(text: str) -> None:
    """A wrong date is worse than a relative one."""
    assert make_dates_absolute(text, WEDNESDAY) == text


@pytest.mark.parametrize(
    ("zone", "expected"), [("JST-9", "2026-03-06"), ("HST10", "2026-03-05"), ("UTC0", "2026-03-05")]
)
def test_a_day_is_that_of_the_users_time_zone(
    zone: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half past four in the afternoon of 4 March in UTC is past midnight in Tokyo."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        said = datetime(2026, 3, 4, 16, 30, tzinfo=UTC).timestamp()

        assert make_dates_absolute("the demo is tomorrow", said).startswith(
            f"the demo is {expected}"
        )
        assert format_day(said) == f"{date.fromisoformat(expected) - timedelta(days=1)}"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("timestamp", [None, float("nan"), float("inf"), 1e18, -1e18])
def test_without_a_day_in_the_calendar_nothing_changes(timestamp: float | None) -> None:
    """A transcript may lack times or hold nonsense."""
    assert make_dates_absolute("due tomorrow", timestamp) == "due tomorrow"


@given(st.lists(WORDS, max_size=12).map(" ".join), MOMENTS, MOMENTS)
def test_a_second_pass_changes_nothing(text: str, first: datetime, second: datetime) -> None:
    """Not even on another day: a memory may go through more than once."""
    once = make_dates_absolute(text, first.timestamp())

    assert make_dates_absolute(once, second.timestamp()) == once


@given(st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=12).map(" ".join)), MOMENTS)
def test_the_own_words_stay(text: str, moment: datetime) -> None:
    """Taking out what was put in gives the text back (texts that hold such brackets of their own
    are left out).
    """
    put = make_dates_absolute(text, moment.timestamp())
    assume(not re.search(r"\d{4}.*[(（]", text))
    back = re.sub(
        r"\d{4}(?:-\d\d){0,2}(?: to \d{4}-\d\d-\d\d)?(?: \(([^()]*)\)|（([^（）]*)）)",
        lambda match: match[1] or match[2],
        put,
    )

    assert back == text


@given(st.sampled_from(DAYS), MOMENTS)
def test_a_named_weekday_is_that_weekday(day: str, moment: datetime) -> None:
    """And it lies in the week that was named: ahead for `coming`, behind for `last`, in the next
    week for `next`.
    """
    today = moment.date()

    def read(which: str) -> date:
        return date.fromisoformat(make_dates_absolute(f"{which} {day}", moment.timestamp())[:10])

    assert {read(which).strftime("%A") for which in ("next", "last", "this", "coming")} == {day}
    assert timedelta(0) < read("coming") - today <= timedelta(7)
    assert timedelta(0) < today - read("last") <= timedelta(7)
    assert read("next").isocalendar()[:2] == (today + timedelta(7)).isocalendar()[:2]


@given(st.integers(1, 400), MOMENTS)
def test_so_many_days_on_are_so_many_days(count: int, moment: datetime) -> None:
    """Both languages, both directions."""
    stamp, today = moment.timestamp(), moment.date()

    assert make_dates_absolute(f"in {count} days", stamp).startswith(
        (today + timedelta(count)).isoformat()
    )
    assert make_dates_absolute(f"{count}天后", stamp).startswith(
        (today + timedelta(count)).isoformat()
    )
    assert make_dates_absolute(f"{count} days ago", stamp).startswith(
        (today - timedelta(count)).isoformat()
    )


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("delete logs in 30 days", "delete logs in 30 days"),
        ("every release note names last month", "every release note names last month"),
        ("use the old API until next Friday", "use the old API until 2026-03-13 (next Friday)"),
        ("the freeze ends in two weeks", "the freeze ends 2026-03-18 (in two weeks)"),
        (
            "from next month on the backup runs every night",
            "from 2026-04 (next month) on the backup runs every night",
        ),
    ],
)
def test_a_rule_is_not_about_the_day_on_which_it_was_said(said: str, kept: str) -> None:
    """A deadline is: it got a date, and so did what is to be done again and again. The line of the
    index has it too: "the release is tomorrow" stood there for months.
    """
    text = TextBlock(f"Please remember: {said}")
    message = Message(id="m1", role="user", blocks=(text,), origin=Origin.USER, is_typed=True)
    (found,) = find_statements(message)
    change = plan_new_memory(found, lambda _: None, session="s", timestamp=WEDNESDAY)

    made = parse_memory_file(change.path, change.after or b"")
    assert (made.body, made.description) == (kept, kept)
