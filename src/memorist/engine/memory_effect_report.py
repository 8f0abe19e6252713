"""Whether memory helped in a home: the sessions that went without it beside the others, and the
memories that were shown often and never used.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from memorist.engine.memory_effect import (
    CONFIDENCE_LEVEL,
    MIN_SESSIONS,
    MemoryEffectEstimate,
    SessionMeasures,
    estimate_memory_effects,
    measure_session,
)
from memorist.engine.session_list import list_known_sessions
from memorist.errors import UnreadableSession
from memorist.formats.format_detection import read_session
from memorist.store.home_layout import Layout
from memorist.store.memory_uses import MemoryUseTotal, list_holdout_draws, sum_memory_uses
from memorist.store.sqlite_database import Connection
from memorist.store.transcript_reader import DecodedLineFile

MIN_UNUSED_SHOWINGS = 5
"""Times that a memory was shown without once being read or cited, from which on it is named. Our
choice.
"""


class MemoryEffectReport(Struct, frozen=True, kw_only=True):
    """What memory changed, as far as can be told."""

    with_memory: int
    """Sessions."""
    without: int
    minimum: int = MIN_SESSIONS
    level: float = CONFIDENCE_LEVEL
    effects: tuple[MemoryEffectEstimate, ...]
    idle: tuple[str, ...]
    """Memories of this project that were shown often and never used."""


def measure_memory_effect(
    home: Layout, database: Connection | None, folder: Path
) -> MemoryEffectReport:
    """Measure the sessions that were drawn by `recall.holdout`, and find idle memories of a memory
    folder. Raises StoreError.
    """
    drawn = {} if database is None else list_holdout_draws(database)
    files = {each.id: each.file for each in list_known_sessions(home, None)} if drawn else {}
    groups: tuple[list[SessionMeasures], list[SessionMeasures]] = ([], [])
    for session, held_out in drawn.items():
        with contextlib.suppress(UnreadableSession):
            found = measure_session(read_session(DecodedLineFile(Path(files.get(session, "")))))
            groups[held_out].append(found)
    uses = {} if database is None else sum_memory_uses(database, str(folder))
    return MemoryEffectReport(
        with_memory=len(groups[0]),
        without=len(groups[1]),
        effects=estimate_memory_effects(*groups),
        idle=tuple(_find_idle(uses)),
    )


def _find_idle(uses: dict[str, MemoryUseTotal]) -> Iterator[str]:
    for path, total in sorted(uses.items()):
        if path and total.shown >= MIN_UNUSED_SHOWINGS and not total.used:
            yield path
