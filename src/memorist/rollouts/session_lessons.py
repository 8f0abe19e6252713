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
from memorist.core.sentences import shorten_to_one_line
from memorist.core.text_analysis import analyze_text, estimate_o200k_tokens
from memorist.recall.project_question import is_question_without_request
from memorist.rollouts.agent_statement_lines import SHIPPED, list_lasting_agent_statements
from memorist.rollouts.raw_memory import REPORTED_PREFIX, SAID_PREFIX
from memorist.rollouts.structural_task_log import (
    AGREED_PREFIX,
    MAX_AGREED_CHARACTERS,
    TaskLogBuilder,
    TaskRecord,
)
from memorist.rollouts.task_commands import (
    MAX_STEPS,
    MAX_TASK_COMMANDS,
    ONE_OFF,
    STEPS_PREFIX,
    build_check_entries,
    find_update_and_submission_steps,
    names_several_checks,
    render_opened_pull_requests_and_issues,
    select_reusable_commands,
)
from memorist.rollouts.user_reactions import UserReaction, classify_user_reaction
from memorist.session_memory.structural_notes import (
    RESULTS_SECTION,
    TASK_SECTION,
    build_user_request_lines,
)
from memorist.session_memory.work_notes import ERRORS_SECTION, render_failure_line
from memorist.transcript_analysis.command_lines import CHECK_KINDS
from memorist.transcript_analysis.command_log import CommandRunCounts, RecordedFailure
from memorist.transcript_analysis.display_paths import find_display_root
from memorist.transcript_analysis.note_line_selection import (
    NoteLine,
    build_weighted_note_line,
    select_note_lines,
)
from memorist.transcript_analysis.session_dialogue import ANSWERING

MAX_SESSION_TOKENS = 1_500
"""Tokens of all that the handbook says of one session: what a careful reader writes down of one."""
SESSION_HEAD_TOKENS, TASK_HEAD_TOKENS = 130, 40
"""Tokens of the lines that name a session and a task."""
MIN_LESSON_TOKENS = 400
ENTRY_OVERHEAD_TOKENS = 16
"""Tokens of the words and tags around the text of an entry."""
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


_WANTS_EXPLANATION = lazy_pattern(
    r"(?:(?:and|so|ok(?:ay)?|also|please),? )*(?:(?:can|could|would) you )?(?:please |also )?"
    r"(?:explain|tell me|show me|remind me)\b",
    re.IGNORECASE,
)
_TITLE_STEMS = 3
"""Content words up to which a request is told by the title of its task."""
_ROUTINE_STEMS = analyze_text(
    """
    address review reviewer comments comment feedback request requests failing failed checks check
    implement apply plan changes change commit push merge rebase main branch open create update
    reply discussion exactly recommended suggested continue proceed complete finish
    pr done back group meaningful squash amend
    """
).stems
"""What any session is asked on the way, which says nothing of this one."""
_DEMANDS = lazy_pattern(
    r"\b(?:make sure|ensure|always|never|must|don['’]t|do not|only|without|prefer|instead)\b",
    re.IGNORECASE,
)
"""Says how something is to be done: a wish, which no title stands for."""


class SessionLesson(Struct, frozen=True, kw_only=True):
    """One entry: what kind it is of, its text, and the turn of the session in which it came up."""

    section: str
    text: str
    turn: int
    reaction: UserReaction | None = None
    """For the user's words: what they did."""
    line: int = 0
    """Line of the session's file; 0 if unknown."""


