"""What one sync of past sessions did. Values only."""

from __future__ import annotations

from msgspec import Struct

from memorist.rollouts.sources.run import Passed


class Failed(Struct, frozen=True):
    """A session that could not be extracted now."""

    thread: str
    why: str


class Synced(Struct, frozen=True, kw_only=True):
    """What one sync did. `found` counts sessions, old and new; `claimed` those that were worked on; `consolidated` those that the files hold afterwards, 0
    where they did not change.
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
