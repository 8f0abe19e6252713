"""What a sync tells of what ended and what waits."""

from __future__ import annotations

import pytest

from memorist.rollouts.job_worker import FinishedJob, JobNotClaimed
from memorist.rollouts.rollout_sync_report import (
    build_structural_fallback_remarks,
    split_finished_and_deferred_jobs,
)
from memorist.store.extract_rows import StoredExtract
from memorist.store.job_claim_rules import JobClaimRefused
from store.claiming import NOW, extract


@pytest.mark.covers("RO-2", "SG-1")
def test_what_was_given_back_waits_and_what_ended_did_not() -> None:
    """A failure of before is told as one, with the time of the next attempt and how not to wait for
    it; what is done anew is no news of it.
    """
    kept = FinishedJob(kind="extract", key="a", outcome="kept", seconds=1.0)
    put_off = FinishedJob(
        kind="extract", key="b", outcome="released", seconds=1.0, reason="the cap is reached"
    )
    failed = JobNotClaimed(
        kind="consolidate",
        refused=JobClaimRefused(key="global", why="backoff", until=NOW, reason="there are links"),
    )
    full = JobNotClaimed(kind="extract", refused=JobClaimRefused(key="c", why="full"))
    done, waits = split_finished_and_deferred_jobs([kept, put_off, failed, full])

    assert done == [kept]
    assert [each.thread for each in waits] == ["b", "global", "c"]
    assert waits[0].why == "the cap is reached"
    assert (
        waits[1].why
        == "waits until 08:00 UTC, or for `memorist rollouts retry`, since it could not be "
        "done before: there are links"
    )
    assert waits[2].why == "full"


@pytest.mark.covers("RO-4")
def test_structure_in_a_models_place_is_told_for_the_sessions_of_this_run_only() -> None:
    """How many, and the first reason; nothing where the model made all of them."""
    rows = [
        StoredExtract(extracted=extract(id, problem=why))
        for id, why in (("a", ""), ("b", "no JSON"), ("c", "no JSON"), ("old", "no model"))
    ]

    assert build_structural_fallback_remarks(rows, {"a", "b", "c"}) == [
        "2 extracted without the model; the first because no JSON"
    ]
    assert build_structural_fallback_remarks(rows, {"a"}) == []
