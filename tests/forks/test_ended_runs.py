"""How a fork ends: at its limits, with a model that fails, cancelled, replaced; each leaves a
receipt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from forks.test_run import (
    FORMATS,
    NOTES,
    again,
    build_form,
    edit,
    memory,
    other,
    parent_of,
    play,
    spec,
)
from memorist.errors import ModelUnavailable
from memorist.forks.fork_runner import run_fork
from memorist.forks.fork_spec import (
    FolderAccess,
    ForkLimits,
    ForkOutcome,
    ForkSpec,
    Receipt,
    build_skipped_receipt,
)
from memorist.forks.latest_task_queue import LatestTaskQueue
from memorist.forks.text_edits import ParsedAnswerEdits
from memorist.ports import Reply, Request
from memorist.testing import (
    CallTool,
    DelayReply,
    Fail,
    FrozenClock,
    Hang,
    ReplyParts,
    Say,
    ScriptedModel,
)
from memorist.testing.steps import Step


@pytest.mark.covers("FK-5")
@pytest.mark.parametrize(
    ("step", "limits", "outcome", "turns", "said"),
    [
        (other, ForkLimits(), ForkOutcome.OVER_LIMIT, 5, "5 turns"),
        (other, ForkLimits(turns=9, requests=3), ForkOutcome.OVER_LIMIT, 3, "3 requests"),
        (other, ForkLimits(tokens=10), ForkOutcome.OVER_LIMIT, 1, "10 tokens"),
        (again, ForkLimits(), ForkOutcome.LOOPED, 3, "3 times"),
        (
            lambda number: DelayReply(seconds=50, step=again(number)),
            ForkLimits(repeats=9),
            ForkOutcome.TIMED_OUT,
            3,
            "time was used up",
        ),
    ],
)
async def test_a_fork_stops_at_its_limits(
    step: Callable[[int], Step], limits: ForkLimits, outcome: ForkOutcome, turns: int, said: str
) -> None:
    """Turns, requests, tokens, time and equal calls each end the run with an outcome of its own,
    and the receipt says which.
    """
    script: list[Step] = [step(number) for number in range(9)]

    receipt, _, _ = await play(script, permission=FolderAccess(folder=NOTES.parent), limits=limits)

    assert (receipt.outcome, receipt.turns) == (outcome, turns)
    assert said in receipt.said


@pytest.mark.covers("FK-5")
async def test_reading_a_file_again_after_each_edit_is_no_loop() -> None:
    """Equal calls count only when their results are equal too."""
    script: list[Step] = [
        CallTool(name="Read", input={"file_path": str(NOTES)}),
        edit("one", "1"),
        CallTool(name="Read", input={"file_path": str(NOTES)}),
        Say(text="Done."),
    ]

    receipt, _, _ = await play(
        script, permission=FolderAccess(folder=NOTES.parent), limits=ForkLimits(repeats=2)
    )

    assert receipt.outcome is ForkOutcome.CHANGED


@pytest.mark.covers("FK-5", "FK-8")
async def test_a_model_that_hangs_is_timed_out() -> None:
    """The fork's own time limit ends a call that never comes back, and what was changed before is
    in the receipt. The provider bills what it had read by then: it counts as estimated.
    """
    receipt, _, _ = await play([edit("one", "1"), Hang()], limits=ForkLimits(seconds=0.1))

    assert receipt.outcome is ForkOutcome.TIMED_OUT
    assert receipt.requests == 2
    assert len(receipt.files) == 1
    answered, ended = receipt.sent
    assert receipt.usage == answered.usage + ended.usage
    assert ended.usage.cache_read > 0
    assert ended.usage.input == ended.usage.output == 0


class BreakingModel(ScriptedModel):
    """Its provider breaks off each reply twice, and answers then."""

    async def send(self, request: Request) -> Reply:
        return replace(await super().send(request), attempts=3, broken_off=2)


@pytest.mark.covers("FK-5", "FK-8")
async def test_replies_that_the_provider_broke_off_count_with_their_input() -> None:
    """They are billed, and a run that always ends so would cost without end: as estimated, whether
    the call succeeds in the end or not.
    """
    error = ModelUnavailable("broke off")
    error.attempts, error.broken_off = 3, 3
    failed, _, _ = await play([Fail(error=error)])
    plain, _, _ = await play([Say(text="Nothing to do.")])
    model = BreakingModel([Say(text="Parent speaks."), Say(text="Nothing to do.")])
    answered = await run_fork(
        spec(await parent_of(model)), model=model, files=memory(), clock=FrozenClock()
    )

    assert failed.requests == answered.requests == 3
    assert failed.usage.cache_read > 0
    lost = answered.usage.cache_read - plain.usage.cache_read
    assert lost == failed.usage.cache_read * 2 // 3
    assert answered.sent[0].usage == answered.usage


@pytest.mark.covers("FK-8", "SF-5")
async def test_a_model_that_fails_is_an_outcome() -> None:
    """The error's sentence is in the receipt, with all that was sent, and the file is as it was."""
    overloaded = ModelUnavailable("The provider is overloaded; try later.")
    overloaded.attempts = 4
    receipt, _, files = await play([Fail(error=overloaded)])

    assert receipt.requests == 4
    assert (receipt.outcome, receipt.said) == (
        ForkOutcome.FAILED,
        "The provider is overloaded; try later.",
    )
    assert files.read(NOTES) == b"one\ntwo\n"


