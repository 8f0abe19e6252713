"""The dream of a project: its memory with the sessions that may have changed it."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_changes import RecordedChange
from memorist.auto_memory.memory_index import MemoryUsage
from memorist.auto_memory.memory_location import resolve_project_memory_layout
from memorist.dream.dream import DreamExtension
from memorist.dream.past_session_evidence import PastSessionLocation
from memorist.errors import MemoristError
from memorist.runtime import Runtime, SessionContext
from memorist.store.memory_uses import sum_memory_uses
from memorist.store.session_rows import list_sessions


def build_dream_extension(memory: AutoMemory, context: SessionContext) -> DreamExtension:
    """Build the dream of a memory, either for the end of a session's turns or for a command."""
    runtime, where = context.runtime, memory.layout
    folders: dict[str, Path | None] = {}

    def past() -> list[PastSessionLocation]:
        rows = list_sessions(runtime.open_database())
        return [
            PastSessionLocation(id, Path(folder))
            for id, project, folder in rows
            if _memory_folder(project, runtime, folders) == where.folder
        ]

    def uses() -> dict[str, MemoryUsage]:
        try:
            found = sum_memory_uses(runtime.open_database(), str(where.folder))
        except MemoristError:
            return {}
        return {path: MemoryUsage(total.used, total.last) for path, total in found.items()}

    settings = replace(runtime.settings, auto_memory=memory.settings)
    return DreamExtension(
        replace(context, runtime=replace(runtime, settings=settings)),
        where,
        past_sessions=past,
        uses=uses,
    )


def find_newest_undoable_dream(memory: AutoMemory) -> RecordedChange | None:
    """The newest dream that is not taken back; one whose undo was undone stands again."""
    memory.headers()
    undone: set[str] = set()
    for each in memory.folder.history.list_changes():
        if each.id not in undone and each.undoes:
            undone.add(each.undoes)
        elif each.id not in undone and each.why.actor == "dream":
            return each
    return None


def _memory_folder(project: str, runtime: Runtime, known: dict[str, Path | None]) -> Path | None:
    """Return the memory folder of a project, cached in `known`."""
    if not project:
        return None
    if project not in known:
        settings = runtime.settings.auto_memory
        known[project] = resolve_project_memory_layout(runtime.layout, project, settings).folder
    return known[project]
