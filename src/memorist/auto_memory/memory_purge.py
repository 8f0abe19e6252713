"""Forget memories for good: every copy of their words, in every file of the home (AM-10)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.home_memories import ProjectMemoryOpener
from memorist.auto_memory.memory_manifest import is_index_file
from memorist.auto_memory.purge_journal import PendingPurge, build_pending_purge
from memorist.errors import InputError
from memorist.store.home_layout import Layout
from memorist.store.memory_uses import purge_memory_traces
from memorist.store.text_removal import (
    TextRemovalResult,
    mask_long_texts_in_bytes,
    remove_text_copies,
)

_TELLING_NAME_WORDS = 3
"""Words of a memory's file name from which on it is hardly in a text for another reason. Our
choice.
"""


def purge_memories(
    home: ProjectMemoryOpener, memory: AutoMemory, paths: Sequence[str]
) -> tuple[int, TextRemovalResult, list[str]]:
    """Remove every copy of these memories. Returns the changes of the history that held them, what
    became of other copies of their words, and the sessions that they came from.

    What is to be forgotten is noted until it is: a command that was killed at any step is finished
    by giving it again.

    Raises InputError for a path that neither the folder nor its history has.
    """
    entries = _add_to_purge_journal(memory, paths)
    named = [entry.path for entry in entries]
    words = [text for entry in entries for text in entry.texts]
    folder, journal = memory.layout.folder, memory.purge_journal
    own = {journal.path, *(folder / path for path in named)}
    # Paths stay in the indexes, which are made anew by them.
    texts = [text for text in words if text not in named]
    names = [text for path in named for text in _list_texts_naming(path)]

    def names_this_memory(path: Path) -> bool:
        return path not in own and _is_read_by_memory(path, folder, home.layout)

    elsewhere = remove_text_copies(
        home.layout, texts, among=lambda path: path not in own and not path.is_relative_to(folder)
    )
    naming = remove_text_copies(
        home.layout,
        names,
        among=lambda path: names_this_memory(path) and not path.is_relative_to(folder),
    )
    removed_elsewhere = remove_text_copies(
        home.layout, texts, among=lambda path: path not in own and path.is_relative_to(folder)
    )

    def mask(data: bytes) -> bytes:
        return mask_long_texts_in_bytes(data, texts)

    purge_memory_traces(home.database(), str(folder), named, mask)
    changes = memory.purge(named, mask) + _purge_moved_memories(home, memory, named, mask)
    after = (
        remove_text_copies(home.layout, texts, among=lambda path: path != journal.path),
        remove_text_copies(home.layout, names, among=names_this_memory),
    )
    journal.remove(named)
    found = (elsewhere, naming, removed_elsewhere, *after)
    removal = TextRemovalResult(
        cleaned=tuple(dict.fromkeys(path for each in found for path in each.cleaned)),
        deleted=tuple(dict.fromkeys(path for each in found for path in each.deleted)),
        remaining=tuple(dict.fromkeys(path for each in after for path in each.remaining)),
    )
    sessions = sorted({session for entry in entries for session in entry.sessions})
    return changes, removal, sessions


def _add_to_purge_journal(memory: AutoMemory, paths: Sequence[str]) -> tuple[PendingPurge, ...]:
    """Note what is to be forgotten for good, so that a killed command can be finished; returns it
    with what an unfinished one noted.

    A path that the folder no longer has is looked up in the history. Raises InputError when neither
    has it.
    """
    journal = memory.purge_journal
    known = {head.path for head in memory.headers()}.union(
        *(recorded.paths for recorded in memory.folder.history.iter_changes()),
        (each.path for each in journal.load()),
    )
    missing = [path for path in paths if path not in known or is_index_file(path)]
    if missing:
        raise InputError(
            f"neither the folder nor its history has {missing[0]}; `memorist memory list` and "
            f"`log` show what there is"
        )
    return journal.merge_with_unfinished(
        build_pending_purge(path, memory.read_memory_versions(path)) for path in paths
    )


def _purge_moved_memories(
    home: ProjectMemoryOpener,
    memory: AutoMemory,
    paths: Sequence[str],
    mask: Callable[[bytes], bytes],
) -> int:
    """Remove the words from the histories of other memory folders: the memory may have stood there
    before it was moved. Returns the number of changes that contained one of the paths.
    """
    changes = 0
    for folder in home.open_other_folders(memory):
        with contextlib.closing(folder):
            if any(mask(data) != data for data in folder.history.iter_raw_objects()):
                present = {head.path for head in folder.headers()}
                moved = [
                    path
                    for path in paths
                    if path not in present
                    and any(
                        mask(data) != data
                        for change in folder.history.list_changes(path)
                        if (data := folder.history.read_file(path, change.id)) is not None
                    )
                ]
                changes += folder.purge(moved, mask)
    return changes


def _list_texts_naming(path: str) -> list[str]:
    """By what a text names the memory: its path, where that says much; of `contributing.md`, which
    is in many texts about another file, a link to it, and the path as a value.
    """
    if len(path.removesuffix(".md").replace("_", "-").split("-")) >= _TELLING_NAME_WORDS:
        return [path]
    return [f"]({path})", f'"{path}"']


def _is_read_by_memory(path: Path, folder: Path, layout: Layout) -> bool:
    """Whether a file may name a memory of this folder: none of another memory folder, which may
    have one of the same path, and none of another project unless the memory holds in all.
    """
    if path.is_relative_to(folder):
        return True
    if "memory" in path.relative_to(layout.home).parts:
        return False
    project = folder.parent
    return (
        project.parent != layout.projects
        or path.is_relative_to(project)
        or not path.is_relative_to(layout.projects)
    )
