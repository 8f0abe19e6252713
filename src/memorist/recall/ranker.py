"""The ranker: indexes entries in a file, and returns the best ones for a query."""

from __future__ import annotations

import math
import threading
from array import array
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from heapq import nlargest
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from msgspec import Struct

from memorist.errors import DamagedIndex, ModelError, StoreError, UsageError
from memorist.ports import Embedder, PartialEmbedder, WordEmbedder
from memorist.recall.entry_vectors import (
    EmbeddingSimilarities,
    InMemoryEntryVectors,
    add_entries_not_compared,
    are_texts_read,
    embed_calibration_texts,
    has_words_of_a_language,
    quantize_vector_to_int8,
    stack_quantized_vectors,
)
from memorist.recall.lexical_score import (
    EntryColumns,
    QueryPostings,
    RankedEntry,
    SearchEntry,
    apply_score_bonuses_and_penalties,
    build_entry_columns,
    build_index_row,
    clean_and_fingerprint_entries,
    list_matched_words,
    render_embedding_text,
    replace_entries_in_columns,
    score_by_words,
)
from memorist.recall.memory_selection import explain_match
from memorist.recall.score_fusion import EntryRank, combine_word_and_vector_scores
from memorist.recall.search_query import (
    MAX_MENDED_WORDS,
    SearchQuery,
    build_search_query_from_text,
    is_one_letter_off,
    may_be_mistyped,
    select_rarest_words,
)
from memorist.recall.word_chance import EntryEvidenceScorer
from memorist.recall.word_index import ENTRIES_PER_TRANSACTION, WordIndex
from memorist.recall.word_nearness import pack_content_word_vectors

COMPARED_BY_WORDS = 40
"""Nearest entries whose words are compared as well. With 100 of them the same stood in the first
three.
"""

MIN_NEARNESS = 0.5
"""Standard deviations above chance below which an entry without a word of the query is left out."""

EMBEDDING_BATCH = 64
"""Entries embedded and saved per step: half a second of work that a kill can lose."""

MAX_EMBEDDED_QUERY_CHARS = 600
"""Characters of a query passed to an embedder, half of what it reads: with 2,000 a long message
takes twice the time, and as often finds what belongs to it (docs/ranking.md).
"""

MAX_CACHED_TEXTS = 1_000
"""Entries whose words' vectors are cached, 5 to 18 KB each."""

MAX_CACHED_COUNTS = 50_000
"""Words of earlier queries whose number of entries is cached, 5 MB."""

MAX_CACHED_POSTINGS = 400_000
"""Postings of earlier queries' words that are cached, 1.6 MB."""


_BUILDS: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
_BUILDS_LOCK = threading.Lock()
BUILD_WAIT_SECONDS = 0.2
"""How often a thread that waits for another one's build looks whether it is to stop."""


@contextmanager
def lock_index_build_in_process(index: str, should_stop: Callable[[], bool]) -> Iterator[bool]:
    """Wait until no other thread of this process builds the index of that name, so that fifty
    sessions of one project do not embed the same texts fifty times. Gives False where
    `should_stop` says so meanwhile.
    """
    with _BUILDS_LOCK:
        lock = _BUILDS[index]
    while not lock.acquire(timeout=BUILD_WAIT_SECONDS):
        if should_stop():
            yield False
            return
    try:
        yield True
    finally:
        lock.release()


