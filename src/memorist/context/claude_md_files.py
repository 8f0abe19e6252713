"""CLAUDE.md files, their rules and imports: candidate paths, loading, and how one is rendered
(CX-4; Claude Code).
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path, PurePath

from msgspec import Struct
from msgspec.structs import replace

from memorist.context.context_pieces import OmittedSource
from memorist.context.instruction_reading import (
    InstructionFileReadResult,
    RealPathCache,
    find_instruction_import_problem,
    find_instruction_imports,
    find_project_root,
    read_instruction_text,
    resolve_instruction_import,
    strip_html_comments,
)
from memorist.context.instruction_report import (
    MANAGED_PATHS,
    SCOPE_REMARKS,
    InstructionCandidate,
    InstructionFile,
    InstructionReport,
    LoadReason,
    PendingRule,
    build_instruction_file,
)
from memorist.context.instruction_scope import (
    is_instruction_file_excluded,
    is_rule_in_scope,
    parse_instruction_rule,
)
from memorist.errors import StoreError
from memorist.platforms.user_home import expand_user
from memorist.ports import ReadableFileSystem
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.settings import ContextSettings


def list_claude_candidates(
    folder: PurePath, user: PurePath, managed: PurePath | None, root: PurePath
) -> tuple[InstructionCandidate, ...]:
    """List every candidate of the CLAUDE.md family in order; nearer ones come later and so take
    precedence. `root` is the project's root folder.
    """
    found = (
        [InstructionCandidate(managed, "managed", managed.parent)] if managed is not None else []
    )
    found += [
        InstructionCandidate(user / "CLAUDE.md", "user", user),
        InstructionCandidate(user / "rules", "user", user, rules=True),
    ]
    for above in reversed((folder, *folder.parents)):
        found += _folder_candidates(above, root)
    # In the user's home folder, `.claude` is the user's own folder: it is not a project's too.
    own = {user / "CLAUDE.md", user / "rules"}
    return tuple(
        each for each in found if each.scope in {"managed", "user"} or each.path not in own
    )


def list_nested_candidates(
    folder: PurePath, touched: Sequence[PurePath], root: PurePath
) -> tuple[InstructionCandidate, ...]:
    """List candidates in folders below the working folder in which a file was read,
    farthest first.
    """
    below: dict[PurePath, None] = {}
    for path in touched:
        between = [
            above for above in path.parents if above.is_relative_to(folder) and above != folder
        ]
        below.update(dict.fromkeys(reversed(between)))
    return tuple(each for above in below for each in _folder_candidates(above, root))


def _folder_candidates(folder: PurePath, root: PurePath) -> list[InstructionCandidate]:
    base = root if folder.is_relative_to(root) else folder
    return [
        InstructionCandidate(folder / "CLAUDE.md", "project", base),
        InstructionCandidate(folder / ".claude" / "CLAUDE.md", "project", base),
        InstructionCandidate(folder / ".claude" / "rules", "project", folder, rules=True),
        InstructionCandidate(folder / "CLAUDE.local.md", "local", base),
    ]


def render_claude_file(file: InstructionFile) -> str:
    """Render one file of the CLAUDE.md family for its reminder, without the tag."""
    imported = f", imported by {_line(file.parent)}" if file.parent else ""
    scope = f", for {', '.join(map(_line, file.globs))}" if file.globs else ""
    return (
        f"[memorist] Instructions from {_line(file.path)} "
        f"({SCOPE_REMARKS[file.scope]}{imported}{scope}):\n\n{file.text}"
    )


def _line(text: str) -> str:
    return neutralize_markup(strip_hidden_characters(" ".join(text.split())))


_MAX_RULES = 1_000
"""Upper bound of files in one folder of rules."""


_MAX_LINKS = 16
"""Upper bound of linked folders followed below one folder of rules."""


class _LoadRequest(Struct, frozen=True, kw_only=True):
    """One file to load."""

    path: Path
    candidate: InstructionCandidate
    reason: LoadReason
    parent: str = ""
    depth: int = 0
    inside: tuple[Path, ...] = ()


def read_claude_files(
    folder: Path,
    files: ReadableFileSystem,
    settings: ContextSettings,
    *,
    touched: Sequence[Path] = (),
) -> InstructionReport:
    """Read every instruction file for a session in the folder.

    `touched` are files that were read: rules in their scope, and the instruction files of their
    folders, are loaded too. Never raises for a missing, damaged or refused file: the report says
    so.
    """
    return _ClaudeFilesReader(folder, files, settings, touched).read()


class _ClaudeFilesReader:
    def __init__(
        self,
        folder: Path,
        files: ReadableFileSystem,
        settings: ContextSettings,
        touched: Sequence[Path],
    ) -> None:
        self._folder = folder
        self._files = files
        self._settings = settings
        self._touched = touched
        self._seen: set[Path] = set()
        self._real = RealPathCache(files)
        self._loaded: list[InstructionFile] = []
        self._waiting: list[PendingRule] = []
        self._left_out: list[OmittedSource] = []

    def read(self) -> InstructionReport:
        settings = self._settings
        managed = settings.managed or MANAGED_PATHS.get(sys.platform, MANAGED_PATHS["linux"])
        root = find_project_root(self._files, self._folder, settings.root_markers)
        with contextlib.suppress(StoreError):  # what is wrong with it is said of the files in it
            self._real.resolve_folder(
                self._folder
            )  # the deepest first: where no link leads to it, none leads to those above
        user = Path(expand_user(settings.user_folder))
        for candidate in list_claude_candidates(
            self._folder, user, Path(managed).expanduser(), root
        ):
            self._read_candidate(candidate, "session_start", root)
        for candidate in list_nested_candidates(self._folder, self._touched, root):
            self._read_candidate(candidate, "nested_traversal", root)
        return InstructionReport(
            loaded=tuple(self._loaded), pending=tuple(self._waiting), left_out=tuple(self._left_out)
        )

    def _read_candidate(
        self, candidate: InstructionCandidate, reason: LoadReason, root: Path
    ) -> None:
        inside = self._allowed_roots(candidate, root)
        for path in (
            self._list_rules(Path(candidate.path)) if candidate.rules else [Path(candidate.path)]
        ):
            self._load(_LoadRequest(path=path, candidate=candidate, reason=reason, inside=inside))

    def _allowed_roots(self, candidate: InstructionCandidate, root: Path) -> tuple[Path, ...]:
        """Return the real folders a project's own files must lie in; nothing for user and managed
        files.
        """
        if self._settings.outside or candidate.scope in {"managed", "user"}:
            return ()
        base = Path(candidate.base)
        inner = root if base.is_relative_to(root) else base
        return (self._real.resolve_folder(inner),)

    def _list_rules(self, folder: Path) -> list[Path]:
        """List every Markdown file of a folder of rules, following folder links, each
        folder once.
        """
        found: list[Path] = []
        waiting, seen = [folder], set[Path]()
        while waiting and len(seen) < _MAX_LINKS:
            below = waiting.pop(0)
            try:
                facts = self._files.lstat(below)
                if facts is None:
                    continue
                real = self._real.resolve_file(below, facts)
                facts = self._files.lstat(real) if facts.is_link else facts
                if real in seen or facts is None or not facts.is_folder:
                    continue
                seen.add(real)
                for name, entry in self._files.scan(real, limit=_MAX_RULES):
                    if name.endswith(".md"):
                        found.append(below / name)
                    elif entry.is_link:
                        waiting.append(below / name)
            except (FileNotFoundError, StoreError) as error:
                if isinstance(error, StoreError):
                    self._leave_out(below, str(error))
        return sorted(found)

    def _leave_out(self, path: Path, why: str, parent: str = "") -> None:
        self._left_out.append(
            OmittedSource(str(path), f"{why} (imported by {parent})" if parent else why)
        )

    def _load(self, asked: _LoadRequest) -> None:
        if asked.candidate.scope != "managed" and is_instruction_file_excluded(
            asked.path, self._settings.exclude
        ):
            self._leave_out(asked.path, "a setting excludes it (context.exclude)", asked.parent)
            return
        read = read_instruction_text(
            self._files,
            self._real,
            asked.path,
            limit=self._settings.file_bytes,
            inside=asked.inside,
        )
        if read.problem:
            self._leave_out(asked.path, read.problem, asked.parent)
        elif read.real is not None and self._is_new(asked, read.real):
            self._add_file(asked, read)

    def _is_new(self, asked: _LoadRequest, real: Path) -> bool:
        if real in self._seen:
            if asked.parent:
                self._leave_out(asked.path, "it is loaded already", asked.parent)
            return False
        if len(self._seen) >= self._settings.instruction_files:
            self._leave_out(
                asked.path,
                f"{self._settings.instruction_files:,} files are loaded already "
                "(context.instruction_files)",
                asked.parent,
            )
            return False
        self._seen.add(real)
        return True

    def _add_file(self, asked: _LoadRequest, read: InstructionFileReadResult) -> None:
        text = read.data.decode()
        reason, remarks = asked.reason, read.remarks
        globs: tuple[str, ...] = ()
        if asked.candidate.rules and not asked.parent:
            rule = parse_instruction_rule(text)
            if rule.globs and not is_rule_in_scope(rule.globs, asked.candidate.base, self._touched):
                self._waiting.append(PendingRule(str(asked.path), rule.globs, rule.problem))
                return
            text, globs = rule.body, rule.globs
            reason = "path_glob_match" if globs else reason
            remarks = (*remarks, rule.problem) if rule.problem else remarks
        file = replace(
            build_instruction_file(asked.path, asked.candidate.scope, reason, text, remarks),
            parent=asked.parent,
            globs=globs,
        )
        if not file.text:
            self._leave_out(asked.path, "it says nothing", asked.parent)
            return
        self._loaded.append(file)
        for name in find_instruction_imports(strip_html_comments(text)):
            self._import(name, asked)

    def _import(self, name: str, by: _LoadRequest) -> None:
        path = resolve_instruction_import(name, by.path)
        exists = self._exists(path)
        problem = find_instruction_import_problem(
            name, by.depth, self._settings.import_depth, exists=exists
        )
        if problem:
            self._leave_out(path, problem, str(by.path))
        if problem or not exists:
            return
        self._load(
            _LoadRequest(
                path=path,
                candidate=by.candidate,
                reason="include",
                parent=str(by.path),
                depth=by.depth + 1,
                inside=by.inside,
            )
        )

    def _exists(self, path: Path) -> bool:
        try:
            return self._files.lstat(path) is not None
        except (StoreError, ValueError):
            return False
