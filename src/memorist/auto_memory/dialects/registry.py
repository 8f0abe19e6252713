"""All dialects by name, and recognition of a folder's dialect. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from memorist.auto_memory.dialects.claude_code import CLAUDE_CODE
from memorist.auto_memory.dialects.codex import CODEX
from memorist.auto_memory.dialects.gemini import GEMINI
from memorist.auto_memory.dialects.hermes import HERMES
from memorist.auto_memory.dialects.instructions import INSTRUCTIONS
from memorist.auto_memory.dialects.values import Dialect

DIALECTS: dict[str, Dialect] = {each.name: each for each in (CODEX, HERMES, GEMINI, CLAUDE_CODE, INSTRUCTIONS)}
"""Most specific first: a version line or a section sign is unique, while an instruction file may
lie beside anything.
"""


def recognise(files: Mapping[str, bytes]) -> str | None:
    """Return the name of the first dialect that recognises these files (by relative path), or None.
    """
    return next((name for name, dialect in DIALECTS.items() if dialect.recognise(files)), None)
