"""Which session another one was forked from, so that what was said before the fork counts once.

Codex and `/branch` of Claude Code name the parent. `claude --fork-session` does not: it copies the
messages with their ids under a new session id, so of sessions that begin with the same message one
is taken as the parent of the others.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from memorist.core.messages import Message
from memorist.errors import UnreadableSession
from memorist.formats.detect import read_session
from memorist.formats.transcript import SessionHead
from memorist.rollouts.source_metadata import take_head_lines
from memorist.store.rollouts import (
    Rollout,
    find_extract,
    find_extraction_progress,
    list_same_beginning,
)
from memorist.store.state import StateDatabase
from memorist.store.transcript import LineFile


def find_parent_session(state: StateDatabase, session: Rollout) -> Rollout | None:
    """The session that this one was forked from, if it is known and its file is there.

    A choice among sessions that name no parent is kept with the extract. Raises UnreadableSession.
    """
    head, first_message = _read_beginning(session)
    parent = head.forked_from if head is not None else ""
    if not parent and (extracted := find_extract(state, session.id)) is not None:
        parent = extracted.extracted.forked_from
    elif not parent and first_message and session.format == "claude_code":
        return _find_sibling(state, session, first_message)
    found = find_extraction_progress(state, parent) if parent else None
    is_there = found is not None and Path(found.rollout.path).exists()
    return found.rollout if found is not None and is_there else None


def _find_sibling(state: StateDatabase, session: Rollout, first_message: str) -> Rollout | None:
    """The session that began with the same message (only Claude Code's ids are unique) and counts
    as the parent: one that was extracted before, else the one with the smallest id.

    Two that are extracted at the same time see the same order, so the messages that they share are
    never left out by both.
    """
    siblings: list[tuple[bool, str, Rollout]] = []
    for other in list_same_beginning(state, session):
        extract = find_extract(state, other.id)
        if extract is None and other.id > session.id:
            continue
        if extract is not None and _descends_from(state, extract.extracted.forked_from, session.id):
            continue
        with contextlib.suppress(UnreadableSession, OSError):
            if _read_beginning(other)[1] == first_message:
                siblings.append((extract is None, other.id, other))
    return min(siblings, default=(True, "", None))[2]


def _descends_from(state: StateDatabase, parent: str, ancestor: str) -> bool:
    """Whether `parent` or one of its own parents is `ancestor`."""
    seen: set[str] = set()
    while parent and parent not in seen:
        if parent == ancestor:
            return True
        seen.add(parent)
        extract = find_extract(state, parent)
        parent = "" if extract is None else extract.extracted.forked_from
    return False


def _read_beginning(session: Rollout) -> tuple[SessionHead | None, str]:
    """The head of a session and the id of its first message; empty when its beginning has none."""
    head: SessionHead | None = None
    for entry in read_session(take_head_lines(LineFile(Path(session.path)))):
        if isinstance(entry, SessionHead):
            head = entry
        elif isinstance(entry, Message):
            return head, entry.id
    return head, ""
