"""Choose what a session taught, within a budget: the user's words, the agent's last words, failures
with their cure, and commands, each with the task in which it came up (RO-4). Pure.

The candidates and their weights are those of the structural notes of a session; only the budget and
the form differ: an entry is one claim with what belongs to it, so that it can stand alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import analyze_text, estimate_token_cost, shorten
from memorist.rollouts.message_effects import MessageAct, classify_message
from memorist.rollouts.raw_memory import REPORTED_PREFIX, SAID_PREFIX
from memorist.rollouts.task_log import CHECKS, CommandRuns, TaskLogBuilder, TaskRecord
from memorist.session_memory.structural_notes import (
    LEARNINGS_SECTION,
    RESULTS_SECTION,
    TASK_SECTION,
    build_statement_lines,
    build_task_lines,
)
from memorist.session_memory.work_notes import ERRORS_SECTION, render_failure
from memorist.transcript.command_lines import classify_command, split_command
from memorist.transcript.command_log import ONLY_TELLS, WorkFailure
from memorist.transcript.dialogue import ANSWERING
from memorist.transcript.note_lines import NoteLine, build_line, select_lines
from memorist.transcript.tool_actions import find_display_root

SESSION_TOKENS = 1_500
"""Tokens of all that the handbook says of one session: what a careful reader writes down of one."""
SESSION_HEAD_TOKENS, TASK_HEAD_TOKENS = 130, 40
"""Tokens of the lines that name a session and a task."""
MIN_LESSON_TOKENS = 400
ENTRY_TOKENS = 16
"""Tokens of the words and tags around the text of an entry."""
_UNCUED_FACTOR = 0.6
"""Factor for what the agent said on the way that tells no cause, rule or result."""
_SHIPPED_FACTOR = 3.0
"""Factor for the number of an issue or pull request, a commit or a branch that came of the work:
short, and looked for later.
"""
COMMANDS_SECTION = "commands"
_SHARES = {TASK_SECTION: 0.45, RESULTS_SECTION: 0.65, ERRORS_SECTION: 0.35, COMMANDS_SECTION: 0.2}
"""The largest share of the budget for each kind of entry."""
_FLOORS = {RESULTS_SECTION: 0.25, ERRORS_SECTION: 0.1, COMMANDS_SECTION: 0.1}
CORRECTED_PREFIX = "The user put it right: "


_ASKS_ONLY = lazy_pattern(
    r"(?:(?:and|so|ok(?:ay)?|hmm+|but|wait|also|well|then),? )*(?:what|why|how|where|when|who|which"
    r"|whose|is|are|was|were|do|does|did|has|have|can i|could it|isn['’]?t|aren['’]?t|doesn['’]?t"
    r"|什么|为什么|怎么|哪)\b",
    re.IGNORECASE,
)
"""A message that only asks: its answer teaches, the question does not."""


_SHIPPED = lazy_pattern(
    r"\b(?:opened|created|filed|merged|pushed|committed|released|open at|PR)\b.*"
    r"(?:#\d+|\b[0-9a-f]{7,40}\b|/pull/\d+|/issues/\d+)",
    re.IGNORECASE,
)


_NARRATES = lazy_pattern(
    r"\b(?:i['’]m|i am) (?:now |also |just |still |then )*"
    r"(?!getting|seeing|hitting|proposing|suggesting|recommending|assuming|keeping|leaving)\w+ing\b"
    r"|\b(?:let me|i['’]ll|let['’]s)\b"
    r"|\b(?:is|are) (?:still |now )*(?:in progress|running|compiling|waiting|finishing|pushing)\b"
    r"|^(?:\W*`[^`]*`)+\W*$",
    re.IGNORECASE,
)
"""What the agent was about to do, which is past when a later session reads it, and mere names."""


_TITLE_STEMS = 3
"""Content words up to which a request is told by the title of its task."""
_DEMANDS = lazy_pattern(
    r"\b(?:make sure|ensure|always|never|must|don['’]t|do not|only|without|prefer|instead)\b",
    re.IGNORECASE,
)
"""Says how something is to be done: a wish, which no title stands for."""


class Lesson(Struct, frozen=True, kw_only=True):
    """One entry: what kind it is of, its text, and the turn of the session in which it came up."""

    section: str
    text: str
    turn: int
    act: MessageAct | None = None
    """For the user's words: what they did."""
    line: int = 0
    """Line of the session's file; 0 if unknown."""


