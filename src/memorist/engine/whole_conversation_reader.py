"""What compactions removed from a conversation, read back from the transcript for the next
compaction without a model: an extract of the whole holds more than an extract of an extract.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import get_args

from memorist.compaction.compaction_result import CompactionStrategy
from memorist.compaction.window_recording_merge import (
    merge_window_into_recording,
    strip_host_content,
)
from memorist.context.turn_rollback import drop_rolled_back_entries
from memorist.core.messages import Message, Origin
from memorist.core.token_count import estimate_message_tokens
from memorist.formats.transcript_format import CompactionBoundary, TranscriptEntry
from memorist.store.transcript_reader import read_transcript

MAX_REMOVED_TOKENS = 400_000
"""Newest tokens of a transcript that are read back: a second or two of work. Our choice."""

_OWN_STRATEGIES = frozenset(get_args(CompactionStrategy))


def read_whole_conversation(
    transcript: Path, window: Sequence[Message], hidden: Iterable[str] = ()
) -> tuple[Message, ...]:
    """The conversation as if no compaction had removed anything from it: the recorded messages in
    their order, those of the `window` as they are shown now. Without the messages with a `hidden`
    id, what the user rolled back, what the host dropped without a summary, and what it had put into
    the conversation, which is brought back by other means. Raises UnreadableSession.
    """
    recorded = collect_messages_ignoring_compactions(
        drop_rolled_back_entries(read_transcript(transcript))
    )
    shown, left_out = {each.id for each in window}, set(hidden)
    recorded = [
        part
        for each in recorded
        if each.id in shown or each.id not in left_out
        if (part := each if each.id in shown else strip_host_content(each)).blocks
    ]
    newest = _take_newest(recorded)
    return merge_window_into_recording(newest, window, is_whole=len(newest) == len(recorded))


def collect_messages_ignoring_compactions(entries: Iterable[TranscriptEntry]) -> list[Message]:
    """The messages that compactions removed, or nothing did: our own compactions, and those of the
    host, which put a summary in their place. What the host dropped without one stays away.
    """
    found: list[Message] = []
    dropped: list[Message] = []
    """What the host's newest history left out, until it shows a summary or the model answers."""
    for entry in entries:
        match entry:
            case Message(origin=Origin.SUMMARY):
                found = [*dropped, *found, entry]
                dropped = []
            case Message(origin=origin):
                found.append(entry)
                dropped = [] if origin is Origin.MODEL else dropped
            case CompactionBoundary(id=id, kept=kept, replacement=replacement) if (
                id not in _OWN_STRATEGIES
            ):
                at = max(0, len(found) - kept)
                if any(each.origin is Origin.SUMMARY for each in replacement):
                    # Codex puts copies of the user's messages beside its summary.
                    found[at:at] = [each for each in replacement if each.origin is not Origin.USER]
                    dropped = []
                else:
                    found, dropped = [*replacement, *found[at:]], found[:at]
            case _:
                pass
    return found


def _take_newest(messages: Sequence[Message]) -> Sequence[Message]:
    sizes = accumulate(estimate_message_tokens(each) for each in reversed(messages))
    count = sum(size <= MAX_REMOVED_TOKENS for size in sizes)
    return messages[len(messages) - count :]
