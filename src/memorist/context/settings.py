"""The settings of context assembly."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Family = Literal["rollout", "file-native"]
"""`rollout` is the shape of Codex CLI, `file-native` that of Claude Code."""


class ContextSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which instruction files are read, and how much of them.

    Source of each default: claude-code.md section 2, codex.md section 3.2.
    """

    family: Family = "file-native"
    """The default family: `file-native` or `rollout`."""
    exclude: tuple[str, ...] = ()
    """Globs on absolute paths of instruction files that are not read.

    The managed file cannot be excluded.
    """
    outside: bool = False
    """True follows links and imports of a project's files to places outside the project."""
    managed: str = ""
    """The managed instruction file; empty uses the platform's own path."""
    user_folder: str = "~/.claude"
    """Folder of the user's own CLAUDE.md and rules."""
    agents_folder: str = "~/.codex"
    """Folder of the user's own AGENTS.md."""
    agents_names: tuple[str, ...] = ("AGENTS.override.md", "AGENTS.md")
    """File names of the AGENTS.md family in order of preference; the first that exists in a folder
    is read.
    """
    agents_bytes: int = 32_768
    """Byte budget of the project's AGENTS.md files together; the user's own may have as
    many again.
    """
    root_markers: tuple[str, ...] = (".git",)
    """Names that mark a project's root folder."""
    file_bytes: int = 4_194_304
    """Largest CLAUDE.md, rule or import in bytes; a larger one is left out whole."""
    hops: int = 4
    """Longest chain of imports."""
    files: int = 1_000
    """Upper bound of instruction files read, against endless imports."""
    status_characters: int = 2_000
    """Characters of `git status` that are shown."""
