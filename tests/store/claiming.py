"""Builders for the tests of claims: a database with a clock of its own, threads and extracts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memorist.store.claims import Claimed, Refused, Terms
from memorist.store.jobs import claim_extraction
from memorist.store.state import SqliteState, State, open_sqlite_state
from memorist.store.thread import Extracted, Thread
from memorist.testing.clock import FrozenClock

NOW = 1_800_000_000
HOUR, DAY = 3_600, 86_400
TERMS = Terms()


def opened(folder: Path) -> tuple[SqliteState, FrozenClock]:
    clock = FrozenClock(NOW)
    return open_sqlite_state(folder / "state.sqlite", clock.now), clock


def thread(id: str = "t", *, updated: int = NOW - DAY, **values: Any) -> Thread:
    values = {"path": f"/srv/{id}.jsonl", "size": 10, "modified_ns": updated * 10**9, "first_words": "Hello.", **values}
    return Thread(id=id, format="codex", updated=updated, **values)


def extract(id: str = "t", *, updated: int = NOW - DAY, **values: Any) -> Extracted:
    values = {"raw_memory": f"what {id} taught", "rollout_summary": f"{id} in short", "generated": NOW, **values}
    return Extracted(thread=id, updated=updated, **values)


def claim(state: State, id: str = "t", *, updated: int = NOW - DAY, worker: str = "one", terms: Terms = TERMS) -> Claimed:
    claimed = claim_extraction(state, id, updated, worker=worker, terms=terms)
    assert isinstance(claimed, Claimed), claimed
    return claimed


def refused(state: State, id: str = "t", *, updated: int = NOW - DAY, worker: str = "two", terms: Terms = TERMS) -> Refused:
    outcome = claim_extraction(state, id, updated, worker=worker, terms=terms)
    assert isinstance(outcome, Refused), outcome
    return outcome
