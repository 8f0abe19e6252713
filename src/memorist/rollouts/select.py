"""Which sessions are consolidated: the most used, then the newest, as many as the settings say (RO-5; codex.md section 1.8). Pure."""

from __future__ import annotations

from collections.abc import Iterable

from memorist.store.thread import Kept

_DAY = 86_400


def select(rows: Iterable[Kept], *, limit: int, unused_days: int, now: float) -> tuple[Kept, ...]:
    """The selection in ascending order of the sessions' ids, so that a change of rank alone changes no file.

    Left out are extracts without content, and those last cited (or, if never, last changed or extracted: an old session that was imported lately is
    new here) longer than `unused_days` before `now` (seconds since the epoch). More than `limit` are ranked by uses, last use or change, last change, id.
    """
    cutoff = now - unused_days * _DAY
    fit = [row for row in rows if not row.extracted.empty and _wanted_last(row) >= cutoff]
    fit.sort(key=lambda row: (row.uses, _touched(row), row.extracted.updated, row.extracted.thread), reverse=True)
    return tuple(sorted(fit[: max(0, limit)], key=lambda row: row.extracted.thread))


def _touched(row: Kept) -> int:
    return row.extracted.updated if row.last_use is None else row.last_use


def _wanted_last(row: Kept) -> int:
    """When it was cited last; where it never was, when it was changed or extracted."""
    return max(row.extracted.updated, row.extracted.generated) if row.last_use is None else row.last_use
