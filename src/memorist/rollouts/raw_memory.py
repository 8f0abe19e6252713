"""The raw memory that stage one produces of a session: values, rendering, parsing of text by a
model or a user, and removal of secrets and of orders that no user gave. Pure.

The layout is the published one (Codex): a header, then one block per task with four
lists. What memorist adds stands where a reader of that layout ignores it: a line `scope:` per task,
and in brackets before each entry its proof, day and evidence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.front_matter import (
    MarkdownDocument,
    join_front_matter,
    split_front_matter,
    update_front_matter,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.text_encoding import to_printable_line
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.safety.prompt_injection import find_injection_rules
from memorist.safety.secrets import redact

TaskOutcome = Literal["success", "partial", "uncertain", "fail"]
ClaimScope = Literal["global", "repository", "directory"]
"""Where a claim holds (RO-7): everywhere, in the session's repository, or only in its folder."""
ClaimProof = Literal["said", "proved", "inferred"]
"""The user said it; the structure of the session proves it (an exit status, a changed file); or a
model inferred it.
"""

TASK_OUTCOMES: tuple[TaskOutcome, ...] = get_args(TaskOutcome)
CLAIM_SCOPES: tuple[ClaimScope, ...] = get_args(ClaimScope)
CLAIM_PROOFS: tuple[ClaimProof, ...] = get_args(ClaimProof)
REPORTED_PREFIX = "The agent reported: "
"""Prefix of the agent's own last words, which no one checked."""
SAID_PREFIX = "The user said: "
"""Prefix of what the user probably meant to last, as a quotation."""
ASKED_PREFIX = "The user asked: "
"""Prefix of what the user wanted done in one session."""
PASSED_ON_PREFIX = "The session was given: "
"""Prefix of a request with words that the user did not type: pasted, piped, or a model's plan."""
UNKNOWN_FOLDER = "unknown"
"""Folder of a session that names none."""

MAX_ENTRY_CHARACTERS = 2_000
"""Characters of one entry; a longer one is cut."""
MAX_KEYWORDS = 40
MAX_ENTRIES = 200
"""Entries of one list of a task."""
MAX_TASKS = 300


class MemoryBullet(Struct, frozen=True, kw_only=True):
    """One thing a session taught, in one line."""

    text: str
    proof: ClaimProof = "inferred"
    date: str = ""
    """The day it was said or seen, ISO 8601; empty if the session has no times."""
    evidence: str = ""
    """Where it is in the session, such as `line 120`; empty if unknown."""
    scope: ClaimScope | None = None
    """Where it holds, if different from its task's scope."""


class RawMemoryTask(Struct, frozen=True, kw_only=True):
    """One thing the user wanted, and what was learned from it."""

    name: str
    group: str = ""
    """What it belongs to: a project, a part of it, a kind of work."""
    outcome: TaskOutcome = "uncertain"
    scope: ClaimScope = "repository"
    cwd: str = UNKNOWN_FOLDER
    preferences: tuple[MemoryBullet, ...] = ()
    knowledge: tuple[MemoryBullet, ...] = ()
    failures: tuple[MemoryBullet, ...] = ()
    references: tuple[MemoryBullet, ...] = ()
    keywords: tuple[str, ...] = ()