def choose_lessons(
    log: TaskLogBuilder, tasks: Sequence[TaskRecord], titles: Collection[str] = ()
) -> list[SessionLesson]:
    """Return the lessons of these tasks within `MAX_SESSION_TOKENS`, in the session's order; a
    request that the `titles` of the tasks tell is none.
    """
    ledger = log.ledger
    budget = max(MIN_LESSON_TOKENS, MAX_SESSION_TOKENS - _count_given_tokens(tasks))
    asks = dict(_find_telling_requests(log, titles))
    lines = [
        *_build_request_lines(log, asks),
        *list_lasting_agent_statements(log),
        *_build_failure_lines(log),
        *_build_command_lines(tasks),
    ]
    caps = {section: int(share * budget) for section, share in _SHARES.items()}
    floors = {section: int(share * budget) for section, share in _FLOORS.items()}
    chosen = select_note_lines(lines, budget, caps, floors).lines
    by_position: dict[tuple[str, int], list[NoteLine]] = {}
    for each in sorted(chosen, key=lambda each: each.order):
        key = each.order[0] if each.section in (TASK_SECTION, RESULTS_SECTION) else id(each)
        by_position.setdefault((each.section, key), []).append(each)
    found = []
    for (section, position), parts in by_position.items():
        if section == TASK_SECTION:
            ask = ledger.dialogue.asks[position]
            if len(parts) < len(ask.sentences) and not _tells(parts):
                continue
            found.append(
                SessionLesson(
                    section=section,
                    text=f"“{_join_sentences(parts, len(ask.sentences))}”",
                    turn=ask.turn,
                    reaction=asks[position],
                )
            )
        elif section == RESULTS_SECTION:
            whole = _drop_fragments(parts)
            if not whole or not _stands_alone(whole):
                continue
            found.append(
                SessionLesson(
                    section=section,
                    text=f"{REPORTED_PREFIX}{_join_sentences(whole, 0)}",
                    turn=position,
                    line=log.reply_lines.get(position, 0),
                )
            )
        else:
            found += [
                SessionLesson(
                    section=section, text=each.text, turn=each.order[0], line=each.order[2]
                )
                for each in parts
            ]
    return sorted(found, key=lambda each: each.turn)


_ENTRY_STEMS = 4
"""Content words, names counted twice, below which a piece of a message says nothing by itself."""


def _stands_alone(parts: Sequence[NoteLine], least: int = _ENTRY_STEMS) -> bool:
    """Whether these sentences of one message tell something without the rest of it."""
    if any(SHIPPED.search(each.text) for each in parts):
        return True
    stems = frozenset().union(*(each.stems for each in parts))
    keys = frozenset().union(*(each.keys for each in parts))
    return len(stems) + len(keys) >= least


_MID_SENTENCE = lazy_pattern(r"[a-z]+(?:ly)? [a-z]")
_UNFINISHED = lazy_pattern(r"(?::|…|\b(?:and|or|the|a|of|with|defines|covering))\W*\Z")


def _drop_fragments(parts: Sequence[NoteLine]) -> list[NoteLine]:
    """The sentences without those that begin in the middle of one that is not here, or that end
    before what they announce.
    """
    whole: list[NoteLine] = []
    for at, each in enumerate(parts):
        follows = at > 0 and parts[at - 1].order[-1] == each.order[-1] - 1
        goes_on = at + 1 < len(parts) and parts[at + 1].order[-1] == each.order[-1] + 1
        if (follows or not _MID_SENTENCE.match(each.text)) and (
            goes_on or not _UNFINISHED.search(each.text)
        ):
            whole.append(each)
    return whole


_PIECE_STEMS = 6
"""The same for pieces of a request, which may be a paste."""


def _tells(parts: Sequence[NoteLine]) -> bool:
    """Whether these pieces of a longer request tell something: more than a question."""
    return _stands_alone(parts, _PIECE_STEMS) and not all(
        each.text.endswith("?") and _ASKS_ONLY.match(each.text) for each in parts
    )


def _count_given_tokens(tasks: Sequence[TaskRecord]) -> int:
    """Tokens of what is in the handbook in any case: heads, wishes, answers and refusals."""
    bullets = [
        bullet for task in tasks for bullet in (*task.preferences, *task.decided, *task.corrected)
    ]
    return (
        SESSION_HEAD_TOKENS
        + TASK_HEAD_TOKENS * len(tasks)
        + sum(estimate_o200k_tokens(each.text) + ENTRY_OVERHEAD_TOKENS for each in bullets)
    )


