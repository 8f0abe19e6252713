"""Kills: nothing lost, nothing twice, nothing held by the dead."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from memorist.store.extract_rows import list_enabled_extracts
from memorist.store.rollout_rows import save_rollouts
from memorist.store.state_database import open_sqlite_state
from store.claiming import NOW, thread
from support.sweeps import sampled

TESTS = Path(__file__).parents[1]
SESSIONS = 300
"""Enough that a worker whose turn comes late on a busy machine still finds some."""


@pytest.mark.covers("RO-2")
@pytest.mark.parametrize("stride", sampled([1, 7], {7}))
def test_a_kill_at_any_statement_loses_and_doubles_nothing(tmp_path: Path, stride: int) -> None:
    """Whichever statement was the last: the next worker ends where an undisturbed one does, and at
    most one attempt more is on record.
    """
    ran = subprocess.run(
        [sys.executable, "-m", "store.crashing", str(tmp_path), str(stride)],
        cwd=TESTS,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    kills = [json.loads(line) for line in ran.stdout.splitlines()]

    assert [each["killed"] for each in kills] == [True] * (len(kills) - 1) + [False]
    assert len(kills) > 60 // stride
    for each in kills:
        after = each["after"]
        assert after["threads"] == {"a": "enabled", "b": "enabled", "gone": "disabled"}, each
        assert after["jobs"] == {"a": "done", "b": "done", "global": "done"}, each
        assert after["extracts"] == {"a": ["what a taught", True], "b": ["what b taught", True]}, (
            each
        )
        assert after["exhausted"] == 0
        deaths = [reason for reason in after["failures"] if "no sign of life" in reason]
        assert len(deaths) <= 1
        assert len(after["failures"]) <= 2
    assert any(
        "no sign of life" in reason for each in kills for reason in each["after"]["failures"]
    )


@pytest.mark.covers("RO-2")
def test_a_crowd_of_workers_some_of_whom_die_do_each_job_once(tmp_path: Path) -> None:
    """Six processes, three killed in the middle of a job: every session is kept once, by the claim
    whose result stands.
    """
    path = tmp_path / "state.sqlite"
    state = open_sqlite_state(path)
    save_rollouts(
        state, [thread(f"t{number:03}", updated=NOW - 10**6 - number) for number in range(SESSIONS)]
    )
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "store.crowd", str(path), str(dies)],
            cwd=TESTS,
            stdout=subprocess.PIPE,
            text=True,
        )
        for dies in (1, 2, 3, -1, -1, -1)
    ]
    while len(list(tmp_path.glob("ready-*"))) < len(workers):
        assert all(worker.poll() is None for worker in workers)
        time.sleep(0.02)
    (tmp_path / "go").touch()
    said = [
        line.split()
        for worker in workers
        for line in worker.communicate(timeout=300)[0].splitlines()
    ]
    finished = Counter(id for outcome, id, _ in said if outcome == "kept")
    tokens = {id: token for outcome, id, token in said if outcome == "kept"}

    assert [worker.returncode for worker in workers] == [-9, -9, -9, 0, 0, 0]
    assert set(finished.values()) == {1}
    assert {
        each.extracted.thread: each.extracted.raw_memory for each in list_enabled_extracts(state)
    } == tokens
    assert len(tokens) == SESSIONS
