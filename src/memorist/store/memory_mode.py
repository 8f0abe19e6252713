"""Exclude sessions from memory: what was extracted from them is deleted, and stage two is asked to
forget it.
"""

from __future__ import annotations

from collections.abc import Sequence

from memorist.store.extract_rows import remove_extract
from memorist.store.job_claim_rules import LeasePolicy
from memorist.store.job_claims import request_consolidation
from memorist.store.rollout_rows import MemoryMode
from memorist.store.state_database import StateDatabase


def set_memory_mode(
    state: StateDatabase, thread: str, mode: MemoryMode, terms: LeasePolicy
) -> bool:
    """Set whether a session may become memory; one that is allowed again is extracted again. True
    when the consolidated memory includes it: stage two is then requested.

    An unknown session is ignored. Raises StoreError.
    """
    with state.transaction():
        state.execute(
            "update threads set mode = :mode where id = :id", {"id": thread, "mode": mode}
        )
        if mode == "enabled":
            return False
        state.execute(
            "update jobs set last_success = null where kind = 'extract' and key = :id",
            {"id": thread},
        )
        return _forget_extracts(state, [thread], terms)


def _forget_extracts(state: StateDatabase, ids: Sequence[str], terms: LeasePolicy) -> bool:
    is_claimed = False
    for id in ids:
        is_claimed = (
            bool(
                state.query(
                    "select thread from extracts where thread = :id and selected = 1", {"id": id}
                )
            )
            or is_claimed
        )
        remove_extract(state, id)
    if is_claimed:
        request_consolidation(state, state.now(), terms)
    return is_claimed
