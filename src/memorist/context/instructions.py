"""Instruction files as values: candidate paths, their text, what was loaded and what was not.

Pure (CX-4).

Two families: CLAUDE.md with rules and imports (claude-code.md section 2), and AGENTS.md from the
project's root down (codex.md section 3.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath, PurePosixPath
from typing import Literal

from msgspec import Struct

from memorist.context.globs import expand, matches
from memorist.context.imports import without_comments
from memorist.context.piece import LeftOut
from memorist.core.front_matter import split
from memorist.core.tokens import estimate_text
from memorist.safety.data import neutralise
from memorist.safety.hidden import visible

Scope = Literal["managed", "user", "project", "local"]
Reason = Literal["session_start", "include", "path_glob_match", "nested_traversal"]
"""Why a file was loaded, in the terms of claude-code.md section 2.5."""

MANAGED = {
    "linux": "/etc/claude-code/CLAUDE.md",
    "darwin": "/Library/Application Support/ClaudeCode/CLAUDE.md",
    "win32": "C:\\Program Files\\ClaudeCode\\CLAUDE.md",
}
"""Path of the managed file by platform (claude-code.md section 2.1)."""

REMARKS: dict[Scope, str] = {
    "managed": "set by whoever manages this machine",
    "user": "the user's own, for every project",
    "project": "of the project, shared with its team",
    "local": "the user's own, for this project",
}


class Candidate(Struct, frozen=True):
    """A path that may hold instructions: one file, or a folder of rules."""

    path: PurePath
    scope: Scope
    base: PurePath
    """The folder that rules' path scopes are relative to, and that a project's links must stay
    inside.
    """
    rules: bool = False


class Loaded(Struct, frozen=True, kw_only=True):
    """One file, or the included part of it, that goes into the context."""

    path: str
    scope: Scope
    reason: Reason
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


class Scoped(Struct, frozen=True):
    """A rule that waits until a file in its scope is read."""

    path: str
    globs: tuple[str, ...]
    problem: str = ""
    """What is wrong with its header."""


class Instructions(Struct, frozen=True, kw_only=True):
    """The report: what was loaded, in order; what is pending; and what was left out or cut, and
    why.
    """

    loaded: tuple[Loaded, ...] = ()
    waiting: tuple[Scoped, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens of all loaded files."""
        return sum(file.tokens for file in self.loaded)


class Rule(Struct, frozen=True):
    """A rule's path scope and text."""

    globs: tuple[str, ...]
    body: str
    problem: str = ""


def claude_candidates(folder: PurePath, user: PurePath, managed: PurePath | None, root: PurePath) -> tuple[Candidate, ...]:
    """List every candidate of the CLAUDE.md family in order; nearer ones come later and so take
    precedence. `root` is the project's root folder.
    """
    found = [Candidate(managed, "managed", managed.parent)] if managed is not None else []
    found += [Candidate(user / "CLAUDE.md", "user", user), Candidate(user / "rules", "user", user, rules=True)]
    for above in reversed((folder, *folder.parents)):
        found += _of_folder(above, root)
    # In the user's home folder, `.claude` is the user's own folder: it is not a project's too.
    own = {user / "CLAUDE.md", user / "rules"}
    return tuple(each for each in found if each.scope in {"managed", "user"} or each.path not in own)


def nested_candidates(folder: PurePath, touched: Sequence[PurePath], root: PurePath) -> tuple[Candidate, ...]:
    """List candidates in folders below the working folder in which a file was read,
    farthest first.
    """
    below: dict[PurePath, None] = {}
    for path in touched:
        between = [above for above in path.parents if above.is_relative_to(folder) and above != folder]
        below.update(dict.fromkeys(reversed(between)))
    return tuple(each for above in below for each in _of_folder(above, root))


def _of_folder(folder: PurePath, root: PurePath) -> list[Candidate]:
    base = root if folder.is_relative_to(root) else folder
    return [
        Candidate(folder / "CLAUDE.md", "project", base),
        Candidate(folder / ".claude" / "CLAUDE.md", "project", base),
        Candidate(folder / ".claude" / "rules", "project", folder, rules=True),
        Candidate(folder / "CLAUDE.local.md", "local", base),
    ]


