"""Open a project's memory together with the usage ledger of recall."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from memorist.auto_memory.index import Uses
from memorist.auto_memory.place.run import remember_project
from memorist.auto_memory.run import AutoMemory
from memorist.auto_memory.settings import AutoMemorySettings
from memorist.ports import Clock, Files
from memorist.store.layout import MemoryLayout
from memorist.store.uses import totals


def open_memory(
    where: MemoryLayout,
    project: str,
    *,
    files: Files,
    clock: Clock,
    settings: AutoMemorySettings,
    database: Callable[[], sqlite3.Connection],
) -> AutoMemory:
    """Open the memory at `layout`, which belongs to `project`; the database is opened when usage is
    first read.
    """

    def used() -> dict[str, Uses]:
        return {path: Uses(total.used, total.last) for path, total in totals(database(), str(where.folder)).items()}

    return AutoMemory(where, files=files, clock=clock, settings=settings, used=used, owner=lambda: remember_project(files, where, project))
