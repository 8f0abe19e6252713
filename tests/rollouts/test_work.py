"""A worker on one machine."""

from __future__ import annotations

import asyncio
import contextlib
import platform
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from memorist.errors import BudgetSpent, ModelUnavailable, StoreError
from memorist.platforms.processes import build_unique_process_name, is_named_process_dead
from memorist.rollouts import job_worker
from memorist.rollouts.job_worker import (
    FinishedJob,
    JobEvent,
    JobNotClaimed,
    WorkerStages,
    run_extraction_and_consolidation,
    run_worker_loop,
)
from memorist.settings import RolloutsSettings
from memorist.store.extract_rows import RolloutExtract, list_enabled_extracts
from memorist.store.job_claim_rules import JobClaimPolicy
from memorist.store.job_claims import list_exhausted_jobs, list_failed_attempts, list_jobs
from memorist.store.rollout_rows import Rollout, save_rollouts
from memorist.store.sqlite_database import open_database
from memorist.store.state_database import SqliteStateDatabase
from rollouts.stages import Scripted, means
from store.claiming import DAY, NOW, claim, opened, thread


def number_of_nobody() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    return ended.pid


def outcomes(told: list[JobEvent]) -> list[tuple[str, str]]:
    return [
        (each.key, each.outcome)
        if isinstance(each, FinishedJob)
        else (each.refused.key, each.refused.why)
        for each in told
    ]


@pytest.mark.covers("RO-1", "RO-2", "RO-5")
async def test_one_pass_extracts_what_is_eligible_and_consolidates_it(tmp_path: Path) -> None:
    """Newest first; what is too young is left; the consolidation holds what was extracted; a second
    pass finds nothing to do.
    """
    state, _ = opened(tmp_path)
    told: list[JobEvent] = []
    save_rollouts(
        state,
        [
            thread("old", updated=NOW - 3 * DAY),
            thread("new", updated=NOW - DAY),
            thread("young", updated=NOW - 60),
        ],
    )
    scripted = Scripted(state)
    for _ in range(2):
        await run_worker_loop(
            means(state, scripted, told, RolloutsSettings(running=1)), asyncio.Event(), once=True
        )

    assert scripted.done == ["begin new", "end new", "begin old", "end old", "consolidate"]
    assert outcomes(told) == [
        ("new", "kept"),
        ("old", "kept"),
        ("global", "consolidated"),
        ("global", "cooldown"),
    ]
    assert [(each.extracted.thread, each.selected) for each in list_enabled_extracts(state)] == [
        ("new", True),
        ("old", True),
    ]


@pytest.mark.covers("RO-2", "RO-4")
async def test_a_failure_is_told_with_its_reason_and_stops_nothing_else(tmp_path: Path) -> None:
    """Whether the stage says what is wrong or breaks: it is on record, the others are done, and
    after three times it is listed.
    """
    state, clock = opened(tmp_path)
    told: list[JobEvent] = []
    save_rollouts(state, [thread(id) for id in ("fine", "refused", "broken")])
    scripted = Scripted(state)
    scripted.broken = {
        "refused": ModelUnavailable("the model is overloaded"),
        "broken": KeyError("x"),
    }
    for _ in range(4):
        await run_extraction_and_consolidation(means(state, scripted, told), "worker")
        clock.advance(3_600)

    assert outcomes(told).count(("fine", "kept")) == 1
    assert outcomes(told).count(("refused", "failed")) == 3
    assert {job.key: job.last_error for job in list_exhausted_jobs(state)} == {
        "refused": "the model is overloaded",
        "broken": "KeyError: 'x'",
    }
    assert [
        each.refused.why
        for each in told
        if isinstance(each, JobNotClaimed) and each.refused.key == "broken"
    ] == ["exhausted"]


@pytest.mark.covers("RO-5")
async def test_a_failed_consolidation_waits_and_says_why(tmp_path: Path) -> None:
    """What was extracted stays; the next attempt comes after the delay."""
    state, clock = opened(tmp_path)
    told: list[JobEvent] = []
    save_rollouts(state, [thread()])
    scripted = Scripted(state)
    scripted.broken = {"consolidate": ModelUnavailable("no model")}
    for _ in range(2):
        await run_extraction_and_consolidation(means(state, scripted, told), "worker")
    scripted.broken = {}
    clock.advance(3_600)
    await run_extraction_and_consolidation(means(state, scripted, told), "worker")

    assert [outcome for key, outcome in outcomes(told) if key == "global"] == [
        "failed",
        "backoff",
        "consolidated",
    ]
    assert [each.reason for each in list_failed_attempts(state)] == ["no model"]


@pytest.mark.covers("RO-2")
async def test_a_worker_that_is_stopped_gives_back_what_it_holds(tmp_path: Path) -> None:
    """At once, without counting an attempt; another may begin right away."""
    state, _ = opened(tmp_path)
    told: list[JobEvent] = []
    save_rollouts(state, [thread("a"), thread("b")])
    scripted, stop = Scripted(state, seconds=60), asyncio.Event()
    scripted.wanted = 2
    working = asyncio.create_task(run_worker_loop(means(state, scripted, told), stop))
    await scripted.reached.wait()
    stop.set()
    await working

    assert sorted(outcomes(told)) == [("a", "released"), ("b", "released")]
    assert [(job.status, job.attempts, job.token) for job in list_jobs(state)] == [
        ("pending", 0, None)
    ] * 2


