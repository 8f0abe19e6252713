"""Why each sentence of a message is kept, waits for the person, or neither, in words (AM-8). Pure.

The decision is that of `statement_parser` and `unconfirmed_statements`; here only its reason is
named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from memorist.auto_memory.statements.played_roles import gives_part_to_play
from memorist.auto_memory.statements.statement_filters import (
    is_question_or_supposition,
    is_reported_speech,
    is_task_bound,
    name_forbidden_content,
    tells_how_often,
)
from memorist.auto_memory.statements.statement_parser import (
    CLIENT_COMMAND,
    MAX_STATEMENTS,
    Statement,
    find_statement_in_sentence,
    find_statements,
    may_be_others_words,
    split_typed_sentences,
)
from memorist.auto_memory.statements.statement_patterns import find_lead_in_end
from memorist.auto_memory.statements.text_around_pastes import extract_typed_text
from memorist.auto_memory.statements.unattributed_statements import find_unattributed_statements
from memorist.auto_memory.statements.unconfirmed_statements import (
    HOLD,
    find_unconfirmed_statements,
    is_sentence_long_enough,
)
from memorist.auto_memory.statements.user_prose import (
    LONG_MESSAGE_CHARS,
    ProseSentence,
    split_prose_sentences,
)
from memorist.core.messages import Message

Outcome = Literal["states", "probably states", "states nothing"]

NOT_READ = (
    "it is no prose of yours: code, a quotation, a table, a log, what follows a paste, or the middle "
    f"of a message over {LONG_MESSAGE_CHARS} characters"
)
ABOUT_ORDERED_TEXT = "it belongs to the text, or the part to play, that is ordered before it"
NOTHING_LASTING = "nothing in its words says that it holds beyond the task"
TASK_BOUND = "its words bind it to the task at hand"
TOO_MANY = f"at most {MAX_STATEMENTS} statements of one message are kept"
ACT_REASONS = {
    "remember": "it asks to be remembered",
    "forget": "it asks to forget",
    "rule": "its own words say that it holds beyond the task",
    "correction": "it corrects what the agent did, beyond the task",
}
UNATTRIBUTED = "nothing tells whether you say it or a text beside it or pasted does"
PROBABLY = "it may be meant for later, but its words do not say so"


class SentenceVerdict(Struct, frozen=True):
    """What the rules read in one sentence, and why."""

    text: str
    """The sentence as it was read: without secrets and sounds of hesitation."""
    outcome: Outcome
    reason: str
    statement: Statement | None = None
    """What it states, surely or probably."""


def explain_message(
    message: Message, reply_before: str = "", *, is_text_announced: bool = False
) -> tuple[SentenceVerdict, ...]:
    """The verdict on each sentence of a message, what it states first.

    `reply_before` is the agent's text that a lone confirmation confirms; `is_text_announced` says
    that the message before announced a text of somebody else.
    """
    unattributed = find_unattributed_statements(message)
    unclear = {each.quote for each in unattributed}
    certain = [each for each in find_statements(message) if each.quote not in unclear]
    probable = [
        each
        for each in find_unconfirmed_statements(message, reply_before)
        if each.quote not in unclear
    ]
    found = [SentenceVerdict(each.quote, "states", ACT_REASONS[each.act], each) for each in certain]
    if is_text_announced:
        why = "the message before it announced a text of somebody else"
        found = [
            SentenceVerdict(each.quote, "probably states", why, each)
            for each in certain
            if each.act != "forget"
        ]
    found += [
        SentenceVerdict(each.quote, "probably states", PROBABLY, each)
        for each in probable
        if not any(each.quote in certainly.quote for certainly in certain)
    ]
    found += [
        SentenceVerdict(each.quote, "probably states", UNATTRIBUTED, each) for each in unattributed
    ]
    stated = [each.text for each in found]
    rest = _explain_rest(extract_typed_text(message).strip(), stated)
    return (*found, *rest)


def _explain_rest(typed: str, stated: Sequence[str]) -> Iterator[SentenceVerdict]:
    """The sentences of a text that state nothing, and its lines that are not read at all."""
    if not typed or any(typed in quote for quote in stated):
        return
    if reason := _find_whole_text_reason(typed):
        yield SentenceVerdict(typed, "states nothing", reason)
        return
    read, sentences = split_typed_sentences(typed), list(split_prose_sentences(typed))
    for each in sentences:
        if not any(each.text in quote or quote in each.text for quote in stated):
            why = ABOUT_ORDERED_TEXT
            if each in read:
                why = explain_why_sentence_states_nothing(each, typed)
            yield SentenceVerdict(each.text, "states nothing", why)
    for line in map(str.strip, typed.splitlines()):
        is_stated = any(quote in line or line in quote for quote in stated)
        if line and not is_stated and not any(each.text in line for each in sentences):
            yield SentenceVerdict(line, "states nothing", NOT_READ)


def _find_whole_text_reason(typed: str) -> str:
    """Why nothing in a whole message is read; empty where its sentences are."""
    if typed.startswith("!"):
        return "it is a command for the shell"
    if CLIENT_COMMAND.fullmatch(typed):
        return "it is a command of the client, or its arguments, and they ask for nothing lasting"
    return ""


def explain_why_sentence_states_nothing(sentence: ProseSentence, typed: str) -> str:
    """Why a sentence of a message states nothing, not even probably."""
    masked = sentence.masked[find_lead_in_end(sentence.masked) :]
    forbidden = name_forbidden_content(masked)
    in_doubt = may_be_others_words(typed)
    reasons = (
        (is_reported_speech(sentence.masked), "it reports what somebody else said or wrote"),
        (bool(forbidden), f"{forbidden} is never kept"),
        (is_question_or_supposition(masked), "it is a question or a supposition"),
        (tells_how_often(masked), "it reports how often something happened"),
        (HOLD.match(masked) is not None, "it stops the agent for the moment"),
        (gives_part_to_play(masked), "it gives the agent a part to play"),
        (in_doubt, "whose words it is cannot be known: a text to work on is in or beside it"),
        (find_statement_in_sentence(sentence) is not None, TOO_MANY),
        (is_task_bound(masked, include_hints=True), TASK_BOUND),
        (not is_sentence_long_enough(masked), "it is too short to be read alone"),
    )
    return next((why for holds, why in reasons if holds), NOTHING_LASTING)
