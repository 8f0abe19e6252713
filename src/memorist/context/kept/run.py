"""The first context of a session on disk, so that a new process sends the very same bytes. Derived: where it is lost, it is looked up anew."""

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
    """What the file holds."""

    family: Family
    pieces: tuple[Piece, ...]


def load(files: Files, path: Path, family: Family) -> tuple[Piece, ...] | None:
    """The pieces; None where there are none of this family, or they cannot be read."""
    with contextlib.suppress(FileNotFoundError, StoreError, msgspec.DecodeError):
        shown = msgspec.json.decode(files.read(path), type=Shown)
        return shown.pieces if shown.family == family else None
    return None


def keep(files: Files, path: Path, family: Family, pieces: tuple[Piece, ...]) -> None:
    """Write them down. A disk that refuses costs a new process the same bytes, and nothing else."""
    with contextlib.suppress(StoreError):
        files.write(path, msgspec.json.encode(Shown(family, pieces)))
