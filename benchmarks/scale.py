"""How long a prompt waits for a large past: 10,000 memories of one project through
`Session.prepare`, with a new session every 20 prompts, and the search in 1,000 of its sessions, by
words and with meaning. All are made of turns of recorded sessions, with the words of each shuffled.

Vectors of memories and turns are random, since only their number counts here; a query is embedded
by the real model. A prompt is timed by the clock, as the user waits for it, a query of the sessions
by the processor. Each answer is observed and its turn ended, as adapters, proxy and hooks do: what
a prompt leaves for it is then done and not timed. Between prompts is a pause, far shorter than
people's, in which threads end what they began.
"""

from __future__ import annotations

import asyncio
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
from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange
from memorist.auto_memory.memory_file import MemoryKind, Provenance, Trust, create_memory_file
from memorist.auto_memory.statements.statement_parser import find_statements
from memorist.auto_memory.statements.unconfirmed_statements import find_unconfirmed_statements
from memorist.core.messages import JsonObject, Message, Origin, TextBlock
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.engine.engine import Memorist
from memorist.models.embedder import get_shared_embedder, is_embedder_installed
from memorist.ports import TextAndWordVectors
from memorist.recall.lexical_score import SearchEntry
from memorist.recall.memory_search import MemoryFolderSearch
from memorist.recall.ranker import Ranker
from memorist.recall.session_index import SessionIndex, read_passages_from_session_file
from memorist.recall.session_passages import Passage
from memorist.rollouts.session_sources import SourceFolder, scan_for_changed_rollouts
from memorist.settings import RecallSettings, Settings
from memorist.store.home_layout import Layout

MEMORIES = 10_000
SESSIONS = 1_000
TURNS = 20
QUERIES = 200
PAUSE_SECONDS = 0.2
WORDS_MS, MEANING_MS = 15.0, 30.0
"""Goals for the 95th percentile, in milliseconds."""


WORDS = 48
"""Words of a memory that are compared, as many as are kept of a long one."""


class _RandomVectors:
    """Random unit vectors for turns and memories and their words, and the real model's for a
    query.
    """

    def __init__(self) -> None:
        self._model = get_shared_embedder()
        self._random = Random(1)  # noqa: S311
        self._words = [self._draw() for _ in range(1_000)]

    @property
    def name(self) -> str:
        return self._model.name

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        if len(texts) == 1:
            return self._model.embed(texts)
        return [self._draw() for _ in texts]

    def embed_texts_and_words(self, texts: Sequence[str]) -> list[TextAndWordVectors]:
        if len(texts) == 1:
            return self._model.embed_texts_and_words(texts)
        return [
            TextAndWordVectors(
                self._draw(),
                ("word",) * WORDS,
                b"".join(self._random.choices(self._words, k=WORDS)),
            )
            for _ in texts
        ]

    def _draw(self) -> bytes:
        return array("f", (self._random.gauss(0, 384**-0.5) for _ in range(384))).tobytes()


