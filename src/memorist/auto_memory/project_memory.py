"""Opening the memory of a project, with what holds in every project of the user and the usage
ledger of recall.
"""

from __future__ import annotations

from collections.abc import Callable

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_location import locate_memory, record_project
from memorist.auto_memory.project_files import ProjectFiles
from memorist.auto_memory.user_memory import make_usage_source, open_user_memory
from memorist.ports import Clock, FileSystem
from memorist.settings import AutoMemorySettings
from memorist.store.database import Connection
from memorist.store.home_layout import Layout


def open_memory(
    layout: Layout,
    project: str,
    *,
    files: FileSystem,
    clock: Clock,
    settings: AutoMemorySettings,
    database: Callable[[], Connection],
) -> AutoMemory:
    """Open the memory of a project, with what holds in every project of the user; the database is
    opened when usage is first read. Raises SettingsError for an unsafe folder.
    """
    location = locate_memory(layout, project, settings)
    memory = AutoMemory(
        location,
        files=files,
        clock=clock,
        settings=settings,
        usage_source=make_usage_source(location, database),
        check_owner=lambda: record_project(files, location, project),
    )
    memory.project_files = ProjectFiles(project)
    memory.everywhere = open_user_memory(
        layout, files=files, clock=clock, settings=settings, database=database
    )
    return memory
