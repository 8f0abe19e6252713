"""What a program learns of past sessions as memory without the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist.engine.rollout_pipeline import open_rollout_pipeline
from memorist.engine.rollout_status import (
    read_past_sessions_summary,
    read_rollout_status,
    report_session_extract,
)
from memorist.engine.rollout_store import open_rollout_store
from memorist.errors import NothingToDo
from memorist.settings import RolloutsSettings, Settings
from rollouts.conftest import claude


@pytest.mark.covers("RO-1", "RO-4")
async def test_a_program_reads_what_became_of_past_sessions(tmp_path: Path) -> None:
    """How many are known and due, then how many held nothing and what was made of one, by the start of its id; an id that
    nothing has, and a summary before the first consolidation, are named as such.
    """
    claude(tmp_path / "one", ["Mend the till. Always run the linter.", "Thanks."], session="c1")
    claude(tmp_path / "two", ["init"], session="d1")
    settings = Settings(
        home=str(tmp_path / "home"),
        rollouts=RolloutsSettings(max_age_days=10_000, min_idle_hours=1),
    )
    async with open_rollout_pipeline(settings) as pipeline:
        pipeline.find_sessions([tmp_path], is_mine=True)
        with open_rollout_store(settings) as store:
            before = read_rollout_status(store)
            with pytest.raises(NothingToDo, match="nothing was consolidated"):
                read_past_sessions_summary(store)
        await pipeline.sync(pipeline.plan_sync([tmp_path], is_mine=True))
    with open_rollout_store(settings) as store:
        after, report = read_rollout_status(store), report_session_extract(store, "c")
        with pytest.raises(NothingToDo, match="0 sessions begin with 'zz'"):
            report_session_extract(store, "zz")
        summary = read_past_sessions_summary(store)

    assert (before.sessions, before.due, before.extracts, before.no_op) == (2, 2, 0, 0)
    assert (after.sessions, after.due, after.extracts, after.no_op) == (2, 0, 1, 1)
    assert (report.thread, report.way, report.why_not) == (
        "c1",
        "structural",
        "nothing in it is new",
    )
    assert "Always run the linter" in report.text
    assert summary.text
