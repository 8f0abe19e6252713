"""Which session another one was forked from, so that what was said before the fork counts once.

Codex and `/branch` of Claude Code name the parent. `claude --fork-session` does not: it copies the
messages with their ids under a new session id, so of sessions that begin with the same message one
is taken as the parent of the others: only Claude Code's message ids are unique.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from memorist.core.messages import Message
from memorist.errors import UnreadableSession
from memorist.formats.format_detection import read_session
from memorist.formats.transcript_format import SessionHead
from memorist.platforms.regular_files import path_or_link_exists
from memorist.rollouts.session_metadata import read_head_lines
from memorist.store.extract_rows import find_extract
from memorist.store.rollout_rows import (
    ExtractionProgress,
    Rollout,
    find_extraction_progress,
    list_rollouts_with_same_beginning,
)
from memorist.store.state_database import StateDatabase
from memorist.store.transcript_reader import UnpackedUtf8Lines

Counts = Callable[[ExtractionProgress], bool]
"""Whether what was said in a session is kept of that session, or was excluded by its user."""


def find_parent_session(state: StateDatabase, session: Rollout, counts: Counts) -> Rollout | None:
    """The session that this one was forked from, if it is known, its file is there, and it counts
    by itself: else the fork counts whole, and nothing is lost.

    A choice among sessions that name no parent is kept with the extract. Raises UnreadableSession.
    """
    parent = _read_head(session).forked_from
    if not parent and session.format == "claude_code":
        extracted = find_extract(state, session.id)
        parent = (
            _find_sibling(state, session, counts)
            if extracted is None
            else extracted.extracted.forked_from
        )
    found = find_extraction_progress(state, parent) if parent else None
    if found is None or not path_or_link_exists(found.rollout.path):
        return None
    return found.rollout if counts(found) else None


def _find_sibling(state: StateDatabase, session: Rollout, counts: Counts) -> str:
    """The id of the session that began with the same message and counts as the parent: one that
    was extracted before, else the one with the smallest id; empty for none.

    Two that are extracted at the same time see the same order, so the messages that they share are
    never left out by both.
    """
    first_message = _read_first_message_id(session)
    siblings: list[tuple[bool, str]] = []
    for other in list_rollouts_with_same_beginning(state, session) if first_message else ():
        extract = find_extract(state, other.id)
        if extract is None and other.id > session.id:
            continue
        if extract is not None and _descends_from(state, extract.extracted.forked_from, session.id):
            continue
        progress = find_extraction_progress(state, other.id)
        if progress is None or not counts(progress):
            continue
        with contextlib.suppress(UnreadableSession, OSError):
            if _read_first_message_id(other) == first_message:
                siblings.append((extract is None, other.id))
    return min(siblings, default=(True, ""))[1]


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


def _read_head(session: Rollout) -> SessionHead:
    """The head of a session. Raises UnreadableSession."""
    head = next(read_session(UnpackedUtf8Lines(Path(session.path))), None)
    if not isinstance(head, SessionHead):
        raise UnreadableSession("The file holds no beginning of a session.")
    return head


def _read_first_message_id(session: Rollout) -> str:
    """The id of a session's first message; empty where its beginning holds none."""
    entries = read_session(read_head_lines(UnpackedUtf8Lines(Path(session.path))))
    return next((entry.id for entry in entries if isinstance(entry, Message)), "")
