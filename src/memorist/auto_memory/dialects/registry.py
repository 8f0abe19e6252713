"""All dialects by name, and which one some files are written in. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from memorist.auto_memory.dialects.claude_code import CLAUDE_CODE
from memorist.auto_memory.dialects.codex import CODEX
from memorist.auto_memory.dialects.gemini import GEMINI
from memorist.auto_memory.dialects.hermes import HERMES
from memorist.auto_memory.dialects.instructions import INSTRUCTIONS
from memorist.auto_memory.dialects.values import Dialect

DIALECTS: dict[str, Dialect] = {each.name: each for each in (CODEX, HERMES, GEMINI, CLAUDE_CODE, INSTRUCTIONS)}
"""The surest signs first: a version line or a section sign is nobody else's, while an instruction file lies beside many things."""


def recognise(files: Mapping[str, bytes]) -> str | None:
    """The name of the first dialect that knows these files (by path relative to the folder) as its own; None when none does."""
    return next((name for name, dialect in DIALECTS.items() if dialect.recognise(files)), None)
