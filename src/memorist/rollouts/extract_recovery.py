"""Restore stage one's extracts from stage two's files after the database was lost. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from memorist.store.extract_rows import RolloutExtract, StoredExtract


def select_recoverable_extracts(found: Iterable[RolloutExtract]) -> tuple[StoredExtract, ...]:
    """Return the extracts that files hold as database rows: the newest of each session, in order
    of thread ids, and none without either text.
    """
    newest: dict[str, RolloutExtract] = {}
    for each in found:
        if (
            each.thread
            and not each.is_empty
            and (each.thread not in newest or newest[each.thread].updated < each.updated)
        ):
            newest[each.thread] = each
    return tuple(
        StoredExtract(extracted=newest[thread], selected=True) for thread in sorted(newest)
    )
