"""Instruction files as values: candidate paths, their text, what was loaded and what was not.

Pure (CX-4).

Two families: CLAUDE.md with rules and imports (claude-code.md section 2), and AGENTS.md from the
project's root down (codex.md section 3.2).
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path, PurePath, PurePosixPath
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from memorist.context.context_pieces import OmittedSource
from memorist.context.instruction_imports import (
    expand_braces,
    find_imports,
    is_path_like,
    matches_any_glob,
    strip_comments,
)
from memorist.context.instruction_reading import (
    InstructionRead,
    RealPathCache,
    find_project_root,
    read_instruction_text,
)
from memorist.core.markdown import split_front_matter
from memorist.core.token_count import estimate_text_tokens
from memorist.errors import StoreError
from memorist.ports import ReadableFileSystem
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.settings import ContextSettings

InstructionScope = Literal["managed", "user", "project", "local"]
LoadReason = Literal["session_start", "include", "path_glob_match", "nested_traversal"]
"""Why a file was loaded, in the terms of claude-code.md section 2.5."""

MANAGED_PATHS = {
    "linux": "/etc/claude-code/CLAUDE.md",
    "darwin": "/Library/Application Support/ClaudeCode/CLAUDE.md",
    "win32": "C:\\Program Files\\ClaudeCode\\CLAUDE.md",
}
"""Path of the managed file by platform (claude-code.md section 2.1)."""

SCOPE_REMARKS: dict[InstructionScope, str] = {
    "managed": "set by whoever manages this machine",
    "user": "the user's own, for every project",
    "project": "of the project, shared with its team",
    "local": "the user's own, for this project",
}


class InstructionCandidate(Struct, frozen=True):
    """A path that may hold instructions: one file, or a folder of rules."""

    path: PurePath
    scope: InstructionScope
    base: PurePath
    """The folder that rules' path scopes are relative to, and that a project's links must stay
    inside.
    """
    rules: bool = False


class InstructionFile(Struct, frozen=True, kw_only=True):
    """One file, or the included part of it, that goes into the context."""

    path: str
    scope: InstructionScope
    reason: LoadReason
    text: str
    """The text as shown: without comments and header, with tags in it neutralized."""
    tokens: int
    parent: str = ""
    """The file that imports it."""
    globs: tuple[str, ...] = ()
    """Its path scope."""
    size: int = 0
    """Bytes that it contributes."""
    cut: int = 0
    """Bytes that did not fit."""
    remarks: tuple[str, ...] = ()


class PendingRule(Struct, frozen=True):
    """A rule that waits until a file in its scope is read."""

    path: str
    globs: tuple[str, ...]
    problem: str = ""
    """What is wrong with its header."""


class InstructionReport(Struct, frozen=True, kw_only=True):
    """The report: what was loaded, in order; what is pending; and what was left out or cut, and
    why.
    """

    loaded: tuple[InstructionFile, ...] = ()
    pending: tuple[PendingRule, ...] = ()
    left_out: tuple[OmittedSource, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens of all loaded files."""
        return sum(file.tokens for file in self.loaded)


class InstructionRule(Struct, frozen=True):
    """A rule's path scope and text."""

    globs: tuple[str, ...]
    body: str
    problem: str = ""


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


def parse_rule(text: str) -> InstructionRule:
    """Split a rule file into its path scope (`paths` in its header: a list, or one line with
    commas) and its text.
    """
    document = split_front_matter(text)
    if document.front is None:
        return InstructionRule((), text)
    value = document.front.values.get("paths")
    if document.front.problem:
        raw = "".join(entry.raw for entry in document.front.entries if entry.key == "paths")
        return InstructionRule(_parse_unquoted_paths(raw), document.body, document.front.problem)
    if isinstance(value, str):
        return InstructionRule(_split_globs(value), document.body)
    if isinstance(value, list):
        return InstructionRule(
            tuple(glob.strip() for glob in value if isinstance(glob, str) and glob.strip()),
            document.body,
        )
    return InstructionRule((), document.body, "" if value is None else "its `paths` are no list")


