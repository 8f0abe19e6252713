"""The runtime of background work, in a command or a worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from memorist.budget.budget_governor import BudgetGovernor
from memorist.ports import Clock, FileSystem, Model
from memorist.runtime import Runtime
from memorist.settings import Settings
from memorist.store.disk_files import DiskFiles
from memorist.store.sqlite_database import Connection
from memorist.system import SystemClock
from memorist.telemetry.tracing import SessionTracer


@contextmanager
def open_background_runtime(
    settings: Settings,
    database: Connection,
    model: Model | None,
    *,
    session: str = "",
    clock: Clock | None = None,
    files: FileSystem | None = None,
) -> Iterator[Runtime]:
    """A runtime for work that a command or a worker does; what its forks have reserved is released
    at the end. `session` is the one that the work is about, if any. The caller closes the database
    and the model.
    """
    clock = clock or SystemClock()
    tracer = SessionTracer(settings.telemetry, session, clock)
    governor = BudgetGovernor(
        database, session, clock=clock, settings=settings.spend, on_receipt=tracer.on_receipt
    )
    try:
        yield Runtime(
            settings=settings,
            clock=clock,
            files=files or DiskFiles(),
            model=model,
            open_database=lambda: database,
            governor=governor,
            emit=tracer.on_event,
            record_receipt=governor.record_receipt,
        )
    finally:
        governor.release_reservations()
