"""Run as a program: kills itself at every statement of the work of both stages, and lets another worker go on. Prints one JSON object a kill."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path

from memorist.store.claims import Claimed, Terms
from memorist.store.database import open_database
from memorist.store.forgetting import set_mode
from memorist.store.jobs import (
    claim_consolidation,
    claim_extraction,
    exhausted,
    fail,
    failures,
    finish_consolidation,
    finish_extraction,
    jobs,
    renew,
)
from memorist.store.rollouts import count_uses, keep_threads, kept, prune, standings, threads
from memorist.store.state import SqliteState, State, open_sqlite_state
from store.claiming import DAY, NOW, extract, thread

TERMS = Terms(running=9)
IDS = ("a", "b", "gone")


def story(state: State) -> None:
    """Three sessions: extracted, one at the second attempt; one is forbidden; then consolidated."""
    keep_threads(state, [thread(id) for id in IDS])
    for id in IDS:
        claim = claim_extraction(state, id, NOW - DAY, worker="first", terms=TERMS)
        if isinstance(claim, Claimed):
            renew(state, claim, TERMS)
            if id == "b":
                fail(state, claim, "broken", TERMS)
            else:
                finish_extraction(state, claim, extract(id), TERMS)
    count_uses(state, ["a"])
    whole = claim_consolidation(state, worker="first", terms=TERMS)
    if isinstance(whole, Claimed):
        finish_consolidation(state, whole, [each.extracted for each in kept(state)])
    set_mode(state, "gone", "disabled", TERMS)
    prune(state, 30)


def go_on(state: State) -> None:
    """What the next worker does once every lease and delay has passed."""
    keep_threads(state, [thread(id) for id in IDS])
    set_mode(state, "gone", "disabled", TERMS)
    for each in standings(state, behind=True):
        claim = claim_extraction(state, each.thread.id, each.thread.updated, worker="second", terms=TERMS)
        if isinstance(claim, Claimed) and each.thread.mode == "enabled":
            finish_extraction(state, claim, extract(each.thread.id), TERMS)
    whole = claim_consolidation(state, worker="second", terms=TERMS)
    if isinstance(whole, Claimed):
        finish_consolidation(state, whole, [each.extracted for each in kept(state)])


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
        story(SqliteState(database, lambda: NOW))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def main(base: Path) -> None:
    number, dying = 0, True
    while dying:
        folder = base / str(number)
        folder.mkdir()
        dying = killed_at(folder, number)
        state = open_sqlite_state(folder / "state.sqlite", lambda: NOW + 7 * 3_600)
        between = {"extracts": [each.extracted.thread for each in kept(state)], "jobs": [(job.key, job.status) for job in jobs(state)]}
        go_on(state)
        after = {
            "threads": {each.id: each.mode for each in threads(state)},
            "extracts": {each.extracted.thread: (each.extracted.raw_memory, each.selected) for each in kept(state)},
            "jobs": {job.key: job.status for job in jobs(state) if job.key != "gone"},
            "failures": [each.reason for each in failures(state)],
            "exhausted": len(exhausted(state)),
        }
        state.close()
        shutil.rmtree(folder)
        sys.stdout.write(json.dumps({"number": number, "killed": dying, "between": between, "after": after}) + "\n")
        sys.stdout.flush()
        number += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]))
