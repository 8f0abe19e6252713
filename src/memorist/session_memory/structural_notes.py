"""Session notes without a model: what the transcript alone proves, in the ten sections of SM-4
(SM-13). Pure.

Everything in the notes is taken from the transcript: the user's and the assistant's sentences
verbatim, paths, commands, output lines, and counts. Only the labels around them are ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

from memorist.core.lazy import lazy_pattern
from memorist.core.sentences import AnalyzedSentence, analyze_sentence, shorten_to_one_line
from memorist.core.text_analysis import estimate_o200k_tokens
from memorist.session_memory.notes_template import TITLE_SECTION
from memorist.session_memory.work_notes import (
    ERRORS_SECTION,
    FILES_SECTION,
    WORKFLOW_SECTION,
    build_error_lines,
    build_file_lines,
    build_workflow_lines,
    describe_command_outcome,
)
from memorist.settings import SessionMemorySettings
from memorist.transcript_analysis.display_paths import find_display_root, make_display_path
from memorist.transcript_analysis.note_line_selection import (
    LINE_OVERHEAD_TOKENS,
    NoteLine,
    NoteLineSelection,
    build_weighted_note_line,
    select_note_lines,
)
from memorist.transcript_analysis.note_sentence_pool import (
    BASE_WEIGHT,
    COMMENT,
    COMMIT,
    EARLIER,
    FINAL,
    INTENT,
    PLAN,
    SAID,
    SHOWN,
    THOUGHT,
    NoteSentenceCandidate,
    score_note_sentence,
)
from memorist.transcript_analysis.session_dialogue import ANSWERING, DialogueUserMessage
from memorist.transcript_analysis.tool_actions import (
    ChangeAction,
    CommandAction,
    DelegateAction,
    OtherToolAction,
    ReadAction,
    ToolAction,
)
from memorist.transcript_analysis.transcript_ledger import TranscriptLedger
from memorist.transcript_analysis.turn_log import (
    StepAction,
    TurnRecord,
    WorkStep,
    find_commit_subject,
)

# Build the note lines from the dialogue: title, task, results, learnings, documentation.


STATE_SECTION, TASK_SECTION = "Current State", "Task specification"
DOCS_SECTION = "Codebase and System Documentation"
LEARNINGS_SECTION = "Learnings"
RESULTS_SECTION = "Key results"

MAX_TITLE_CHARACTERS = 90
_CLAUSE_LENGTH = 28
_CLAUSE_END = lazy_pattern(
    r"[:;,](?= )| (?:[—–-]|because|so that|and|but|which|then|when|while) | \("
)
_SEARCH_HIT = lazy_pattern(r":\d+\)$")
_COMMON_FUNCTION = lazy_pattern(
    r"_|test|set_?[Uu]p|tear_?[Dd]own|main$|init$|write$|read$|get$|set$|run$"
)
"""Function names that are meaningless on their own."""

_LINK = lazy_pattern(r"https?://\S+")
_GROUP_LABELS = (
    "",
    "In its reasoning:",
    "In an earlier summary:",
    "In the changed code:",
    "In code that was read:",
)
_GROUP_OF = {THOUGHT: 1, EARLIER: 2, COMMENT: 3, SHOWN: 4}
_SECTION_OF_SOURCE = {
    COMMIT: RESULTS_SECTION,
    PLAN: TASK_SECTION + "/plan",
    COMMENT: DOCS_SECTION,
    EARLIER: DOCS_SECTION,
    SHOWN: DOCS_SECTION,
}
_SHOWN_LIMIT = 8
_DECLARED_NAME = lazy_pattern(
    r"`(?:[a-z]+(?:\([^)]*\))? )*?(?:func|function|def|class|struct|enum|trait|interface|type|"
    r"fn|impl) (?:\([^)]*\) ?)?(\w+)"
)
_LAST_TABLES = 2
_OLDER_FACTOR = 0.85
_REQUIRED_SENTENCES = 4
_SHORT_REQUEST_TOKENS = 110
"""Tokens below which a user message is included whole."""

_REQUIRED_REQUEST_TOKENS = 560
"""Tokens of user messages that are included before anything else."""


def build_sentence_line(
    section: str,
    found: AnalyzedSentence,
    order: tuple[int, ...],
    weight: float,
    *,
    must: bool = False,
) -> NoteLine:
    """A line made of this sentence."""
    return NoteLine(
        section,
        found.text,
        found.stems,
        found.keys,
        found.cost + LINE_OVERHEAD_TOKENS,
        weight,
        order,
        must,
        found.is_bullet,
        found.is_table,
    )


def render_session_title(ledger: TranscriptLedger) -> str:
    """The session's own title, or the beginning of the first request."""
    if ledger.title:
        return shorten_to_one_line(ledger.title, MAX_TITLE_CHARACTERS)
    asks = [ask for ask in ledger.dialogue.asks if ask.input_method != ANSWERING]
    spoken = [ask for ask in asks if len(ask.text) >= 16 and ask.text[0] not in "!/#"]
    first = next(iter(spoken or asks), None)
    if first is None:
        return ""
    heading = first.sentences[0].text if first.sentences else first.text
    if len(first.sentences) > 1 and heading.rstrip(" …").lower().startswith(
        "implement the following plan"
    ):
        heading = first.sentences[1].text
    heading = _LINK.sub("", heading.removeprefix("Plan: ")).strip(" :-") or heading
    if len(heading) <= MAX_TITLE_CHARACTERS:
        return heading
    commits = (commit for turn in ledger.turns.turns for commit in turn.commits)
    return _find_leading_clause(heading) or shorten_to_one_line(
        find_commit_subject(commits) or heading, MAX_TITLE_CHARACTERS
    )


