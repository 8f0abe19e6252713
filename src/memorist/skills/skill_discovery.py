"""Discover skills on disk (SK-1).

All limits apply per root, so that a link into a whole disk costs no more than the limits. Links to
folders are followed, except in the system's roots; each real folder is entered once, so that cycles
end.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.memory_location import locate_project_root
from memorist.platforms.regular_files import path_or_link_exists
from memorist.platforms.user_home import expand_user
from memorist.settings import SkillsSettings
from memorist.skills.cached_folder_listings import (
    CachedFolderListings,
    SkillFileFacts,
    describe_os_error,
    list_visible_subfolders,
    read_file_facts,
    read_text_up_to_limit,
    replace_undecodable_path_bytes,
)
from memorist.skills.plugin_manifests import MANIFEST_PATHS
from memorist.skills.plugin_roots import PluginManifests, list_plugin_skill_roots
from memorist.skills.skill_file import (
    SKILL_FILE,
    SKILL_SCOPES,
    Skill,
    SkillScope,
    UnusableSkillFile,
    parse_skill,
)
from memorist.skills.skill_interface import (
    INTERFACE_FILE,
    MAX_INTERFACE_BYTES,
    SkillInterface,
    parse_skill_interface,
)
from memorist.skills.skill_roots import SkillBaseFolders, SkillRoot, list_skill_roots

_CacheKey = tuple[str, SkillFileFacts, SkillRoot, SkillFileFacts | str | None]
"""All that a parsed SKILL.md depends on: shown path, file facts, root and plugin, and the interface
file's facts.
"""

_PLUGIN_FOLDERS = frozenset(name.partition("/")[0] for name in MANIFEST_PATHS)


class DiscoveredSkills(Struct, frozen=True):
    """The usable skills (project, user, system; then name and path), and what could not be used."""

    skills: tuple[Skill, ...] = ()
    problems: tuple[UnusableSkillFile, ...] = ()


def find_skill_base_folders(
    cwd: Path, environment: Mapping[str, str], memorist_home: str
) -> SkillBaseFolders:
    """Return the folders in which skills of this working folder are searched.

    `environment` may define CODEX_HOME and CLAUDE_CONFIG_DIR.
    """
    here = Path(os.path.realpath(cwd))
    home = Path(environment.get("HOME") or expand_user())
    return SkillBaseFolders(
        project=str(_find_checkout_root(here)),
        cwd=str(here),
        home=str(home),
        codex_home=environment.get("CODEX_HOME") or str(home / ".codex"),
        claude_home=environment.get("CLAUDE_CONFIG_DIR") or str(home / ".claude"),
        memorist_home=str(Path(memorist_home).expanduser()),
    )


def _find_checkout_root(here: Path) -> Path:
    """Return the root of this checkout.

    For a worktree that is its own root, not the main repository's, since its files are being worked
    on.
    """
    return next(
        (folder for folder in (here, *here.parents) if (folder / ".git").exists()),
        locate_project_root(here),
    )


def discover_skills(locations: SkillBaseFolders, settings: SkillsSettings) -> DiscoveredSkills:
    """Search all roots once."""
    return CachingSkillDiscovery(locations, settings).find_skills()


class CachingSkillDiscovery:
    """Searches repeatedly: unchanged files are not read again, unchanged folders not listed
    again.
    """

    def __init__(self, locations: SkillBaseFolders, settings: SkillsSettings) -> None:
        self._locations = locations
        self._settings = settings
        self._listings = CachedFolderListings()
        self._cache: dict[_CacheKey, tuple[Skill | UnusableSkillFile, ...]] = {}
        self._previous_cache: dict[_CacheKey, tuple[Skill | UnusableSkillFile, ...]] = {}
        self._manifests = PluginManifests()

    def find_skills(self) -> DiscoveredSkills:
        """Return the current skills.

        Never raises for a root's content: whatever is unreadable is a problem.
        """
        if not self._settings.enabled:
            return DiscoveredSkills()
        extra = [str(Path(expand_user(folder)).absolute()) for folder in self._settings.roots]
        project = os.path.realpath(self._locations.project or "/")
        skills: dict[str, Skill] = {}
        self._previous_cache, self._cache = self._cache, {}
        self._manifests = PluginManifests()
        plugins, wrong = list_plugin_skill_roots(self._locations, self._manifests)
        problems = {each.path: each for each in wrong}
        for root in list_skill_roots(self._locations, extra, plugins):
            for found in self._search_root(root):
                if isinstance(found, UnusableSkillFile):
                    problems.setdefault(found.path, found)
                else:
                    skills.setdefault(found.path, _remark_outside_link(found, project))
        self._previous_cache = {}
        off = set(self._settings.excluded)
        kept = [
            skill
            for skill in skills.values()
            if not (off and {skill.name, skill.path, skill.folder} & off)
        ]
        kept.sort(key=lambda skill: (SKILL_SCOPES.index(skill.scope), skill.name, skill.path))
        shown = [
            each for each in problems.values() if each.scope != "system" and each.path not in skills
        ]
        return DiscoveredSkills(
            tuple(kept),
            tuple(sorted(shown, key=lambda each: (SKILL_SCOPES.index(each.scope), each.path))),
        )

    def _search_root(self, root: SkillRoot) -> Iterator[Skill | UnusableSkillFile]:
        """Search one root breadth first; the queue holds real paths, so that each folder is entered
        once.
        """
        limits = self._settings
        if not path_or_link_exists(root.path):
            return
        top = os.path.realpath(root.path)
        shown = replace_undecodable_path_bytes(top)
        waiting, seen = deque([(top, 0, root.plugin)]), {top}
        folders = entries = 0
        while waiting:
            folder, depth, plugin = waiting.popleft()
            try:
                names = self._listings.list_names(folder, limits.entries - entries)
            except (OSError, ValueError) as error:
                if depth or not isinstance(error, FileNotFoundError | NotADirectoryError):
                    yield UnusableSkillFile(
                        replace_undecodable_path_bytes(folder),
                        root.scope,
                        f"the folder cannot be read: {describe_os_error(error)}",
                    )
                continue
            folders, entries = folders + 1, entries + len(names)
            if not _PLUGIN_FOLDERS.isdisjoint(names):
                plugin, wrong = self._find_plugin_name(folder, plugin, root.scope)
                yield from wrong
            if SKILL_FILE in names:
                yield from self._read_skill(
                    folder, SkillRoot(shown, root.scope, plugin), agents="agents" in names
                )
            if folders >= limits.folders or entries >= limits.entries:
                yield UnusableSkillFile(
                    shown,
                    root.scope,
                    f"the search stopped after {folders} folders and {entries} names; move "
                    f"other files out",
                )
                return
            for path, linked in (
                list_visible_subfolders(folder, names, follow=root.scope != "system")
                if depth < limits.depth
                else ()
            ):
                if path not in seen:
                    seen.add(path)
                    waiting.append(
                        (
                            path,
                            depth + 1,
                            (self._manifests.find_enclosing_plugin_name(path) or plugin)
                            if linked
                            else plugin,
                        )
                    )

    def _find_plugin_name(
        self, folder: str, outer: str, scope: SkillScope
    ) -> tuple[str, tuple[UnusableSkillFile, ...]]:
        """Return the name of the folder's plugin, else of the enclosing one, and its manifest's
        problems.
        """
        found = self._manifests.find_manifest(folder)
        if found is None or found[1].name:
            return (found[1].name if found else outer), ()
        return outer, (
            UnusableSkillFile(replace_undecodable_path_bytes(found[0]), scope, found[1].problem),
        )

    def _read_skill(
        self, folder: str, root: SkillRoot, *, agents: bool
    ) -> tuple[Skill | UnusableSkillFile, ...]:
        """Read a folder's SKILL.md and interface file, or return the cached result."""
        path, limit = f"{folder}/{SKILL_FILE}", self._settings.file_bytes
        shown = replace_undecodable_path_bytes(path)
        try:
            facts = read_file_facts(path)
            if isinstance(facts, str):
                return (UnusableSkillFile(shown, root.scope, facts),)
            shown = (
                replace_undecodable_path_bytes(facts.path)
                if facts.path.endswith(f"/{SKILL_FILE}")
                else shown
            )
            if facts.size > limit:
                return (
                    UnusableSkillFile(
                        shown, root.scope, f"it has {facts.size} bytes, {limit} are the most"
                    ),
                )
            near = _read_interface_facts(f"{folder}/{INTERFACE_FILE}") if agents else None
            key = (shown, facts, root, near)
            found = self._previous_cache.get(key) or self._cache.get(key)
            if found is None:
                interface = _read_interface(near)
                text = read_text_up_to_limit(facts.path, limit)
                skill = parse_skill(
                    text.replace("\r\n", "\n") if "\r" in text else text,
                    shown,
                    root.scope,
                    root.path,
                    root.plugin,
                    interface,
                )
                wrong = (
                    (
                        UnusableSkillFile(
                            replace_undecodable_path_bytes(f"{folder}/{INTERFACE_FILE}"),
                            root.scope,
                            interface.problem,
                        ),
                    )
                    if interface.problem
                    else ()
                )
                found = (skill, *wrong)
            self._cache[key] = found
        except (OSError, ValueError) as error:
            return (
                UnusableSkillFile(
                    shown, root.scope, f"it cannot be read: {describe_os_error(error)}"
                ),
            )
        return found


def _read_interface_facts(path: str) -> SkillFileFacts | str | None:
    """Return the facts of a skill's `agents/openai.yaml`, or why it is unusable; None where there
    is none.
    """
    try:
        found = read_file_facts(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        return f"it cannot be read: {describe_os_error(error)}"
    if isinstance(found, SkillFileFacts) and found.size > MAX_INTERFACE_BYTES:
        return f"it has {found.size} bytes, {MAX_INTERFACE_BYTES} are the most"
    return found


def _read_interface(facts: SkillFileFacts | str | None) -> SkillInterface:
    """Parse the interface file; an unusable one hides no skill."""
    if not isinstance(facts, SkillFileFacts):
        return SkillInterface(problem=facts or "")
    try:
        return parse_skill_interface(read_text_up_to_limit(facts.path, MAX_INTERFACE_BYTES))
    except OSError as error:
        return SkillInterface(problem=f"it cannot be read: {describe_os_error(error)}")


def _remark_outside_link(skill: Skill, project: str) -> Skill:
    """Add a remark where a link of the project leads out of it."""
    if skill.scope != "project" or skill.path.startswith(project.rstrip("/") + "/"):
        return skill
    return replace(skill, remarks=(*skill.remarks, "a link leads out of the project to it"))
