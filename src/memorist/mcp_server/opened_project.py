"""A project that the server has open: its settings, memory, sessions and search."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path

from memorist.auto_memory.project_memory import open_memory
from memorist.config import load_settings
from memorist.mcp_server.memory_tools import MemoryToolDependencies, MemoryTools
from memorist.mcp_server.project_sessions import ProjectSessions
from memorist.recall.memory_search import open_memory_search
from memorist.recall.reachable_memory import ReachableMemory
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout
from memorist.store.sqlite_database import open_database
from memorist.system import SystemClock


class OpenedProject:
    """The open memory and sessions of one project."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self.root = root
        self.settings = load_settings(environment, project=root).settings
        self.layout = Layout(Path(self.settings.home).expanduser().absolute())
        self.files, self.clock = DiskFiles(), SystemClock()
        self._database: sqlite3.Connection | None = None
        settings = self.settings.auto_memory
        self.memory = open_memory(
            self.layout,
            str(root),
            files=self.files,
            clock=self.clock,
            settings=settings,
            database=self.database,
        )
        self.sessions = ProjectSessions(root, files=self.files, database=self.database)
        self.search = open_memory_search(self.memory, self.settings.recall)

    def database(self) -> sqlite3.Connection:
        """The state database. Raises StoreError."""
        if self._database is None:
            self._database = open_database(self.layout.database, waits_once=True)
        return self._database

    def memory_tools(self, client: str) -> MemoryTools:
        """The memory tools, for the client of that name."""
        reachable = ReachableMemory(self.memory)
        dependencies = MemoryToolDependencies(
            client=client,
            clock=self.clock,
            settings=self.settings.recall,
            search=self.search.search,
            find_quote=self.sessions.find_quote,
            record_uses=lambda uses: reachable.record_uses(self.database(), uses),
        )
        return MemoryTools(self.memory, dependencies)

    def close(self) -> None:
        """Close its files."""
        self.search.close()
        self.memory.close()
        if self._database is not None:
            self._database.close()
            self._database = None
