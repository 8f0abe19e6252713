"""What a flag may change: session memory's gate and thresholds. Pure.

A flag has the name of its setting (`session_memory.start_tokens`). Only positive numbers override a number, and only true and false a switch; all
else leaves the setting as it is, so that a flag that was cleared or mistyped cannot bring a threshold to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from memorist.session_memory.settings import SessionMemorySettings

SESSION_MEMORY = "session_memory."
"""Stands before the names of session memory's settings."""


def names(settings: SessionMemorySettings) -> dict[str, bool | int | float]:
    """The flags that are looked up, with the values in force without them."""
    return {f"{SESSION_MEMORY}{field.name}": getattr(settings, field.name) for field in msgspec.structs.fields(settings)}


def overridden(settings: SessionMemorySettings, flags: Mapping[str, object]) -> SessionMemorySettings:
    """The settings with what the flags say."""
    changed: dict[str, Any] = {}
    for name, own in names(settings).items():
        value = flags.get(name)
        if name in flags and _may_override(value, own):
            changed[name.removeprefix(SESSION_MEMORY)] = value
    return msgspec.structs.replace(settings, **changed) if changed else settings


def _may_override(value: object, own: object) -> bool:
    if isinstance(own, bool) or isinstance(value, bool):
        return isinstance(own, bool) and isinstance(value, bool)
    if isinstance(own, int):
        return isinstance(value, int) and value > 0
    return isinstance(value, int | float) and math.isfinite(value) and value > 0
