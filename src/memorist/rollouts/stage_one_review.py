"""Which parts of a model's answer at stage one count (RO-4). Pure.

A preference stands only with the user's own words, looked up in what the model was shown; of
everything else nothing that tries to give orders or permission, or that passes on an order from a
tool, a page or another agent (SF-2), that repeats the prompt's own form, or that names what is
nowhere in the session. Secrets are removed. What the session's structure proves is in any case: a
model only adds to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from posixpath import normpath

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.quotation_proof import (
    SentencesTouchedByQuotation,
    find_user_sentences_containing_quote,
    split_sentences_by_line,
)
from memorist.auto_memory.statements.statement_scope import applies_to_every_project
from memorist.auto_memory.statements.task_requests import may_hold_lasting_statement
from memorist.auto_memory.write_evidence import (
    WriteEvidence,
    find_borrowed_sentences,
    is_copied_from_outside,
    is_quote_relevant,
    normalize_for_comparison,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import analyze_text
from memorist.core.utc_time import format_utc_day
from memorist.rollouts.raw_memory import (
    ASKED_PREFIX,
    SAID_PREFIX,
    SECTION_TITLES,
    UNKNOWN_FOLDER,
    MemoryBullet,
    RawMemoryTask,
    clean_raw_memory,
    normalize_raw_memory,
    parse_raw_memory,
)
from memorist.rollouts.session_location import choose_repository_or_directory_scope, is_path_inside
from memorist.rollouts.stage_one_answer import StageOneAnswer
from memorist.rollouts.structural_stage_one import (
    StageOneResult,
    render_session_summary,
    slugify_with_underscores,
)
from memorist.rollouts.user_reactions import select_lasting_sentences
from memorist.safety.instruction_detection import contains_instruction
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.safety.permission_claims import (
    grants_permission,
    is_order_reserved_for_user,
    may_instruct_or_permit_reader,
    waives_confirmation,
)
from memorist.safety.prompt_injection import find_injection_rules
from memorist.safety.secrets import redact
from memorist.store.rollout_rows import Rollout
from memorist.transcript_analysis.answer_check import AnswerLineChecker, CoveredLineDetector

MAX_SUMMARY_CHARACTERS = 40_000
"""Characters of a summary that are kept."""

MIN_SAME_STEMS = 2
"""Words that the names of one task share in structure and in a model's answer. Our choice."""

TOLD_TITLE = "## Told by a model, which nobody checked"
"""Heading of what a model adds to the summary that structure makes."""

_QUOTED = re.compile(
    r"[“„]([^“”„\n]{3,600})[”“]|\"([^\"\n]{3,600})\"|«([^«»\n]{3,600})»|「([^「」\n]{3,600})」"
)
"""A quotation between marks of one kind: one of another kind inside it does not end it."""

_ARROW = re.compile(r"\s*(?:->|=>|→)\s*")

_LINE = re.compile(r"line (\d+)")

_USER_SAID = lazy_pattern(
    r"\b(?:the )?(?:user|person|they|he|she) (?:said|says|asked|asks|wrote"
    r"|told|wants?|put it right)"
    r"(?: that| to)?\b",
    re.IGNORECASE,
)

_USER_WANTED = lazy_pattern(
    r"(?:the )?(?:user|person) (?:wants?|wanted|asked|asks|requested)(?: for| to| that)?\b",
    re.IGNORECASE,
)

_ROW_HEAD = lazy_pattern(
    r"(?:\[\d+\] )?(?:user|assistant|tool|harness)\b[^\n]{0,30} \d{4}-\d{2}-\d{2}\b"
)
"""The head of an entry of the session, as the model was shown it: copied, not told."""

_ENTRY_FRAME = lazy_pattern(
    r"(?:[-*] |\[[^\]\n]{0,60}\] ?|(?:Rollout context|Outcome|Preference signals|Key steps|"
    r"Failures and how to do differently|Reusable knowledge|References): ?)*",
    re.IGNORECASE,
)
"""What the form puts in front of an entry: its list's title and its mark."""

