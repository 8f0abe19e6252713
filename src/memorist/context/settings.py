"""The settings of context assembly."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Family = Literal["rollout", "file-native"]
"""`rollout` is the shape of Codex CLI, `file-native` that of Claude Code."""


class ContextSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which instruction files are read, and how much of them. Source of each default: claude-code.md section 2, codex.md section 3.2."""

    family: Family = "file-native"
    """The family that is assembled where nothing else says which: `file-native` or `rollout`."""
    exclude: tuple[str, ...] = ()
    """Globs against absolute paths of instruction files that are not read. The managed file cannot be excluded."""
    outside: bool = False
    """True follows links and imports of a project's files to places outside the project."""
    managed: str = ""
    """The managed instruction file; empty for the system's own place."""
    user_folder: str = "~/.claude"
    """Folder of the user's own CLAUDE.md and rules."""
    agents_folder: str = "~/.codex"
    """Folder of the user's own AGENTS.md."""
    agents_names: tuple[str, ...] = ("AGENTS.override.md", "AGENTS.md")
    """Names looked for in each folder of the AGENTS.md family; the first that is there counts."""
    agents_bytes: int = 32_768
    """Bytes of the project's AGENTS.md files together; the user's own may have as many again."""
    root_markers: tuple[str, ...] = (".git",)
    """What a project's root folder holds."""
    file_bytes: int = 4_194_304
    """Bytes of one CLAUDE.md, rule or import; a larger one is left out whole."""
    hops: int = 4
    """Imports followed one from another."""
    files: int = 1_000
    """Instruction files read at most, against imports without end."""
    status_characters: int = 2_000
    """Characters of `git status` that are shown."""
