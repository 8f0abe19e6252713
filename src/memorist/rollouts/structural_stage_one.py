"""Stage one from a session's structure alone: what its messages, calls and exit statuses prove
(RO-4). Pure.

Nothing is inferred. What the user said stands as the user's words, what a command or a file shows
stands as proven, and the agent's own last words stand as an unchecked report. An outcome needs
proof: a check that passed after the last change, a commit, the user's thanks or permission to go
on; or, on the other side, a check that failed last. Without any of those it is uncertain.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.write_evidence import normalize_for_comparison, split_script_words
from memorist.core.lazy import lazy_pattern
from memorist.core.sentences import shorten_to_one_line
from memorist.core.text_analysis import analyze_text
from memorist.rollouts.raw_memory import (
    ASKED_PREFIX,
    PASSED_ON_PREFIX,
    UNKNOWN_FOLDER,
    MemoryBullet,
    RawMemory,
    RawMemoryTask,
    TaskOutcome,
    clean_raw_memory,
    clean_raw_memory_line,
    render_bullet_proof_tag,
    render_session_raw_memory,
)
from memorist.rollouts.session_evidence import render_line_number
from memorist.rollouts.session_lessons import (
    COMMANDS_SECTION,
    CORRECTED_PREFIX,
    SessionLesson,
    choose_lessons,
)
from memorist.rollouts.session_location import (
    choose_repository_or_directory_scope,
    get_project_name,
)
from memorist.rollouts.structural_task_log import (
    SHIPPING,
    TaskLogBuilder,
    TaskRecord,
    TaskUserMessage,
)
from memorist.rollouts.user_reactions import UserReaction
from memorist.safety.secrets import redact
from memorist.session_memory.structural_notes import RESULTS_SECTION, TASK_SECTION
from memorist.session_memory.work_notes import ERRORS_SECTION, MENDED
from memorist.store.extract_rows import RolloutExtract
from memorist.store.rollout_rows import Rollout
from memorist.transcript_analysis.command_lines import CHECK_KINDS, truncate_command
from memorist.transcript_analysis.display_paths import join_display_paths, make_display_path
from memorist.transcript_analysis.turn_log import find_commit_subject

# Render a session's summary task by task, from its raw memory and its actions (Codex).


MAX_SHOWN_FILES = 12
MAX_STEP_COMMANDS = 16
"""Commands of a task that its summary lists in their order, for procedures that sessions share."""


def _asked_prefix(asked: TaskUserMessage) -> str:
    return ASKED_PREFIX if _is_within(asked.text, asked.typed_text) else PASSED_ON_PREFIX


def describe_task_steps(note: TaskRecord, cwd: str) -> list[str]:
    """Describe what was done, in a few lines."""
    steps = [
        f"{_asked_prefix(each)}“{shorten_to_one_line(each.text, 300)}”{_line_mark(each.line)}"
        for each in note.requests
        if each.reaction in (UserReaction.BEGINS, UserReaction.GOES_ON)
    ][:6]
    if note.edited:
        steps.append(f"Changed {render_changed_files(note, cwd)}")
    ran = [text for text, run in note.runs.items() if run.last is not None and run.last.ok]
    if len(ran) > len(note.checks):
        shown = "; ".join(f"`{text}`" for text in ran[:MAX_STEP_COMMANDS] if "`" not in text)
        steps.append(f"Commands that worked, in order: {shown}")
    checks = [
        f"`{truncate_command(command, 80)}` {'passed' if ok else 'failed'}"
        for ok, _, command in note.checks.values()
    ]
    if checks:
        steps.append(f"Last of each kind of command: {'; '.join(checks)}")
    if note.interrupted:
        steps.append("The user stopped the agent on the way")
    if note.accept_order > note.complaint_order:
        steps.append("The user accepted the work")
    elif note.complaint_order >= 0:
        steps.append("The user put the work right, and did not accept it afterwards")
    return [clean_raw_memory_line(step) for step in steps]


def render_changed_files(note: TaskRecord, cwd: str) -> str:
    """Render the changed files, most changed first."""
    paths = sorted(note.edited, key=lambda path: -note.edited[path])
    return join_display_paths(paths, cwd, MAX_SHOWN_FILES)


def render_session_summary(
    memory: RawMemory, thread: Rollout, steps: Sequence[Sequence[str]]
) -> str:
    """Render the text; `steps` are those of each task. Empty if the raw memory says nothing."""
    if memory.is_empty:
        return ""
    branch = clean_raw_memory_line(thread.branch) or UNKNOWN_FOLDER
    lines = [
        f"# {memory.description}",
        "",
        f"Rollout context: folder {memory.cwd}, branch {branch}, recorded by {thread.format}",
        "",
    ]
    for number, task in enumerate(memory.tasks, 1):
        lines += [f"## Task {number}: {task.name}", f"Outcome: {task.outcome}", ""]
        lines += _list_bullets("Preference signals:", task.preferences)
        if number <= len(steps) and steps[number - 1]:
            lines += ["Key steps:", *(f"- {step}" for step in steps[number - 1]), ""]
        lines += _list_bullets("Failures and how to do differently:", task.failures)
        lines += _list_bullets("Reusable knowledge:", task.knowledge)
        if task.references:
            lines += [
                "References:",
                *(
                    f"{at}. {render_bullet_proof_tag(each)} {each.text}"
                    for at, each in enumerate(task.references, 1)
                ),
                "",
            ]
    return "\n".join(lines).strip() + "\n"


def _list_bullets(title: str, bullets: Sequence[MemoryBullet]) -> list[str]:
    if bullets:
        return [title, *(f"- {render_bullet_proof_tag(each)} {each.text}" for each in bullets), ""]
    return []


def _line_mark(number: int) -> str:
    return f" ({render_line_number(number)})" if number else ""


MAX_MEMORY_TASKS = 6
"""Tasks of one raw memory: the most informative ones, in order."""
MAX_CARRIED_PREFERENCES = 100
"""Newest preferences of omitted tasks, kept with the last listed task."""
MAX_NAME_CHARACTERS = 110
MAX_KEYWORD_CHARACTERS = 48
MAX_TASK_KEYWORDS = 10
MAX_SLUG_CHARACTERS = 60
"""Characters of a slug (Codex)."""

_PLAN = lazy_pattern(r"(?:please )?implement (?:the|this) (?:following )?plan:?\s*", re.IGNORECASE)
_HEADING = lazy_pattern(r"#+\s*(?:plan:|fix:)?\s*(.+?)(?: ## | # |$)", re.IGNORECASE)
_LINK = lazy_pattern(r"https?://\S*?([\w.-]+(?::\d+)?(?:/[\w.-]+){0,2})/?(?:[?#]\S*)?(?=\s|$)")
_PLAN_FOLDER = "/.claude/plans/"
_MARKDOWN_LINK = lazy_pattern(r"\[([^\[\]\n]+)\]\([^\s()]+\)")
_LEAD = lazy_pattern(
    r"(?:(?:ok(?:ay)?|so|hey|hi|hello|well|and|now|also|please|pls|great|yes|thanks)"
    r"[,:!.]? +)*(?:(?:can|could|would|will) you (?:please |also )?|please "
    r"|i(?:['’]d| would) like you to |i want you to |let['’]?s |we (?:now )?need to |i need "
    r"you to )?",
    re.IGNORECASE,
)
_SENTENCE = lazy_pattern(r"(?<=[.!?。！？])\s")
_NOT_SLUG = lazy_pattern(r"[^a-z0-9]+")


class StageOneResult(Struct, frozen=True):
    """Stage one's result: raw memory as a value, and the two texts."""

    memory: RawMemory
    summary: str = ""
    slug: str = ""

    @property
    def raw_memory(self) -> str:
        """The text of the raw memory."""
        return render_session_raw_memory(self.memory)


