"""The pieces of a context (text, source and reason), and the difference of two contexts (CX-9).

Pure.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.messages import Role
from memorist.core.token_count import estimate_text_tokens, get_token_factor


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
    """Estimated by `core.token_count`; without the model's factor until
    `apply_model_token_factor`.
    """


class OmittedSource(Struct, frozen=True):
    """A source that is not in the context, or not whole, and why."""

    source: str
    why: str


def build_context_piece(role: Role, tag: str, text: str, *, source: str, why: str) -> ContextPiece:
    """Build a piece with its tokens counted."""
    return ContextPiece(
        role=role, tag=tag, text=text, source=source, why=why, tokens=estimate_text_tokens(text)
    )


def apply_model_token_factor(
    pieces: Iterable[ContextPiece], model: str
) -> tuple[ContextPiece, ...]:
    """Return freshly counted pieces with this model family's token factor applied; unchanged
    without a model.
    """
    factor = get_token_factor(model)
    return tuple(replace(each, tokens=math.ceil(each.tokens * factor)) for each in pieces)


PieceStatus = Literal["added", "gone", "same"]


class PieceWithStatus(Struct, frozen=True):
    """A piece and its status in the comparison."""

    piece: ContextPiece
    change: PieceStatus


def diff_context_pieces(
    before: Sequence[ContextPiece], after: Sequence[ContextPiece]
) -> tuple[PieceWithStatus, ...]:
    """List the pieces of both contexts: those of `after` in their order, removed ones where they
    stood.

    Two pieces are the same if role, tag and text are equal: a compaction that keeps a message under
    another id keeps the piece. Runs in linear time.
    """
    old, new = _match_pieces(before, after), _match_pieces(after, before)
    found: list[PieceWithStatus] = []
    at = 0
    for piece, stays in zip(after, new, strict=True):
        while at < len(before) and not old[at]:
            found.append(PieceWithStatus(before[at], "gone"))
            at += 1
        found.append(PieceWithStatus(piece, "same" if stays else "added"))
        at += stays
    return (*found, *(PieceWithStatus(piece, "gone") for piece in before[at:]))


def _match_pieces(pieces: Sequence[ContextPiece], others: Sequence[ContextPiece]) -> list[bool]:
    """For each piece, tell whether the others hold an equal one that is not matched yet."""
    left = Counter(map(_identity, others))
    found = []
    for piece in pieces:
        key = _identity(piece)
        found.append(left[key] > 0)
        left[key] -= 1
    return found


def _identity(piece: ContextPiece) -> tuple[str, str, str]:
    return piece.role, piece.tag, piece.text