class Ranker:
    """Ranks entries for queries. One file holds one set of entries; several processes may share it.

    All methods are thread-safe. Without an embedder the ranking is lexical. With one, call `embed`
    after `sync`, in the background as it is slow; entries without a vector yet are ranked by words.
    With `compares_words` and an embedder that tells words apart, nearness is measured word by word
    too, which takes 5 to 18 KB of the file for each entry: for memories, not for long histories.
    Raises StoreError when the disk fails, and UsageError for an embedder without numpy.
    """

    def __init__(
        self, path: Path, *, embedder: Embedder | None = None, compares_words: bool = True
    ) -> None:
        _require_numpy(embedder)
        self._compares_words = compares_words
        self._lock = threading.RLock()
        self._path = path
        self._index = WordIndex(path)
        self._embedder = embedder
        self._version: tuple[int, int] | None = None
        self._columns: EntryColumns = build_entry_columns(())
        self._vectors: dict[str, InMemoryEntryVectors] = {}
        """By the name of the embedder."""
        self._is_asked_in_unread_language = False
        self._preloading = threading.Lock()
        self._preloaded: tuple[tuple[int, int] | None, InMemoryEntryVectors] | None = None
        """Vectors for the next search by meaning, and the version of the index that they are of."""
        self._counts: dict[str, int] = {}
        """Number of entries that hold a word, 0 for none."""
        self._postings: OrderedDict[str, array[int]] = OrderedDict()
        self._cached_count = 0
        self._word_vectors: dict[str, bytes] = {}
        """Vectors of the words of entries that were compared, by fingerprint."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. May be called twice."""
        with self._lock:
            self._index.close()

    def sync(self, entries: Sequence[SearchEntry]) -> None:
        """Make the index contain exactly these entries, writing only what changed.

        Of two entries with the same id the last one counts. What a killed sync had written stands,
        and the next one completes it. A damaged index is rebuilt; for one that is locked, or that
        the disk refuses to write, a copy in memory is in.
        """
        self.sync_missing(lambda _: entries)

    def sync_missing(
        self, list_entries: Callable[[Mapping[str, str]], Sequence[SearchEntry] | None]
    ) -> None:
        """What `sync` does, with entries that need a text only where the index has none of that
        fingerprint: `list_entries` is given its fingerprints by id, and once more those of the
        index that a damaged or refused one is replaced by. It returns None where these are right.
        """
        with self._lock:
            self.reopen_if_replaced()
            try:
                self._sync(list_entries)
            except DamagedIndex:
                self.replace_damaged_index()
                self._sync(list_entries)
            except StoreError as error:
                if not self._index.use_copy_if_refused(error):
                    raise
                self._version = None
                self._sync(list_entries)

    def replace_damaged_index(self) -> None:
        """Move a damaged file aside and create an empty one, to be filled by `sync`."""
        with self._lock:
            self._index.replace_by_empty_index()
            self._version = None

    def read_fingerprints(self) -> dict[str, str]:
        """Return the index's fingerprints by id; empty for a damaged index, which the next `sync`
        rebuilds.
        """
        with self._lock:
            try:
                return self._index.read_fingerprints_by_id()
            except DamagedIndex:
                return {}

    def _sync(
        self, list_entries: Callable[[Mapping[str, str]], Sequence[SearchEntry] | None]
    ) -> None:
        old = self._index.read_fingerprints_by_id()
        if (entries := list_entries(old)) is None:
            return
        wanted = clean_and_fingerprint_entries(entries)
        changed = [each for id, each in wanted.items() if old.get(id) != each.fingerprint]
        removed = [id for id in old if id not in wanted]
        self._index.remove(removed)
        for start in range(0, len(changed), ENTRIES_PER_TRANSACTION):
            part = changed[start : start + ENTRIES_PER_TRANSACTION]
            self._index.write(list(map(build_index_row, part)))
        if removed or changed:
            self._index.drop_all_orphaned_vectors()

    def update_entries(self, entries: Sequence[SearchEntry], removed: Collection[str] = ()) -> None:
        """Add or replace these entries and remove those with the ids `removed`: what `sync` with
        all of them would do, where the index was in sync before. Takes no longer with more entries,
        but for a copy of their columns. Raises StoreError; a `sync` then does it.
        """
        wanted = clean_and_fingerprint_entries(entries)
        with self._lock:
            is_current = self._version == self._index.read_change_marker()
            former = self._index.read_rows_by_ids([*wanted, *removed])
            self._index.remove(list(removed))
            self._index.write(list(map(build_index_row, wanted.values())))
            self._index.drop_orphaned_vectors([row.fingerprint for row in former])
            columns = (
                replace_entries_in_columns(
                    self._columns, removed, self._index.read_rows_by_ids(wanted.keys())
                )
                if is_current
                else None
            )
            if columns is not None:
                self._columns, self._version = columns, self._index.read_change_marker()
                self._clear_cached_words()
                for vectors in self._vectors.values():
                    vectors.remove([row.number for row in former])

    def embed_missing_vectors(
        self, entries: Sequence[SearchEntry], *, at_most: int | None = None
    ) -> int:
        """Embed entries without a vector, at most `at_most` now; returns how many are left.

        Takes about a second per hundred short entries. Raises a ModelError when the embedder fails;
        earlier vectors are kept. Those of other embedders are deleted.
        """
        if (embedder := self._embedder) is None:
            return 0
        other = _find_multilingual_embedder(embedder)
        with self._lock:
            names = [embedder.name, _words_name(embedder), *([other.name] if other else ())]
            self._index.drop_other_vectors(names)
        missing = self._find_unembedded(clean_and_fingerprint_entries(entries).values())
        now = missing if at_most is None else missing[:at_most]
        for start in range(0, len(now), EMBEDDING_BATCH):
            part = {entry.fingerprint: entry for entry in now[start : start + EMBEDDING_BATCH]}
            with self._lock:
                known = self._read_fingerprints_by(embedder)
            self._embed_part(embedder, [each for key, each in part.items() if key not in known])
            if other is not None and self._needs_every_language(embedder, other, part):
                try:
                    self._embed_part(other, [*part.values()])
                except ModelError:
                    other = None  # English is compared all the same
        return len(missing) - len(now)

    def _needs_every_language(
        self, embedder: Embedder, other: Embedder, entries: Mapping[str, SearchEntry]
    ) -> bool:
        """Whether the entries need vectors by the multilingual embedder too: one of these is in a
        language that the other does not read, as an earlier one or a question was. They are by
        fingerprint.
        """
        readable = [
            key
            for key, entry in entries.items()
            if has_words_of_a_language(render_embedding_text(entry))
        ]
        with self._lock:
            if self._is_asked_in_unread_language or self._index.has_vectors(other.name):
                return True
            own = self._index.read_vectors_by_fingerprint(embedder.name, readable)
        vectors = stack_quantized_vectors([*own.values()]) if own else ()
        return not all(are_texts_read(vectors, embed_calibration_texts(embedder)))

    def _embed_part(self, embedder: Embedder, entries: Sequence[SearchEntry]) -> None:
        fingerprints = [entry.fingerprint for entry in entries]
        texts = list(map(render_embedding_text, entries))
        words: dict[str, bytes] = {}
        if self._compares_words and isinstance(embedder, WordEmbedder):
            found = embedder.embed_texts_and_words(texts)
            vectors = [each.whole for each in found]
            words = dict(zip(fingerprints, map(pack_content_word_vectors, found), strict=True))
        else:
            vectors = embedder.embed(texts)
        kept = dict(zip(fingerprints, map(quantize_vector_to_int8, vectors), strict=True))
        with self._lock:
            is_current = self._version == self._index.read_change_marker()
            self._index.save_vectors(_words_name(embedder), words)
            self._index.save_vectors(embedder.name, kept)
            if is_current and self._embedder is not None:
                self._version = self._index.read_change_marker()
                if len(self._vectors.get(embedder.name, ())):
                    self._vectors[embedder.name].add(self._columns, kept)
                else:
                    self._vectors.pop(embedder.name, None)

    @property
    def entry_count(self) -> int:
        """Number of entries that the last query was compared with."""
        return self._columns.entry_count

    @property
    def ranks_by_meaning(self) -> bool:
        """Whether it has an embedder."""
        return self._embedder is not None

    def enable_embeddings(self, embedder: Embedder) -> None:
        """Rank by words and meaning from now on, and load what that takes. Raises UsageError
        without numpy.
        """
        _require_numpy(embedder)
        self._preload_vectors(embedder)
        with self._lock:
            self._embedder = embedder
            self._refresh()
            self._load_vectors(embedder)

    def preload_multilingual_model(self) -> None:
        """Load the model for other languages where entries have vectors by it: the first question
        in one would wait a second for it. Raises a ModelError, StoreError.
        """
        other = _find_multilingual_embedder(self._embedder)
        if other is not None:
            with self._lock:
                is_used = self._index.has_vectors(other.name)
            if is_used:
                embed_calibration_texts(other, reads_every_language=True)

    def read_embedded_fingerprints(self) -> frozenset[str]:
        """Return the fingerprints of all entries that have a vector."""
        if (embedder := self._embedder) is None:
            return frozenset()
        with self._lock:
            found = self._read_fingerprints_by(embedder)
            if other := _find_multilingual_embedder(embedder):
                others = self._index.read_embedded_fingerprints(other.name)
                if others or self._is_asked_in_unread_language:
                    found &= others
            return found

    def _read_fingerprints_by(self, embedder: Embedder) -> frozenset[str]:
        found = self._index.read_embedded_fingerprints(embedder.name)
        if self._compares_words and isinstance(embedder, WordEmbedder):
            found &= self._index.read_embedded_fingerprints(_words_name(embedder))
        return found

    @property
    def lacks_vectors_for_question(self) -> bool:
        """Whether a question came in a language for which there are no vectors yet: the next
        `embed_missing_vectors` makes them.
        """
        return self._is_asked_in_unread_language and not self.read_embedded_fingerprints()

    def _find_unembedded(self, entries: Iterable[SearchEntry]) -> list[SearchEntry]:
        """Return the entries without a vector, each fingerprint once."""
        embedded = self.read_embedded_fingerprints()
        by_mark = {each.fingerprint: each for each in entries if each.fingerprint not in embedded}
        return [*by_mark.values()]

    def search(self, query: str, limit: int = 10) -> tuple[RankedEntry, ...]:
        """Return the best entries for a query of any text, best first, ties by id; may be empty."""
        with self._lock:
            found = self._rank(query, limit)
            evidence = EntryEvidenceScorer(
                found.query.words,
                holders=found.counts,
                entries=self._columns.entry_count,
                longest=max((self._columns.lengths[number] for number in found.order), default=0),
            )
            return tuple(self._build_result(number, found, evidence) for number in found.order)

    def rank_without_reasons(
        self, query: str, limit: int, *, by_meaning: bool = True, excluding: Collection[str] = ()
    ) -> tuple[EntryRank, ...]:
        """Return what `search` does, without the reasons, which take longer than the ranking; by
        words alone without `by_meaning`, and as if the entries with the ids `excluding` were not
        there.
        """
        with self._lock:
            found = self._rank(query, limit, by_meaning=by_meaning, excluding=excluding)
            ids = self._columns.ids
            above = found.similarity.above_chance
            return tuple(
                EntryRank(
                    ids[number],
                    found.scores[number],
                    found.lexical.get(number, 0.0),
                    above.get(number),
                )
                for number in found.order
            )

    def _rank(
        self, query: str, limit: int, *, by_meaning: bool = True, excluding: Collection[str] = ()
    ) -> _QueryState:
        self._refresh()
        left_out = self._index.read_rows_by_ids(excluding) if excluding else ()
        excluded = frozenset(row.number for row in left_out)
        collection, question = self._columns, build_search_query_from_text(query)
        counts = self._count_entries(question.words)
        question, counts = self._mend_typing(question, counts)
        postings = [
            (word, self._load_postings(word)) for word in select_rarest_words(question, counts)
        ]
        lexical = apply_score_bonuses_and_penalties(
            score_by_words(postings, collection, excluded), collection, asks_when=question.asks_when
        )
        near = (
            self._measure_similarity(query, lexical, excluded)
            if by_meaning
            else EmbeddingSimilarities({}, {})
        )
        scores = (
            combine_word_and_vector_scores(
                lexical,
                near,
                len(question.words),
                collection.entry_count,
                has_neighbours=collection.has_positions,
            )
            if near.above_chance
            else lexical
        )
        allowed = [
            number
            for number in scores
            if number in lexical or near.above_chance[number] >= MIN_NEARNESS
        ]
        # Plain numbers are compared in a third of the time that keys take.
        least = min(nlargest(limit, (scores[number] for number in allowed)), default=math.inf)
        order = sorted(
            (number for number in allowed if scores[number] >= least),
            key=lambda number: (-scores[number], collection.ids[number]),
        )[:limit]
        return _QueryState(question, counts, postings, lexical, near, scores, order)

    def _count_entries(self, words: Collection[str]) -> dict[str, int]:
        """Number of entries that contain each of these words; absent words are left out."""
        counts = self._counts
        rest = [word for word in words if word not in counts]
        if rest:
            if len(counts) > MAX_CACHED_COUNTS:
                counts.clear()
                rest = list(words)
            counts.update(dict.fromkeys(rest, 0) | self._index.count_entries_by_word(rest))
        return {word: count for word in words if (count := counts[word])}

    def _mend_typing(
        self, question: SearchQuery, counts: dict[str, int]
    ) -> tuple[SearchQuery, dict[str, int]]:
        """Replace words that no entry has and hardly anybody types by the one an entry has that
        differs by one letter.
        """
        words = dict(question.words)
        strange = [word for word in words if word not in counts and may_be_mistyped(word)]
        for word in strange[:MAX_MENDED_WORDS]:
            near = [
                each
                for each in self._index.find_spelling_candidates(word)
                if is_one_letter_off(word, each)
            ]
            near.sort(key=len)
            # A word and its stem are one.
            if near and near[0] not in words and all(each.startswith(near[0]) for each in near):
                words[near[0]] = words.pop(word)
        if words.keys() == question.words.keys():
            return question, counts
        return SearchQuery(words, question.asks_when), self._count_entries(words)

    def _build_result(
        self, number: int, found: _QueryState, evidence: EntryEvidenceScorer
    ) -> RankedEntry:
        collection = self._columns
        matched = list_matched_words(number, found.postings)
        shown = tuple(found.query.words[word] for word in matched)
        cosine = found.similarity.cosines.get(number)
        return RankedEntry(
            id=collection.ids[number],
            score=found.scores[number],
            lexical=found.lexical.get(number, 0.0),
            dense=cosine,
            evidence=evidence.measure_evidence_for_entry(matched, collection.lengths[number]),
            nearness=found.similarity.above_chance.get(number),
            matched=shown,
            why=explain_match(shown, around=number in found.lexical, cosine=cosine),
        )

    def preload_index(self) -> None:
        """Read now what the next query by words would wait for, where the index changed. Raises
        StoreError.
        """
        with self._lock:
            self._refresh()

    def reopen_if_replaced(self) -> bool:
        """Open the file again where it is another one by now, and once in a minute while a copy in
        memory stands in for it; returns whether that was so.
        """
        with self._lock:
            is_reopened = self._index.reopen_if_replaced()
            if is_reopened:
                self._version = None
            return is_reopened

    def _refresh(self) -> None:
        """Reload the columns when this or another process has written."""
        self.reopen_if_replaced()
        version = self._index.read_change_marker()
        if version != self._version:
            self._columns = build_entry_columns(self._index.iter_all_rows())
            self._vectors.clear()
            self._clear_cached_words()
            self._version = version

    def _clear_cached_words(self) -> None:
        self._postings.clear()
        self._counts.clear()
        self._cached_count = 0

    def _load_postings(self, word: str) -> array[int]:
        if (known := self._postings.get(word)) is not None:
            self._postings.move_to_end(word)
            return known
        found = self._postings[word] = self._index.read_postings(word)
        self._cached_count += len(found)
        while self._cached_count > MAX_CACHED_POSTINGS and len(self._postings) > 1:
            self._cached_count -= len(self._postings.popitem(last=False)[1])
        return found

    def _measure_similarity(
        self, query: str, lexical: Mapping[int, float], excluded: Collection[int]
    ) -> EmbeddingSimilarities:
        if (embedder := self._embedder) is None:
            return EmbeddingSimilarities({}, {})
        try:
            vectors = self._load_vectors(embedder)
            asked = query[:MAX_EMBEDDED_QUERY_CHARS]
            (vector,) = embedder.embed([asked]) if self._columns.entry_count else (b"",)
            if not vectors.reads(vector):
                self._is_asked_in_unread_language |= has_words_of_a_language(asked)
                return self._measure_in_every_language(embedder, asked, lexical, excluded)
            found = vectors.measure_similarity(vector, lexical, excluded)
            if self._compares_words and isinstance(embedder, WordEmbedder) and found.cosines:
                found = self._compare_words(embedder, asked, found)
            if vectors.has_unread:
                rest = self._measure_in_every_language(embedder, asked, lexical, excluded)
                found = add_entries_not_compared(found, rest, vectors)
        except ModelError:
            return EmbeddingSimilarities({}, {})
        return found

    def _measure_in_every_language(
        self,
        embedder: Embedder,
        query: str,
        lexical: Mapping[int, float],
        excluded: Collection[int],
    ) -> EmbeddingSimilarities:
        """The similarity by the multilingual embedder, of the entries that have a vector by it."""
        other = _find_multilingual_embedder(embedder)
        if other is None or not (
            other.name in self._vectors or self._index.has_vectors(other.name)
        ):
            return EmbeddingSimilarities({}, {})
        try:
            vectors = self._load_vectors(other)
            (vector,) = other.embed([query])
        except ModelError:  # English is compared all the same
            return EmbeddingSimilarities({}, {})
        return vectors.measure_similarity(vector, lexical, excluded)

    def _compare_words(
        self, embedder: WordEmbedder, query: str, found: EmbeddingSimilarities
    ) -> EmbeddingSimilarities:
        """The similarity with the nearness of the nearest entries measured by their words too."""
        above = found.above_chance
        nearest = nlargest(COMPARED_BY_WORDS, above, key=above.__getitem__)
        words = self._load_word_vectors(embedder, nearest)
        (question,) = embedder.embed_texts_and_words([query])
        scorer = embed_calibration_texts(embedder).word_nearness
        if not words or not question.words or scorer is None:
            return found
        joined = scorer.combine_word_and_whole_nearness(
            question, [above[number] for number in words], list(words.values())
        )
        near = dict(zip(words, map(float, joined), strict=True))
        return EmbeddingSimilarities(found.cosines, {**above, **near})

    def _load_word_vectors(
        self, embedder: WordEmbedder, numbers: Iterable[int]
    ) -> dict[int, bytes]:
        """The vectors of the words of these entries, of those that have them."""
        marks = {number: self._columns.fingerprints[number] for number in numbers}
        missing = {mark for mark in marks.values() if mark not in self._word_vectors}
        if missing:
            self._word_vectors.update(
                self._index.read_vectors_by_fingerprint(_words_name(embedder), missing)
            )
        found = {
            number: self._word_vectors[mark]
            for number, mark in marks.items()
            if self._word_vectors.get(mark)
        }
        if len(self._word_vectors) > MAX_CACHED_TEXTS:
            self._word_vectors.clear()
        return found

    def _load_vectors(self, embedder: Embedder) -> InMemoryEntryVectors:
        is_first = embedder is self._embedder
        if is_first and embedder.name not in self._vectors:
            with self._preloading:
                if self._preloaded is not None and self._preloaded[0] == self._version:
                    self._vectors[embedder.name] = self._preloaded[1]
                self._preloaded = None
        if embedder.name not in self._vectors:
            self._vectors[embedder.name] = InMemoryEntryVectors(
                self._columns,
                self._index.iter_all_vectors(embedder.name),
                embed_calibration_texts(embedder, reads_every_language=not is_first),
            )
        return self._vectors[embedder.name]

    def _preload_vectors(self, embedder: Embedder) -> None:
        """Read the vectors for the next search by meaning, which waits for it; searches by words go
        on meanwhile.
        """
        with self._lock:
            self._refresh()
            columns, version = self._columns, self._version
            if embedder.name in self._vectors or self._index.is_in_memory_copy:
                return
        # Never within the lock: a search by meaning holds it while it waits.
        with self._preloading, closing(WordIndex(self._path)) as index:
            if self._preloaded is None or self._preloaded[0] != version:
                vectors = index.iter_all_vectors(embedder.name)
                self._preloaded = (
                    version,
                    InMemoryEntryVectors(columns, vectors, embed_calibration_texts(embedder)),
                )


def _find_multilingual_embedder(embedder: Embedder | None) -> Embedder | None:
    if isinstance(embedder, PartialEmbedder):
        return embedder.get_multilingual_embedder()
    return None


def _words_name(embedder: Embedder) -> str:
    return f"{embedder.name} words"


def _require_numpy(embedder: Embedder | None) -> None:
    if embedder is not None and find_spec("numpy") is None:
        raise UsageError(
            "Ranking by meaning needs numpy; run pip install 'memorist[embed]', or give no "
            "embedder."
        )


class _QueryState(Struct, frozen=True):
    query: SearchQuery
    counts: Mapping[str, int]
    """Entries that hold each word of the query."""
    postings: QueryPostings
    lexical: Mapping[int, float]
    similarity: EmbeddingSimilarities
    scores: Mapping[int, float]
    order: Sequence[int]
    """Numbers of the best entries, best first."""