_ASKED_ONCE = lazy_pattern(
    r"(?:the )?(?:user|person) (?:wanted|asked|requested) (?:for|to|that|the|a)\b"
    r"(?![^\n]*\b(?:always|never|every|whenever|from now on|in (?:the )?future|must|prefer\w*)\b)",
    re.IGNORECASE,
)
"""What was asked for once, told of the person: the task's name says it."""

_COPIED = lazy_pattern(
    r"\A[`*]*\$ |:\s*\Z| #{1,6} \w|(?:\A|[.!?:] )(?:now,? )?(?:let me|let's|i['’]ll|i will|"
    r"i['’]m going to)\b",
    re.IGNORECASE,
)
"""A call or a report of the agent, copied: a prompt's sign, a line that announces what follows, a
heading within a line, what the agent is about to do.
"""

_HEADING = lazy_pattern(r"#{1,6} ")

_SUMMARY_FRAME = lazy_pattern(
    r"#{1,3} (?:Task \d+:?)?|(?:Rollout context|Outcome|Preference signals|Key steps|"
    r"Failures and how to do differently|Reusable knowledge|References):(?: \w+)?",
    re.IGNORECASE,
)
"""Lines that the prompt's own form asks for."""


class MergedStageOneResult(Struct, frozen=True, kw_only=True):
    """What stands of an answer beside what structure proves, and what became of its entries."""

    stage: StageOneResult
    added: int = 0
    """Entries of the model that stand."""
    repeated: int = 0
    """Entries that say what is known already."""
    dropped_count: int = 0
    """Entries and lines that may not stand."""
    example: str = ""
    """The first dropped entry that repeats the prompt or invents a name, with the reason."""

    @property
    def receipt_line(self) -> str:
        """What was kept and dropped, in one line for the receipt."""
        parts = (
            f"{self.added} of the model's entries were added to what structure proves",
            f"{self.repeated} said what was known" if self.repeated else "",
            f"{self.dropped_count} were dropped" if self.dropped_count else "",
        )
        text = ", ".join(part for part in parts if part)
        return f"{text} (such as: {self.example})." if self.example else f"{text}."


class AnswerReviewBasis(Struct, frozen=True):
    """What an answer is held against: the session's head, what its structure proves, what the model
    was shown of it (by speaker, and as one text), the words that asked, what the session proves
    against a line (as for `AnswerLineChecker`), and the user's messages with what they pasted.
    """

    thread: Rollout
    structural_result: StageOneResult
    evidence: WriteEvidence
    source: str
    prompt: str
    disprove: Callable[[str], str] | None = None
    typed: tuple[str, ...] = ()


def merge_model_answer_with_proven(
    answer: StageOneAnswer, session: AnswerReviewBasis
) -> MergedStageOneResult:
    """Return what structure proves, with what may stand of a model's answer."""
    if answer.is_empty:
        return MergedStageOneResult(stage=session.structural_result)
    judge = _EntryJudge(session)
    raw = clean_raw_memory(parse_raw_memory(answer.raw_memory))
    tasks = [judged for task in raw.tasks if (judged := judge.judge_task(task)) is not None]
    proven, thread = session.structural_result, session.thread
    memory = clean_raw_memory(
        replace(
            raw,
            description=proven.memory.description or judge.accept(raw.description),
            task_group=proven.memory.task_group or judge.accept(raw.task_group),
            cwd=thread.cwd or UNKNOWN_FOLDER,
            outcome="uncertain"
            if raw.outcome == "success" and proven.memory.outcome == "fail"
            else raw.outcome,
            keywords=(*proven.memory.keywords, *filter(judge.accept, raw.keywords)),
            tasks=add_to_proven_tasks(proven.memory.tasks, tasks),
        )
    )
    added = count_entries(memory.tasks) - count_entries(proven.memory.tasks)
    summary = judge.merge_summaries(answer.rollout_summary, proven.summary)
    slug = slugify_with_underscores(
        redact(answer.rollout_slug or "").text
    ) or slugify_with_underscores(memory.tasks[0].name if memory.tasks else "")
    return MergedStageOneResult(
        stage=StageOneResult(
            normalize_raw_memory(memory),
            summary or render_session_summary(memory, thread, ()),
            slug,
        )
        if added
        else proven,
        added=added,
        repeated=count_entries(tasks) - added,
        dropped_count=judge.dropped,
        example=judge.example,
    )


