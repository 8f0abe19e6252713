"""What memorist's own compactions removed from a conversation, read back from the transcript for
the next compaction without a model: an extract of the whole holds more than an extract of an
extract.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import get_args

from memorist.compaction.compaction_result import CompactionStrategy
from memorist.compaction.whole_conversation import join_window, strip_host_content
from memorist.context.rollback import drop_rolled_back
from memorist.core.messages import Message
from memorist.core.token_count import estimate_message_tokens
from memorist.formats.transcript_format import CompactionBoundary, TranscriptEntry
from memorist.store.transcript_reader import read_transcript

MAX_REMOVED_TOKENS = 400_000
"""Newest tokens of a transcript that are read back: a second or two of work. Our choice."""

_OWN_STRATEGIES = frozenset(get_args(CompactionStrategy))


def read_whole_conversation(
    transcript: Path, window: Sequence[Message], hidden: Iterable[str] = ()
) -> tuple[Message, ...]:
    """The conversation as if memorist had removed nothing from it: the recorded messages in their
    order, those of the `window` as they are shown now. Without the messages with a `hidden` id,
    what the user rolled back, what the host itself dropped, and what it had put into the
    conversation, which is brought back by other means. Raises UnreadableSession.
    """
    recorded = find_recorded_messages(drop_rolled_back(read_transcript(transcript)))
    shown, left_out = {each.id for each in window}, set(hidden)
    recorded = [
        part
        for each in recorded
        if each.id in shown or each.id not in left_out
        if (part := each if each.id in shown else strip_host_content(each)).blocks
    ]
    newest = _take_newest(recorded)
    return join_window(newest, window, is_whole=len(newest) == len(recorded))


def find_recorded_messages(entries: Iterable[TranscriptEntry]) -> list[Message]:
    """The messages that only memorist's own compactions removed, or nothing did."""
    found: list[Message] = []
    for entry in entries:
        match entry:
            case Message():
                found.append(entry)
            case CompactionBoundary(id=id, kept=kept, replacement=replacement) if (
                id not in _OWN_STRATEGIES
            ):
                found = [*replacement, *(found[-kept:] if kept else ())]
            case _:
                pass
    return found


def _take_newest(messages: Sequence[Message]) -> Sequence[Message]:
    sizes = accumulate(estimate_message_tokens(each) for each in reversed(messages))
    count = sum(size <= MAX_REMOVED_TOKENS for size in sizes)
    return messages[len(messages) - count :]
