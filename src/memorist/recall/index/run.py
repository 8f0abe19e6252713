"""The ranker: indexes entries in a file, and returns the best ones for a query."""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from heapq import nsmallest
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import Struct

from memorist.errors import DamagedIndex, ModelError, UsageError
from memorist.ports import Embedder
from memorist.recall.collection import Collection, collect
from memorist.recall.entries import Entry, Ranked, Synced
from memorist.recall.meaning import Near, Vectors, fused, packed
from memorist.recall.prepare import embedded_text, index_row, is_heading, rows
from memorist.recall.question import MOST_WORDS, Question, named, rarest, read_question
from memorist.recall.rank import DEFAULT, Postings, Weights, by_words, covered, with_circumstances
from memorist.recall.why import why
from memorist.store.word_index import BATCH, WordIndex

EMBEDDED_AT_ONCE = 64
"""Entries embedded and saved per step: half a second of work that a kill can lose."""

QUESTION_CHARACTERS = 2_000
"""Characters of a query passed to an embedder: more than it reads."""

REMEMBERED = 400_000
"""Postings of earlier queries' words that are cached, 1.6 MB."""


class Ranker:
    """Ranks entries for queries. One file holds one set of entries; several processes may share it.

    All methods are thread-safe. Without an embedder the ranking is lexical. With one, call `embed`
    after `sync`, in the background as it is slow; entries without a vector yet are ranked by words.
    Raises StoreError when the disk fails, and UsageError for an embedder without numpy.
    """

    def __init__(self, path: Path, *, embedder: Embedder | None = None, weights: Weights = DEFAULT) -> None:
        if embedder is not None and find_spec("numpy") is None:
            raise UsageError("Ranking by meaning needs numpy; run pip install 'memorist[embed]', or give no embedder.")
        self._lock = threading.RLock()
        self._index = WordIndex(path)
        self._embedder = embedder
        self._weights = weights
        self._seen: tuple[int, int] | None = None
        self._collection: Collection = collect(())
        self._vectors: Vectors | None = None
        self._postings: OrderedDict[str, array[int]] = OrderedDict()
        self._remembered = 0
        self.trouble = ""
        """Why the last search was lexical although there is an embedder; empty when it was not."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. May be called twice."""
        with self._lock:
            self._index.close()

    def sync(self, entries: Sequence[Entry]) -> Synced:
        """Make the index contain exactly these entries, writing only what changed.

        Of two entries with the same id the last one counts. What a killed sync had written stands,
        and the next one completes it. A damaged index is rebuilt.
        """
        with self._lock:
            try:
                return self._sync(entries)
            except DamagedIndex:
                self.begin_anew()
                return self._sync(entries)

    def begin_anew(self) -> None:
        """Move a damaged file aside and create an empty one, to be filled by `sync`."""
        with self._lock:
            self._index.begin_anew()
            self._seen = None

    def known(self) -> dict[str, str]:
        """Return the index's fingerprints by id; empty for a damaged index, which the next `sync`
        rebuilds.
        """
        with self._lock:
            try:
                return {id: mark for id, mark in self._index.fingerprints().items() if not is_heading(id)}
            except DamagedIndex:
                return {}

    def _sync(self, entries: Sequence[Entry]) -> Synced:
        wanted = {id: (fingerprint, entry) for id, fingerprint, entry in rows(entries)}
        old = self._index.fingerprints()
        changed = [id for id, (fingerprint, _) in wanted.items() if old.get(id) != fingerprint]
        gone = [id for id in old if id not in wanted]
        self._index.remove(gone)
        for start in range(0, len(changed), BATCH):
            self._index.write([index_row(id, *wanted[id]) for id in changed[start : start + BATCH]])
        if gone or changed:
            self._index.drop_vectors()
        rebuilt, self._index.rebuilt = self._index.rebuilt, False
        own = [id for id in changed if not is_heading(id)]
        return Synced(
            added=sum(1 for id in own if id not in old),
            changed=sum(1 for id in own if id in old),
            removed=sum(1 for id in gone if not is_heading(id)),
            kept=sum(1 for id in wanted if not is_heading(id)) - len(own),
            rebuilt=rebuilt,
            unembedded=len(self._unembedded(wanted)),
        )

    def embed(self, entries: Sequence[Entry], *, at_most: int | None = None) -> int:
        """Embed entries without a vector, at most `at_most` now; returns how many are left.

        Takes about a second per hundred short entries. Raises a ModelError when the embedder fails;
        earlier vectors are kept.
        """
        if self._embedder is None:
            return 0
        missing = self._unembedded({id: (fingerprint, entry) for id, fingerprint, entry in rows(entries)})
        now = missing if at_most is None else missing[:at_most]
        for start in range(0, len(now), EMBEDDED_AT_ONCE):
            part = now[start : start + EMBEDDED_AT_ONCE]
            vectors = self._embedder.embed([embedded_text(entry) for _, entry in part])
            kept = {fingerprint: packed(vector) for (fingerprint, _), vector in zip(part, vectors, strict=True)}
            with self._lock:
                self._index.keep_vectors(self._embedder.name, kept)
        return len(missing) - len(now)

    def _unembedded(self, wanted: Mapping[str, tuple[str, Entry]]) -> list[tuple[str, Entry]]:
        """Return fingerprint and entry of what has no vector, each fingerprint once."""
        if self._embedder is None:
            return []
        with self._lock:
            held = {fingerprint for fingerprint, _ in self._index.vectors(self._embedder.name)}
        return list({key: entry for id, (key, entry) in wanted.items() if key not in held and not is_heading(id)}.items())

    def search(self, query: str, limit: int = 10, *, excluding: AbstractSet[str] = frozenset()) -> tuple[Ranked, ...]:
        """Return the best entries for a query of any text, best first, ties by id; may be empty."""
        with self._lock:
            self._refresh()
            collection, question = self._collection, read_question(query)
            counts = self._index.counts(question.words)
            postings = [(word, self._packed(word)) for word in rarest(question, counts)]
            authors = named(question, collection.names)
            scores = by_words(postings, collection, self._weights)
            lexical = with_circumstances(scores, collection, authors=authors, asks_when=question.asks_when, weights=self._weights)
            near = self._near(query, lexical)
            scores = fused(lexical, near, collection.count) if near.standing else lexical
            order = nsmallest(
                limit,
                (number for number in scores if collection.ids[number] not in excluding),
                key=lambda number: (-scores[number], collection.ids[number]),
            )
            # Words that no entry contains count for the coverage too, but bounded, so that a long
            # query can still be covered.
            asked = [word for word, _ in postings] + [word for word in question.words if word not in counts]
            found = _Found(question, postings, asked[:MOST_WORDS], authors, lexical, near)
            return tuple(self._ranked(number, scores[number], found) for number in order)

    def _ranked(self, number: int, score: float, found: _Found) -> Ranked:
        collection = self._collection
        coverage, matched = covered(number, found.asked, found.postings, collection)
        shown = tuple(found.question.words[word] for word in matched)
        cosine = found.near.cosines.get(number)
        return Ranked(
            id=collection.ids[number],
            score=score,
            lexical=found.lexical.get(number, 0.0),
            dense=cosine,
            coverage=coverage,
            matched=shown,
            why=why(shown, around=number in found.lexical, by_author=collection.authors[number] in found.authors, cosine=cosine),
        )

    def _refresh(self) -> None:
        """Reload the columns when this or another process has written."""
        version = self._index.version()
        if version != self._seen:
            self._collection = collect(self._index.rows())
            self._vectors = None
            self._postings.clear()
            self._remembered = 0
            self._seen = version

    def _packed(self, word: str) -> array[int]:
        if (known := self._postings.get(word)) is not None:
            self._postings.move_to_end(word)
            return known
        found = self._postings[word] = self._index.postings(word)
        self._remembered += len(found)
        while self._remembered > REMEMBERED and len(self._postings) > 1:
            self._remembered -= len(self._postings.popitem(last=False)[1])
        return found

    def _near(self, query: str, lexical: Mapping[int, float]) -> Near:
        self.trouble = ""
        if self._embedder is None:
            return Near({}, {})
        if self._vectors is None:
            self._vectors = Vectors(self._collection, self._index.vectors(self._embedder.name))
        if not len(self._vectors):
            return Near({}, {})
        try:
            (vector,) = self._embedder.embed([query[:QUESTION_CHARACTERS]])
        except ModelError as error:
            self.trouble = str(error)
            return Near({}, {})
        return self._vectors.near(vector, lexical)


class _Found(Struct, frozen=True):
    question: Question
    postings: Postings
    asked: Sequence[str]
    authors: frozenset[int]
    lexical: Mapping[int, float]
    near: Near
