"""The scan of a session for stage one: what it proves, how it is split, and the evidence of each
part.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.statements.announced_texts import AnnouncedTextTracker
from memorist.context.turn_rollback import find_rolled_back_spans
from memorist.core.messages import Message
from memorist.formats.format_detection import read_session
from memorist.formats.transcript_format import (
    RecordedLines,
    RepairedLine,
    SessionHead,
    TranscriptEntry,
    TurnRollback,
)
from memorist.rollouts.evidence_rows import EvidenceRowBuilder
from memorist.rollouts.session_evidence import (
    EvidenceRowBuffer,
    SpeakerPriority,
    compute_row_bytes_with_gap,
    count_turns_per_part,
)
from memorist.rollouts.structural_task_log import TaskLogBuilder


class TaskLogAndTurnSizes(Struct, frozen=True):
    """The result of one pass: the task log, and the bytes of dialogue in each user turn."""

    task_log: TaskLogBuilder
    weights: list[int]


def read_task_log_and_turn_sizes(
    lines: RecordedLines, parent: RecordedLines | None = None, *, is_users: bool = True
) -> TaskLogAndTurnSizes:
    """Scan a session without what it copied of its `parent`. Raises UnreadableSession.

    Where it is not the user's (`is_users`), what was typed in it is nobody's word.
    """
    task_log, row_builder = TaskLogBuilder(), EvidenceRowBuilder()
    weights = [0]
    for entry in read_entries_not_copied_from_parent(lines, parent, is_users=is_users):
        task_log.add(entry)
        for row in row_builder.feed(entry):
            if row.tier is SpeakerPriority.USER and row_builder.turns > len(weights) - 1:
                weights.append(0)
            if row.tier <= SpeakerPriority.COMMENTARY:
                weights[-1] += compute_row_bytes_with_gap(row)
    return TaskLogAndTurnSizes(task_log, weights)


def collect_evidence_rows_per_part(
    lines: RecordedLines,
    weights: list[int],
    size: int,
    parent: RecordedLines | None = None,
    *,
    is_users: bool = True,
) -> list[EvidenceRowBuffer]:
    """Collect the rows of each part, where `size` is the bytes one part may show, without what was
    copied of the `parent`; `is_users` as in `read_task_log_and_turn_sizes`.

    Raises UnreadableSession.
    """
    ends, after = [], 0
    for turns in count_turns_per_part(weights, size):
        after += turns
        ends.append(after)
    found = [EvidenceRowBuffer(size) for _ in ends]
    row_builder, at = EvidenceRowBuilder(), 0
    for entry in read_entries_not_copied_from_parent(lines, parent, is_users=is_users):
        for row in row_builder.feed(entry):
            # The turns before the first message of the user count as one.
            while (
                at < len(ends) - 1
                and row.tier is SpeakerPriority.USER
                and row_builder.turns >= ends[at]
            ):
                at += 1
            found[at].add(row)
    for row in row_builder.finish():
        found[-1].add(row)
    return found


def read_entries_not_copied_from_parent(
    lines: RecordedLines, parent: RecordedLines | None, *, is_users: bool = True
) -> Iterator[TranscriptEntry]:
    """Yield the entries of a session that are its own: a fork begins with a copy of the messages of
    its parent, which count there. Raises UnreadableSession.
    """
    marker = AnnouncedTextTracker()
    entries = (
        marker.mark(entry if is_users else replace(entry, is_typed=False))
        if isinstance(entry, Message)
        else entry
        for entry in read_entries_not_rolled_back(lines)
    )
    if parent is None:
        yield from entries
        return
    copied = (each for each in read_entries_not_rolled_back(parent) if isinstance(each, Message))
    is_copy = True
    for entry in entries:
        if is_copy and isinstance(entry, Message):
            other = next(copied, None)
            is_copy = other is not None and (entry.role, entry.blocks) == (other.role, other.blocks)
        if not is_copy or isinstance(entry, SessionHead):
            yield entry


def read_entries_not_rolled_back(lines: RecordedLines) -> Iterator[TranscriptEntry]:
    """Yield the entries of a session without rolled-back turns (CX-7). Raises UnreadableSession."""
    entries = read_session(lines)
    head = next(entries, None)
    if head is not None:
        yield head
    if not (isinstance(head, SessionHead) and head.format == "memorist"):
        yield from entries  # the reader of any other format left them out
        return
    stretches = iter(
        find_rolled_back_spans(read_session(lines)) if _has_rollback_markers(lines) else ()
    )
    first, after = next(stretches, (-1, -1))
    number = 1
    for position, entry in enumerate(entries, 1):
        number += not isinstance(entry, RepairedLine)
        while 0 <= after <= position:
            first, after = next(stretches, (-1, -1))
        if not first <= position < after:
            # Its messages may tell the line of another file, which they were first read from.
            yield replace(entry, line=number) if isinstance(entry, Message) else entry


def _has_rollback_markers(lines: RecordedLines) -> bool:
    return any(isinstance(entry, TurnRollback) for entry in read_session(lines))
