"""The settings of skills."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Struct


class SkillsSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where skills are searched, and how much of them is shown.

    Source of each default: codex.md part 4, unless stated otherwise.
    """

    enabled: bool = True
    """False finds, lists and injects none."""
    roots: tuple[str, ...] = ()
    """Further folders to search, as the user's own."""
    off: tuple[str, ...] = ()
    """Names of skills, or paths of a SKILL.md or its folder, that are left out."""
    share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.02
    """Part of the context window that the catalogue may take, frame included: 0 to 1."""
    characters: int = 8_000
    """Characters of the catalogue where the window is not known."""
    description_characters: int = 1_024
    """Characters shown of one description."""
    body_tokens: int = 5_000
    """Tokens injected of one body; the rest is referred to by path. The open specification's advice
    for a body, and what is restored after a compaction.
    """
    depth: int = 6
    """Folder levels searched below a root."""
    folders: int = 2_000
    """Folders searched below one root."""
    entries: int = 20_000
    """Names examined below one root."""
    file_bytes: int = 262_144
    """Largest SKILL.md that is read; our choice, a body of the advised size has 20,000."""