@pytest.mark.covers("RO-2")
async def test_a_worker_that_lost_its_claim_stops_and_writes_nothing(tmp_path: Path) -> None:
    """It asks at each sign of life; the job was taken over meanwhile."""
    state, _ = opened(tmp_path)
    told: list[JobEvent] = []
    save_rollouts(state, [thread()])
    scripted = Scripted(state, seconds=60)
    quick = means(state, scripted, told)
    quick = msgspec.structs.replace(
        quick, claim_policy=msgspec.structs.replace(quick.claim_policy, lease_seconds=1)
    )
    working = asyncio.create_task(run_extraction_and_consolidation(quick, "worker"))
    await scripted.reached.wait()
    state.execute("update jobs set token = 'another' where key = 't'")
    await working

    assert (outcomes(told)[0], list_enabled_extracts(state)) == (("t", "lost"), [])
    assert "end t" not in scripted.done


@pytest.mark.covers("RO-2")
async def test_no_more_run_at_once_than_may(tmp_path: Path) -> None:
    """Two of six sessions at a time in one worker, and both ends told."""
    state, _ = opened(tmp_path)
    told: list[JobEvent] = []
    save_rollouts(state, [thread(f"t{number}") for number in range(6)])
    scripted = Scripted(state, seconds=0.01)
    await run_extraction_and_consolidation(
        means(state, scripted, told, RolloutsSettings(running=2)), "worker"
    )
    running, most = 0, 0
    for line in scripted.done:
        running += {"begin": 1, "end": -1}.get(line.split()[0], 0)
        most = max(most, running)

    assert (
        most,
        outcomes(told).count(("global", "consolidated")),
        len(list_enabled_extracts(state)),
    ) == (2, 1, 6)


@pytest.mark.covers("SG-1", "RO-2")
async def test_what_the_budget_does_not_allow_waits_and_costs_no_attempt(tmp_path: Path) -> None:
    """Ten times blocked and then allowed: the first attempt's way is still taken, and nothing
    counts as failed.
    """
    state, clock = opened(tmp_path)
    told: list[JobEvent] = []
    save_rollouts(state, [thread()])
    scripted, sure = Scripted(state), Scripted(state)
    scripted.broken = {"t": BudgetSpent("the cap of the day is reached")}
    given = msgspec.structs.replace(
        means(state, scripted, told),
        stages=WorkerStages(scripted.extract, scripted.consolidate, sure.extract),
    )
    for _ in range(10):
        await run_extraction_and_consolidation(given, "worker")
        clock.advance(3_600)
    waited = [
        (each.outcome, each.reason)
        for each in told
        if isinstance(each, FinishedJob) and each.key == "t"
    ]
    scripted.broken = {}
    await run_extraction_and_consolidation(given, "worker")

    assert waited == [("released", "the cap of the day is reached")] * 10
    assert (list_failed_attempts(state), outcomes(told)[-2], sure.done) == ([], ("t", "kept"), [])


@pytest.mark.covers("SG-1", "RO-1")
async def test_a_session_that_is_nearly_too_old_is_not_put_off(tmp_path: Path) -> None:
    """With two days left of ten its attempts run out, and the last one takes the way that needs no
    model: it is not lost to a budget that stays spent.
    """
    state, clock = opened(tmp_path)
    told: list[JobEvent] = []
    save_rollouts(state, [thread(updated=NOW - 8 * DAY)])
    scripted = Scripted(state)
    scripted.broken = {"t": BudgetSpent("the cap of the day is reached")}
    sure = Scripted(state)
    given = msgspec.structs.replace(
        means(state, scripted, told, RolloutsSettings()),
        stages=WorkerStages(scripted.extract, scripted.consolidate, sure.extract),
    )
    for _ in range(3):
        await run_extraction_and_consolidation(given, "worker")
        clock.advance(3_600)

    assert [outcome for key, outcome in outcomes(told) if key == "t"] == [
        "failed",
        "failed",
        "kept",
    ]
    assert len(list_enabled_extracts(state)) == 1


def other_process(mine: str, **changed: str) -> str:
    """The name of another process: this one's with these parts changed."""
    names = ("host", "pid", "mark", "namespace", "random")
    return ":".join((dict(zip(names, mine.rsplit(":", 4), strict=True)) | changed).values())


@pytest.mark.covers("RO-2")
async def test_an_old_session_that_a_person_imported_is_done_later_when_the_budget_was_spent(
    tmp_path: Path,
) -> None:
    """It is too old for a worker by itself; once begun it is taken up by the next round that may,
    and ended.
    """
    state, clock = opened(tmp_path)
    told: list[JobEvent] = []
    save_rollouts(state, [thread("t", updated=NOW - 90 * DAY)])
    scripted = Scripted(state)
    scripted.broken = {"t": BudgetSpent("the cap of the day is reached")}
    at_any_age = means(state, scripted, told, RolloutsSettings(max_age_days=40_000))
    await run_extraction_and_consolidation(at_any_age, "import")
    clock.advance(DAY)
    scripted.broken = {}
    await run_extraction_and_consolidation(
        means(state, scripted, told, RolloutsSettings()), "worker"
    )

    assert [outcome for key, outcome in outcomes(told) if key == "t"] == ["released", "kept"]


