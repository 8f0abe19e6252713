"""Run as a program, several at once, which begin when a file `go` is there: each claims and
finishes what it can, and prints what it kept.

With a number it kills itself at that claim.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from memorist.store.job_claim_rules import JobClaim, JobClaimPolicy
from memorist.store.job_claims import claim_extraction, finish_extraction
from memorist.store.rollout_rows import list_extraction_progress
from memorist.store.state_database import open_sqlite_state
from store.claiming import extract

TERMS = JobClaimPolicy(lease_seconds=1, max_running=99, retries=99)


def main(path: Path, dies_at: int) -> None:
    state = open_sqlite_state(path)
    path.with_name(f"ready-{os.getpid()}").touch()
    while not path.with_name("go").exists():
        time.sleep(0.01)
    name, claims = f"worker-{os.getpid()}", 0
    while due := list_extraction_progress(state, only_behind=True):
        for each in due:
            outcome = claim_extraction(
                state, each.rollout.id, each.rollout.updated, worker=name, terms=TERMS
            )
            if not isinstance(outcome, JobClaim):
                continue
            claims += 1
            if claims == dies_at:
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(0.01)
            result = extract(
                each.rollout.id, updated=each.rollout.updated, raw_memory=outcome.token
            )
            os.write(
                1,
                f"{finish_extraction(state, outcome, result, TERMS)} {each.rollout.id} "
                f"{outcome.token}\n".encode(),
            )
        time.sleep(0.05)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
