"""Builders for the tests of claims: a database with a clock of its own, threads and extracts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memorist.store.extract_rows import RolloutExtract
from memorist.store.job_claim_rules import JobClaim, JobClaimPolicy, JobClaimRefused
from memorist.store.job_claims import claim_extraction
from memorist.store.rollout_rows import Rollout
from memorist.store.state_database import SqliteStateDatabase, StateDatabase, open_sqlite_state
from memorist.testing.frozen_clock import FrozenClock

NOW = 1_800_000_000
HOUR, DAY = 3_600, 86_400
TERMS = JobClaimPolicy()


def opened(folder: Path) -> tuple[SqliteStateDatabase, FrozenClock]:
    clock = FrozenClock(NOW)
    return open_sqlite_state(folder / "state.sqlite", clock.now), clock


def thread(id: str = "t", *, updated: int = NOW - DAY, **values: Any) -> Rollout:
    values = {
        "path": f"/srv/{id}.jsonl",
        "size": 10,
        "modified_ns": updated * 10**9,
        "first_words": "Hello.",
        **values,
    }
    return Rollout(id=id, format="codex", updated=updated, **values)


def extract(id: str = "t", *, updated: int = NOW - DAY, **values: Any) -> RolloutExtract:
    values = {
        "raw_memory": f"what {id} taught",
        "rollout_summary": f"{id} in short",
        "generated": NOW,
        **values,
    }
    return RolloutExtract(thread=id, updated=updated, **values)


def claim(
    state: StateDatabase,
    id: str = "t",
    *,
    updated: int = NOW - DAY,
    worker: str = "one",
    terms: JobClaimPolicy = TERMS,
) -> JobClaim:
    claimed = claim_extraction(state, id, updated, worker=worker, terms=terms)
    assert isinstance(claimed, JobClaim), claimed
    return claimed


def refused(
    state: StateDatabase,
    id: str = "t",
    *,
    updated: int = NOW - DAY,
    worker: str = "two",
    terms: JobClaimPolicy = TERMS,
) -> JobClaimRefused:
    outcome = claim_extraction(state, id, updated, worker=worker, terms=terms)
    assert isinstance(outcome, JobClaimRefused), outcome
    return outcome
