"""The memories in a home folder, and the database beside them: what a command works with that opens
no session, and what an engine opens for its sessions.
"""

from __future__ import annotations

from collections.abc import Iterator

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_folder import MemoryFolder
from memorist.auto_memory.memory_location import (
    list_memory_layouts_of_home,
    resolve_project_memory_layout,
)
from memorist.auto_memory.project_memory import open_memory
from memorist.core.bounded_collections import LruCache
from memorist.ports import Clock, FileSystem
from memorist.settings import Settings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout
from memorist.store.sqlite_database import (
    PAUSE_AFTER_BUSY_SECONDS,
    Connection,
    UnsavedDatabaseConnection,
    open_database,
)
from memorist.system import SystemClock


class ProjectMemoryOpener:
    """Opens the memories of projects, and the state database, when they are first asked for."""

    def __init__(
        self, settings: Settings, *, files: FileSystem | None = None, clock: Clock | None = None
    ) -> None:
        self.settings = settings
        self.layout = Layout.from_setting(settings.home)
        self._files = files or DiskFiles()
        self._clock = clock or SystemClock()
        self._memories = LruCache(AutoMemory.close)
        self.opened_database: Connection | None = None
        """None until it is first asked for."""
        self._database_due = 0.0
        """When a database that could not be written is tried again, by the monotonic clock."""

    def database(self) -> Connection:
        """The state database, opened on first use; where it cannot be written a copy in memory, and
        the file is tried again once in a minute. Raises StoreError.
        """
        now = self._clock.monotonic()
        unsaved = isinstance(self.opened_database, UnsavedDatabaseConnection)
        if self.opened_database is None or (unsaved and now >= self._database_due):
            # Sessions that are open keep the copy that they have.
            self.opened_database = open_database(self.layout.database, waits_once=True)
            self._database_due = now + PAUSE_AFTER_BUSY_SECONDS
        return self.opened_database

    def memory(self, project: str) -> AutoMemory:
        """The memory of a project, by any folder of its repository.

        Raises SettingsError for an unsafe `auto_memory.directory`.
        """
        where = resolve_project_memory_layout(self.layout, project, self.settings.auto_memory)
        return self._memories.get_or_create(
            str(where.folder),
            lambda: open_memory(
                self.layout,
                project,
                files=self._files,
                clock=self._clock,
                settings=self.settings.auto_memory,
                database=self.database,
            ),
        )

    def open_other_folders(self, memory: AutoMemory) -> Iterator[MemoryFolder]:
        """Open the memory folders of this home but the one of `memory`; the caller closes them."""
        for where in list_memory_layouts_of_home(self.layout, self.settings.auto_memory):
            if where.folder != memory.layout.folder:
                yield MemoryFolder(
                    where, files=self._files, clock=self._clock, settings=self.settings.auto_memory
                )

    def close(self) -> None:
        """Close every memory and the database. May be called twice."""
        for memory in self._memories:
            memory.close()
        self._memories.clear()
        if self.opened_database is not None:
            self.opened_database.close()
            self.opened_database = None
