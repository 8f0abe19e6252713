"""Discover skills on disk, and save drafts (SK-1, SK-3).

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

from memorist.auto_memory.place.run import project_root
from memorist.errors import InputError, StoreError
from memorist.ports import Files
from memorist.skills.beside import FILE_BYTES as BESIDE_BYTES
from memorist.skills.beside import FILE_NAME as BESIDE_NAME
from memorist.skills.beside import Beside, parse_beside
from memorist.skills.folders.run import Facts, Folders, below, facts_of, is_there, printable, reason, text_of
from memorist.skills.plugins.files import MANIFESTS
from memorist.skills.plugins.run import Manifests, plugin_roots
from memorist.skills.roots import Places, Root, roots
from memorist.skills.settings import SkillsSettings
from memorist.skills.skill import FILE_NAME, SCOPES, Problem, Scope, Skill, parse
from memorist.skills.skillify import Draft, is_safe_name

_Key = tuple[str, Facts, Root, Facts | str | None]
"""All that a parsed SKILL.md depends on: shown path, file facts, root and plugin, and the interface
file's facts.
"""

_PLUGIN_FOLDERS = frozenset(name.partition("/")[0] for name in MANIFESTS)


class Found(Struct, frozen=True):
    """The usable skills (project, user, system; then name and path), and what could not be used."""

    skills: tuple[Skill, ...] = ()
    problems: tuple[Problem, ...] = ()


def places_of(cwd: Path, environment: Mapping[str, str], memorist_home: str) -> Places:
    """Return the folders in which skills of this working folder are searched.

    `environment` may define CODEX_HOME and CLAUDE_CONFIG_DIR.
    """
    here = Path(os.path.realpath(cwd))
    home = Path(environment.get("HOME") or "~").expanduser()
    return Places(
        project=str(_checkout(here)),
        cwd=str(here),
        home=str(home),
        codex_home=environment.get("CODEX_HOME") or str(home / ".codex"),
        claude_home=environment.get("CLAUDE_CONFIG_DIR") or str(home / ".claude"),
        memorist_home=str(Path(memorist_home).expanduser()),
    )


def _checkout(here: Path) -> Path:
    """Return the root of this checkout.

    For a worktree that is its own root, not the main repository's, since its files are being worked
    on.
    """
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), project_root(here))


def discover(places: Places, settings: SkillsSettings) -> Found:
    """Search all roots once."""
    return SkillSearch(places, settings).found()


class SkillSearch:
    """Searches repeatedly: unchanged files are not read again, unchanged folders not listed again.
    """

    def __init__(self, places: Places, settings: SkillsSettings) -> None:
        self._places = places
        self._settings = settings
        self._folders = Folders()
        self._read: dict[_Key, tuple[Skill | Problem, ...]] = {}
        self._known: dict[_Key, tuple[Skill | Problem, ...]] = {}
        self._manifests = Manifests()

    def found(self) -> Found:
        """Return the current skills.

        Never raises for a root's content: whatever is unreadable is a problem.
        """
        if not self._settings.enabled:
            return Found()
        extra = [str(Path(folder).expanduser().absolute()) for folder in self._settings.roots]
        project = os.path.realpath(self._places.project or "/")
        skills: dict[str, Skill] = {}
        self._known, self._read = self._read, {}
        self._manifests = Manifests()
        plugins, wrong = plugin_roots(self._places, self._manifests)
        problems = {each.path: each for each in wrong}
        for root in roots(self._places, extra, plugins):
            for found in self._search(root):
                if isinstance(found, Problem):
                    problems.setdefault(found.path, found)
                else:
                    skills.setdefault(found.path, _placed(found, project))
        self._known = {}
        off = set(self._settings.off)
        kept = [skill for skill in skills.values() if not (off and {skill.name, skill.path, skill.folder} & off)]
        kept.sort(key=lambda skill: (SCOPES.index(skill.scope), skill.name, skill.path))
        told = [each for each in problems.values() if each.scope != "system" and each.path not in skills]
        return Found(tuple(kept), tuple(sorted(told, key=lambda each: (SCOPES.index(each.scope), each.path))))

    def _search(self, root: Root) -> Iterator[Skill | Problem]:
        """Search one root breadth first; the queue holds real paths, so that each folder is entered
        once.
        """
        limits = self._settings
        if not is_there(root.path):
            return
        top = os.path.realpath(root.path)
        shown = printable(top)
        waiting, seen = deque([(top, 0, root.plugin)]), {top}
        folders = entries = 0
        while waiting:
            folder, depth, plugin = waiting.popleft()
            try:
                names = self._folders.names(folder, limits.entries - entries)
            except (OSError, ValueError) as error:
                if depth or not isinstance(error, FileNotFoundError | NotADirectoryError):
                    yield Problem(printable(folder), root.scope, f"the folder cannot be read: {reason(error)}")
                continue
            folders, entries = folders + 1, entries + len(names)
            if not _PLUGIN_FOLDERS.isdisjoint(names):
                plugin, wrong = self._plugin(folder, plugin, root.scope)
                yield from wrong
            if FILE_NAME in names:
                yield from self._one(folder, Root(shown, root.scope, plugin), agents="agents" in names)
            if folders >= limits.folders or entries >= limits.entries:
                yield Problem(shown, root.scope, f"the search stopped after {folders} folders and {entries} names; move other files out")
                return
            for path, linked in below(folder, names, follow=root.scope != "system") if depth < limits.depth else ():
                if path not in seen:
                    seen.add(path)
                    waiting.append((path, depth + 1, (self._manifests.above(path) or plugin) if linked else plugin))

    def _plugin(self, folder: str, outer: str, scope: Scope) -> tuple[str, tuple[Problem, ...]]:
        """Return the name of the folder's plugin, else of the enclosing one, and its manifest's
        problems.
        """
        found = self._manifests.of(folder)
        if found is None or found[1].name:
            return (found[1].name if found else outer), ()
        return outer, (Problem(printable(found[0]), scope, found[1].problem),)

    def _one(self, folder: str, root: Root, *, agents: bool) -> tuple[Skill | Problem, ...]:
        """Read a folder's SKILL.md and interface file, or return the cached result."""
        path, limit = f"{folder}/{FILE_NAME}", self._settings.file_bytes
        shown = printable(path)
        try:
            facts = facts_of(path)
            if isinstance(facts, str):
                return (Problem(shown, root.scope, facts),)
            shown = printable(facts.path) if facts.path.endswith(f"/{FILE_NAME}") else shown
            if facts.size > limit:
                return (Problem(shown, root.scope, f"it has {facts.size} bytes, {limit} are the most"),)
            near = _facts_beside(f"{folder}/{BESIDE_NAME}") if agents else None
            key = (shown, facts, root, near)
            found = self._known.get(key) or self._read.get(key)
            if found is None:
                beside = _beside(near)
                text = text_of(facts.path, limit)
                skill = parse(text.replace("\r\n", "\n") if "\r" in text else text, shown, root.scope, root.path, root.plugin, beside)
                wrong = (Problem(printable(f"{folder}/{BESIDE_NAME}"), root.scope, beside.problem),) if beside.problem else ()
                found = (skill, *wrong)
            self._read[key] = found
        except (OSError, ValueError) as error:
            return (Problem(shown, root.scope, f"it cannot be read: {reason(error)}"),)
        return found


