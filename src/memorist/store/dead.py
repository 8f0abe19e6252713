"""Claims of workers that are known to be dead. Runs on either database (`State`)."""

from __future__ import annotations

from collections.abc import Callable

from memorist.store.state import State


def end_leases(state: State, dead: Callable[[str], bool]) -> list[str]:
    """End the leases of the workers of which `dead` is sure, and name them: whoever claims next buries them without waiting for an hour.

    A worker that was taken for dead wrongly loses its claim, and its result with it; nothing is done twice. Raises StoreError.
    """
    rows = state.read("select distinct worker from jobs where status = 'running' order by worker")
    gone = [row["worker"] for row in rows if row["worker"] and dead(row["worker"])]
    if gone:
        with state.transaction():
            ended = [{"worker": worker, "now": state.now()} for worker in gone]
            state.change_each(
                "update jobs set lease_until = :now where status = 'running' and worker = :worker and lease_until > :now", ended
            )
    return gone
