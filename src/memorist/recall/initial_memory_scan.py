"""The initial scan of a memory folder with many new files, in a thread: they are judged and indexed
while the host goes on (RC-6).
"""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import closing

from msgspec.structs import replace

from memorist.auto_memory.memory_folder import MemoryFolder
from memorist.errors import MemoristError
from memorist.platforms.background_thread import start_thread_awaited_at_exit
from memorist.recall.memory_search import MemoryFolderSearch
from memorist.settings import RecallSettings

MAX_INLINE_FILES = 20
"""New files that a request may scan itself: one takes one to three milliseconds, so these take
about `SCAN_WAIT_SECONDS`.
"""

SCAN_WAIT_SECONDS = 0.05
"""Longest wait of a request for the scan: imperceptible, and short beside the model's first token.
"""


class InitialMemoryScan:
    """Starts with a session.

    Until it is done nothing of the folder is shown, since unjudged files must not be.

    The thread has its own folder object and index connection, as another process would; the two
    share only what is on disk.
    """

    def __init__(self, folder: MemoryFolder, settings: RecallSettings) -> None:
        self._folder = folder
        self._settings = settings
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_done(self) -> bool:
        """Whether the folder can be queried without a long wait."""
        return self._thread is None or not self._thread.is_alive()

    def start(self) -> None:
        """Start a background scan where many files are new.

        A failing disk is met again, and reported, by the next query.
        """
        if self._thread is not None or not _is_large(self._folder):
            return
        self._thread = start_thread_awaited_at_exit(
            self._scan,
            self._folder.clone_for_thread(),
            name="memorist-first-look",
            stopping=self._stopping,
        )

    def _scan(self, folder: MemoryFolder) -> None:
        """Scan and index, in the thread.

        A failure leaves the rest to the next query, which reports it.
        """
        words = MemoryFolderSearch(folder, replace(self._settings, embeddings=False))
        with closing(folder), closing(words):
            try:
                if folder.refresh_in_batches(self._should_stop):
                    words.sync_index()
            except MemoristError:
                return

    def _should_stop(self) -> bool:
        """Checked after each file; also yields to the host's own thread."""
        time.sleep(0)
        return self._stopping.is_set()

    async def wait_until_done(self, seconds: float | None = None) -> bool:
        """Wait without blocking the event loop, at most `seconds`; returns whether the scan is
        done.
        """
        if self._thread is not None and not self.is_done:
            await asyncio.to_thread(self._thread.join, seconds)
        return self.is_done

    async def stop(self) -> None:
        """Stop after the current file or batch, and wait for that; finished batches stand.

        May be called twice.
        """
        self._stopping.set()
        await self.wait_until_done()


def _is_large(folder: MemoryFolder) -> bool:
    """Whether scanning within a request would delay it."""
    try:
        return folder.exists and (
            len(folder.compare_with_last_scan().changed) > MAX_INLINE_FILES
            or (
                not folder.layout.recall_index.exists()
                and len(folder.list_entries()) > MAX_INLINE_FILES
            )
        )
    except MemoristError:
        return False
