"""Ways of finding turns for a question: SQLite's own full text, an embedding alone, and memorist's ranker."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, Protocol

from memorist.bench.conversations import Conversation
from memorist.ports import Embedder
from memorist.recall.index.run import Ranker
from memorist.recall.lexicon import STOP_WORDS


class Finder(Protocol):
    """A conversation that was indexed, to be asked."""

    def find(self, question: str, limit: int) -> list[str]:
        """Ids of turns, best first."""
        ...


class FullText:
    """FTS5 as it comes: the speaker and the text in one column, the question's words joined by OR, ranked by its BM25."""

    def __init__(self, conversation: Conversation, tokenizer: str, *, stop: bool = False) -> None:
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
            words = [word for word in words if word.lower() not in STOP_WORDS] or words
        query = " OR ".join(f'"{word}"' for word in words)
        found = self._database.execute("select rowid from t where t match ? order by bm25(t), rowid limit ?", (query, limit))
        return [self._ids[at] for (at,) in found]


class ByMeaning:
    """Cosine of the question and each turn with its speaker."""

    def __init__(self, conversation: Conversation, embedder: Embedder) -> None:
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


class Ours:
    """memorist's ranker over a file."""

    def __init__(self, conversation: Conversation, folder: Path, embedder: Embedder | None = None) -> None:
        kind = "words" if embedder is None else "meaning"
        self._ranker = Ranker(folder / f"{conversation.name}-{kind}.sqlite", embedder=embedder)
        entries = conversation.entries()
        self._ranker.sync(entries)
        self._ranker.embed(entries)

    def find(self, question: str, limit: int) -> list[str]:
        """What the ranker gives."""
        return list(map(attrgetter("id"), self._ranker.search(question, limit)))


Way = Callable[[Conversation, Path], Finder]
"""A conversation, and a folder for files, to what can be asked."""

WORDS, BOTH = "memorist, words", "memorist, words and meaning"
PLAIN, PORTER, STOPPED = "FTS5 unicode61", "FTS5 porter", "FTS5 porter, stop words left out"
ALONE = "MiniLM-L6 int8 alone"
LEXICAL: Mapping[str, Way] = {
    PLAIN: lambda conversation, _: FullText(conversation, "unicode61"),
    PORTER: lambda conversation, _: FullText(conversation, "porter unicode61"),
    STOPPED: lambda conversation, _: FullText(conversation, "porter unicode61", stop=True),
    WORDS: Ours,
}


def with_embedder(embedder: Embedder) -> dict[str, Way]:
    """The ways that need an embedder."""
    return {
        ALONE: lambda conversation, _: ByMeaning(conversation, embedder),
        BOTH: lambda conversation, folder: Ours(conversation, folder, embedder),
    }
