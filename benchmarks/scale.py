"""How long a prompt waits for a large past: 1,000 sessions of one project, made of turns of
recorded ones, by words as at a prompt and with meaning as in a search, and what the index takes
on disk.

Vectors of the turns are random, since only their number counts here; a query is embedded by the
real model. Times are of the processor.
"""

from __future__ import annotations

import tempfile
import time
from array import array
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from random import Random

from benchmarks.datasets import all_sessions
from benchmarks.public import write_chat
from benchmarks.report import BenchResult, BenchRow
from memorist.models.embedder import is_embedder_installed, shared_embedder
from memorist.recall.session_index import SessionIndex, read_passages
from memorist.rollouts.sources import SourceFolder, find_rollouts

SESSIONS = 1_000
TURNS = 20
QUERIES = 200
WORDS_MS, MEANING_MS = 15.0, 30.0
"""Goals for the 95th percentile, in milliseconds."""


class _RandomVectors:
    """Random unit vectors for turns, and the real model's for a query."""

    def __init__(self) -> None:
        self._model = shared_embedder()
        self._random = Random(1)  # noqa: S311

    @property
    def name(self) -> str:
        return self._model.name

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        if len(texts) == 1:
            return self._model.embed(texts)
        return [
            array("f", (self._random.gauss(0, 384**-0.5) for _ in range(384))).tobytes()
            for _ in texts
        ]


def measure(data: Path) -> BenchResult:
    """Build the past and ask it."""
    turns = [
        passage
        for path in all_sessions(data)
        for passage in read_passages(path)
        if passage.said and passage.answered
    ]
    if not turns:
        return BenchResult("scale", (), f"no recorded sessions below {data}")
    chance = Random(7)  # noqa: S311
    with tempfile.TemporaryDirectory() as place:
        recorded = Path(place, "recorded")
        recorded.mkdir()
        for number in range(SESSIONS):
            chat = []
            for turn in chance.choices(turns, k=TURNS):
                words = turn.said.split()
                chance.shuffle(words)
                chat.append({"role": "user", "text": f"{number} {' '.join(words)}"})
                chat.append({"role": "assistant", "text": turn.answered})
            write_chat(recorded, f"s{number}", chat, place)
        sessions = find_rollouts([SourceFolder(recorded, is_named=True)]).threads
        queries = [turn.said[:400] for turn in chance.choices(turns, k=QUERIES)]
        rows: list[BenchRow] = []
        with closing(SessionIndex(Path(place, "index"))) as index:
            began = time.process_time()
            index.sync(sessions)
            rows.append(BenchRow("index 1,000 sessions", time.process_time() - began, "s"))
            rows += _time_queries(
                "by words", lambda query: index.search(query, 30, project=place), queries, WORDS_MS
            )
        if is_embedder_installed():
            with closing(SessionIndex(Path(place, "index"), embedder=_RandomVectors())) as index:
                index.embed(place)
                rows += _time_queries(
                    "with meaning",
                    lambda query: index.search(query, 10, project=place),
                    queries,
                    MEANING_MS,
                )
        files = [*Path(place).glob("index*"), *Path(place).glob("index-words/*")]
        size = sum(path.stat().st_size for path in files if path.is_file())
        rows.append(BenchRow("index on disk", size / 1e6, "MB"))
    return BenchResult("scale", tuple(rows))


def _time_queries(
    way: str, ask: Callable[[str], object], queries: Sequence[str], goal: float
) -> list[BenchRow]:
    ask(queries[0])
    times = []
    for query in queries:
        began = time.process_time()
        ask(query)
        times.append(1_000 * (time.process_time() - began))
    times.sort()
    worst = times[int(0.95 * len(times))]
    return [
        BenchRow(f"a query {way}, median", times[len(times) // 2], "ms"),
        BenchRow(f"a query {way}, 95th percentile", worst, "ms", f"<= {goal:g}", worst <= goal),
    ]
