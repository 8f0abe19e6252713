"""Whether recall finds the turns that answer a question, and how fast (RC-3, RC-6).

LoCoMo: each turn a memory, each conversation searched alone, the questions of the four categories
that have evidence. Recall@k is the share of a question's evidence turns among the first k, mean
over questions. The ranker's weights were chosen on the first four conversations; the three others
were held back for the figure that counts. Times are of the processor, so that other programs on the
machine are not counted.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from statistics import fmean, median
from typing import Any, Protocol

from msgspec import Struct

from benchmarks.datasets import BenchConversation, all_sessions, locomo_file, read_locomo
from benchmarks.report import BenchResult, BenchRow
from memorist.core.messages import Message, TextBlock, ThinkingBlock, ToolResult
from memorist.core.search_words import QUERY_STOP_WORDS
from memorist.formats.format_detection import read_session
from memorist.models.embedder import MiniLmEmbedder, is_embedder_installed
from memorist.ports import Embedder
from memorist.recall.lexical_score import EntryPositionInGroup, SearchEntry
from memorist.recall.ranker import Ranker
from memorist.store.transcript_reader import UnpackedUtf8Lines

# Ways of finding turns for a question: SQLite's own full text, an embedding alone, and
# memorist's ranker.


class Finder(Protocol):
    """A conversation that was indexed, to be asked."""

    def find(self, question: str, limit: int) -> list[str]:
        """Ids of turns, best first."""
        ...


class FullText:
    """FTS5 as it comes: the speaker and the text in one column, the question's words joined by OR,
    ranked by its BM25.
    """

    def __init__(
        self, conversation: BenchConversation, tokenizer: str, *, stop: bool = False
    ) -> None:
        self._ids = [turn.id for turn in conversation.turns]
        self._stop = stop
        self._database = sqlite3.connect(":memory:")
        self._database.execute(f"create virtual table t using fts5(text, tokenize = '{tokenizer}')")
        rows = [(at, f"{turn.speaker}: {turn.text}") for at, turn in enumerate(conversation.turns)]
        self._database.executemany("insert into t(rowid, text) values (?, ?)", rows)

    def find(self, question: str, limit: int) -> list[str]:
        """The first by `bm25()`."""
        words = re.findall(r"\w+", question)
        if self._stop:
            words = [word for word in words if word.lower() not in QUERY_STOP_WORDS] or words
        query = " OR ".join(f'"{word}"' for word in words)
        found = self._database.execute(
            "select rowid from t where t match ? order by bm25(t), rowid limit ?", (query, limit)
        )
        return [self._ids[at] for (at,) in found]


class ByMeaning:
    """Cosine of the question and each turn with its speaker."""

    def __init__(self, conversation: BenchConversation, embedder: Embedder) -> None:
        self._numpy: Any = import_module("numpy")
        self._ids = [turn.id for turn in conversation.turns]
        self._embedder = embedder
        vectors = embedder.embed([f"{turn.speaker}: {turn.text}" for turn in conversation.turns])
        self._matrix = self._numpy.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)

    def find(self, question: str, limit: int) -> list[str]:
        """The nearest."""
        (vector,) = self._embedder.embed([question])
        nearness = self._matrix @ self._numpy.frombuffer(vector, "<f4")
        return [self._ids[at] for at in self._numpy.argsort(-nearness, kind="stable")[:limit]]


class MemoristFinder:
    """memorist's ranker over a file."""

    def __init__(
        self, conversation: BenchConversation, folder: Path, embedder: Embedder | None = None
    ) -> None:
        kind = "words" if embedder is None else "meaning"
        self._ranker = Ranker(folder / f"{conversation.name}-{kind}.sqlite", embedder=embedder)
        entries = conversation.entries()
        self._ranker.sync(entries)
        self._ranker.embed_missing_vectors(entries)

    def find(self, question: str, limit: int) -> list[str]:
        """What the ranker gives."""
        return list(map(attrgetter("id"), self._ranker.search(question, limit)))


RecallMethod = Callable[[BenchConversation, Path], Finder]
"""A conversation, and a folder for files, to what can be asked."""

