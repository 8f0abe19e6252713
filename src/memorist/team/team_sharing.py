"""Sharing memories of one's own with the team: which may be shared, and moving them to the team's
folder (TM-1).
"""

from __future__ import annotations

from collections.abc import Sequence

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange, render_change_headline
from memorist.auto_memory.memory_file import MemoryKind, parse_memory_file
from memorist.auto_memory.team_memory import (
    TEAM_PREFIX,
    find_kind_sharing_problem,
    get_kind_sharing_scope,
    is_team_path,
)
from memorist.auto_memory.write_result import WriteResult
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.errors import InputError
from memorist.team.shared_memory_form import find_sharing_problem


def move_memories_to_team(
    memory: AutoMemory, paths: Sequence[str], *, convention: bool, limit: int
) -> WriteResult:
    """Move the user's memories to the team's folder; they are sent with the next push.

    `convention`: feedback among them holds for everybody in the project. `limit`: bytes that a
    memory may have. Raises InputError for one that is not to be shared; then nothing is moved.
    """
    changes: list[MemoryChange] = []
    for path in paths:
        topic = memory.folder.read_memory_file(path)
        data = encode_file_text_as_utf8(topic.text())
        problem = _find_own_problem(
            path, topic.kind, convention=convention
        ) or find_sharing_problem(data, limit=limit)
        if problem:
            raise InputError(f"{path} is not shared: {problem}")
        if not _is_there(memory, TEAM_PREFIX + path, data):
            changes.append(MemoryChange(path=TEAM_PREFIX + path, before=None, after=data))
        changes.append(MemoryChange(path=path, before=data, after=None))
    headline = render_change_headline("share", ", ".join(paths))
    return memory.write(changes, ChangeReason(actor="user", what=headline))


def _is_there(memory: AutoMemory, path: str, data: bytes) -> bool:
    """Whether the team's memory of this name says the same, as after a kill in between."""
    present = memory.folder.read_present_bytes(path)
    return (
        present is not None
        and parse_memory_file(path, present).body == parse_memory_file(path, data).body
    )


def _find_own_problem(path: str, kind: MemoryKind | None, *, convention: bool) -> str:
    if is_team_path(path):
        return "it is the team's already"
    if kind is None:
        return (
            "it does not say what kind it is; add a `type` to its header with `memorist "
            "memory edit`"
        )
    if get_kind_sharing_scope(kind) == "either" and not convention:
        return (
            "feedback is yours alone; say --convention where it holds for everybody in the project"
        )
    return find_kind_sharing_problem(kind)
