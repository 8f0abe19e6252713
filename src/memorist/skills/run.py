"""Finding skills on disk, and saving a draft (SK-1, SK-3).

Every limit holds for one root: a link into a whole disk costs no more than the limits. Links to folders are followed, except in the system's
roots; each real folder is gone into once, so that a cycle ends.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.place.run import project_root
from memorist.errors import InputError, StoreError
from memorist.ports import Files
from memorist.skills.roots import Places, Root, roots
from memorist.skills.settings import SkillsSettings
from memorist.skills.skill import FILE_NAME, SCOPES, Problem, Scope, Skill, parse
from memorist.skills.skillify import Draft, is_safe_name


class Found(Struct, frozen=True):
    """The usable skills, project before user before system, then by name and path; and what could not be used."""

    skills: tuple[Skill, ...] = ()
    problems: tuple[Problem, ...] = ()


def places_of(cwd: Path, environment: Mapping[str, str], memorist_home: str) -> Places:
    """The folders that skills of this working folder are looked for in. `environment` may name CODEX_HOME and CLAUDE_CONFIG_DIR."""
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
    """The root of this checkout: of a worktree itself, not of the repository it belongs to, since its files are what is worked on."""
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), project_root(here))


def discover(places: Places, settings: SkillsSettings) -> Found:
    """Look for skills in every root, once."""
    return SkillSearch(places, settings).found()


class SkillSearch:
    """Looks for skills, again and again: a file that is as it was is not read anew."""

    def __init__(self, places: Places, settings: SkillsSettings) -> None:
        self._places = places
        self._settings = settings
        self._read: dict[tuple[str, int, int, Scope], Skill | Problem] = {}

    def found(self) -> Found:
        """The skills as they are now. Never raises for what stands in the roots: what cannot be read is a problem of its own."""
        if not self._settings.enabled:
            return Found()
        extra = [str(Path(folder).expanduser().absolute()) for folder in self._settings.roots]
        project = os.path.realpath(self._places.project or "/")
        skills: dict[str, Skill] = {}
        problems: dict[str, Problem] = {}
        known, self._read = self._read, {}
        for root in roots(self._places, extra):
            for found in self._search(root, known):
                if isinstance(found, Problem):
                    problems.setdefault(found.path, found)
                else:
                    skills.setdefault(found.path, _placed(found, project))
        off = set(self._settings.off)
        kept = [skill for skill in skills.values() if not {skill.name, skill.path, skill.folder} & off]
        kept.sort(key=lambda skill: (SCOPES.index(skill.scope), skill.name, skill.path))
        told = [each for each in problems.values() if each.scope != "system" and each.path not in skills]
        return Found(tuple(kept), tuple(sorted(told, key=lambda each: (SCOPES.index(each.scope), each.path))))

    def _search(self, root: Root, known: dict[tuple[str, int, int, Scope], Skill | Problem]) -> Iterator[Skill | Problem]:
        """Everything below one root, breadth first; the queue holds real paths, so that each folder is gone into once."""
        limits = self._settings
        top = os.path.realpath(root.path)
        waiting, seen = deque([(top, 0)]), {top}
        folders = entries = 0
        while waiting:
            folder, depth = waiting.popleft()
            try:
                names = _names(folder, limits.entries - entries)
            except (OSError, ValueError) as error:
                if depth or not isinstance(error, FileNotFoundError | NotADirectoryError):
                    yield Problem(_printable(folder), root.scope, f"the folder cannot be read: {_reason(error)}")
                continue
            folders, entries = folders + 1, entries + len(names)
            if FILE_NAME in names:
                yield self._one(f"{folder}/{FILE_NAME}", root, _printable(top), known)
            if folders >= limits.folders or entries >= limits.entries:
                yield Problem(
                    _printable(top), root.scope, f"the search stopped after {folders} folders and {entries} names; move other files out"
                )
                return
            below = _below(folder, names, follow=root.scope != "system") if depth < limits.depth else []
            waiting.extend((path, depth + 1) for path in below if path not in seen)
            seen.update(below)

    def _one(self, path: str, root: Root, top: str, known: dict[tuple[str, int, int, Scope], Skill | Problem]) -> Skill | Problem:
        """One SKILL.md: read anew, or as it is known."""
        shown, limit = _printable(path), self._settings.file_bytes
        try:
            if Path(path).is_symlink():
                real = os.path.realpath(path, strict=True)
                path = real
                shown = _printable(real) if real.endswith(f"/{FILE_NAME}") else shown
            facts = Path(path).stat()
            if not stat.S_ISREG(facts.st_mode):
                return Problem(shown, root.scope, "it is no ordinary file")
            if facts.st_size > limit:
                return Problem(shown, root.scope, f"it has {facts.st_size} bytes, {limit} are the most")
            key = (shown, facts.st_size, facts.st_mtime_ns, root.scope)
            if key not in known:
                with Path(path).open("rb") as file:
                    text = file.read(limit).decode("utf-8", "replace")
                self._read[key] = parse(text.replace("\r\n", "\n"), shown, root.scope, top)
            else:
                self._read[key] = known[key]
        except (OSError, ValueError) as error:
            return Problem(shown, root.scope, f"it cannot be read: {_reason(error)}")
        return self._read[key]


def _placed(skill: Skill, project: str) -> Skill:
    """The skill, with a remark where a link of the project led out of it."""
    if skill.scope != "project" or skill.path.startswith(project.rstrip("/") + "/"):
        return skill
    return replace(skill, remarks=(*skill.remarks, "a link leads out of the project to it"))


def _names(folder: str, limit: int) -> dict[str, str]:
    """The names in a folder, at most so many, each with its kind: `folder`, `link`, or nothing."""
    found: dict[str, str] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            if len(found) >= limit:
                break
            found[entry.name] = "link" if entry.is_symlink() else "folder" if entry.is_dir(follow_symlinks=False) else ""
    return found


def _below(folder: str, names: Mapping[str, str], *, follow: bool) -> list[str]:
    """Real paths of the folders in a folder, hidden ones left out."""
    found = []
    for name in sorted(names):
        path = f"{folder.rstrip('/')}/{name}"
        if name.startswith(".") or not names[name] or (names[name] == "link" and not (follow and Path(path).is_dir())):
            continue
        found.append(os.path.realpath(path) if names[name] == "link" else path)
    return found


def _printable(path: str) -> str:
    """The path with a sign in place of each byte that is no UTF-8."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "replace")


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def save(draft: Draft, folder: Path, files: Files) -> Path:
    """Write a draft to `FOLDER/NAME/SKILL.md`, which must not exist. Returns the path.

    Raises InputError when there is something already or the name is no plain one, and StoreError.
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
    """The folder that drafts are saved in: the project's or the user's own `.agents/skills`, which both families look in or can be linked to."""
    return Path(places.project if scope == "project" else places.home) / ".agents" / "skills"
