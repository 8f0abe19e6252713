"""Saves the first context of a session, so that a new process sends the very same bytes.

The file is derived: if it is lost, the context is assembled again.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec
from msgspec import Struct

from memorist.context.piece import Piece
from memorist.context.settings import Family
from memorist.errors import StoreError
from memorist.ports import Files


class Shown(Struct, frozen=True):
    """The content of the file."""

    family: Family
    pieces: tuple[Piece, ...]


def load(files: Files, path: Path, family: Family) -> tuple[Piece, ...] | None:
    """Load the pieces; None if there are none of this family, or they cannot be read."""
    with contextlib.suppress(FileNotFoundError, StoreError, msgspec.DecodeError):
        shown = msgspec.json.decode(files.read(path), type=Shown)
        return shown.pieces if shown.family == family else None
    return None


def keep(files: Files, path: Path, family: Family, pieces: tuple[Piece, ...]) -> None:
    """Save the pieces.

    If the disk refuses, a new process cannot resend the same bytes; nothing else is lost.
    """
    with contextlib.suppress(StoreError):
        files.write(path, msgspec.json.encode(Shown(family, pieces)))
