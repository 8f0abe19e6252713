"""Restore stage one's extracts from stage two's files after the database was lost. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from memorist.store.extract_rows import RolloutExtract, StoredExtract

UNRECOVERABLE = (
    "how often and when each session was cited: selection begins anew, by age alone",
    "extracts that were not among those consolidated last: they are made again where the "
    "sessions are still there and young enough",
    "which sessions held nothing worth keeping: they are looked at again",
    "attempts that failed, and their reasons",
    "which sessions were left out by the user's word: say it again, before the next extraction",
)
"""What no file holds, in words for the user."""


class RestoredExtracts(Struct, frozen=True, kw_only=True):
    """What can be restored, in the order of thread ids, and what cannot."""

    rows: tuple[StoredExtract, ...]
    lost: tuple[str, ...] = UNRECOVERABLE


def restore_extracts_from_summaries(found: Iterable[RolloutExtract]) -> RestoredExtracts:
    """Return the extracts that files hold as database rows: the newest of each session, and none
    without either text.
    """
    newest: dict[str, RolloutExtract] = {}
    for each in found:
        if (
            each.thread
            and not each.is_empty
            and (each.thread not in newest or newest[each.thread].updated < each.updated)
        ):
            newest[each.thread] = each
    return RestoredExtracts(
        rows=tuple(
            StoredExtract(extracted=newest[thread], selected=True) for thread in sorted(newest)
        )
    )