def build_structural_result(task_log: TaskLogBuilder, thread: Rollout) -> StageOneResult:
    """Build what the session proves; empty if nothing was asked, or nothing was answered."""
    notes = [task for task in task_log.tasks if task.requests]
    if not task_log.has_exchange:
        return StageOneResult(RawMemory())
    chosen = {
        id(each)
        for each in sorted(notes, key=lambda each: (-each.information_weight, -each.number))[
            :MAX_MEMORY_TASKS
        ]
    }
    kept = [each for each in notes if id(each) in chosen]
    # What the user said for later is never lost with the task in which it was said.
    carried = [bullet for each in notes if id(each) not in chosen for bullet in each.preferences]
    kept[-1].preferences = [*carried[-MAX_CARRIED_PREFERENCES:], *kept[-1].preferences]
    task_log.ledger.cwd = thread.cwd
    lessons = choose_lessons(task_log, kept, [derive_task_name(each) for each in kept])
    ends = [each.first_turn for each in kept[1:]]
    tasks = [
        _build_task(
            each, thread, [lesson for lesson in lessons if bisect_right(ends, lesson.turn) == at]
        )
        for at, each in enumerate(kept)
    ]
    with_entries = [at for at, task in enumerate(tasks) if has_memory_bullets(task)]
    kept, tasks = [kept[at] for at in with_entries], [tasks[at] for at in with_entries]
    if not _is_worth_keeping(task_log, tasks):
        return StageOneResult(RawMemory())
    memory = clean_raw_memory(
        RawMemory(
            description=_describe_tasks(tasks),
            task_group=get_project_name(thread),
            outcome=combine_task_outcomes([task.outcome for task in tasks]),
            cwd=thread.cwd or UNKNOWN_FOLDER,
            keywords=tuple(dict.fromkeys(word for task in tasks for word in task.keywords))[:20],
            tasks=tuple(tasks),
        )
    )
    if memory.is_empty:
        return StageOneResult(RawMemory())
    steps = [describe_task_steps(each, thread.cwd) for each in kept]
    return StageOneResult(
        memory,
        render_session_summary(memory, thread, steps),
        slugify_with_underscores(memory.tasks[0].name if memory.tasks else ""),
    )