def _find_leading_clause(heading: str) -> str:
    """The longest prefix of a long sentence that ends at a clause boundary; empty where there is
    none of a reasonable length.
    """
    ends = [match.start() for match in _CLAUSE_END.finditer(heading[: MAX_TITLE_CHARACTERS + 1])]
    return heading[: ends[-1]] if ends and ends[-1] >= _CLAUSE_LENGTH else ""


def build_user_request_lines(ledger: TranscriptLedger) -> list[NoteLine]:
    """The user's messages: the short ones whole and the first sentences of the others must be
    included; the rest is weighed.
    """
    lines: list[NoteLine] = []
    left = _REQUIRED_REQUEST_TOKENS
    ranked = ledger.dialogue.asks[:1] + ledger.dialogue.asks[:0:-1]
    must: set[int] = set()
    for ask in ranked:
        if ask.required_tokens < 0:
            ask.required_tokens = sum(
                each.cost + LINE_OVERHEAD_TOKENS for each in _find_required_sentences(ask)
            )
        price = ask.required_tokens
        if price <= left:
            must.add(id(ask))
            left -= price
    for at, ask in enumerate(ledger.dialogue.asks):
        key = (at, id(ask) in must)
        if ask.lines_key != key:
            ask.lines_key, ask.lines = key, _build_request_lines(ask, at, must=key[1])
        lines.extend(ask.lines)
    return lines


def _find_required_sentences(ask: DialogueUserMessage) -> list[AnalyzedSentence]:
    whole = sum(each.cost for each in ask.sentences)
    return ask.sentences if whole <= _SHORT_REQUEST_TOKENS else ask.sentences[:_REQUIRED_SENTENCES]


def _build_request_lines(ask: DialogueUserMessage, at: int, *, must: bool) -> list[NoteLine]:
    if not ask.sentences:
        return [
            build_sentence_line(TASK_SECTION, analyze_sentence(ask.text), (at, 0), 3.0, must=must)
        ]
    first = {id(each) for each in _find_required_sentences(ask)}
    return [
        build_sentence_line(
            TASK_SECTION,
            each,
            (at, position),
            2.6 if position < 12 else 2.0,
            must=must and id(each) in first,
        )
        for position, each in enumerate(ask.sentences)
    ]


