"""Run as a program: kills itself at every statement of the work of both stages, and lets another
worker go on. Prints one JSON object a kill.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path

from memorist.store.extract_rows import list_enabled_extracts, prune_unused_unconsolidated_extracts
from memorist.store.job_claim_rules import JobClaim, JobClaimPolicy
from memorist.store.job_claims import (
    claim_consolidation,
    claim_extraction,
    fail_job,
    finish_consolidation,
    finish_extraction,
    list_exhausted_jobs,
    list_failed_attempts,
    list_jobs,
    renew_lease,
)
from memorist.store.rollout_rows import (
    list_extraction_progress,
    list_rollouts,
    record_rollout_citations,
    save_rollouts,
)
from memorist.store.session_memory_mode import set_memory_mode
from memorist.store.sqlite_database import open_database
from memorist.store.state_database import SqliteStateDatabase, StateDatabase, open_sqlite_state
from store.claiming import DAY, NOW, extract, thread

TERMS = JobClaimPolicy(max_running=9)
IDS = ("a", "b", "gone")


def story(state: StateDatabase) -> None:
    """Three sessions: extracted, one at the second attempt; one is forbidden; then consolidated."""
    save_rollouts(state, [thread(id) for id in IDS])
    for id in IDS:
        claim = claim_extraction(state, id, NOW - DAY, worker="first", terms=TERMS)
        if isinstance(claim, JobClaim):
            renew_lease(state, claim, TERMS)
            if id == "b":
                fail_job(state, claim, "broken", TERMS)
            else:
                finish_extraction(state, claim, extract(id), TERMS)
    record_rollout_citations(state, ["a"])
    whole = claim_consolidation(state, worker="first", terms=TERMS)
    if isinstance(whole, JobClaim):
        finish_consolidation(
            state, whole, [each.extracted for each in list_enabled_extracts(state)]
        )
    set_memory_mode(state, "gone", "disabled", TERMS)
    prune_unused_unconsolidated_extracts(state, 30)


def go_on(state: StateDatabase) -> None:
    """What the next worker does once every lease and delay has passed."""
    save_rollouts(state, [thread(id) for id in IDS])
    set_memory_mode(state, "gone", "disabled", TERMS)
    for each in list_extraction_progress(state, only_behind=True):
        claim = claim_extraction(
            state, each.rollout.id, each.rollout.updated, worker="second", terms=TERMS
        )
        if isinstance(claim, JobClaim) and each.rollout.mode == "enabled":
            finish_extraction(state, claim, extract(each.rollout.id), TERMS)
    whole = claim_consolidation(state, worker="second", terms=TERMS)
    if isinstance(whole, JobClaim):
        finish_consolidation(
            state, whole, [each.extracted for each in list_enabled_extracts(state)]
        )


def killed_at(folder: Path, number: int) -> bool:
    """Whether a child that kills itself before its statement of that number did so."""
    child = os.fork()
    if not child:
        database = open_database(folder / "state.sqlite")
        left = [number]

        def count(_: str) -> None:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)

        database.set_trace_callback(count)
        story(SqliteStateDatabase(database, lambda: NOW))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def main(base: Path, stride: int) -> None:
    number, dying = 0, True
    while dying:
        folder = base / str(number)
        folder.mkdir()
        dying = killed_at(folder, number)
        state = open_sqlite_state(folder / "state.sqlite", lambda: NOW + 7 * 3_600)
        between = {
            "extracts": [each.extracted.thread for each in list_enabled_extracts(state)],
            "jobs": [(job.key, job.status) for job in list_jobs(state)],
        }
        go_on(state)
        after = {
            "threads": {each.id: each.mode for each in list_rollouts(state)},
            "extracts": {
                each.extracted.thread: (each.extracted.raw_memory, each.selected)
                for each in list_enabled_extracts(state)
            },
            "jobs": {job.key: job.status for job in list_jobs(state) if job.key != "gone"},
            "failures": [each.reason for each in list_failed_attempts(state)],
            "exhausted": len(list_exhausted_jobs(state)),
        }
        state.close()
        shutil.rmtree(folder)
        sys.stdout.write(
            json.dumps({"number": number, "killed": dying, "between": between, "after": after})
            + "\n"
        )
        sys.stdout.flush()
        number += stride


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
