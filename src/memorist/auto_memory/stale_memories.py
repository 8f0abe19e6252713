"""Memories of files and commands that changed since: which they are, and that one still holds. A
change only means that somebody should look.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.anchors import AnchorChanges, read_memory_anchors, replace_anchors
from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange, build_memory_change
from memorist.auto_memory.memory_file import MemoryFile, with_provenance
from memorist.auto_memory.write_result import WriteResult
from memorist.core.utc_time import format_utc_timestamp


class MemoryWithChangedAnchors(Struct, frozen=True):
    """A memory of which something that it names changed."""

    path: str
    name: str
    since: str
    """The day it was last verified or written, ISO 8601."""
    changes: AnchorChanges


def find_memories_with_changed_anchors(
    memory: AutoMemory, topics: Iterable[MemoryFile] | None = None
) -> list[MemoryWithChangedAnchors]:
    """The memories whose anchors changed or are gone, by path; of `topics` where they were read
    already. Raises StoreError.
    """
    found: list[MemoryWithChangedAnchors] = []
    for topic in memory.read_memory_files() if topics is None else topics:
        changes = memory.project_files.compare(read_memory_anchors(topic))
        if changes.is_stale:
            found.append(
                MemoryWithChangedAnchors(topic.path, topic.name, topic.verified_day, changes)
            )
    return sorted(found, key=lambda each: each.path)


def confirm_memories_still_hold(
    memory: AutoMemory, paths: Sequence[str], now: float
) -> WriteResult:
    """Say for the user that these memories hold as the project is now: their anchors are taken
    again. Raises InputError for a path that is no memory's, StoreError.
    """
    changes: list[MemoryChange] = []
    for path in paths:
        topic = memory.folder.read_memory_file(path)
        trust = memory.folder.determine_trust(topic)
        verified = replace(topic.provenance, verified=format_utc_timestamp(now), trust=trust)
        text = f"{topic.name}\n{topic.description}\n{topic.body}"
        confirmed = replace_anchors(
            with_provenance(topic, verified), memory.project_files.find_anchors(text)
        )
        changes.append(build_memory_change(topic, confirmed))
    what = f"still holds: {', '.join(paths)}"[:200]
    return memory.write(changes, ChangeReason(actor="user", what=what), is_reviewed=False)
