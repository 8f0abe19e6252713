"""Removing secrets, scaffold and orders that the users of a session did not give from what stage
one keeps. Pure.
"""

from __future__ import annotations

from memorist.core.text_analysis import to_printable_line
from memorist.rollouts.raw_memory import (
    MAX_ENTRY_CHARACTERS,
    MemoryBullet,
    RawMemory,
    normalize_raw_memory,
)
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.safety.prompt_injection import find_injection_rules
from memorist.safety.secrets import redact


def clean_raw_memory(memory: RawMemory) -> RawMemory:
    """Return the memory without secrets and scaffold, and without entries in which tools or agents
    try to give orders (SF-1 to SF-3).
    """
    return normalize_raw_memory(memory, clean_raw_memory_line, _may_stand)


def clean_raw_memory_line(text: str) -> str:
    """Return one line without secrets and scaffold."""
    return redact(neutralize_markup(to_printable_line(text, 2 * MAX_ENTRY_CHARACTERS))).text


def _may_stand(bullet: MemoryBullet) -> bool:
    return bullet.proof == "said" or not find_injection_rules(bullet.text)