def _find_telling_requests(
    log: TaskLogBuilder, titles: Collection[str]
) -> Iterator[tuple[int, UserReaction]]:
    """Yield the user's messages that say something: their index and what they did; not those that
    only go on, thank or choose, nor answers and refusals, which are entries of their own.
    """
    said = {bullet.text for task in log.tasks for bullet in task.preferences}
    agreed = [bullet.text for task in log.tasks for bullet in task.decided]
    own = {
        each.turn
        for task in log.tasks
        for each in task.requests
        if each.typed_text and not _TERMINAL.match(each.typed_text)
    }
    repeated = _find_repeated_requests([ask.text for ask in log.ledger.dialogue.asks])
    for at, ask in enumerate(log.ledger.dialogue.asks):
        if (
            at in repeated
            or any(each.startswith(_agreed_start(ask.text)) for each in agreed)
            or (_TERMINAL.match(ask.text) and ask.turn not in own)
        ):
            continue
        if ask.input_method == ANSWERING or ask.input_method.startswith("refusing"):
            continue
        if f"{SAID_PREFIX}“{' '.join(ask.text.split())}”" in said:
            continue
        act = classify_user_reaction(ask.text, first=at == 0)
        if act is UserReaction.COMMAND or (act is UserReaction.ACCEPTS and len(ask.sentences) < 2):
            continue
        if _only_asks(ask.text, len(ask.sentences)):
            continue
        content = frozenset().union(*(each.stems for each in ask.sentences))
        is_in_title = (
            len(content) <= _TITLE_STEMS
            and any(each in ask.text for each in titles)
            and not _DEMANDS.search(ask.text)
        )
        is_bare = content <= _ROUTINE_STEMS or (
            len(content) < _TITLE_STEMS and ask.text.endswith("?")
        )
        if (len(content) > 1 and not is_in_title and not is_bare) or act is UserReaction.CORRECTS:
            yield at, act


def _only_asks(text: str, sentences: int) -> bool:
    """Whether the answer to a message teaches something, and the message does not."""
    is_question = text.endswith(("?", "？")) and (
        (sentences <= 2 and _ASKS_ONLY.match(text))
        or (sentences < 2 and is_question_without_request(text))
    )
    return bool(is_question or _WANTS_EXPLANATION.match(text))


def _agreed_start(words: str) -> str:
    return f"{AGREED_PREFIX}“{shorten_to_one_line(words, MAX_AGREED_CHARACTERS)}”"


_TERMINAL = lazy_pattern(r"[❯➜»$%] ?\S")
"""The prompt of a shell, with which a pasted terminal begins."""
_MIN_REPEATED_CHARACTERS = 24
"""Characters of a message below which its words stand in another one by chance."""


def _find_repeated_requests(texts: Sequence[str]) -> set[int]:
    """The messages all of whose words stand in a longer one, or in a later one that is the same: it
    was sent once more, with something added.
    """
    plain = list(map(_plain_words, texts))
    return {
        at
        for at, one in enumerate(plain)
        if len(one) >= _MIN_REPEATED_CHARACTERS
        and any(
            one in other and (len(other) > len(one) or later > at)
            for later, other in enumerate(plain)
            if later != at
        )
    }


_WORDS = lazy_pattern(r"\w+")


def _build_request_lines(log: TaskLogBuilder, asks: dict[int, UserReaction]) -> list[NoteLine]:
    """The sentences of these messages, without those that stand among the preferences: where there
    is no room for all, what the user stated or ordered comes before what they put as a question.
    """
    kept = "\n".join(_plain_words(bullet.text) for task in log.tasks for bullet in task.preferences)
    lines = [
        replace(each, cost=each.cost + (ENTRY_OVERHEAD_TOKENS if each.order[1] == 0 else 0))
        for each in build_user_request_lines(log.ledger)
        if each.order[0] in asks and not (each.stems and _plain_words(each.text) in kept)
    ]
    messages = log.ledger.dialogue.asks
    return sorted(lines, key=lambda each: messages[each.order[0]].text.endswith(("?", "？")))


def _plain_words(text: str) -> str:
    return " ".join(_WORDS.findall(text.casefold()))


def _build_failure_lines(log: TaskLogBuilder) -> list[NoteLine]:
    root = find_display_root(log.ledger.cwd, log.ledger.work_record.files.files)
    explained = map(_drop_unproved_parts, log.ledger.work_record.commands.failures)
    explained_by_text = [each for each in explained if _is_telling(each)]
    return [
        _build_entry_line(
            ERRORS_SECTION,
            render_failure_line(each, root),
            (each.turn, at, 0),
            1.8 if each.resolved_by or each.diagnosis else 1.2,
        )
        for at, each in enumerate(explained_by_text)
    ]


