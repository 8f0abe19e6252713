"""Sessions that may not become memory any more, and those that are gone: what was made of them goes, and stage two is asked to forget them."""

from __future__ import annotations

from collections.abc import Sequence

from memorist.store.claims import Terms
from memorist.store.jobs import ask
from memorist.store.rollouts import take_out
from memorist.store.state import State
from memorist.store.thread import Mode


def set_mode(state: State, thread: str, mode: Mode, terms: Terms) -> bool:
    """Let a session become memory, or not; one that is allowed again is extracted anew. True when what was consolidated holds it: stage two is asked.

    A session that is unknown is left as it is. Raises StoreError.
    """
    with state.transaction():
        state.change("update threads set mode = :mode where id = :id", {"id": thread, "mode": mode})
        if mode == "enabled":
            return False
        state.change("update jobs set last_success = null where kind = 'extract' and key = :id", {"id": thread})
        return _forget(state, [thread], terms)


def remove_threads(state: State, ids: Sequence[str], terms: Terms) -> bool:
    """Forget sessions with all that was made of them. True when what was consolidated holds one of them: stage two is asked. Raises StoreError."""
    with state.transaction():
        for id in ids:
            state.change("delete from threads where id = :id", {"id": id})
            state.change("delete from jobs where kind = 'extract' and key = :id", {"id": id})
            state.change("delete from failures where kind = 'extract' and key = :id", {"id": id})
        return _forget(state, ids, terms)


def _forget(state: State, ids: Sequence[str], terms: Terms) -> bool:
    held = False
    for id in ids:
        held = bool(state.read("select thread from extracts where thread = :id and selected = 1", {"id": id})) or held
        take_out(state, id)
    if held:
        ask(state, state.now(), terms)
    return held
