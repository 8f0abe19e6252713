"""Stages that follow a script, for tests and children of tests."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from memorist.clock import SystemClock
from memorist.rollouts.settings import RolloutsSettings
from memorist.rollouts.work.run import Means
from memorist.rollouts.working import Stages, Told, terms_of
from memorist.store.rollouts import kept
from memorist.store.state import State
from memorist.store.thread import Extracted, Thread

SETTINGS = RolloutsSettings(max_age_days=40_000, running=9)


def wait_for(path: Path) -> None:
    """Until the file is there."""
    while not path.exists():
        time.sleep(0.05)


class Scripted:
    """Takes `seconds` for each session and notes what it did, in memory and, one line each, in a file that several processes share."""

    def __init__(self, state: State, *, seconds: float = 0.0, log: Path | None = None, gate: Path | None = None) -> None:
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

    async def extract(self, thread: Thread) -> Extracted:
        self.note(f"begin {thread.id}")
        await asyncio.sleep(self.seconds)
        if self.gate is not None:
            await asyncio.to_thread(wait_for, self.gate)
        if thread.id in self.broken:
            raise self.broken[thread.id]
        self.note(f"end {thread.id}")
        return Extracted(thread=thread.id, updated=thread.updated, raw_memory=f"what {thread.id} taught", generated=self.state.now())

    async def consolidate(self, confirm: Callable[[], bool]) -> Sequence[Extracted]:
        self.note("consolidate")
        used = [each.extracted for each in kept(self.state)]
        if "consolidate" in self.broken:
            raise self.broken["consolidate"]
        return used if confirm() else []


def means(state: State, scripted: Scripted, told: list[Told], settings: RolloutsSettings = SETTINGS, *, lease: int | None = None) -> Means:
    return Means(
        state=state,
        settings=settings,
        terms=terms_of(settings, lease=lease),
        stages=Stages(scripted.extract, scripted.consolidate),
        clock=SystemClock(),
        told=told.append,
    )
