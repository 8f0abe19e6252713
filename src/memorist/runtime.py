"""What the parts of an engine work with: one `Runtime` for an engine, and one `SessionContext` for
each of its sessions.

Every part takes one of the two. Both are frozen; a session has a variant of its engine's runtime,
with the settings of its project and with its own governor, events and receipts.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from memorist.errors import UsageError
from memorist.events import Event
from memorist.flags.flag_lookup import Flags
from memorist.forks.fork_runner import run_fork
from memorist.forks.fork_spec import (
    ForkGovernor,
    ForkOutcome,
    ForkRunDenial,
    ForkSpec,
    Receipt,
    UnlimitedGovernor,
    build_discarded_receipt,
    build_skipped_receipt,
)
from memorist.ports import Clock, FileSystem, HostInfo, Model
from memorist.settings import Settings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout, SessionLayout
from memorist.system import SystemClock


def _ignore(what: object) -> None:
    del what


def _refuse_database() -> sqlite3.Connection:
    raise UsageError("this runtime has no database")


HeavyRunner = Callable[..., Awaitable[Any]]
"""Runs a pure function of a module, with its arguments, in a thread or another process."""


class Runtime(Struct, frozen=True, kw_only=True):
    """Clock, files, model, settings and the other things from outside that a part works with.

    The defaults are those of a single command: this machine's clock and disk, no model, no limits,
    and nobody who wants events or receipts.
    """

    settings: Settings = Settings()
    clock: Clock = field(default_factory=SystemClock)
    files: FileSystem = field(default_factory=DiskFiles)
    model: Model | None = None
    """None works from structure alone."""
    flags: Flags = field(default_factory=Flags)
    """May override some settings at any time."""
    environment: Mapping[str, str] | None = None
    """Environment variables; None for this process's own."""
    open_database: Callable[[], sqlite3.Connection] = _refuse_database
    """Returns the state database, opened once. Raises StoreError."""
    governor: ForkGovernor = UnlimitedGovernor()
    """Asked before each fork."""
    emit: Callable[[Event], None] = _ignore
    """Takes an event. Raises StoreError when it cannot be written."""
    record_receipt: Callable[[Receipt], object] = _ignore
    """Keeps a fork's receipt and emits its event."""

    run_heavy: HeavyRunner = asyncio.to_thread
    """Runs work of seconds outside the event loop."""
    learned_windows: dict[str, int] = field(default_factory=dict)
    """Context windows in tokens by model, as their servers showed them in this process; shared by
    the sessions of an engine.
    """

    @property
    def layout(self) -> Layout:
        """Paths below the home folder."""
        return Layout.from_setting(self.settings.home)

    async def run_fork(
        self, spec: ForkSpec, model: Model, record: Callable[[Receipt], object] | None = None
    ) -> Receipt:
        """Run a fork on the runtime's files if the governor admits it, by the runner that it names;
        otherwise return a receipt with `ForkOutcome.BLOCKED` and the reason, recorded only if the
        reason is new.

        `record` takes the receipt in place of `record_receipt`. In all other respects like
        `forks.fork_runner.run_fork`.
        """
        return await self._run_admitted(spec, model, self.files, record or self.record_receipt)

    async def run_fork_for_review(self, spec: ForkSpec, model: Model, files: FileSystem) -> Receipt:
        """Like `run_fork`, for a fork whose `files` are a copy that is reviewed afterwards: the
        caller records the receipt once it knows what was accepted, and reviews within
        `record_receipt_if_review_fails`.

        Only receipts of runs that will not be reviewed are recorded here: a cancelled run (without
        files), and one that was blocked for a new reason.
        """
        receipts: list[Receipt] = []
        try:
            receipt = await self._run_admitted(spec, model, files, receipts.append)
        except asyncio.CancelledError:
            for cancelled in receipts:
                self.record_receipt(build_discarded_receipt(cancelled))
            raise
        if receipt.outcome is ForkOutcome.BLOCKED:
            for blocked in receipts:
                self.record_receipt(blocked)
        return receipt

    @contextmanager
    def record_receipt_if_review_fails(self, receipt: Receipt) -> Iterator[None]:
        """For the review of a finished fork's work: where the block is cancelled or fails, the
        receipt is recorded here, without files, for what the fork used counts all the same. Else
        the caller records it.
        """
        try:
            yield
        except (asyncio.CancelledError, Exception) as error:
            cancelled = isinstance(error, asyncio.CancelledError)
            receipt = replace(
                receipt, outcome=ForkOutcome.CANCELLED if cancelled else ForkOutcome.FAILED
            )
            said = "Its review was cancelled." if cancelled else str(error)
            self.record_receipt(build_discarded_receipt(receipt, said))
            raise

    async def _run_admitted(
        self, spec: ForkSpec, model: Model, files: FileSystem, record: Callable[[Receipt], object]
    ) -> Receipt:
        answer = self.governor.request_admission(spec, model.name)
        if isinstance(answer, ForkRunDenial):
            receipt = build_skipped_receipt(
                spec.label,
                spec.why,
                model=model.name,
                now=self.clock.now(),
                outcome=ForkOutcome.BLOCKED,
                reason=answer.why,
            )
            if answer.is_new:
                record(receipt)
            return receipt
        spec = replace(spec, limits=answer.limits)
        if answer.runner is not None:
            start = partial(run_fork, clock=self.clock)
            return await answer.runner(spec, model=model, files=files, record=record, start=start)
        return await run_fork(spec, model=model, files=files, clock=self.clock, record=record)

    def record_skipped_fork(self, label: str, why: str, outcome: ForkOutcome) -> None:
        """Record a receipt for a fork that never ran, too, where it would have used a model
        (FK-8).
        """
        if self.model is not None:
            now = self.clock.now()
            self.record_receipt(
                build_skipped_receipt(label, why, model=self.model.name, now=now, outcome=outcome)
            )


class SessionContext(Struct, frozen=True, kw_only=True):
    """One session: its identity, its files, and the runtime that its parts work with."""

    runtime: Runtime
    layout: SessionLayout = SessionLayout(Path())
    """Paths of its files; those of the working folder for a command, which writes none."""
    id: str = ""
    """The id that it was opened with; empty for a command outside a session."""
    project: str = ""
    """Root folder of its project; empty for none."""
    format: str = "anthropic"
    """Wire format of its requests."""
    host: HostInfo = HostInfo()

    @property
    def has_auto_memory(self) -> bool:
        """Whether the memories of the session's project are written and shown; never without a
        project, nor on a machine whose disk is not persistent.
        """
        host = self.host
        is_wanted = self.runtime.settings.uses_auto_memory
        return bool(self.project) and is_wanted and host.memory and not host.remote

    @property
    def has_past_sessions(self) -> bool:
        """Whether the memory of past sessions takes part; never in a subagent, nor on a machine
        whose disk is not persistent.
        """
        host = self.host
        return self.runtime.settings.uses_rollouts and host.main and host.memory and not host.remote