def render_user_requests(ledger: TranscriptLedger, lines: list[NoteLine]) -> str:
    """Render the user's messages in order; omitted sentences leave an ellipsis."""
    asks: dict[int, list[NoteLine]] = {}
    for each in lines:
        asks.setdefault(each.order[0], []).append(each)
    out = []
    for at in sorted(asks):
        ask = ledger.dialogue.asks[at]
        how = f"({ask.input_method}) " if ask.input_method else ""
        chosen = sorted(asks[at], key=lambda each: each.order)
        whole = len(ask.sentences) or 1
        times = f" (×{ask.times})" if ask.times > 1 else ""
        stopped = " (interrupted)" if ask.interrupted else ""
        out.append(f"- {how}{join_sentences_with_ellipses(chosen, whole)}{times}{stopped}")
    return "\n".join(out)


def render_results_by_turn(lines: list[NoteLine]) -> str:
    """Render final words and commit messages, grouped by turn."""
    turns: dict[int, list[NoteLine]] = {}
    for each in sorted(lines, key=lambda each: each.order):
        turns.setdefault(each.order[0], []).append(each)
    return "\n".join(f"- {join_sentences_with_ellipses(found, 0)}" for found in turns.values())


def join_sentences_with_ellipses(parts: list[NoteLine], whole: int) -> str:
    """Join sentences: adjacent ones on one line, list items on their own lines, tables below an
    empty line, gaps as an ellipsis.

    The last number of a line's order is its position. With `whole`, the original number of
    sentences, an ellipsis also marks what is missing at the start and the end.
    """
    text = ""
    last = -1 if whole else parts[0].order[-1] - 1
    before = ""
    for each in parts:
        gap = each.order[-1] != last + 1
        if not text:
            text = ("… " if gap else "") + _indent_table(each)
        elif each.is_table or before == "table":
            text += f"\n\n  {_indent_table(each)}"
        elif each.is_bullet:
            text += f"\n  - {each.text}"
        elif before == "bullet":
            text += f"\n  {each.text}"
        else:
            text += f" … {each.text}" if gap and not text.endswith("…") else f" {each.text}"
        last = each.order[-1]
        before = "table" if each.is_table else "bullet" if each.is_bullet else ""
    return text if not whole or last == whole - 1 or text.endswith("…") else f"{text} …"


def _indent_table(each: NoteLine) -> str:
    """The line's text; the rows of a table indented to stay inside the list item."""
    return each.text.replace("\n", "\n  ") if each.is_table else each.text


def build_assistant_statement_lines(ledger: TranscriptLedger, skip: set[int]) -> list[NoteLine]:
    """Lines from the assistant's statements: final words go to the results, causes and rules to the
    learnings, the rest to the documentation.
    """
    now = ledger.turns.current_turn.number
    tail = {each.order for each in ledger.dialogue.tail}
    tables = {
        each.order
        for each in [each for each in ledger.dialogue.pool.candidates if each.sentence.is_table][
            -_LAST_TABLES:
        ]
    }
    lines = []
    shown = [each for each in ledger.dialogue.pool.candidates if each.source in (SHOWN, COMMENT)]
    spoken_of = sorted(
        (each for each in shown if _is_mentioned(each, ledger.dialogue.pool.names)),
        key=score_note_sentence,
        reverse=True,
    )
    skip = skip | (
        {each.order for each in shown} - {each.order for each in spoken_of[:_SHOWN_LIMIT]}
    )
    for each in ledger.dialogue.pool.candidates:
        if each.order in skip:
            continue
        if not each.is_final:
            closed = each.turn != now
            each.line = _build_statement_line(
                each,
                _OLDER_FACTOR if closed else 1.0,
                final=each.order in tail,
                must=each.order in tables,
            )
            each.is_final = closed and not each.sentence.is_table
        if each.line is not None:
            lines.append(each.line)
    return lines


