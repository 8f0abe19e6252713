"""Run as a program: a worker on a shared database with scripted stages, until it gets SIGTERM. It
ends no session before there is a file `go`.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from memorist.rollouts.job_worker import MultiMachineWorkerIntervals
from memorist.rollouts.multi_machine_worker import run_multi_machine_worker
from memorist.store.postgres import PostgresState
from rollouts.stages import SETTINGS, Scripted, means

PACE = MultiMachineWorkerIntervals(stalled=4.0, sweep=0.5, lease=8, settle=0.2)
"""A worker that lives must give its signs in that time on a machine that is busy with other work
too.
"""


async def main(address: str, log: Path, seconds: float, at_once: int) -> None:
    state = PostgresState(address)
    scripted, stop = (
        Scripted(state, seconds=seconds, log=log, gate=log.with_name("go")),
        asyncio.Event(),
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await run_multi_machine_worker(
        means(state, scripted, [], SETTINGS, lease=PACE.lease),
        address,
        stop,
        pace=PACE,
        at_once=at_once,
    )
    state.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])))
