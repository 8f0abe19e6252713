"""What differs between a folder and its remote, seen from what both were when they were last alike (TM-2). Pure: checksums in, steps out.

No time is looked at: clocks of two machines may differ by hours. An edit goes before a deletion, wherever each was made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from memorist.team.remote import Put, Seen

MASS = 10
"""From so many deletions at once on, of at least half of what is shared, they wait for a person: a folder that is gone is rarely meant. Ours."""


class Known(Struct, frozen=True):
    """One memory as it was last alike: its checksum there and here, empty where it was not."""

    there: str
    here: str
    held: bool = False
    """What is there was not taken here: it waits in the inbox, or was refused."""


class State(Struct, frozen=True, kw_only=True):
    """What is kept between two runs."""

    remote: str = ""
    seen: Seen = Seen()
    keys: dict[str, Known] = {}
    beside: dict[str, str] = {}
    """Names of texts that are kept beside another, and of that other."""


class Steps(Struct, frozen=True, kw_only=True):
    """What is to be done, by name."""

    take: tuple[str, ...] = ()
    """Changed there alone: its text comes here."""
    drop: tuple[str, ...] = ()
    """Deleted there, unchanged here."""
    meet: tuple[str, ...] = ()
    """Changed on both sides."""
    send: tuple[str, ...] = ()
    """Changed here alone."""
    remove: tuple[str, ...] = ()
    """Deleted here, unchanged there."""
    aside: tuple[str, ...] = ()
    """Changed here, while what is there was not taken: the text here goes there under another name."""
    alike: tuple[str, ...] = ()
    """The same on both sides, though not as it was: only to be noted."""


class Sides(Struct, frozen=True, kw_only=True):
    """What a plan is made of: checksums by name on both sides, and what both were."""

    here: Mapping[str, str]
    there: Mapping[str, str]
    known: Mapping[str, Known] = {}
    staying: Collection[str] = ()
    """Names whose text here stays here: a secret, too large. What is there does not go either."""


def plan(sides: Sides) -> Steps:
    """The steps that make both sides alike, each name in at most one of them, sorted."""
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
    """What is known, without names that the remote neither has nor says it deleted (`there` holds both): lost there, they are new to it again."""
    return {key: each for key, each in known.items() if not each.there or key in there}


def new_again(known: Mapping[str, Known], send: Collection[str], there: Collection[str]) -> dict[str, Known]:
    """What is known, where names that were deleted there and changed here (among `send`, and not `there`) are new to the remote: they go as such."""
    return {key: Known("", each.here) if key in send and key not in there else each for key, each in known.items()}


def too_many(going: Sequence[str], known: Mapping[str, Known]) -> bool:
    """Whether so many deletions at once wait for a person."""
    return len(going) >= MASS and 2 * len(going) >= len(known)


def batches(changes: Mapping[str, Put], limit: int) -> Iterator[dict[str, Put]]:
    """The changes in parts of at most `limit` bytes of text, sorted; a larger one goes alone. Deletions and changes of what is there go first, so that a
    full store still takes them.
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
"""Changes in one request."""