def _build_statement_line(
    candidate: NoteSentenceCandidate, age: float, *, final: bool, must: bool
) -> NoteLine | None:
    section, weight = _choose_section(candidate, final=final)
    if not section:
        return None
    group = (
        (_GROUP_OF.get(candidate.source, 0),)
        if section in (DOCS_SECTION, LEARNINGS_SECTION)
        else ()
    )
    return build_sentence_line(
        section,
        candidate.sentence,
        (*group, candidate.turn, candidate.order),
        weight * age,
        must=must,
    )


def _is_mentioned(candidate: NoteSentenceCandidate, names: Mapping[str, float]) -> bool:
    """Whether a shown declaration counts: only where a search hit it or its name occurs elsewhere;
    comments always count.
    """
    text = candidate.sentence.text
    declared = _DECLARED_NAME.match(text) if candidate.source == SHOWN else None
    if declared is None or declared[1] in names or f"{declared[1]}()" in names:
        return True
    return bool(_SEARCH_HIT.search(text)) and not _COMMON_FUNCTION.match(declared[1])


def render_lines_by_source(lines: list[NoteLine]) -> str:
    """Render statements first; below them, each under a label, text from weaker sources."""
    out: list[str] = []
    group = 0
    for each in sorted(lines, key=lambda each: each.order):
        if each.order[0] != group:
            group = each.order[0]
            out.append(_GROUP_LABELS[group])
        out.append(f"- {each.text}")
    return "\n".join(out)


def _choose_section(each: NoteSentenceCandidate, *, final: bool) -> tuple[str, float]:
    """The section of a statement, empty for none, and its weight there."""
    if each.source == FINAL or each.sentence.is_table or (final and each.source == SAID):
        return RESULTS_SECTION, max(each.weight, BASE_WEIGHT[FINAL])
    if each.source == SAID and each.sentence.text.endswith("?"):
        return "", 0.0
    if each.source in (SAID, THOUGHT):
        return LEARNINGS_SECTION if each.has_cue else DOCS_SECTION, each.weight
    return _SECTION_OF_SOURCE.get(each.source, ""), each.weight


# Build the note lines on the course of the work and its present state: the work log and the
# current state.


WORKLOG_SECTION = "Worklog"

MAX_NEWEST_STEPS = 30
"""Newest steps that may appear in the work log."""

MAX_OLDER_STEPS = 20
"""Older steps that may appear, of those that changed, committed or broke something."""

MAX_LOGGED_TURNS = 40
"""Turns that may appear in it."""

TURN_WEIGHT, STEP_WEIGHT, OLD_STEP_WEIGHT = 1.4, 1.1, 0.95
"""Weights of their lines."""

REQUIRED_STEPS = 3
"""Newest steps that always appear."""

_TAIL_STATEMENTS = 8
_NOT_CHECKS = frozenset({"look", "edit", "run", "merge", "branch", "refused"})
_SHORT_STATEMENT = 70
_ANNOUNCEMENT_START = lazy_pattern(
    r"^(?:(?:ok(?:ay)?|good|great|perfect|clear|now|so|alright|excellent|first|next|then)"
    r"\b[,.!:]?\s*(?:[—–-]\s*)?)*"
    r"(?:let me|let['’]s|i['’]ll|i will|i['’]m going to)\s+(?:now\s+|also\s+|quickly\s+)?|^now\s+",
    re.IGNORECASE,
)
"""Opening phrase of an announcement; cut off, since every step is one."""


