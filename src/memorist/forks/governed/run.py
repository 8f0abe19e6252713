"""The one place where subsystems start forks: the governor is asked first."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from memorist.forks.governor import Governor, Refusal
from memorist.forks.run import run_fork
from memorist.forks.spec import ForkSpec, Outcome, Receipt, unrun_receipt
from memorist.ports import Clock, Files, Model


async def run_governed(
    spec: ForkSpec, *, model: Model, files: Files, clock: Clock, governor: Governor, record: Callable[[Receipt], None]
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
