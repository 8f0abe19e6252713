"""The first look at a memory folder where many files are new, in a thread: they are judged and indexed while the host goes on (RC-6)."""

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
"""New files that a request may look at itself: a file takes one to three milliseconds, so these take about `WAIT_SECONDS`."""

WAIT_SECONDS = 0.05
"""Longest that a request waits for the look: less than a person notices, and little beside the model's first word."""


class FirstLook:
    """Begun when a session is opened. Until it is done nothing of the folder is shown: what was not judged cannot be.

    The thread has a folder and an index file of its own, as another process would, so that the two share only what is on disk.
    """

    def __init__(self, folder: MemoryFolder, settings: RecallSettings) -> None:
        self._folder = folder
        self._settings = settings
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def done(self) -> bool:
        """Whether the folder may be asked without a long wait."""
        return self._thread is None or not self._thread.is_alive()

    def begin(self) -> None:
        """Look in the background, where there is much to look at; a disk that refuses is met again by whoever asks next."""
        beside = self._folder.beside()
        if self._thread is not None or not _much(beside):
            beside.close()
            return
        self._thread = threading.Thread(target=self._look, args=(beside,), name="memorist-first-look", daemon=True)
        self._thread.start()

    def _look(self, folder: MemoryFolder) -> None:
        """In the thread. Whatever fails leaves the rest to the next who asks, who tells of it."""
        words = MemorySearch(folder, replace(self._settings, embeddings=False))
        with closing(folder), closing(words):
            try:
                if folder.refresh_in_steps(self._stopped):
                    words.catch_up()
            except MemoristError:
                return

    def _stopped(self) -> bool:
        """Asked after each file: a good moment for the host's own thread to have its turn."""
        time.sleep(0)
        return self._stopping.is_set()

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is done, at most so long; gives whether it is. The host's other tasks go on."""
        if self._thread is not None and not self.done:
            await asyncio.to_thread(self._thread.join, seconds)
        return self.done

    async def stop(self) -> None:
        """Have it stop after the file or step under way, and wait for that; what was taken stands. May be called twice."""
        self._stopping.set()
        await self.wait()


def _much(folder: MemoryFolder) -> bool:
    """Whether a request that looks itself would be late for it."""
    try:
        return folder.exists and (
            len(folder.unseen().changed) > FEW or (not folder.where.full_text.exists() and len(folder.present()) > FEW)
        )
    except MemoristError:
        return False