def build_worklog_lines(ledger: TranscriptLedger, root: str) -> tuple[list[NoteLine], set[int]]:
    """One line per step, and one per turn where there are several. Also returns the order numbers
    of the statements used.
    """
    now = ledger.turns.current_turn.number
    turns = (
        [turn for turn in ledger.turns.turns[-MAX_LOGGED_TURNS:] if turn.request]
        if len(ledger.turns.turns) > 1
        else []
    )
    lines = [
        build_weighted_note_line(
            WORKLOG_SECTION, _cached_turn_line(turn, root, now), (turn.number, 0), TURN_WEIGHT
        )
        for turn in turns
    ]
    used: set[int] = set()
    last = {id(step) for step in ledger.turns.steps[-REQUIRED_STEPS:]}
    for step in _choose_steps(ledger):
        words = _find_announcement(step)
        if words is not None:
            used.add(words.order)
        text = _cached_step_line(step, words.sentence.text if words is not None else "", root)
        if text:
            weight = STEP_WEIGHT if step.turn == now else OLD_STEP_WEIGHT
            lines.append(
                build_weighted_note_line(
                    WORKLOG_SECTION, text, (step.turn, step.order), weight, must=id(step) in last
                )
            )
    return lines, used


def _cached_turn_line(turn: TurnRecord, root: str, now: int) -> str:
    """The line of a turn; that of a finished turn is rendered once."""
    key = (root, turn.number != now)
    if turn.number == now or turn.line_cache[0] != key:
        turn.line_cache = (key, _render_turn(turn, root, with_steps=turn.number != now))
    return turn.line_cache[1]


def _cached_step_line(step: WorkStep, words: str, root: str) -> str:
    """The line of a step, rendered again only after an action was added to it."""
    key = (root, words, len(step.actions))
    if step.line_cache[0] != key:
        step.line_cache = (key, _render_step(step, words, root))
    return step.line_cache[1]


def _find_announcement(step: WorkStep) -> NoteSentenceCandidate | None:
    """The statement that introduces a step in the work log: its announcement, or a plain statement
    followed by actions.
    """
    words = step.announcement
    if words is None or words.source == INTENT:
        return words
    return words if words.source == SAID and not words.has_cue and step.actions else None


def _choose_steps(ledger: TranscriptLedger) -> list[WorkStep]:
    """The newest steps, and of the older ones those that changed, committed or broke something."""
    steps = ledger.turns.steps
    older = [step for step in steps[:-MAX_NEWEST_STEPS] if step.is_notable]
    return older[-MAX_OLDER_STEPS:] + steps[-MAX_NEWEST_STEPS:]


def _render_turn(turn: TurnRecord, root: str, *, with_steps: bool) -> str:
    parts = []
    if not with_steps:
        turn = TurnRecord(
            turn.number, turn.request, interrupted=turn.interrupted, compacted=turn.compacted
        )
    if turn.edited:
        parts.append(
            "changed "
            + ", ".join(
                make_display_path(path, root).rsplit("/", 1)[-1] for path in list(turn.edited)[:6]
            )
        )
    parts.extend(
        f"{kind} {'passed' if action.ok else 'failed'}" for kind, action in turn.checks.items()
    )
    parts.extend(f"committed {commit}" for commit in turn.commits[-2:])
    if turn.compacted:
        parts.append("context compacted")
    if turn.interrupted:
        parts.append("interrupted by the user")
    done = f" → {'; '.join(parts)}" if parts else ""
    return f"Turn {turn.number}: “{shorten_to_one_line(turn.request, 90)}”{done}"


def _step_words(step: WorkStep) -> str:
    return step.announcement.sentence.text if step.announcement is not None else ""


def _render_step(step: WorkStep, words: str, root: str) -> str:
    trimmed = _ANNOUNCEMENT_START.sub("", words, count=1).rstrip(" .:…")
    trimmed = trimmed[:1].upper() + trimmed[1:]
    with_steps = _render_actions(step.actions, root)
    if not trimmed:
        trimmed = "; ".join(dict.fromkeys(action.about for action in step.actions if action.about))
        trimmed = trimmed if len(trimmed) < 200 else ""
    if not trimmed:
        return with_steps[:1].upper() + with_steps[1:]
    return f"{trimmed} → {with_steps}" if with_steps else trimmed


