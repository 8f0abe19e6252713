"""Which sessions go without memory by lot (`recall.holdout`), so that what memory does can be
measured.

A session is drawn by a digest of its id, so that it stays what it is when it is resumed, on any
machine.
"""

from __future__ import annotations

import hashlib

from memorist.errors import StoreError
from memorist.runtime import SessionContext
from memorist.store.memory_uses import read_holdout_by_session, record_holdout_draw


def is_drawn_for_holdout(session: str, share: float) -> bool:
    """Whether a session goes without memory, at this share of all sessions."""
    digest = hashlib.sha256(b"holdout\0" + session.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


def decide_and_record_holdout(context: SessionContext) -> bool:
    """Whether a session goes without memory to measure what memory does; what it was first
    holds. Recorded once; where that fails, it has memory.
    """
    share = context.runtime.settings.recall.holdout
    if not (share and context.id and context.host.main and context.host.memory):
        return False
    try:
        database = context.runtime.open_database()
        held_out = read_holdout_by_session(database).get(context.id)
        if held_out is None:
            held_out = is_drawn_for_holdout(context.id, share)
            now = context.runtime.clock.now()
            record_holdout_draw(database, context.project, context.id, held_out=held_out, now=now)
    except StoreError:
        return False
    return held_out
