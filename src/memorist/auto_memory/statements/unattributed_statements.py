"""Find what a message states where nothing tells whether the user says it: it waits (AM-8). Pure.

A rule in the paragraph behind a text to translate may be the user's, or a part of that text. So may
a message that is all pasted: many people dictate, or write in another program, and paste. Kept at
once it would let attacks in, and dropped it is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memorist.auto_memory.statements.statement_kind import choose_memory_kind
from memorist.auto_memory.statements.statement_parser import (
    CLIENT_COMMAND,
    Statement,
    find_statement_in_sentence,
    list_certain_statements,
    strip_punctuation_and_tag_question,
)
from memorist.auto_memory.statements.statement_patterns import StatementAct, find_lead_in_end
from memorist.auto_memory.statements.text_around_pastes import (
    announces_own_rules,
    extract_text_with_picture_marks,
    extract_typed_text,
)
from memorist.auto_memory.statements.unconfirmed_statements import (
    matches_certain_or_probable_pattern,
)
from memorist.auto_memory.statements.user_prose import (
    LONG_MESSAGE_CHARS,
    announces_paste,
    gives_text_job,
    has_greeting_and_closing,
    split_prose_sentences,
)
from memorist.auto_memory.write_evidence import (
    extract_text_before_others_words,
    find_others_words_start,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message, Origin
from memorist.formats.host_markup import split_at_marked_pastes

MAX_READ_CHARS = 6_000
"""Characters of the longest text that is read so; a longer one is a document."""
MIN_LISTED_RULES = 3
"""Rules from which a text is a list of them."""
MIN_RULE_SHARE = 0.5
"""Share of the sentences of such a list that are rules. Our choice: a plan has some as well."""
MAX_UNATTRIBUTED_STATEMENTS = 24
"""Statements of one message that wait so at most."""

_Found = tuple[StatementAct, str, str]
_SHOWS_TEXT = lazy_pattern(
    r"\b(?:this|that|these|those|it|following|below|above|next)\b|[:：]\s*\Z|[^\x00-\x7f]"
    r"|\b(?:das|dies\w*|est[aeo]s?|isso|ceci)\b",
    re.IGNORECASE,
)
"""Says that a text is beside it; "review the code" does not."""
_HOLDS_TEXT = lazy_pattern(r"[:：](?!//)\s*\S")
"""A line that has the text behind its colon."""
_COLON = lazy_pattern(r"[:：](?!//)")
_DELIMITED = lazy_pattern(
    r"^[ \t]*(```|~~~)[^\n]*\n.*?(?:^[ \t]*\1[^\n]*$|\Z)|(?:^[ \t]*>[^\n]*(?:\n|\Z))+",
    re.DOTALL | re.MULTILINE,
)
"""A fenced or quoted part."""
_EMPTY_LINE = lazy_pattern(r"\n\s*\n")


def find_unattributed_statements(message: Message) -> tuple[Statement, ...]:
    """The statements of a message that may be the user's or somebody else's."""
    if message.origin is not Origin.USER or message.role not in {"user", "developer"}:
        return ()
    found: dict[str, Statement] = {}
    for act, text, quote in _list_unattributed(message):
        if act != "forget" and len(found) < MAX_UNATTRIBUTED_STATEMENTS:
            kind = choose_memory_kind(text)
            found.setdefault(
                text.casefold(), Statement(act, kind, text, quote, message.id, certain=False)
            )
    return tuple(found.values())


def _list_unattributed(message: Message) -> Iterator[_Found]:
    parts, pasted = split_at_marked_pastes(extract_text_with_picture_marks(message))
    typed = extract_typed_text(message).strip()
    around, words = "".join(parts).strip(), "\n\n".join(pasted).strip()
    if words and (not around or (not typed and announces_own_rules(around))):
        yield from _list_statements_of_paste(words)
        return
    if len(typed) > LONG_MESSAGE_CHARS and (rules := tuple(_list_rules(typed))):
        found: Iterable[_Found] = rules
    elif len(typed) <= MAX_READ_CHARS:
        found = _list_statements_around_others_text(typed, has_pastes=bool(pasted))
    else:
        return
    own = extract_text_before_others_words(typed)
    kept = {quote for _, _, quote in list_certain_statements(typed) if quote in own}
    yield from (each for each in found if each[2] not in kept)


def _list_statements_of_paste(pasted: str) -> Iterator[_Found]:
    """What a text states that is all of a message: of a short one what is certain, of a long one
    the rules, where it is a list of rules.
    """
    rules = tuple(_list_rules(pasted))
    if rules or len(pasted) > LONG_MESSAGE_CHARS:
        yield from rules
    else:
        yield from list_certain_statements(pasted)


def _list_rules(text: str) -> Iterator[_Found]:
    """The rules of a text that is a list of them."""
    if len(text) > MAX_READ_CHARS or gives_text_job(text) or has_greeting_and_closing(text):
        return
    sentences = list(split_prose_sentences(text, whole=True))
    rules = [each for each in sentences if matches_certain_or_probable_pattern(each)]
    if len(rules) < max(MIN_LISTED_RULES, MIN_RULE_SHARE * len(sentences)):
        return
    for each in rules:
        start = find_lead_in_end(each.masked)
        yield "rule", strip_punctuation_and_tag_question(each.text[start:]), each.text


def _list_statements_around_others_text(typed: str, *, has_pastes: bool) -> Iterator[_Found]:
    """What is stated for certain in the paragraphs of a text that neither ask for work on a text, or
    show one, nor are that text. They may be more of it. With something pasted beside it, that is the
    text, unless one stands behind a colon.
    """
    if CLIENT_COMMAND.fullmatch(typed) or typed.startswith("!") or has_greeting_and_closing(typed):
        return
    delimited = _DELIMITED.sub("\n\n…\n\n", typed)
    blocks = [block.strip() for block in _EMPTY_LINE.split(delimited) if block.strip()]
    asked = [tuple(_list_others(blocks, index)) for index in range(len(blocks))]
    if not any(asked):
        return
    others = {
        at
        for block, each in zip(blocks, asked, strict=True)
        for at in each
        if not has_pastes or _COLON.search(block)
    }
    for at, block in enumerate(blocks):
        if at not in others:
            yield from filter(None, map(find_statement_in_sentence, split_prose_sentences(block)))


def _list_others(blocks: list[str], at: int) -> Iterator[int]:
    """A paragraph that asks for work on a text, or shows one, and the next one or the one before it,
    where that is the text.
    """
    block = blocks[at]
    last = block.splitlines()[-1]
    begin = find_others_words_start(f"{block}\nx")
    is_announced = any(map(announces_paste, block.splitlines()))
    if begin > len(block) + 1 and not gives_text_job(block) and not is_announced:
        return
    yield at
    shows = gives_text_job(last) or announces_paste(last)
    ends_so = shows if is_announced else begin >= len(block) or shows
    if ends_so and _SHOWS_TEXT.search(block) and not _HOLDS_TEXT.search(last):
        yield at + 1 if at + 1 < len(blocks) else at - 1
