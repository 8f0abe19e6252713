"""The last accepted state of the memory folder: it decides whether there is work, and what the
user changed (RO-5).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from memorist.auto_memory.memory_changes import ChangeReason
from memorist.auto_memory.memory_history import FolderHistory
from memorist.errors import StoreError
from memorist.store.disk_files import (
    finish_or_undo_folder_replacement,
    make_folder_staging_path,
    make_folders,
    raise_os_errors_as_store_errors,
    swap_in_staged_folder,
)


class AcceptedFolderState:
    """The state kept at one path.

    Callers hold the lock of the folder. Every method raises StoreError if the disk refuses.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = ""
        """Why the existing state could not be used; empty if it could."""

    def read_files(self) -> dict[str, bytes]:
        """Return the accepted files by path; empty if nothing was accepted.

        A damaged state is deleted: it holds nothing that the folder does not, and may contain text
        that the user had removed.
        """
        finish_or_undo_folder_replacement(self.path)
        history = FolderHistory(self.path)
        try:
            newest = history.list_changes(limit=1)
            names = history.map_paths_to_blob_ids() if newest else {}
            found = {name: history.read_file(name, newest[0].id) for name in names}
        except StoreError as error:
            if isinstance(error.__cause__, OSError):
                raise
            return self._report_damage(history, str(error))
        finally:
            history.close()
        if any(data is None for data in found.values()) or (not newest and self.path.exists()):
            return self._report_damage(history, "a part of it is missing")
        return {name: data for name, data in found.items() if data is not None}

    def _report_damage(self, history: FolderHistory, why: str) -> dict[str, bytes]:
        history.close()
        self.remove()
        damage = why.partition(";")[0]
        self.damaged = (
            f"the last accepted state was damaged and is rebuilt ({damage}); changes by "
            f"hand since then could not be told apart"
        )
        return {}

    def save_accepted_files(self, files: Mapping[str, bytes], at: float) -> None:
        """Make this the accepted state; `at` in seconds since the epoch.

        Atomic: a kill leaves the old state or the new one.
        """
        if not files:
            self.remove()
            return
        finish_or_undo_folder_replacement(self.path)
        make_folders(self.path.parent)
        fresh = FolderHistory(make_folder_staging_path(self.path))
        try:
            fresh.record_change(files, ChangeReason(actor="memorist", what="accepted"), at)
        finally:
            fresh.close()
        swap_in_staged_folder(self.path)

    def remove(self) -> None:
        """Remove the state."""
        finish_or_undo_folder_replacement(self.path)
        with raise_os_errors_as_store_errors("delete", self.path):
            if self.path.exists():
                shutil.rmtree(self.path)
