"""A worker on one machine."""

from __future__ import annotations

import asyncio
import platform
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from memorist.errors import BudgetSpent, ModelUnavailable
from memorist.rollouts.worker import (
    JobDeferred,
    JobEvent,
    JobFinished,
    WorkerStages,
    is_dead,
    run_round,
    run_worker,
    worker_name,
)
from memorist.settings import RolloutsSettings
from memorist.store.jobs import LeasePolicy, list_exhausted_jobs, list_failures, list_jobs
from memorist.store.rollouts import list_extracts, save_rollouts
from memorist.store.state import StateDatabase
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
        if isinstance(each, JobFinished)
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
        await run_worker(
            means(state, scripted, told, RolloutsSettings(running=1)), asyncio.Event(), once=True
        )

    assert scripted.done == ["begin new", "end new", "begin old", "end old", "consolidate"]
    assert outcomes(told) == [
        ("new", "kept"),
        ("old", "kept"),
        ("global", "consolidated"),
        ("global", "cooldown"),
    ]
    assert [(each.extracted.thread, each.selected) for each in list_extracts(state)] == [
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
        await run_round(means(state, scripted, told), "worker")
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
        if isinstance(each, JobDeferred) and each.refused.key == "broken"
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
        await run_round(means(state, scripted, told), "worker")
    scripted.broken = {}
    clock.advance(3_600)
    await run_round(means(state, scripted, told), "worker")

    assert [outcome for key, outcome in outcomes(told) if key == "global"] == [
        "failed",
        "backoff",
        "consolidated",
    ]
    assert [each.reason for each in list_failures(state)] == ["no model"]


@pytest.mark.covers("RO-2")
async def test_a_worker_that_is_stopped_gives_back_what_it_holds(tmp_path: Path) -> None:
    """At once, without counting an attempt; another may begin right away."""
    state, _ = opened(tmp_path)
    told: list[JobEvent] = []
    save_rollouts(state, [thread("a"), thread("b")])
    scripted, stop = Scripted(state, seconds=60), asyncio.Event()
    scripted.wanted = 2
    working = asyncio.create_task(run_worker(means(state, scripted, told), stop))
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
        quick, terms=msgspec.structs.replace(quick.terms, lease_seconds=1)
    )
    working = asyncio.create_task(run_round(quick, "worker"))
    await scripted.reached.wait()
    state.execute("update jobs set token = 'another' where key = 't'")
    await working

    assert (outcomes(told)[0], list_extracts(state)) == (("t", "lost"), [])
    assert "end t" not in scripted.done


@pytest.mark.covers("RO-2")
async def test_no_more_run_at_once_than_may(tmp_path: Path) -> None:
    """Two of six sessions at a time in one worker, and both ends told."""
    state, _ = opened(tmp_path)
    told: list[JobEvent] = []
    save_rollouts(state, [thread(f"t{number}") for number in range(6)])
    scripted = Scripted(state, seconds=0.01)
    await run_round(means(state, scripted, told, RolloutsSettings(running=2)), "worker")
    running, most = 0, 0
    for line in scripted.done:
        running += {"begin": 1, "end": -1}.get(line.split()[0], 0)
        most = max(most, running)

    assert (most, outcomes(told).count(("global", "consolidated")), len(list_extracts(state))) == (
        2,
        1,
        6,
    )


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
        await run_round(given, "worker")
        clock.advance(3_600)
    waited = [
        (each.outcome, each.reason)
        for each in told
        if isinstance(each, JobFinished) and each.key == "t"
    ]
    scripted.broken = {}
    await run_round(given, "worker")

    assert waited == [("released", "the cap of the day is reached")] * 10
    assert (list_failures(state), outcomes(told)[-2], sure.done) == ([], ("t", "kept"), [])


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
        await run_round(given, "worker")
        clock.advance(3_600)

    assert [outcome for key, outcome in outcomes(told) if key == "t"] == [
        "failed",
        "failed",
        "kept",
    ]
    assert len(list_extracts(state)) == 1


@pytest.mark.covers("RO-2")
async def test_what_a_killed_process_of_this_machine_held_is_begun_again_at_once(
    tmp_path: Path,
) -> None:
    """Its number is nobody's any more: no hour is waited for, and its death is on record as a
    failed attempt. What the living hold stays theirs.
    """
    state, _ = opened(tmp_path)
    told: list[JobEvent] = []
    save_rollouts(state, [thread("killed"), thread("held"), thread("elsewhere")])
    gone = number_of_nobody()
    claim(
        state,
        "killed",
        worker=f"{platform.node() or 'host'}:{gone}:abc.0",
        terms=LeasePolicy(max_running=9),
    )
    claim(state, "held", worker=worker_name(), terms=LeasePolicy(max_running=9))
    claim(
        state,
        "elsewhere",
        worker=f"not-{platform.node()}:{gone}:abc.0",
        terms=LeasePolicy(max_running=9),
    )
    await run_round(means(state, Scripted(state), told), worker_name())

    assert sorted(outcomes(told)) == [
        ("elsewhere", "running"),
        ("global", "consolidated"),
        ("held", "running"),
        ("killed", "kept"),
    ]
    assert [(each.key, "no sign of life" in each.reason) for each in list_failures(state)] == [
        ("killed", True)
    ]


class Shared:
    """A state that machines share: what SQLite's does, without being a file of this machine."""

    def __init__(self, state: StateDatabase) -> None:
        self.query, self.execute, self.execute_many = state.query, state.execute, state.execute_many
        self.transaction, self.now, self.close = state.transaction, state.now, state.close


@pytest.mark.covers("RO-2", "RO-10")
async def test_in_a_database_that_machines_share_a_name_proves_no_death(tmp_path: Path) -> None:
    """Two machines may have one name: a number that is nobody's here may be somebody's there, so
    the lease is waited for.
    """
    state, _ = opened(tmp_path)
    told: list[JobEvent] = []
    save_rollouts(state, [thread("held")])
    claim(
        state,
        "held",
        worker=f"{platform.node() or 'host'}:{number_of_nobody()}:abc.0",
        terms=LeasePolicy(max_running=9),
    )
    await run_round(
        means(Shared(state), Scripted(state), told, RolloutsSettings(running=9)), "worker"
    )

    assert ("held", "running") in outcomes(told)
    assert list_failures(state) == []


@pytest.mark.parametrize(
    "name",
    [
        "",
        "one",
        "::",
        ":::",
        f"{platform.node()}:0x1:a",
        f"{platform.node()}:{10**30}:a",
        f"{platform.node()}:-1:a",
    ],
)
def test_what_names_no_process_is_not_known_to_be_dead(name: str) -> None:
    """Names that other programs or older versions gave."""
    assert not is_dead(name)


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
        await run_round(given, "worker")
        clock.advance(3_600)

    assert [outcome for key, outcome in outcomes(told) if key == "t"] == [
        "failed",
        "failed",
        "kept",
    ]
    assert sure.done == ["begin t", "end t"]
