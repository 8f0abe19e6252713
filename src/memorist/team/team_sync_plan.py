"""The difference between a folder and its remote, relative to their last common state
(TM-2). Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct, field

from memorist.team.team_remote import LastSeenRemoteState

MASS_DELETION_COUNT = 10
"""So many deletions at once, of at least half of what is shared, wait for the user: a vanished
folder is rarely intended. Our choice.
"""


class SyncedMemory(Struct, frozen=True):
    """The last common state of one memory: its checksum on the remote and here, empty if absent."""

    there: str
    here: str
    waits: bool = field(default=False, name="held")
    """The remote text was not accepted here: it waits in the inbox, or was refused."""


class TeamSyncState(Struct, frozen=True, kw_only=True):
    """The state saved between two runs."""

    remote: str = ""
    seen: LastSeenRemoteState = LastSeenRemoteState()
    keys: dict[str, SyncedMemory] = {}
    conflict_copies: dict[str, str] = field(default_factory=dict, name="beside")
    """Names of conflict copies, and of the memory each belongs to."""


class TeamSyncSteps(Struct, frozen=True, kw_only=True):
    """The steps to take, by name."""

    take: tuple[str, ...] = ()
    """Changed only on the remote: its text comes here."""
    drop: tuple[str, ...] = ()
    """Deleted on the remote, unchanged here."""
    meet: tuple[str, ...] = ()
    """Changed on both sides."""
    send: tuple[str, ...] = ()
    """Changed only here."""
    remove: tuple[str, ...] = ()
    """Deleted here, unchanged on the remote."""
    aside: tuple[str, ...] = ()
    """Changed here, while the remote text was not accepted: the local text goes to the remote under
    another name.
    """
    alike: tuple[str, ...] = ()
    """The same on both sides, though different from before: only to be recorded."""


class TeamSyncSides(Struct, frozen=True, kw_only=True):
    """The input of a plan: checksums by name on both sides, and their last common state."""

    here: Mapping[str, str]
    there: Mapping[str, str]
    last_synced: Mapping[str, SyncedMemory] = {}
    staying: Collection[str] = ()
    """Names whose local text stays here: a secret, too large.

    The remote text is not removed either.
    """


def plan_team_sync(sides: TeamSyncSides) -> TeamSyncSteps:
    """Plan the steps that make both sides equal, each name in at most one of them, sorted."""
    found: dict[str, list[str]] = {}
    for key in sorted({*sides.here, *sides.there, *sides.last_synced}):
        step = _choose_step(key, sides)
        if step:
            found.setdefault(step, []).append(key)
    return TeamSyncSteps(**{step: tuple(keys) for step, keys in found.items()})


def _choose_step(key: str, sides: TeamSyncSides) -> str:
    known = sides.last_synced.get(key, SyncedMemory("", ""))
    here, there = sides.here.get(key, ""), sides.there.get(key, "")
    here_moved, there_moved = here != known.here, there != known.there
    if here == there:
        if here_moved or there_moved or known.waits or (key in sides.last_synced and not here):
            return "alike"
        return ""
    if not here_moved:
        return ("take" if there else "drop") if there_moved else ""
    if key in sides.staying:
        return ""
    if there_moved:
        return "meet" if here and there else "send" if here else "take"
    return ("aside" if here else "") if known.waits else ("send" if here else "remove")


def drop_names_lost_by_remote(
    known: Mapping[str, SyncedMemory], there: Collection[str]
) -> dict[str, SyncedMemory]:
    """Drop names that the remote neither has nor reports as deleted (`there` holds both): it lost
    them, so they are new to it again.
    """
    return {key: each for key, each in known.items() if not each.there or key in there}


def reset_remotely_deleted_names(
    known: Mapping[str, SyncedMemory], send: Collection[str], there: Collection[str]
) -> dict[str, SyncedMemory]:
    """Reset names that were deleted on the remote and changed here (among `send`, and not `there`):
    they are sent as new.
    """
    return {
        key: SyncedMemory("", each.here) if key in send and key not in there else each
        for key, each in known.items()
    }


def is_mass_deletion(going: Sequence[str], known: Mapping[str, SyncedMemory]) -> bool:
    """Tell whether so many deletions at once wait for the user."""
    return len(going) >= MASS_DELETION_COUNT and 2 * len(going) >= len(known)
