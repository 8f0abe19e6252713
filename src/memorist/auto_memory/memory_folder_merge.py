"""Joining a project's memory into another folder that has memories of its own: memories, lines that
the user wrote into the index, what waits in the inbox, and what is kept beside them (AM-4).

Every step may be repeated after the process was killed at any other.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from memorist.auto_memory.inbox import DecisionDigests
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange, find_memory_path_problem
from memorist.auto_memory.memory_file import parse_memory_file
from memorist.auto_memory.memory_folder import FORMER_HISTORY, MemoryFolder
from memorist.auto_memory.memory_index import copy_user_written_index_lines
from memorist.auto_memory.memory_manifest import INDEX_NAME, describe_excess_memory_file_size
from memorist.auto_memory.purge_journal import PurgeJournal
from memorist.auto_memory.team_memory import TEAM_INDEX_PATH
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.ports import Clock, FileSystem
from memorist.settings import AutoMemorySettings
from memorist.store.disk_files import convert_os_error_to_store_error, make_folders, read_if_exists
from memorist.store.home_layout import MemoryLayout


def move_memories_into_other_folder(
    files: FileSystem,
    source: MemoryLayout,
    target: MemoryLayout,
    reason: ChangeReason,
    *,
    clock: Clock,
    settings: AutoMemorySettings,
) -> None:
    """Move all that is known in one place to another; what was the user's word stays so.

    A memory whose name is used there for something else gets another name. The history of the old
    place is kept beside the new one's. Raises StoreError, InputError.
    """
    old, new = (
        MemoryFolder(layout, files=files, clock=clock, settings=settings)
        for layout in (source, target)
    )
    try:
        names = _choose_names(old, new)
        _write_trusted(old, new, names, reason)
        _join_index_lines(files, old, new)
        _join_files(source.folder, target.folder, names)
        _join_state(files, source, target)
    except OSError as error:
        raise convert_os_error_to_store_error("move", source.folder, error) from error
    finally:
        old.close()
        new.close()


_INDEXES = (INDEX_NAME, TEAM_INDEX_PATH)


def _choose_names(old: MemoryFolder, new: MemoryFolder) -> dict[str, str]:
    """By path in the old folder, the path in the new one: the same where that is free or says the
    same, else numbered.
    """
    source, target = old.layout.folder, new.layout.folder
    believed = {
        path
        for path, header in new.headers_by_path().items()
        if not new.has_untrusted_origin(path) and not describe_excess_memory_file_size(header.size)
    }
    used = {path.casefold(): path for path in _list_files(target)}
    names: dict[str, str] = {}
    for path in _list_files(source):
        if path in _INDEXES:
            continue
        chosen, number = path, 1
        while (there := used.get(chosen.casefold())) and not (
            _is_same_file(source / path, target / there)
            or (there in believed and _says_the_same(source / path, target / there))
        ):
            number += 1
            chosen = _number_name(path, number)
        names[path] = used.setdefault(chosen.casefold(), chosen)
    return names


def _list_files(folder: Path) -> list[str]:
    """Paths of all files and links, also hidden ones, sorted."""
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_symlink() or not path.is_dir()
    )


def _is_same_file(path: Path, other: Path) -> bool:
    return (
        path.is_file()
        and other.is_file()
        and not (path.is_symlink() or other.is_symlink())
        and path.read_bytes() == other.read_bytes()
    )


def _number_name(path: str, number: int) -> str:
    plain = Path(path)
    return plain.with_name(f"{plain.stem}-{number}{plain.suffix}").as_posix()


def _find_free_file(folder: Path, name: str) -> Path:
    path, number = folder / name, 1
    while path.exists():
        number += 1
        path = folder / _number_name(name, number)
    return path


def _is_known(path: Path, there: Path) -> bool:
    return there.exists() and (_is_same_file(path, there) or _says_the_same(path, there))


def _says_the_same(path: Path, other: Path) -> bool:
    """Whether two memories have the same words, though said at different times."""
    first, second = (parse_memory_file(each.name, each.read_bytes()) for each in (path, other))
    return bool(first.body.strip()) and (first.kind, first.body) == (second.kind, second.body)


def _write_trusted(
    old: MemoryFolder, new: MemoryFolder, names: dict[str, str], reason: ChangeReason
) -> None:
    """Write the memories whose origin the old place vouches for as one change of the new one's
    history; what another program put there is moved as a file and stays of unknown origin.
    """
    there = frozenset(path for path, _ in new.list_entries())
    changes = [
        MemoryChange(path=names[path], before=None, after=(old.layout.folder / path).read_bytes())
        for path, header in old.headers_by_path().items()
        if path in names
        and names[path] not in there
        and not old.has_untrusted_origin(path)
        and not find_memory_path_problem(names[path], there)
        and not describe_excess_memory_file_size(header.size)
    ]
    if changes:
        new.apply_changes(changes, reason)


def _join_index_lines(files: FileSystem, old: MemoryFolder, new: MemoryFolder) -> None:
    """Keep what the user wrote into the old index."""
    present = new.indexes.read_text()
    joined = copy_user_written_index_lines(present, old.indexes.read_text())
    if joined != present:
        files.write(new.layout.index, encode_file_text_as_utf8(joined))


def _join_files(source: Path, target: Path, names: dict[str, str]) -> None:
    """Move the files of the old folder, and remove it. What the new one has already is no loss."""
    for path in sorted(source.rglob("*"), reverse=True):
        # Another process may have written in either folder since the names were chosen.
        name = path.relative_to(source).as_posix()
        chosen = names.get(name, name)
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        elif name in _INDEXES or _is_known(path, target / chosen):
            path.unlink()
        else:
            make_folders((target / chosen).parent)
            path.rename(_find_free_file(target, chosen))
    if source.exists():
        source.rmdir()


_NOT_MOVED = ("lock", "purge.lock", "project.json", "scan.json", "scan-changes.json")
"""What belongs to the old place, or is made anew from the files."""


def _join_state(files: FileSystem, source: MemoryLayout, target: MemoryLayout) -> None:
    """Move what waits, what was accepted, and all else that the new place has none of."""
    if not source.state.exists():
        return
    for path in source.inbox.glob("*"):
        _move_unless_there(path, target.inbox / path.name)
    for path in source.dream_state.rglob("*.md"):
        _join_lines(files, path, target.dream_state / path.relative_to(source.dream_state))
    if pending := PurgeJournal(files, source).load():
        PurgeJournal(files, target).merge_with_unfinished(pending)
    for path, there in (
        (source.reviewed_digests, target.reviewed_digests),
        (source.rejected_digests, target.rejected_digests),
    ):
        found = DecisionDigests(path, source, files).list_digests()
        DecisionDigests(there, target, files).add(found)
    if source.history.exists():
        source.history.rename(_find_free_name(target.state, FORMER_HISTORY))
    for path in source.state.iterdir():
        if path.name not in _NOT_MOVED:
            _move_unless_there(path, target.state / path.name)
    shutil.rmtree(source.state)


def _move_unless_there(path: Path, there: Path) -> None:
    make_folders(there.parent)
    if not there.exists():
        path.rename(there)


def _join_lines(files: FileSystem, path: Path, there: Path) -> None:
    """Put the lines of a log, or of the journal, before those of the same one in the new place."""
    earlier, present = path.read_bytes(), read_if_exists(files, there) or b""
    if earlier not in present:
        files.write(there, earlier + present)


def _find_free_name(folder: Path, name: str) -> Path:
    path, number = folder / name, 1
    while path.exists():
        number += 1
        path = folder / f"{name}-{number}"
    return path
