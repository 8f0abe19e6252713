"""Search in the memories that hold in a project: for each folder a ranker that is kept in sync with
it, with embeddings added in the background where the extra is installed.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from msgspec.structs import replace

from memorist.auto_memory.auto_memory import EVERYWHERE_PREFIX, AutoMemory
from memorist.auto_memory.memory_folder import MemoryFolder
from memorist.errors import DamagedIndex, InputError, MemoristError, StoreError
from memorist.models.embedder import get_shared_embedder, is_embedder_installed
from memorist.platforms.background_thread import start_thread_awaited_at_exit
from memorist.recall.lexical_score import SearchEntry
from memorist.recall.memory_selection import MemoryMatch, measure_relevance_above_chance
from memorist.recall.ranker import EMBEDDING_BATCH, Ranker, lock_index_build_in_process
from memorist.recall.search_query import build_search_query_from_text
from memorist.safety.secrets import redact
from memorist.settings import RecallSettings

EMBEDDING_WAIT_SECONDS = 20.0
"""Longest wait of a command for embeddings, in which some hundred memories are embedded. What is
left is ranked by words, and embedded by the next command or session.
"""


class MemoryFolderSearch:
    """Finds memories of one folder. Reads only files that changed since any process searched last.

    Embeddings are computed in a thread; until then the search is lexical. A search waits for them
    at most `embedding_wait` seconds.
    """

    def __init__(
        self, folder: MemoryFolder, settings: RecallSettings, *, embedding_wait: float = 0.0
    ) -> None:
        self._folder = folder
        self._wait = embedding_wait
        self._ranker: Ranker | None = None
        self._synced_marks: Mapping[str, str] | None = None
        self._synced_version = 0
        self._uses_embeddings = settings.embeddings and is_embedder_installed()
        self._preloads = False
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def search(self, query: str, limit: int) -> tuple[MemoryMatch, ...]:
        """Return the best matches, best first; none where there is no memory. Raises StoreError."""
        if not self._folder.exists:
            return ()
        if not build_search_query_from_text(query).words and (signs := query.strip()):
            return tuple(self._find_literally(signs, limit))
        ranker = self.sync_index()
        try:
            found = ranker.search(query, limit)
        except DamagedIndex:
            found = self._rebuild_index(ranker).search(query, limit)
        if ranker.lacks_vectors_for_question and self._synced_marks and not self.is_embedding:
            self._start_embedding(ranker, self._synced_marks)
            found = ranker.search(query, limit)
        return tuple(
            MemoryMatch(
                path=each.id,
                score=each.score,
                words=each.matched,
                evidence=each.evidence,
                nearness=each.nearness,
                why=each.why,
            )
            for each in found
        )

    def _find_literally(self, signs: str, limit: int) -> Iterator[MemoryMatch]:
        """The memories that hold signs without a word, such as an emoji, which no index has."""
        entries = (
            self._build_entry(path, mark) for path, mark in self._folder.file_fingerprints().items()
        )
        for each in islice((each for each in entries if _holds(each, signs)), limit):
            yield MemoryMatch(path=each.id, score=0.0, why=f"has {signs}")

    def _rebuild_index(self, ranker: Ranker) -> Ranker:
        """Rebuild the index from the files, after damage a search meets and a sync does not."""
        self._stop_embedding()
        ranker.replace_damaged_index()
        self._synced_marks = None
        return self.sync_index()

    def sync_index(self) -> Ranker:
        """Sync the index with the folder, as each search does first; returns the ranker.

        Raises StoreError.
        """
        ranker = self._ranker = self._ranker or Ranker(self._folder.layout.recall_index)
        if ranker.reopen_if_replaced():
            # The file was removed, as by `memory forget --hard`, or a copy had stood in for it.
            self._stop_embedding()
            self._synced_marks = None
        marks, version = self._folder.file_fingerprints(), self._folder.listing.version
        if marks is self._synced_marks or marks == self._synced_marks:
            return ranker
        if not self._update_index(ranker, marks):
            ranker.sync_missing(
                lambda known: (
                    None
                    if known == marks
                    else [
                        SearchEntry(id=path, fingerprint=mark)
                        if known.get(path) == mark
                        else self._build_entry(path, mark)
                        for path, mark in marks.items()
                    ]
                )
            )
        self._synced_marks, self._synced_version = marks, version
        if self._uses_embeddings and marks and not self.is_embedding:
            self._start_embedding(ranker, marks)
        elif self._wait and self._thread is not None:
            self._thread.join(self._wait)
        return ranker

    def _start_embedding(self, ranker: Ranker, marks: Mapping[str, str]) -> None:
        """Start the thread, and wait for it as long as a search does."""
        self._thread = start_thread_awaited_at_exit(
            self._embed_entries, ranker, dict(marks), name="memorist-embed", stopping=self._stopping
        )
        if self._wait:
            self._thread.join(self._wait)

    @property
    def is_embedding(self) -> bool:
        """Whether its thread is still at work, for which the last search was by words alone."""
        return self._thread is not None and self._thread.is_alive()

    def preload_in_background(self) -> None:
        """Sync the index, and read in a thread what the next search would wait for. Raises
        StoreError.
        """
        if not self._folder.exists:
            return
        self._preloads = True
        ranker = self.sync_index()
        if not self.is_embedding:  # else that loads it in the end
            self._thread = start_thread_awaited_at_exit(_load_ranker, ranker, name="memorist-load")

    def _update_index(self, ranker: Ranker, marks: Mapping[str, str]) -> bool:
        """Bring into the index what changed since it was in sync; False where it was not yet, or
        that failed.
        """
        former = self._synced_marks
        if former is None:
            return False
        edits = self._folder.listing.list_edits_since(self._synced_version)
        changed = [
            path
            for path in sorted({*former, *marks} if edits is None else edits)
            if former.get(path) != marks.get(path)
        ]
        with contextlib.suppress(StoreError):
            ranker.update_entries(
                [self._build_entry(path, marks[path]) for path in changed if path in marks],
                [path for path in changed if path not in marks],
            )
            return True
        return False

    def _build_entry(self, path: str, mark: str) -> SearchEntry:
        try:
            topic = self._folder.read_memory_file(path)
        except (InputError, FileNotFoundError):
            return SearchEntry(id=path, title=path, fingerprint=mark)
        return SearchEntry(
            id=path,
            title=redact(topic.name).text,
            description=redact(topic.description).text,
            body=redact(topic.body).text,
            fingerprint=mark,
        )

    def _embed_entries(self, ranker: Ranker, marks: Mapping[str, str]) -> None:
        """Embed entries without a vector, in the thread, by a connection of its own, and have the
        search rank by meaning from then on. On failure it stays lexical.
        """
        embedder = get_shared_embedder()
        path = self._folder.layout.recall_index
        try:
            with (
                lock_index_build_in_process(str(path), self._stopping.is_set) as is_free,
                Ranker(path, embedder=embedder) as temporary,
            ):
                if not is_free:
                    return
                # A ranker that has all vectors takes up a new one, in place of reading all again.
                target = ranker if ranker.ranks_by_meaning else temporary
                embedded = target.read_embedded_fingerprints()
                missing = [
                    self._build_entry(path, mark)
                    for path, mark in marks.items()
                    if mark not in embedded
                ]
                while not self._stopping.is_set() and target.embed_missing_vectors(
                    missing, at_most=EMBEDDING_BATCH
                ):
                    pass  # the next process embeds the rest
            if target is temporary:
                ranker.enable_embeddings(embedder)
            if self._preloads:
                ranker.preload_multilingual_model()
        except MemoristError:
            return

    def _stop_embedding(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        self._stopping.clear()

    def close_after_embedding(self) -> None:
        """Close the index once its thread has done its work, or the program ends."""
        thread = self._thread
        if thread is None or not thread.is_alive():
            self.close()
            return

        def close() -> None:
            thread.join()
            self.close()

        start_thread_awaited_at_exit(close, name="memorist-embed", stopping=self._stopping)

    def close(self) -> None:
        """Close the index; a running embedding step is waited for. May be called twice; the next
        search opens it again.
        """
        self._stop_embedding()
        if self._ranker is not None:
            self._ranker.close()
        self._ranker = self._synced_marks = None


class MemorySearch:
    """Finds the memories that hold in a project: its own, and those of the user that hold in every
    project, whose paths begin with `everywhere/`.
    """

    def __init__(self, project: MemoryFolderSearch, everywhere: MemoryFolderSearch | None) -> None:
        self._searches = [("", project)]
        if everywhere is not None:
            self._searches.append((EVERYWHERE_PREFIX, everywhere))

    def search(self, query: str, limit: int) -> tuple[MemoryMatch, ...]:
        """Return the best matches, best first; none where there is no memory. Raises StoreError."""
        found = [
            [replace(match, path=prefix + match.path) for match in each.search(query, limit)]
            for prefix, each in self._searches
        ]
        return tuple(_merge_matches(found))[:limit]

    def preload_in_background(self) -> None:
        """Read in threads what the next search would wait for. Raises StoreError."""
        for _, each in self._searches:
            each.preload_in_background()

    @property
    def is_embedding(self) -> bool:
        """Whether the last search was by words alone, as embeddings are still computed."""
        return any(each.is_embedding for _, each in self._searches)

    def close_after_embedding(self) -> None:
        """Close the indexes once all memories have their embeddings, or the program ends."""
        for _, each in self._searches:
            each.close_after_embedding()

    def close(self) -> None:
        """Close the indexes. May be called twice."""
        for _, each in self._searches:
            each.close()


def open_memory_search(
    memory: AutoMemory, settings: RecallSettings, *, embedding_wait: float = 0.0
) -> MemorySearch:
    """Open the search in the memories that hold in a project, by indexes of its own."""

    def open_folder(each: AutoMemory) -> MemoryFolderSearch:
        return MemoryFolderSearch(each.folder, settings, embedding_wait=embedding_wait)

    everywhere = memory.everywhere
    return MemorySearch(open_folder(memory), open_folder(everywhere) if everywhere else None)


def _load_ranker(ranker: Ranker) -> None:
    with contextlib.suppress(MemoristError):  # the next search meets it again
        ranker.preload_index()


def _merge_matches(rankings: Iterable[Sequence[MemoryMatch]]) -> Iterator[MemoryMatch]:
    """Merge rankings of several folders, each in its own order: always that one's next match which
    lies furthest above chance, for scores of different folders do not compare.
    """
    left = [list(each) for each in rankings if each]
    while left:
        best = max(left, key=lambda each: measure_relevance_above_chance(each[0]))
        yield best.pop(0)
        left = [each for each in left if each]


def _holds(entry: SearchEntry, signs: str) -> bool:
    return any(signs in text for text in (entry.title, entry.description, entry.body))