def _render_actions(with_steps: list[StepAction], root: str) -> str:
    edits: dict[str, int] = {}
    parts = []
    for action in with_steps:
        if action.kind == "edit" and action.ok:
            name = make_display_path(action.what, root).rsplit("/", 1)[-1]
            edits[name] = edits.get(name, 0) + 1
        elif action.kind == "refused":
            parts.append(f"the user refused {action.what}")
        elif action.kind == "agent":
            parts.append(f"agent: {shorten_to_one_line(action.what, 80)}")
        elif action.kind not in ("look", "read", "search", "ask", "use", "edit"):
            line = shorten_to_one_line(action.line, 90)
            outcome = describe_command_outcome(action.ok, line, action.kind)
            parts.append(f"`{shorten_to_one_line(action.what, 70)}` {outcome}")
    if edits:
        parts.insert(
            0,
            "changed "
            + ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in edits.items()),
        )
    if parts:
        return "; ".join(parts[:4])
    reads = list(
        dict.fromkeys(
            shorten_to_one_line(make_display_path(action.what, root).rsplit("/", 1)[-1], 50)
            for action in with_steps
            if action.kind == "read" and action.what
        )
    )
    sought = list(
        dict.fromkeys(
            f"`{shorten_to_one_line(action.what, 50)}`"
            for action in with_steps
            if action.kind == "search" and "`" not in action.what
        )
    )
    found = ["read " + ", ".join(reads[:4])] if reads else []
    return "; ".join(found + (["searched " + ", ".join(sought[:3])] if sought else []))


def build_current_state_lines(
    ledger: TranscriptLedger, root: str
) -> tuple[list[NoteLine], set[int]]:
    """The current state: the last request, the last words, running calls, open failures, the task
    list. Also returns the statements used.
    """
    texts: list[str] = []
    used: set[int] = set()
    if ledger.branch:
        texts.append(f"Branch: `{ledger.branch}`")
    asks = [ask for ask in ledger.dialogue.asks if ask.input_method != ANSWERING]
    if asks:
        texts.append(f"Last request: “{shorten_to_one_line(asks[-1].text, 160)}”")
    spoken = [
        each for each in ledger.dialogue.tail[:_TAIL_STATEMENTS] if not each.sentence.is_table
    ]
    words = (
        spoken[:1] if spoken and len(spoken[0].sentence.text) >= _SHORT_STATEMENT else spoken[:2]
    )
    if words:
        used.update(each.order for each in words)
        texts.append(
            f"Last words of the assistant: "
            f"{shorten_to_one_line(' '.join(each.sentence.text for each in words), 300)}"
        )
    elif ledger.turns.steps and (
        text := _render_step(ledger.turns.steps[-1], _step_words(ledger.turns.steps[-1]), root)
    ):
        texts.append(f"Last step: {shorten_to_one_line(text, 300)}")
    running = [_render_running_call(action, root) for action in ledger.work_record.calls.values()]
    if running:
        texts.append("Without an answer yet: " + ", ".join(each for each in running if each))
    broken = [
        each
        for each in ledger.work_record.commands.failures
        if not each.resolved_by and each.kind not in _NOT_CHECKS
    ][-2:]
    texts.extend(
        f"Still failing: `{shorten_to_one_line(each.what, 80)}`: {each.line}" for each in broken
    )
    texts.extend(_render_task_list(ledger))
    return [
        build_weighted_note_line(STATE_SECTION, text, (at,), 3.0, must=True)
        for at, text in enumerate(texts)
    ], used


def _render_running_call(action: ToolAction, root: str) -> str:
    match action:
        case CommandAction(short_command=short):
            return f"`{shorten_to_one_line(short, 80)}`"
        case ChangeAction(changes=changes) if changes:
            return f"an edit of `{make_display_path(changes[0].path, root)}`"
        case ReadAction(paths=paths) if paths:
            return f"reading `{make_display_path(paths[0], root)}`"
        case DelegateAction(what=what) | OtherToolAction(name=what):
            return shorten_to_one_line(what, 60)
        case _:
            return ""


