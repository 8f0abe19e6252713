"""Passages of past sessions: what the user asked and what came of it, turn by turn; which of them
bear on a prompt, and how they are shown. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import PurePath

from msgspec import Struct

from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message, Origin, ToolResult
from memorist.core.plural import join_first
from memorist.core.prompt_templates import render_template
from memorist.core.search_words import extract_words_with_keys
from memorist.core.sentences import extract_prose_sentences, shorten_to_one_line
from memorist.core.text_encoding import replace_surrogates
from memorist.core.utc_time import format_local_day
from memorist.formats.host_markup import put_typed_text_before_pastes, strip_host_markup
from memorist.formats.transcript_format import TranscriptEntry
from memorist.recall.project_question import is_question_without_request
from memorist.recall.quotable_words import select_quotable_words
from memorist.recall.scheduled_prompt import is_same_but_for_numbers
from memorist.recall.search_query import build_search_query_from_text
from memorist.recall.word_chance import measure_evidence_above_chance
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.safety.permission_claims import is_injected_order_or_permission
from memorist.safety.secrets import redact
from memorist.transcript_analysis.call_outcome import get_result_head_and_tail, parse_call_outcome
from memorist.transcript_analysis.command_lines import classify_command_purpose
from memorist.transcript_analysis.invocation_log import FixedInvocation
from memorist.transcript_analysis.note_sentence_pool import SAID, refine_or_drop_sentence_category
from memorist.transcript_analysis.tool_actions import (
    ChangeAction,
    CommandAction,
    ToolAction,
    parse_tool_action,
)
from memorist.transcript_analysis.user_words_in_results import (
    UserWordsInResult,
    find_user_words_in_result,
    parse_tool_action_unless_mcp,
)

MAX_SAID_CHARS = 4_000
"""Characters kept of what the user said in one turn; a longer text is a paste."""
ANSWER_PART_CHARS = 2_400
"""Characters of an answer that are searched as one: a longer text is near to everything."""
MAX_ANSWER_PARTS = 4
"""Parts kept of what the agent answered in one turn, the last, which say what was done: 99.4 % of
what the agents of 161 recorded sessions answered, where the last part alone has 75 %.
"""
MAX_WORK_CHARS = 1_200
"""Characters kept of the commands and files of one turn."""
MAX_COMMAND_CHARS = 160
_CLIENT_COMMAND = lazy_pattern(r"/[a-z][\w:-]*(?: \S+){0,2}")
"""A command such as `/exit` or `/effort medium`; more words behind it are a request."""
_CHANGED = "changed "
_FAILED, _UNANSWERED = " (failed)", " (no result)"
"""What stands behind a call that came to nothing, or was cut off."""
_SENTENCE_END = lazy_pattern(r"[\n。！？]|[.!?](?=\s)")
_CLIENT_FOLDERS = frozenset({".claude", ".codex"})
"""Where the clients keep plans and files of their own."""


class Passage(Struct, frozen=True, kw_only=True):
    """One turn of a session: the user's words, the agent's, and the work.

    What the user answers to a question of the agent, or gives as the reason of a refusal, begins a
    turn as a prompt does. What an agent says before its user does is a turn without the user's
    words.
    """

    line: int
    """Line of its first message in the session's file, counted from 1."""
    at: float
    """Seconds since the epoch; 0 where the file tells no time."""
    said: str
    question: str = ""
    """The agent's question that the user's words answer; empty for a prompt and a refusal."""
    answered: str = ""
    work: str = ""
    """Commands with their outcome, and changed files, one a line."""
    reply_id: str = ""
    """Id of the agent's first reply, which a copy of the turn in a forked or resumed session keeps;
    empty where the file records none.
    """
    is_typed: bool = False
    """False where a program may have passed the user's words on (print mode, a schedule)."""


