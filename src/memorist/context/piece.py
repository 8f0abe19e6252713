"""One piece of what the model is shown: its text, where it comes from, why it is there. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.messages import Role
from memorist.core.tokens import estimate_text, family_factor


class Section(Struct, frozen=True, kw_only=True):
    """What a caller gives for one place of the context. `tag` names a row of the scaffold table (`memorist.context.scaffold`)."""

    tag: str
    text: str
    """Without its tags."""
    source: str = "the host"
    """Where it comes from: a path, a setting, a subsystem."""
    why: str = ""
    """Empty for the reason that the table gives."""
    values: dict[str, str] = {}
    """Values of the names in the row's opening, such as the folder of `AGENTS.md`."""


class Piece(Struct, frozen=True, kw_only=True):
    """One piece as it goes out, tags and all."""

    role: Role
    tag: str
    """Of the scaffold table, or what else it is: `prompt`, `reply`, `tool_use` …"""
    text: str
    source: str
    why: str
    tokens: int
    """Estimated, by `core.tokens`; without a model's factor until `counted_for`."""


class LeftOut(Struct, frozen=True):
    """What was looked at and is not in the context, or not whole, and why."""

    source: str
    why: str


def piece(role: Role, tag: str, text: str, *, source: str, why: str) -> Piece:
    """A piece with its tokens counted."""
    return Piece(role=role, tag=tag, text=text, source=source, why=why, tokens=estimate_text(text))


def counted_for(pieces: Iterable[Piece], model: str) -> tuple[Piece, ...]:
    """Freshly counted pieces with the tokens that this model's family makes of them; as they are without a model."""
    factor = family_factor(model) if model else 1.0
    return tuple(replace(each, tokens=math.ceil(each.tokens * factor)) for each in pieces)
