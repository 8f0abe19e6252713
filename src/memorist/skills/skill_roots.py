"""The folders in which skills are searched, for both families, as paths. Pure (SK-1).

Source: codex.md section 4.1 for the rollout family and the shared `.agents/skills`, claude-code.md
section 11.4 for `.claude/skills`.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from memorist.platforms.file_descriptors import PRIVATE
from memorist.skills.plugin_files import (
    MANIFEST_PATHS,
    PluginManifest,
    parse_codex_plugins,
    parse_enabled_plugins,
    parse_installed_plugins,
    parse_plugin_manifest,
    select_active_version,
)
from memorist.skills.skill import SkillProblem, SkillScope

PROJECT_FOLDERS = (".agents/skills", ".codex/skills", ".claude/skills")
"""Relative to each folder from the project's root to the working folder."""


class SkillRoot(Struct, frozen=True):
    """A folder to search."""

    path: str
    scope: SkillScope
    plugin: str = ""
    """The plugin that it belongs to: its skills are named `PLUGIN:NAME`."""


class SkillLocations(Struct, frozen=True, kw_only=True):
    """The absolute folders from which roots are derived; an empty one gives no roots."""

    project: str = ""
    """Root of the repository, or the working folder where there is none."""
    cwd: str = ""
    home: str = ""
    codex_home: str = ""
    claude_home: str = ""
    memorist_home: str = ""
    system: tuple[str, ...] = ("/etc/codex/skills",)


def list_skill_roots(
    locations: SkillLocations,
    extra_folders: Sequence[str] = (),
    plugin_roots: Sequence[SkillRoot] = (),
) -> tuple[SkillRoot, ...]:
    """Return every root once: the project's, then the user's with those of plugins, then the
    system's.

    They need not exist.
    """
    found = [
        SkillRoot(f"{folder}/{name}", "project")
        for folder in _list_folders_between(locations.project, locations.cwd)
        for name in PROJECT_FOLDERS
    ]
    user = [
        (locations.home, ".agents/skills"),
        (locations.codex_home, "skills"),
        (locations.claude_home, "skills"),
        (locations.memorist_home, "skills"),
    ]
    found += [
        SkillRoot(f"{_normalize_path(folder)}/{name}", "user") for folder, name in user if folder
    ]
    found += [
        *(SkillRoot(_normalize_path(folder), "user") for folder in extra_folders),
        *plugin_roots,
    ]
    if locations.codex_home:
        found.append(SkillRoot(f"{_normalize_path(locations.codex_home)}/skills/.system", "system"))
    found += [SkillRoot(_normalize_path(folder), "system") for folder in locations.system]
    once: dict[str, SkillRoot] = {}
    for root in found:
        once.setdefault(root.path, root)
    return tuple(once.values())


def _normalize_path(path: str) -> str:
    """Normalise a path: no doubled slashes, single dots or trailing slash."""
    return str(PurePosixPath(path))


def _list_folders_between(top: str, bottom: str) -> Iterable[str]:
    """Return the folders from `top` down to `bottom`; only `bottom` where it is not below `top`."""
    if not top or not bottom:
        return [_normalize_path(folder) for folder in (top, bottom) if folder]
    low, high = _normalize_path(bottom), _normalize_path(top)
    above = high.rstrip("/")
    if low != high and not low.startswith(f"{above}/"):
        return [low]
    names = low[len(above) + 1 :].split("/") if low != high else []
    return ["/".join((above, *names[:count])) or "/" for count in range(len(names) + 1)]


# Folder listings and file facts for skill discovery, with a cache of unchanged folders.


SETTLED_NANOSECONDS = 2_000_000_000
"""Age from which a folder's modification time vouches for its names: within one tick of the file
system's clock it may change twice. Our choice; the coarsest clock in use, FAT's, ticks every two
seconds.
"""


_READ_CHUNK = 65_536
"""Bytes per read: more than nearly every skill has."""


class SkillFileFacts(Struct, frozen=True):
    """A file's real path, size in bytes, and modification time in nanoseconds."""

    path: str
    size: int
    changed: int


