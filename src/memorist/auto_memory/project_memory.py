"""Opening the memory of a project, with what holds in every project of the user and the usage
ledger of recall.
"""

from __future__ import annotations

from collections.abc import Callable

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.folder_indexes import UsageSource
from memorist.auto_memory.memory_index import MemoryUsage
from memorist.auto_memory.memory_location import record_project, resolve_project_memory_layout
from memorist.auto_memory.project_anchors import ProjectAnchorChecker
from memorist.ports import Clock, FileSystem
from memorist.settings import AutoMemorySettings
from memorist.store.home_layout import Layout, MemoryLayout
from memorist.store.memory_uses import sum_memory_uses
from memorist.store.sqlite_database import Connection


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
    location = resolve_project_memory_layout(layout, project, settings)
    memory = AutoMemory(
        location,
        files=files,
        clock=clock,
        settings=settings,
        usage_source=build_usage_reader(location, database),
        check_owner=lambda: record_project(files, location, project),
    )
    memory.project_files = ProjectAnchorChecker(project)
    memory.everywhere = open_user_memory(
        layout, files=files, clock=clock, settings=settings, database=database
    )
    return memory


def open_user_memory(
    layout: Layout,
    *,
    files: FileSystem,
    clock: Clock,
    settings: AutoMemorySettings,
    database: Callable[[], Connection],
) -> AutoMemory | None:
    """Open what holds in every project of the user; None where `auto_memory.everywhere` is off."""
    if not settings.everywhere:
        return None
    memory_layout = layout.user_memory_layout
    return AutoMemory(
        memory_layout,
        files=files,
        clock=clock,
        settings=settings,
        usage_source=build_usage_reader(memory_layout, database),
    )


def build_usage_reader(layout: MemoryLayout, database: Callable[[], Connection]) -> UsageSource:
    """How often each memory of a folder was used, read from the database when it is asked. One that
    was only shown counts as unused, and is not in it: a prompt shows five, and few are ever used.
    """

    def used() -> dict[str, MemoryUsage]:
        return {
            path: MemoryUsage(total.used, total.last)
            for path, total in sum_memory_uses(database(), str(layout.folder)).items()
            if total.used
        }

    return used