class _OpenTurn:
    """The turn that is being read."""

    def __init__(self, message: Message, said: str, question: str = "", *, is_typed: bool) -> None:
        self._start = message
        self._said = said
        self._question = question
        self._is_typed = is_typed
        self._answers: list[str] = []
        self._calls: dict[str, ToolAction] = {}
        self._open: dict[str, ToolAction] = {}
        """The calls without a result, as far as a tool of the client's own was called."""
        self._outcomes: dict[str, str] = {}
        """What stands behind a call, by its id."""
        self._reply_id = ""

    def on_reply(self, message: Message) -> None:
        """Take the agent's text and calls."""
        self._reply_id = self._reply_id or message.reply_id or ""
        if text := message.text.strip():
            self._answers.append(text)
        for use in message.tool_uses:
            self._calls[use.id] = parse_tool_action(use)
            self._open[use.id] = parse_tool_action_unless_mcp(use)

    def on_result(self, result: ToolResult) -> tuple[UserWordsInResult, ...]:
        """Note a call's outcome; returns what the user said in it. Codex marks no failure but by
        the exit code in the text.
        """
        action = self._calls.get(result.tool_use_id)
        if action is not None:
            outcome = parse_call_outcome(result, action, get_result_head_and_tail(result))
            self._outcomes[result.tool_use_id] = _FAILED if outcome.ok is False else ""
        return find_user_words_in_result(result, self._open.pop(result.tool_use_id, None))

    def begin_next(self, message: Message, replies: Sequence[UserWordsInResult]) -> _OpenTurn:
        """The turn that begins with these words of the user; calls without a result go on in it."""
        said = "\n".join(dict.fromkeys(each.text for each in replies))
        questions = dict.fromkeys(each.question for each in replies if each.question)
        is_typed = message.is_typed and all(each.proven for each in replies)
        turn = _OpenTurn(message, redact(said).text, "\n".join(questions), is_typed=is_typed)
        turn._calls = {id: self._calls.pop(id) for id in self._open}
        turn._open = self._open
        return turn

    def close(self) -> Passage:
        """The turn as a passage."""
        return Passage(
            line=self._start.line,
            at=self._start.timestamp or 0.0,
            said=self._said[:MAX_SAID_CHARS],
            question=self._question[:MAX_SAID_CHARS],
            answered="\n".join(self._answers)[-MAX_ANSWER_PARTS * ANSWER_PART_CHARS :],
            work="\n".join(dict.fromkeys(self._work_lines()))[:MAX_WORK_CHARS],
            reply_id=self._reply_id,
            is_typed=self._is_typed,
        )

    def _work_lines(self) -> Iterator[str]:
        for id, action in self._calls.items():
            if line := _work_line(action):
                yield line + self._outcomes.get(id, _UNANSWERED)


def _work_line(action: ToolAction) -> str:
    match action:
        case CommandAction(short_command=short):
            return f"$ {shorten_to_one_line(short, MAX_COMMAND_CHARS)}"
        case ChangeAction(changes=changes):
            return _CHANGED + ", ".join(each.path for each in changes)
        case _:
            return ""


def split_session_into_turns(entries: Iterable[TranscriptEntry]) -> Iterator[Passage]:
    """Split a session into its turns. Tool output, reminders and summaries are left out, and what
    was said to the client alone (`/exit`).
    """
    return (turn for turn in _iter_turns(entries) if not _is_client_command(turn))


def _is_client_command(turn: Passage) -> bool:
    """Whether the user's words are a command that the client answered by itself."""
    is_unanswered = not (turn.answered or turn.work)
    return is_unanswered and _CLIENT_COMMAND.fullmatch(turn.said) is not None


def _iter_turns(entries: Iterable[TranscriptEntry]) -> Iterator[Passage]:
    turn: _OpenTurn | None = None
    for entry in entries:
        if not isinstance(entry, Message):
            continue
        if entry.origin is Origin.USER and not entry.tool_results:
            typed = put_typed_text_before_pastes(strip_host_markup(entry.text))
            said = redact(typed.strip()).text
            if said:
                if turn is not None:
                    yield turn.close()
                turn = _OpenTurn(entry, said, is_typed=entry.is_typed)
        elif entry.origin is Origin.MODEL:
            turn = turn or _OpenTurn(entry, "", is_typed=entry.is_typed)
            turn.on_reply(entry)
        if turn is not None and entry.tool_results:
            replies = [each for result in entry.tool_results for each in turn.on_result(result)]
            if replies:
                ended, turn = turn, turn.begin_next(entry, replies)
                yield ended.close()
    if turn is not None:
        yield turn.close()


def split_answer_into_search_parts(answered: str) -> list[str]:
    """An answer in parts that are searched by themselves, the last one first, at spaces."""
    parts: list[str] = []
    while answered and len(parts) < MAX_ANSWER_PARTS:
        start = max(0, len(answered) - ANSWER_PART_CHARS)
        while start and not answered[start - 1].isspace() and start < len(answered) - 1:
            start += 1
        parts.append(answered[start:])
        answered = answered[:start]
    return parts


def list_search_keys(text: str) -> list[str]:
    """The search keys of a text, in order."""
    return [key for key, _ in extract_words_with_keys(text)]


