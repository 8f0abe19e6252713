"""Rollout memory: the measurements of its parts, one after another."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.context import SpawnContext
from pathlib import Path

from benchmarks import rollouts_workers
from benchmarks.report import BenchResult, BenchRow
from memorist.store.extract_rows import RolloutExtract
from memorist.store.job_claim_rules import JobClaim, JobClaimPolicy
from memorist.store.job_claims import claim_extraction, finish_extraction
from memorist.store.rollout_rows import Rollout, save_rollouts
from memorist.store.state_database import open_sqlite_state

# Jobs a second: eight processes claim and finish on one SQLite file; and what it costs to look
# at sessions that did not change.


PROCESSES, JOBS, THREADS = 8, 8_000, 10_000
GOAL = 2_000
_UPDATED = 1_800_000_000
_TERMS = JobClaimPolicy(max_running=PROCESSES)
_SUMMARY = (
    "What was learned of the shop's checkout, in a few lines that name files and commands.\n" * 12
)


def measure_jobs(data: Path) -> BenchResult:
    """Needs no data; takes about fifteen seconds."""
    del data
    return BenchResult("rollout jobs", (*claim_rows(), *thread_rows()))


def claim_rows() -> list[BenchRow]:
    """Claims and finishes a second over all processes, and whether any job was done twice or not at
    all.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.sqlite"
        open_sqlite_state(path).close()
        context = multiprocessing.get_context("spawn")
        seconds, processor, finished = _race(context, path)
    counts = Counter(finished)
    wrong = JOBS - len(counts) + sum(count - 1 for count in counts.values())
    rate = JOBS / seconds
    return [
        BenchRow(
            f"claim and finish, {PROCESSES} processes on one SQLite file",
            rate,
            "jobs/s",
            f"at least {GOAL:,}",
            rate >= GOAL,
        ),
        BenchRow(
            "claim and finish, by the processor time of all eight",
            JOBS / processor,
            "jobs/s of processor time",
        ),
        BenchRow("jobs done twice, or not at all", wrong, "", "0", wrong == 0),
    ]


def _race(context: SpawnContext, path: Path) -> tuple[float, float, list[str]]:
    """Seconds by the clock and of processor time, and what was finished."""
    ready, done = context.Barrier(PROCESSES + 1), context.Queue()
    racers = [
        context.Process(target=_racer, args=(path, number, ready, done))
        for number in range(PROCESSES)
    ]
    for racer in racers:
        racer.start()
    ready.wait(timeout=120)
    start = time.perf_counter()
    results = [done.get(timeout=300) for _ in racers]
    seconds = max(each[0] for each in results) - start
    for racer in racers:
        racer.join()
    return seconds, sum(each[1] for each in results), [id for each in results for id in each[2]]


def _racer(
    path: Path,
    number: int,
    ready: multiprocessing.synchronize.Barrier,
    done: multiprocessing.Queue[tuple[float, float, list[str]]],
) -> None:
    """Try every job, each process from another place on; what is another's is passed over. Times
    end with the last job that it finished.
    """
    state = open_sqlite_state(path)
    finished, processor, last = [], 0.0, 0.0
    ready.wait()
    start = time.process_time()
    for step in range(JOBS):
        id = f"t{(step + number * JOBS // PROCESSES) % JOBS:05}"
        claim = claim_extraction(state, id, _UPDATED, worker=f"racer-{number}", terms=_TERMS)
        if isinstance(claim, JobClaim):
            made = RolloutExtract(
                thread=id,
                updated=_UPDATED,
                raw_memory=_SUMMARY,
                rollout_summary=_SUMMARY,
                generated=_UPDATED,
            )
            if finish_extraction(state, claim, made, _TERMS) == "kept":
                finished.append(id)
                processor, last = time.process_time() - start, time.perf_counter()
    state.close()
    done.put((last, processor, finished))


def thread_rows() -> list[BenchRow]:
    """What it costs to look at sessions that are as they were."""
    threads = [
        Rollout(
            id=f"t{number}",
            path=f"/srv/{number}.jsonl",
            format="codex",
            size=1,
            modified_ns=number,
            updated=number,
        )
        for number in range(THREADS)
    ]
    with tempfile.TemporaryDirectory() as folder:
        state = open_sqlite_state(Path(folder) / "state.sqlite")
        save_rollouts(state, threads)
        start = time.process_time()
        save_rollouts(state, threads)
        seconds = time.process_time() - start
        state.close()
    return [
        BenchRow(
            f"recording {THREADS:,} sessions that did not change",
            1_000 * seconds,
            "ms of processor time",
            "under 500 ms",
            seconds < 0.5,
        )
    ]


PARTS: list[Callable[[Path], BenchResult]] = [measure_jobs, rollouts_workers.measure]


def measure(data: Path) -> BenchResult:
    """Every part; one that could not be measured is left out, and takes its own bench's word for
    it.
    """
    found = [part(data) for part in PARTS]
    rows = tuple(row for each in found for row in each.rows)
    return BenchResult(
        "rollouts", rows, absent="" if rows else "; ".join(each.absent for each in found)
    )
