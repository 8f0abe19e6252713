"""What the third compaction of a session and each later one keeps: made of the whole conversation,
as memorist does, beside one that is made of the digest before it, and a tail window; notes and
summaries, with what memorist adds to them and as they are; and the digest of a conversation that
its client had compacted.

Recorded sessions without the compactions of their clients, but for the last; one of ours whenever
the conversation has `THRESHOLD` tokens, a digest down to `BUDGET`. What is used later is counted as
in `carryover`. No model: notes and summaries are made by structure, the summaries of what a model
would be shown and in `SUMMARY_TOKENS`, as by a small model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import mean

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.carryover import keep_newest_messages, share_kept, used_later
from benchmarks.datasets import all_sessions
from benchmarks.report import BenchResult, BenchRow
from memorist.compaction.compaction_prompts import load_shipped_compaction_prompts
from memorist.compaction.compaction_result import CompactedHistory
from memorist.compaction.extractive_summary import (
    compact_conversation_with_extracts,
    is_system_or_developer_message,
)
from memorist.compaction.full_compaction import SummaryOptions, replace_history_with_summary
from memorist.compaction.measured_conversation import (
    MeasuredConversation,
    get_typed_text,
    measure_conversation,
)
from memorist.compaction.session_memory_compaction import SessionNotes, compact_with_notes
from memorist.compaction.summary_parser import UnusableSummary
from memorist.compaction.summary_review import (
    SummaryReview,
    build_history_with_missing_parts,
    check_summary_against_history,
    pair_summary_with_extract,
)
from memorist.compaction.window_recording_merge import (
    merge_window_into_recording,
    strip_host_content,
)
from memorist.core.messages import Message, Origin
from memorist.core.prompt_templates import load_prompt
from memorist.core.token_count import estimate_message_tokens
from memorist.core.tool_pairs import find_cut_points
from memorist.formats.format_detection import read_session
from memorist.formats.transcript_format import CompactionBoundary, SessionHead
from memorist.session_memory.notes_template import replace_structural_notes
from memorist.session_memory.structural_notes import NotesBudget, render_structural_sections
from memorist.settings import CompactionSettings
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.transcript_analysis.transcript_ledger import TranscriptLedger

THRESHOLD, BUDGET = 40_000, 8_000
LARGEST_FILE, SMALLEST_FILE = 5_000_000, 400_000
FIRST_COUNTED = 3
"""Compactions of a session that are counted: from this one on."""
LATER_MESSAGES = 400
LEAST_FACTS = 5
NOTES_TOKENS, SUMMARY_TOKENS = 3_000, 1_200
AFTER_CLIENT = 15_000
"""Tokens after a compaction of the client at which we compact, and again after as many more."""

Rewrite = Callable[[Sequence[Message], Sequence[Message], str], Sequence[Message]]


class KeptShare(Struct, frozen=True):
    """Parts of the facts and spans used later that one compaction keeps."""

    facts: float
    spans: float


def _of_the_whole(window: Sequence[Message], record: Sequence[Message], cwd: str) -> list[Message]:
    return _compact(window, merge_window_into_recording(record, window, is_whole=True), record, cwd)


def _of_the_digest(window: Sequence[Message], record: Sequence[Message], cwd: str) -> list[Message]:
    return _compact(window, window, record, cwd)


def _compact(
    window: Sequence[Message], source: Sequence[Message], record: Sequence[Message], cwd: str
) -> list[Message]:
    shown = _measure_window(window, record)
    return list(compact_conversation_with_extracts(shown, BUDGET, whole=source, cwd=cwd).messages)


def _measure_window(window: Sequence[Message], record: Sequence[Message]) -> MeasuredConversation:
    typed = [words for words in map(get_typed_text, record) if words]
    return measure_conversation(window, user_texts=typed)


def _with_notes(
    window: Sequence[Message], record: Sequence[Message], cwd: str, *, adds: bool
) -> Sequence[Message]:
    shown = _measure_window(window, record)
    template = load_prompt("session_memory/template")
    notes = SessionNotes(
        text=replace_structural_notes(template, template, _write_notes(record, cwd, NOTES_TOKENS)),
        path="notes",
        template=template,
        last_summarised=window[-1].id,
    )
    whole = merge_window_into_recording(record, window, is_whole=True)
    reviewed = (
        pair_summary_with_extract(notes.text, shown, limit=THRESHOLD, whole=whole, cwd=cwd)
        if adds
        else SummaryReview(notes.text)
    )
    made = build_history_with_missing_parts(
        reviewed, lambda _, addition: compact_with_notes(shown, notes, _options(addition))
    )
    return (
        made.messages if isinstance(made, CompactedHistory) else _of_the_whole(window, record, cwd)
    )


def _with_summary(
    window: Sequence[Message], record: Sequence[Message], cwd: str, *, adds: bool
) -> Sequence[Message]:
    """A summary that the check rejects gives way to a digest, as in a session."""
    shown = _measure_window(window, record)
    sections = _write_notes(window, cwd, SUMMARY_TOKENS)
    summary = "\n\n".join(f"## {title}\n{body}" for title, body in sections.items() if body)
    whole = merge_window_into_recording(record, window, is_whole=True)
    reviewed = check_summary_against_history(
        summary, window, shown, limit=THRESHOLD, whole=whole, cwd=cwd
    )
    if isinstance(reviewed, UnusableSummary):
        return _of_the_whole(window, record, cwd)
    made = build_history_with_missing_parts(
        reviewed if adds else replace(reviewed, extract=""),
        lambda text, addition: replace_history_with_summary(shown, text, _options(addition)),
    )
    return (
        made.messages if isinstance(made, CompactedHistory) else _of_the_whole(window, record, cwd)
    )


def _write_notes(messages: Sequence[Message], cwd: str, tokens: int) -> dict[str, str]:
    ledger = TranscriptLedger(cwd)
    for message in messages:
        ledger.add(message)
    return render_structural_sections(ledger, NotesBudget(total_tokens=tokens))


def _options(addition: str) -> SummaryOptions:
    return SummaryOptions(
        texts=load_shipped_compaction_prompts(),
        settings=CompactionSettings(),
        limit=THRESHOLD,
        host_addition=addition,
    )


def _tail(window: Sequence[Message], record: Sequence[Message], _: str) -> Sequence[Message]:
    del window
    return keep_newest_messages(record, BUDGET).messages


WAYS: dict[str, Rewrite] = {
    "of the whole conversation": _of_the_whole,
    "of the digest before it": _of_the_digest,
    "tail window": _tail,
    "notes, and names that they lack": partial(_with_notes, adds=True),
    "notes alone": partial(_with_notes, adds=False),
    "a small model's summary, and names that it lacks": partial(_with_summary, adds=True),
    "a small model's summary alone": partial(_with_summary, adds=False),
}


def measure(data: Path) -> BenchResult:
    """The means of each way over all counted compactions, and over the worst tenth."""
    paths = all_recordings(data)
    paths = [path for path in paths if SMALLEST_FILE < path.stat().st_size < LARGEST_FILE]
    histories = [read_history(path) for path in paths]
    rows: list[BenchRow] = []
    for name, way in WAYS.items():
        kept = [each for history in histories for each in measure_session(*history, way)]
        if not kept:
            return BenchResult("again", absent=f"no recorded session below {data} is long enough")
        rows += _rows(name, kept)
    sessions = [path for path in all_recordings(data) if path.stat().st_size < LARGEST_FILE]
    for name, is_whole in (("client's summary and what it replaced", True), ("client's", False)):
        after = [each for path in sessions for each in measure_after_client(path, whole=is_whole)]
        rows += _rows(f"digest of the {name}", after) if after else ()
    return BenchResult("again", tuple(rows))


def all_recordings(data: Path) -> list[Path]:
    """The recorded sessions below this folder."""
    return [*all_sessions(data), *sorted((data / "sessions2").glob("*/*.jsonl"))]


def _rows(name: str, kept: Sequence[KeptShare]) -> Iterator[BenchRow]:
    yield BenchRow(f"{name}: compactions", len(kept))
    tenth = max(1, len(kept) // 10)
    for what, shares in (
        ("facts", sorted(each.facts for each in kept)),
        ("spans", sorted(each.spans for each in kept)),
    ):
        yield BenchRow(f"{name}: {what}, mean", mean(shares))
        yield BenchRow(f"{name}: {what}, worst tenth", mean(shares[:tenth]))


def read_history(path: Path) -> tuple[str, list[Message]]:
    """Folder and messages of a recorded session, without summaries of its client."""
    cwd, messages = "", list[Message]()
    for entry in read_session(UnpackedUtf8Lines(path)):
        if isinstance(entry, SessionHead):
            cwd = entry.cwd
        elif isinstance(entry, Message) and entry.origin is not Origin.SUMMARY:
            messages.append(entry)
    return cwd, messages


def measure_session(cwd: str, messages: Sequence[Message], way: Rewrite) -> Iterator[KeptShare]:
    """What the counted compactions of a session keep."""
    starts = set(find_cut_points(messages))
    window: list[Message] = []
    size = count = 0
    for at, message in enumerate(messages):
        if size > THRESHOLD and at in starts:
            window = list(way(window, messages[:at], cwd))
            size, count = sum(map(estimate_message_tokens, window)), count + 1
            used = used_later(messages[:at], messages[at : at + LATER_MESSAGES])
            if count >= FIRST_COUNTED and len(used.facts) >= LEAST_FACTS:
                yield KeptShare(*share_kept(window, used))
        window.append(message)
        size += estimate_message_tokens(message)


def measure_after_client(path: Path, *, whole: bool) -> Iterator[KeptShare]:
    """What a digest keeps whenever a session has gone on for `AFTER_CLIENT` tokens after its client
    compacted it: of the `whole` conversation, or of what the client still showed.
    """
    entries = list(read_session(UnpackedUtf8Lines(path)))
    messages = [entry for entry in entries if isinstance(entry, Message)]
    record, window = list[Message](), list[Message]()
    cwd, size, is_compacted = "", 0, False
    for entry in entries:
        match entry:
            case SessionHead():
                cwd = entry.cwd
            case CompactionBoundary(kept=kept, replacement=replacement):
                window = [*replacement, *(window[-kept:] if kept else ())]
                size, is_compacted = 0, True
            case Message():
                if is_compacted and size > AFTER_CLIENT and not record[-1].tool_uses:
                    later = messages[len(record) : len(record) + LATER_MESSAGES]
                    said = [each for each in record if each.origin is not Origin.SUMMARY]
                    used = used_later(said, later)
                    if len(used.facts) >= LEAST_FACTS:
                        size = 0
                        yield KeptShare(
                            *share_kept(
                                _sum_up_after_client(window, record, cwd, whole=whole), used
                            )
                        )
                window.append(entry)
                record.append(entry)
                size += estimate_message_tokens(entry)
            case _:
                pass


def _sum_up_after_client(
    window: Sequence[Message], record: Sequence[Message], cwd: str, *, whole: bool
) -> list[Message]:
    shown = [each for each in window if not is_system_or_developer_message(each)]
    own = [part for each in record if (part := strip_host_content(each)).blocks]
    spoken = [each for each in own if not is_system_or_developer_message(each)]
    source = merge_window_into_recording(spoken, shown, is_whole=True) if whole else shown
    return _compact(shown, source, record, cwd)
