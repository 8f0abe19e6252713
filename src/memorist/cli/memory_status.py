"""What `memorist status` says of the memory of the project in the working folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from memorist.auto_memory.memory_file import Trust
from memorist.cli.install_command import build_settings_scope
from memorist.cli.memory.memory_commands import open_project_memory
from memorist.core.utc_time import format_utc_minute
from memorist.hooks.agent_programs import find_joined_agents
from memorist.store.database import Connection
from memorist.store.memory_uses import find_last_use

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


def read_memory_status(database: Connection | None) -> ProjectMemoryStatus:
    """Read the status; nothing is created. Raises StoreError."""
    with open_project_memory() as (engine, memory):
        off_sessions = len(engine.memory_off_sessions())
        folder = str(memory.layout.folder)
        counted = Counter(head.trust for head in memory.headers()) if memory.folder.exists else {}
        waiting = len(memory.list_proposals())
        user = memory.everywhere
        everywhere = len(user.headers()) if user is not None and user.folder.exists else 0
    use = None if database is None else find_last_use(database, folder)
    return ProjectMemoryStatus(
        folder=folder,
        origins={name: counted[trust] for trust, name in ORIGINS.items() if counted.get(trust)},
        everywhere=everywhere,
        waiting=waiting,
        off_sessions=off_sessions,
        joined=tuple(agent.title for agent in find_joined_agents(build_settings_scope(user=True))),
        last_shown="" if use is None else f"{use.path} on {format_utc_minute(use.at)} UTC",
    )


def render_memory_status(status: ProjectMemoryStatus) -> Sequence[str]:
    """Render the status as lines."""
    kinds = ", ".join(f"{count:,} {name}" for name, count in status.origins.items())
    lines = [
        f"Memories here: {kinds or 'none yet'}",
        f"Joined agents: {', '.join(status.joined) or 'none yet: memorist setup'}",
    ]
    if status.everywhere:
        lines.insert(1, f"Of you, in every project: {status.everywhere:,}")
    if status.off_sessions:
        lines.append(f"Sessions without memory: {status.off_sessions:,}, at their user's word")
    if status.waiting:
        lines.insert(1, f"Waiting for you: {status.waiting:,} (memorist memory inbox)")
    if status.last_shown:
        lines.append(f"Last shown: {status.last_shown}")
    return [*lines, ""]
