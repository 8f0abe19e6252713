"""Restore stage one's extracts from stage two's files after the database was lost. Pure.

`raw_memories.md` and `rollout_summaries/` hold what was last selected, so that need not be
extracted again. `store.rollouts.restore` writes it to the database.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from memorist.store.thread import Extracted, Kept

LOST = (
    "how often and when each session was cited: selection begins anew, by age alone",
    "extracts that were not among those consolidated last: they are made again where the sessions are still there and young enough",
    "which sessions held nothing worth keeping: they are looked at again",
    "attempts that failed, and their reasons",
    "which sessions were left out by the user's word: say it again, before the next extraction",
)
"""What no file holds, in words for the user."""


class Rebuilt(Struct, frozen=True, kw_only=True):
    """What can be restored, in the order of thread ids, and what cannot."""

    kept: tuple[Kept, ...]
    lost: tuple[str, ...] = LOST


def rebuild(found: Iterable[Extracted]) -> Rebuilt:
    """Return the extracts that files hold as database rows: the newest of each session, and none
    without either text.
    """
    newest: dict[str, Extracted] = {}
    for each in found:
        if each.thread and not each.empty and (each.thread not in newest or newest[each.thread].updated < each.updated):
            newest[each.thread] = each
    return Rebuilt(kept=tuple(Kept(extracted=newest[thread], selected=True) for thread in sorted(newest)))
