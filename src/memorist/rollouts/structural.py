"""Stage one from a session's structure alone: what its messages, calls and exit statuses prove
(RO-4). Pure.

Nothing is inferred. What the user said stands as the user's words, what a command or a file shows
stands as proven, and the agent's own last words stand as an unchecked report. An outcome needs
proof: a check that passed after the last change, a commit, the user's thanks or permission to go
on; or, on the other side, a check that failed last. Without any of those it is uncertain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from memorist.rollouts.cleaning import cleaned
from memorist.rollouts.deeds import Gathering
from memorist.rollouts.evidence import pointer
from memorist.rollouts.meaning import Act
from memorist.rollouts.raw_memory import REPORTED, UNKNOWN, Bullet, Outcome, RawMemory, Task, render
from memorist.rollouts.scope import own_scope, project_of
from memorist.rollouts.summary import files_text, steps_of, summary_of
from memorist.rollouts.task_note import CHECKS, SHIPPING, Run, TaskNote
from memorist.session_memory.ledger_commands import Failure
from memorist.session_memory.paths import relative
from memorist.session_memory.sections_work import failure_text
from memorist.session_memory.sentences import shorten
from memorist.store.thread import Extracted, Thread

TASKS = 12
"""Tasks of one raw memory: the most informative ones, in order."""
CARRIED = 100
"""Newest preferences of omitted tasks, kept with the last listed task."""
PROVEN = 6
"""Working commands, and failures, per task."""
NAME = 110
REPORT = 60
"""Minimum characters of a report that says anything."""
SLUG = 60
"""Characters of a slug (codex.md section 1.4)."""

_PLAN = re.compile(r"(?:please )?implement (?:the|this) (?:following )?plan:?\s*", re.IGNORECASE)
_HEADING = re.compile(r"#+\s*(?:plan:|fix:)?\s*(.+?)(?: ## | # |$)", re.IGNORECASE)
_LINK = re.compile(r"https?://\S*?([\w.-]+(?:/[\w.-]+){0,2})/?(?=\s|$)")
_LEAD = re.compile(
    r"(?:(?:ok(?:ay)?|so|hey|hi|hello|well|and|now|also|please|pls|great|yes|thanks)[,:!.]? +)*(?:(?:can|could|would|will) you (?:please |also )?|please "
    r"|i(?:['’]d| would) like you to |i want you to |let['’]?s |we (?:now )?need to |i need you to )?",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s")
_NOT_SLUG = re.compile(r"[^a-z0-9]+")
_SUBJECT = re.compile(r"\[\S+(?: \([^)]*\))? [0-9a-f]{7,}\] ([^;]+)")


class Stage(Struct, frozen=True):
    """Stage one's result: raw memory as a value, and the two texts."""

    memory: RawMemory
    summary: str = ""
    slug: str = ""

    @property
    def raw_memory(self) -> str:
        """The text of the raw memory."""
        return render(self.memory)


def structural(gathered: Gathering, thread: Thread) -> Stage:
    """Build what the session proves; empty if nothing was asked, or nothing was answered."""
    notes = [task for task in gathered.tasks if task.asked]
    if not notes or not gathered.spoke:
        return Stage(RawMemory())
    chosen = {id(each) for each in sorted(notes, key=lambda each: (-each.weight, -each.number))[:TASKS]}
    kept = [each for each in notes if id(each) in chosen]
    # What the user said for later is never lost with the task in which it was said.
    carried = [bullet for each in notes if id(each) not in chosen for bullet in each.preferences]
    kept[-1].preferences = [*carried[-CARRIED:], *kept[-1].preferences]
    tasks = [_task(each, thread, [failure for failure in gathered.commands.failures if failure.turn == each.number]) for each in kept]
    memory = cleaned(
        RawMemory(
            description=_description(tasks),
            task_group=project_of(thread),
            outcome=overall([task.outcome for task in tasks]),
            cwd=thread.cwd or UNKNOWN,
            keywords=_keywords(tasks),
            tasks=tuple(tasks),
        )
    )
    if memory.empty:
        return Stage(RawMemory())
    steps = [steps_of(each, thread.cwd) for each in kept]
    return Stage(memory, summary_of(memory, thread, steps), slug_of(memory.tasks[0].name if memory.tasks else ""))


def extracted(stage: Stage, thread: Thread, *, now: float) -> Extracted:
    """Return the stored form of a result; `now` in seconds since the epoch."""
    empty = stage.memory.empty
    return Extracted(
        thread=thread.id,
        updated=thread.updated,
        raw_memory="" if empty else stage.raw_memory,
        rollout_summary="" if empty else stage.summary,
        slug="" if empty else stage.slug,
        generated=int(now),
        path=thread.path,
        cwd=thread.cwd,
        repository=thread.repository,
        branch=thread.branch,
    )


def outcome_of(task: TaskNote) -> Outcome:
    """Return a task's outcome, as far as it is proven."""
    failed = any(not ok for ok, _, _ in task.checks.values())
    checked = any(ok and when > task.edit_order and kind in CHECKS for kind, (ok, when, _) in task.checks.items())
    shipped = any(ok and kind in SHIPPING for kind, (ok, _, _) in task.checks.items())
    done = max((when for ok, when, _ in task.checks.values() if ok), default=-1)
    if task.complaint_order > max(task.accept_order, done):
        return "fail" if failed else "uncertain"
    if failed:
        return "partial" if shipped or checked or task.accept_order > 0 else "fail"
    if shipped or task.accept_order > max(0, task.complaint_order) or (checked and task.edit_order >= 0):
        return "success"
    return "uncertain"