def measure(data: Path) -> BenchResult:
    """Build the past and ask it."""
    turns = [
        passage
        for path in all_sessions(data)
        for passage in read_passages_from_session_file(path)
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
        sessions = scan_for_changed_rollouts([SourceFolder(recorded, is_named=True)]).threads
        queries = [turn.said[:400] for turn in chance.choices(turns, k=QUERIES)]
        rows = asyncio.run(_measure_prompts(Path(place), turns, queries, chance))
        with closing(SessionIndex(Path(place, "index"))) as index:
            began = time.process_time()
            index.sync(sessions)
            rows.append(BenchRow("index 1,000 sessions", time.process_time() - began, "s"))
            rows += _time_queries(
                "by words", lambda query: index.search(query, 30, project=place), queries, WORDS_MS
            )
        if is_embedder_installed():
            with closing(SessionIndex(Path(place, "index"), embedder=_RandomVectors())) as index:
                index.embed_missing_passages(place)
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


async def _measure_prompts(
    place: Path, turns: Sequence[Passage], queries: Sequence[str], chance: Random
) -> list[BenchRow]:
    """Fill a memory, and go through prompts by words, then with meaning where it is installed."""
    home, project = place / "home", place / "project"
    (project / ".git").mkdir(parents=True)
    by_words = Settings(recall=RecallSettings(embeddings=False))
    async with Memorist(model="structural", home=home, settings=by_words) as engine:
        entries = _fill_memory(engine.memory(str(project)), turns, chance)
    rows = await _time_prompts("by words", by_words, home, project, queries)
    if is_embedder_installed():
        with Ranker(
            Layout(home).memory_layout(str(project)).recall_index, embedder=_RandomVectors()
        ) as ranker:
            ranker.embed_missing_vectors(entries)
        rows += await _time_prompts("with meaning", Settings(), home, project, queries)
    return rows


def _fill_memory(
    memory: AutoMemory, turns: Sequence[Passage], chance: Random
) -> Sequence[SearchEntry]:
    """Write memories of about sixty words as the user's, a thousand at a time."""
    for start in range(0, MEMORIES, 1_000):
        changes = []
        for number in range(start, start + 1_000):
            turn = chance.choice(turns)
            words = f"{turn.said} {turn.answered}".split()[:120]
            chance.shuffle(words)
            topic = create_memory_file(
                f"note-{number:05}.md",
                kind=MemoryKind.PROJECT,
                name=f"note {number}",
                description=" ".join(words[:12]),
                body=" ".join(words[:60]),
                provenance=Provenance(trust=Trust.STATED),
            )
            changes.append(
                MemoryChange(
                    path=topic.path, before=None, after=encode_file_text_as_utf8(topic.text())
                )
            )
        memory.write(changes, ChangeReason(actor="undo", what="benchmark"))
    search = MemoryFolderSearch(memory.folder, RecallSettings(embeddings=False))
    with closing(search):
        search.sync_index()
    return [
        SearchEntry(id=path, title=path, fingerprint=mark)
        for path, mark in memory.folder.file_fingerprints().items()
    ]


async def _time_prompts(
    way: str, settings: Settings, home: Path, project: Path, queries: Sequence[str]
) -> list[BenchRow]:
    """Time each prompt of sessions of `TURNS`, by what it has to do."""
    times: dict[str, list[float]] = {
        "first of a session": [],
        "that states a rule": [],
        "other": [],
    }
    async with Memorist(model="structural", home=home, settings=settings) as engine:
        for start in range(0, len(queries), TURNS):
            messages: list[JsonObject] = []
            session = await engine.open(f"{way} {start}", project=str(project))
            for query in queries[start : start + TURNS]:
                messages.append({"role": "user", "content": query})
                began = time.perf_counter()
                await session.prepare(
                    {"model": "claude-opus-4-6", "max_tokens": 100, "messages": messages}
                )
                took = 1_000 * (time.perf_counter() - began)
                first, stated = len(messages) == 1, _states_rule(query)
                times[[*times][0 if first else 1 if stated else 2]].append(took)
                reply = {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
                await session.observe(reply)
                await session.end_turn()
                messages.append(reply)
                await asyncio.sleep(PAUSE_SECONDS)
            await session.close()
    goal = WORDS_MS if settings.recall.embeddings is False else MEANING_MS
    rows = []
    for kind, found in (
        *times.items(),
        ("any", [each for part in times.values() for each in part]),
    ):
        if found:
            found.sort()
            worst = found[int(0.95 * len(found))]
            rows += [
                BenchRow(
                    f"a prompt {way}, {kind} ({len(found)}), median", found[len(found) // 2], "ms"
                ),
                BenchRow(
                    f"a prompt {way}, {kind}, 95th percentile",
                    worst,
                    "ms",
                    f"<= {goal:g}",
                    worst <= goal,
                ),
            ]
    return rows


def _states_rule(text: str) -> bool:
    typed = Message(
        id="prompt", role="user", blocks=(TextBlock(text),), origin=Origin.USER, is_typed=True
    )
    return bool(find_statements(typed) or find_unconfirmed_statements(typed))


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