class FolderListings:
    """Cached listings of folders, by real path."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, dict[str, str]]] = {}

    def list_names(self, folder: str, limit: int) -> dict[str, str]:
        """Return at most `limit` names in a folder, each with its kind: `folder`, `link`, or empty.

        Raises OSError.
        """
        changed = os.lstat(folder).st_mtime_ns
        known = self._known.get(folder)
        if known is not None and known[0] == changed and len(known[1]) <= limit:
            return known[1]
        found = _scan_folder(folder, limit)
        if len(found) < limit and time.time_ns() - changed > SETTLED_NANOSECONDS:
            self._known[folder] = changed, found
        else:
            self._known.pop(folder, None)
        return found


def _scan_folder(folder: str, limit: int) -> dict[str, str]:
    found: dict[str, str] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            if len(found) >= limit:
                break
            found[entry.name] = (
                "folder"
                if entry.is_dir(follow_symlinks=False)
                else "link"
                if entry.is_symlink()
                else ""
            )
    return found


def list_subfolders(
    folder: str, names: Mapping[str, str], *, follow: bool
) -> list[tuple[str, bool]]:
    """List the real paths of a folder's visible subfolders, each with whether a link leads to
    it.
    """
    found = []
    top = folder.rstrip("/")
    for name, kind in sorted(names.items()):
        if not kind or name.startswith("."):
            continue
        path = f"{top}/{name}"
        if kind == "folder":
            found.append((path, False))
        elif follow and Path(path).is_dir():
            found.append((os.path.realpath(path), True))
    return found


def path_exists(path: str) -> bool:
    """Whether something has this name, even a dangling link.

    Most roots do not exist, and this is far cheaper than resolving real paths.
    """
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError:
        return True
    return True


def read_file_facts(path: str) -> SkillFileFacts | str:
    """Return the facts of a file, following links; or why it is no regular file. Raises OSError."""
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        path = os.path.realpath(path, strict=True)
        found = os.lstat(path)
    return (
        SkillFileFacts(path, found.st_size, found.st_mtime_ns)
        if stat.S_ISREG(found.st_mode)
        else "it is no ordinary file"
    )


def read_limited_text(path: str, limit: int) -> str:
    """Read at most `limit` bytes of a file as text. Raises OSError."""
    # O_NONBLOCK: the file may have become a pipe meanwhile, on which open would block.
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | PRIVATE)
    try:
        parts, left = [], limit
        while left > 0:
            asked = min(left, _READ_CHUNK)
            part = os.read(file, asked)
            parts.append(part)
            left -= len(part)
            if len(part) < asked:  # short read: end of a regular file
                break
    finally:
        os.close(file)
    return b"".join(parts).decode("utf-8", "replace")


def printable_path(path: str) -> str:
    """Return the path with a replacement character for each byte that is not UTF-8."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "replace")


def describe_error(error: Exception) -> str:
    """Describe an error in the system's words."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


# Plugins on disk: the roots of installed and enabled plugins, and a folder's manifest.


MAX_PLUGIN_FILE_BYTES = 4_194_304
"""Largest settings file or plugin list that is read; our choice. Codex settings of long use have
some 100,000.
"""

MAX_PARENT_FOLDERS = 8
"""Parent folders of a link's target that are searched for a manifest; our choice: the search goes
six levels deep, and a plugin keeps its skills one below.
"""


class PluginManifests:
    """Manifests of folders, each read once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, PluginManifest] | None] = {}

    def find_manifest(self, folder: str) -> tuple[str, PluginManifest] | None:
        """Return a folder's manifest with its path; None where it has none."""
        if folder not in self._known:
            self._known[folder] = _read_manifest(folder)
        return self._known[folder]

    def find_plugin_name(self, folder: str) -> str:
        """Return the name of the plugin that contains a folder; empty where none does."""
        for _ in range(MAX_PARENT_FOLDERS):
            found = self.find_manifest(folder)
            if found is not None:
                return found[1].name
            upper = str(Path(folder).parent)
            if upper == folder:
                break
            folder = upper
        return ""