def count_entries(tasks: Sequence[RawMemoryTask]) -> int:
    """Count the entries of all lists."""
    return sum(len(getattr(task, field)) for task in tasks for field in SECTION_TITLES)


def add_to_proven_tasks(
    proven: Sequence[RawMemoryTask], tasks: Sequence[RawMemoryTask]
) -> tuple[RawMemoryTask, ...]:
    """Add a model's entries to the proven tasks that they belong to, each after what is proven
    there. A task that no proven one resembles stands after them. What says no more than what is
    there already is left out.
    """
    found = list(proven)
    for task in tasks:
        at = _find_same_task(task, proven)
        known = _AlreadySaid(found)
        fresh = {
            field: tuple(each for each in getattr(task, field) if not known.covers(each))
            for field in SECTION_TITLES
        }
        if not any(fresh.values()):
            continue
        if at is None:
            found.append(replace(task, **fresh))
        else:
            both = {field: (*getattr(found[at], field), *new) for field, new in fresh.items()}
            found[at] = replace(found[at], **both)
    return tuple(found)


def _find_same_task(task: RawMemoryTask, proven: Sequence[RawMemoryTask]) -> int | None:
    """Return the place of the proven task that a model's task is about; of a session with one task,
    that one.
    """
    if len(proven) == 1:
        return 0
    mine = analyze_text(task.name).stems
    shared = [(len(mine & analyze_text(each.name).stems), -at) for at, each in enumerate(proven)]
    best, at = max(shared, default=(0, 0))
    return -at if best >= MIN_SAME_STEMS else None


def _list_quotations(text: str) -> list[str]:
    return [found[found.lastindex or 0] for found in _QUOTED.finditer(text)]


class _AlreadySaid:
    """What the entries of tasks say. The user's words are known only by the user's words."""

    def __init__(self, tasks: Sequence[RawMemoryTask]) -> None:
        every = [
            each for task in tasks for field in SECTION_TITLES for each in getattr(task, field)
        ]
        self._lines = [CoveredLineDetector(each.text) for each in every]
        self._said = " ".join(
            normalize_for_comparison(each.text) for each in every if each.proof == "said"
        )

    def covers(self, bullet: MemoryBullet) -> bool:
        if bullet.proof == "said":
            quotes = _list_quotations(bullet.text) or [bullet.text]
            return all(normalize_for_comparison(quote) in self._said for quote in quotes)
        return any(line.covers_line(bullet.text) for line in self._lines)


