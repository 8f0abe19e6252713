"""The task queue of several machines: procrastinate, in the same schema as the state. Needs the
extra `postgres`.

The queue brings jobs to workers and finds what dead ones left; who may do a job, and what comes of
it, is decided by the claims (`jobs`), so a task that runs twice does nothing twice.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Iterator

import procrastinate
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.types import TimeDeltaParams

from memorist.errors import StoreError
from memorist.store.job_claim_rules import JobKind
from memorist.store.postgres import add_schema_to_address

PerformJob = Callable[[JobKind, str, str], Awaitable[float | None]]
"""Does a job of a kind and key under the name of a task; returns the seconds after which it should
come again, or None.
"""

_TASK = "memorist"
_QUEUE = "memorist"
_CONSOLIDATION_PRIORITY = -10
"""Priority of the consolidation: waiting extractions come first."""

_GRACE_SECONDS = 0.2
"""Seconds a job has to give its claim back when its worker is stopped."""

_ENDING_SECONDS = 86_400.0
"""The same for a worker that runs once and was not stopped: its jobs end by their own limits."""


class JobQueue:
    """The queue of one database. Every method raises StoreError when the server refuses."""

    def __init__(
        self, address: str, perform: PerformJob, *, stalled_seconds: float, connections: int = 4
    ) -> None:
        self._stalled = stalled_seconds
        connector = procrastinate.PsycopgConnector(
            conninfo=add_schema_to_address(address), min_size=1, max_size=connections
        )
        self._app = procrastinate.App(connector=connector)

        self._running: set[asyncio.Task[float | None]] = set()

        async def run(context: procrastinate.JobContext, kind: JobKind, key: str) -> None:
            job = asyncio.ensure_future(perform(kind, key, f"task-{context.job.id}"))
            self._running.add(job)
            try:
                again = await job
            finally:
                self._running.discard(job)
            if again is not None:
                await self.enqueue(kind, key, after=again)

        self._task = self._app.task(name=_TASK, queue=_QUEUE, pass_context=True)(run)

    async def open(self) -> None:
        """Connect, and create the queue's tables if missing."""
        with _translate_queue_errors():
            await self._app.open_async()
            found = await self._app.connector.execute_query_one_async(
                "select to_regclass('procrastinate_jobs') is not null as there"
            )
            if not found["there"]:
                # Two workers may do this at once: the second finds the tables of the first.
                with contextlib.suppress(ConnectorException):
                    await self._app.schema_manager.apply_schema_async()
            await self._app.connector.execute_query_one_async(
                "select count(*) from procrastinate_jobs"
            )

    async def close(self) -> None:
        """Disconnect."""
        with _translate_queue_errors():
            await self._app.close_async()

    async def enqueue(self, kind: JobKind, key: str, *, after: float = 0.0) -> bool:
        """Enqueue a job, to start after so many seconds; False when it is queued already."""
        name = f"{kind}:{key}"
        schedule: TimeDeltaParams | None = {"seconds": round(after)} if after > 0 else None
        configured = self._task.configure(
            lock=name,
            queueing_lock=name,
            schedule_in=schedule,
            priority=_CONSOLIDATION_PRIORITY if kind == "consolidate" else 0,
        )
        with _translate_queue_errors():
            try:
                await configured.defer_async(kind=kind, key=key)
            except AlreadyEnqueued:
                return False
        return True

    async def requeue_stalled(self) -> None:
        """Requeue the jobs of workers that gave no sign of life."""
        with _translate_queue_errors():
            stalled = await self._app.job_manager.get_stalled_jobs(
                seconds_since_heartbeat=self._stalled
            )
            for job in stalled:
                await self._requeue_job(job)

    async def requeue_jobs_of_dead_worker(self, jobs: Iterable[tuple[JobKind, str]]) -> None:
        """Requeue those of these jobs, by kind and key, that a worker began; it is known to be
        dead.
        """
        with _translate_queue_errors():
            for kind, key in jobs:
                for job in await self._app.job_manager.list_jobs_async(
                    queue=_QUEUE, status=Status.DOING.value, lock=f"{kind}:{key}"
                ):
                    await self._requeue_job(job)

    async def _requeue_job(self, job: Job) -> None:
        try:
            await self._app.job_manager.retry_job(job)
        except ConnectorException:
            # The same job is queued already, or another worker has just requeued it: this one is
            # dropped.
            with contextlib.suppress(ConnectorException):
                await self._app.job_manager.finish_job(job, status=Status.FAILED, delete_job=True)

    def cancel_running_jobs(self) -> None:
        """Have the running jobs give their claims back."""
        for job in self._running:
            job.cancel()

    async def run(self, *, name: str, concurrency: int, wait: bool) -> None:
        """Run jobs until cancelled; without `wait` until none can be started and all have ended."""
        with _translate_queue_errors():
            await self._app.run_worker_async(
                queues=[_QUEUE],
                name=name,
                concurrency=concurrency,
                wait=wait,
                install_signal_handlers=False,
                shutdown_graceful_timeout=_GRACE_SECONDS if wait else _ENDING_SECONDS,
                update_heartbeat_interval=self._stalled / 3,
                stalled_worker_timeout=self._stalled,
                delete_jobs="always",
            )


@contextlib.contextmanager
def _translate_queue_errors() -> Iterator[None]:
    try:
        yield
    except ConnectorException as error:
        raise StoreError(
            f"the task queue in PostgreSQL refuses ({error.__cause__ or error}); check the "
            f"server and the setting `state`"
        ) from error