def _build_entry_line(section: str, text: str, order: tuple[int, ...], weight: float) -> NoteLine:
    line = build_weighted_note_line(section, text, order, weight)
    return replace(line, cost=line.cost + ENTRY_OVERHEAD_TOKENS)


def _drop_unproved_parts(failure: RecordedFailure) -> RecordedFailure:
    """The failure without later changes that fixed nothing, without a cure that changed nothing,
    and without what the agent said next if that speaks of something else.
    """
    failure = failure if failure.resolved_by else replace(failure, edits={})
    if failure.resolved_by == failure.what and not (
        failure.edits or failure.between or failure.resolved_escalated
    ):
        failure = replace(failure, resolved_by="")
    if not failure.diagnosis:
        return failure
    said, error = analyze_text(failure.diagnosis), analyze_text(failure.line)
    related = said.stems & error.stems or set(said.names) & set(error.names)
    return failure if related else replace(failure, diagnosis="")


_BARE_COUNT = lazy_pattern(r"(?:Found )?\d+ (?:fail(?:ed|ing)?|errors?|issues?|problems?)\b\W*")
"""How much failed, but not what."""


_ABOUT_ITSELF = lazy_pattern(r"\s(?:--help|-h|help|--version|version)(?=\s|$)")
"""A run that only asks a program about itself."""


_INLINE_SCRIPT = lazy_pattern(r"\b(?:python[\d.]*|node|bun|deno|perl|ruby|php)\s+-(?:[ce]\b|\s|$)")
"""A script that was typed into the command: its slips are nobody's later."""


def _is_telling(failure: RecordedFailure) -> bool:
    """Whether a failure teaches something: its error and its cure, or why it came."""
    if failure.kind == "refused" or not failure.line or _BARE_COUNT.fullmatch(failure.line):
        return False
    if any(each.search(failure.what) for each in (_ABOUT_ITSELF, ONE_OFF, _INLINE_SCRIPT)):
        return False
    if failure.kind == "look":
        return bool(failure.resolved_by)
    return bool(failure.resolved_by or failure.diagnosis or failure.kind != "edit")


def _build_command_lines(tasks: Sequence[TaskRecord]) -> list[NoteLine]:
    found, listed = [], set[str]()
    checks: list[tuple[str, CommandRunCounts]] = []
    last = 0
    for task in tasks:
        commands = [each for each in select_reusable_commands(task) if each[0] not in listed]
        listed.update(text for text, _ in commands)
        own = [each for each in commands if each[1].kind in CHECK_KINDS]
        checks += own
        last = task.first_turn if own else last
        found += [
            _build_entry_line(COMMANDS_SECTION, text, (task.first_turn, at, run.line), 1.2)
            for at, (text, run) in enumerate(commands)
            if run.kind not in CHECK_KINDS
        ]
    found += [
        _build_entry_line(
            COMMANDS_SECTION, text, (last, at, line), 2.0 if names_several_checks(text) else 1.2
        )
        for at, (text, line) in enumerate(build_check_entries(checks))
    ]
    found += [
        replace(
            _build_entry_line(COMMANDS_SECTION, text, (task.first_turn, -at, line), 3.0),
            is_required=True,
        )
        for task in tasks
        for at, (text, line) in enumerate(render_opened_pull_requests_and_issues(task))
    ]
    steps = {
        step: (task, run) for task in tasks for step, run in find_update_and_submission_steps(task)
    }
    if len(steps) > 1 or any(run.kind == "merge" for _, run in steps.values()):
        task, run = list(steps.values())[-1]
        text = f"{STEPS_PREFIX}{', '.join(f'`{each}`' for each in list(steps)[-MAX_STEPS:])}"
        order = (task.first_turn, MAX_TASK_COMMANDS, run.line)
        found.append(_build_entry_line(COMMANDS_SECTION, text, order, 2.0))
    return found


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
