"""How much of a new session was copied from an earlier one of the project: a fork begins with the
history of its parent, and so does a conversation that a host goes on with under another id. What
was said there was extracted there, and is not extracted again: the user may have had it forgotten
since.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from memorist.core.messages import Message, Origin, Role
from memorist.errors import UnreadableSession
from memorist.safety.secrets import redact
from memorist.store.home_layout import SessionLayout, make_folder_name
from memorist.store.transcript_reader import read_transcript


def count_copied_messages(
    layout: SessionLayout,
    messages: Sequence[Message],
    *,
    parent: str = "",
    has_unique_ids: bool = False,
) -> int:
    """How many of a session's first messages are those of another session, as far as they agree.

    `parent` is the id of the session that it was forked from, where that is known. Without it the
    first message tells, by its id where the agent gives each its own (`has_unique_ids`), else by
    its words. A session that begins with no reply of a model is no copy.
    """
    if all(message.origin is not Origin.MODEL for message in messages):
        return 0
    most = 0
    for transcript in _list_candidates(layout, parent):
        with contextlib.suppress(UnreadableSession, OSError):
            count = _count_common(transcript, messages, by_id=has_unique_ids and not parent)
            most = max(most, count)
    return most


def _list_candidates(layout: SessionLayout, parent: str) -> list[Path]:
    """The transcripts of the sessions that may be the parent."""
    sessions = layout.folder.parent
    if parent:
        return [SessionLayout(sessions / make_folder_name(parent)).transcript]
    return [path for path in sessions.glob("*/transcript.jsonl") if path.parent != layout.folder]


def _count_common(transcript: Path, messages: Sequence[Message], *, by_id: bool) -> int:
    """How many of the first messages agree with those of a transcript."""
    count = 0
    others = (entry for entry in read_transcript(transcript) if isinstance(entry, Message))
    for mine, other in zip(messages, others, strict=False):
        if _content(mine) != _content(other) or (by_id and not count and mine.id != other.id):
            break
        count += 1
    return count


def _content(message: Message) -> tuple[Role, str]:
    """What a copy has in common with its original, whose secrets are redacted on the disk."""
    return message.role, redact(message.text).text
