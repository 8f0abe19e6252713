"""Removing secrets, scaffold and orders that the users of a session did not give from what stage
one keeps. Pure.
"""

from __future__ import annotations

from msgspec.structs import replace

from memorist.core.text_analysis import to_one_line
from memorist.rollouts.raw_memory import (
    MAX_ENTRY_CHARACTERS,
    SECTION_TITLES,
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
    tasks = []
    for task in memory.tasks:
        lists = {
            field: tuple(
                bullet
                for each in getattr(task, field)
                if (bullet := _clean_bullet(each)) is not None
            )
            for field in SECTION_TITLES
        }
        words = tuple(map(clean_raw_memory_line, task.keywords))
        tasks.append(
            replace(
                task,
                name=clean_raw_memory_line(task.name),
                group=clean_raw_memory_line(task.group),
                cwd=clean_raw_memory_line(task.cwd),
                keywords=words,
                **lists,
            )
        )
    return normalize_raw_memory(
        replace(
            memory,
            description=clean_raw_memory_line(memory.description),
            task_group=clean_raw_memory_line(memory.task_group),
            cwd=clean_raw_memory_line(memory.cwd),
            keywords=tuple(map(clean_raw_memory_line, memory.keywords)),
            tasks=tuple(tasks),
        )
    )


def clean_raw_memory_line(text: str) -> str:
    """Return one line without secrets and scaffold."""
    return redact(neutralize_markup(to_one_line(text, 2 * MAX_ENTRY_CHARACTERS))).text


def _clean_bullet(bullet: MemoryBullet) -> MemoryBullet | None:
    text = clean_raw_memory_line(bullet.text)
    if bullet.proof != "said" and find_injection_rules(text):
        return None
    return replace(bullet, text=text)
