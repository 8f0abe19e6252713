"""The pieces of a context: text, source and reason. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.messages import Role
from memorist.core.token_count import estimate_text_tokens, token_factor


class ContextSection(Struct, frozen=True, kw_only=True):
    """A section supplied by a caller.

    `tag` names a row of the scaffold table (`memorist.context.context_tags`).
    """

    tag: str
    text: str
    """The text without its tags."""
    source: str = "the host"
    """Where it comes from: a path, a setting, a subsystem."""
    why: str = ""
    """Empty uses the table's reason."""
    values: dict[str, str] = {}
    """Values of the names in the row's opening, such as the folder of `AGENTS.md`."""


class ContextPiece(Struct, frozen=True, kw_only=True):
    """One piece as it is sent, including its tags."""

    role: Role
    tag: str
    """A tag of the scaffold table, or what else it is: `prompt`, `reply`, `tool_use` …"""
    text: str
    source: str
    why: str
    tokens: int
    """Estimated by `core.token_count`; without the model family's factor until `recount_tokens`."""


class OmittedSource(Struct, frozen=True):
    """A source that is not in the context, or not whole, and why."""

    source: str
    why: str


def build_piece(role: Role, tag: str, text: str, *, source: str, why: str) -> ContextPiece:
    """Build a piece with its tokens counted."""
    return ContextPiece(
        role=role, tag=tag, text=text, source=source, why=why, tokens=estimate_text_tokens(text)
    )


def recount_tokens(pieces: Iterable[ContextPiece], model: str) -> tuple[ContextPiece, ...]:
    """Return freshly counted pieces with this model family's token factor applied; unchanged
    without a model.
    """
    factor = token_factor(model) if model else 1.0
    return tuple(replace(each, tokens=math.ceil(each.tokens * factor)) for each in pieces)
