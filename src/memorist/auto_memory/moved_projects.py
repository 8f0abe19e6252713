"""Projects whose folder was moved or renamed: which memory may be theirs, how they take it over,
and which folders they had before (AM-4).
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct

from memorist.auto_memory.memory_changes import ChangeReason, render_change_headline
from memorist.auto_memory.memory_folder_merge import move_memories_into_other_folder
from memorist.auto_memory.memory_location import (
    FormerProjectRoot,
    ProjectRecord,
    build_project_record,
    hash_reflog_lines,
    holds_different_repository_than_recorded,
    is_repository_root,
    iterate_candidate_layouts_of_repository,
    list_projects_with_memory,
    locate_project_root,
    read_project_record,
    read_remote_identity,
    resolve_project_memory_layout,
)
from memorist.errors import InputError
from memorist.platforms.user_home import expand_user
from memorist.ports import Clock, FileSystem
from memorist.settings import AutoMemorySettings
from memorist.store.disk_files import DiskFiles, make_folders, raise_os_errors_as_store_errors
from memorist.store.home_layout import Layout, MemoryLayout

_HOMES = ("home", "Users")
"""Names of the folders in which systems keep the home folders of their users."""
_MOUNTS = ("/workspace", "/workspaces", "/app", "/code", "/project", "/src", "/work")
"""Where containers see a project of the host."""
_MAX_GUESSES = 3
"""Memories that are named where the project is recognised by its name alone, or in a container."""


def find_possible_former_projects(
    files: FileSystem, layout: Layout, project: str
) -> list[ProjectRecord]:
    """Find memories whose project may be this one: it is gone from its place, and was this clone,
    had its remotes, or its place below another home folder; or its folder is part of this
    repository now. Where that holds of none, those that had its name, or, where this is no
    repository, the only one that is gone from beside it; in a container those of which nothing is
    known but that they are gone.
    """
    root = locate_project_root(Path(project))
    remotes, lines = read_remote_identity(root), set(hash_reflog_lines(root))
    missing, others = [], []
    for known in list_projects_with_memory(files, layout):
        former = Path(known.root)
        if not former.exists() or (
            holds_different_repository_than_recorded(known, former, layout)
            and layout.memory_layout(known.root).folder.exists()
        ):
            missing.append(known)
        elif former != root:
            others.append(known)
    found = [
        known
        for known in missing
        if known.clone in lines
        or (remotes and known.identity == remotes)
        or _is_below_former_home(known.root, root)
    ]
    found += [known for known in others if _is_part_of(known.root, root)]
    named = [known for known in missing if _has_same_name(known.root, root)]
    named = named or _find_renamed_folder(missing, root)
    return found or (missing if _is_mount(root) else named)[:_MAX_GUESSES]


def _has_same_name(recorded: str, root: Path) -> bool:
    """Whether a folder, perhaps of another system, has the root's own name: a clone on another
    machine, to which memorist's home was copied.
    """
    return recorded.replace("\\", "/").rpartition("/")[2].casefold() == root.name.casefold()


def _find_renamed_folder(missing: Sequence[ProjectRecord], root: Path) -> list[ProjectRecord]:
    """The only folder without a repository that is gone from beside this one, which has none, too:
    it may have been renamed. Temporary folders come and go.
    """
    if is_repository_root(root) or root.is_relative_to(Path(tempfile.gettempdir()).resolve()):
        return []
    vanished = [
        known
        for known in missing
        if not (known.clone or known.identity) and Path(known.root).parent == root.parent
    ]
    return vanished if len(vanished) == 1 else []


def _is_part_of(folder: str, root: Path) -> bool:
    """Whether a folder that was a project of its own lies in this one now, as after `git init`."""
    inside = Path(folder)
    return inside.is_relative_to(root) and inside.exists() and locate_project_root(inside) == root


def _is_mount(root: Path) -> bool:
    return str(root) in _MOUNTS or str(root.parent) in _MOUNTS


def describe_neighbouring_memory(files: FileSystem, layout: Layout, project: str) -> str:
    """Find the memory of a folder around this one or within it, neither of which is a repository,
    and say how they become one project; empty for none.
    """
    root, home = locate_project_root(Path(project)), Path(expand_user()).resolve()
    for known in list_projects_with_memory(files, layout):
        other = Path(known.root)
        upper, lower = sorted((root, other), key=lambda each: len(each.parts))
        if (
            upper != lower
            and lower.is_relative_to(upper)
            and not home.is_relative_to(upper)
            and other.exists()
            and locate_project_root(other) == other
            and not any(is_repository_root(each) for each in (upper, lower))
        ):
            return (
                f"{known.root} has a memory of its own, which is not shown here; for one memory "
                f"of both: git init {shlex.quote(str(upper))}, then there: memorist memory rebind "
                f"{shlex.quote(str(lower))}"
            )
    return ""


def describe_superproject_memory(files: FileSystem, layout: Layout, project: str) -> str:
    """Find the memory of the repository whose Git submodule this project is, and say how both go on
    with it; empty for none.
    """
    root = locate_project_root(Path(project))
    if not (root / ".git").is_file():
        return ""
    above = [
        known.root
        for known in list_projects_with_memory(files, layout)
        if Path(known.root) in root.parents and (Path(known.root) / ".gitmodules").is_file()
    ]
    if not above:
        return ""
    nearest = max(above, key=len)
    folder = shlex.quote(str(layout.memory_layout(nearest).folder))
    return (
        f"{nearest}, whose submodule this is, has a memory of its own, which is not shown here; "
        f"both share it with, in the submodule: MEMORIST_AUTO_MEMORY__DIRECTORY={folder}"
    )


def _is_below_former_home(recorded: str, root: Path) -> bool:
    """Whether a folder has the root's place below a home folder that this machine does not have:
    memorist's home was copied from another machine, or the user was renamed.
    """
    home = Path(expand_user()).resolve()
    if root == home or not root.is_relative_to(home):
        return False
    recorded, below = recorded.replace("\\", "/"), f"/{root.relative_to(home).as_posix()}"
    former = PurePosixPath(recorded[: -len(below)])
    is_home = former.parent.name in _HOMES or str(former) == "/root"
    is_below = recorded.casefold().endswith(below.casefold())
    return is_below and is_home and not Path(former).exists()


def describe_memory_of_moved_project(record: ProjectRecord, layout: Layout, project: str) -> str:
    """Say that the memory of another folder may belong here, and how it is taken over; in a
    container, how both go on with it where it is.
    """
    if _is_mount(locate_project_root(Path(project))):
        folder = shlex.quote(str(layout.memory_layout(record.root).folder))
        return (
            f"the memory of {record.root} may be that of this container's project; host and "
            f"container share it with, in the container: MEMORIST_AUTO_MEMORY__DIRECTORY={folder}"
        )
    return (
        f"the memory of {record.root} may belong here; take it over with: memorist memory rebind "
        f"{shlex.quote(record.root)}"
    )


def describe_memory_found_elsewhere(
    files: FileSystem, layout: Layout, project: str
) -> tuple[str, ...]:
    """Say of a project without memory where it may have one, and how it is reached from here."""
    moved = find_possible_former_projects(files, layout, project)
    if moved:
        return tuple(describe_memory_of_moved_project(each, layout, project) for each in moved)
    neighbour = describe_superproject_memory(
        files, layout, project
    ) or describe_neighbouring_memory(files, layout, project)
    return (neighbour,) if neighbour else ()


class MovedFolders:
    """Where the folders of projects that moved are now."""

    def __init__(self, records: Sequence[ProjectRecord]) -> None:
        self._moves = [
            _Move(former.root, former.until, Path(former.root).exists(), known.root)
            for known in records
            for former in known.former
        ]

    def find_root(self, folder: str, at: float) -> str:
        """Return the root of the project that a folder was part of at that time (seconds since the
        epoch); the folder itself where that did not move.
        """
        for move in self._moves:
            if move.holds(folder, at):
                return move.target
        return folder


class _Move(Struct, frozen=True):
    """A project that was moved: what its old folder holds now is another's."""

    source: str
    until: float
    is_used_again: bool
    target: str

    def holds(self, folder: str, at: float) -> bool:
        inside = folder == self.source or folder.startswith(self.source.rstrip("/\\") + "/")
        return inside and (at <= self.until or not self.is_used_again)


