"""The one place where subsystems start forks: the governor is asked first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec.structs import replace

from memorist.forks.governor import Governor, Refusal
from memorist.forks.run import run_fork
from memorist.forks.spec import ForkSpec, Outcome, Receipt, unrun_receipt, untaken
from memorist.ports import Clock, Files, Model


async def run_governed(
    spec: ForkSpec, *, model: Model, files: Files, clock: Clock, governor: Governor, record: Callable[[Receipt], object]
) -> Receipt:
    """Run the fork if it may run; else give a receipt with `Outcome.BLOCKED` and the reason, and record it if the reason is new.

    Otherwise as `run_fork`.
    """
    answer = governor.ask(spec, model.name)
    if isinstance(answer, Refusal):
        receipt = unrun_receipt(spec.label, spec.why, model=model.name, now=clock.now(), outcome=Outcome.BLOCKED, said=answer.why)
        if answer.news:
            record(receipt)
        return receipt
    return await run_fork(replace(spec, limits=answer.limits), model=model, files=files, clock=clock, record=record)


async def run_on_copy(
    spec: ForkSpec, *, model: Model, files: Files, clock: Clock, governor: Governor, record: Callable[[Receipt], object]
) -> Receipt:
    """The same for a fork whose `files` are a copy that is judged afterwards: the caller records its receipt, once it is known what was kept of its work.

    Recorded here is only what will not be judged: a run that was cancelled, without files, and one that was blocked for a reason that is new.
    """
    receipts: list[Receipt] = []
    try:
        receipt = await run_governed(spec, model=model, files=files, clock=clock, governor=governor, record=receipts.append)
    except asyncio.CancelledError:
        for cancelled in receipts:
            record(untaken(cancelled))
        raise
    if receipt.outcome is Outcome.BLOCKED:
        for blocked in receipts:
            record(blocked)
    return receipt
