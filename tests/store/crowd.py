"""Run as a program, several at once, which begin when a file `go` is there: each claims and finishes what it can, and prints what it kept.

With a number it kills itself at that claim.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from memorist.store.claims import Claimed, Terms
from memorist.store.jobs import claim_extraction, finish_extraction
from memorist.store.rollouts import standings
from memorist.store.state import open_sqlite_state
from store.claiming import extract

TERMS = Terms(lease_seconds=1, running=99, retries=99)


def main(path: Path, dies_at: int) -> None:
    state = open_sqlite_state(path)
    path.with_name(f"ready-{os.getpid()}").touch()
    while not path.with_name("go").exists():
        time.sleep(0.01)
    name, claims = f"worker-{os.getpid()}", 0
    while due := standings(state, behind=True):
        for each in due:
            outcome = claim_extraction(state, each.thread.id, each.thread.updated, worker=name, terms=TERMS)
            if not isinstance(outcome, Claimed):
                continue
            claims += 1
            if claims == dies_at:
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(0.01)
            result = extract(each.thread.id, updated=each.thread.updated, raw_memory=outcome.token)
            os.write(1, f"{finish_extraction(state, outcome, result, TERMS)} {each.thread.id} {outcome.token}\n".encode())
        time.sleep(0.05)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
