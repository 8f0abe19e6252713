"""Whether a memory folder of many files changed since its files were listed, judged by the
modification times of its folders alone.

Listing ten thousand files takes longer than a prompt may wait. New, removed and replaced
files change the time of their folder; a file that was changed in place does not, so a thread lists
all of them after the prompt was answered, and whoever reads single files asks about those.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from memorist.errors import StoreError
from memorist.platforms.background_thread import start_thread_awaited_at_exit
from memorist.ports import Clock, FileInfo, FileSystem

MIN_DETECTOR_FILES = 500
"""Files from which the times of folders are trusted: fewer are listed in some two milliseconds."""
RELIST_SECONDS = 5.0
"""Shortest time between two listings in the thread: prompts in quick succession share one."""


class FolderMtimeChangeDetector:
    """What is known since the files were listed last. Used from one thread, but for the thread of
    its own.
    """

    def __init__(self, files: FileSystem, folder: Path, clock: Clock) -> None:
        self._files = files
        self._folder = folder
        self._clock = clock
        self._listed_at = -RELIST_SECONDS
        self._subfolders: frozenset[str] = frozenset(("",))
        self._marks: Mapping[str, int] | None = None
        """Modification time of each folder before the last listing; None where it cannot be told by
        them whether something changed.
        """
        self._thread: threading.Thread | None = None

    def list_files(
        self, list_entries: Callable[[], list[tuple[str, FileInfo]]]
    ) -> list[tuple[str, FileInfo]]:
        """List the files by `list_entries`, and remember the times of their folders."""
        marks = self._read_marks()
        entries = list_entries()
        self._listed_at = self._clock.monotonic()
        folders = frozenset(
            parent + slash for parent, slash, _ in (path.rpartition("/") for path, _ in entries)
        ) | {""}
        enough = len(entries) >= MIN_DETECTOR_FILES and folders == self._subfolders
        self._subfolders = folders
        self._marks = marks if enough else None
        return entries

    def _read_marks(self) -> Mapping[str, int]:
        found = {each: self._files.lstat(self._folder / each) for each in self._subfolders}
        return {each: facts.modified_ns for each, facts in found.items() if facts is not None}

    def is_unchanged(self) -> bool:
        """Whether nothing changed as far as can be told without listing the files."""
        return self._marks is not None and self._marks == self._read_marks()

    @property
    def was_listed_recently(self) -> bool:
        """Whether the files were listed within the last `RELIST_SECONDS`."""
        return self._clock.monotonic() - self._listed_at < RELIST_SECONDS

    def force_relisting(self) -> None:
        """Have the files listed for the next question."""
        self._marks = None

    def accept_own_change(self) -> None:
        """Remember the times of the folders after a write of our own to a folder that was unchanged
        before. What another program wrote in the same moment is found by the thread.
        """
        self._marks = self._read_marks()

    def relist_in_thread(self, differs: Callable[[], bool]) -> None:
        """List the files in a thread, where folders alone were asked; what differs is read at the
        next listing.
        """
        if self._marks is None or self.was_listed_recently:
            return
        self.wait_for_relisting()
        self._listed_at = self._clock.monotonic()

        def check() -> None:
            with contextlib.suppress(StoreError, FileNotFoundError):
                if not differs():
                    return
            self.force_relisting()

        self._thread = start_thread_awaited_at_exit(check, name="memorist-relist")

    def wait_for_relisting(self) -> None:
        """Wait for the thread."""
        if self._thread is not None:
            self._thread.join()