def _render_task_list(ledger: TranscriptLedger) -> list[str]:
    tasks = list(ledger.work_record.tasks.values())
    if not tasks:
        return []
    done = sum(task.status in ("completed", "done") for task in tasks)
    texts = [f"Task list: {done} of {len(tasks)} done"]
    for status, label in (("in_progress", "in progress"), ("pending", "pending")):
        named = [task.text for task in tasks if task.status == status]
        if named:
            texts.append(
                f"Task list, {label}: "
                + "; ".join(shorten_to_one_line(text, 90) for text in named[:6])
            )
    return texts


NOTE_SECTIONS = (
    TITLE_SECTION, STATE_SECTION, TASK_SECTION, FILES_SECTION, WORKFLOW_SECTION, ERRORS_SECTION,
    DOCS_SECTION, LEARNINGS_SECTION, RESULTS_SECTION, WORKLOG_SECTION,
)  # fmt: skip
"""The sections in the template's order."""

PLAN_SECTION = TASK_SECTION + "/plan"

_NAME_SHAPE = re.compile(
    r"(?=.{3,60}$)(?=.*[A-Za-z])(?:[~@.]?/)?[\w@-]+(?:(?:/|\.|::|->|#|:)[\w@*-]+)*(?:\(\))?"
)

_PLAIN_WORDS_SHAPE = re.compile(r"[A-Za-z-]+(?:/[A-Za-z-]+)+|[A-Za-z0-9]{1,5}|[a-z]+|e\.g|i\.e")
"""Words joined by a slash, plain words, and short letter groups: not names."""

_HASH_SHAPE = re.compile(r"[0-9a-f]{7,40}")

NAMES_SHARE = 0.07
"""Share of the budget for the line of names."""

SHARED_SECTION_DIVISOR = 4
"""Where two lists share a section, the smaller one may take one part in so many."""

LABEL_TOKENS = 40
"""Tokens of the labels between groups of lines."""

_SECTION_SHARES = {
    STATE_SECTION: 0.12, TASK_SECTION: 0.4, PLAN_SECTION: 0.15, FILES_SECTION: 0.35,
    WORKFLOW_SECTION: 0.14, ERRORS_SECTION: 0.22, DOCS_SECTION: 0.3, LEARNINGS_SECTION: 0.35,
    RESULTS_SECTION: 0.4, WORKLOG_SECTION: 0.3, TITLE_SECTION: 0.05,
}  # fmt: skip
"""The largest share of the budget for each section, so that none crowds out the others."""

_SECTION_FLOORS = {
    RESULTS_SECTION: 0.07,
    WORKLOG_SECTION: 0.06,
    ERRORS_SECTION: 0.04,
    WORKFLOW_SECTION: 0.035,
    LEARNINGS_SECTION: 0.05,
    DOCS_SECTION: 0.035,
}
"""The share of the budget that a section may fill before the best of all lines are selected."""


class NotesBudget(Struct, frozen=True, kw_only=True):
    """Estimated sizes in tokens (o200k)."""

    total_tokens: int = 3_000
    section_tokens: int = 2_000

    @classmethod
    def from_settings(cls, settings: SessionMemorySettings) -> NotesBudget:
        """The sizes that the settings give."""
        return cls(total_tokens=settings.structural_tokens, section_tokens=settings.section_tokens)


