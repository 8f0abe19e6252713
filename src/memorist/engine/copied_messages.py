"""Which messages of a new session were copied from an earlier one of the project: an agent begins a
fork, and some a resumed session, with the history of its parent. What was said there was heard
there, and is not learnt a second time: the user may have forgotten it since.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from memorist.core.messages import Message, Role
from memorist.errors import UnreadableSession
from memorist.formats.transcript_format import SessionHead
from memorist.safety.secrets import redact
from memorist.store.home_layout import SessionLayout, make_folder_name
from memorist.store.transcript_reader import read_transcript


def count_copied_messages(
    layout: SessionLayout, head: SessionHead | None, messages: Sequence[Message]
) -> int:
    """How many of the first messages are a copy of another session's, as far as they agree.

    The parent is the one that the head names; for Claude Code, which does not always name it, also
    a session that begins with the same message: only its ids are unique.
    """
    if head is None or not messages:
        return 0
    most = 0
    for transcript in _list_candidates(layout, head):
        with contextlib.suppress(UnreadableSession, OSError):
            most = max(most, _count_common(transcript, head, messages))
    return most


def _list_candidates(layout: SessionLayout, head: SessionHead) -> list[Path]:
    """The transcripts of the sessions that may be the parent."""
    sessions = layout.folder.parent
    if head.forked_from:
        return [SessionLayout(sessions / make_folder_name(head.forked_from)).transcript]
    if head.format != "claude_code":
        return []
    return [path for path in sessions.glob("*/transcript.jsonl") if path.parent != layout.folder]


def _count_common(transcript: Path, head: SessionHead, messages: Sequence[Message]) -> int:
    """How many of the first messages agree with those of a transcript."""
    count = 0
    others = (entry for entry in read_transcript(transcript) if isinstance(entry, Message))
    for mine, other in zip(messages, others, strict=False):
        if _content(mine) != _content(other):
            break
        if not (count or head.forked_from or mine.id == other.id):
            break
        count += 1
    return count


def _content(message: Message) -> tuple[Role, str]:
    """What a copy has in common with its original, whose secrets are redacted on the disk."""
    return message.role, redact(message.text).text