class MatchedPassage(Struct, frozen=True, kw_only=True):
    """A passage that a query found, with the session it is in."""

    session: str
    """Id of the session."""
    path: str
    """Its file."""
    title: str
    """The beginning of its first message."""
    passage: Passage
    score: float
    """The ranker's, higher is better; comparable within one result."""
    lexical: float = 0.0
    """Its score by words alone, with what stands around the passage."""
    nearness: float | None = None
    """How far the meaning is nearer than that of unrelated texts, in standard deviations; None
    without vectors.
    """
    evidence: float
    """How much the matched words say beyond chance, in nats."""


MIN_EVIDENCE = 9.0
EVIDENCE_PER_WORD = 0.3
"""Nats of evidence that the best passage needs to be shown at a prompt: the first, for each word of
the query the second, and the logarithm of the number of passages compared. Nine in ten prompts of
other projects stay below (docs/ranking.md).
"""
ANSWER_LEXICAL_SHARE = 0.5
ANSWER_RELEVANCE = 3.5
ANSWER_RELEVANCE_PER_WORD = 0.1
ANSWER_RELEVANCE_PER_LOG = 0.8
"""What answers a question about the project: standard deviations of nearness, with so many added
for each point of the score by words. Needed are the second, for each word of the query the third,
and for each natural logarithm of the number of passages the fourth (docs/ranking.md).
"""
MIN_ANSWER_EVIDENCE = 1.0
"""Nats that the passage's own words must say: the score by words is also of what stands around.
"""
MAX_ANSWERS = 2
"""Passages shown for such a question where its words alone say too little."""
MIN_SHARE_OF_BEST = 0.6
"""Share of the best passage's evidence that another session needs to be shown beside it."""
MAX_SHOWN_SESSIONS = 2
MAX_SHOWN_PASSAGES = 3
"""Passages shown of one session."""
MAX_QUOTE_CHARS = 280
MAX_COMPARED_EXCERPTS = 100
"""Starts of an excerpt that are compared: a text of short sentences has thousands."""
MAX_REPORT_CHARS = 160
JUDGEMENT_CACHE_SIZE = 256
"""Passages whose judgement is remembered: a long one takes some milliseconds, and what one prompt
finds the next often finds again.
"""
REPEATED_CHARS, REPEATED_STEP = 15, 5
REPEATED_SHARE = 0.8
"""A quotation is repeated in a text that has this share of its runs of so many letters and digits,
one at every fifth: a memory leaves out "remember:" and the like.
"""
MAX_CHANGED_FILES = 3
"""Of what came of a passage: characters of the agent's sentence, and files that are named."""


def measure_text_evidence(query_words: Collection[str], keys: Sequence[str]) -> float:
    """Measure how much a query's words say for a passage beyond chance, in nats."""
    return measure_evidence_above_chance(
        query_words, frozenset(keys) & frozenset(query_words), len(keys)
    )


def select_passages(
    query: str, matches: Sequence[MatchedPassage], compared: int
) -> tuple[MatchedPassage, ...]:
    """Select the passages that bear on a prompt, oldest session first, and in a session by line.

    Empty for most prompts: the best passage has to be beyond what chance gives for a message of
    that length among `compared` passages. A question about the project is also answered by what is
    near in meaning. Left out are what reads like an order planted for an agent, what a program
    passes on again with other numbers or days at most, as by a schedule, the prompt itself where
    nothing came of it when it was typed before, and what only others say in the user's message.
    """
    matches = [
        each
        for each in matches
        if not _is_unanswered_repetition(query, each.passage)
        and not _is_about_words_of_others(query, each.passage)
    ]
    words, many = len(build_search_query_from_text(query).words), math.log(max(1, compared))
    needed = MIN_EVIDENCE + EVIDENCE_PER_WORD * words + many
    shown = _select_by_evidence(matches, needed)
    if not shown and is_question_without_request(query):
        needed = ANSWER_RELEVANCE + ANSWER_RELEVANCE_PER_WORD * words
        shown = _select_answers(matches, needed + ANSWER_RELEVANCE_PER_LOG * many)
    return tuple(
        each
        for each in leave_out_unquotable_passages(shown)
        if each.passage.is_typed
        or not is_same_but_for_numbers(query, each.passage.said, MAX_SAID_CHARS)
    )


def leave_out_unquotable_passages(found: Iterable[MatchedPassage]) -> tuple[MatchedPassage, ...]:
    """The passages that do not read like an order planted for an agent, and of which something can
    be quoted.
    """
    return tuple(
        each
        for each in found
        if not _is_planted(each.passage) and not _is_of_others_alone(each.passage)
    )


