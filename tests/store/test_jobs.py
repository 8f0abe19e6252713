"""Claims: who may work on what, and what becomes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist.store.extract_rows import (
    StoredExtract,
    insert_missing_extracts,
    list_enabled_extracts,
)
from memorist.store.job_claim_rules import JobClaim, JobClaimPolicy, JobClaimRefused
from memorist.store.job_claims import (
    claim_consolidation,
    fail_job,
    finish_consolidation,
    finish_extraction,
    list_exhausted_jobs,
    list_failed_attempts,
    list_jobs,
    postpone_job,
    release_job,
    renew_lease,
    retry_jobs,
)
from memorist.store.rollout_rows import list_rollouts, save_rollouts
from store.claiming import DAY, HOUR, NOW, TERMS, claim, extract, opened, refused, thread


@pytest.mark.covers("RO-2")
def test_one_claims_and_finishes_and_then_it_is_up_to_date(tmp_path: Path) -> None:
    """The second worker is told who is at it until the first is done; then there is nothing to do."""
    state, _ = opened(tmp_path)
    first = claim(state)
    meanwhile = refused(state)
    done = finish_extraction(state, first, extract(), TERMS)

    assert (meanwhile.why, meanwhile.until, "one" in meanwhile.reason) == (
        "running",
        NOW + HOUR,
        True,
    )
    assert (done, refused(state).why) == ("kept", "up to date")
    assert [each.extracted for each in list_enabled_extracts(state)] == [extract()]


def test_who_is_at_it_is_named_for_a_user(tmp_path: Path) -> None:
    """By process and machine, without what tells it from later processes of its number."""
    state, _ = opened(tmp_path)
    claim(state, worker="vm:8451:27600930-53c7:4026531836:a719d2")

    assert refused(state).reason == "process 8451 on vm is at it"


@pytest.mark.covers("RO-2")
def test_a_dead_worker_holds_its_claim_no_longer_than_the_lease(tmp_path: Path) -> None:
    """At the lease's last second it is still held; after it another takes over, and the death is on
    record as a failed attempt.
    """
    state, clock = opened(tmp_path)
    first = claim(state)
    clock.advance(HOUR - 1)
    before = refused(state).why
    clock.advance(1)
    second = claim(state, worker="two")

    assert before == "running"
    assert (
        finish_extraction(state, first, extract(), TERMS),
        renew_lease(state, first, TERMS),
        fail_job(state, first, "x", TERMS),
    ) == ("lost", False, False)
    assert (list_enabled_extracts(state), second.attempt) == ([], 2)
    assert [("one" in each.reason, each.attempt) for each in list_failed_attempts(state, "t")] == [
        (True, 1)
    ]


@pytest.mark.covers("RO-2")
def test_a_sign_of_life_keeps_the_claim(tmp_path: Path) -> None:
    """Renewed half an hour in, it lasts an hour from then."""
    state, clock = opened(tmp_path)
    first = claim(state)
    clock.advance(HOUR // 2)
    renewed = renew_lease(state, first, TERMS)
    clock.advance(HOUR - 1)

    assert (renewed, refused(state).why) == (True, "running")


@pytest.mark.covers("RO-2")
def test_what_fails_waits_and_after_three_times_is_listed_with_its_reason(tmp_path: Path) -> None:
    """An hour between attempts; nothing is given up in silence; somebody's word gives the retries
    back.
    """
    state, clock = opened(tmp_path)
    whys = []
    for number in range(3):
        fail_job(state, claim(state), f"broken JSON, {number}", TERMS)
        whys.append(refused(state).why)
        clock.advance(HOUR)

    assert whys == ["backoff", "backoff", "exhausted"]
    assert refused(state).reason == "broken JSON, 2"
    assert [(job.key, job.last_error, job.attempts) for job in list_exhausted_jobs(state)] == [
        ("t", "broken JSON, 2", 3)
    ]
    assert [each.reason for each in list_failed_attempts(state)] == [
        f"broken JSON, {number}" for number in range(3)
    ]
    assert (retry_jobs(state, TERMS), list_exhausted_jobs(state), claim(state).attempt) == (
        1,
        [],
        4,
    )


@pytest.mark.covers("RO-2")
def test_a_worker_that_dies_each_time_is_not_tried_for_ever(tmp_path: Path) -> None:
    """What kills its worker costs as much as what fails: three deaths, and it is listed."""
    state, clock = opened(tmp_path)
    for _ in range(3):
        claim(state)
        clock.advance(HOUR)

    assert refused(state).why == "exhausted"
    assert "no sign of life" in (list_exhausted_jobs(state)[0].last_error or "")


@pytest.mark.covers("RO-2")
def test_a_newer_session_waits_for_nothing_and_has_its_retries_anew(tmp_path: Path) -> None:
    """Exhausted or backing off: what was said since is new work."""
    state, _ = opened(tmp_path)
    terms = JobClaimPolicy(retries=1)
    fail_job(state, claim(state, terms=terms), "no", terms)
    was = refused(state, terms=terms).why
    again = claim(state, updated=NOW, terms=terms)

    assert (was, again.watermark, list_jobs(state)[0].retries_left) == ("exhausted", NOW, 1)


@pytest.mark.covers("RO-2")
def test_no_more_run_than_may(tmp_path: Path) -> None:
    """Two at once over all processes; a dead one does not count."""
    state, clock = opened(tmp_path)
    claim(state, "a")
    claim(state, "b", worker="two")
    third = refused(state, "c", worker="three")
    clock.advance(HOUR)

    assert (third.why, third.until) == ("full", None)
    assert claim(state, "c", worker="three").key == "c"


@pytest.mark.covers("RO-2")
def test_a_claim_that_is_given_back_costs_no_attempt(tmp_path: Path) -> None:
    """A worker that is stopped, or may not spend more, leaves the job as it was."""
    state, _ = opened(tmp_path)
    first = claim(state)
    back = release_job(state, first)

    assert (
        back,
        release_job(state, first),
        claim(state, worker="two").attempt,
        list_failed_attempts(state),
    ) == (True, False, 1, [])
    assert list_jobs(state)[0].retries_left == 3


@pytest.mark.covers("RO-2", "SG-1")
def test_what_may_not_be_done_now_waits_and_costs_no_attempt(tmp_path: Path) -> None:
    """It comes again after the delay, says why until then, is no failure, and somebody's word ends
    the wait; who lost the claim puts nothing off.
    """
    state, clock = opened(tmp_path)
    for _ in range(9):
        first = claim(state)
        assert postpone_job(state, first, "the cap of the day is reached", TERMS)
        waits = refused(state)
        clock.advance(HOUR)
    late = postpone_job(state, first, "the cap of the day is reached", TERMS)
    postpone_job(state, claim(state), "the cap of the day is reached", TERMS)
    lifted = retry_jobs(state, TERMS, ["t"])

    assert (waits.why, waits.reason, late) == ("backoff", "the cap of the day is reached", False)
    assert (list_failed_attempts(state), list_exhausted_jobs(state), lifted) == ([], [], 1)
    assert claim(state, worker="two").attempt == 1


@pytest.mark.covers("RO-2")
def test_a_word_ends_the_wait_of_a_consolidation_that_was_asked_for_again(tmp_path: Path) -> None:
    """It failed, and a session was extracted since: `retry` lifts its delay all the same."""
    state, _ = opened(tmp_path)
    whole = claim_consolidation(state, worker="one", terms=TERMS)
    assert isinstance(whole, JobClaim)
    fail_job(state, whole, "there are links in the folder", TERMS)
    finish_extraction(state, claim(state), extract(), TERMS)

    assert retry_jobs(state, TERMS) == 1
    assert isinstance(claim_consolidation(state, worker="one", terms=TERMS), JobClaim)


@pytest.mark.covers("RO-2")
def test_who_claims_what_it_holds_takes_over_from_its_dead_self(tmp_path: Path) -> None:
    """A worker under the same name went on: its earlier claim is void."""
    state, _ = opened(tmp_path)
    first, second = claim(state), claim(state)

    assert (renew_lease(state, first, TERMS), renew_lease(state, second, TERMS)) == (False, True)


@pytest.mark.covers("RO-2")
@pytest.mark.parametrize("step", [-400 * DAY, -DAY, -2 * HOUR, 400 * DAY])
def test_a_clock_that_is_set_wrong_holds_nothing_up(tmp_path: Path, step: int) -> None:
    """Right after a step either way, longer than what was left: no dead claim, no delay and no
    cooldown is waited for.
    """
    state, clock = opened(tmp_path)
    claim(state, "dead")
    fail_job(state, claim(state, "failed"), "no", TERMS)
    whole = claim_consolidation(state, worker="one", terms=TERMS)
    assert isinstance(whole, JobClaim)
    finish_consolidation(state, whole, [])
    clock.set_wall(NOW + step)

    assert {claim(state, id, worker="two").attempt for id in ("dead", "failed")} == {2}
    assert isinstance(claim_consolidation(state, worker="two", terms=TERMS), JobClaim)


@pytest.mark.covers("RO-2", "RO-4")
def test_a_no_op_is_remembered(tmp_path: Path) -> None:
    """Nothing worth keeping: not tried again until the session grows, and what was kept of it
    before goes.
    """
    state, _ = opened(tmp_path)
    first = finish_extraction(
        state, claim(state), extract(raw_memory="", rollout_summary=" "), TERMS
    )
    asked = [job.kind for job in list_jobs(state)]
    finish_extraction(state, claim(state, updated=NOW), extract(updated=NOW), TERMS)
    empty = extract(updated=NOW + 9, raw_memory="", rollout_summary="")
    last = finish_extraction(state, claim(state, updated=NOW + 9), empty, TERMS)

    assert (first, asked, last) == ("nothing", ["extract"], "nothing")
    assert (list_enabled_extracts(state), refused(state, updated=NOW + 9).why) == ([], "up to date")


@pytest.mark.covers("RO-2", "RO-9")
def test_a_session_that_was_forbidden_meanwhile_is_not_kept(tmp_path: Path) -> None:
    """What stage one made of it is thrown away, and made again only once it is allowed."""
    state, _ = opened(tmp_path)
    save_rollouts(state, [thread(mode="polluted")])
    outcome = finish_extraction(state, claim(state), extract(), TERMS)

    assert (outcome, list_enabled_extracts(state), claim(state).attempt) == ("unwanted", [], 2)


@pytest.mark.covers("RO-5")
def test_there_is_one_consolidation_and_a_pause_after_it_succeeded(tmp_path: Path) -> None:
    """Six hours after a success, none after a failure but its delay; retries never block it."""
    state, clock = opened(tmp_path)
    terms = JobClaimPolicy(retries=1)
    outcomes: list[str] = []

    def attempt(worker: str) -> JobClaim | None:
        outcome = claim_consolidation(state, worker=worker, terms=terms)
        outcomes.append(outcome.why if isinstance(outcome, JobClaimRefused) else "claimed")
        return outcome if isinstance(outcome, JobClaim) else None

    for _ in range(2):
        fail_job(state, attempt("one") or pytest.fail("not claimed"), "no model", terms)
        attempt("two")
        clock.advance(HOUR)
    last = attempt("one") or pytest.fail("not claimed")
    attempt("two")
    finish_consolidation(state, last, [])
    attempt("two")
    clock.advance(6 * HOUR)
    attempt("two")

    assert outcomes == [
        "claimed",
        "backoff",
        "claimed",
        "backoff",
        "claimed",
        "running",
        "cooldown",
        "claimed",
    ]


@pytest.mark.covers("RO-5")
def test_what_was_consolidated_is_told_by_session_and_time(tmp_path: Path) -> None:
    """An extract that was made anew while stage two worked does not count as consolidated; one that
    leaves the selection loses its mark.
    """
    state, clock = opened(tmp_path)
    for id in ("a", "b"):
        finish_extraction(state, claim(state, id), extract(id), TERMS)
    whole = claim_consolidation(state, worker="one", terms=TERMS)
    assert isinstance(whole, JobClaim)
    finish_extraction(state, claim(state, "b", updated=NOW), extract("b", updated=NOW), TERMS)

    assert finish_consolidation(state, whole, [extract("a"), extract("b")])
    assert {each.extracted.thread: each.selected for each in list_enabled_extracts(state)} == {
        "a": True,
        "b": False,
    }
    assert not finish_consolidation(state, whole, [])
    clock.advance(6 * HOUR)
    again = claim_consolidation(state, worker="one", terms=TERMS)
    assert isinstance(again, JobClaim)
    assert again.watermark > whole.watermark
    finish_consolidation(state, again, [extract("b", updated=NOW)])
    assert {each.extracted.thread: each.selected for each in list_enabled_extracts(state)} == {
        "a": False,
        "b": True,
    }


@pytest.mark.covers("RO-5")
def test_new_extracts_do_not_hurry_a_consolidation_that_fails(tmp_path: Path) -> None:
    """Its delay stands, whatever arrives: a failing stage two must not run without pause."""
    state, _ = opened(tmp_path)
    whole = claim_consolidation(state, worker="one", terms=TERMS)
    assert isinstance(whole, JobClaim)
    fail_job(state, whole, "no model", TERMS)
    finish_extraction(state, claim(state), extract(), TERMS)
    outcome = claim_consolidation(state, worker="one", terms=TERMS)

    assert isinstance(outcome, JobClaimRefused)
    assert (outcome.why, outcome.until) == ("backoff", NOW + HOUR)


@pytest.mark.covers("RO-2")
def test_an_older_result_leaves_a_newer_one_alone(tmp_path: Path) -> None:
    """Neither a worker that was taken for dead, nor one whose session came back newer from the
    files meanwhile, overwrites what is newer.
    """
    state, clock = opened(tmp_path)
    slow = claim(state)
    clock.advance(HOUR)
    finish_extraction(
        state, claim(state, updated=NOW, worker="two"), extract(updated=NOW, slug="new"), TERMS
    )
    other = claim(state, "other")
    insert_missing_extracts(
        state, [StoredExtract(extracted=extract("other", updated=NOW, slug="new"))]
    )

    assert finish_extraction(state, slow, extract(slug="old"), TERMS) == "lost"
    assert finish_extraction(state, other, extract("other", slug="old"), TERMS) == "older"
    assert refused(state, updated=NOW - 5).why == "up to date"
    assert [each.extracted.slug for each in list_enabled_extracts(state)] == ["new", "new"]


@pytest.mark.covers("RO-9")
@pytest.mark.parametrize("pollutes", [False, True])
def test_content_from_outside_counts_only_where_the_user_says_so(
    tmp_path: Path, pollutes: bool
) -> None:
    """Then the session is marked, what was kept of it before goes, and stage two is asked to forget
    it.
    """
    state, _ = opened(tmp_path)
    terms = JobClaimPolicy(exclude_polluted=pollutes)
    save_rollouts(state, [thread()])
    finish_extraction(state, claim(state), extract(), terms)
    whole = claim_consolidation(state, worker="one", terms=terms)
    assert isinstance(whole, JobClaim)
    finish_consolidation(state, whole, [extract()])
    outcome = finish_extraction(
        state,
        claim(state, updated=NOW),
        extract(updated=NOW, outside=True, problem="no model"),
        terms,
    )
    asked = next(job.status for job in list_jobs(state) if job.key == "global")

    assert (outcome, [each.mode for each in list_rollouts(state)], asked) == (
        ("unwanted", ["polluted"], "pending") if pollutes else ("kept", ["enabled"], "pending")
    )
    assert [
        (each.extracted.outside, each.extracted.problem) for each in list_enabled_extracts(state)
    ] == ([] if pollutes else [(True, "no model")])