WORDS, BOTH = "memorist, words", "memorist, words and meaning"
PLAIN, PORTER, STOPPED = "FTS5 unicode61", "FTS5 porter", "FTS5 porter, stop words left out"
ALONE = "MiniLM-L6 int8 alone"
LEXICAL: Mapping[str, RecallMethod] = {
    PLAIN: lambda conversation, _: FullText(conversation, "unicode61"),
    PORTER: lambda conversation, _: FullText(conversation, "porter unicode61"),
    STOPPED: lambda conversation, _: FullText(conversation, "porter unicode61", stop=True),
    WORDS: MemoristFinder,
}


def with_embedder(embedder: Embedder) -> dict[str, RecallMethod]:
    """The ways that need an embedder."""
    return {
        ALONE: lambda conversation, _: ByMeaning(conversation, embedder),
        BOTH: lambda conversation, folder: MemoristFinder(conversation, folder, embedder),
    }


# Recall over ten thousand memories made of what recorded sessions say: the time of a question,
# and the memory it takes (RC-6).


MEMORIES, QUESTIONS = 10_000, 500
GOAL = 10.0
"""Milliseconds at the 95th percentile."""
SCALE_WORDS = (60, 250)
"""Words of a memory: a topic file of a few paragraphs."""
ASKED = (4, 30)
"""Words of a question: a line that somebody types, up to a long one."""
GROUP = 50
"""Turns of one session, where the memories are taken as turns."""
SEED = 1


def scale_rows(data: Path) -> list[BenchRow]:
    """Ten thousand memories, as files and as turns of sessions. Nothing without recorded
    sessions.
    """
    words = session_words(data)
    if len(words) < 2 * max(SCALE_WORDS):
        return []
    return [*_scaled(words, "memories", GOAL), *_scaled(words, "turns of sessions", None)]


def session_words(data: Path) -> list[str]:
    """Everything that the recorded Claude Code sessions say, word by word."""
    said: list[str] = []
    for path in all_sessions(data):
        if path.parent.name == "claude-code":
            for message in (
                entry
                for entry in read_session(UnpackedUtf8Lines(path))
                if isinstance(entry, Message)
            ):
                for block in message.blocks:
                    if isinstance(block, TextBlock | ThinkingBlock | ToolResult):
                        said += block.text.split()
    return said


def made_up(
    words: Sequence[str], count: int, *, placed: bool, seed: int = SEED
) -> list[SearchEntry]:
    """Memories of consecutive words from random places."""
    entries = []
    for number in range(count):
        size = _between(*SCALE_WORDS, f"{seed} size {number}")
        start = _between(0, len(words) - size, f"{seed} start {number}")
        text = words[start : start + size]
        entries.append(
            SearchEntry(
                id=f"memory-{number}.md",
                title=" ".join(text[:6]),
                description=" ".join(text[6:20]),
                body=" ".join(text[20:]),
                position=EntryPositionInGroup(f"session-{number // GROUP}", number)
                if placed
                else None,
            )
        )
    return entries


def _between(least: int, most: int, what: str) -> int:
    """A number that looks like chance and is the same in every run."""
    return least + int.from_bytes(hashlib.blake2b(what.encode(), digest_size=8).digest()) % (
        most - least + 1
    )


def _scaled(words: Sequence[str], what: str, goal: float | None) -> list[BenchRow]:
    entries = made_up(words, MEMORIES, placed=goal is None)
    starts = [
        (_between(0, len(words) - max(ASKED), f"asked {at}"), _between(*ASKED, f"words {at}"))
        for at in range(QUESTIONS)
    ]
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
        BenchRow(
            f"{head}: a question of {ASKED[0]} to {ASKED[1]} words, median", median(took), "ms"
        ),
        BenchRow(
            f"{head}: the same, 95th percentile",
            late,
            "ms",
            f"under {goal:.0f}" if goal else "",
            late < goal if goal else None,
        ),
        BenchRow(f"{head}: indexing them", indexing, "s"),
        BenchRow(f"{head}: a sync that changes nothing", again, "s"),
        BenchRow(f"{head}: memory of the columns and the first question", first / 1e6, "MB"),
        BenchRow(f"{head}: memory more after {QUESTIONS} questions", grown / 1e6, "MB"),
    ]