def render_structural_sections(
    ledger: TranscriptLedger, budget: NotesBudget | None = None
) -> dict[str, str]:
    """Render the notes: section title to text, for all ten sections; empty where there is nothing
    to say.
    """
    budget = budget or NotesBudget()
    root = find_display_root(ledger.cwd, ledger.work_record.files.files)
    log, in_log = build_worklog_lines(ledger, root)
    state, in_state = build_current_state_lines(ledger, root)
    lines = [
        *state,
        *build_user_request_lines(ledger),
        *build_file_lines(ledger, root),
        *build_workflow_lines(ledger),
        *build_error_lines(ledger, root),
        *log,
    ]
    lines += build_assistant_statement_lines(ledger, in_log | in_state)
    heading = _fit_title(ledger, budget.section_tokens)
    names_budget = min(
        int(budget.total_tokens * NAMES_SHARE), budget.section_tokens // SHARED_SECTION_DIVISOR
    )
    room = budget.total_tokens - estimate_o200k_tokens(heading) - names_budget - LABEL_TOKENS
    caps = {
        section: min(int(budget.total_tokens * share), budget.section_tokens)
        for section, share in _SECTION_SHARES.items()
    }
    caps[PLAN_SECTION] = min(caps[PLAN_SECTION], budget.section_tokens // SHARED_SECTION_DIVISOR)
    caps[TASK_SECTION] = min(caps[TASK_SECTION], budget.section_tokens - caps[PLAN_SECTION])
    caps[FILES_SECTION] = min(caps[FILES_SECTION], budget.section_tokens - names_budget)
    floors = {
        section: int(budget.total_tokens * share) for section, share in _SECTION_FLOORS.items()
    }
    chosen = select_note_lines(lines, room, caps, floors)
    by_section: dict[str, list[NoteLine]] = {}
    for each in chosen.lines:
        by_section.setdefault(each.section, []).append(each)
    texts = {section: _render_bullets(by_section.get(section, [])) for section in NOTE_SECTIONS}
    texts[TITLE_SECTION] = heading
    texts[DOCS_SECTION], texts[LEARNINGS_SECTION] = (
        render_lines_by_source(by_section.get(DOCS_SECTION, [])),
        render_lines_by_source(by_section.get(LEARNINGS_SECTION, [])),
    )
    texts[RESULTS_SECTION] = render_results_by_turn(by_section.get(RESULTS_SECTION, []))
    texts[TASK_SECTION] = render_user_requests(ledger, by_section.get(TASK_SECTION, []))
    plan = _render_bullets(by_section.get(PLAN_SECTION, []))
    if plan:
        texts[TASK_SECTION] = (
            f"{texts[TASK_SECTION]}\nFrom the plan shown to the user:\n{plan}".strip()
        )
    names = _render_names(ledger, chosen, names_budget, root)
    if names:
        texts[FILES_SECTION] = f"{texts[FILES_SECTION]}\n- Names that came up: {names}".strip()
    return texts


def _fit_title(ledger: TranscriptLedger, most: int) -> str:
    """The title within so many tokens: characters of rare scripts cost more than their number
    suggests.
    """
    heading = render_session_title(ledger)
    while (cost := estimate_o200k_tokens(heading)) > most and heading:
        heading = heading[: len(heading) * most // cost].rstrip()
    return heading


def _render_bullets(lines: list[NoteLine]) -> str:
    return "\n".join(f"- {each.text}" for each in sorted(lines, key=lambda each: each.order))


def _render_names(
    ledger: TranscriptLedger, chosen: NoteLineSelection, budget: int, root: str
) -> str:
    """The identifiers with the highest weights that occur nowhere else in the notes."""
    found: list[str] = []
    weights = ledger.dialogue.pool.names
    for name in sorted(weights, key=weights.__getitem__, reverse=True)[:400]:
        shown, key, cost = _display_name(name, root)
        if not cost or key in chosen.keys:
            continue
        if budget < cost:
            break
        budget -= cost
        chosen.keys.add(key)
        found.append(shown)
    return ", ".join(found)


@lru_cache(1_024)
def _display_name(name: str, root: str) -> tuple[str, str, int]:
    """A name's displayed form, its comparable form, and its tokens: 0 for what is not a name after
    all.
    """
    shown = make_display_path(name, root)
    if (
        not _NAME_SHAPE.fullmatch(shown)
        or _PLAIN_WORDS_SHAPE.fullmatch(shown)
        or _HASH_SHAPE.fullmatch(shown)
    ):
        return shown, "", 0
    return shown, shown.rstrip("/").rsplit("/", 1)[-1].lower(), estimate_o200k_tokens(shown) + 1