def _is_unanswered_repetition(query: str, passage: Passage) -> bool:
    return (
        len(passage.said) <= 2 * len(query)
        and is_repeated_in_text(passage.said, query)
        and not describe_passage_outcome(query, passage)
    )


def _is_of_others_alone(passage: Passage) -> bool:
    quotable = select_quotable_words(passage.said)
    return quotable != passage.said and not any(map(str.isalnum, quotable))


def _is_about_words_of_others(query: str, passage: Passage) -> bool:
    """Whether the words of a query are only in what others say in the user's message."""
    quotable = select_quotable_words(passage.said)
    if quotable == passage.said:
        return False
    return build_search_query_from_text(query).words.keys().isdisjoint(list_search_keys(quotable))


def _select_answers(matches: Sequence[MatchedPassage], needed: float) -> list[MatchedPassage]:
    """The best passages by words and meaning that are as relevant as `needed`."""
    fit = [
        each
        for each in matches
        if each.evidence >= MIN_ANSWER_EVIDENCE and _measure_answer(each) >= needed
    ]
    best = sorted(fit, key=lambda each: -_measure_answer(each))[:MAX_ANSWERS]
    return sorted(best, key=lambda each: (each.passage.at, each.passage.line))


def _measure_answer(match: MatchedPassage) -> float:
    return (match.nearness or 0.0) + ANSWER_LEXICAL_SHARE * match.lexical


def _select_by_evidence(matches: Sequence[MatchedPassage], needed: float) -> list[MatchedPassage]:
    """The passages of the best sessions whose words say as much as `needed`."""
    fit = sorted(matches, key=lambda each: -each.evidence)
    if not fit or fit[0].evidence < needed:
        return []
    by_session: dict[str, list[MatchedPassage]] = {}
    for each in fit:
        by_session.setdefault(each.session, []).append(each)
    best = [
        found
        for found in by_session.values()
        if found[0].evidence >= max(needed, MIN_SHARE_OF_BEST * fit[0].evidence)
    ][:MAX_SHOWN_SESSIONS]
    floor = MIN_SHARE_OF_BEST / 2 * fit[0].evidence
    best.sort(key=lambda found: found[0].passage.at)
    shown = []
    for found in best:
        parts = [each for each in found if each.evidence >= floor][:MAX_SHOWN_PASSAGES]
        shown += sorted(parts, key=lambda part: part.passage.line)
    return shown


@lru_cache(JUDGEMENT_CACHE_SIZE)
def _is_planted(passage: Passage) -> bool:
    texts = (passage.said, passage.question, passage.answered)
    return is_injected_order_or_permission("\n".join(texts))


def format_day(at: float) -> str:
    """The day of a time as `2026-11-05`; `unknown day` for 0."""
    return (format_local_day(at) if at else "") or "unknown day"


def sanitize_line(text: str, limit: int) -> str:
    """One line of a passage that can be shown to a model: no secrets, no markup, no hidden text."""
    plain = strip_hidden_characters(replace_surrogates(text))
    return shorten_to_one_line(redact(neutralize_markup(plain)).text, limit)


