"""Remove secrets, scaffold and orders not given by the session's users from what stage one keeps
(SF-1 to SF-3). Pure.
"""

from __future__ import annotations

from msgspec.structs import replace

from memorist.rollouts.one_line import line
from memorist.rollouts.raw_memory import MAX_ENTRY, SECTIONS, Bullet, RawMemory, tidy
from memorist.safety.data import neutralise
from memorist.safety.orders import signs_of_orders
from memorist.safety.secrets import redact


def cleaned(memory: RawMemory) -> RawMemory:
    """Return the memory without secrets and scaffold, and without entries in which tools or agents
    try to give orders (SF-1 to SF-3).
    """
    tasks = []
    for task in memory.tasks:
        lists = {field: tuple(bullet for each in getattr(task, field) if (bullet := _clean_bullet(each)) is not None) for field in SECTIONS}
        words = tuple(map(cleaned_line, task.keywords))
        tasks.append(
            replace(task, name=cleaned_line(task.name), group=cleaned_line(task.group), cwd=cleaned_line(task.cwd), keywords=words, **lists)
        )
    return tidy(
        replace(
            memory,
            description=cleaned_line(memory.description),
            task_group=cleaned_line(memory.task_group),
            cwd=cleaned_line(memory.cwd),
            keywords=tuple(map(cleaned_line, memory.keywords)),
            tasks=tuple(tasks),
        )
    )


def cleaned_line(text: str) -> str:
    """Return one line without secrets and scaffold."""
    return redact(neutralise(line(text, 2 * MAX_ENTRY))).text


def _clean_bullet(bullet: Bullet) -> Bullet | None:
    text = cleaned_line(bullet.text)
    if bullet.proof != "said" and signs_of_orders(text):
        return None
    return replace(bullet, text=text)
