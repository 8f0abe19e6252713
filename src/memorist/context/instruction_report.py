"""Instruction files as values: where they were found, their text, what was loaded and what was not.
Pure (CX-4).

Two families: CLAUDE.md (`claude_md_files`) and AGENTS.md (`agents_md_files`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Literal

from msgspec import Struct

from memorist.context.context_pieces import OmittedSource
from memorist.context.instruction_reading import strip_html_comments
from memorist.core.token_count import estimate_text_tokens
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup

InstructionScope = Literal["managed", "user", "project", "local"]
LoadReason = Literal["session_start", "include", "path_glob_match", "nested_traversal"]
"""Why a file was loaded, in the terms of Claude Code."""

MANAGED_PATHS = {
    "linux": "/etc/claude-code/CLAUDE.md",
    "darwin": "/Library/Application Support/ClaudeCode/CLAUDE.md",
    "win32": "C:\\Program Files\\ClaudeCode\\CLAUDE.md",
}
"""Path of the managed file by platform (Claude Code)."""

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


def clean_instruction_text(text: str) -> tuple[str, tuple[str, ...]]:
    """Prepare a file's text for the model; return it with remarks on what was changed in it."""
    seen = strip_hidden_characters(text)
    remarks = () if seen == text else ("hidden characters were taken out",)
    plain = strip_html_comments(seen).strip()
    harmless = neutralize_markup(plain)
    if harmless != plain:
        remarks = (*remarks, "scaffold tags in it were made harmless")
    return harmless, remarks


def build_instruction_file(
    path: PurePath,
    scope: InstructionScope,
    reason: LoadReason,
    text: str,
    remarks: Sequence[str] = (),
) -> InstructionFile:
    """Build the entry of a loaded file, with its tokens counted."""
    seen, said = clean_instruction_text(text)
    return InstructionFile(
        path=str(path),
        scope=scope,
        reason=reason,
        text=seen,
        tokens=estimate_text_tokens(seen),
        size=len(text.encode("utf-8", "replace")),
        remarks=(*remarks, *said),
    )
