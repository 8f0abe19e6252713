"""The short lists of an extractive summary: tasks, failures, files. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memorist.compaction.digest_units import Piece
from memorist.core.tokens import estimate_text
from memorist.session_memory.ledger import Ledger
from memorist.session_memory.sections_work import ERRORS
from memorist.session_memory.structural import NotesBudget, render

_DONE = frozenset({"completed", "done", "cancelled", "deleted"})
_LEAST = 150
"""Tokens of failures that are considered even for a small summary."""


def fitting(lines: Iterable[str], room: int) -> list[str]:
    """The longest prefix of the lines that fits into `room` tokens."""
    found = []
    left = room
    for line in lines:
        left -= estimate_text(line) + 1
        if left < 0:
            break
        found.append(line)
    return found


def tasks_text(ledger: Ledger, room: int) -> str:
    """Render the task list in its order; open tasks have priority where room is short."""
    tasks = list(ledger.work.tasks.values())
    lines = [f"- {task.text} ({task.status or 'pending'})" for task in tasks]
    ranked = sorted(range(len(tasks)), key=lambda at: tasks[at].status in _DONE)
    kept = set(fitting((lines[at] for at in ranked), room))
    return "\n".join(line for line in lines if line in kept)


def failures_text(ledger: Ledger, room: int) -> str:
    """Render the failures and what resolved them."""
    total = max(_LEAST, room)
    text = render(ledger, NotesBudget(total_tokens=total * 4, section_tokens=total))[ERRORS]
    return "\n".join(fitting(reversed(text.split("\n")), room)[::-1]) if text else ""


def files_text(found: Sequence[Piece], room: int) -> str:
    """Render the files with their full paths and last step: changed ones first, each group by
    recency.
    """
    changed: dict[str, int] = {}
    read: dict[str, int] = {}
    for piece in found:
        source = piece.source
        if source.path and len(source.path) <= _LONGEST and "\n" not in source.path:
            (changed if source.kind == "change" else read)[source.path] = source.step
    lines = [f"- changed {path} (last in step {step})" for path, step in _newest(changed)]
    lines += [f"- read {path} (last in step {step})" for path, step in _newest(read) if path not in changed]
    return "\n".join(fitting(lines, room))


_LONGEST = 300


def _newest(steps: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(steps.items(), key=lambda pair: -pair[1])