def _facts_beside(path: str) -> Facts | str | None:
    """Return the facts of a skill's `agents/openai.yaml`, or why it is unusable; None where there
    is none.
    """
    try:
        found = facts_of(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        return f"it cannot be read: {reason(error)}"
    if isinstance(found, Facts) and found.size > BESIDE_BYTES:
        return f"it has {found.size} bytes, {BESIDE_BYTES} are the most"
    return found


def _beside(facts: Facts | str | None) -> Beside:
    """Parse the interface file; an unusable one hides no skill."""
    if not isinstance(facts, Facts):
        return Beside(problem=facts or "")
    try:
        return parse_beside(text_of(facts.path, BESIDE_BYTES))
    except OSError as error:
        return Beside(problem=f"it cannot be read: {reason(error)}")


def _placed(skill: Skill, project: str) -> Skill:
    """Add a remark where a link of the project leads out of it."""
    if skill.scope != "project" or skill.path.startswith(project.rstrip("/") + "/"):
        return skill
    return replace(skill, remarks=(*skill.remarks, "a link leads out of the project to it"))


def save(draft: Draft, folder: Path, files: Files) -> Path:
    """Write a draft to `FOLDER/NAME/SKILL.md`, which must not exist; returns the path.

    Raises InputError when the file exists or the name is not a plain one, and StoreError.
    """
    if not is_safe_name(draft.name):
        raise InputError(f"{draft.name!r} cannot be a skill's name: lowercase letters, digits and hyphens make one, at most 64")
    path = folder / draft.name / FILE_NAME
    try:
        made = files.create(path, draft.text.encode("utf-8", "replace"))
    except StoreError as error:
        raise StoreError(f"{error} The draft was not saved.") from error
    if not made:
        raise InputError(f"{path} exists and stays as it is; give the skill another --name")
    return path


def saved_in(places: Places, scope: str) -> Path:
    """Return the folder for drafts: the project's or user's `.agents/skills`, which both families
    can read.
    """
    return Path(places.project if scope == "project" else places.home) / ".agents" / "skills"
