"""Comparing two contexts piece by piece: added, gone or unchanged. Pure (CX-9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from memorist.context.context_pieces import ContextPiece

PieceStatus = Literal["added", "gone", "same"]


class PieceChange(Struct, frozen=True):
    """A piece and its status in the comparison."""

    piece: ContextPiece
    change: PieceStatus


def compare_pieces(
    before: Sequence[ContextPiece], after: Sequence[ContextPiece]
) -> tuple[PieceChange, ...]:
    """List the pieces of both contexts: those of `after` in their order, removed ones where they
    stood.

    Two pieces are the same if role, tag and text are equal: a compaction that keeps a message under
    another id keeps the piece. Runs in linear time.
    """
    old, new = _match_pieces(before, after), _match_pieces(after, before)
    found: list[PieceChange] = []
    at = 0
    for piece, stays in zip(after, new, strict=True):
        while at < len(before) and not old[at]:
            found.append(PieceChange(before[at], "gone"))
            at += 1
        found.append(PieceChange(piece, "same" if stays else "added"))
        at += stays
    return (*found, *(PieceChange(piece, "gone") for piece in before[at:]))


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
