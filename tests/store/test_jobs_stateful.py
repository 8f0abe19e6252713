"""Claims against a model of what they promise: any order of claims, deaths, failures, results and
clock steps.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from memorist.store.extract_rows import list_enabled_extracts
from memorist.store.job_claim_rules import CLOCK_SKEW_SECONDS, JobClaim, JobClaimPolicy
from memorist.store.job_claims import (
    claim_extraction,
    fail_job,
    finish_extraction,
    list_exhausted_jobs,
    list_failed_attempts,
    list_jobs,
    postpone_job,
    release_job,
    renew_lease,
    retry_jobs,
)
from memorist.store.rollout_rows import list_extraction_progress, save_rollouts
from store.claiming import NOW, extract, opened, thread
from support.sweeps import count_examples

IDS = ("a", "b", "c", "d")
TERMS = JobClaimPolicy(lease_seconds=100, retries=2, retry_seconds=50, max_running=2)


class Claims(RuleBasedStateMachine):
    """Several workers, some of whom die or come late. The model knows who was given what, and what
    was kept last.
    """

    held = Bundle("held")

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.state, self.clock = opened(Path(self._folder.name))
        self.watermarks = dict.fromkeys(IDS, NOW)
        self.best: dict[str, int] = {}
        self.newest: dict[str, str] = {}
        self.until: dict[str, int] = {}

    def teardown(self) -> None:
        self.state.close()
        self._folder.cleanup()

    @initialize()
    def sessions(self) -> None:
        save_rollouts(self.state, [thread(id, updated=NOW) for id in IDS])

    @rule(id=st.sampled_from(IDS), seconds=st.integers(1, 1_000))
    def a_session_grows(self, id: str, seconds: int) -> None:
        self.watermarks[id] += seconds
        save_rollouts(self.state, [thread(id, updated=self.watermarks[id])])

    @rule(seconds=st.integers(1, 200))
    def time_goes_by(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule(step=st.sampled_from([-10_000_000, -1_000, -40, 1_000, 10_000_000]))
    def the_clock_is_set(self, step: int) -> None:
        self.clock.set_wall(self.clock.now() + step)
        # What is still believed was given by a clock not far from this one; the rest is void.
        self.until = {
            token: end
            for token, end in self.until.items()
            if end <= self.clock.now() + TERMS.lease_seconds + CLOCK_SKEW_SECONDS
        }

    @rule(target=held, id=st.sampled_from(IDS), worker=st.integers(0, 10_000))
    def a_worker_claims(self, id: str, worker: int) -> object:
        now, mark = int(self.clock.now()), self.watermarks[id]
        if now >= self.until.get(self.newest.get(id, ""), now + 1):
            # Whoever looks takes a worker whose lease has passed for dead, and a clock that is set
            # back does not wake it.
            del self.until[self.newest[id]]
        live = {key for key, token in self.newest.items() if now < self.until.get(token, 0)}
        outcome = claim_extraction(
            self.state, id, mark, worker=f"worker-{worker}-{len(self.until)}", terms=TERMS
        )
        if not isinstance(outcome, JobClaim):
            return multiple()
        assert id not in live, "claimed although somebody holds it"
        assert len(live) < TERMS.max_running, "more than may run"
        assert self.best.get(id, -1) < mark, "claimed although it is up to date"
        assert outcome.watermark == mark
        self.newest[id], self.until[outcome.token] = outcome.token, now + TERMS.lease_seconds
        return outcome

    @rule(claim=held)
    def a_worker_gives_a_sign_of_life(self, claim: JobClaim) -> None:
        owned = self._owned(claim)
        assert renew_lease(self.state, claim, TERMS) is owned
        if owned:
            self.until[claim.token] = int(self.clock.now()) + TERMS.lease_seconds

    @rule(claim=consumes(held), empty=st.booleans())
    def a_worker_finishes(self, claim: JobClaim, empty: bool) -> None:
        text = "" if empty else f"by {claim.token}"
        result = extract(claim.key, updated=claim.watermark, raw_memory=text, rollout_summary=text)
        owned = self._owned(claim)
        outcome = finish_extraction(self.state, claim, result, TERMS)
        assert (outcome != "lost") is owned
        if outcome != "lost":
            assert outcome == ("nothing" if empty else "kept")
            self.best[claim.key] = claim.watermark
            self._over(claim)

    @rule(claim=consumes(held))
    def a_worker_fails(self, claim: JobClaim) -> None:
        before, owned = len(list_failed_attempts(self.state)), self._owned(claim)
        assert fail_job(self.state, claim, "it failed", TERMS) is owned
        assert len(list_failed_attempts(self.state)) == before + owned
        self._over(claim)

    @rule(claim=consumes(held), later=st.booleans())
    def a_worker_gives_up(self, claim: JobClaim, later: bool) -> None:
        owned = self._owned(claim)
        assert (
            postpone_job(self.state, claim, "not now", TERMS)
            if later
            else release_job(self.state, claim)
        ) is owned
        self._over(claim)

    @rule()
    def somebody_asks_for_another_try(self) -> None:
        retry_jobs(self.state, TERMS)
        assert list_exhausted_jobs(self.state) == []

    @invariant()
    def nothing_is_lost(self) -> None:
        """What was finished last stands; what is done says so; what is exhausted has a reason; what
        is not done can be claimed sooner or later.
        """
        stored = {
            each.extracted.thread: each.extracted.updated
            for each in list_enabled_extracts(self.state)
        }
        assert all(self.best[id] == mark for id, mark in stored.items())
        assert {
            each.rollout.id: each.done_watermark
            for each in list_extraction_progress(self.state)
            if each.done_watermark is not None
        } == self.best
        assert all(job.last_error for job in list_exhausted_jobs(self.state))
        for job in list_jobs(self.state):
            assert job.retries_left >= 0
            assert (
                job.kind == "consolidate"
                or job.status != "running"
                or self.newest[job.key] == job.token
            )

    def _owned(self, claim: JobClaim) -> bool:
        return self.newest.get(claim.key) == claim.token and self._running(claim)

    def _running(self, claim: JobClaim) -> bool:
        return any(
            job.key == claim.key and job.token == claim.token for job in list_jobs(self.state)
        )

    def _over(self, claim: JobClaim) -> None:
        if self.newest.get(claim.key) == claim.token:
            del self.newest[claim.key]


@pytest.mark.covers("RO-2")
@pytest.mark.hypothesis
def test_any_order_of_events_keeps_the_promises() -> None:
    """Only the owner finishes, nobody claims what a living worker holds, no more run than may, and
    what was kept last stands.
    """
    run_state_machine_as_test(
        Claims, settings=settings(max_examples=count_examples(15, whole=50), stateful_step_count=30)
    )