def load_moved_folders(files: FileSystem, layout: Layout) -> MovedFolders:
    """Load where the folders of projects that moved are now. Raises StoreError."""
    return MovedFolders(list_projects_with_memory(files, layout))


def rebind_memory(
    layout: Layout,
    old_root: str,
    project: str,
    *,
    clock: Clock,
    settings: AutoMemorySettings,
    has_sessions: bool = False,
) -> MemoryLayout:
    """Assign the memory of a repository that was at `old_root` to the one now at `project`.
    Memories that the new place has already stay beside them.

    May be repeated after it was killed at any step. Raises InputError when there is neither a
    memory nor, as the caller says with `has_sessions`, a session of the old place, and when that
    still holds a repository.
    """
    files = DiskFiles()  # folders are moved, which only a disk can
    root = str(locate_project_root(Path(project)))
    source = _find_memory_of_clone(files, layout, old_root, Path(root))
    target = resolve_project_memory_layout(layout, root, AutoMemorySettings())
    left = read_project_record(files, source)
    is_replaced = left is not None and holds_different_repository_than_recorded(
        left, Path(old_root), layout
    )
    if (
        Path(old_root).exists()
        and old_root != root
        and not (is_replaced or _is_part_of(old_root, Path(root)))
    ):
        raise InputError(
            f"{old_root} is still there, and its memory with it; use `memorist memory export` "
            f"and `import` to copy memories"
        )
    known = read_project_record(files, target)
    half_moved = _is_half_moved(known, old_root)
    if source == target or (files.lstat(source.folder) is None and _is_unused(source.state)):
        if not (has_sessions or half_moved):
            raise InputError(
                f"there is no memory of {old_root}; `memorist memory check` names what may belong "
                f"here"
            )
    elif _is_unused(target.folder) and (
        _is_unused(target.state) or (half_moved and _is_unused(source.state))
    ):
        # The memories move last: until then a repeated call finds them at the old place.
        if _is_unused(target.state):
            _move_folder(source.state, target.state)
        _move_folder(source.folder, target.folder)
    else:
        _record_move(files, target, root, old_root, clock.now())
        reason = ChangeReason(
            actor="user", what=render_change_headline("move", f"the memory of {old_root}")
        )
        move_memories_into_other_folder(
            files, source, target, reason, clock=clock, settings=settings
        )
    _record_move(files, target, root, old_root, clock.now())
    if left is not None and is_replaced:
        # What is at the old place now keeps the memory that it has beside this one.
        files.write(source.project_record, msgspec.json.encode(left))
    return target


