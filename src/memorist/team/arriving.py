"""Collect what a pull is about to write, name by name. Pure."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.changes import Change
from memorist.auto_memory.shared import TEAM
from memorist.team.merge import beside
from memorist.team.wire import landed


class Arriving(Struct, frozen=True, kw_only=True):
    """File changes in order, and what will be known of each name once they are written."""

    changes: tuple[Change, ...] = ()
    merged: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    beside: tuple[tuple[str, str], ...] = ()
    texts: dict[str, str] = {}
    """Name to the remote text."""
    bad: tuple[tuple[str, str], ...] = ()


class Here(Struct, frozen=True):
    """One memory of this machine: the file and its shared text."""

    data: bytes
    text: str


def kept(found: Arriving, key: str, here: Here, copy: Here | None) -> Arriving:
    """Add a copy of the local memory under another name, ahead of everything else.

    `copy` is what already has that name, as after a killed run.
    """
    other = beside(key, here.text)
    change = Change(path=TEAM + other, before=copy.data if copy else None, after=here.data)
    changes = found.changes if copy is not None and copy.text == here.text else (change, *found.changes)
    return replace(found, changes=changes, beside=(*found.beside, (key, other)))


def met(found: Arriving, key: str, text: str, both: str | None, before: bytes | None) -> Arriving:
    """Add one incoming text: in place of the local one (also if `both` is None: they could not be
    merged), or both merged.
    """
    change = Change(path=TEAM + key, before=before, after=landed(text if both is None else both, before))
    found = replace(found, changes=(*found.changes, change))
    if both is None:
        return found
    return replace(found, taken=(*found.taken, key)) if both == text else replace(found, merged=(*found.merged, key))
