"""How much of a new session was copied from an earlier one of the project: a fork begins with the
history of its parent, and so does a conversation that a host goes on with under another id. What
was said there was extracted there, and is not extracted again: the user may have had it forgotten
since.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from memorist.core.messages import Message, Origin, Role
from memorist.errors import UnreadableSession
from memorist.safety.secrets import redact
from memorist.store.home_layout import SessionLayout, make_folder_name
from memorist.store.transcript_reader import read_transcript


def count_copied_messages(layout: SessionLayout, messages: Sequence[Message]) -> int:
    """How many of a session's first messages are those of another session, as far as they agree in
    their words. A session that begins with no reply of a model is no copy.
    """
    if all(message.origin is not Origin.MODEL for message in messages):
        return 0
    most = 0
    for transcript in _list_candidates(layout, ""):
        with contextlib.suppress(UnreadableSession, OSError):
            most = max(most, _count_common(transcript, messages))
    return most


class CopiedMessageDetector:
    """Compares the messages of a session, one after the other, with those of the sessions that it
    may have been copied from, so that neither is held in memory.

    `parent` is the id of the session that it was forked from; without it the id of the first
    message tells, which the agent gives to no other message.
    """

    def __init__(self, layout: SessionLayout, parent: str) -> None:
        self._needs_same_id = not parent
        self._others = deque(map(_read_messages, _list_candidates(layout, parent)))

    def is_still_copied(self, entry: object) -> bool:
        """Whether the session's next message is a copy, as all before it are; of another entry,
        whether all messages before it are.
        """
        if isinstance(entry, Message) and self._others:
            self._compare(entry)
        return bool(self._others)

    def _compare(self, message: Message) -> None:
        for _ in range(len(self._others)):
            other = self._others.popleft()  # closes the file of a session that differs
            if self._agrees(message, other):
                self._others.append(other)
        self._needs_same_id = False

    def _agrees(self, message: Message, others: Iterator[Message]) -> bool:
        try:
            other = next(others, None)
        except (UnreadableSession, OSError):
            return False
        if other is None or (self._needs_same_id and message.id != other.id):
            return False
        return _content(message) == _content(other)


def _list_candidates(layout: SessionLayout, parent: str) -> list[Path]:
    """The transcripts of the sessions that may be the parent."""
    sessions = layout.folder.parent
    if parent:
        return [SessionLayout(sessions / make_folder_name(parent)).transcript]
    return [path for path in sessions.glob("*/transcript.jsonl") if path.parent != layout.folder]


def _read_messages(transcript: Path) -> Iterator[Message]:
    return (entry for entry in read_transcript(transcript) if isinstance(entry, Message))


def _count_common(transcript: Path, messages: Sequence[Message]) -> int:
    """How many of the first messages agree with those of a transcript."""
    count = 0
    for mine, other in zip(messages, _read_messages(transcript), strict=False):
        if _content(mine) != _content(other):
            break
        count += 1
    return count


def _content(message: Message) -> tuple[Role, str]:
    """What a copy has in common with its original, whose secrets are redacted on the disk."""
    return message.role, redact(message.text).text