def _find_memory_of_clone(
    files: FileSystem, layout: Layout, old_root: str, root: Path
) -> MemoryLayout:
    """Where the memory is that the clone at `root` had at its old place, which other repositories
    may have had, too. Where none is known to be this clone's, the first that may be; else the
    place of one that it never wrote.
    """
    lines, found = set(hash_reflog_lines(root)), None
    layouts = iterate_candidate_layouts_of_repository(layout, old_root)
    each = next(layouts)
    while (known := read_project_record(files, each)) is not None:
        if known.clone in lines and each.folder.exists():
            return each
        if found is None and not holds_different_repository_than_recorded(known, root, layout):
            found = each
        each = next(layouts)
    return found or each


def _is_half_moved(known: ProjectRecord | None, old_root: str) -> bool:
    """Whether an earlier attempt was killed after something had moved."""
    return known is not None and (
        known.root == old_root or any(each.root == old_root for each in known.former)
    )


def _record_move(
    files: FileSystem, target: MemoryLayout, root: str, old_root: str, now: float
) -> None:
    known = read_project_record(files, target)
    former = () if known is None else known.former
    if all(each.root != old_root for each in former) and old_root != root:
        former = (*former, FormerProjectRoot(old_root, now))
    files.write(
        target.project_record, msgspec.json.encode(build_project_record(Path(root), former))
    )


def _move_folder(source: Path, target: Path) -> None:
    if not source.exists():
        return
    make_folders(target.parent)
    with raise_os_errors_as_store_errors("move", source):
        _remove_unused(target)
        source.rename(target)


_MADE_BY_OPENING = ("lock", "purge.lock", "project.json", "scan.json", "scan-changes.json")


def _is_unused(folder: Path) -> bool:
    """Whether a folder contains nothing but files created by opening it."""
    return all(path.is_dir() or path.name in _MADE_BY_OPENING for path in folder.rglob("*"))


def _remove_unused(folder: Path) -> None:
    if folder.exists():
        for path in sorted(folder.rglob("*"), reverse=True):
            if path.is_dir():
                path.rmdir()
            elif path.name in _MADE_BY_OPENING:
                path.unlink()
        folder.rmdir()  # refused where something was written there meanwhile