def _parse_unquoted_paths(raw: str) -> tuple[str, ...]:
    """Read the patterns of a header that is not valid YAML: users write `paths: **/*.ts` without
    the quotes that a leading star needs.
    """
    first, *rest = raw.partition(":")[2].splitlines() or [""]
    if first.strip():
        return () if first.strip()[0] in "[{|>&!" else _split_globs(first.strip().strip("\"'"))
    items = (
        line.strip().removeprefix("-").strip().strip("\"'")
        for line in rest
        if line.strip().startswith("-")
    )
    return tuple(item for item in items if item)


def _split_globs(line: str) -> tuple[str, ...]:
    """Split one line of patterns at its commas, except inside braces."""
    found, depth = [""], 0
    for sign in line:
        depth += (sign == "{") - (sign == "}")
        if sign == "," and depth <= 0:
            found.append("")
        else:
            found[-1] += sign
    return tuple(glob for glob in (each.strip() for each in found) if glob)


def is_in_scope(globs: Sequence[str], base: PurePath, touched: Sequence[PurePath]) -> bool:
    """Tell whether one of the files that were read is in the rule's scope."""
    patterns = expand_braces(globs)
    return any(
        path.is_relative_to(base) and matches_any_glob(path.relative_to(base).as_posix(), patterns)
        for path in touched
    )


def is_excluded(path: PurePath, exclude: Sequence[str]) -> bool:
    """Tell whether a setting excludes the file."""
    return bool(exclude) and matches_any_glob(
        PurePosixPath(path.as_posix()).as_posix(), expand_braces(exclude)
    )


def prepare_instruction_text(text: str) -> tuple[str, tuple[str, ...]]:
    """Prepare a file's text for the model; return it with remarks on what was changed in it."""
    seen = strip_hidden_characters(text)
    remarks = () if seen == text else ("hidden characters were taken out",)
    plain = strip_comments(seen).strip()
    harmless = neutralize_markup(plain)
    if harmless != plain:
        remarks = (*remarks, "scaffold tags in it were made harmless")
    return harmless, remarks


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


def render_agents_files(report: InstructionReport) -> str:
    """Join the files of the AGENTS.md family, farthest first, without the wrapper."""
    return "\n\n".join(file.text for file in report.loaded)


def describe_agents_sources(report: InstructionReport) -> str:
    """Describe each file's part of the joined text."""
    return "; ".join(f"{file.path} ({file.size:,} bytes)" for file in report.loaded)


def truncate_bytes(data: bytes, room: int) -> bytes:
    """Return the start of the data, at most `room` bytes, cut on a character boundary."""
    return data if len(data) <= room else data[: max(0, room)].decode("utf-8", "ignore").encode()


def build_instruction_file(
    path: PurePath,
    scope: InstructionScope,
    reason: LoadReason,
    text: str,
    remarks: Sequence[str] = (),
) -> InstructionFile:
    """Build the entry of a loaded file, with its tokens counted."""
    seen, said = prepare_instruction_text(text)
    return InstructionFile(
        path=str(path),
        scope=scope,
        reason=reason,
        text=seen,
        tokens=estimate_text_tokens(seen),
        size=len(text.encode("utf-8", "replace")),
        remarks=(*remarks, *said),
    )


# Read the AGENTS.md family from disk: one file per folder from the project's root to the working
# folder, within a byte budget (CX-4).


def read_agents_files(
    folder: Path, files: ReadableFileSystem, settings: ContextSettings
) -> InstructionReport:
    """Read the user's own file, then those of the project, farthest first.

    What does not fit is cut at its end, and reported.

    Never raises for a missing, damaged or refused file: the report says so.
    """
    reader = _AgentsFilesReader(files, settings)
    reader.read_folders([Path(settings.agents_folder).expanduser()], "user", ())
    root = find_project_root(files, folder, settings.root_markers)
    with contextlib.suppress(StoreError):  # what is wrong with it is said of the files in it
        reader.real.resolve_folder(
            folder
        )  # the deepest first: where no link leads to it, none leads to those above
    above = [each for each in reversed((folder, *folder.parents)) if each.is_relative_to(root)]
    reader.read_folders(
        above, "project", () if settings.outside else (reader.real.resolve_folder(root),)
    )
    return InstructionReport(loaded=tuple(reader.loaded), left_out=tuple(reader.left_out))


