"""Claims of workers that are known to be dead. Runs on either database (`StateDatabase`)."""

from __future__ import annotations

from memorist.store.job_claim_rules import JobKind
from memorist.store.state_database import StateDatabase


def release_leases_of_dead_workers(state: StateDatabase) -> list[tuple[JobKind, str]]:
    """End the leases of the workers that are surely dead, and name the jobs they held: whoever
    claims one next buries its worker without waiting for the lease to end.

    A worker that was taken for dead wrongly loses its claim, and its result with it; nothing is
    done twice. Raises StoreError.
    """
    rows = state.query(
        "select kind, key, worker, token from jobs where status = 'running' order by kind, key"
    )
    dead = {
        name: state.is_worker_dead(name)
        for name in {get_process_name_of_worker(row["worker"] or "") for row in rows}
    }
    dead_rows = [row for row in rows if dead[get_process_name_of_worker(row["worker"] or "")]]
    if dead_rows:
        with state.transaction():
            ended = [{"token": row["token"], "now": state.now()} for row in dead_rows]
            state.execute_many(
                "update jobs set lease_until = :now where status = 'running' and token = :token"
                " and lease_until > :now",
                ended,
            )
    return [(row["kind"], row["key"]) for row in dead_rows]


def get_process_name_of_worker(worker: str) -> str:
    """The name of the process in a worker's name, which is `TASK@PROCESS` or `PROCESS`, each with
    the number of a runner behind it or without.
    """
    return worker.rpartition("@")[2].partition("#")[0]
