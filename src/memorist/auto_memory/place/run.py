"""Locate a project's memory on disk: its repository's root, its folders, and the folder of a
repository that moved.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec
from msgspec import Struct

from memorist.auto_memory.location import GitPlace, chosen_folder, git_folder, repository_root
from memorist.auto_memory.settings import AutoMemorySettings
from memorist.errors import InputError, StoreError
from memorist.ports import Files
from memorist.store.files import make_folders, refusal
from memorist.store.layout import Layout, MemoryLayout

_SMALL = 4_096
"""Bytes read of a `.git` file, a `commondir` or a `config`; real ones hold a line or two, a
configuration a page.
"""


class Project(Struct, frozen=True, kw_only=True):
    """Which project a memory belongs to, stored beside it to recognise a repository that moved."""

    root: str
    identity: str = ""
    """The URLs of its remotes, sorted, on one line; empty for a folder without any."""


def project_root(folder: Path) -> Path:
    """Return the root of the folder's repository, shared by its worktrees; the folder itself where
    there is none.
    """
    start = Path(os.path.realpath(folder))
    for candidate in (start, *start.parents):
        git = candidate / ".git"
        if git.is_dir():
            return repository_root(GitPlace(candidate))
        if git.is_file():
            text = _text(git)
            named = git_folder(GitPlace(candidate, text))
            common = _text(named / "commondir") if named is not None else None
            return repository_root(GitPlace(candidate, text, common))
    return start


def _text(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return file.read(_SMALL).decode("utf-8", "replace")
    except OSError:
        return None


def identity(root: Path) -> str:
    """Return what survives moving or cloning a repository: its remotes' URLs; empty when it has
    none.
    """
    text = _text(root / ".git" / "config") or ""
    found = {line.partition("=")[2].strip() for line in text.splitlines() if line.strip().startswith("url") and "=" in line}
    return " ".join(sorted(filter(None, (_without_user(url) for url in found))))


def _without_user(url: str) -> str:
    """Strip user name and password from a URL."""
    scheme, mark, rest = url.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}" if mark else url.rpartition("@")[2]


def memory_layout(layout: Layout, project: str, settings: AutoMemorySettings) -> MemoryLayout:
    """Return where a project's memory is stored: the configured folder, else its own below the
    home.

    Raises SettingsError.
    """
    own = chosen_folder(settings.directory)
    return layout.memory_at(own) if own is not None else layout.memory(str(project_root(Path(project))))


def remember_project(files: Files, where: MemoryLayout, project: str) -> None:
    """Record which project the memory belongs to.

    Raises InputError when it belongs to another one: a fact is never written there (AM-4).
    """
    root = project_root(Path(project))
    known = read_project(files, where)
    now = Project(root=str(root), identity=identity(root))
    if known is None or (known.root == now.root and known.identity != now.identity):
        files.write(where.project, msgspec.json.encode(now))
    elif known.root != now.root and not where.chosen:
        raise InputError(f"the memory at {where.folder} belongs to {known.root}; take it over with: memorist memory rebind {known.root}")


def read_project(files: Files, where: MemoryLayout) -> Project | None:
    """Return the project that a memory belongs to; None when it is not recorded."""
    try:
        return msgspec.json.decode(files.read(where.project, limit=_SMALL * 4), type=Project)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def orphans(files: Files, layout: Layout, project: str) -> list[Project]:
    """Find memories whose project is gone from its place and has this one's remotes: it may have
    moved.
    """
    root = project_root(Path(project))
    mine = identity(root)
    found = []
    for folder in sorted(layout.projects.iterdir()) if layout.projects.is_dir() else []:
        known = read_project(files, MemoryLayout(folder / "memory", folder / "memory-state"))
        if known is not None and mine and known.identity == mine and known.root != str(root) and not Path(known.root).exists():
            found.append(known)
    return found


def rebind(files: Files, layout: Layout, old: str, project: str) -> MemoryLayout:
    """Assign the memory of a repository that was at `old_root` to the one now at `project`.

    Raises InputError when there is no such memory, when the old place still holds a repository, or
    when the new one already has memories.
    """
    root = str(project_root(Path(project)))
    source, target = layout.memory(old), layout.memory(root)
    moved = read_project(files, target)
    if files.facts(source.folder) is None and moved is not None and moved.root == old:
        return _given(files, target, root)  # an earlier attempt was killed after the move
    if files.facts(source.folder) is None:
        raise InputError(f"there is no memory of {old}; `memorist memory check` names what may belong here")
    if Path(old).exists() and old != root:
        raise InputError(f"{old} is still there, and its memory with it; use `memorist memory export` and `import` to copy memories")
    if files.facts(target.folder) is not None and files.walk(target.folder, limit=1):
        raise InputError(f"{root} has memories of its own; use `memorist memory export` and `import` to bring them together")
    # The memories move last: until then a repeated call finds them at the old place.
    _move(source.state, target.state)
    _move(source.folder, target.folder)
    return _given(files, target, root)


def _given(files: Files, target: MemoryLayout, root: str) -> MemoryLayout:
    files.write(target.project, msgspec.json.encode(Project(root=root, identity=identity(Path(root)))))
    return target


def _move(source: Path, target: Path) -> None:
    if not source.exists():
        return
    make_folders(target.parent)
    try:
        with contextlib.suppress(FileNotFoundError):
            _drop_empty(target)
        source.rename(target)
    except OSError as error:
        raise refusal("move", source, error) from error


def _drop_empty(folder: Path) -> None:
    """Remove a folder that contains nothing but files created by opening it."""
    if folder.is_dir():
        for path in sorted(folder.rglob("*"), reverse=True):
            if path.name in ("lock", "purge.lock", "project.json", "scan.json"):
                path.unlink()
            elif path.is_dir():
                path.rmdir()
            else:
                raise StoreError(f"{folder} already holds {path.name}; move it away first")
        folder.rmdir()
