"""Workers on several machines, on a real PostgreSQL."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memorist.errors import ModelUnavailable, StoreError
from memorist.rollouts.job_worker import (
    FinishedJob,
    JobEvent,
    JobNotClaimed,
    MultiMachineWorkerIntervals,
)
from memorist.rollouts.multi_machine_worker import run_multi_machine_worker
from memorist.store.dead_workers import release_leases_of_dead_workers
from memorist.store.extract_rows import (
    delete_all_extraction_state,
    list_enabled_extracts,
    prune_unused_unconsolidated_extracts,
)
from memorist.store.job_claim_rules import JobClaim
from memorist.store.job_claims import (
    claim_consolidation,
    fail_job,
    finish_consolidation,
    finish_extraction,
    list_exhausted_jobs,
    list_failed_attempts,
    list_jobs,
    retry_jobs,
)
from memorist.store.postgres import PostgresState
from memorist.store.rollout_rows import (
    list_extraction_progress,
    list_rollouts,
    record_rollout_citations,
    save_rollouts,
)
from memorist.store.session_memory_mode import set_memory_mode
from memorist.testing.frozen_clock import FrozenClock
from rollouts.stages import SETTINGS, Scripted, means
from store.claiming import DAY, NOW, TERMS, claim, extract, refused, thread
from support.postgres_server import postgres

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as address:
        yield address


@pytest.fixture
def address(server: str) -> str:
    """The server with nothing of memorist's in it."""
    state = PostgresState(server)
    state.execute("drop schema memorist cascade")
    state.close()
    return server