def choose_lessons(
    log: TaskLogBuilder,
    tasks: Sequence[TaskRecord],
    titles: Collection[str] = (),
    budget: int = SESSION_TOKENS,
) -> list[Lesson]:
    """Return the lessons of these tasks within `budget` tokens, in the session's order; a request
    that the `titles` of the tasks tell is none.
    """
    ledger = log.ledger
    budget = max(MIN_LESSON_TOKENS, budget - _count_given_tokens(tasks))
    asks = dict(_find_telling_requests(log, titles))
    lines = [
        *_build_request_lines(log, asks),
        *_build_report_lines(log),
        *_build_failure_lines(log),
        *_build_command_lines(tasks),
    ]
    caps = {section: int(share * budget) for section, share in _SHARES.items()}
    floors = {section: int(share * budget) for section, share in _FLOORS.items()}
    chosen = select_lines(lines, budget, caps, floors).lines
    by_position: dict[tuple[str, int], list[NoteLine]] = {}
    for each in sorted(chosen, key=lambda each: each.order):
        key = each.order[0] if each.section in (TASK_SECTION, RESULTS_SECTION) else id(each)
        by_position.setdefault((each.section, key), []).append(each)
    found = []
    for (section, position), parts in by_position.items():
        if section == TASK_SECTION:
            ask = ledger.dialogue.asks[position]
            found.append(
                Lesson(
                    section=section,
                    text=f"“{_join_sentences(parts, len(ask.sentences))}”",
                    turn=ask.turn,
                    act=asks[position],
                )
            )
        elif section == RESULTS_SECTION:
            found.append(
                Lesson(
                    section=section,
                    text=f"{REPORTED_PREFIX}{_join_sentences(parts, 0)}",
                    turn=position,
                    line=log.reply_lines.get(position, 0),
                )
            )
        else:
            found += [
                Lesson(section=section, text=each.text, turn=each.order[0], line=each.order[2])
                for each in parts
            ]
    return sorted(found, key=lambda each: each.turn)


def _count_given_tokens(tasks: Sequence[TaskRecord]) -> int:
    """Tokens of what is in the handbook in any case: heads, wishes, answers and refusals."""
    bullets = [
        bullet for task in tasks for bullet in (*task.preferences, *task.decided, *task.corrected)
    ]
    return (
        SESSION_HEAD_TOKENS
        + TASK_HEAD_TOKENS * len(tasks)
        + sum(estimate_token_cost(each.text) + ENTRY_TOKENS for each in bullets)
    )


def _find_telling_requests(
    log: TaskLogBuilder, titles: Collection[str]
) -> Iterator[tuple[int, MessageAct]]:
    """Yield the user's messages that say something: their index and what they did; not those that
    only go on, thank or choose, nor answers and refusals, which are entries of their own.
    """
    said = {bullet.text for task in log.tasks for bullet in task.preferences}
    for at, ask in enumerate(log.ledger.dialogue.asks):
        if ask.how == ANSWERING or ask.how.startswith("refusing"):
            continue
        if f"{SAID_PREFIX}“{' '.join(ask.text.split())}”" in said:
            continue
        act = classify_message(ask.text, first=at == 0)
        if act is MessageAct.COMMAND or (act is MessageAct.ACCEPTS and len(ask.sentences) < 2):
            continue
        if len(ask.sentences) <= 2 and _ASKS_ONLY.match(ask.text) and ask.text.endswith("?"):
            continue
        content = frozenset().union(*(each.stems for each in ask.sentences))
        is_in_title = (
            len(content) <= _TITLE_STEMS
            and any(each in ask.text for each in titles)
            and not _DEMANDS.search(ask.text)
        )
        is_bare = not content or (len(content) < _TITLE_STEMS and ask.text.endswith("?"))
        if (len(content) > 1 and not is_in_title and not is_bare) or act is MessageAct.CORRECTS:
            yield at, act


def _build_request_lines(log: TaskLogBuilder, asks: dict[int, MessageAct]) -> list[NoteLine]:
    return [
        replace(each, cost=each.cost + (ENTRY_TOKENS if each.order[1] == 0 else 0))
        for each in build_task_lines(log.ledger)
        if each.order[0] in asks
    ]


def _build_report_lines(log: TaskLogBuilder) -> list[NoteLine]:
    """The agent's statements, those that stand alone: no thoughts, code or older summaries."""
    found = []
    for line in build_statement_lines(log.ledger, set()):
        each = None if line.table else _cut_narration(line)
        if each is None:
            continue
        if each.section.startswith((RESULTS_SECTION, TASK_SECTION)):
            found.append(_place_report(each, each.order))
        elif each.order[0] == 0:
            said = _place_report(each, each.order[1:])
            cue = each.section == LEARNINGS_SECTION
            found.append(said if cue else replace(said, weight=_UNCUED_FACTOR * said.weight))
    return found