MIN_WORK_STEMS = 2
"""Content words of the user below which even changed files are routine: `init`."""
MIN_WORK_COMMANDS = 3
"""Distinct commands, beside those that only look, that make a procedure."""
MIN_QUESTION_STEMS, MIN_ANSWER_STEMS = 3, 6
"""Content words of a question and its answer that are worth keeping where nothing was changed."""


def _is_worth_keeping(task_log: TaskLogBuilder, tasks: Sequence[RawMemoryTask]) -> bool:
    """Tell whether a session holds a minimum of signal: the user's wish, decision or correction,
    also a probable one, a failure with its cure, changed files, or a real question with a real
    answer.
    """
    if task_log.has_probable_rule:
        return True
    bullets = [bullet for task in tasks for bullet in (*task.knowledge, *task.failures)]
    if any(task.preferences for task in tasks) or any(
        each.proof == "said" and not each.text.startswith(ASKED_PREFIX) for each in bullets
    ):
        return True
    asked = len(
        frozenset().union(
            *(each.stems for ask in task_log.ledger.dialogue.asks for each in ask.sentences)
        )
    )
    mended = any(MENDED in bullet.text for task in tasks for bullet in task.failures)
    if mended or any(task.shipped for task in task_log.tasks):
        return True
    runs = sum(run.last is not None for task in task_log.tasks for run in task.runs.values())
    worked = any(task.edited for task in task_log.tasks) or runs >= MIN_WORK_COMMANDS
    answered = frozenset().union(
        *(analyze_text(each.text).stems for each in bullets if each.proof == "inferred")
    )
    return (worked and asked >= MIN_WORK_STEMS) or (
        asked >= MIN_QUESTION_STEMS and len(answered) >= MIN_ANSWER_STEMS
    )