def _read_manifest(folder: str) -> tuple[str, PluginManifest] | None:
    for name in MANIFEST_PATHS:
        path = f"{folder.rstrip('/')}/{name}"
        text, problem = _read_plugin_text(path)
        if problem:
            return path, PluginManifest(problem=problem)
        if text is not None:
            return path, parse_plugin_manifest(text, Path(folder).name)
    return None


def list_plugin_roots(
    locations: SkillLocations, manifests: PluginManifests
) -> tuple[tuple[SkillRoot, ...], tuple[SkillProblem, ...]]:
    """List the roots of installed and enabled plugins, Claude Code's, then Codex's; and unusable
    files about them.
    """
    found: list[SkillRoot] = []
    problems: list[SkillProblem] = []
    for folder, name in (
        *_list_claude_plugins(locations, problems),
        *_list_codex_plugins(locations, problems),
    ):
        manifest = manifests.find_manifest(folder)
        if manifest is not None and manifest[1].problem:
            problems.append(SkillProblem(manifest[0], "user", manifest[1].problem))
        own = manifest[1].name if manifest is not None and manifest[1].name else name
        extra: Sequence[str] = manifest[1].folders if manifest is not None else ()
        found += [
            SkillRoot(f"{folder}/{below}", "user", own)
            for below in dict.fromkeys(("skills", *extra))
            if below
        ]
    return tuple(found), tuple(problems)


def _list_claude_plugins(
    locations: SkillLocations, problems: list[SkillProblem]
) -> Iterator[tuple[str, str]]:
    """Yield folder and name of each plugin of Claude Code."""
    if not locations.claude_home:
        return
    path = f"{locations.claude_home}/plugins/installed_plugins.json"
    settings = [f"{locations.claude_home}/settings.json"]
    settings += (
        [f"{locations.project}/.claude/{name}" for name in ("settings.json", "settings.local.json")]
        if locations.project
        else []
    )
    text, problem = _read_plugin_text(path)
    installed, wrong = (
        parse_installed_plugins(text, locations.project) if text is not None else ({}, problem)
    )
    if wrong:
        problems.append(SkillProblem(path, "user", wrong))
    enabled = (
        parse_enabled_plugins(
            [given for each in settings if (given := _read_plugin_text(each)[0]) is not None]
        )
        if installed
        else ()
    )
    for key in enabled:
        if key in installed:
            yield str(Path(installed[key]).expanduser().absolute()), key.rpartition("@")[0] or key


def _list_codex_plugins(
    locations: SkillLocations, problems: list[SkillProblem]
) -> Iterator[tuple[str, str]]:
    """Yield folder and name of each plugin of Codex."""
    cache = Path(locations.codex_home) / "plugins" / "cache"
    if not locations.codex_home or not cache.is_dir():
        return
    path = f"{locations.codex_home}/config.toml"
    text, problem = _read_plugin_text(path)
    enabled, wrong = parse_codex_plugins(text) if text is not None else ((), problem)
    if wrong:
        problems.append(SkillProblem(path, "user", wrong))
    for market, name in enabled:
        try:
            version = select_active_version(
                [each.name for each in (cache / market / name).iterdir()]
            )
        except OSError:
            continue  # enabled but not installed; its own client reports that
        if version:
            yield str(cache / market / name / version), name


def _read_plugin_text(path: str) -> tuple[str | None, str]:
    """Read a file; None where there is none. Also returns why it cannot be read."""
    try:
        facts = read_file_facts(path)
        if isinstance(facts, str):
            return None, facts
        if facts.size > MAX_PLUGIN_FILE_BYTES:
            return None, f"it has {facts.size} bytes, {MAX_PLUGIN_FILE_BYTES} are the most"
        return read_limited_text(facts.path, MAX_PLUGIN_FILE_BYTES).removeprefix("\ufeff"), ""
    except (FileNotFoundError, NotADirectoryError):
        return None, ""
    except (OSError, ValueError) as error:
        return None, f"it cannot be read: {describe_error(error)}"
