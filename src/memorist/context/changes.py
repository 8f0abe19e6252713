"""Compare two contexts piece by piece: added, gone or unchanged. Pure (CX-9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from memorist.context.piece import Piece

Change = Literal["added", "gone", "same"]


class Changed(Struct, frozen=True):
    """A piece and its status in the comparison."""

    piece: Piece
    change: Change


def changes(before: Sequence[Piece], after: Sequence[Piece]) -> tuple[Changed, ...]:
    """List the pieces of both contexts: those of `after` in their order, removed ones where they
    stood.

    Two pieces are the same if role, tag and text are equal: a compaction that keeps a message under
    another id keeps the piece. Runs in linear time.
    """
    old, new = _shared(before, after), _shared(after, before)
    found: list[Changed] = []
    at = 0
    for piece, stays in zip(after, new, strict=True):
        while at < len(before) and not old[at]:
            found.append(Changed(before[at], "gone"))
            at += 1
        found.append(Changed(piece, "same" if stays else "added"))
        at += stays
    return (*found, *(Changed(piece, "gone") for piece in before[at:]))


def _shared(pieces: Sequence[Piece], others: Sequence[Piece]) -> list[bool]:
    """For each piece, tell whether the others hold an equal one that is not matched yet."""
    left = Counter(map(_likeness, others))
    found = []
    for piece in pieces:
        key = _likeness(piece)
        found.append(left[key] > 0)
        left[key] -= 1
    return found


def _likeness(piece: Piece) -> tuple[str, str, str]:
    return piece.role, piece.tag, piece.text
