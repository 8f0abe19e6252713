"""Read the CLAUDE.md family from disk: managed, user, project and local files, scoped rules, and
imports (CX-4).
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.context.imports import imports, looks_like_a_path, without_comments
from memorist.context.instructions import (
    MANAGED,
    Candidate,
    Instructions,
    Loaded,
    Reason,
    Scoped,
    claude_candidates,
    excluded,
    in_scope,
    loaded,
    nested_candidates,
    rule_of,
)
from memorist.context.piece import LeftOut
from memorist.context.reading.run import Read, RealPaths, project_root, read_text
from memorist.context.settings import ContextSettings
from memorist.errors import StoreError
from memorist.ports import ReadableFiles

_RULES = 1_000
"""Upper bound of files in one folder of rules."""
_LINKS = 16
"""Upper bound of linked folders followed below one folder of rules."""


class _Asked(Struct, frozen=True, kw_only=True):
    """One file to load."""

    path: Path
    candidate: Candidate
    reason: Reason
    parent: str = ""
    depth: int = 0
    inside: tuple[Path, ...] = ()


def read_claude_files(folder: Path, files: ReadableFiles, settings: ContextSettings, *, touched: Sequence[Path] = ()) -> Instructions:
    """Read every instruction file for a session in the folder.

    `touched` are files that were read: rules in their scope, and the instruction files of their
    folders, are loaded too. Never raises for a missing, damaged or refused file: the report says
    so.
    """
    return _Reader(folder, files, settings, touched).read()


class _Reader:
    def __init__(self, folder: Path, files: ReadableFiles, settings: ContextSettings, touched: Sequence[Path]) -> None:
        self._folder = folder
        self._files = files
        self._settings = settings
        self._touched = touched
        self._seen: set[Path] = set()
        self._real = RealPaths(files)
        self._loaded: list[Loaded] = []
        self._waiting: list[Scoped] = []
        self._left_out: list[LeftOut] = []

    def read(self) -> Instructions:
        settings = self._settings
        managed = settings.managed or MANAGED.get(sys.platform, MANAGED["linux"])
        root = project_root(self._files, self._folder, settings.root_markers)
        with contextlib.suppress(StoreError):  # what is wrong with it is said of the files in it
            self._real.folder(self._folder)  # the deepest first: where no link leads to it, none leads to those above
        user = Path(settings.user_folder).expanduser()
        for candidate in claude_candidates(self._folder, user, Path(managed).expanduser(), root):
            self._look(candidate, "session_start", root)
        for candidate in nested_candidates(self._folder, self._touched, root):
            self._look(candidate, "nested_traversal", root)
        return Instructions(loaded=tuple(self._loaded), waiting=tuple(self._waiting), left_out=tuple(self._left_out))

    def _look(self, candidate: Candidate, reason: Reason, root: Path) -> None:
        inside = self._inside(candidate, root)
        for path in self._rules(Path(candidate.path)) if candidate.rules else [Path(candidate.path)]:
            self._load(_Asked(path=path, candidate=candidate, reason=reason, inside=inside))

    def _inside(self, candidate: Candidate, root: Path) -> tuple[Path, ...]:
        """Return the real folders a project's own files must lie in; nothing for user and managed
        files.
        """
        if self._settings.outside or candidate.scope in {"managed", "user"}:
            return ()
        base = Path(candidate.base)
        inner = root if base.is_relative_to(root) else base
        return (self._real.folder(inner),)

    def _rules(self, folder: Path) -> list[Path]:
        """List every Markdown file of a folder of rules, following folder links, each
        folder once.
        """
        found: list[Path] = []
        waiting, seen = [folder], set[Path]()
        while waiting and len(seen) < _LINKS:
            below = waiting.pop(0)
            try:
                facts = self._files.facts(below)
                if facts is None:
                    continue
                real = self._real.of(below, facts)
                facts = self._files.facts(real) if facts.is_link else facts
                if real in seen or facts is None or not facts.is_folder:
                    continue
                seen.add(real)
                for name, entry in self._files.scan(real, limit=_RULES):
                    if name.endswith(".md"):
                        found.append(below / name)
                    elif entry.is_link:
                        waiting.append(below / name)
            except (FileNotFoundError, StoreError) as error:
                if isinstance(error, StoreError):
                    self._leave_out(below, str(error))
        return sorted(found)

    def _leave_out(self, path: Path, why: str, parent: str = "") -> None:
        self._left_out.append(LeftOut(str(path), f"{why} (imported by {parent})" if parent else why))

    def _load(self, asked: _Asked) -> None:
        if asked.candidate.scope != "managed" and excluded(asked.path, self._settings.exclude):
            self._leave_out(asked.path, "a setting excludes it (context.exclude)", asked.parent)
            return
        read = read_text(self._files, self._real, asked.path, limit=self._settings.file_bytes, inside=asked.inside)
        if read.problem:
            self._leave_out(asked.path, read.problem, asked.parent)
        elif read.real is not None and self._is_new(asked, read.real):
            self._take(asked, read)

    def _is_new(self, asked: _Asked, real: Path) -> bool:
        if real in self._seen:
            if asked.parent:
                self._leave_out(asked.path, "it is loaded already", asked.parent)
            return False
        if len(self._seen) >= self._settings.files:
            self._leave_out(asked.path, f"{self._settings.files:,} files are loaded already (context.files)", asked.parent)
            return False
        self._seen.add(real)
        return True

    def _take(self, asked: _Asked, read: Read) -> None:
        text = read.data.decode()
        reason, remarks = asked.reason, read.remarks
        globs: tuple[str, ...] = ()
        if asked.candidate.rules and not asked.parent:
            rule = rule_of(text)
            if rule.globs and not in_scope(rule.globs, asked.candidate.base, self._touched):
                self._waiting.append(Scoped(str(asked.path), rule.globs, rule.problem))
                return
            text, globs = rule.body, rule.globs
            reason = "path_glob_match" if globs else reason
            remarks = (*remarks, rule.problem) if rule.problem else remarks
        file = replace(loaded(asked.path, asked.candidate.scope, reason, text, remarks), parent=asked.parent, globs=globs)
        if not file.text:
            self._leave_out(asked.path, "it says nothing", asked.parent)
            return
        self._loaded.append(file)
        for name in imports(without_comments(text)):
            self._import(name, asked)

    def _import(self, name: str, by: _Asked) -> None:
        wanted = Path(name)
        path = wanted.expanduser() if name.startswith("~/") else by.path.parent / wanted
        if by.depth >= self._settings.hops:
            if self._is_there(path):
                self._leave_out(path, f"it is more than {self._settings.hops} imports away", str(by.path))
            return
        if not self._is_there(path):
            if looks_like_a_path(name):
                self._leave_out(path, "it is not there", str(by.path))
            return
        self._load(_Asked(path=path, candidate=by.candidate, reason="include", parent=str(by.path), depth=by.depth + 1, inside=by.inside))

    def _is_there(self, path: Path) -> bool:
        try:
            return self._files.facts(path) is not None
        except (StoreError, ValueError):
            return False
