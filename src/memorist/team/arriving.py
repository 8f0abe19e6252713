"""What a pull is about to write, put together name by name. Pure."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.changes import Change
from memorist.auto_memory.shared import TEAM
from memorist.team.merge import beside
from memorist.team.wire import landed


class Arriving(Struct, frozen=True, kw_only=True):
    """Changes of files in their order, and what will be known of each name once they are written."""

    changes: tuple[Change, ...] = ()
    merged: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    beside: tuple[tuple[str, str], ...] = ()
    texts: dict[str, str] = {}
    """Name to the text there."""
    bad: tuple[tuple[str, str], ...] = ()


class Here(Struct, frozen=True):
    """One memory of this machine: the file and what is shared of it."""

    data: bytes
    text: str


def kept(found: Arriving, key: str, here: Here, copy: Here | None) -> Arriving:
    """What is here is kept under another name, first of all; `copy` is what has that name already, as after a run that was killed."""
    other = beside(key, here.text)
    change = Change(path=TEAM + other, before=copy.data if copy else None, after=here.data)
    changes = found.changes if copy is not None and copy.text == here.text else (change, *found.changes)
    return replace(found, changes=changes, beside=(*found.beside, (key, other)))


def met(found: Arriving, key: str, text: str, both: str | None, before: bytes | None) -> Arriving:
    """One more text that comes: in the place of what is here (also where `both` is None: they could not be brought together), or both in one."""
    change = Change(path=TEAM + key, before=before, after=landed(text if both is None else both, before))
    found = replace(found, changes=(*found.changes, change))
    if both is None:
        return found
    return replace(found, taken=(*found.taken, key)) if both == text else replace(found, merged=(*found.merged, key))
