"""What a tool call asks of the file system, independent of the host's tool names. Values only;
paths are as the model wrote them.
"""

from __future__ import annotations

from msgspec import Struct

from memorist.forks.patch import FilePatch


class Replacement(Struct, frozen=True):
    """Replace `old` by `new`. `old` must occur exactly once unless `replace_all` is set; empty
    `old` means that the file must not exist yet.
    """

    old: str
    new: str
    every: bool = False


class ReadFile(Struct, frozen=True, kw_only=True, tag="read"):
    """Read a file. `first_line` counts from 1; `line_count` None means the default."""

    path: str
    first: int = 1
    lines: int | None = None
    numbered: bool = False


class EditFile(Struct, frozen=True, tag="edit"):
    """Apply replacements to a file, in order, all or none."""

    path: str
    replacements: tuple[Replacement, ...]


class InsertText(Struct, frozen=True, tag="insert"):
    """Insert `text` after line `line` (0 is the top of the file)."""

    path: str
    line: int
    text: str


class WriteFile(Struct, frozen=True, tag="write"):
    """Create the file, or replace its whole content."""

    path: str
    text: str


class Search(Struct, frozen=True, kw_only=True, tag="search"):
    """Find lines that match a regular expression. `show` is `files`, `lines` or `count`."""

    pattern: str
    path: str | None = None
    glob: str | None = None
    show: str = "files"
    ignore_case: bool = False
    limit: int | None = None


class ListFiles(Struct, frozen=True, kw_only=True, tag="list"):
    """List the files below a folder that match a glob."""

    pattern: str = "**/*"
    path: str | None = None


class Shell(Struct, frozen=True, tag="shell"):
    """Run a command line. `workdir` is the folder that the model named for it."""

    command: str
    workdir: str | None = None


class ApplyPatch(Struct, frozen=True, tag="apply_patch"):
    """Change several files, all or none."""

    files: tuple[FilePatch, ...]


class BadCall(Struct, frozen=True, tag="bad"):
    """A known tool with invalid input: `why` goes back to the model."""

    name: str
    why: str


class UnknownCall(Struct, frozen=True, tag="unknown"):
    """A tool that a fork does not have."""

    name: str


FileCall = ReadFile | EditFile | InsertText | WriteFile | Search | ListFiles | Shell | ApplyPatch
Call = FileCall | BadCall | UnknownCall
