"""The initial scan of a memory folder with many new files, in a thread: they are judged and indexed
while the host goes on (RC-6).
"""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import closing

from msgspec.structs import replace

from memorist.auto_memory.folder.run import MemoryFolder
from memorist.errors import MemoristError
from memorist.recall.search.run import MemorySearch
from memorist.recall.settings import RecallSettings

FEW = 20
"""New files that a request may scan itself: one takes one to three milliseconds, so these take
about `SCAN_WAIT_SECONDS`.
"""

WAIT_SECONDS = 0.05
"""Longest wait of a request for the scan: imperceptible, and short beside the model's first token.
"""


class FirstLook:
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
    def done(self) -> bool:
        """Whether the folder can be queried without a long wait."""
        return self._thread is None or not self._thread.is_alive()

    def begin(self) -> None:
        """Start a background scan where many files are new.

        A failing disk is met again, and reported, by the next query.
        """
        beside = self._folder.beside()
        if self._thread is not None or not _much(beside):
            beside.close()
            return
        self._thread = threading.Thread(target=self._look, args=(beside,), name="memorist-first-look", daemon=True)
        self._thread.start()

    def _look(self, folder: MemoryFolder) -> None:
        """Scan and index, in the thread.

        A failure leaves the rest to the next query, which reports it.
        """
        words = MemorySearch(folder, replace(self._settings, embeddings=False))
        with closing(folder), closing(words):
            try:
                if folder.refresh_in_steps(self._stopped):
                    words.catch_up()
            except MemoristError:
                return

    def _stopped(self) -> bool:
        """Checked after each file; also yields to the host's own thread."""
        time.sleep(0)
        return self._stopping.is_set()

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait without blocking the event loop, at most `seconds`; returns whether the scan is
        done.
        """
        if self._thread is not None and not self.done:
            await asyncio.to_thread(self._thread.join, seconds)
        return self.done

    async def stop(self) -> None:
        """Stop after the current file or batch, and wait for that; finished batches stand.

        May be called twice.
        """
        self._stopping.set()
        await self.wait()


def _much(folder: MemoryFolder) -> bool:
    """Whether scanning within a request would delay it."""
    try:
        return folder.exists and (
            len(folder.unseen().changed) > FEW or (not folder.where.full_text.exists() and len(folder.present()) > FEW)
        )
    except MemoristError:
        return False
