"""The difference between a folder and its remote, relative to their last common state (TM-2).

Pure: checksums in, steps out. Times are not considered: clocks of two machines may differ by hours.
An edit takes precedence over a deletion, wherever each was made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from memorist.team.remote import Put, Seen

MASS = 10
"""So many deletions at once, of at least half of what is shared, wait for the user: a vanished
folder is rarely intended. Our choice.
"""


class Known(Struct, frozen=True):
    """The last common state of one memory: its checksum on the remote and here, empty if absent."""

    there: str
    here: str
    held: bool = False
    """The remote text was not accepted here: it waits in the inbox, or was refused."""


class State(Struct, frozen=True, kw_only=True):
    """The state saved between two runs."""

    remote: str = ""
    seen: Seen = Seen()
    keys: dict[str, Known] = {}
    beside: dict[str, str] = {}
    """Names of conflict copies, and of the memory each belongs to."""


class Steps(Struct, frozen=True, kw_only=True):
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


class Sides(Struct, frozen=True, kw_only=True):
    """The input of a plan: checksums by name on both sides, and their last common state."""

    here: Mapping[str, str]
    there: Mapping[str, str]
    known: Mapping[str, Known] = {}
    staying: Collection[str] = ()
    """Names whose local text stays here: a secret, too large.

    The remote text is not removed either.
    """


def plan(sides: Sides) -> Steps:
    """Plan the steps that make both sides equal, each name in at most one of them, sorted."""
    found: dict[str, list[str]] = {}
    for key in sorted({*sides.here, *sides.there, *sides.known}):
        step = _step(key, sides)
        if step:
            found.setdefault(step, []).append(key)
    return Steps(**{step: tuple(keys) for step, keys in found.items()})


def _step(key: str, sides: Sides) -> str:
    known = sides.known.get(key, Known("", ""))
    here, there = sides.here.get(key, ""), sides.there.get(key, "")
    here_moved, there_moved = here != known.here, there != known.there
    if here == there:
        return "alike" if here_moved or there_moved or known.held or (key in sides.known and not here) else ""
    if not here_moved:
        return ("take" if there else "drop") if there_moved else ""
    if key in sides.staying:
        return ""
    if there_moved:
        return "meet" if here and there else "send" if here else "take"
    return ("aside" if here else "") if known.held else ("send" if here else "remove")


def without_lost(known: Mapping[str, Known], there: Collection[str]) -> dict[str, Known]:
    """Drop names that the remote neither has nor reports as deleted (`there` holds both): it lost
    them, so they are new to it again.
    """
    return {key: each for key, each in known.items() if not each.there or key in there}


def new_again(known: Mapping[str, Known], send: Collection[str], there: Collection[str]) -> dict[str, Known]:
    """Reset names that were deleted on the remote and changed here (among `send`, and not `there`):
    they are sent as new.
    """
    return {key: Known("", each.here) if key in send and key not in there else each for key, each in known.items()}


def too_many(going: Sequence[str], known: Mapping[str, Known]) -> bool:
    """Tell whether so many deletions at once wait for the user."""
    return len(going) >= MASS and 2 * len(going) >= len(known)


def batches(changes: Mapping[str, Put], limit: int) -> Iterator[dict[str, Put]]:
    """Split the changes into parts of at most `limit` bytes of text, sorted; a larger one goes
    alone.

    Deletions and changes of existing memories go first, so that a full store still accepts them.
    """
    batch: dict[str, Put] = {}
    size = 0
    for key in sorted(changes, key=lambda key: (changes[key].was == "", key)):
        more = len((changes[key].text or "").encode("utf-8", "surrogatepass")) + len(key.encode("utf-8", "surrogatepass"))
        if batch and (size + more > limit or len(batch) >= MOST_IN_ONE):
            yield batch
            batch, size = {}, 0
        batch[key] = changes[key]
        size += more
    if batch:
        yield batch


MOST_IN_ONE = 500
"""Upper bound of changes in one request."""