class RawMemory(Struct, frozen=True, kw_only=True):
    """Stage one's raw memory of a session."""

    description: str = ""
    task_group: str = ""
    outcome: TaskOutcome = "uncertain"
    cwd: str = UNKNOWN_FOLDER
    keywords: tuple[str, ...] = ()
    tasks: tuple[RawMemoryTask, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing."""
        return not (self.description or self.tasks)


SECTION_TITLES = {
    "preferences": "Preference signals",
    "knowledge": "Reusable knowledge",
    "failures": "Failures and how to do differently",
    "references": "References",
}
"""The four lists of a task by field, in order."""

_TASK = lazy_pattern(r"#{1,6}\s*task\b\s*\d*\s*[:.–—-]*\s*(.*)", re.IGNORECASE)
_KEY = lazy_pattern(
    r"(?:[-*]\s+)?\**(task|task_group|task_outcome|outcome|scope|cwd|keywords)\**\s*:(?:\s+|$|"
    r"\*)(.*)",
    re.IGNORECASE,
)
_ENTRY = lazy_pattern(r"(?:[-*•]|\d{1,3}[.)])\s+(.*)")
_MARK = lazy_pattern(r"\[([^\]\[]{1,200})\]\s*(.*)")
_DAY = lazy_pattern(r"\d{4}-\d{2}-\d{2}")
_NOT_POINTER = lazy_pattern(r"[^\w .,:#/@+-]")
_FIELDS_BY_TITLE = {title.casefold(): field for field, title in SECTION_TITLES.items()}
_OTHER_TITLES = {"user preferences": "preferences", "reference": "references"} | {
    field: field for field in SECTION_TITLES
}
_OUTCOME_WORDS: dict[str, TaskOutcome] = {
    "succeeded": "success", "successful": "success", "done": "success", "failed": "fail",
    "failure": "fail", "partially": "partial",
}  # fmt: skip


def normalize_raw_memory(
    raw: RawMemory,
    clean: Callable[[str], str] = str,
    may_stand: Callable[[MemoryBullet], bool] = lambda _: True,
) -> RawMemory:
    """Normalize to what the text form can hold: one line per entry, no control characters, nothing
    empty, limits applied. `clean` is applied to each text first; a bullet that `may_stand` refuses
    is dropped.
    """
    return RawMemory(
        description=to_printable_line(clean(raw.description)),
        task_group=to_printable_line(clean(raw.task_group)),
        outcome=raw.outcome,
        cwd=to_printable_line(clean(raw.cwd)) or UNKNOWN_FOLDER,
        keywords=_tidy_keywords(map(clean, raw.keywords)),
        tasks=tuple(
            task
            for each in raw.tasks[:MAX_TASKS]
            if (task := _tidy_task(each, clean, may_stand)) is not None
        ),
    )


def _tidy_keywords(words: Iterable[str]) -> tuple[str, ...]:
    """Return the keywords without duplicates and commas."""
    found = dict.fromkeys(
        word
        for each in words
        for part in each.split(",")
        if (word := to_printable_line(part, 80).strip("[]\"' "))
    )
    return tuple(found)[:MAX_KEYWORDS]


def _tidy_task(
    task: RawMemoryTask, clean: Callable[[str], str], may_stand: Callable[[MemoryBullet], bool]
) -> RawMemoryTask | None:
    lists = {
        field: tuple(
            bullet
            for each in getattr(task, field)
            if (bullet := _tidy_bullet(each, clean)) is not None and may_stand(bullet)
        )[:MAX_ENTRIES]
        for field in SECTION_TITLES
    }
    name = to_printable_line(clean(task.name))
    if not name and not any(lists.values()):
        return None
    tidied = replace(
        task,
        name=name,
        group=to_printable_line(clean(task.group)),
        cwd=to_printable_line(clean(task.cwd)) or UNKNOWN_FOLDER,
        keywords=_tidy_keywords(map(clean, task.keywords)),
    )
    return replace(tidied, **lists)


def _tidy_bullet(bullet: MemoryBullet, clean: Callable[[str], str]) -> MemoryBullet | None:
    text = to_printable_line(clean(bullet.text), MAX_ENTRY_CHARACTERS)
    if not text:
        return None
    date = bullet.date if _DAY.fullmatch(bullet.date) and bullet.date.isascii() else ""
    return replace(bullet, text=text, date=date, evidence=_tidy_pointer(bullet.evidence))


def _tidy_pointer(text: str) -> str:
    found = " ".join(_NOT_POINTER.sub(" ", to_printable_line(text, 80)).split())
    return (
        "" if found.casefold() in (*CLAIM_PROOFS, *CLAIM_SCOPES) or _DAY.fullmatch(found) else found
    )


def render_session_raw_memory(raw: RawMemory) -> str:
    """Render a raw memory; empty if it says nothing."""
    raw = normalize_raw_memory(raw)
    if raw.is_empty:
        return ""
    names = "; ".join(task.name for task in raw.tasks if task.name)
    header = {
        "description": raw.description,
        "task": to_printable_line(names),
        "task_group": raw.task_group,
        "task_outcome": raw.outcome,
        "cwd": raw.cwd,
        "keywords": ", ".join(raw.keywords),
    }
    header = {key: value for key, value in header.items() if value}
    blocks = [_render_task(number, task) for number, task in enumerate(raw.tasks, 1)]
    return join_front_matter(
        MarkdownDocument(update_front_matter(None, header), "\n" + "\n".join(blocks))
    )


def _render_task(number: int, task: RawMemoryTask) -> str:
    values = {
        "task": task.name,
        "task_group": task.group,
        "task_outcome": task.outcome,
        "scope": task.scope,
        "cwd": task.cwd,
        "keywords": ", ".join(task.keywords),
    }
    lines = [
        f"### Task {number}",
        "",
        *(f"{key}: {value}" for key, value in values.items() if value),
        "",
    ]
    for field, title in SECTION_TITLES.items():
        if bullets := getattr(task, field):
            lines += [
                f"{title}:",
                *(f"- {render_bullet_proof_tag(bullet)} {bullet.text}" for bullet in bullets),
                "",
            ]
    return "\n".join(each.rstrip() for each in lines)


def render_bullet_proof_tag(bullet: MemoryBullet) -> str:
    """Render the bracket before an entry: its proof, its own scope if any, its day and evidence."""
    return (
        f"[{'; '.join(filter(None, (bullet.proof, bullet.scope, bullet.date, bullet.evidence)))}]"
    )


def parse_raw_memory(text: str) -> RawMemory:
    """Parse a raw memory.

    Never fails: unknown lines become entries, unknown outcomes and scopes the default.
    """
    document = split_front_matter(_strip_fence(text))
    front = document.front
    values = (
        {entry.key: entry.raw.partition(":")[2] for entry in front.entries} | front.values
        if front
        else {}
    )
    tasks = _parse_tasks(document.body.splitlines())
    keywords = values.get("keywords")
    return normalize_raw_memory(
        RawMemory(
            description=_parse_field(values.get("description")),
            task_group=_parse_field(values.get("task_group")),
            outcome=parse_task_outcome(
                _parse_field(values.get("task_outcome") or values.get("outcome"))
            ),
            cwd=_parse_field(values.get("cwd")),
            keywords=tuple(map(_parse_field, keywords))
            if isinstance(keywords, list)
            else (_parse_field(keywords),),
            tasks=tasks,
        )
    )


def _parse_field(found: object) -> str:
    if isinstance(found, list):
        return "; ".join(each for each in found if isinstance(each, str))
    return found if isinstance(found, str) else ""


def _strip_fence(text: str) -> str:
    """Strip leading blank lines, and a code fence around the whole text, which models like
    to add.
    """
    plain = text.strip()
    if plain.startswith("```") and plain.endswith("```") and "\n" in plain:
        return plain[plain.index("\n") + 1 : -3]
    return plain


def parse_task_outcome(text: str) -> TaskOutcome:
    """Parse an outcome; `uncertain` for anything unknown."""
    first = re.split(r"[^a-z]+", text.strip("`*\"' ").casefold(), maxsplit=1)[0]
    return next(
        (each for each in TASK_OUTCOMES if each == first), _OUTCOME_WORDS.get(first, "uncertain")
    )


def parse_claim_scope(text: str) -> ClaimScope:
    """Parse a scope; the repository for anything unknown."""
    return next(
        (each for each in CLAIM_SCOPES if each == text.strip("`*\"' ").casefold()), "repository"
    )


class _TaskParser:
    """A task while its lines are parsed."""

    def __init__(self, name: str = "") -> None:
        self.values: dict[str, str] = {"task": name}
        self.lists: dict[str, list[str]] = {field: [] for field in SECTION_TITLES}
        self.field = ""

    def add_line(self, text: str) -> None:
        """Add one line."""
        plain = text.strip()
        title = plain.strip("#*_ ").rstrip(":").strip("*_ ").casefold()
        field = _FIELDS_BY_TITLE.get(title) or (
            _OTHER_TITLES.get(title)
            if plain.rstrip("* ").endswith(":") or plain.startswith("#")
            else None
        )
        key = None if self.field else _KEY.fullmatch(plain)
        if not plain:
            return
        if field and not plain.startswith("- "):
            self.field = field
        elif key:
            self.values[key[1].casefold()] = key[2]
        else:
            self._entry(text, plain)

    def _entry(self, text: str, plain: str) -> None:
        found = _ENTRY.fullmatch(plain)
        into = self.lists[self.field or "knowledge"]
        if found is None and into and text[:1].isspace():
            into[-1] += f" {plain}"
        else:
            into.append(found[1] if found else plain)

    def build(self) -> RawMemoryTask:
        """Return the task of the lines so far."""
        values = self.values
        lists = {field: tuple(map(_parse_bullet, entries)) for field, entries in self.lists.items()}
        return RawMemoryTask(
            name=values["task"],
            group=values.get("task_group", ""),
            outcome=parse_task_outcome(values.get("task_outcome") or values.get("outcome", "")),
            scope=parse_claim_scope(values.get("scope", "")),
            cwd=values.get("cwd", ""),
            keywords=(values.get("keywords", ""),),
            **lists,
        )


def _parse_tasks(lines: Iterable[str]) -> tuple[RawMemoryTask, ...]:
    blocks = [_TaskParser()]
    for text in lines:
        if found := _TASK.fullmatch(text.strip()):
            blocks.append(_TaskParser(found[1].strip("* ")))
        else:
            blocks[-1].add_line(text)
    return tuple(block.build() for block in blocks)


def _parse_bullet(text: str) -> MemoryBullet:
    found = _MARK.match(text)
    parts = [part.strip() for part in found[1].split(";")] if found else []
    proof = next((each for each in CLAIM_PROOFS if parts and each == parts[0].casefold()), None)
    if found is None or proof is None:
        return MemoryBullet(text=text)
    scope = next((each for each in CLAIM_SCOPES for part in parts[1:] if each == part), None)
    date = next((part for part in parts[1:] if _DAY.fullmatch(part)), "")
    rest = " ".join(part for part in parts[1:] if part not in (scope, date))
    return MemoryBullet(
        text=text[found.start(2) :], proof=proof, scope=scope, date=date, evidence=rest
    )


# Removing secrets, scaffold and orders that the users of a session did not give from what stage
# one keeps.


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
