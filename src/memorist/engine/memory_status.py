"""What is remembered in a project: memories by origin, what waits, and what was shown last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_file import Trust
from memorist.core.utc_time import format_utc_minute
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout
from memorist.store.memory_uses import find_newest_shown_memory_use
from memorist.store.session_memory_mode import read_memory_off_sessions
from memorist.store.sqlite_database import Connection

ORIGINS: Mapping[Trust, str] = {
    Trust.STATED: "stated by you",
    Trust.REVIEWED: "written or accepted by you",
    Trust.DERIVED: "concluded by a model",
    Trust.IMPORTED: "imported",
    Trust.TEAM: "of the team",
    Trust.OUTSIDE: "from outside",
    Trust.UNKNOWN: "of unknown origin",
}


class ProjectMemoryStatus(Struct, frozen=True, kw_only=True):
    """What is known here, what waits, who takes part, and what was shown last."""

    folder: str
    origins: dict[str, int]
    """Number of memories by origin, the most trusted first."""
    everywhere: int
    """Number of memories that hold in every project of the user."""
    waiting: int
    off_sessions: int
    """Number of sessions whose user turned memory off."""
    joined: tuple[str, ...]
    """Titles of the agents whose settings hold memorist."""
    last_shown: str = ""
    """The memory that a session was shown last, and when; empty for none."""


def read_memory_status(
    layout: Layout, memory: AutoMemory, database: Connection | None, joined: tuple[str, ...] = ()
) -> ProjectMemoryStatus:
    """Read the status of a project's memory; nothing is created. `joined` are the titles of the
    agents, which the caller knows. Raises StoreError.
    """
    folder = str(memory.layout.folder)
    counted = Counter(head.trust for head in memory.headers()) if memory.folder.exists else {}
    user = memory.everywhere
    use = None if database is None else find_newest_shown_memory_use(database, folder)
    return ProjectMemoryStatus(
        folder=folder,
        origins={name: counted[trust] for trust, name in ORIGINS.items() if counted.get(trust)},
        everywhere=len(user.headers()) if user is not None and user.folder.exists else 0,
        waiting=len(memory.list_proposals()),
        off_sessions=len(read_memory_off_sessions(DiskFiles(), layout)),
        joined=joined,
        last_shown="" if use is None else f"{use.path} on {format_utc_minute(use.at)} UTC",
    )
