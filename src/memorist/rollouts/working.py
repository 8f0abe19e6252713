"""The values a worker is configured with and emits. Values only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from msgspec import Struct

from memorist.rollouts.settings import RolloutsSettings
from memorist.store.claims import Kind, Refused, Terms
from memorist.store.jobs import Finish
from memorist.store.thread import Extracted, Thread

Extract = Callable[[Thread], Awaitable[Extracted]]
"""Stage one. Raises MemoristError with the reason if it cannot; the job is then retried later."""

Consolidate = Callable[[Callable[[], bool]], Awaitable[Sequence[Extracted]]]
"""Stage two; returns the extracts that it consolidated.

Its argument is to be called before any lasting change: it tells whether the job is still this
worker's, and renews the lease.
"""

Outcome = Finish | Literal["consolidated", "failed", "released"]


class Done(Struct, frozen=True, kw_only=True, tag="done"):
    """A job that ended in any way."""

    kind: Kind
    key: str
    outcome: Outcome
    seconds: float
    reason: str = ""
    """Why it failed, was lost or was released."""


class Waits(Struct, frozen=True, kw_only=True, tag="waits"):
    """A job that could not be claimed."""

    kind: Kind
    refused: Refused


Told = Done | Waits


class Stages(Struct, frozen=True):
    """The two stages of work."""

    extract: Extract
    consolidate: Consolidate
    last_extract: Extract | None = None
    """Stage one for the last attempt, so that the session is not lost; None uses `extract`."""


class Pace(Struct, frozen=True, kw_only=True):
    """Intervals of workers that share jobs over several machines, in seconds.

    Our choice: a dead worker's job continues within `stalled` + `sweep`.
    """

    stalled: float = 60.0
    """A worker without a heartbeat for that long is dead.

    Stages that compute for longer without awaiting must do it in a thread.
    """
    sweep: float = 60.0
    """Time between two scans for new sessions and for dead workers' jobs."""
    lease: int = 180
    """Longest lease; a shorter setting takes precedence."""
    settle: float = 10.0
    """Delay before consolidation checks again whether running extractions have ended."""


def terms_of(settings: RolloutsSettings, *, lease: int | None = None) -> Terms:
    """Build the terms of claims from the settings; `lease` (seconds) bounds theirs."""
    return Terms(
        lease_seconds=settings.lease_seconds if lease is None else min(lease, settings.lease_seconds),
        retries=settings.retries,
        retry_seconds=settings.retry_seconds,
        running=settings.running,
        cooldown_seconds=settings.cooldown_hours * 3_600,
        pollutes=settings.pollutes,
    )
