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

from memorist.auto_memory.quotation_proof import QuotedSentences, find_quoted_sentences
from memorist.auto_memory.write_evidence import (
    WriteEvidence,
    find_borrowed_sentences,
    is_quote_relevant,
    normalize_for_comparison,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.markdown import render_template as filled
from memorist.core.messages import JsonObject
from memorist.rollouts.evidence import utc_day
from memorist.rollouts.raw_memory import (
    UNKNOWN_FOLDER,
    MemoryBullet,
    RawMemory,
    RawMemoryTask,
    parse_raw_memory,
    tidy_raw_memory,
)
from memorist.rollouts.structural import (
    StageOneResult,
    clean_line,
    clean_raw_memory,
    render_session_summary,
    slugify,
)
from memorist.rollouts.task_log import applies_everywhere, default_scope
from memorist.safety.prompt_injection import (
    find_injection_rules,
    grants_permission,
    is_instruction,
    waives_confirmation,
)
from memorist.safety.sanitize import neutralize_markup
from memorist.safety.secrets import redact
from memorist.store.rollouts import Rollout

MAX_ANSWER_CHARACTERS = 400_000
"""Characters of an answer that are examined; a longer one is unusable."""
MAX_SUMMARY_CHARACTERS = 40_000
"""Characters of a summary that are kept."""
MAX_TRIES = 2
"""Answers requested before the structural fallback is used."""

ANSWER_SCHEMA: JsonObject = {
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
_MATERIAL_TAGS = ("session", "before")


class StageOnePrompts(Struct, frozen=True):
    """The prompts (`prompts/rollouts`)."""

    task: str
    part: str
    again: str


class StageOneAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """The model's answer: both texts, and words for a file name.

    If all are empty, nothing is worth keeping.
    """

    raw_memory: str
    rollout_summary: str
    rollout_slug: str | None

    @property
    def is_empty(self) -> bool:
        """Whether it is a no-op."""
        return not (self.raw_memory.strip() or self.rollout_summary.strip())


class UnusableAnswer(Struct, frozen=True):
    """An unusable answer, and why, in one sentence."""

    why: str


class StageOnePart(Struct, frozen=True, kw_only=True):
    """One request: a part of a session, and what the parts before it gave."""

    evidence: str
    number: int = 1
    count: int = 1
    before: str = ""
    why: str = ""
    """Why the last answer was unusable; empty for the first."""


class JudgedAnswer(Struct, frozen=True):
    """What may stand of an answer, and how many of its entries were dropped."""

    stage: StageOneResult
    dropped: int = 0


def render_part_material(part: StageOnePart) -> str:
    """Render the session and what its earlier parts gave, without secrets, in tags that nothing
    inside can close.
    """
    before = (
        f"<before>\n{neutralize_markup(part.before, _MATERIAL_TAGS).strip()}\n</before>\n\n"
        if part.before
        else ""
    )
    return redact(
        f"{before}<session>\n{neutralize_markup(part.evidence, _MATERIAL_TAGS)}\n</session>"
    ).text


def build_part_instruction(prompts: StageOnePrompts, part: StageOnePart, thread: Rollout) -> str:
    """Render the instruction."""
    place = (
        filled(prompts.part, {"number": str(part.number), "count": str(part.count)}, strict=True)
        if part.count > 1
        else ""
    )
    values = {
        "cwd": clean_line(thread.cwd) or UNKNOWN_FOLDER,
        "path": clean_line(thread.path),
        "branch": clean_line(thread.branch) or UNKNOWN_FOLDER,
        "part": place,
    }
    again = "\n" + filled(prompts.again, {"why": part.why}, strict=True) if part.why else ""
    return filled(prompts.task, values, strict=True) + again


def parse_answer(text: str) -> StageOneAnswer | UnusableAnswer:
    """Parse the model's answer: one object of the three texts, possibly in a fence or surrounded by
    words.
    """
    start, end = text.find("{"), text.rfind("}")
    if len(text) > MAX_ANSWER_CHARACTERS:
        return UnusableAnswer(f"it is longer than {MAX_ANSWER_CHARACTERS:,} characters.")
    if start < 0 or end < start:
        return UnusableAnswer("it holds no JSON object.")
    try:
        answer = msgspec.json.decode(
            text[start : end + 1].encode("utf-8", "replace"), type=StageOneAnswer
        )
    except msgspec.ValidationError as error:
        return UnusableAnswer(f"its object has not the three texts alone ({error}).")
    except (msgspec.DecodeError, RecursionError):
        return UnusableAnswer("its JSON is broken.")
    why = _missing_content(answer)
    return UnusableAnswer(why) if why else answer


def _missing_content(answer: StageOneAnswer) -> str:
    """Return why an answer of the right shape is incomplete; empty for a complete one, and for one
    that says nothing at all.
    """
    if answer.is_empty:
        return ""
    if not (answer.raw_memory.strip() and answer.rollout_summary.strip()):
        return "one of `raw_memory` and `rollout_summary` is empty and the other is not."
    return (
        ""
        if any(task.name for task in parse_raw_memory(answer.raw_memory).tasks)
        else "its `raw_memory` names no task."
    )


def judge_answer(
    answer: StageOneAnswer, evidence: WriteEvidence, structural_memory: RawMemory, thread: Rollout
) -> JudgedAnswer:
    """Return what may stand of an answer.

    `evidence` is what the model was shown, by speaker; `structural_memory` what the session's
    structure proves.
    """
    if answer.is_empty:
        return JudgedAnswer(StageOneResult(RawMemory()))
    judge = _AnswerJudge(evidence, thread)
    raw = clean_raw_memory(parse_raw_memory(answer.raw_memory))
    tasks = [judge.judge_task(task) for task in raw.tasks]
    memory = replace(
        raw,
        description=raw.description
        if judge.is_harmless(raw.description)
        else structural_memory.description,
        task_group=raw.task_group
        if judge.is_harmless(raw.task_group)
        else structural_memory.task_group,
        cwd=thread.cwd or UNKNOWN_FOLDER,
        outcome="uncertain"
        if raw.outcome == "success" and structural_memory.outcome == "fail"
        else raw.outcome,
        keywords=tuple(filter(judge.is_harmless, raw.keywords)),
        tasks=tuple(
            add_user_statements([task for task in tasks if task is not None], structural_memory)
        ),
    )
    memory = clean_raw_memory(memory)
    summary = judge.filter_summary(answer.rollout_summary) or render_session_summary(
        memory, thread, ()
    )
    slug = slugify(redact(answer.rollout_slug or "").text) or slugify(
        memory.tasks[0].name if memory.tasks else ""
    )
    return JudgedAnswer(StageOneResult(tidy_raw_memory(memory), summary, slug), judge.dropped)


def add_user_statements(
    tasks: Sequence[RawMemoryTask], structural_memory: RawMemory
) -> list[RawMemoryTask]:
    """Add what the user said outright and the model left out, to the last of the tasks."""
    there = [bullet.text for task in tasks for bullet in task.preferences if bullet.proof == "said"]
    quotes = [normalize_for_comparison(quote) for text in there for quote in _QUOTED.findall(text)]
    whole = " ".join(map(normalize_for_comparison, there))
    missing = [
        bullet
        for task in structural_memory.tasks
        for bullet in task.preferences
        if (words := normalize_for_comparison(bullet.text)) not in whole
        and not any(quote in words for quote in quotes)
    ]
    if not missing or not tasks:
        return list(tasks)
    return [*tasks[:-1], replace(tasks[-1], preferences=(*tasks[-1].preferences, *missing))]


class _AnswerJudge:
    """Judges entry by entry; counts what is dropped."""

    def __init__(self, said: WriteEvidence, thread: Rollout) -> None:
        self._said = said
        self._thread = thread
        self._user = dict(said.user_messages)
        self.dropped = 0

    def judge_task(self, task: RawMemoryTask) -> RawMemoryTask | None:
        """Return the task with its acceptable entries; None if its name is not acceptable."""
        if not self.is_harmless(task.name):
            self.dropped += 1
            return None
        own = default_scope(self._thread)
        return replace(
            task,
            group=task.group if self.is_harmless(task.group) else "",
            scope="directory" if task.scope == "directory" else own,
            cwd=task.cwd
            if task.cwd.startswith(self._thread.cwd or "\0")
            else self._thread.cwd or UNKNOWN_FOLDER,
            preferences=self._judge_bullets(task.preferences, wish=True),
            knowledge=self._judge_bullets(task.knowledge),
            failures=self._judge_bullets(task.failures),
            references=self._judge_bullets(task.references),
            keywords=tuple(filter(self.is_harmless, task.keywords)),
        )

    def _judge_bullets(
        self, bullets: Sequence[MemoryBullet], *, wish: bool = False
    ) -> tuple[MemoryBullet, ...]:
        found = [made for bullet in bullets for made in self._judge_bullet(bullet, wish=wish)]
        # Later facts replace earlier ones by their day, so that one without a day has the
        # session's.
        return tuple(
            bullet if bullet.date else replace(bullet, date=utc_day(self._thread.updated))
            for bullet in found
        )

    def _judge_bullet(self, bullet: MemoryBullet, *, wish: bool) -> list[MemoryBullet]:
        """Return the entry with its verified proof: the quoted sentence as the user's words, what
        the model wrote about it as an inference. Nothing of it where neither is acceptable.
        """
        quote, quoted = self._find_user_words(bullet.text)
        if quoted is None:
            kept = self._judge_inference(bullet, wish=wish)
            self.dropped += kept is None
            return [kept] if kept is not None else []
        said = " ".join(quoted.sentences)
        whole = normalize_for_comparison(said) == normalize_for_comparison(bullet.text)
        found = [
            replace(
                bullet,
                text=bullet.text if whole else f"The user said: “{said}”",
                proof="said",
                evidence=quoted.messages[0] or _parse_pointer(bullet.evidence),
                scope="global" if wish and applies_everywhere(said) else None,
            )
        ]
        rest = _USER_SAID.sub("", bullet.text.replace(quote, "")).strip(" \t-–—>→:;,.\"'“”„‘’«»")
        if rest and not whole:
            more = self._judge_inference(replace(bullet, text=rest), wish=False)
            orders = more is not None and is_instruction(rest)
            self.dropped += more is None or orders
            found += [more] if more is not None and not orders else []
        return found

    def _judge_inference(self, bullet: MemoryBullet, *, wish: bool) -> MemoryBullet | None:
        if (wish and not self._rests_on_user(bullet)) or not self.is_harmless(bullet.text):
            return None
        return replace(
            bullet, proof="inferred", evidence=_parse_pointer(bullet.evidence), scope=None
        )

    def _find_user_words(self, text: str) -> tuple[str, QuotedSentences | None]:
        """Return the first quotation in a text that the user did say, with its whole sentences; the
        text itself counts as one.
        """
        for quote in (*_QUOTED.findall(text), text):
            quoted = find_quoted_sentences(quote, self._said)
            if quoted is not None:
                return quote, quoted
        return "", None

    def _rests_on_user(self, bullet: MemoryBullet) -> bool:
        """Tell whether it names a related user message as evidence; it then stands as an inference,
        not as the user's words.
        """
        words = self._user.get(_parse_pointer(bullet.evidence), "")
        return (
            bool(words)
            and not _QUOTED.search(bullet.text)
            and is_quote_relevant(bullet.text, words)
        )

    def is_harmless(self, text: str) -> bool:
        """Tell whether it gives agents no orders, grants nothing in the user's name, and passes on
        no order from elsewhere.
        """
        if find_injection_rules(text) or grants_permission(text) or waives_confirmation(text):
            return False
        return (
            not any(
                is_instruction(sentence) for sentence in find_borrowed_sentences(text, self._said)
            )
            if is_instruction(text)
            else True
        )

    def filter_summary(self, text: str) -> str:
        """Return the acceptable lines of a summary."""
        kept = []
        for line in redact(neutralize_markup(text[: 2 * MAX_SUMMARY_CHARACTERS])).text.split("\n"):
            if self.is_harmless(line):
                kept.append(line.rstrip())
            else:
                self.dropped += 1
        found = "\n".join(kept).strip()[:MAX_SUMMARY_CHARACTERS]
        return f"{found}\n" if found else ""


_USER_SAID = lazy_pattern(
    r"\b(?:the )?(?:user|person|they|he|she) (?:said|says|asked|asks|wrote"
    r"|told|wants?|put it right)"
    r"(?: that| to)?\b",
    re.IGNORECASE,
)


def _parse_pointer(evidence: str) -> str:
    found = _LINE.search(evidence)
    return f"line {found[1]}" if found else ""
