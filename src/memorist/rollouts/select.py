"""Select which sessions are consolidated: most used, then newest, up to the configured number
(RO-5; codex.md section 1.8). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from memorist.store.thread import Kept

_DAY = 86_400


def select(rows: Iterable[Kept], *, limit: int, unused_days: int, now: float) -> tuple[Kept, ...]:
    """Return the selection in ascending order of session ids, so that a change of rank alone
    changes no file.

    Left out are extracts without content, and those last cited (or, if never cited, last changed or
    extracted: an old session imported recently is new here) more than `unused_days` before `now`
    (seconds since the epoch). If there are more than `limit`, they are ranked by uses, last use or
    change, last change, id.
    """
    cutoff = now - unused_days * _DAY
    fit = [row for row in rows if not row.extracted.empty and _wanted_last(row) >= cutoff]
    fit.sort(key=lambda row: (row.uses, _touched(row), row.extracted.updated, row.extracted.thread), reverse=True)
    return tuple(sorted(fit[: max(0, limit)], key=lambda row: row.extracted.thread))


def _touched(row: Kept) -> int:
    return row.extracted.updated if row.last_use is None else row.last_use


def _wanted_last(row: Kept) -> int:
    """Return when it was last cited; if never, when it was changed or extracted."""
    return max(row.extracted.updated, row.extracted.generated) if row.last_use is None else row.last_use