def _cut_narration(line: NoteLine) -> NoteLine | None:
    """The line up to where the agent tells what it was about to do; None where nothing is left."""
    found = _NARRATES.search(line.text)
    if found is None or _SHIPPED.search(line.text):
        return line
    finding = _CLAUSE_JOINT.sub("", line.text[: found.start()])
    finding = _CLAUSE_JOINT.sub("", _DEPENDENT.sub("", finding))
    cut = build_line(line.section, finding, line.order, line.weight)
    return cut if len(cut.stems) >= _CLAUSE_STEMS else None


_CLAUSE_JOINT = lazy_pattern(r"[\s,;:—–-]*(?:\b(?:so|and|then|but|next|now|before|while)[\s,]*)*\Z")
_DEPENDENT = lazy_pattern(
    r"(?:\A|[,;:—–]\s*)(?:since|once|when|if|while|because|after|before|as|until)\b[^,;:—–]*\Z",
    re.IGNORECASE,
)
"""A clause that says nothing without the one that was cut off."""
_CLAUSE_STEMS = 4
"""Content words of a clause that tells something by itself."""


def _place_report(line: NoteLine, order: tuple[int, ...]) -> NoteLine:
    ships = _SHIPPED.search(line.text)
    return NoteLine(
        RESULTS_SECTION,
        line.text,
        line.stems,
        line.keys,
        line.cost + ENTRY_TOKENS // 3,
        line.weight * (_SHIPPED_FACTOR if ships else 1.0),
        order,
    )


def _build_failure_lines(log: TaskLogBuilder) -> list[NoteLine]:
    root = find_display_root(log.ledger.cwd, log.ledger.work_record.files.files)
    explained = map(_drop_unproved_parts, log.ledger.work_record.commands.failures)
    explained_by_text = [each for each in explained if _is_telling(each)]
    return [
        _build_entry_line(
            ERRORS_SECTION,
            render_failure(each, root),
            (each.turn, at, 0),
            1.8 if each.resolved_by or each.diagnosis else 1.2,
        )
        for at, each in enumerate(explained_by_text)
    ]


def _build_entry_line(section: str, text: str, order: tuple[int, ...], weight: float) -> NoteLine:
    line = build_line(section, text, order, weight)
    return replace(line, cost=line.cost + ENTRY_TOKENS)


def _drop_unproved_parts(failure: WorkFailure) -> WorkFailure:
    """The failure without later changes that fixed nothing, and without what the agent said next
    if that speaks of something else.
    """
    failure = failure if failure.resolved_by else replace(failure, edits={})
    if not failure.diagnosis:
        return failure
    said, error = analyze_text(failure.diagnosis), analyze_text(failure.line)
    related = said.stems & error.stems or set(said.names) & set(error.names)
    return failure if related else replace(failure, diagnosis="")


_BARE_COUNT = lazy_pattern(r"(?:Found )?\d+ (?:fail(?:ed|ing)?|errors?|issues?|problems?)\b\W*")
"""How much failed, but not what."""


def _is_telling(failure: WorkFailure) -> bool:
    """Whether a failure teaches something: its error and its cure, or why it came."""
    if failure.kind == "refused" or not failure.line or _BARE_COUNT.fullmatch(failure.line):
        return False
    if failure.kind == "look":
        return bool(failure.resolved_by)
    return bool(failure.resolved_by or failure.diagnosis or failure.kind != "edit")


def _build_command_lines(tasks: Sequence[TaskRecord]) -> list[NoteLine]:
    found = [
        _build_entry_line(COMMANDS_SECTION, text, (task.first_turn, at, line), 1.2)
        for task in tasks
        for at, (text, line) in enumerate(_join_checks(working_commands(task)))
    ]
    steps = {step: (task, run) for task in tasks for step, run in _find_steps(task)}
    if len(steps) > 1:
        task, run = list(steps.values())[-1]
        text = f"{STEPS_PREFIX}{', '.join(f'`{each}`' for each in list(steps)[-MAX_STEPS:])}"
        order = (task.first_turn, MAX_TASK_COMMANDS, run.line)
        found.append(_build_entry_line(COMMANDS_SECTION, text, order, 2.0))
    return found


