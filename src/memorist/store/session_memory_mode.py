"""Exclude sessions from memory: what was extracted from them is deleted, and stage two is asked to
forget it. Sessions whose user turned memory off are noted by id, and nothing is learned of their
recordings; those that were left out afterwards are noted, too, for a database that is begun anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote, unquote

from msgspec.structs import replace

from memorist.ports import FileSystem
from memorist.store.extract_rows import remove_extract
from memorist.store.home_layout import Layout
from memorist.store.job_claim_rules import JobClaimPolicy
from memorist.store.job_claims import request_consolidation
from memorist.store.rollout_rows import MemoryMode, Rollout, list_rollouts, save_rollouts
from memorist.store.state_database import StateDatabase


def persist_session_memory_mode(
    state: StateDatabase,
    files: FileSystem,
    layout: Layout,
    thread: str,
    mode: MemoryMode,
    terms: JobClaimPolicy,
) -> bool:
    """As `set_memory_mode`, and it holds in a database that is begun anew. An unknown session is
    ignored.
    """
    if not state.query("select id from threads where id = :id", {"id": thread}):
        return False
    noted = read_left_out_sessions(files, layout)
    wanted = noted - {thread} if mode == "enabled" else noted | {thread}
    if wanted != noted:
        files.write(layout.left_out_sessions, b"".join(map(_encode_id, sorted(wanted))))
    if mode == "enabled":  # what it began with may have been erased: it is opened again
        with state.transaction():
            state.execute("update threads set modified_ns = 0 where id = :id", {"id": thread})
    return set_memory_mode(state, thread, mode, terms)


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
    state: StateDatabase, files: FileSystem, layout: Layout, thread: str, terms: JobClaimPolicy
) -> None:
    """Leave a session out for good, and what it began with goes, too."""
    persist_session_memory_mode(state, files, layout, thread, "disabled", terms)
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
    return _read_ids(files, layout.memory_off_sessions)


def read_left_out_sessions(files: FileSystem, layout: Layout) -> frozenset[str]:
    """Ids of past sessions that the user left out of memory. Raises StoreError."""
    return _read_ids(files, layout.left_out_sessions)


def record_memory_off_session(files: FileSystem, layout: Layout, session: str) -> None:
    """Note that nothing is to be learned of a session. Raises StoreError."""
    if session not in read_memory_off_sessions(files, layout):
        files.append(layout.memory_off_sessions, _encode_id(session))


def _read_ids(files: FileSystem, path: Path) -> frozenset[str]:
    try:
        lines = files.read(path)
    except FileNotFoundError:
        return frozenset()
    return frozenset(map(unquote, lines.decode("ascii", "ignore").split()))


def _encode_id(session: str) -> bytes:
    return f"{quote(session, safe='', errors='replace')}\n".encode()


def save_rollouts_except_memory_off(
    state: StateDatabase,
    found: Sequence[Rollout],
    files: FileSystem,
    layout: Layout,
    terms: JobClaimPolicy,
) -> tuple[Rollout, ...]:
    """Record the rollouts found, but for those without memory; returns the others, of which some
    may be left out.

    One that was recorded before its user turned memory off is left out from now on, and what was
    extracted of it is deleted. Raises StoreError.
    """
    off = read_memory_off_sessions(files, layout)
    left_out = read_left_out_sessions(files, layout)
    wanted = tuple(
        replace(each, mode="disabled", first_words="") if each.id in left_out else each
        for each in found
        if each.id not in off
    )
    save_rollouts(state, wanted)
    if off:
        for each in list_rollouts(state):
            if each.id in off and each.mode == "enabled":
                set_memory_mode(state, each.id, "disabled", terms)
    return wanted
