"""One job at a time, and of the waiting ones the newest."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.forks.fork_spec import ForkOutcome
from memorist.forks.latest_task_queue import LatestTaskQueue
from memorist.system import SystemClock
from memorist.testing import FrozenClock


@pytest.mark.covers("FK-5", "SM-8")
@given(
    steps=st.lists(
        st.one_of(st.just("offer"), st.just("fail"), st.just("finish"), st.just("turn")),
        max_size=30,
    )
)
def test_at_most_one_runs_and_one_waits_and_the_last_always_runs(steps: list[str]) -> None:
    """Over random offers, ends and failures: never two at once, never two waiting, every offer runs
    or is reported replaced, the last one runs.
    """

    async def play() -> None:
        gate = asyncio.Event()
        running: list[int] = []
        ran: list[int] = []
        replaced: list[int] = []
        errors: list[BaseException] = []
        lane = LatestTaskQueue(FrozenClock(), on_error=errors.append)

        def offer(number: int, *, fails: bool) -> None:
            async def job() -> None:
                running.append(number)
                assert len(running) == 1
                await gate.wait()
                running.remove(number)
                ran.append(number)
                if fails:
                    raise ValueError(str(number))

            lane.submit(
                job,
                on_dropped=lambda outcome: (
                    replaced.append(number) if outcome is ForkOutcome.REPLACED else None
                ),
            )

        failing = {number for number, step in enumerate(steps) if step == "fail"}
        for number, step in enumerate(steps):
            if step in ("offer", "fail"):
                offer(number, fails=step == "fail")
            elif step == "finish":
                gate.set()
                await asyncio.sleep(0)
                gate.clear()
            else:
                await asyncio.sleep(0)
        gate.set()
        assert await lane.wait_or_cancel(60)

        offered = [number for number, step in enumerate(steps) if step in ("offer", "fail")]
        assert sorted(ran + replaced) == offered
        assert ran == sorted(ran)
        assert ran[-1:] == offered[-1:]
        assert len(errors) == len(failing & set(ran))
        assert lane.running_since is None

    asyncio.run(play())


@pytest.mark.covers("SM-9", "FK-5")
async def test_waiting_ends_at_its_limit_and_leaves_the_job_alone() -> None:
    """A wait gives up after its seconds on the lane's clock; the job runs on, and its start can be
    read.
    """
    clock = FrozenClock()
    lane = LatestTaskQueue(clock)
    gate = asyncio.Event()
    clock.advance(7)
    lane.submit(gate.wait)

    assert await lane.wait(15) is False
    assert sum(clock.slept) == 15
    assert lane.running_since == 7
    gate.set()
    assert await lane.wait(15) is True
    assert lane.running_since is None


@pytest.mark.covers("SM-9")
async def test_waiting_for_nothing_takes_no_time() -> None:
    """With no job there is nothing to wait for."""
    clock = FrozenClock()

    assert await LatestTaskQueue(clock).wait(15) is True
    assert clock.slept == []


@pytest.mark.covers("FK-5")
async def test_draining_cancels_what_is_still_there_at_its_limit() -> None:
    """The running job is cancelled and can clean up; the waiting one is reported as never run;
    nothing is left behind.
    """
    lane = LatestTaskQueue(FrozenClock())
    heard: list[str] = []

    async def job() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            heard.append("cleaned")

    lane.submit(job)
    lane.submit(job, on_dropped=lambda outcome: heard.append(outcome.value))

    assert await lane.wait_or_cancel(3) is False
    assert sorted(heard) == ["cancelled", "cleaned"]
    assert not lane.is_busy
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.covers("FK-5")
async def test_draining_runs_the_waiting_job_too() -> None:
    """The trailing run is part of what is waited for, on a real clock as well."""
    lane = LatestTaskQueue(SystemClock())
    ran: list[int] = []

    async def job(number: int) -> None:
        await asyncio.sleep(0.01)
        ran.append(number)

    for number in range(3):
        lane.submit(partial(job, number))

    assert await lane.wait_or_cancel(5) is True
    assert ran == [0, 2]


@pytest.mark.covers("FK-5")
async def test_a_failed_job_is_told_even_without_a_listener() -> None:
    """Without `failed` the event loop's own hook hears of the error."""
    heard: list[object] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: heard.append(context["exception"])
    )
    lane = LatestTaskQueue(FrozenClock())

    async def job() -> None:
        raise ValueError("broken")

    lane.submit(job)
    await lane.wait_or_cancel(5)

    assert [str(error) for error in heard] == ["broken"]