class _OwnModel:
    """A host's own model, which knows nothing of memorist's errors."""

    name, format, window = "scripted:model", "anthropic", 200_000

    def __init__(self, answer: object) -> None:
        self.answer = answer

    async def send(self, request: Request) -> Any:
        del request
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    async def close(self) -> None:
        pass


@pytest.mark.covers("FK-8", "SF-5")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (KeyError("choices"), "the model scripted:model failed: KeyError: 'choices'"),
        (
            {"choices": []},
            "the model scripted:model answered with dict, not with a memorist.ports.Reply",
        ),
        (None, "the model scripted:model answered with NoneType, not with a memorist.ports.Reply"),
        (asyncio.CancelledError(), "the model scripted:model cancelled its own call"),
    ],
)
async def test_a_hosts_own_model_that_fails_in_any_way_is_an_outcome(
    answer: object, said: str
) -> None:
    """What it raises stays out of the host's turn."""
    receipt = await run_fork(
        spec(await parent_of(ScriptedModel([Say(text="Parent.")]))),
        model=_OwnModel(answer),
        files=memory(),
        clock=FrozenClock(),
    )

    assert (receipt.outcome, receipt.said) == (ForkOutcome.FAILED, said)


@pytest.mark.covers("FK-2", "FK-8")
@pytest.mark.parametrize("wire", FORMATS)
async def test_cancelling_passes_through_and_leaves_a_receipt(wire: str) -> None:
    """The model call is cancelled with the task; the receipt tells what was done until then."""
    told: list[Receipt] = []
    hanging = asyncio.Event()
    answers: Iterator[Step] = iter((Say(text="Parent."), edit("one", "1")))

    def script(_: Request) -> Step:
        step: Step = next(answers, Hang())
        if isinstance(step, Hang):
            hanging.set()
        return step

    model = ScriptedModel(script, format=wire)
    run = run_fork(
        spec(await parent_of(model)),
        model=model,
        files=memory(),
        clock=FrozenClock(),
        record=told.append,
    )
    task = asyncio.create_task(run)
    await hanging.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task

    (receipt,) = told
    assert receipt.outcome is ForkOutcome.CANCELLED
    assert (receipt.requests, receipt.turns, len(receipt.files)) == (2, 1, 1)


@pytest.mark.covers("FK-8")
async def test_a_defect_leaves_a_receipt_too() -> None:
    """An exception of ours that nobody expected passes through, and the receipt says failed."""
    told: list[Receipt] = []

    def broken(_: object) -> ParsedAnswerEdits:
        raise ZeroDivisionError

    run = run_fork(
        spec(None, history_summary="x", form=msgspec.structs.replace(build_form(), read=broken)),
        model=ScriptedModel([Say(text='{"text": "one"}')]),
        files=memory(),
        clock=FrozenClock(),
        record=told.append,
    )

    with pytest.raises(ZeroDivisionError):
        await run
    assert [receipt.outcome for receipt in told] == [ForkOutcome.FAILED]


@pytest.mark.covers("FK-5", "FK-8")
async def test_a_replaced_call_leaves_a_receipt() -> None:
    """Two forks wait while one runs: the older of them never runs, and its receipt says so."""
    clock = FrozenClock()
    lane = LatestTaskQueue(clock)
    told: list[Receipt] = []
    model = ScriptedModel([Say(text="Done.")] * 2)

    for number in range(3):
        wanted = spec(None, history_summary="x", why=str(number))

        async def job(wanted: ForkSpec = wanted) -> None:
            await run_fork(wanted, model=model, files=memory(), clock=clock, record=told.append)

        def dropped(outcome: ForkOutcome, wanted: ForkSpec = wanted) -> None:
            told.append(
                build_skipped_receipt(
                    wanted.label, wanted.why, model=model.name, now=clock.now(), outcome=outcome
                )
            )

        lane.submit(job, on_dropped=dropped)
    await lane.wait_or_cancel(60)

    assert [(receipt.why, receipt.outcome) for receipt in told] == [
        ("1", ForkOutcome.REPLACED),
        ("0", ForkOutcome.UNCHANGED),
        ("2", ForkOutcome.UNCHANGED),
    ]


@pytest.mark.covers("FK-5")
async def test_one_round_saves_the_request_that_only_says_done() -> None:
    """When every call of a turn succeeded and a file changed, the run ends there; when one failed,
    it goes on.
    """
    done, model, _ = await play(
        [ReplyParts(parts=(edit("one", "1"), edit("two", "2")))], one_round=True
    )
    mended, _, files = await play(
        [ReplyParts(parts=(edit("one", "1"), edit("tow", "2"))), edit("two", "2")], one_round=True
    )

    assert (done.outcome, done.turns, len(model.requests)) == (ForkOutcome.CHANGED, 1, 2)
    assert (mended.outcome, mended.turns) == (ForkOutcome.CHANGED, 2)
    assert files.read(NOTES) == b"1\n2\n"
