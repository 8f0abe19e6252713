"""Taking back a change of the memory folder: which one, and what it would write."""

from __future__ import annotations

from collections.abc import Callable

from memorist.auto_memory.memory_changes import MemoryChange, RecordedChange
from memorist.auto_memory.memory_history import FolderHistory
from memorist.auto_memory.memory_manifest import is_index_file
from memorist.errors import NothingToDo, WriteConflict
from memorist.safety.secrets import redact_bytes


def find_change_to_undo(history: FolderHistory, id_prefix: str = "") -> RecordedChange:
    """The newest change that is not undone yet, or the one whose id has this prefix.

    Raises NothingToDo when there is none, InputError for an unknown prefix.
    """
    if id_prefix:
        return history.find_change(id_prefix)
    undone: set[str] = set()
    for each in history.iter_changes():
        if each.undoes and each.id not in undone:
            undone.add(each.undoes)
        elif not each.undoes and each.id not in undone and not all(map(is_index_file, each.paths)):
            return each
    raise NothingToDo("there is no change of memory to take back")


def plan_memory_undo(
    history: FolderHistory,
    recorded: RecordedChange,
    read_present_bytes: Callable[[str], bytes | None],
) -> list[MemoryChange]:
    """The changes that give each file of a recorded change what it held before.

    `read_present_bytes` returns what a path holds now, None for no file. Raises WriteConflict when
    a file was changed again since.
    """
    before = history.find_parent_id(recorded.id)
    changes = []
    for path in recorded.paths:
        if is_index_file(path):
            continue
        now, then = read_present_bytes(path), history.read_file(path, recorded.id)
        if (now and redact_bytes(now)) != then:
            raise WriteConflict(
                f"{path} was changed again since; undo the later change first, or edit the file"
            )
        former = history.read_file(path, before) if before else None
        changes.append(MemoryChange(path=path, before=now, after=former))
    return changes
