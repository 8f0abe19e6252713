"""Search in one project's memories: the ranker kept in sync with the folder, with embeddings added
in the background where the extra is installed.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from memorist.auto_memory.folder.run import MemoryFolder
from memorist.errors import DamagedIndex, InputError, MemoristError
from memorist.models.minilm import installed, shared
from memorist.recall.choose import Match
from memorist.recall.entries import Entry
from memorist.recall.index.run import EMBEDDED_AT_ONCE, Ranker
from memorist.recall.settings import RecallSettings


class MemorySearch:
    """Finds memories of one folder. Reads only files that changed since any process searched last.

    Embeddings are computed in a thread, so that no search waits for them; until then the search is
    lexical. With `wait_for_embeddings` a search waits for them, as a command does.
    """

    def __init__(self, folder: MemoryFolder, settings: RecallSettings, *, wait: bool = False) -> None:
        self._folder = folder
        self._wait = wait
        self._ranker: Ranker | None = None
        self._with_meaning: Ranker | None = None
        self._synced: Mapping[str, str] | None = None
        self._embeds = settings.embeddings and installed()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def search(self, query: str, limit: int) -> tuple[Match, ...]:
        """Return the best matches, best first; none where there is no memory. Raises StoreError."""
        if not self._folder.exists:
            return ()
        ranker = self.catch_up()
        try:
            found = (self._with_meaning or ranker).search(query, limit)
        except DamagedIndex:
            self._anew(ranker)
            found = ranker.search(query, limit)
        return tuple(Match(path=each.id, score=each.score, words=each.matched, dense=each.dense, why=each.why) for each in found)

    def _anew(self, ranker: Ranker) -> None:
        """Rebuild the index from the files, after damage that a search meets and a sync does not.
        """
        self._stop()
        if self._with_meaning is not None:
            self._with_meaning.close()
            self._with_meaning = None
        ranker.begin_anew()
        self._synced = None
        self.catch_up()

    def catch_up(self) -> Ranker:
        """Sync the index with the folder, as each search does first; returns the ranker.

        Raises StoreError.
        """
        ranker = self._ranker = self._ranker or Ranker(self._folder.where.full_text)
        marks = self._folder.marks()
        if marks == self._synced:
            return ranker
        known = ranker.known()
        ranker.sync([self._entry(path, mark, whole=known.get(path) != mark) for path, mark in marks.items()])
        self._synced = marks
        if self._embeds and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._embed, args=(dict(marks),), name="memorist-embed", daemon=True)
            self._thread.start()
        if self._wait and self._thread is not None:
            self._thread.join()
        return ranker

    def _entry(self, path: str, mark: str, *, whole: bool) -> Entry:
        """Build an entry; without its text where the index already has it."""
        if not whole:
            return Entry(id=path, fingerprint=mark)
        try:
            topic = self._folder.read(path)
        except (InputError, FileNotFoundError):
            return Entry(id=path, title=path, fingerprint=mark)
        return Entry(id=path, title=topic.name, description=topic.description, body=topic.body, fingerprint=mark)

    def _embed(self, marks: Mapping[str, str]) -> None:
        """Embed entries without a vector, in the thread. On failure the search stays lexical."""
        try:
            ranker = self._with_meaning or Ranker(self._folder.where.full_text, embedder=shared())
            entries = [self._entry(path, mark, whole=True) for path, mark in marks.items()]
            while not self._stopping.is_set() and ranker.embed(entries, at_most=EMBEDDED_AT_ONCE):
                pass  # the next process embeds the rest
        except MemoristError:
            return
        self._with_meaning = ranker

    def _stop(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        self._stopping.clear()

    def close(self) -> None:
        """Close the index; a running embedding step is waited for. May be called twice."""
        self._stop()
        for ranker in (self._ranker, self._with_meaning):
            if ranker is not None:
                ranker.close()