def until(holds: Callable[[], bool], seconds: float = 120) -> None:
    """Wait until it holds; the limit is only there so that what never comes about does not hang."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.05)


@pytest.mark.covers("RO-10")
def test_the_same_promises_hold_on_postgresql(address: str) -> None:
    """Claims, failures, results, modes, uses and pruning: the statements of SQLite mean the same
    there.
    """
    clock = FrozenClock(NOW)
    state = PostgresState(address, clock.now)
    save_rollouts(state, [thread(id) for id in ("a", "b", "c")])
    save_rollouts(state, [thread("a"), thread("b", size=99)])
    first = claim(state, "a")
    whys = [refused(state, "a").why]
    finish_extraction(state, first, extract("a"), TERMS)
    whys.append(refused(state, "a").why)
    for _ in range(3):
        fail_job(state, claim(state, "b"), "broken", TERMS)
        whys.append(refused(state, "b").why)
        clock.advance(3_600)
    whole = claim_consolidation(state, worker="one", terms=TERMS)
    assert isinstance(whole, JobClaim)
    finish_consolidation(state, whole, [extract("a")])

    assert {each.id: each.size for each in list_rollouts(state)}["b"] == 99
    assert whys == ["running", "up to date", "backoff", "backoff", "exhausted"]
    assert (
        [job.key for job in list_exhausted_jobs(state)],
        len(list_failed_attempts(state, "b")),
        len(list_failed_attempts(state)),
    ) == (["b"], 3, 3)
    assert (retry_jobs(state, TERMS, ["b"]), claim(state, "b").attempt) == (1, 4)
    record_rollout_citations(state, ["a", "z"])
    assert [(each.uses, each.selected) for each in list_enabled_extracts(state)] == [(1, True)]
    assert [
        each.rollout.id for each in list_extraction_progress(state, limit=9, only_behind=True)
    ] == ["b", "c"]
    assert set_memory_mode(state, "a", "disabled", TERMS)
    assert {each.id: each.mode for each in list_rollouts(state)} == {
        "a": "disabled",
        "b": "enabled",
        "c": "enabled",
    }
    prune_unused_unconsolidated_extracts(state, 30)
    assert (delete_all_extraction_state(state), list_jobs(state)) == (0, [])
    state.close()


@pytest.mark.covers("RO-10")
def test_two_workers_share_the_work_and_one_is_killed_in_the_middle(
    address: str, tmp_path: Path
) -> None:
    """Every session is kept once; what the dead one held is found again, and is on record; the
    consolidation holds all of it.
    """
    state, log = PostgresState(address), tmp_path / "log"
    log.touch()
    ids = [f"t{number:02}" for number in range(10)]
    save_rollouts(state, [thread(id, updated=state.now() - DAY) for id in ids])
    child = [sys.executable, "-m", "rollouts.worker_child", address, str(log), "0.1", "2"]
    workers = [subprocess.Popen(child, cwd=TESTS) for _ in range(2)]

    def lines() -> list[list[str]]:
        return [line.split() for line in log.read_text().splitlines()]

    try:
        # Both have begun something; the first is killed while it is at work.
        until(
            lambda: all(
                sum(each[:2] == [str(worker.pid), "begin"] for each in lines()) > 1
                for worker in workers
            )
        )
        workers[0].kill()
        log.with_name("go").touch()
        until(
            lambda: (
                len(list_enabled_extracts(state)) == len(ids)
                and all(each.selected for each in list_enabled_extracts(state))
            )
        )
        workers[1].send_signal(signal.SIGTERM)
        workers[1].wait(timeout=120)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    dead, living = (str(worker.pid) for worker in workers)
    begun = [each[2] for each in lines() if each[1] == "begin"]
    ended = [each[2] for each in lines() if each[1] == "end"]

    assert workers[1].returncode == 0
    assert (sorted(ended), sorted(set(begun))) == (ids, ids)
    assert 1 <= len(begun) - len(ids) <= 2
    assert {each[0] for each in lines() if each[1] == "begin"} == {dead, living}
    assert {each.key for each in list_failed_attempts(state)} == {
        id for id in ids if begun.count(id) > 1
    }
    assert all("no sign of life" in each.reason for each in list_failed_attempts(state))
    assert {job.status for job in list_jobs(state)} == {"done"}
    state.close()


@pytest.mark.covers("RO-10")
def test_a_worker_outlives_the_end_of_its_connections(address: str, tmp_path: Path) -> None:
    """As at a restart of the server: what it works on is kept, once, and counts as no failure. The
    worker ended, and what its model was paid for was lost.
    """
    state, log = PostgresState(address), tmp_path / "log"
    log.touch()
    ids = [f"t{number}" for number in range(4)]
    save_rollouts(state, [thread(id, updated=state.now() - DAY) for id in ids])
    child = [sys.executable, "-m", "rollouts.worker_child", address, str(log), "0.1", "2"]
    with subprocess.Popen(child, cwd=TESTS) as worker:
        try:
            until(lambda: log.read_text().count("begin") == 2)
            state.query(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where pid <> pg_backend_pid() and backend_type = 'client backend'"
            )
            time.sleep(1.5)  # two sweeps find it so
            log.with_name("go").touch()
            until(
                lambda: worker.poll() is not None or len(list_enabled_extracts(state)) == len(ids)
            )
            assert worker.poll() is None
            worker.send_signal(signal.SIGTERM)
            worker.wait(timeout=120)
        finally:
            worker.kill()

    assert sorted(re.findall(r"begin (\w+)", log.read_text())) == ids
    assert list_failed_attempts(state) == []
    state.close()


HOLDER = """
import sys
from memorist.platforms.processes import build_unique_process_name
from memorist.store.job_claims import claim_extraction
from memorist.store.postgres import PostgresState
from store.claiming import NOW, TERMS
state, name = PostgresState(sys.argv[1]), build_unique_process_name()
state.register_worker(name)
claim_extraction(state, "t", NOW, worker=f"task-7@{name}", terms=TERMS)
print(name, flush=True)
sys.stdin.read()
"""


@pytest.mark.covers("RO-2", "RO-10")
def test_the_server_knows_which_worker_is_dead_whatever_machine_it_ran_on(address: str) -> None:
    """The lease of a living process stays, also where its name is of another machine; killed, it is
    freed at once. Of a name that an older version gave nothing is known.
    """
    state = PostgresState(address)
    save_rollouts(state, [thread("t")])
    held = subprocess.Popen(
        [sys.executable, "-c", HOLDER, address],
        cwd=TESTS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert held.stdout is not None
        name = held.stdout.readline().strip()
        living = (
            state.is_worker_dead(name),
            release_leases_of_dead_workers(state),
            refused(state, "t").why,
        )
        held.kill()
        held.wait()
        until(lambda: state.is_worker_dead(name))
        freed = release_leases_of_dead_workers(state)
    finally:
        held.kill()
        held.communicate()

    assert living == (False, [], "running")
    assert freed == [("extract", "t")]
    assert claim(state, "t").attempt == 2
    assert not state.is_worker_dead("host:1:abc.0")
    state.close()


@pytest.mark.covers("RO-10", "RO-2")
async def test_what_fails_comes_again_later_and_what_is_exhausted_does_not(address: str) -> None:
    """The queue brings a failed job back after its delay, as often as there are retries, and sweeps
    put nothing there twice.
    """
    state, watch = PostgresState(address), PostgresState(address)
    save_rollouts(
        state,
        [thread("fine", updated=state.now() - DAY), thread("broken", updated=state.now() - DAY)],
    )
    settings = type(SETTINGS)(max_age_days=40_000, running=2, retries=2, retry_seconds=1)
    told: list[JobEvent] = []
    scripted, stop = Scripted(state), asyncio.Event()
    scripted.broken = {"broken": ModelUnavailable("overloaded")}
    working = asyncio.create_task(
        run_multi_machine_worker(
            means(state, scripted, told, settings),
            address,
            stop,
            pace=MultiMachineWorkerIntervals(stalled=5, sweep=0.2, settle=0.1),
            at_once=2,
        )
    )
    await asyncio.to_thread(
        until, lambda: any(job.kind == "consolidate" and job.succeeded for job in list_jobs(watch))
    )
    await asyncio.to_thread(
        until,
        lambda: sum(each.key == "broken" for each in told if isinstance(each, FinishedJob)) == 2,
    )
    # A third attempt would come within the delay and a sweep.
    await asyncio.sleep(1.5)
    stop.set()
    await working

    assert [
        each.outcome for each in told if isinstance(each, FinishedJob) and each.key == "broken"
    ] == ["failed", "failed"]
    assert [
        each.outcome for each in told if isinstance(each, FinishedJob) and each.key == "fine"
    ] == ["kept"]
    assert [
        each.outcome for each in told if isinstance(each, FinishedJob) and each.key == "global"
    ] == ["consolidated"]
    assert [job.last_error for job in list_exhausted_jobs(state)] == ["overloaded"]
    state.close()
    watch.close()


@pytest.mark.covers("RO-10")
async def test_once_ends_when_all_that_can_be_begun_is_done(address: str) -> None:
    """Extractions and the consolidation of them, in one worker that then goes home; a second one
    finds nothing.
    """
    state = PostgresState(address)
    save_rollouts(state, [thread(f"t{number}", updated=state.now() - DAY) for number in range(5)])
    runs: list[list[JobEvent]] = [[], []]
    scripted = Scripted(state, seconds=0.3)  # longer than a worker that is stopped waits
    for told in runs:
        await run_multi_machine_worker(
            means(state, scripted, told),
            address,
            asyncio.Event(),
            pace=MultiMachineWorkerIntervals(),
            at_once=2,
            once=True,
        )

    assert sorted(
        each.outcome for told in runs for each in told if isinstance(each, FinishedJob)
    ) == ["consolidated", *["kept"] * 5]
    assert all(each.selected for each in list_enabled_extracts(state))
    assert len(list_enabled_extracts(state)) == 5
    for told in runs:
        deferred = [each for each in told if isinstance(each, JobNotClaimed)]
        assert len(deferred) <= 1, "each worker tells of the cooldown once"
    state.close()


def test_a_server_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    """It names the setting, and nothing of the password."""
    with pytest.raises(StoreError, match="setting `state`") as caught:
        PostgresState(f"postgresql://tests:{'hush' * 2}@/none?host={tmp_path}")

    assert "hush" not in str(caught.value)
