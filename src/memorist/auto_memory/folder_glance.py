"""A glance at a memory folder of many files: whether it is as it was when each file was looked at.

A look at each of ten thousand files takes longer than a prompt may wait. New, removed and replaced
files change the time of their folder; a file that was changed in place does not, so a thread looks
at each of them after the prompt was answered, and whoever reads single files asks about those.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from memorist.errors import StoreError
from memorist.ports import Clock, FileInfo, FileSystem

MIN_GLANCE_FILES = 500
"""Files from which a glance stands in for a look at each: fewer take some two milliseconds."""
SECOND_LOOK_SECONDS = 5.0
"""Shortest time between two looks at each file in the thread: prompts in quick succession share
one.
"""


class FolderGlance:
    """What is known since the last look at each file. Used from one thread, but for the thread of
    its own.
    """

    def __init__(self, files: FileSystem, folder: Path, clock: Clock) -> None:
        self._files = files
        self._folder = folder
        self._clock = clock
        self._looked_at = -SECOND_LOOK_SECONDS
        self._subfolders: frozenset[str] = frozenset(("",))
        self._marks: Mapping[str, int] | None = None
        """Modification time of each folder before the last look; None where it cannot be told by
        them whether something changed.
        """
        self._thread: threading.Thread | None = None

    def look(
        self, list_entries: Callable[[], list[tuple[str, FileInfo]]]
    ) -> list[tuple[str, FileInfo]]:
        """Look at each file by `list_entries`, and remember the times of their folders."""
        marks = self._read_marks()
        entries = list_entries()
        self._looked_at = self._clock.monotonic()
        folders = frozenset(
            parent + slash for parent, slash, _ in (path.rpartition("/") for path, _ in entries)
        ) | {""}
        enough = len(entries) >= MIN_GLANCE_FILES and folders == self._subfolders
        self._subfolders = folders
        self._marks = marks if enough else None
        return entries

    def _read_marks(self) -> Mapping[str, int]:
        found = {each: self._files.facts(self._folder / each) for each in self._subfolders}
        return {each: facts.modified_ns for each, facts in found.items() if facts is not None}

    def is_unchanged(self) -> bool:
        """Whether nothing changed as far as can be told without a look at each file."""
        return self._marks is not None and self._marks == self._read_marks()

    @property
    def is_recent(self) -> bool:
        """Whether each file was looked at within the last `SECOND_LOOK_SECONDS`."""
        return self._clock.monotonic() - self._looked_at < SECOND_LOOK_SECONDS

    def forget(self) -> None:
        """Have the next question answered by a look at each file."""
        self._marks = None

    def accept_own_change(self) -> None:
        """Remember the times of the folders after a write of our own to a folder that was unchanged
        before. What another program wrote in the same moment is met by the look in the thread.
        """
        self._marks = self._read_marks()

    def check_later(self, differs: Callable[[], bool]) -> None:
        """Look at each file in a thread, after a glance; what differs is read at the next look."""
        if self._marks is None or self.is_recent:
            return
        self.wait()
        self._looked_at = self._clock.monotonic()

        def check() -> None:
            with contextlib.suppress(StoreError, FileNotFoundError):
                if not differs():
                    return
            self.forget()

        self._thread = threading.Thread(target=check, name="memorist-second-look", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait for the thread."""
        if self._thread is not None:
            self._thread.join()