def cut_excerpt_around_words(text: str, words: Collection[str], limit: int) -> str:
    """The part of a text, at most `limit` characters, that holds most of the words."""
    if len(text) <= limit:
        return text
    ends = [end for found in _SENTENCE_END.finditer(text) if (end := found.end()) < len(text)]
    few = ends[:: 1 + len(ends) // MAX_COMPARED_EXCERPTS]
    parts = (text[start : start + limit] for start in (0, *few))
    return max(parts, key=lambda part: sum(key in words for key in set(list_search_keys(part))))


def render_passages(query: str, shown: Sequence[MatchedPassage], prompt: str) -> str:
    """Render selected passages for a model: what the user said, quoted, with date and session, and
    below it what came of it.
    """
    lines = []
    for each in shown:
        outcome = describe_passage_outcome(query, each.passage)
        lines += [f"- {render_user_quote(query, each)}", *([f"  {outcome}"] if outcome else [])]
    return render_template(prompt, {"passages": "\n".join(lines)}, strict=True).strip()


def render_user_quote(query: str, found: MatchedPassage) -> str:
    """What the user said, or a program passed on, around the words of the query, with date and
    session, in one line.
    """
    quote = cut_excerpt_around_words(
        select_quotable_words(found.passage.said),
        build_search_query_from_text(query).words,
        MAX_QUOTE_CHARS,
    )
    by = "" if found.passage.is_typed else ", passed on by a program"
    return (
        f"{format_day(found.passage.at)}, session {sanitize_line(found.session[:8], 8)}{by}: "
        f"“{sanitize_line(quote, MAX_QUOTE_CHARS)}”"
    )


def is_quoted_in_texts(found: MatchedPassage, texts: Iterable[str]) -> bool:
    """Whether texts that were shown quote this passage, of a long one any part."""
    head, opening, quote = f"- {render_user_quote('', found)}".partition(": “")
    said = select_quotable_words(found.passage.said)
    whole = sanitize_line(said, len(said)) if len(said) > MAX_QUOTE_CHARS else ""
    lines = (line for text in texts for line in text.splitlines())
    return any(
        shown == quote or shown.removesuffix("”").removesuffix("…") in whole
        for line in lines
        if (shown := line.removeprefix(head + opening)) != line
    )


def is_quote_repeated_in_texts(query: str, found: MatchedPassage, texts: Iterable[str]) -> bool:
    """Whether one of these texts says what would be quoted of a passage: of an answer also the
    question, as "PostgreSQL" stands in many texts.
    """
    quote = cut_excerpt_around_words(
        select_quotable_words(found.passage.said),
        build_search_query_from_text(query).words,
        MAX_QUOTE_CHARS,
    )
    said = f"{found.passage.question} {quote}" if quote else ""
    return any(is_repeated_in_text(said, text) for text in texts)


def is_repeated_in_text(quote: str, text: str) -> bool:
    """Whether a text has nearly all of a quotation, whatever its spaces and marks; not of one
    without letters or digits.
    """
    said, whole = ("".join(filter(str.isalnum, each.casefold())) for each in (quote, text))
    starts = range(0, max(1, len(said) - REPEATED_CHARS + 1), REPEATED_STEP)
    repeated = sum(said[start : start + REPEATED_CHARS] in whole for start in starts)
    return bool(said) and repeated >= REPEATED_SHARE * len(starts)


def describe_passage_outcome(query: str, passage: Passage) -> str:
    """What came of a passage, in one line: the files that were changed, whether it was committed,
    and what the agent said of the query's words, behind the question that the user answered; empty
    where none of these is known.
    """
    files, committed = _find_changes(passage.work)
    parts = []
    if files:
        named = [f"`{sanitize_line(each, 80)}`" for each in files]
        parts.append(f"changed {join_first(named, MAX_CHANGED_FILES)}")
    if committed:
        parts.append("committed")
    end = passage.answered[-ANSWER_PART_CHARS:]
    if report := _find_report(end, build_search_query_from_text(query).words):
        parts.append(f"the agent said: “{sanitize_line(report, MAX_REPORT_CHARS)}”")
    asked = sanitize_line(passage.question, MAX_QUOTE_CHARS)
    outcome = f"then {'; '.join(parts)}" if parts else ""
    return "; ".join(filter(None, (f"in answer to “{asked}”" if asked else "", outcome)))


def _find_changes(work: str) -> tuple[list[str], bool]:
    """The files that a turn changed, by folder and name, and whether it committed."""
    files: dict[str, None] = {}
    committed = False
    for line in work.split("\n"):
        if line.endswith((_FAILED, _UNANSWERED)):
            continue
        if line.startswith(_CHANGED):
            paths = [PurePath(path) for path in line.removeprefix(_CHANGED).split(", ")]
            own = [path for path in paths if not _CLIENT_FOLDERS & {*path.parts}]
            files.update(("/".join(path.parts[-2:]), None) for path in own)
        committed = committed or (
            line.startswith("$ ") and classify_command_purpose(line[2:]) == "commit"
        )
    return [*files], committed


def _find_report(answered: str, words: Collection[str]) -> str:
    """The last of the agent's sentences that says most of these words, but for what it was about to
    do; empty where none says any.
    """
    best, most = "", 0
    for each in extract_prose_sentences(answered):
        if not each.is_table and refine_or_drop_sentence_category(SAID, each.text) == SAID:
            count = len(set(words) & set(list_search_keys(each.text)))
            if count >= max(most, 1):
                best, most = each.text, count
    return best


def render_fixed_calls(mended: Sequence[FixedInvocation], prompt: str) -> str:
    """Render for a model what failed before a call like its next one, and what worked instead."""
    lines = [
        f"- {format_day(each.at)}: `{sanitize_line(each.command, MAX_COMMAND_CHARS)}` failed "
        f"(“{sanitize_line(each.error, MAX_COMMAND_CHARS)}”); what worked: "
        f"`{sanitize_line(each.mended_by, MAX_COMMAND_CHARS)}`"
        for each in mended
    ]
    return render_template(prompt, {"calls": "\n".join(lines)}, strict=True).strip()
