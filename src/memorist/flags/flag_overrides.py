"""What a flag may change: gates and thresholds of the sections listed here. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from reprlib import Repr
from typing import TypeVar

import msgspec
from msgspec import Struct

from memorist.settings import (
    MAX_NUMBER,
    AutoMemorySettings,
    CompactionSettings,
    DreamSettings,
    RecallSettings,
    ResolvedSettings,
    SessionMemorySettings,
)

SettingsSection = TypeVar("SettingsSection", bound=Struct)

_short_repr = Repr()
_short_repr.maxstring = _short_repr.maxother = _short_repr.maxlong = 60
_short_repr.maxlevel, _short_repr.maxlist, _short_repr.maxdict = 1, 3, 3

_LIVE_FIELDS: dict[str, frozenset[str]] = {
    "auto_memory": frozenset({"enabled", "every_turns"}),
    "compaction": frozenset({"enabled"}),
}
"""The fields of a section that are read live, where not all are."""


FLAG_SOURCE = "flag"
"""Source name of a value that a feature flag overrides."""


SECTIONS: dict[str, Struct] = {
    "session_memory": SessionMemorySettings(),
    "dream": DreamSettings(),
    "auto_memory": AutoMemorySettings(),
    "recall": RecallSettings(),
    "compaction": CompactionSettings(),
}
"""Sections of the settings that flags may change, by name, with their defaults."""


_SECTION_NAMES = {type(section): name for name, section in SECTIONS.items()}


def list_flag_defaults() -> dict[str, bool | int | float]:
    """Every flag with the default of its setting, which determines its type."""
    return {
        name: own
        for section, settings in SECTIONS.items()
        for name, own in _flags_of_section(section, settings)
    }


def _flags_of_section(section: str, settings: Struct) -> list[tuple[str, bool | int | float]]:
    values = (
        (f"{section}.{field}", getattr(settings, field)) for field in settings.__struct_fields__
    )
    live = _LIVE_FIELDS.get(section, frozenset(settings.__struct_fields__))
    return [
        (name, own)
        for name, own in values
        if isinstance(own, int | float)
        and (isinstance(own, bool) or own > 0)  # a share of 0 is off, and no flag turns it on
        and name.partition(".")[2] in live
    ]


def apply_flags_to_section(
    settings: SettingsSection, flags: Mapping[str, object]
) -> SettingsSection:
    """The settings of one section with the flags applied; the same object where none applies.
    Raises KeyError for a section without flags.
    """
    section = _SECTION_NAMES[type(settings)]
    if not flags:
        return settings
    changed = {
        name.partition(".")[2]: flags[name]
        for name, own in _flags_of_section(section, settings)
        if name in flags and _may_override(flags[name], own)
    }
    return msgspec.structs.replace(settings, **changed) if changed else settings


def list_names_of_overriding_flags(flags: Mapping[str, object]) -> tuple[str, ...]:
    """Names of the flags that override their setting."""
    return tuple(
        name
        for name, own in list_flag_defaults().items()
        if name in flags and _may_override(flags[name], own)
    )


def find_flag_problems(flags: Mapping[str, object]) -> tuple[str, ...]:
    """Problems of ignored flags, one clause each: an unknown name, or a value of the wrong type."""
    known = list_flag_defaults()
    return tuple(
        _describe_problem(name, value, known)
        for name, value in flags.items()
        if name not in known or not _may_override(value, known[name])
    )


def _describe_problem(name: str, value: object, known: Mapping[str, bool | int | float]) -> str:
    if name not in known:
        near = difflib.get_close_matches(name[:200], known, n=1)
        return f"{_short_repr.repr(name)} is no flag" + (
            f"; did you mean {near[0]}?" if near else ""
        )
    wanted = (
        "true or false"
        if isinstance(known[name], bool)
        else f"a positive {'whole ' if isinstance(known[name], int) else ''}number"
    )
    return f"{name} is {_short_repr.repr(value)}, which is not {wanted}; the setting stays"


def _may_override(value: object, own: object) -> bool:
    if isinstance(own, bool) or isinstance(value, bool):
        return isinstance(own, bool) and isinstance(value, bool)
    return (
        isinstance(value, int if isinstance(own, int) else int | float) and 0 < value <= MAX_NUMBER
    )


def apply_all_flags(resolved: ResolvedSettings, flags: Mapping[str, object]) -> ResolvedSettings:
    """Apply feature flags over every other source; problems with a flag are added to what was
    ignored.
    """
    sections = {
        section: apply_flags_to_section(getattr(resolved.settings, section), flags)
        for section in SECTIONS
    }
    return ResolvedSettings(
        msgspec.structs.replace(resolved.settings, **sections),
        resolved.sources | dict.fromkeys(list_names_of_overriding_flags(flags), FLAG_SOURCE),
        (*resolved.ignored, *(f"{remark} (flag)" for remark in find_flag_problems(flags))),
        resolved.notes,
    )