class _AgentsFilesReader:
    def __init__(self, files: ReadableFileSystem, settings: ContextSettings) -> None:
        self._files = files
        self._settings = settings
        self.real = RealPathCache(files)
        self._seen: set[Path] = set()
        self.loaded: list[InstructionFile] = []
        self.left_out: list[OmittedSource] = []

    def read_folders(
        self, folders: Sequence[Path], scope: InstructionScope, inside: Sequence[Path]
    ) -> None:
        """Read one file of each folder, within one budget."""
        room = self._settings.agents_bytes
        for folder in folders:
            for name in self._settings.agents_names:
                size = self._read_one(folder / name, scope, inside, room)
                if size is not None:
                    room -= size
                    break

    def _read_one(
        self, path: Path, scope: InstructionScope, inside: Sequence[Path], room: int
    ) -> int | None:
        """Return the bytes the file uses; None if the folder's next name is to be tried."""
        read = read_instruction_text(
            self._files,
            self.real,
            path,
            limit=self._settings.agents_bytes + 1,
            inside=inside,
            whole=False,
        )
        if read.problem:
            self.left_out.append(OmittedSource(str(path), read.problem))
            return None
        if read.real is None or read.real in self._seen:
            return None
        data = read.data.strip()
        file = build_instruction_file(
            path, scope, "session_start", data.decode("utf-8", "replace"), read.remarks
        )
        if not file.text:
            self.left_out.append(OmittedSource(str(path), "it says nothing"))
            return None
        self._seen.add(read.real)
        kept = truncate_bytes(data, room)
        cut = max(read.size, len(data)) - len(kept) if len(kept) < len(data) else 0
        if cut:
            much = "all of it" if not kept else f"the last {cut:,} of {read.size:,} bytes"
            self.left_out.append(
                OmittedSource(
                    str(path),
                    f"{much}: the budget of {self._settings.agents_bytes:,} bytes is used up",
                )
            )
        if kept:
            part = (
                build_instruction_file(path, scope, "session_start", kept.decode(), read.remarks)
                if len(kept) < len(data)
                else file
            )
            self.loaded.append(replace(part, cut=cut))
        # After a cut nothing nearer is squeezed into the few bytes that may be left.
        return room if cut else len(kept)


# Read the CLAUDE.md family from disk: managed, user, project and local files, scoped rules, and
# imports (CX-4).


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
        user = Path(settings.user_folder).expanduser()
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
                facts = self._files.facts(below)
                if facts is None:
                    continue
                real = self._real.resolve_file(below, facts)
                facts = self._files.facts(real) if facts.is_link else facts
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
        if asked.candidate.scope != "managed" and is_excluded(asked.path, self._settings.exclude):
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
        if len(self._seen) >= self._settings.files:
            self._leave_out(
                asked.path,
                f"{self._settings.files:,} files are loaded already (context.files)",
                asked.parent,
            )
            return False
        self._seen.add(real)
        return True

    def _add_file(self, asked: _LoadRequest, read: InstructionRead) -> None:
        text = read.data.decode()
        reason, remarks = asked.reason, read.remarks
        globs: tuple[str, ...] = ()
        if asked.candidate.rules and not asked.parent:
            rule = parse_rule(text)
            if rule.globs and not is_in_scope(rule.globs, asked.candidate.base, self._touched):
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
        for name in find_imports(strip_comments(text)):
            self._import(name, asked)

    def _import(self, name: str, by: _LoadRequest) -> None:
        wanted = Path(name)
        path = wanted.expanduser() if name.startswith("~/") else by.path.parent / wanted
        if by.depth >= self._settings.hops:
            if self._exists(path):
                self._leave_out(
                    path, f"it is more than {self._settings.hops} imports away", str(by.path)
                )
            return
        if not self._exists(path):
            if is_path_like(name):
                self._leave_out(path, "it is not there", str(by.path))
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
            return self._files.facts(path) is not None
        except (StoreError, ValueError):
            return False
