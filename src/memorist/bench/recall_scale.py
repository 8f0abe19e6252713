"""Recall over ten thousand memories made of what recorded sessions say: the time of a question, and the memory it takes (RC-6)."""

from __future__ import annotations

import hashlib
import tempfile
import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from memorist.bench.result import Row
from memorist.bench.synthesis import all_sessions
from memorist.core.messages import Message, Text, Thinking, ToolResult
from memorist.formats.recognise import read
from memorist.recall.entries import Entry, Place
from memorist.recall.index.run import Ranker
from memorist.store.lines import LineFile

MEMORIES, QUESTIONS = 10_000, 500
GOAL = 10.0
"""Milliseconds at the 95th percentile."""
WORDS = (60, 250)
"""Words of a memory: a topic file of a few paragraphs."""
ASKED = (4, 30)
"""Words of a question: a line that somebody types, up to a long one."""
GROUP = 50
"""Turns of one session, where the memories are taken as turns."""
SEED = 1


def scale_rows(data: Path) -> list[Row]:
    """Ten thousand memories, as files and as turns of sessions. Nothing without recorded sessions."""
    words = session_words(data)
    if len(words) < 2 * max(WORDS):
        return []
    return [*_scaled(words, "memories", GOAL), *_scaled(words, "turns of sessions", None)]


def session_words(data: Path) -> list[str]:
    """Everything that the recorded Claude Code sessions say, word by word."""
    said: list[str] = []
    for path in all_sessions(data):
        if path.parent.name == "claude-code":
            for message in (entry for entry in read(LineFile(path)) if isinstance(entry, Message)):
                for block in message.blocks:
                    if isinstance(block, Text | Thinking | ToolResult):
                        said += block.text.split()
    return said


def made_up(words: Sequence[str], count: int, *, placed: bool, seed: int = SEED) -> list[Entry]:
    """Memories of consecutive words from random places."""
    entries = []
    for number in range(count):
        size = _between(*WORDS, f"{seed} size {number}")
        start = _between(0, len(words) - size, f"{seed} start {number}")
        text = words[start : start + size]
        entries.append(
            Entry(
                id=f"memory-{number}.md",
                title=" ".join(text[:6]),
                description=" ".join(text[6:20]),
                body=" ".join(text[20:]),
                place=Place(f"session-{number // GROUP}", number) if placed else None,
            )
        )
    return entries


def _between(least: int, most: int, what: str) -> int:
    """A number that looks like chance and is the same in every run."""
    return least + int.from_bytes(hashlib.blake2b(what.encode(), digest_size=8).digest()) % (most - least + 1)


def _scaled(words: Sequence[str], what: str, goal: float | None) -> list[Row]:
    entries = made_up(words, MEMORIES, placed=goal is None)
    starts = [(_between(0, len(words) - max(ASKED), f"asked {at}"), _between(*ASKED, f"words {at}")) for at in range(QUESTIONS)]
    questions = [" ".join(words[start : start + size]) for start, size in starts]
    with tempfile.TemporaryDirectory() as folder, Ranker(Path(folder) / "index") as ranker:
        start = time.process_time()
        ranker.sync(entries)
        indexing = time.process_time() - start
        start = time.process_time()
        ranker.sync(entries)
        again = time.process_time() - start
        tracemalloc.start()
        ranker.search(questions[0])
        first = tracemalloc.get_traced_memory()[0]
        for question in questions:
            ranker.search(question, 5)
        grown = tracemalloc.get_traced_memory()[0] - first
        tracemalloc.stop()
        took = sorted(_milliseconds(ranker, question) for question in questions)
    late = took[int(0.95 * len(took))]
    head = f"10,000 {what}"
    return [
        Row(f"{head}: a question of {ASKED[0]} to {ASKED[1]} words, median", median(took), "ms"),
        Row(f"{head}: the same, 95th percentile", late, "ms", f"under {goal:.0f}" if goal else "", late < goal if goal else None),
        Row(f"{head}: indexing them", indexing, "s"),
        Row(f"{head}: a sync that changes nothing", again, "s"),
        Row(f"{head}: memory of the columns and the first question", first / 1e6, "MB"),
        Row(f"{head}: memory more after {QUESTIONS} questions", grown / 1e6, "MB"),
    ]


def _milliseconds(ranker: Ranker, question: str) -> float:
    start = time.process_time()
    ranker.search(question, 5)
    return 1_000 * (time.process_time() - start)
