"""What a worker is given and what it tells. Values only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from msgspec import Struct

from memorist.rollouts.settings import RolloutsSettings
from memorist.store.claims import Kind, Refused, Terms
from memorist.store.jobs import Finish
from memorist.store.thread import Extracted, Thread

Extract = Callable[[Thread], Awaitable[Extracted]]
"""Stage one. Raises MemoristError with the reason when it cannot; the job is then tried again later."""

Consolidate = Callable[[Callable[[], bool]], Awaitable[Sequence[Extracted]]]
"""Stage two; gives the extracts that it consolidated. It is handed a question to ask before it changes anything that lasts: is the job still mine? Asking
also renews the lease."""

Outcome = Finish | Literal["consolidated", "failed", "released"]


class Done(Struct, frozen=True, kw_only=True, tag="done"):
    """A job that ended, one way or another."""

    kind: Kind
    key: str
    outcome: Outcome
    seconds: float
    reason: str = ""
    """Why it failed, was lost or was given back."""


class Waits(Struct, frozen=True, kw_only=True, tag="waits"):
    """A job that could not be claimed."""

    kind: Kind
    refused: Refused


Told = Done | Waits


class Stages(Struct, frozen=True):
    """The work itself."""

    extract: Extract
    consolidate: Consolidate
    last_extract: Extract | None = None
    """Stage one where no attempt follows if it fails, so that the session is not lost; None: as ever."""


class Pace(Struct, frozen=True, kw_only=True):
    """How often workers on several machines look after each other, in seconds. Ours: a dead worker's job goes on within `stalled` + `sweep`."""

    stalled: float = 60.0
    """A worker without a sign of life for that long is dead. Stages that compute for longer without awaiting anything must do it in a thread."""
    sweep: float = 60.0
    """Time between two looks for new sessions and for what the dead left."""
    lease: int = 180
    """Longest lease; a setting that is shorter counts."""
    settle: float = 10.0
    """Wait before consolidation asks again whether the extractions that run have ended."""


def terms_of(settings: RolloutsSettings, *, lease: int | None = None) -> Terms:
    """What claims are given on by the settings; `lease` (seconds) bounds theirs."""
    return Terms(
        lease_seconds=settings.lease_seconds if lease is None else min(lease, settings.lease_seconds),
        retries=settings.retries,
        retry_seconds=settings.retry_seconds,
        running=settings.running,
        cooldown_seconds=settings.cooldown_hours * 3_600,
        pollutes=settings.pollutes,
    )