STEPS_PREFIX = "Steps that worked: "
MAX_STEPS, MAX_STEP_CHARACTERS = 6, 60
_STEP_KINDS = frozenset({"run", "merge", "push", "commit"})
_NO_STEP = lazy_pattern(
    r"(?:mkdir|rm|cp|mv|touch|chmod|cd|export|test|sleep|kill|pkill|set|true|open|tee|xargs|sed"
    r"|git (?:add|init|mv|rm|commit)(?! --)|for|while|if|perl|ssh(?:-\w+)?"
    r"|shasum|sha256sum)(?:\s|$)"
    r"|g(?:it|h) [\w-]+$|.*\s(?:--version|--help|-h|-[lLvV]+)\b|.*(?:/tmp/|/var/folders/)",
)
"""What every session does, what only tells, and what is about a temporary file."""
_STEP = lazy_pattern(r"(?:\./)?[a-z][\w./-]*(?: [\w./:@+-]+)+")
_STEP_VALUE = lazy_pattern(r"(?: -{1,2}[\w-]+)?[= ][\"'].*|=[^\s=]{12}.*| -(?:m|am)\b.*")
"""A text or a long value, with the option that it belongs to."""
_AT_FOLDER = lazy_pattern(r"(?<=git) -C \S+")


def _find_steps(task: TaskRecord) -> Iterator[tuple[str, CommandRuns]]:
    """Yield what a project's work takes beside its checks: how it is brought up to date, handed in
    and put on record; each as the words by which it is called, without texts and values.
    """
    for text, run in task.runs.items():
        if run.last is None or not run.last.ok or run.kind not in _STEP_KINDS:
            continue
        for part in split_command(text):
            step = _STEP_VALUE.sub("", _AT_FOLDER.sub("", part)).strip()
            if (
                len(step) <= MAX_STEP_CHARACTERS
                and classify_command(part) in _STEP_KINDS
                and _STEP.fullmatch(step)
                and not ONLY_TELLS.search(part)
                and not _NO_STEP.match(step)
            ):
                yield step, run


CHECKS_PREFIX = "Checks passed with: "


def _join_checks(found: Sequence[tuple[str, CommandRuns]]) -> list[tuple[str, int]]:
    """The commands of a task with their lines; checks of several kinds are one entry."""
    checks = [(text, run) for text, run in found if run.kind in CHECKS]
    others = [(text, run.line) for text, run in found if run.kind not in CHECKS]
    if len({run.kind for _, run in checks}) < 2:
        return [(text, run.line) for text, run in found]
    spans = [span for text, _ in checks for span in _SPAN.findall(text)[:1]]
    return [(f"{CHECKS_PREFIX}{', '.join(spans)}", checks[0][1].line), *others]


_REUSED_KINDS = frozenset({"test", "lint", "typecheck", "build", "format", "install"})
_ONE_OFF = lazy_pattern(r"\A(?:\w+=|cd )\S+\Z|(?:\A|[\s=\"'])/(?:tmp|var/folders|private/tmp)/")
"""A command that nobody runs again: an assignment, a move, or one about a temporary file."""
_FILE_NAME = lazy_pattern(r"\s[\w./-]+\.\w{1,5}(?=\s|\Z)")
_SPAN = lazy_pattern(r"`[^`]+`")
_WORKED_PHRASES = {
    "test": "Tests ran with", "lint": "Linted with", "typecheck": "Types checked with",
    "build": "Built with", "format": "Formatted with", "install": "Installed with",
}  # fmt: skip
MAX_TASK_COMMANDS = 6


def working_commands(task: TaskRecord) -> list[tuple[str, CommandRuns]]:
    """Return the commands of a task that are worth reusing: checks, builds and installs that
    passed, and what ran more than once.
    """
    found = [
        (text, run)
        for text, run in task.runs.items()
        if run.last is not None
        and run.last.ok
        and not _ONE_OFF.search(text)
        and not (run.kind == "format" and len(_FILE_NAME.findall(text)) > 1)
        and (run.kind in _REUSED_KINDS or (run.kind == "run" and run.runs > 1 and len(text) < 110))
    ]
    found.sort(key=lambda pair: (pair[1].kind == "run", -pair[1].runs, pair[1].order))
    return [
        (
            f"{_WORKED_PHRASES.get(run.kind, 'Ran')}: `{shorten(text, 120)}`{_run_counts(run)}",
            run,
        )
        for text, run in found[:MAX_TASK_COMMANDS]
    ]


def _run_counts(run: CommandRuns) -> str:
    failed = f"; failed {run.failures} of {run.runs} times" if run.failures else ""
    telling = f" → {run.last.line}" if run.last and run.last.line else ""
    return f"{telling}{failed}"


def _join_sentences(parts: Sequence[NoteLine], whole: int) -> str:
    """Join sentences on one line, a gap as an ellipsis; with `whole`, the number there were, also
    at the ends.
    """
    text, last = "", -1 if whole else parts[0].order[-1] - 1
    for each in parts:
        gap = " … " if each.order[-1] != last + 1 else " "
        text += f"{gap}{each.text}"
        last = each.order[-1]
    return f"{text.strip()}{' …' if whole and last < whole - 1 else ''}"
