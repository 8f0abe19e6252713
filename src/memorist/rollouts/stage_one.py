"""Stage one by a model: what it is asked, and which parts of its answer count (RO-4). Pure.

The answer is parsed strictly. Then code decides what may stand: a preference only with the user's
own words, looked up in what the model was shown; of everything else nothing that tries to give
orders or permission, or that passes on an order from a tool, a page or another agent (SF-2).
Secrets are removed. What the user said outright stands in any case, whether the model saw it or
not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.evidence import Evidence, bears_on, borrowed, plain, quoted_in
from memorist.core.messages import JsonObject
from memorist.core.template import render as filled
from memorist.rollouts.cleaning import cleaned, cleaned_line
from memorist.rollouts.raw_memory import UNKNOWN, Bullet, RawMemory, Task, parse, tidy
from memorist.rollouts.rows import day
from memorist.rollouts.scope import holds_everywhere, own_scope
from memorist.rollouts.structural import Stage, slug_of
from memorist.rollouts.summary import summary_of
from memorist.safety.data import neutralise
from memorist.safety.granting import grants, waives
from memorist.safety.instructing import instructs
from memorist.safety.orders import signs_of_orders
from memorist.safety.secrets import redact
from memorist.store.thread import Thread

LONGEST = 400_000
"""Characters of an answer that are examined; a longer one is unusable."""
SUMMARY = 40_000
"""Characters of a summary that are kept."""
TRIES = 2
"""Answers requested before the structural fallback is used."""

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "raw_memory": {"type": "string"},
        "rollout_summary": {"type": "string"},
        "rollout_slug": {"type": ["string", "null"]},
    },
    "required": ["raw_memory", "rollout_summary", "rollout_slug"],
    "additionalProperties": False,
}
"""The published shape of the answer (codex.md section 1.7)."""

_QUOTED = re.compile(r"[\"“«「]([^\"“”«»「」\n]{3,600})[\"”»」]")
_LINE = re.compile(r"line (\d+)")
_TAGS = ("session", "before")


class Texts(Struct, frozen=True):
    """The prompts (`prompts/rollouts`)."""

    task: str
    part: str
    again: str


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """The model's answer: both texts, and words for a file name.

    If all are empty, nothing is worth keeping.
    """

    raw_memory: str
    rollout_summary: str
    rollout_slug: str | None

    @property
    def empty(self) -> bool:
        """Whether it is a no-op."""
        return not (self.raw_memory.strip() or self.rollout_summary.strip())


class Unusable(Struct, frozen=True):
    """An unusable answer, and why, in one sentence."""

    why: str


class Part(Struct, frozen=True, kw_only=True):
    """One request: a part of a session, and what the parts before it gave."""

    evidence: str
    number: int = 1
    count: int = 1
    before: str = ""
    why: str = ""
    """Why the last answer was unusable; empty for the first."""


class Judged(Struct, frozen=True):
    """What may stand of an answer, and how many of its entries were dropped."""

    stage: Stage
    dropped: int = 0


def material(part: Part) -> str:
    """Render the session and what its earlier parts gave, without secrets, in tags that nothing
    inside can close.
    """
    before = f"<before>\n{neutralise(part.before, _TAGS).strip()}\n</before>\n\n" if part.before else ""
    return redact(f"{before}<session>\n{neutralise(part.evidence, _TAGS)}\n</session>").text


def instruction(texts: Texts, part: Part, thread: Thread) -> str:
    """Render the instruction."""
    place = filled(texts.part, {"number": str(part.number), "count": str(part.count)}, strict=True) if part.count > 1 else ""
    values = {
        "cwd": cleaned_line(thread.cwd) or UNKNOWN,
        "path": cleaned_line(thread.path),
        "branch": cleaned_line(thread.branch) or UNKNOWN,
        "part": place,
    }
    again = "\n" + filled(texts.again, {"why": part.why}, strict=True) if part.why else ""
    return filled(texts.task, values, strict=True) + again


def read(text: str) -> Answer | Unusable:
    """Parse the model's answer: one object of the three texts, possibly in a fence or surrounded by
    words.
    """
    start, end = text.find("{"), text.rfind("}")
    if len(text) > LONGEST:
        return Unusable(f"it is longer than {LONGEST:,} characters.")
    if start < 0 or end < start:
        return Unusable("it holds no JSON object.")
    try:
        answer = msgspec.json.decode(text[start : end + 1].encode("utf-8", "replace"), type=Answer)
    except msgspec.ValidationError as error:
        return Unusable(f"its object has not the three texts alone ({error}).")
    except (msgspec.DecodeError, RecursionError):
        return Unusable("its JSON is broken.")
    why = _half(answer)
    return Unusable(why) if why else answer


def _half(answer: Answer) -> str:
    """Return why an answer of the right shape is incomplete; empty for a complete one, and for one
    that says nothing at all.
    """
    if answer.empty:
        return ""
    if not (answer.raw_memory.strip() and answer.rollout_summary.strip()):
        return "one of `raw_memory` and `rollout_summary` is empty and the other is not."
    return "" if any(task.name for task in parse(answer.raw_memory).tasks) else "its `raw_memory` names no task."


def judged(answer: Answer, said: Evidence, known: RawMemory, thread: Thread) -> Judged:
    """Return what may stand of an answer.

    `evidence` is what the model was shown, by speaker; `structural_memory` what the session's
    structure proves.
    """
    if answer.empty:
        return Judged(Stage(RawMemory()))
    judge = _Judge(said, thread)
    raw = cleaned(parse(answer.raw_memory))
    tasks = [judge.task(task) for task in raw.tasks]
    memory = replace(
        raw,
        description=raw.description if judge.is_harmless(raw.description) else known.description,
        task_group=raw.task_group if judge.is_harmless(raw.task_group) else known.task_group,
        cwd=thread.cwd or UNKNOWN,
        outcome="uncertain" if raw.outcome == "success" and known.outcome == "fail" else raw.outcome,
        keywords=tuple(filter(judge.is_harmless, raw.keywords)),
        tasks=tuple(with_said([task for task in tasks if task is not None], known)),
    )
    memory = cleaned(memory)
    summary = judge.summary(answer.rollout_summary) or summary_of(memory, thread, ())
    slug = slug_of(redact(answer.rollout_slug or "").text) or slug_of(memory.tasks[0].name if memory.tasks else "")
    return Judged(Stage(tidy(memory), summary, slug), judge.dropped)


def with_said(tasks: Sequence[Task], known: RawMemory) -> list[Task]:
    """Add what the user said outright and the model left out, to the last of the tasks."""
    there = [bullet.text for task in tasks for bullet in task.preferences if bullet.proof == "said"]
    quotes = [plain(quote) for text in there for quote in _QUOTED.findall(text)]
    whole = " ".join(map(plain, there))
    missing = [
        bullet
        for task in known.tasks
        for bullet in task.preferences
        if (words := plain(bullet.text)) not in whole and not any(quote in words for quote in quotes)
    ]
    if not missing or not tasks:
        return list(tasks)
    return [*tasks[:-1], replace(tasks[-1], preferences=(*tasks[-1].preferences, *missing))]


class _Judge:
    """Judges entry by entry; counts what is dropped."""

    def __init__(self, said: Evidence, thread: Thread) -> None:
        self._said = said
        self._thread = thread
        self._user = dict(said.user)
        self.dropped = 0

    def task(self, task: Task) -> Task | None:
        """Return the task with its acceptable entries; None if its name is not acceptable."""
        if not self.is_harmless(task.name):
            self.dropped += 1
            return None
        own = own_scope(self._thread)
        return replace(
            task,
            group=task.group if self.is_harmless(task.group) else "",
            scope="directory" if task.scope == "directory" else own,
            cwd=task.cwd if task.cwd.startswith(self._thread.cwd or "\0") else self._thread.cwd or UNKNOWN,
            preferences=self._kept(task.preferences, wish=True),
            knowledge=self._kept(task.knowledge),
            failures=self._kept(task.failures),
            references=self._kept(task.references),
            keywords=tuple(filter(self.is_harmless, task.keywords)),
        )

    def _kept(self, bullets: Sequence[Bullet], *, wish: bool = False) -> tuple[Bullet, ...]:
        found = [self._bullet(bullet, wish=wish) for bullet in bullets]
        self.dropped += found.count(None)
        # Later facts replace earlier ones by their day, so that one without a day has the
        # session's.
        return tuple(bullet if bullet.date else replace(bullet, date=day(self._thread.updated)) for bullet in found if bullet is not None)

    def _bullet(self, bullet: Bullet, *, wish: bool) -> Bullet | None:
        """Return the entry with its verified proof; None if it is not acceptable."""
        quote, places = self._words_of_user(bullet.text)
        if places:
            everywhere = wish and holds_everywhere(quote)
            return replace(bullet, proof="said", evidence=places[0] or _pointer(bullet.evidence), scope="global" if everywhere else None)
        if (wish and not self._rests_on_user(bullet)) or not self.is_harmless(bullet.text):
            return None
        return replace(bullet, proof="inferred", evidence=_pointer(bullet.evidence), scope=None)

    def _words_of_user(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Return the first quotation in a text that the user did say, and where; the whole text
        counts as one.
        """
        for quote in (*_QUOTED.findall(text), text):
            places = quoted_in(quote, self._said)
            if places:
                return quote, places
        return "", ()

    def _rests_on_user(self, bullet: Bullet) -> bool:
        """Tell whether it names a related user message as evidence; it then stands as an inference,
        not as the user's words.
        """
        words = self._user.get(_pointer(bullet.evidence), "")
        return bool(words) and not _QUOTED.search(bullet.text) and bears_on(bullet.text, words)

    def is_harmless(self, text: str) -> bool:
        """Tell whether it gives agents no orders, grants nothing in the user's name, and passes on
        no order from elsewhere.
        """
        if signs_of_orders(text) or grants(text) or waives(text):
            return False
        return not any(instructs(sentence) for sentence in borrowed(text, self._said)) if instructs(text) else True

    def summary(self, text: str) -> str:
        """Return the acceptable lines of a summary."""
        kept = []
        for line in redact(neutralise(text[: 2 * SUMMARY])).text.split("\n"):
            if self.is_harmless(line) or self._words_of_user(line)[1]:
                kept.append(line.rstrip())
            else:
                self.dropped += 1
        found = "\n".join(kept).strip()[:SUMMARY]
        return f"{found}\n" if found else ""


def _pointer(evidence: str) -> str:
    found = _LINE.search(evidence)
    return f"line {found[1]}" if found else ""
