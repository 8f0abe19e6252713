"""All dialects by name, and the recognition of the dialect of a folder. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from memorist.auto_memory.interop.claude_code_memory import CLAUDE_CODE
from memorist.auto_memory.interop.codex_memory import CODEX
from memorist.auto_memory.interop.dialect import MemoryDialect
from memorist.auto_memory.interop.gemini_memory import GEMINI
from memorist.auto_memory.interop.hermes_memory import HERMES
from memorist.auto_memory.interop.instruction_files import INSTRUCTIONS

DIALECTS: dict[str, MemoryDialect] = {
    each.name: each for each in (CODEX, HERMES, GEMINI, CLAUDE_CODE, INSTRUCTIONS)
}
"""Most specific first: a version line or a section sign is unique, while an instruction file may
lie beside anything.
"""


def recognise_memory_dialect(files: Mapping[str, bytes]) -> str | None:
    """Return the name of the first dialect that recognises these files (by relative path), or
    None.
    """
    return next((name for name, dialect in DIALECTS.items() if dialect.recognise(files)), None)
