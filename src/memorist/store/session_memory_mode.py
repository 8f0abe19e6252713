"""Exclude sessions from memory: what was extracted from them is deleted, and stage two is asked to
forget it. Sessions whose user turned memory off are noted by id, and nothing is learned of their
recordings.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, unquote

from memorist.ports import FileSystem
from memorist.store.extract_rows import remove_extract
from memorist.store.home_layout import Layout
from memorist.store.job_claim_rules import JobClaimPolicy
from memorist.store.job_claims import request_consolidation
from memorist.store.rollout_rows import MemoryMode, Rollout, list_rollouts, save_rollouts
from memorist.store.state_database import StateDatabase


def set_memory_mode(
    state: StateDatabase, thread: str, mode: MemoryMode, terms: JobClaimPolicy
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


def disable_memory_and_erase_first_words(
    state: StateDatabase, thread: str, terms: JobClaimPolicy
) -> None:
    """As `set_memory_mode` with `disabled`, and what the session began with goes, too."""
    set_memory_mode(state, thread, "disabled", terms)
    with state.transaction():
        state.execute("update threads set first_words = '' where id = :id", {"id": thread})


def _forget_extracts(state: StateDatabase, ids: Sequence[str], terms: JobClaimPolicy) -> bool:
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


def read_memory_off_sessions(files: FileSystem, layout: Layout) -> frozenset[str]:
    """Ids of sessions without memory. Raises StoreError."""
    try:
        lines = files.read(layout.memory_off_sessions)
    except FileNotFoundError:
        return frozenset()
    return frozenset(map(unquote, lines.decode("ascii", "ignore").split()))


def record_memory_off_session(files: FileSystem, layout: Layout, session: str) -> None:
    """Note that nothing is to be learned of a session. Raises StoreError."""
    if session not in read_memory_off_sessions(files, layout):
        name = quote(session, safe="", errors="replace")
        files.append(layout.memory_off_sessions, f"{name}\n".encode())


def save_rollouts_except_memory_off(
    state: StateDatabase, found: Sequence[Rollout], off: frozenset[str], terms: JobClaimPolicy
) -> tuple[Rollout, ...]:
    """Record the rollouts found, but for those in `off`; returns the others.

    One that was recorded before its user turned memory off is left out from now on, and what was
    extracted of it is deleted. Raises StoreError.
    """
    wanted = tuple(each for each in found if each.id not in off)
    save_rollouts(state, wanted)
    if off:
        for each in list_rollouts(state):
            if each.id in off and each.mode == "enabled":
                set_memory_mode(state, each.id, "disabled", terms)
    return wanted
