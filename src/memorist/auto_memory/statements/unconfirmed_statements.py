"""Find what a person probably means to last: it waits for their word (AM-8). Pure.

A sentence that a rule reads waits, one that a rule rejects does not, whatever their words; of the
rest a score decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from memorist.auto_memory.statements.bans import (
    Ban,
    begins_with_general_word,
    classify_ban,
    states_reason,
)
from memorist.auto_memory.statements.composite_message import is_composite_message
from memorist.auto_memory.statements.confirmed_way_of_working import (
    LASTING_ANSWER,
    find_confirmed_text,
    find_decided_option,
    find_lasting_choice,
)
from memorist.auto_memory.statements.forget_requests import (
    is_deletion_or_postponing_task,
    read_forget_request,
)
from memorist.auto_memory.statements.lasting_clause import (
    find_clause_before_task,
    find_lasting_clause_start,
)
from memorist.auto_memory.statements.orders_for_the_speaker import is_order_for_speaker
from memorist.auto_memory.statements.plain_facts import classify_plain_fact
from memorist.auto_memory.statements.played_roles import gives_part_to_play, may_be_for_part
from memorist.auto_memory.statements.project_circumstance_patterns import states_project_demand
from memorist.auto_memory.statements.questioned_orders import asks_to_stop, find_order_in_question
from memorist.auto_memory.statements.statement_filters import (
    find_clause_before_code_location,
    is_forbidden_in_memory,
    is_question_or_supposition,
    is_reported_speech,
    is_task_bound,
)
from memorist.auto_memory.statements.statement_kind import choose_memory_kind
from memorist.auto_memory.statements.statement_parser import (
    CLIENT_COMMAND,
    LONE_CONFIRMATION,
    MAX_STATEMENTS,
    TASK_START,
    Statement,
    find_refusal_end,
    find_statement_in_sentence,
    has_line_about_other_text,
    has_rule_amid_description,
    has_rule_right_below_print,
    list_certain_statements,
    match_first_statement_pattern,
    split_retraction,
    split_typed_sentences,
    strip_punctuation_and_tag_question,
)
from memorist.auto_memory.statements.statement_pattern_index import StatementPatternIndex
from memorist.auto_memory.statements.statement_patterns import ORDER, StatementAct, find_lead_in_end
from memorist.auto_memory.statements.statement_scope import (
    is_every_project_request,
    is_lasting_statement,
)
from memorist.auto_memory.statements.text_around_pastes import extract_typed_text
from memorist.auto_memory.statements.unconfirmed_patterns import UNCONFIRMED_PATTERNS
from memorist.auto_memory.statements.unconfirmed_score import (
    list_lasting_feature_names,
    score_unconfirmed_sentence,
)
from memorist.auto_memory.statements.user_prose import (
    MAX_SENTENCE_CHARS,
    ProseSentence,
    contains_unattributable_text,
    find_last_line_behind_program_output,
    gives_text_job,
    is_document_or_form,
    names_other_speaker,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message, Origin
from memorist.core.text_analysis import count_cjk_letters

MIN_WAITING_CHARS = 16
"""Characters of the shortest sentence that waits by its score alone: less is a fragment. A Chinese or
Japanese one counts as two.
"""

NEVER_WAITS = -99.0
"""The score of a sentence that is no statement, whatever its words."""

NEIGHBOUR_SCORE_MARGIN = 0.1
"""How far below the threshold a sentence still waits together with its neighbour."""

BAN_SCORES: Mapping[Ban | None, float] = {"bare": -0.75, "explained": -1.5, None: 0.0}
"""The score from which a ban waits, and any other sentence. Our choice: of 12 bans without a reason in
the typed messages of the shared sessions the eight to keep lie above the first, two others below.
"""

_LEANING = lazy_pattern(
    r"(?:(?:and|but|so|also|please|make|keep|do|apply|use|always|never)\s+)*"
    r"(?:that|this|it|these|those|them|same)\b",
    re.IGNORECASE,
)
"""A sentence that cannot be read without the one before it."""

HOLD = lazy_pattern(
    r"(?:please |just )*(?:do not|don['’]?t) (?:do|change|touch|edit|write|run) anything(?! (?:in|under|outside|on|without|unless|with|to)\b)"
    r"|(?:bitte )?(?:mach|änder|tu)\w* (?:bitte |erst ?mal |noch )*nichts\b|ne (?:fais|change|touche|modifie)[sz]? (?:encore )?rien\b"
    r"|no (?:hagas|cambies|toques|modifiques) (?:todavía )?nada(?! (?:sin|en)\b)|não (?:faça|mude|altere|mexa em) (?:ainda )?nada(?! (?:sem|em)\b)"
    r"|(?:пока )?ничего (?:пока )?не (?:делай|меняй|трогай|изменяй)(?:те)?\b(?! без\b)|先?(?:什么都|啥都|先)(?:不要|别|不用)(?:做|改|动|写)|(?:まだ)?何も(?:し|変え|触ら)ないで"
    r"|(?:아직 )?아무것도 (?:하|건드리|바꾸|수정하)지 ?(?:마|말)"
    r"|(?:please |just |but )*(?:do not|don['’]?t|i (?:do not|don['’]?t) want)\b[^?,;]{0,80}\b(?:now|right now|at the moment|yet)\W*$"
    r"|no quiero que\b[^?,;]{0,60}\b(?:ahora(?: mismo)?|todavía|aún)\W*$|não quero que\b[^?,;]{0,60}\bagora\W*$|ich will nicht\b[^?,;]{0,60}\bjetzt\b"
    r"|今は[^。]{1,40}(?:ないで|な)(?:ください|ね|よ)?[。!！]*$|现在(?:先)?(?:不要|别)",
    re.IGNORECASE,
)
"""Stops the agent for the moment: nothing at all, or nothing now, and nothing later."""

_LABEL = lazy_pattern(
    r"(?:\b(?:(?P<rule>(?:rule|convention|preference|policy|guideline|regel|konvention|règle|consigne|regla|norma|regra|правило)|规则|规范|约定|ルール|規約)|note|nb|n\.b\.|ps|tip|hint|reminder|important|"
    r"remember|wichtig|merke|hinweis|remarque|nota|importante|importantíssimo|важно|заметка)|注意|备注|メモ)\s*\d*\s*[:：–—-]\s*",
    re.IGNORECASE,
)
"""Says of what follows that it is to be kept in mind; `rule` also that it is one."""
_ORDER_OR_RULE = lazy_pattern(
    rf"{ORDER}\s+\S|(?:utilise[sz]?|usa|nutze?|verwende?|nimm|используй(?:те)?) \S|(?:请|要|别|不要|先|用|使用|必须)",
    re.IGNORECASE,
)
MIN_LABELLED_CHARS = 6
"""Characters of the shortest text behind such a label."""

_WAITING = StatementPatternIndex(*UNCONFIRMED_PATTERNS)


def compile_unconfirmed_patterns_stepwise() -> Iterator[None]:
    """Compile every pattern of this module, one at each step."""
    return _WAITING.compile_stepwise()


def find_unconfirmed_statements(message: Message, reply_before: str = "") -> tuple[Statement, ...]:
    """Find what a message probably states for later without saying so: it waits for the person.

    A line that states something for certain holds none; beside a request to forget only what a
    rule reads waits. A lone confirmation stands for what it
    confirms: how the agent worked, in its own words at the end of `reply_before`, the text of its
    turn before; a lone "yes, always" or "the second, in general" for the question there, or the
    option, with the answer.
    """
    if message.origin is not Origin.USER or message.role not in {"user", "developer"}:
        return ()
    found: dict[str, Statement] = {}
    for act, text, quote in list_probable_statements(extract_typed_text(message), reply_before):
        if len(found) < MAX_STATEMENTS:
            kind = choose_memory_kind(text)
            found.setdefault(
                text.casefold(), Statement(act, kind, text, quote, message.id, certain=False)
            )
    return tuple(found.values())


_OWN_ARGUMENTS = frozenset({"compact", "export", "forget", "pin", "rename", "resume", "sessions"})
"""Commands whose arguments state nothing for later."""


def list_probable_statements(
    typed: str, reply_before: str = ""
) -> Iterator[tuple[StatementAct, str, str]]:
    """Yield act, text and quote of what a typed text probably states for later."""
    text = typed.strip()
    command = CLIENT_COMMAND.fullmatch(text)
    if command is not None:
        if command["name"] not in _OWN_ARGUMENTS:
            for act, said, quote in list_certain_statements(command["arguments"]):
                if act != "forget":
                    yield act, said, quote
        return
    if text.startswith("!"):
        return
    statements = list_certain_statements(typed)
    certain = [quote for _, _, quote in statements]
    confirmed = _find_confirmed(text, reply_before, is_certain=bool(certain))
    if confirmed:
        yield "rule", confirmed, text
    if confirmed is not None:
        return
    yield from _find_request_behind_log(text)
    _, rest = split_retraction(text)
    lines = rest.splitlines()
    stated = [line for line in lines if any(quote in line for quote in certain)]
    holds_rule = [
        line for line in stated if any(act != "forget" and it in line for act, _, it in statements)
    ]
    scored = [
        _score_with_its_clause(each, text)
        if not any(each.text in line for line in stated)
        or (
            not any(each.text in line for line in holds_rule)
            and read_forget_request(each) is None
            and decide_by_rules(each, text) is True
        )
        else (each, NEVER_WAITS)
        for each in split_typed_sentences(rest)
    ]
    sentences, scores = [each for each, _ in scored], [score for _, score in scored]
    done = 0
    for at, score in enumerate(scores):
        if score >= 0 and at >= done:
            first, done = _widen(sentences, scores, at)
            quote = _span_text(rest, sentences[first].text, sentences[done - 1].text)
            start = find_lead_in_end(sentences[first].masked)
            yield "rule", strip_punctuation_and_tag_question(quote[start:]), quote


def _find_confirmed(text: str, reply: str, *, is_certain: bool) -> str | None:
    """What a lone answer stands for, empty where the reply tells nothing; None for any other text."""
    if LONE_CONFIRMATION.fullmatch(text) or LASTING_ANSWER.fullmatch(text):
        return find_confirmed_text(text, reply) or find_lasting_choice(text, reply)
    if is_certain:
        return None
    return find_lasting_choice(text, reply) or find_decided_option(text, reply) or None


_REQUEST_BEHIND_LOG = lazy_pattern(
    r".*(?<![\w\"'“«「])(?P<quote>(?:(?:please )?remember|merke?(?: dir)?|retiens|retenez|recuerda|lembre(?:-se)?|"
    r"запомни(?:те)?|记住|覚えて(?:おいて)?|기억해(?: ?줘)?)\s*[:：]\s*(?P<text>\S.{5,}))",
    re.IGNORECASE,
)


def _find_request_behind_log(typed: str) -> Iterator[tuple[StatementAct, str, str]]:
    """What a text asks to remember behind a log on one line: the log may say so itself."""
    line = find_last_line_behind_program_output(typed)[-MAX_SENTENCE_CHARS:]
    found = _REQUEST_BEHIND_LOG.match(line)
    if (
        found is None
        or is_question_or_supposition(found["text"])
        or is_forbidden_in_memory(found["text"])
    ):
        return
    yield "remember", strip_punctuation_and_tag_question(found["text"]), found["quote"].strip()


def is_sentence_long_enough(masked: str) -> bool:
    """Whether a sentence is no fragment."""
    return len(masked) + count_cjk_letters(masked) >= MIN_WAITING_CHARS


def matches_certain_or_probable_pattern(sentence: ProseSentence) -> bool:
    """Whether a sentence states something for later, surely or probably, by a pattern."""
    start = find_lead_in_end(sentence.masked)
    return (
        find_statement_in_sentence(sentence) is not None
        or classify_plain_fact(sentence) is not None
        or match_first_statement_pattern(_WAITING, sentence, start) is not None
    )


def _score_with_its_clause(sentence: ProseSentence, typed: str) -> tuple[ProseSentence, float]:
    """A sentence with its score, or what it states in front of a task or of a place in the code."""
    score = _score_waiting(sentence, typed)
    start = find_lead_in_end(sentence.masked)
    span = find_clause_before_task(sentence.masked, start) or find_clause_before_code_location(
        sentence.masked, start
    )
    if span is None or score >= 0:
        return sentence, score
    part = slice(*span)
    clause = replace(sentence, text=sentence.text[part], masked=sentence.masked[part])
    statement = find_statement_in_sentence(clause)
    if (
        decide_by_rules(clause, typed) is False
        or (statement is not None and statement[0] == "forget")
        or not matches_certain_or_probable_pattern(clause)
    ):
        return sentence, score
    return clause, 0.0


def _score_waiting(sentence: ProseSentence, typed: str) -> float:
    """How likely a sentence is meant to last: from 0 on it waits."""
    waits = decide_by_rules(sentence, typed)
    if waits is not None:
        return 0.0 if waits else NEVER_WAITS
    score = score_unconfirmed_sentence(list_lasting_feature_names(sentence, typed))
    if score >= 0 or score < BAN_SCORES["explained"]:
        return score
    return 0.0 if score >= BAN_SCORES[classify_ban(sentence)] else score


def decide_by_rules(sentence: ProseSentence, typed: str) -> bool | None:
    """Whether the rules let a sentence of a message wait; None where its score decides."""
    if _states_nothing(sentence):
        return False
    start = find_lead_in_end(sentence.masked)
    masked = sentence.masked[start:]
    may_be_others = contains_unattributable_text(typed)
    if (
        any(
            match_first_statement_pattern(_WAITING, sentence, begin) is not None
            for begin in _list_readable_starts(sentence.masked, start)
        )
        or (classify_plain_fact(sentence) is not None and not may_be_others)
        or _is_about_user_in_doubt(masked)
        or _is_labelled(sentence)
        or _is_rule_alone(sentence)
        or _may_be_others(sentence, typed)
        or any(map(_asks_for_lasting_order, (masked, sentence.masked)))
        or is_order_for_speaker(sentence)
    ):
        return True
    is_read_by_score = (
        is_sentence_long_enough(masked)
        and _UNREAD_SCRIPT.search(masked) is None
        and not may_be_others
        and not is_question_or_supposition(masked)
    )
    return None if is_read_by_score else False


def _list_readable_starts(masked: str, start: int) -> Iterator[int]:
    """Where a sentence may state something: at once, behind its lead-in, a refusal, or a task."""
    yield from {0, start}
    refused = find_refusal_end(masked, start)
    if refused > start:
        yield refused
    clause = find_lasting_clause_start(masked, start)
    if clause is not None:
        yield clause


def _states_nothing(sentence: ProseSentence) -> bool:
    """Whether a sentence is no statement, whatever its words."""
    start = find_lead_in_end(sentence.masked)
    masked = sentence.masked[start:]
    return (
        (is_reported_speech(sentence.masked) and not states_project_demand(masked))
        or HOLD.match(sentence.masked, start) is not None
        or is_forbidden_in_memory(masked)
        or gives_part_to_play(masked)
        or is_every_project_request(sentence.masked)
        or is_deletion_or_postponing_task(sentence.masked)
    )


_UNREAD_SCRIPT = lazy_pattern("[\u0370-\u03ff\u0530-\u109f\u1200-\u13ff\u1780-\u17ff]")
"""Letters of Greek, Armenian, Hebrew, Arabic, the scripts of India and South-East Asia, Georgian and
Ethiopic: the model met too few such sentences, so the rules alone speak there.
"""


def _may_be_others(sentence: ProseSentence, typed: str) -> bool:
    """Whether a sentence states something for certain, if it is the user's: it is in a form, or its
    neighbours show it, or it is in front of a job on the text below.
    """
    statement = find_statement_in_sentence(sentence)
    return (
        statement is not None
        and statement[0] != "forget"
        and (
            is_document_or_form(typed)
            or names_other_speaker(typed)
            or is_composite_message(typed)
            or has_line_about_other_text(typed)
            or has_rule_amid_description(typed)
            or has_rule_right_below_print(typed)
            or may_be_for_part(typed)
            or gives_text_job(sentence.after)
        )
    )


def _is_about_user_in_doubt(masked: str) -> bool:
    """Whether a sentence says what the user is or works with, and then what goes wrong."""
    return (
        is_lasting_statement(masked)
        and not is_question_or_supposition(masked)
        and not is_task_bound(masked, include_hints=True)
    )


def _is_rule_alone(entry: ProseSentence) -> bool:
    """Whether an entry of a list, or a sentence beside others, would be kept if it were typed alone."""
    if not (entry.in_list or entry.before or entry.after):
        return False
    statement = find_statement_in_sentence(replace(entry, in_list=False, before="", after=""))
    return statement is not None and statement[0] != "forget"


_MAKES_PROGRAM = lazy_pattern(r"(?:make|let|have|get|ensure)\b", re.IGNORECASE)
"""Orders what a program is to do: "make it never crash"."""


def _asks_for_lasting_order(masked: str) -> bool:
    """Whether a polite question asks for what would last if it were ordered: a ban, an order for
    always, or an end of something.
    """
    order = find_order_in_question(masked)
    if not order or is_task_bound(order, include_hints=False):
        return False
    plain = ProseSentence(order, order)
    statement = find_statement_in_sentence(plain)
    return (
        asks_to_stop(order)
        or (begins_with_general_word(order) and not _MAKES_PROGRAM.match(order))
        or classify_ban(plain) is not None
        or (statement is not None and statement[0] != "forget")
        or (
            TASK_START.match(order) is None
            and match_first_statement_pattern(_WAITING, plain, 0) is not None
        )
    )


def _is_labelled(sentence: ProseSentence) -> bool:
    """Whether a sentence calls itself a rule, or an order to be kept in mind: `Note: use pnpm`."""
    label = _LABEL.match(sentence.masked, 0) or _LABEL.match(
        sentence.masked, find_lead_in_end(sentence.masked)
    )
    if label is None:
        return False
    rest = sentence.masked[label.end() :]
    return (
        len(rest) + count_cjk_letters(rest) >= MIN_LABELLED_CHARS
        and (label["rule"] is not None or _ORDER_OR_RULE.match(rest) is not None)
        and not is_question_or_supposition(rest)
        and not is_forbidden_in_memory(rest)
        and not is_task_bound(rest, include_hints=False)
    )


def _widen(sentences: Sequence[ProseSentence], scores: list[float], at: int) -> tuple[int, int]:
    """The range of sentences that wait together: neighbours on the line that nearly wait by
    themselves, the one that a sentence leans on, and the reason of a ban.
    """
    first, end = _find_reason_range(sentences, at)
    while end < len(sentences) and sentences[end].before and scores[end] >= -NEIGHBOUR_SCORE_MARGIN:
        end += 1
    if (
        first == at
        and sentences[first].before
        and (
            scores[first - 1] >= -NEIGHBOUR_SCORE_MARGIN or _LEANING.match(sentences[first].masked)
        )
    ):
        first -= 1
    total = sum(len(each.text) + 1 for each in sentences[first:end])
    return (first, end) if total <= MAX_SENTENCE_CHARS else (at, at + 1)


def _find_reason_range(sentences: Sequence[ProseSentence], at: int) -> tuple[int, int]:
    """The range of a ban and its reason on the line; of any other sentence alone."""
    if classify_ban(sentences[at]) == "explained":
        end = at + 1
        if end < len(sentences) and sentences[end].before and states_reason(sentences[end]):
            return at, end + 1
        if sentences[at].before and states_reason(sentences[at - 1]):
            return at - 1, end
    return at, at + 1


def _span_text(text: str, first: str, last: str) -> str:
    """The part of a text from one of its sentences to a later one."""
    begin = text.find(first)
    return text[begin : text.find(last, begin) + len(last)]
