"""What a flag may change: gates and thresholds of the sections listed here. Pure.

A flag has the name of its setting (`session_memory.start_tokens`). Only positive numbers override a number, and only true and false a switch; all
else leaves the setting as it is, so that a flag that was cleared or mistyped cannot bring a threshold to nothing. What was left so is reported.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from reprlib import Repr
from typing import TypeVar

import msgspec
from msgspec import Struct

from memorist.dream.settings import DreamSettings
from memorist.session_memory.settings import SessionMemorySettings

SECTIONS: dict[str, Struct] = {"session_memory": SessionMemorySettings(), "dream": DreamSettings()}
"""Sections of the settings that flags may change, by name, with their defaults."""

LARGEST = 2**53
"""Up to here every whole number is one in JSON and as a float too; a larger one is a mistake, and no clock or count could hold it."""

Section = TypeVar("Section", bound=Struct)

_short = Repr()
_short.maxstring = _short.maxother = _short.maxlong = 60
_short.maxlevel, _short.maxlist, _short.maxdict = 1, 3, 3
_NAMES = {type(section): name for name, section in SECTIONS.items()}


def names() -> dict[str, bool | int | float]:
    """Every flag there is, with the default of its setting, which tells its kind."""
    return {name: own for section, settings in SECTIONS.items() for name, own in _named(section, settings)}


def _named(section: str, settings: Struct) -> list[tuple[str, bool | int | float]]:
    values = ((f"{section}.{field}", getattr(settings, field)) for field in settings.__struct_fields__)
    return [(name, own) for name, own in values if isinstance(own, int | float)]


def overridden(settings: Section, flags: Mapping[str, object]) -> Section:
    """The settings of one section with what the flags say; the very same object where they say nothing. Raises KeyError for a section without flags."""
    section = _NAMES[type(settings)]
    if not flags:
        return settings
    changed = {
        name.partition(".")[2]: flags[name] for name, own in _named(section, settings) if name in flags and _may_override(flags[name], own)
    }
    return msgspec.structs.replace(settings, **changed) if changed else settings


def in_force(flags: Mapping[str, object]) -> tuple[str, ...]:
    """Names of the flags that override their setting."""
    return tuple(name for name, own in names().items() if name in flags and _may_override(flags[name], own))


def remarks(flags: Mapping[str, object]) -> tuple[str, ...]:
    """What is wrong with flags that override nothing, one clause each: a name that is no flag's, a value that is not of its kind."""
    known = names()
    return tuple(_remark(name, value, known) for name, value in flags.items() if name not in known or not _may_override(value, known[name]))


def _remark(name: str, value: object, known: Mapping[str, bool | int | float]) -> str:
    if name not in known:
        near = difflib.get_close_matches(name[:200], known, n=1)
        return f"{_short.repr(name)} is no flag" + (f"; did you mean {near[0]}?" if near else "")
    wanted = "true or false" if isinstance(known[name], bool) else f"a positive {'whole ' if isinstance(known[name], int) else ''}number"
    return f"{name} is {_short.repr(value)}, which is not {wanted}; the setting stays"


def _may_override(value: object, own: object) -> bool:
    if isinstance(own, bool) or isinstance(value, bool):
        return isinstance(own, bool) and isinstance(value, bool)
    return isinstance(value, int if isinstance(own, int) else int | float) and 0 < value <= LARGEST