def _milliseconds(ranker: Ranker, question: str) -> float:
    start = time.process_time()
    ranker.search(question, 5)
    return 1_000 * (time.process_time() - start)


CHOSEN_ON = ("conv-26", "conv-30", "conv-41", "conv-42")
"""The conversations that the weights were chosen on."""

GOALS = {5: 64, 10: 73}
"""Recall in percent wanted of words alone on the conversations held back."""

CUTS = (5, 10)


class Figures(Struct, frozen=True):
    """What one way found: recall at each cut for each question, by conversation; milliseconds of
    each question; seconds to index everything.
    """

    recalls: Mapping[str, Sequence[tuple[float, ...]]]
    milliseconds: Sequence[float]
    index_seconds: float

    def recall(self, at: int, *, held_back: bool) -> float:
        """The mean over questions: of the conversations held back, or of all."""
        return fmean(
            found[CUTS.index(at)]
            for name, each in self.recalls.items()
            for found in each
            if not held_back or name not in CHOSEN_ON or self.recalls.keys() <= set(CHOSEN_ON)
        )


def measure(data: Path) -> BenchResult:
    """Recall and time of each way. The ways with an embedding need the extra `embed`, and about two
    minutes.
    """
    rows: list[BenchRow] = []
    path = locomo_file(data)
    if path.is_file():
        for way, figures in compare_recall(read_locomo(path)).items():
            rows += _rows(way, figures)
    if path.is_file() and not is_embedder_installed():
        rows.append(
            BenchRow(
                "the ways with an embedding are not measured: pip install 'memorist[embed]'", 0
            )
        )
    rows += scale_rows(data)
    return BenchResult(
        "recall", tuple(rows), "" if rows else f"neither LoCoMo nor recorded sessions below {data}"
    )


def compare_recall(conversations: Sequence[BenchConversation]) -> dict[str, Figures]:
    """The figures of every way."""
    ways: dict[str, RecallMethod] = {
        **LEXICAL,
        **(with_embedder(MiniLmEmbedder()) if is_embedder_installed() else {}),
    }
    with tempfile.TemporaryDirectory() as folder:
        return {name: figures_of(way, conversations, Path(folder)) for name, way in ways.items()}


def figures_of(
    way: RecallMethod, conversations: Sequence[BenchConversation], folder: Path
) -> Figures:
    """Index each conversation and ask it all its questions."""
    recalls: dict[str, list[tuple[float, ...]]] = {}
    milliseconds = []
    indexing = 0.0
    for conversation in conversations:
        start = time.process_time()
        finder = way(conversation, folder)
        indexing += time.process_time() - start
        mine = recalls.setdefault(conversation.name, [])
        for asked in conversation.questions:
            start = time.process_time()
            found = finder.find(asked.text, max(CUTS))
            milliseconds.append(1_000 * (time.process_time() - start))
            mine.append(
                tuple(len(asked.evidence & set(found[:cut])) / len(asked.evidence) for cut in CUTS)
            )
    return Figures(recalls, milliseconds, indexing)


def _rows(way: str, figures: Figures) -> list[BenchRow]:
    rows = []
    for cut in CUTS:
        recall = 100 * figures.recall(cut, held_back=True)
        goal = f"at least {GOALS[cut]}" if way == WORDS else ""
        rows.append(
            BenchRow(
                f"{way}: recall@{cut}, conversations held back",
                recall,
                "%",
                goal,
                recall >= GOALS[cut] if goal else None,
            )
        )
    rows += [
        BenchRow(
            f"{way}: recall@{cut}, all conversations",
            100 * figures.recall(cut, held_back=False),
            "%",
        )
        for cut in CUTS
    ]
    ordered = sorted(figures.milliseconds)
    return [
        *rows,
        BenchRow(f"{way}: a question, median", median(ordered), "ms"),
        BenchRow(f"{way}: a question, 95th percentile", ordered[int(0.95 * len(ordered))], "ms"),
        BenchRow(f"{way}: indexing all conversations", figures.index_seconds, "s"),
    ]
