"""The last accepted state of the memory folder: it decides whether there is work, and what the user
changed (RO-5).

A bare Git repository next to the folder with a single commit. Accepting a state recreates the
repository, so that no removed text stays anywhere in it.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from memorist.auto_memory.changes import Why
from memorist.auto_memory.history.run import History
from memorist.errors import StoreError
from memorist.store.files import make_folders, refusal
from memorist.store.folders import aside, replace_folder, settle_folder


class Baseline:
    """The state kept at one path.

    Callers hold the lock of the folder. Every method raises StoreError if the disk refuses.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = ""
        """Why the existing state could not be used; empty if it could."""

    def files(self) -> dict[str, bytes]:
        """Return the accepted files by path; empty if nothing was accepted.

        A damaged state is deleted: it holds nothing that the folder does not, and may contain text
        that the user had removed.
        """
        settle_folder(self.path)
        history = History(self.path)
        try:
            newest = history.log(limit=1)
            names = history.files() if newest else {}
            found = {name: history.data(name, newest[0].id) for name in names}
        except StoreError as error:
            if isinstance(error.__cause__, OSError):
                raise
            return self._damaged(history, str(error))
        finally:
            history.close()
        if any(data is None for data in found.values()) or (not newest and self.path.exists()):
            return self._damaged(history, "a part of it is missing")
        return {name: data for name, data in found.items() if data is not None}

    def _damaged(self, history: History, why: str) -> dict[str, bytes]:
        history.close()
        self.clear()
        told = why.partition(";")[0]
        self.damaged = f"the last accepted state was damaged and is made anew ({told}); changes by hand since then could not be told apart"
        return {}

    def accept(self, files: Mapping[str, bytes], at: float) -> None:
        """Make this the accepted state; `at` in seconds since the epoch.

        Atomic: a kill leaves the old state or the new one.
        """
        if not files:
            self.clear()
            return
        settle_folder(self.path)
        make_folders(self.path.parent)
        fresh = History(aside(self.path))
        try:
            fresh.record(files, Why(actor="memorist", what="accepted"), at)
        finally:
            fresh.close()
        replace_folder(self.path)

    def clear(self) -> None:
        """Remove the state."""
        settle_folder(self.path)
        try:
            if self.path.exists():
                shutil.rmtree(self.path)
        except OSError as error:
            raise refusal("delete", self.path, error) from error
