"""Starting forks within the budget: the one place where subsystems start them, after asking the
governor.
"""

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
    """Run the fork if the governor admits it; otherwise return a receipt with `ForkOutcome.BLOCKED`
    and the reason, recorded only if the reason is new.

    In all other respects like `run_fork`.
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
    """Like `run_with_budget`, for a fork whose `files` are a copy that is reviewed afterwards: the
    caller records the receipt once it knows what was accepted.

    Only receipts of runs that will not be reviewed are recorded here: a cancelled run (without
    files), and one that was blocked for a new reason.
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
