"""The report of one sync of past sessions. Values only."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from memorist.rollouts.sources.run import Passed
from memorist.rollouts.working import Done, Told
from memorist.store.claims import Refused
from memorist.store.thread import Kept


class Failed(Struct, frozen=True):
    """A session that could not be extracted now."""

    thread: str
    why: str


class Synced(Struct, frozen=True, kw_only=True):
    """What one sync did.

    `found` counts sessions, old and new; `claimed` those that were worked on; `consolidated` those
    that the files hold afterwards, 0 if they did not change.
    """

    found: int
    eligible: int
    claimed: int
    extracted: int
    no_op: int
    failed: tuple[Failed, ...]
    consolidated: int
    seconds: float
    passed: tuple[Passed, ...] = ()
    """Files that do not become memory, and why."""
    waits: tuple[Failed, ...] = ()
    """Sessions, or the consolidation (`global`), that could not be claimed, and why."""
    way: str = ""
    """How the files were made: by `model` or `structural`."""
    remarks: tuple[str, ...] = ()


def parted(heard: Sequence[Told]) -> tuple[list[Done], tuple[Failed, ...]]:
    """Split events into finished jobs, and deferred ones with the reason: not claimable, or
    released.
    """
    done = [each for each in heard if isinstance(each, Done) and each.outcome != "released"]
    waits = [
        Failed(each.key, each.reason) if isinstance(each, Done) else Failed(each.refused.key, _reason(each.refused))
        for each in heard
        if not isinstance(each, Done) or each.outcome == "released"
    ]
    return done, tuple(waits)


def _reason(refused: Refused) -> str:
    """Return the reason for the user.

    A wait after a failure says so, lest the old reason be taken for a new one.
    """
    if refused.why != "backoff" or refused.until is None:
        return refused.reason or refused.why
    until = datetime.fromtimestamp(refused.until, UTC).strftime("%H:%M UTC")
    return f"waits until {until}, or for `memorist rollouts retry`, since it could not be done before: {refused.reason}"


def without_model(extracts: Sequence[Kept], made: Collection[str]) -> list[str]:
    """Return a remark if the structural fallback was used for some of these sessions although there
    is a model.
    """
    problems = [each.extracted.problem for each in extracts if each.extracted.thread in made and each.extracted.problem]
    return [f"{len(problems):,} extracted without the model; the first because {problems[0]}"] if problems else []
