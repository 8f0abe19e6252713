"""Days on the command line, and a search of the sessions since one."""

from __future__ import annotations

import json
import os
from datetime import date, datetime, timedelta
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from memorist.cli.main import memorist_group
from memorist.cli.search_command import DayParameter
from memorist.errors import InputError
from memorist.platforms.user_home import describe_foreign_home
from rollouts.conftest import claude


def find_today() -> date:
    """Asked by each test: the tests of one run may be read on one day and run on the next."""
    return datetime.now().astimezone().date()


def test_a_day_is_a_date() -> None:
    """As people write it; a day that was converted stays as it is."""
    parameter, day = DayParameter(), date(2026, 2, 3)

    assert parameter.convert("2026-02-03", None, None) == day
    assert parameter.convert(day, None, None) == day


@pytest.mark.parametrize(
    ("written", "days"), [("7d", 7), ("2 weeks ago", 14), ("Yesterday", 1), ("last week", 7)]
)
def test_a_day_is_how_long_ago(written: str, days: int) -> None:
    """Counted back from today, which midnight may change meanwhile."""
    before, day = find_today(), DayParameter().convert(written, None, None)

    assert day + timedelta(days=days) in (before, find_today())


@pytest.mark.parametrize("written", ["soon", "20.11.2026", "2026-02-30", "9999y", ""])
def test_what_is_no_day_says_what_is_one(written: str) -> None:
    """The message shows how to write it."""
    with pytest.raises(click.BadParameter, match="is no day; say 2026-11-20, 7d"):
        DayParameter().convert(written, None, None)


def test_a_year_is_twelve_months() -> None:
    """Counted by the calendar, not by thirty days."""
    assert DayParameter().convert("12m", None, None) == DayParameter().convert("1y", None, None)


def test_a_search_keeps_what_was_said_since_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asked "what did we decide last week" got the decision of two months before first."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    folder = tmp_path / ".claude" / "projects" / "shop"
    folder.mkdir(parents=True)
    today = find_today()
    for name, day in (("old", today - timedelta(days=60)), ("new", today - timedelta(days=3))):
        claude(
            folder / f"{name}.jsonl",
            [f"The database is decided: {name}."],
            session=name,
            at=f"{day}T10:00:00.000Z",
            cwd=str(project),
        )

    def find(*options: str) -> list[str]:
        words = ["search", "database decided", "--json", *options]
        found = json.loads(CliRunner().invoke(memorist_group, words).stdout)
        return sorted(each["session"] for each in found["passages"])

    assert find() == ["new", "old"]
    assert find("--since", "last week") == ["new"]
    assert find("--since", "1d") == []


def test_a_session_whose_recording_was_deleted_is_named_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients delete their files after a month: it was said that no session is called so, and that
    the list shows them, which listed it.
    """
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    recording = tmp_path / ".claude" / "projects" / "x" / "gone-1.jsonl"
    recording.parent.mkdir(parents=True)
    claude(recording, ["Where is the till?"], session="gone-1", cwd=str(tmp_path))
    CliRunner().invoke(memorist_group, ["search", "till"])
    recording.unlink()

    done = CliRunner().invoke(memorist_group, ["handoff", "gone-1"])

    assert isinstance(done.exception, InputError)
    assert "its recording is no longer there" in str(done.exception)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives a file away"
)
def test_root_in_the_home_of_a_user_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`sudo memorist setup` leaves files that the user's agents cannot write."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert describe_foreign_home() == ""

    os.chown(tmp_path, 1234, 1234)

    assert "belongs to user 1234" in describe_foreign_home()
