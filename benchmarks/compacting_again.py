"""What the third compaction of a session and each later one keeps: made of the whole conversation,
as memorist does, beside one that is made of the digest before it, and a tail window.

Recorded sessions without the compactions of their clients; one of ours whenever the conversation
has `THRESHOLD` tokens, down to `BUDGET`. What is used later is counted as in `carryover`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean

from msgspec import Struct

from benchmarks.carryover import keep_newest_messages, share_kept, used_later
from benchmarks.datasets import all_sessions
from benchmarks.report import BenchResult, BenchRow
from memorist.compaction.extractive_summary import summarize_conversation
from memorist.compaction.measured_history import measure_conversation, user_text
from memorist.compaction.whole_conversation import join_window
from memorist.core.messages import Message, Origin
from memorist.core.token_count import estimate_message_tokens
from memorist.core.tool_pairs import find_cut_points
from memorist.formats.format_detection import read_session
from memorist.formats.transcript_format import SessionHead
from memorist.store.transcript_reader import LineFile

THRESHOLD, BUDGET = 40_000, 8_000
LARGEST_FILE, SMALLEST_FILE = 5_000_000, 400_000
FIRST_COUNTED = 3
"""Compactions of a session that are counted: from this one on."""
LATER_MESSAGES = 400
LEAST_FACTS = 5

Rewrite = Callable[[Sequence[Message], Sequence[Message], str], Sequence[Message]]


class KeptShare(Struct, frozen=True):
    """Parts of the facts and spans used later that one compaction keeps."""

    facts: float
    spans: float


def _of_the_whole(window: Sequence[Message], record: Sequence[Message], cwd: str) -> list[Message]:
    return _compact(window, join_window(record, window, is_whole=True), record, cwd)


def _of_the_digest(window: Sequence[Message], record: Sequence[Message], cwd: str) -> list[Message]:
    return _compact(window, window, record, cwd)


def _compact(
    window: Sequence[Message], source: Sequence[Message], record: Sequence[Message], cwd: str
) -> list[Message]:
    typed = [words for words in map(user_text, record) if words]
    measured = measure_conversation(window, user_texts=typed)
    return list(summarize_conversation(measured, BUDGET, whole=source, cwd=cwd).messages)


def _tail(window: Sequence[Message], record: Sequence[Message], _: str) -> Sequence[Message]:
    del window
    return keep_newest_messages(record, BUDGET).messages


WAYS: dict[str, Rewrite] = {
    "of the whole conversation": _of_the_whole,
    "of the digest before it": _of_the_digest,
    "tail window": _tail,
}


def measure(data: Path) -> BenchResult:
    """The means of each way over all counted compactions, and over the worst tenth."""
    paths = [*all_sessions(data), *sorted((data / "sessions2").glob("*/*.jsonl"))]
    paths = [path for path in paths if SMALLEST_FILE < path.stat().st_size < LARGEST_FILE]
    histories = [read_history(path) for path in paths]
    rows: list[BenchRow] = []
    for name, way in WAYS.items():
        kept = [each for history in histories for each in measure_session(*history, way)]
        if not kept:
            return BenchResult("again", absent=f"no recorded session below {data} is long enough")
        rows += _rows(name, kept)
    return BenchResult("again", tuple(rows))


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
    for entry in read_session(LineFile(path)):
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
