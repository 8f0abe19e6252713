"""The memories that dreams took out of a folder, which its history still has. Pure but for what the
memory reads.
"""

from __future__ import annotations

from msgspec import Struct

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_manifest import INDEX_NAME


class MemoryRemovedByDream(Struct, frozen=True, kw_only=True):
    """A memory as it was before a dream took it out."""

    path: str
    change: str
    """Id of the change that took it out, which `AutoMemory.undo` takes back."""
    at: float
    """Seconds since the epoch, UTC."""
    text: str


def list_memories_removed_by_dreams(memory: AutoMemory) -> tuple[MemoryRemovedByDream, ...]:
    """List the memories that dreams took out and that are not there now, as `RecordedChange`s are
    listed: by the last dream that took each out. Raises StoreError.
    """
    present = {head.path for head in memory.headers()}
    history = memory.folder.history
    found: dict[str, MemoryRemovedByDream] = {}
    for each in history.list_changes():
        for path in each.paths:
            archived = (
                each.why.actor == "dream"
                and path not in present
                and path not in found
                and path != INDEX_NAME
            )
            if archived and history.read_file(path, each.id) is None:
                data = history.read_file(path, history.find_parent_id(each.id)) or b""
                found[path] = MemoryRemovedByDream(
                    path=path, change=each.id, at=each.at, text=data.decode("utf-8", "replace")
                )
    return tuple(found.values())