class _EntryJudge:
    """Judges entry by entry; counts what is dropped."""

    def __init__(self, session: AnswerReviewBasis) -> None:
        self._said = session.evidence
        self._thread = session.thread
        self._user = dict(session.evidence.user_messages)
        self._typed = tuple(map(normalize_for_comparison, session.typed))
        messages = dict.fromkeys((*self._user.values(), *session.typed))
        self._sentences = [each for text in messages for each in split_sentences_by_line(text)]
        self._check = AnswerLineChecker(
            session.source,
            session.prompt,
            asked="\n".join(self._user.values()),
            disprove=session.disprove,
        )
        self.dropped = 0
        self.example = ""

    def accept(self, text: str) -> str:
        """Return the text if it may stand, else nothing."""
        if not self.is_harmless(text) or _is_frame_or_row_head(text):
            return ""
        fault = self._check.find_line_fault(text)
        if fault and not self.example:
            self.example = f"“{text[:80]}” {fault}"
        return "" if fault else text

    def judge_task(self, task: RawMemoryTask) -> RawMemoryTask | None:
        """Return the task with its acceptable entries; None if its name is not acceptable, or is
        the form's own and nothing of the session is below it. What only a tool or the client
        printed is no task's name: nobody wanted it.
        """
        printed = is_copied_from_outside(task.name, self._said)
        named = replace(task, name="" if printed else self.accept(task.name))
        if task.name and not named.name:
            self.dropped += 1
        if task.name and not self.is_harmless(task.name):
            return None
        task = named
        own = choose_repository_or_directory_scope(self._thread)
        preferences, requests = self._part_from_requests(task.preferences)
        return replace(
            task,
            group=self.accept(task.group),
            scope="directory" if task.scope == "directory" else own,
            cwd=task.cwd
            if self._thread.cwd and is_path_inside(normpath(task.cwd), self._thread.cwd)
            else self._thread.cwd or UNKNOWN_FOLDER,
            preferences=self._judge_bullets(preferences, is_preference=True),
            knowledge=self._judge_bullets((*requests, *task.knowledge)),
            failures=self._judge_bullets(task.failures),
            references=self._judge_bullets(task.references),
            keywords=tuple(filter(self.accept, task.keywords)),
        )

    def _part_from_requests(
        self, bullets: Sequence[MemoryBullet]
    ) -> tuple[list[MemoryBullet], list[MemoryBullet]]:
        """Part preferences from entries that quote what the user asked for once: these stand as
        that, without what the model made of it.
        """
        preferences, requests = [], []
        for bullet in bullets:
            _, quoted = self._find_user_words(bullet.text)
            if quoted is None or self._select_lasting(quoted):
                preferences.append(bullet)
            else:
                said = " ".join(quoted.sentences)
                requests.append(replace(bullet, text=f"{ASKED_PREFIX}“{said}”"))
        return preferences, requests

    def _select_lasting(self, quoted: SentencesTouchedByQuotation) -> tuple[str, ...]:
        typed = (self._user[message] for message in quoted.messages)
        return next(
            filter(None, (select_lasting_sentences(quoted.sentences, each) for each in typed)), ()
        )

    def _judge_bullets(
        self, bullets: Sequence[MemoryBullet], *, is_preference: bool = False
    ) -> tuple[MemoryBullet, ...]:
        found = [
            judged
            for bullet in bullets
            for judged in self._judge_bullet(bullet, is_preference=is_preference)
        ]
        # Later facts replace earlier ones by their day, so that one without a day has the
        # session's.
        return tuple(
            bullet if bullet.date else replace(bullet, date=format_utc_day(self._thread.updated))
            for bullet in found
        )

    def _judge_bullet(self, bullet: MemoryBullet, *, is_preference: bool) -> list[MemoryBullet]:
        """Return the entry with its verified proof: the quoted sentence as the user's words, what
        the model wrote about it as an inference. Nothing of it where neither is acceptable.
        """
        quote, quoted = self._find_user_words(bullet.text)
        if quoted is None:
            kept = self._judge_inference(bullet, is_preference=is_preference)
            self.dropped += kept is None
            return [kept] if kept is not None else []
        said = " ".join(self._select_lasting(quoted) if is_preference else quoted.sentences)
        whole = normalize_for_comparison(said) == normalize_for_comparison(bullet.text)
        lead = ASKED_PREFIX if bullet.text.startswith(ASKED_PREFIX) else SAID_PREFIX
        found = [
            replace(
                bullet,
                text=bullet.text if whole else f"{lead}“{said}”",
                proof="said",
                evidence=quoted.messages[0] or _parse_pointer(bullet.evidence),
                scope="global" if is_preference and applies_to_every_project(said) else None,
            )
        ]
        rest = _USER_SAID.sub("", bullet.text.replace(quote, "")).strip(" \t-–—>→:;,.\"'“”„‘’«»")
        if rest and not whole:
            more = self._judge_inference(replace(bullet, text=rest), is_preference=False)
            orders = more is not None and contains_instruction(_ARROW.sub("; ", rest))
            self.dropped += more is None or orders
            found += [more] if more is not None and not orders else []
        return found

    def _judge_inference(self, bullet: MemoryBullet, *, is_preference: bool) -> MemoryBullet | None:
        claims_user = is_preference or (
            bullet.proof == "said" and may_instruct_or_permit_reader(bullet.text)
        )
        if (
            (claims_user and not self._rests_on_user(bullet, is_preference=is_preference))
            or _HEADING.match(bullet.text) is not None
            or _COPIED.search(bullet.text) is not None
            or self._repeats_request(bullet.text)
            or self._puts_words_in_mouth(bullet.text)
            or self._check.find_unsupported_user_claim(bullet.text)
            or not self.accept(bullet.text)
        ):
            return None
        return replace(
            bullet, proof="inferred", evidence=_parse_pointer(bullet.evidence), scope=None
        )

    def _repeats_request(self, text: str) -> bool:
        """Tell whether it only says what the user asked for: that is the task's name already. So
        does a piece of their message, as of a plan, that proves no statement of theirs.
        """
        piece = normalize_for_comparison(text)
        if _ASKED_ONCE.match(text) or any(piece in words for words in self._typed):
            return True
        if not may_hold_lasting_statement(text) and self._is_near_copy(text):
            return True
        wanted = _USER_WANTED.match(text)
        return wanted is not None and any(
            CoveredLineDetector(words).covers_line(text[wanted.end() :])
            for words in self._user.values()
        )

    def _is_near_copy(self, text: str) -> bool:
        """Tell whether it is a sentence of the user with hardly a word changed, put right."""
        mine = CoveredLineDetector(text)
        return any(
            mine.covers_line(each) and CoveredLineDetector(each).covers_line(text)
            for each in self._sentences
        )

    def _find_user_words(self, text: str) -> tuple[str, SentencesTouchedByQuotation | None]:
        """Return the first quotation in a text that the user did say, with its whole sentences; the
        text itself counts as one.
        """
        for quote in (*_list_quotations(text), text):
            quoted = find_user_sentences_containing_quote(quote, self._said)
            if quoted is not None:
                return quote, quoted
        return "", None

    def _rests_on_user(self, bullet: MemoryBullet, *, is_preference: bool) -> bool:
        """Tell whether it names a related user message as evidence, a preference one that states
        something for later; it then stands as an inference, not as the user's words.
        """
        words = self._user.get(_parse_pointer(bullet.evidence), "")
        if is_preference:
            words = " ".join(select_lasting_sentences(tuple(split_sentences_by_line(words)), words))
        return (
            bool(words)
            and not _QUOTED.search(bullet.text)
            and is_quote_relevant(bullet.text, words)
        )

    def is_harmless(self, text: str) -> bool:
        """Tell whether it gives agents no orders, grants nothing in the user's name, and passes on
        no order from elsewhere.
        """
        if any(
            found(text)
            for found in (
                find_injection_rules,
                grants_permission,
                waives_confirmation,
                is_order_reserved_for_user,
            )
        ):
            return False
        return not may_instruct_or_permit_reader(text) or not any(
            map(may_instruct_or_permit_reader, find_borrowed_sentences(text, self._said))
        )

    def _puts_words_in_mouth(self, text: str) -> bool:
        """Tell whether it gives an order as what the user said, and the user did not say it."""
        said = _USER_SAID.search(text)
        return (
            said is not None
            and may_instruct_or_permit_reader(text[said.end() :])
            and self._find_user_words(text[said.end() :].strip(" :-"))[1] is None
        )

    def merge_summaries(self, text: str, proven: str) -> str:
        """Return the summary that structure makes, and after it the lines of the model's that say
        more and may stand. Without the former all lines of the latter that may stand.
        """
        known = CoveredLineDetector(proven)
        kept = []
        for line in redact(neutralize_markup(text[: 2 * MAX_SUMMARY_CHARACTERS])).text.split("\n"):
            frame = not line.strip() or _SUMMARY_FRAME.fullmatch(line.strip()) is not None
            if not frame and (self._puts_words_in_mouth(line) or not self.accept(line)):
                self.dropped += 1
            elif not proven or not (frame or known.covers_line(line)):
                kept.append(line.rstrip())
        summary = "\n".join(kept).strip()
        found = (
            f"{proven.strip()}\n\n{TOLD_TITLE}\n\n{summary}"
            if proven and summary
            else proven or summary
        )
        found = found.strip()[:MAX_SUMMARY_CHARACTERS]
        return f"{found}\n" if found else ""


def _is_frame_or_row_head(text: str) -> bool:
    """Tell whether nothing is left of a line without titles and marks, or only the head of an entry
    of the session.
    """
    line = text.strip()
    frame = _ENTRY_FRAME.match(line)
    rest = line[frame.end() :] if frame else line
    return not rest or any(_ROW_HEAD.match(each) for each in (line, rest))


def _parse_pointer(evidence: str) -> str:
    found = _LINE.search(evidence)
    return f"line {found[1]}" if found else ""