@pytest.mark.covers("RO-2")
async def test_what_a_killed_process_of_this_machine_held_is_started_again_at_once(
    tmp_path: Path,
) -> None:
    """Its number is nobody's any more, or another's, or of before the machine was started anew: no
    hour is waited for, and its death is on record as a failed attempt. What the living hold stays
    theirs, and what another machine, a container or an older version may hold.
    """
    state, _ = opened(tmp_path)
    told: list[JobEvent] = []
    mine, gone = build_unique_process_name(), str(number_of_nobody())
    holders = {
        "killed": other_process(mine, pid=gone, random="abc#0"),
        "recycled": other_process(mine, mark=f"{mine.rsplit(':', 4)[2]}0"),
        "restarted": other_process(mine, pid=gone, mark="another-boot-1"),
        "held": f"{mine}#1",
        "elsewhere": other_process(mine, host="another", pid=gone),
        "container": other_process(mine, pid=gone, namespace="1"),
        "older": f"{platform.node() or 'host'}:{gone}:abc.0",
    }
    save_rollouts(state, [thread(key) for key in holders])
    for key, worker in holders.items():
        claim(state, key, worker=worker, terms=JobClaimPolicy(max_running=9))
    await run_extraction_and_consolidation(means(state, Scripted(state), told), mine)

    assert dict(outcomes(told)) == {
        "global": "consolidated",
        "killed": "kept",
        "recycled": "kept",
        "restarted": "kept",
        "held": "running",
        "elsewhere": "running",
        "container": "running",
        "older": "running",
    }
    assert {each.key: "no sign of life" in each.reason for each in list_failed_attempts(state)} == {
        "killed": True,
        "recycled": True,
        "restarted": True,
    }


@pytest.mark.parametrize(
    "name",
    [
        "",
        "one",
        "::",
        "::::",
        f"{platform.node()}:0x1:::a",
        f"{platform.node()}:{10**30}:::a",
        f"{platform.node()}:-1:::a",
    ],
)
def test_what_names_no_process_is_not_known_to_be_dead(name: str) -> None:
    """Names that other programs or older versions gave."""
    assert not is_named_process_dead(name)


@pytest.mark.covers("RO-4")
async def test_the_last_attempt_may_go_another_way(tmp_path: Path) -> None:
    """Two fail; before the retries are used up, the way that needs no model is taken."""
    state, clock = opened(tmp_path)
    told: list[JobEvent] = []
    save_rollouts(state, [thread()])
    broken, sure = Scripted(state), Scripted(state)
    broken.broken = {"t": ModelUnavailable("no model")}
    given = msgspec.structs.replace(
        means(state, broken, told),
        stages=WorkerStages(broken.extract, broken.consolidate, sure.extract),
    )
    for _ in range(3):
        await run_extraction_and_consolidation(given, "worker")
        clock.advance(3_600)

    assert [outcome for key, outcome in outcomes(told) if key == "t"] == [
        "failed",
        "failed",
        "kept",
    ]
    assert sure.done == ["begin t", "end t"]


class AwayServer(SqliteStateDatabase):
    """Refuses as many transactions as it is set to, as a server does that is restarted."""

    refusals = 0
    cause: Exception = OSError("connection refused")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        if self.refusals:
            self.refusals -= 1
            raise StoreError("the server is away") from self.cause
        with super().transaction():
            yield


@pytest.mark.covers("RO-2")
async def test_what_was_extracted_is_stored_once_the_server_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model was paid: a result whose storing a server refused was thrown away, and paid for
    again. A disk that is full is not waited for.
    """
    monkeypatch.setattr(job_worker, "STORE_RETRY_SECONDS", (0.0, 0.0, 0.0))
    state = AwayServer(open_database(tmp_path / "state.sqlite"), lambda: NOW)
    told: list[JobEvent] = []
    scripted = Scripted(state)

    async def extract_then_leave(rollout: Rollout) -> RolloutExtract:
        made = await scripted.extract(rollout)
        state.refusals = 3
        return made

    stages = WorkerStages(extract_then_leave, scripted.consolidate)
    work = msgspec.structs.replace(means(state, scripted, told), stages=stages)
    save_rollouts(state, [thread("a")])
    await run_extraction_and_consolidation(work, "worker")
    assert scripted.done == ["begin a", "end a", "consolidate"]
    assert outcomes(told) == [("a", "kept"), ("global", "consolidated")]

    save_rollouts(state, [thread("b")])
    state.cause = sqlite3.OperationalError("database or disk is full")
    with pytest.raises(StoreError):
        await run_extraction_and_consolidation(work, "worker")
    assert state.refusals == 1
