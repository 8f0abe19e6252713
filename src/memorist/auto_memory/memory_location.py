"""Where a project's memory is stored (AM-4).

A project is its repository, not its folder: all worktrees and subfolders of a repository share one
memory.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import unicodedata
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import msgspec
from msgspec import Struct

from memorist.core.json_decoding import decode_json
from memorist.errors import InputError, SettingsError
from memorist.platforms.regular_files import is_reachable, is_reachable_folder, open_regular_file
from memorist.ports import FileSystem
from memorist.settings import AutoMemorySettings
from memorist.store.disk_files import DiskFiles, read_json_if_valid
from memorist.store.home_layout import Layout, MemoryLayout


class GitEntry(Struct, frozen=True):
    """The `.git` entry of a folder: a folder (`text` is None) or a file, and the `commondir` it
    leads to.
    """

    folder: Path
    text: str | None = None
    common_dir: str | None = None


def parse_memory_folder_setting(setting: str) -> Path | None:
    """Parse the memory folder given by a setting or variable; None for an empty one.

    Raises SettingsError for an unsafe one: not absolute (or from `~/`), the root, the home folder,
    with a null character or `..`, or a network path.
    """
    if not setting.strip():
        return None
    text = unicodedata.normalize("NFC", setting.strip())
    problem = _find_directory_problem(text)
    if problem:
        raise SettingsError(
            f"auto_memory.directory is {setting!r}, which {problem}; name a folder of its own, "
            f"such as ~/notes/memory"
        )
    return Path(text).expanduser()


def _find_directory_problem(text: str) -> str:
    plain = text.rstrip("/")
    checks = (
        ("\0" in text, "holds a null character"),
        (text.startswith(("//", "\\\\")), "is a network path"),
        (plain in ("~", "~/.", "~/..", ""), "is a whole home folder or the root"),
        (not text.startswith(("/", "~/")), "is not absolute"),
        (".." in text.split("/"), "leads upwards (`..`)"),
        (len(plain) < 3, "is too short to be a folder of its own"),
    )
    return next((why for wrong, why in checks if wrong), "")


def resolve_repository_root(entry: GitEntry) -> Path:
    """Return the root that all worktrees of a repository share.

    In a worktree `.git` is a file `gitdir: <main>/.git/worktrees/<name>`, and `commondir` there
    leads to the main repository. A submodule's file leads into `.git/modules`, which has no
    `commondir`: a submodule is a project of its own.
    """
    if entry.text is None:
        return entry.folder
    named = parse_git_file(entry)
    if named is None or entry.common_dir is None:
        return entry.folder
    common = Path(entry.common_dir.strip())
    shared = common if common.is_absolute() else named / common
    parts = [part for part in shared.parts if part != "."]
    real = _normalize_parts(parts)
    # A bare repository's worktrees are beside or around it: its own path is the root.
    return real.parent if real.name == ".git" else real


def parse_git_file(entry: GitEntry) -> Path | None:
    """Return the folder that a `.git` file names; None when it is no such file."""
    line = (entry.text or "").strip().splitlines()[:1]
    if not line or not line[0].startswith("gitdir:"):
        return None
    named = Path(line[0].removeprefix("gitdir:").strip())
    return named if named.is_absolute() else _normalize_parts([*entry.folder.parts, *named.parts])


def _normalize_parts(parts: list[str]) -> Path:
    found: list[str] = []
    for part in parts:
        if part == ".." and len(found) > 1:
            found.pop()
        elif part not in (".", ".."):
            found.append(part)
    return Path(*found) if found else Path("/")


_MAX_GIT_FILE_BYTES = 262_144
"""Bytes read of a `.git` file, a `commondir` or a `config`; real ones hold a line or two, a
configuration a page, and of a clone with hundreds of branches some fifty pages.
"""


_OTHER_REPOSITORIES = (".jj", ".hg", ".sl", ".svn", ".pijul", "_FOSSIL_", ".fslckout")
"""What Jujutsu, Mercurial, Sapling, Subversion, Pijul and Fossil have at the root of a project."""


_MAX_REFLOG_BYTES = 1_000_000
"""Bytes read of the end of a reflog: some five thousand commits."""


class FormerProjectRoot(Struct, frozen=True):
    """A folder that a project was in, and until when (seconds since the epoch)."""

    root: str
    until: float


class ProjectRecord(Struct, frozen=True, kw_only=True):
    """Which project a memory belongs to, stored beside it to recognise a repository that moved."""

    root: str
    identity: str = ""
    """The URLs of its remotes, sorted, on one line; empty for a folder without any."""
    clone: str = ""
    """Digest of the newest line of its reflog, which no other clone has and Git keeps for 90 days;
    empty for a folder without one.
    """
    former: tuple[FormerProjectRoot, ...] = ()
    """Where it was before, the oldest first."""


def locate_project_root(folder: Path) -> Path:
    """Return the root of the folder's repository, shared by its worktrees, also of one of another
    system than Git; the folder itself where there is none.

    Raises InputError; see `check_utf8_folder_name`.
    """
    start = Path(os.path.realpath(folder))
    check_utf8_folder_name(start)
    for candidate in (start, *start.parents):
        git = candidate / ".git"
        if is_reachable_folder(git):
            return resolve_repository_root(GitEntry(candidate))
        text = _read_small_file(git)
        if text is not None:
            named = parse_git_file(GitEntry(candidate, text))
            if named is None:
                return candidate
            common = _read_small_file(named / "commondir")
            if common is None and _is_bare(named):
                return named
            return resolve_repository_root(GitEntry(candidate, text, common))
        if any(is_reachable(candidate / name) for name in _OTHER_REPOSITORIES):
            return candidate
    return start


def is_repository_root(folder: Path) -> bool:
    """Whether a repository begins in this very folder."""
    return any(is_reachable(folder / name) for name in (".git", *_OTHER_REPOSITORIES))


def _is_bare(repository: Path) -> bool:
    """Whether a repository has no files of its own: its worktrees are beside it, and it is their
    root.
    """
    lines = (_read_small_file(repository / "config") or "").splitlines()
    return any("".join(line.split()).lower() == "bare=true" for line in lines)


def check_utf8_folder_name(folder: Path) -> None:
    """Raise InputError for a folder whose name is not UTF-8, so that no file of ours can hold it;
    Claude Code and Codex do not start in such a folder.
    """
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise InputError(
            f"the name of {str(folder)!a} is not valid UTF-8, in which neither coding agents "
            f"nor memorist can work; rename the folder"
        ) from None


def locate_root_of_recorded_folder(folder: str) -> Path:
    """Return the root of the folder that a recording names; the folder itself where it is none of
    this system: one of Windows would be taken for one below the working folder on Linux.
    """
    recorded = Path(folder)
    return locate_project_root(recorded) if recorded.is_absolute() else recorded


def _read_small_file(path: Path) -> str | None:
    try:
        with open_regular_file(path) as file:
            return file.read(_MAX_GIT_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return None


def read_remote_identity(root: Path) -> str:
    """Return what survives moving or cloning a repository: its remotes' URLs; empty when it has
    none.
    """
    text = _read_small_file(root / ".git" / "config") or ""
    found = {
        line.partition("=")[2].strip()
        for line in text.splitlines()
        if line.strip().startswith("url") and "=" in line
    }
    return " ".join(sorted(filter(None, (_strip_credentials(url) for url in found))))


def hash_reflog_lines(root: Path) -> list[str]:
    """A digest of each line of a clone's reflog, the newest last: a line that two clones share is
    that of a copy. None for a folder that is no repository, or has no commit yet.
    """
    try:
        with open_regular_file(root / ".git" / "logs" / "HEAD") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _MAX_REFLOG_BYTES))
            lines = file.read(_MAX_REFLOG_BYTES).splitlines()
    except OSError:
        return []
    return [hashlib.sha256(line).hexdigest()[:16] for line in lines if line]


def _strip_credentials(url: str) -> str:
    """Strip user name and password from a URL."""
    scheme, mark, rest = url.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}" if mark else url.rpartition("@")[2]


def resolve_project_memory_layout(
    layout: Layout, project: str, settings: AutoMemorySettings
) -> MemoryLayout:
    """Return where a project's memory is stored: the configured folder, else its own below the
    home; one of its own, too, where that belongs to another repository that was in its place.

    Raises SettingsError.
    """
    own = parse_memory_folder_setting(settings.directory)
    if own is not None:
        return layout.memory_layout_at(own)
    root = locate_project_root(Path(project))
    layouts = iterate_candidate_layouts_of_repository(layout, str(root))
    return next(each for each in layouts if not _is_of_another_repository(each, root, layout))


def iterate_candidate_layouts_of_repository(layout: Layout, root: str) -> Iterator[MemoryLayout]:
    """Where the memories of the repositories are that were at `root`, one after another; without
    an end.
    """
    yield layout.memory_layout(root)
    yield from (layout.memory_layout(f"{root}#{number}") for number in count(2))


def _is_of_another_repository(memory_layout: MemoryLayout, root: Path, layout: Layout) -> bool:
    try:
        known = decode_json(
            _read_small_file(memory_layout.project_record) or "", as_type=ProjectRecord
        )
    except msgspec.DecodeError:
        return False
    return holds_different_repository_than_recorded(known, root, layout)


def holds_different_repository_than_recorded(
    known: ProjectRecord, root: Path, layout: Layout
) -> bool:
    """Whether a folder holds another repository than the recorded one, as where two projects
    changed places: its reflog is not that of the recorded clone, and no remote of the one has the
    name of one of the other's or, where one of them has no remote, its clone is that of another
    project of the home. A repository that only got another address, or a new reflog, is the same.
    """
    before, now = map(_list_remote_names, (known.identity, read_remote_identity(root)))
    if not known.clone or before & now:
        return False
    lines = hash_reflog_lines(root)
    if not lines or known.clone in lines:
        return False
    if before and now:
        return True
    return any(each.clone in lines for each in list_projects_with_memory(DiskFiles(), layout))


def _list_remote_names(identity: str) -> set[str]:
    """The names of repositories in the URLs of an identity, without their addresses."""
    return {
        re.split(r"[/:]", url.rstrip("/").removesuffix(".git"))[-1].casefold()
        for url in identity.split()
    }


def record_project(files: FileSystem, memory_layout: MemoryLayout, project: str) -> None:
    """Record which project the memory belongs to.

    Raises InputError when it belongs to another one: a fact is never written there (AM-4).
    """
    root = locate_project_root(Path(project))
    known = read_project_record(files, memory_layout)
    now = build_project_record(root, () if known is None else known.former)
    if known is None or (known.root == now.root and known != now):
        files.write(memory_layout.project_record, msgspec.json.encode(now))
    elif known.root != now.root and not memory_layout.chosen:
        raise InputError(
            f"the memory at {memory_layout.folder} belongs to {known.root}; take it over with: "
            f"memorist memory rebind {shlex.quote(known.root)}"
        )


def build_project_record(root: Path, former: tuple[FormerProjectRoot, ...] = ()) -> ProjectRecord:
    """What is recorded of the project at `root`, which was at the `former` folders before."""
    return ProjectRecord(
        root=str(root),
        identity=read_remote_identity(root),
        clone=next(reversed(hash_reflog_lines(root)), ""),
        former=former,
    )


def read_project_record(files: FileSystem, memory_layout: MemoryLayout) -> ProjectRecord | None:
    """Return the project that a memory belongs to; None when it is not recorded."""
    path = memory_layout.project_record
    return read_json_if_valid(files, path, ProjectRecord, limit=_MAX_GIT_FILE_BYTES)


def list_projects_with_memory(files: FileSystem, layout: Layout) -> list[ProjectRecord]:
    """All projects of the home that have a memory, as recorded beside it."""
    folders = sorted(layout.projects.iterdir()) if layout.projects.is_dir() else []
    records = (
        read_project_record(files, MemoryLayout(each / "memory", each / "memory-state"))
        for each in folders
    )
    return [record for record in records if record is not None]


def list_memory_layouts_of_home(layout: Layout, settings: AutoMemorySettings) -> list[MemoryLayout]:
    """The memories of all projects, that of what holds in every project, and the one that the
    settings name, where they have a folder.
    """
    found = [
        MemoryLayout(folder / "memory", folder / "memory-state")
        for folder in sorted(layout.projects.glob("*"))
    ]
    found.append(layout.user_memory_layout)
    chosen = parse_memory_folder_setting(settings.directory)
    if chosen is not None:
        found.append(layout.memory_layout_at(chosen))
    return [where for where in found if where.folder.is_dir()]
