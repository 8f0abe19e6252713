"""Stages that follow a script, for tests and children of tests."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from memorist.rollouts.job_worker import JobEvent, WorkerDependencies, WorkerStages
from memorist.settings import RolloutsSettings
from memorist.store.extract_rows import RolloutExtract, list_enabled_extracts
from memorist.store.job_claim_rules import build_lease_policy
from memorist.store.rollout_rows import Rollout
from memorist.store.state_database import StateDatabase
from memorist.system import SystemClock

SETTINGS = RolloutsSettings(max_age_days=40_000, running=9)


def wait_for(path: Path) -> None:
    """Until the file is there."""
    while not path.exists():
        time.sleep(0.05)


class Scripted:
    """Takes `seconds` for each session and notes what it did, in memory and, one line each, in a
    file that several processes share.
    """

    def __init__(
        self,
        state: StateDatabase,
        *,
        seconds: float = 0.0,
        log: Path | None = None,
        gate: Path | None = None,
    ) -> None:
        """`gate`: no session is done before that file is there."""
        self.state, self.seconds, self.log, self.gate = state, seconds, log, gate
        self.done: list[str] = []
        self.wanted, self.reached = 0, asyncio.Event()
        self.broken: dict[str, Exception] = {}

    def note(self, text: str) -> None:
        self.done.append(text)
        if len(self.done) >= self.wanted:
            self.reached.set()
        if self.log:
            with self.log.open("a") as file:
                file.write(f"{os.getpid()} {text}\n")

    async def extract(self, thread: Rollout) -> RolloutExtract:
        generated = self.state.now()
        self.note(f"begin {thread.id}")
        await asyncio.sleep(self.seconds)
        if self.gate is not None:
            await asyncio.to_thread(wait_for, self.gate)
        if thread.id in self.broken:
            raise self.broken[thread.id]
        self.note(f"end {thread.id}")
        return RolloutExtract(
            thread=thread.id,
            updated=thread.updated,
            raw_memory=f"what {thread.id} taught",
            generated=generated,
        )

    async def consolidate(self, confirm: Callable[[], bool]) -> Sequence[RolloutExtract]:
        self.note("consolidate")
        used = [each.extracted for each in list_enabled_extracts(self.state)]
        if "consolidate" in self.broken:
            raise self.broken["consolidate"]
        return used if confirm() else []


def means(
    state: StateDatabase,
    scripted: Scripted,
    told: list[JobEvent],
    settings: RolloutsSettings = SETTINGS,
    *,
    lease: int | None = None,
) -> WorkerDependencies:
    return WorkerDependencies(
        state=state,
        settings=settings,
        claim_policy=build_lease_policy(settings, lease=lease),
        stages=WorkerStages(scripted.extract, scripted.consolidate),
        clock=SystemClock(),
        on_event=told.append,
    )