def overall(outcomes: Sequence[Outcome]) -> Outcome:
    """Return a session's outcome from its tasks': the common one, otherwise partial if something
    succeeded.
    """
    found = set(outcomes)
    if len(found) == 1:
        return outcomes[0]
    return "partial" if found & {"success", "partial"} else "uncertain"


def _task(note: TaskNote, thread: Thread, failures: Sequence[Failure]) -> Task:
    failed = [failure for failure in failures if failure.kind not in ("look", "refused") and (failure.line or failure.mended_by)]
    named = [each for each in failed if each.mended_by] + [each for each in failed if not each.mended_by and each.kind != "edit"]
    cwd = thread.cwd
    return Task(
        name=task_name(note),
        group=project_of(thread),
        outcome=outcome_of(note),
        scope=own_scope(thread),
        cwd=cwd or UNKNOWN,
        preferences=tuple(note.preferences),
        knowledge=(*note.decided, *_worked(note), *_reported(note)),
        failures=(*note.corrected, *(Bullet(text=failure_text(each, cwd), proof="proved", date=note.date) for each in named[-PROVEN:])),
        references=_references(note, cwd),
        keywords=tuple(relative(path, cwd).rsplit("/", 1)[-1] for path in list(note.edited)[:8]),
    )


def task_name(note: TaskNote) -> str:
    """Name the user's request in one line: its first sentence, or the heading of a plan."""
    text = next((each.text for each in note.asked if each.act in (Act.BEGINS, Act.GOES_ON)), note.asked[0].text)
    plan = _PLAN.match(text)
    if plan:
        heading = _HEADING.match(text[plan.end() :])
        text = heading[1] if heading else text[plan.end() :]
    elif text.endswith(" …") and (subject := next((found[1] for what, _ in note.commits if (found := _SUBJECT.match(what))), "")):
        text = subject  # a pasted page tells its purpose nowhere near its beginning
    lead = _LEAD.match(text)
    text = _LINK.sub(r"\1", (text[lead.end() :] if lead else "") or text)
    parts = _SENTENCE.split(text)
    name = parts[0]
    for part in parts[1:]:
        if len(name) >= NAME // 2:
            break
        name = f"{name} {part}"
    return shorten(name, NAME)


def _worked(note: TaskNote) -> list[Bullet]:
    """Return the commands worth reusing: checks, builds and installs that passed, and what ran more
    than once.
    """
    found = [
        (text, run)
        for text, run in note.runs.items()
        if run.last is not None
        and run.last.ok
        and ((run.kind in CHECKS or run.kind in ("format", "install")) or (run.kind == "run" and run.runs > 1 and len(text) < NAME))
    ]
    found.sort(key=lambda pair: (pair[1].kind == "run", -pair[1].runs, pair[1].order))
    return [_proved(f"{_named(run)}: `{shorten(text, 120)}`{_counts(run)}", run.line, note) for text, run in found[:PROVEN]]


_WORKED = {
    "test": "Tests ran with", "lint": "Linted with", "typecheck": "Types checked with", "build": "Built with", "format": "Formatted with",
    "install": "Installed with",
}  # fmt: skip


def _named(run: Run) -> str:
    return _WORKED.get(run.kind, "Ran")


def _counts(run: Run) -> str:
    failed = f"; failed {run.failures} of {run.runs} times" if run.failures else ""
    telling = f" → {run.last.line}" if run.last and run.last.line else ""
    return f"{telling}{failed}"


def _proved(text: str, at: int, note: TaskNote) -> Bullet:
    return Bullet(text=text, proof="proved", date=note.date, evidence=pointer(at))


def _reported(note: TaskNote) -> list[Bullet]:
    """Return the agent's last words, marked as a report."""
    found = [(text, at) for text, at in note.endings if len(text) >= REPORT]
    return [Bullet(text=f"{REPORTED}{text}", proof="inferred", date=note.date, evidence=pointer(at)) for text, at in found]


def _references(note: TaskNote, cwd: str) -> tuple[Bullet, ...]:
    found = [Bullet(text=link, proof="said", date=note.date, evidence=pointer(at)) for link, at in list(note.links.items())[:8]]
    if note.edited:
        found.append(Bullet(text=f"Changed: {files_text(note, cwd)}", proof="proved", date=note.date))
    found += [_proved(f"Committed: {what}", at, note) for what, at in note.commits[-4:]]
    return tuple(found)


def _description(tasks: Sequence[Task]) -> str:
    names = [shorten(task.name, 80) for task in tasks if task.name]
    more = f" (and {len(names) - 3} more)" if len(names) > 3 else ""
    return shorten("; ".join(names[:3]), 260) + more


def _keywords(tasks: Sequence[Task]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for task in tasks for word in task.keywords))[:20]


def slug_of(name: str) -> str:
    """Return a slug of a name: lower case ASCII letters and digits, joined by underscores."""
    return _NOT_SLUG.sub("_", name.lower())[:SLUG].strip("_")
