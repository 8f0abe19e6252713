"""The project that a client works in, and what the server has open of it: settings, memory,
sessions and search.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from memorist.auto_memory.memory_location import locate_project_root
from memorist.auto_memory.project_memory import open_memory
from memorist.errors import InputError
from memorist.mcp_server.memory_tools import MemoryToolDependencies, MemoryTools
from memorist.mcp_server.project_sessions import RecordedProjectSessions
from memorist.platforms.user_home import expand_user
from memorist.recall.memory_search import open_memory_search
from memorist.recall.reachable_memory import ReachableMemory
from memorist.settings import Settings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout
from memorist.store.sqlite_database import open_database
from memorist.system import SystemClock

# Which project a client works in: the configured one, else by its roots, else by the working
# folder.

PROJECT_HINT = "start the server with --project FOLDER"


MAX_ROOTS = 100
"""Roots that are considered; editors name a few."""


LOCAL_HOSTS = ("", "localhost", "127.0.0.1")


def parse_folder_uri(uri: str) -> Path | None:
    """Return the folder that a root's URI names on this machine; None for any other URI."""
    try:
        parts = urlsplit(uri)
        path = unquote(parts.path, errors="strict")
    except (ValueError, UnicodeDecodeError):
        return None
    if (
        parts.scheme.lower() != "file"
        or (parts.netloc or "").lower() not in LOCAL_HOSTS
        or "\0" in path
        or not path.startswith("/")
    ):
        return None
    try:
        return Path(path) if Path(path).is_dir() else None
    except (OSError, UnicodeEncodeError):
        return None


def find_project_from_roots(roots: Sequence[str], working_folder: Path) -> Path | None:
    """Return the project of a client that reports roots; None when it reports none.

    Of several projects the one of the working folder counts. Raises InputError when the project is
    ambiguous.
    """
    if not roots:
        return None
    found = sorted(
        {
            locate_project_root(folder)
            for root in roots[:MAX_ROOTS]
            if (folder := parse_folder_uri(root)) is not None
        }
    )
    own = locate_project_root(working_folder)
    if own in found:
        return own
    if len(found) != 1:
        what = (
            f"{len(found)} projects ({', '.join(map(str, found[:5]))})"
            if found
            else "no folder of this machine"
        )
        raise InputError(
            f"the client works in {what}, so it is not known whose memory is meant; {PROJECT_HINT}"
        )
    return found[0]


def find_project_from_working_folder(working_folder: Path) -> Path:
    """Return the project of the working folder.

    Raises InputError for `/` and the home folder, which any program may be started in.
    """
    root = locate_project_root(working_folder)
    if root in (Path("/"), Path(os.path.realpath(expand_user()))):
        raise InputError(
            f"the working folder {working_folder} is no project, so it is not known whose "
            f"memory is meant; {PROJECT_HINT}"
        )
    return root


def list_named_folders(
    folder: Path | None, roots: Sequence[str], working_folder: Path
) -> list[Path]:
    """The folders that a client works in: the configured one, else its roots on this machine, else
    the working folder.
    """
    if folder is not None:
        return [folder]
    found = (parse_folder_uri(root) for root in roots[:MAX_ROOTS])
    return [each for each in found if each is not None] or [working_folder]


def resolve_project(folder: Path | None, roots: Sequence[str], working_folder: Path) -> Path:
    """Return the root of the project: of the configured folder, by the client's roots, or of the
    working folder, in this order. Raises InputError.
    """
    if folder is not None:
        return locate_project_root(folder)
    return find_project_from_roots(roots, working_folder) or find_project_from_working_folder(
        working_folder
    )


class OpenedProject:
    """The open memory and sessions of one project."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self.root = root
        self.settings = settings
        self.layout = Layout.from_setting(self.settings.home)
        self.files, self.clock = DiskFiles(), SystemClock()
        self._database: sqlite3.Connection | None = None
        self.memory = open_memory(
            self.layout,
            str(root),
            files=self.files,
            clock=self.clock,
            settings=settings.auto_memory,
            database=self.database,
        )
        self.sessions = RecordedProjectSessions(root, files=self.files, database=self.database)
        self.search = open_memory_search(self.memory, self.settings.recall)

    def has_settings(self, settings: Settings) -> bool:
        """Whether it was opened with the same settings, of those that the tools follow."""
        return all(
            getattr(self.settings, part) == getattr(settings, part)
            for part in ("home", "auto_memory", "recall")
        )

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