def to_rollout_extract(stage: StageOneResult, thread: Rollout, *, now: float) -> RolloutExtract:
    """Return the stored form of a result; `now` in seconds since the epoch."""
    empty = stage.memory.is_empty
    return RolloutExtract(
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


def derive_task_outcome(task: TaskRecord) -> TaskOutcome:
    """Return a task's outcome, as far as it is proven."""
    failed = any(not ok for ok, _, _ in task.checks.values())
    checked = any(
        ok and when > task.edit_order and kind in CHECK_KINDS
        for kind, (ok, when, _) in task.checks.items()
    )
    shipped = any(ok and kind in SHIPPING for kind, (ok, _, _) in task.checks.items())
    done = max((when for ok, when, _ in task.checks.values() if ok), default=-1)
    if task.complaint_order > max(task.accept_order, done):
        return "fail" if failed else "uncertain"
    if failed:
        return "partial" if shipped or checked or task.accept_order > 0 else "fail"
    if (
        shipped
        or task.accept_order > max(0, task.complaint_order)
        or (checked and task.edit_order >= 0)
    ):
        return "success"
    return "uncertain"


def combine_task_outcomes(outcomes: Sequence[TaskOutcome]) -> TaskOutcome:
    """Return a session's outcome from its tasks': the common one, otherwise partial if something
    succeeded.
    """
    found = set(outcomes)
    if len(found) == 1:
        return outcomes[0]
    return "partial" if found & {"success", "partial"} else "uncertain"


def _build_task(note: TaskRecord, thread: Rollout, here: Sequence[SessionLesson]) -> RawMemoryTask:
    name = derive_task_name(note)
    known = [each for each in here if each.section == RESULTS_SECTION]
    asked = [each for each in here if each.section == TASK_SECTION and not _is_correction(each)]
    cwd = thread.cwd
    return RawMemoryTask(
        name=name,
        group=get_project_name(thread),
        outcome=derive_task_outcome(note),
        scope=choose_repository_or_directory_scope(thread),
        cwd=cwd or UNKNOWN_FOLDER,
        preferences=tuple(note.preferences),
        knowledge=(
            *note.decided,
            *_join_requests([_build_lesson_bullet(each, note) for each in asked]),
            *(_build_lesson_bullet(each, note) for each in known),
            *(
                _build_lesson_bullet(each, note)
                for each in here
                if each.section == COMMANDS_SECTION
            ),
        ),
        failures=(
            *(_build_lesson_bullet(each, note) for each in here if _is_correction(each)),
            *note.corrected,
            *(_build_lesson_bullet(each, note) for each in here if each.section == ERRORS_SECTION),
        ),
        references=_reference_bullets(note, cwd),
        keywords=_find_keywords(note, cwd),
    )


MAX_JOINED_CHARACTERS = 600
"""Characters of the requests of one task that share an entry."""


def _join_requests(bullets: Sequence[MemoryBullet]) -> list[MemoryBullet]:
    """Join what the user asked in one task, one request after another, where it is short."""
    found: list[MemoryBullet] = []
    for each in bullets:
        lead = ASKED_PREFIX if each.proof == "said" else PASSED_ON_PREFIX
        joined = f"{found[-1].text}; then {each.text.removeprefix(lead)}" if found else ""
        if (
            found
            and len(joined) <= MAX_JOINED_CHARACTERS
            and (each.date, each.proof) == (found[-1].date, found[-1].proof)
        ):
            found[-1] = replace(found[-1], text=joined)
        else:
            found.append(each)
    return found


def _find_keywords(note: TaskRecord, cwd: str) -> tuple[str, ...]:
    """Words by which a later search would find the task: changed files, then the user's names.

    A secret is found by the words before it: a name of the whole text is none that redaction took
    out of it.
    """
    files = [
        make_display_path(path, cwd).rsplit("/", 1)[-1]
        for path in list(note.edited)[:8]
        if _PLAN_FOLDER not in path  # its files have names by chance
    ]
    named = [
        word[1:] if f":/{word}" in redacted else word  # the rest of an address
        for each in note.requests
        for redacted in [redact(each.text).text]
        for word in analyze_text(each.text).names
        if word in redacted
        and "," not in word
        and len(word) < MAX_KEYWORD_CHARACTERS
        and "://" not in word
        and not re.match(r"\.\.+[^/]", word)  # words after a pause: `ok..then`
    ]
    return tuple(dict.fromkeys((*files, *named)))[:MAX_TASK_KEYWORDS]


def has_memory_bullets(task: RawMemoryTask) -> bool:
    """Tell whether a task teaches anything."""
    return bool(task.preferences or task.knowledge or task.failures or task.references)


def _is_correction(lesson: SessionLesson) -> bool:
    return lesson.reaction is UserReaction.CORRECTS


def _build_lesson_bullet(lesson: SessionLesson, note: TaskRecord) -> MemoryBullet:
    if lesson.section == TASK_SECTION:
        said = next((each for each in note.requests if each.turn == lesson.turn), None)
        is_own = said is None or _is_within(lesson.text, said.typed_text)
        lead = CORRECTED_PREFIX if _is_correction(lesson) else ASKED_PREFIX
        return MemoryBullet(
            text=f"{lead if is_own else PASSED_ON_PREFIX}{lesson.text}",
            proof="said" if is_own else "inferred",
            date=said.date if said else note.date,
            evidence=render_line_number(said.line) if said else "",
        )
    return MemoryBullet(
        text=lesson.text,
        proof="inferred" if lesson.section == RESULTS_SECTION else "proved",
        date=note.date,
        evidence=render_line_number(lesson.line),
    )


def _is_within(quotation: str, own: str) -> bool:
    """Whether each sentence of a quotation stands among the user's own words."""
    known = _plain_words(own)
    return all(_plain_words(each) in known for each in _PIECE_END.split(quotation))


def _plain_words(text: str) -> str:
    return f" {' '.join(split_script_words(normalize_for_comparison(text)))} ".replace("  ", " ")


_PIECE_END = lazy_pattern(r"…|(?<=[.!?:;。！？])\s|\n")


def derive_task_name(note: TaskRecord) -> str:
    """Name the user's request in one line: its first sentence, or the heading of a plan."""
    text = next(
        (
            each.text
            for each in note.requests
            if each.reaction in (UserReaction.BEGINS, UserReaction.GOES_ON)
        ),
        note.requests[0].text,
    )
    plan = _PLAN.match(text)
    if plan:
        heading = _HEADING.match(text[plan.end() :])
        text = heading[1] if heading else text[plan.end() :]
    elif text.endswith(" …"):  # a pasted page tells its purpose nowhere near its beginning
        text = find_commit_subject(each.text for each in note.shipped) or text
    lead = _LEAD.match(text)
    text = _MARKDOWN_LINK.sub(r"\1", (text[lead.end() :] if lead else "") or text)
    text = _LINK.sub(r"\1", text)
    parts = _SENTENCE.split(text)
    name = parts[0]
    for part in parts[1:]:
        if len(name) >= MAX_NAME_CHARACTERS // 2:
            break
        name = f"{name} {part}"
    return shorten_to_one_line(name, MAX_NAME_CHARACTERS)


def _proven_bullet(text: str, at: int, note: TaskRecord) -> MemoryBullet:
    return MemoryBullet(text=text, proof="proved", date=note.date, evidence=render_line_number(at))


_SHIPPED_PHRASES = {"commit": "Committed", "push": "Pushed", "merge": "Merged"}


def _reference_bullets(note: TaskRecord, cwd: str) -> tuple[MemoryBullet, ...]:
    found = [
        MemoryBullet(text=link, proof="said", date=note.date, evidence=render_line_number(at))
        for link, at in list(note.links.items())[:8]
    ]
    if note.edited:
        found.append(
            MemoryBullet(
                text=f"Changed: {render_changed_files(note, cwd)}", proof="proved", date=note.date
            )
        )
    found += [
        _proven_bullet(f"{_SHIPPED_PHRASES[each.kind]}: {each.text}", each.line, note)
        for each in note.shipped[-4:]
    ]
    return tuple(found)


def _describe_tasks(tasks: Sequence[RawMemoryTask]) -> str:
    names = [shorten_to_one_line(task.name, 80) for task in tasks if task.name]
    more = f" (and {len(names) - 3} more)" if len(names) > 3 else ""
    return shorten_to_one_line("; ".join(names[:3]), 260) + more


def slugify_with_underscores(name: str) -> str:
    """Return a slug of a name: lower case ASCII letters and digits, joined by underscores."""
    return _NOT_SLUG.sub("_", name.lower())[:MAX_SLUG_CHARACTERS].strip("_")