def rule_of(text: str) -> Rule:
    """Split a rule file into its path scope (`paths` in its header: a list, or one line with
    commas) and its text.
    """
    document = split(text)
    if document.front is None:
        return Rule((), text)
    value = document.front.values.get("paths")
    if document.front.problem:
        raw = "".join(entry.raw for entry in document.front.entries if entry.key == "paths")
        return Rule(_lenient(raw), document.body, document.front.problem)
    if isinstance(value, str):
        return Rule(_globs(value), document.body)
    if isinstance(value, list):
        return Rule(tuple(glob.strip() for glob in value if isinstance(glob, str) and glob.strip()), document.body)
    return Rule((), document.body, "" if value is None else "its `paths` are no list")


def _lenient(raw: str) -> tuple[str, ...]:
    """Read the patterns of a header that is not valid YAML: users write `paths: **/*.ts` without
    the quotes that a leading star needs.
    """
    first, *rest = raw.partition(":")[2].splitlines() or [""]
    if first.strip():
        return () if first.strip()[0] in "[{|>&!" else _globs(first.strip().strip("\"'"))
    items = (line.strip().removeprefix("-").strip().strip("\"'") for line in rest if line.strip().startswith("-"))
    return tuple(item for item in items if item)


def _globs(line: str) -> tuple[str, ...]:
    """Split one line of patterns at its commas, except inside braces."""
    found, depth = [""], 0
    for sign in line:
        depth += (sign == "{") - (sign == "}")
        if sign == "," and depth <= 0:
            found.append("")
        else:
            found[-1] += sign
    return tuple(glob for glob in (each.strip() for each in found) if glob)


def in_scope(globs: Sequence[str], base: PurePath, touched: Sequence[PurePath]) -> bool:
    """Tell whether one of the files that were read is in the rule's scope."""
    patterns = expand(globs)
    return any(path.is_relative_to(base) and matches(path.relative_to(base).as_posix(), patterns) for path in touched)


def excluded(path: PurePath, exclude: Sequence[str]) -> bool:
    """Tell whether a setting excludes the file."""
    return bool(exclude) and matches(PurePosixPath(path.as_posix()).as_posix(), expand(exclude))


def shown(text: str) -> tuple[str, tuple[str, ...]]:
    """Prepare a file's text for the model; return it with remarks on what was changed in it."""
    seen = visible(text)
    remarks = () if seen == text else ("hidden characters were taken out",)
    plain = without_comments(seen).strip()
    harmless = neutralise(plain)
    if harmless != plain:
        remarks = (*remarks, "scaffold tags in it were made harmless")
    return harmless, remarks


def claude_text(file: Loaded) -> str:
    """Render one file of the CLAUDE.md family for its reminder, without the tag."""
    imported = f", imported by {_line(file.parent)}" if file.parent else ""
    scope = f", for {', '.join(map(_line, file.globs))}" if file.globs else ""
    return f"[memorist] Instructions from {_line(file.path)} ({REMARKS[file.scope]}{imported}{scope}):\n\n{file.text}"


def _line(text: str) -> str:
    return neutralise(visible(" ".join(text.split())))


def agents_text(found: Instructions) -> str:
    """Join the files of the AGENTS.md family, farthest first, without the wrapper."""
    return "\n\n".join(file.text for file in found.loaded)


def agents_source(found: Instructions) -> str:
    """Describe each file's part of the joined text."""
    return "; ".join(f"{file.path} ({file.size:,} bytes)" for file in found.loaded)


def cut_bytes(data: bytes, room: int) -> bytes:
    """Return the start of the data, at most `room` bytes, cut on a character boundary."""
    return data if len(data) <= room else data[: max(0, room)].decode("utf-8", "ignore").encode()


def loaded(path: PurePath, scope: Scope, reason: Reason, text: str, remarks: Sequence[str] = ()) -> Loaded:
    """Build the entry of a loaded file, with its tokens counted."""
    seen, said = shown(text)
    return Loaded(
        path=str(path),
        scope=scope,
        reason=reason,
        text=seen,
        tokens=estimate_text(seen),
        size=len(text.encode("utf-8", "replace")),
        remarks=(*remarks, *said),
    )
