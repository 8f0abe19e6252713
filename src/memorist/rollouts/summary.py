"""Render a session's summary task by task, from its raw memory and its actions (codex.md section
1.7). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from memorist.rollouts.cleaning import cleaned_line
from memorist.rollouts.evidence import pointer
from memorist.rollouts.meaning import Act
from memorist.rollouts.raw_memory import UNKNOWN, Bullet, RawMemory, mark
from memorist.rollouts.task_note import TaskNote
from memorist.session_memory.paths import relative
from memorist.session_memory.sentences import shorten
from memorist.store.thread import Thread

SHOWN_FILES = 12


def steps_of(note: TaskNote, cwd: str) -> list[str]:
    """Describe what was done, in a few lines."""
    steps = [
        f"The user asked: “{shorten(each.text, 300)}”{_at(each.line)}" for each in note.asked if each.act in (Act.BEGINS, Act.GOES_ON)
    ][:6]
    if note.edited:
        steps.append(f"Changed {files_text(note, cwd)}")
    checks = [f"`{shorten(command, 80)}` {'passed' if ok else 'failed'}" for ok, _, command in note.checks.values()]
    if checks:
        steps.append(f"Last of each kind of command: {'; '.join(checks)}")
    if note.interrupted:
        steps.append("The user stopped the agent on the way")
    if note.accept_order > note.complaint_order:
        steps.append("The user accepted the work")
    elif note.complaint_order >= 0:
        steps.append("The user put the work right, and did not accept it afterwards")
    return [cleaned_line(step) for step in steps]


def files_text(note: TaskNote, cwd: str) -> str:
    """Render the changed files, most changed first."""
    paths = sorted(note.edited, key=lambda path: -note.edited[path])
    more = f" and {len(paths) - SHOWN_FILES} more" if len(paths) > SHOWN_FILES else ""
    return ", ".join(f"`{relative(path, cwd)}`" for path in paths[:SHOWN_FILES]) + more


def summary_of(memory: RawMemory, thread: Thread, steps: Sequence[Sequence[str]]) -> str:
    """Render the text; `steps` are those of each task. Empty if the raw memory says nothing."""
    if memory.empty:
        return ""
    branch = cleaned_line(thread.branch) or UNKNOWN
    lines = [f"# {memory.description}", "", f"Rollout context: folder {memory.cwd}, branch {branch}, recorded by {thread.format}", ""]
    for number, task in enumerate(memory.tasks, 1):
        lines += [f"## Task {number}: {task.name}", f"Outcome: {task.outcome}", ""]
        lines += _listed("Preference signals:", task.preferences)
        if number <= len(steps) and steps[number - 1]:
            lines += ["Key steps:", *(f"- {step}" for step in steps[number - 1]), ""]
        lines += _listed("Failures and how to do differently:", task.failures)
        lines += _listed("Reusable knowledge:", task.knowledge)
        if task.references:
            lines += ["References:", *(f"{at}. {mark(each)} {each.text}" for at, each in enumerate(task.references, 1)), ""]
    return "\n".join(lines).strip() + "\n"


def _listed(title: str, bullets: Sequence[Bullet]) -> list[str]:
    return [title, *(f"- {mark(each)} {each.text}" for each in bullets), ""] if bullets else []


def _at(number: int) -> str:
    return f" ({pointer(number)})" if number else ""
