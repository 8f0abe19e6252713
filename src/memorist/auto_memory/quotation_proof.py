"""Whether a quotation proves a memory: the memory says what the user's whole sentence says. Pure.

A true quotation under another memory proves nothing. Texts are compared word by word, in order and
with every negation, after what carries no content is left out: articles, politeness, openings, who
speaks (`I`, `the user`), and a reason at the end. Equality needs no knowledge of the language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from memorist.auto_memory.clause_stances import (
    get_alternatives_of_word,
    parse_clause_stances,
    split_chosen_word_from_clause,
)
from memorist.auto_memory.memory_file import MemoryFile, with_body, with_header_values
from memorist.auto_memory.statements.memory_name_and_description import (
    derive_memory_name_and_description,
)
from memorist.auto_memory.statements.statement_filters import is_question_or_supposition
from memorist.auto_memory.statements.statement_parser import Statement, find_statements
from memorist.auto_memory.statements.statement_patterns import find_lead_in_end
from memorist.auto_memory.statements.user_prose import find_sentence_ends, mask_quotations
from memorist.auto_memory.visible_memory import render_all_readable_text
from memorist.auto_memory.write_evidence import (
    MIN_QUOTE_WORDS,
    WriteEvidence,
    extract_message_before_others_words,
    normalize_for_comparison,
    split_script_words,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message
from memorist.core.text_analysis import parse_word_list
from memorist.core.word_stems import stem_word

MAX_PROVING_SENTENCES = 8
"""Consecutive sentences that one quotation may span."""

_MARKUP_LINE = lazy_pattern(r"\s*(?:[-*•·>#]+|\d{1,2}[.)])\s+")
_LABEL = lazy_pattern(
    r"\s*\**(?:why|how to apply|reason|rule|warum|原因|如何应用)\s*[:：]\**\s*", re.IGNORECASE
)
_OPENING = lazy_pattern(
    r"(?:(?:no|nope|nah|yes|ok(?:ay)?|hey|hi|hm+|well|wait|actually|also|btw|by the way|so|and|but|"
    r"remember|reminder|rule|note|important|again|from now on|going forward|in (?:the )?future|"
    r"nein|ja|non|oui|ab jetzt|d[ée]sormais|不|对|好的?|另外|顺便说一下)\s*[,.!:;–—，。！：；-]+\s*"
    r"|(?:please|also|and|just|so|but|then|bitte|s'il te pla[iî]t|por favor|请你?|以后|今后|从现在起|从现在开始)"
    r"[,，]?\s*(?=\S)"
    r"|(?:can|could|would|will) you (?:please )?"
    r"|from now on |going forward |in (?:the )?future "
    r"|(?:please )?(?:remember|keep in mind|bear in mind|note|don['’]?t forget|make sure|be sure|记住|"
    r"请记住)(?: that| to|[:：，,])?\s+"
    r"|i(?: have|['’]ve)? (?:already )?(?:told|asked) you(?: that| to)? "
    r"|i(?:['’]d| would)? (?:want|like|need) you to "
    r"|(?:the )?user (?:wants?|asks?|asked|told|said|says|would like|wishes)"
    r"(?: (?:you|us|me|the agent|agents))?(?: that| to|[:：])?\s+(?=\S))",
    re.IGNORECASE,
)
_SPEAKER = lazy_pattern(r"\A(?:the )?user ", re.IGNORECASE)
_LOOSE = lazy_pattern(
    r"\d|\b(?:may|might|can|could|allowed|fine|ok|okay|like|would|should|need|then|back|again|still|yet|if|when|unless|until|except|puedes?|pode|peux|kannst|darfst|если|можешь)\b"
    r"|可以|如果|もし|いい|되|돼|면",
    re.IGNORECASE,
)
"""Permits, supposes, or narrows a choice to a case or a time."""
_REASON = lazy_pattern(
    r"[,;]?\s+(?:because|since|as|so that|otherwise|weil|denn|da|parce que|car|porque)\s|"
    r"[,，;；]?(?:因为|否则|不然)",
    re.IGNORECASE,
)
_POLITE_END = lazy_pattern(
    r"[\s,，]*(?:\b(?:please|thanks|thank you|ok|okay|bitte|danke|merci|gracias)|谢谢|吧)?[\s.!。！]*\Z",
    re.IGNORECASE,
)
_SHORT_NOT = lazy_pattern(r"\b(?:(ca)n|(wo)n|(\w+)n)['’]t\b", re.IGNORECASE)
_SHORT_VERB = lazy_pattern(r"(?<=\w)['’](?:m|re|s|ve|d|ll)\b", re.IGNORECASE)
_EMPTY_WORDS = parse_word_list(
    """
         a an the i me my mine you your he she it its they them their user users am is are was
    were be     been being has have had do does did will would shall please just also really very
    请 的 了 吧 你 您     我
    """
)
"""Words that say nothing of what is to be done, or only who speaks."""


def find_statements_in_user_words(message: Message) -> tuple[Statement, ...]:
    """The statements of a message that a person typed to the agent: none of one that a program may
    have passed on, none from the words of others in it.
    """
    if message.is_typed:
        return drop_statements_in_others_words(find_statements(message), message)
    return ()


def drop_statements_in_others_words(
    statements: Sequence[Statement], message: Message
) -> tuple[Statement, ...]:
    """Those statements whose quote is before the words of others begin."""
    typed = extract_message_before_others_words(message) if statements else ""
    return tuple(each for each in statements if each.quote in typed)


class SentencesTouchedByQuotation(Struct, frozen=True):
    """Messages that hold a quotation, and the whole sentences of the user that it touches."""

    messages: tuple[str, ...]
    sentences: tuple[str, ...]


def find_user_sentences_containing_quote(
    quote: str, evidence: WriteEvidence
) -> SentencesTouchedByQuotation | None:
    """Find the user's whole sentences that a quotation touches; None where the user said no such
    thing, where one of them is a question, and for too short a quotation.
    """
    wanted = normalize_for_comparison(quote)
    if len(split_script_words(wanted)) < MIN_QUOTE_WORDS:
        return None
    messages, found = [], []
    for id, text in evidence.user_messages:
        if wanted not in normalize_for_comparison(text):
            continue
        run = _narrowest_run(wanted, list(split_sentences_by_line(text)))
        if run and not any(map(_asks, run)):
            messages.append(id)
            found += run
    return (
        SentencesTouchedByQuotation(tuple(messages), tuple(dict.fromkeys(found)))
        if messages
        else None
    )


_ASKS_NOTHING = lazy_pattern(
    r"(?:please )?(?:(?:can|could) you |(?:would|will) you (?:please|kindly|also|mind)\b)|do not\b|don['’]t (?!you\b|we\b|i\b)|(?:if|when) [^?？]*\Z",
    re.IGNORECASE,
)
"""Begins like a question and asks for a deed, forbids, or gives a condition. "Would you skip the
tests?" asks for an opinion.
"""


def _asks(sentence: str) -> bool:
    """Whether a sentence asks for an answer; "could you run …" asks for a deed."""
    start = find_lead_in_end(sentence)
    return is_question_or_supposition(sentence[start:]) and not _ASKS_NOTHING.match(sentence, start)


def _narrowest_run(wanted: str, sentences: Sequence[str]) -> list[str]:
    """The fewest consecutive sentences that together hold the words."""
    for length in range(1, min(MAX_PROVING_SENTENCES, len(sentences)) + 1):
        for start in range(len(sentences) - length + 1):
            run = list(sentences[start : start + length])
            if wanted in normalize_for_comparison(" ".join(run)):
                return run
    return []


def split_sentences_by_line(text: str) -> Iterator[str]:
    """Yield a text's sentences, line by line, without list marks and labels."""
    for line in text.splitlines():
        mark = _MARKUP_LINE.match(line)
        body = line[mark.end() :] if mark else line
        label = _LABEL.match(body)
        body = body[label.end() :] if label else body
        start = 0
        for end in find_sentence_ends(mask_quotations(body)):
            if any(letter.isalnum() for letter in body[start:end]):
                yield body[start:end].strip()
            start = end


def adds_nothing_to_former_memory(present: MemoryFile, former: MemoryFile) -> bool:
    """Whether all that a reader sees of a memory, sentence by sentence, was there before."""
    text, before = render_all_readable_text(present), render_all_readable_text(former)
    said = tuple(split_sentences_by_line(before))
    return text.split() == before.split() or contains_only_given_sentences(text, said)


def contains_only_given_sentences(text: str, sentences: Sequence[str]) -> bool:
    """Whether every sentence of a text says what one of the user's whole sentences says."""
    mine = [_whole_readings(sentence) for sentence in split_sentences_by_line(text)]
    said = [_readings(sentence) for sentence in sentences]
    return bool(mine) and all(any(one & other for other in said) for one in mine)


def _readings(sentence: str) -> frozenset[tuple[str, ...]]:
    """The content of a sentence, with and without a reason at its end, and of its reason."""
    words = {*_whole_readings(sentence)}
    reason = _REASON.search(sentence)
    if reason and reason.start():
        words |= {_content(sentence[: reason.start()]), _content(sentence[reason.end() :])}
    return frozenset(words - {()})


def _whole_readings(sentence: str) -> frozenset[tuple[str, ...]]:
    """The content of a whole sentence: another order with the same reason says something else."""
    return frozenset({_content(sentence), _read_choice(sentence)} - {()})


def _content(sentence: str) -> tuple[str, ...]:
    """The words that carry a sentence's content, in order, as stems; negations among them."""
    text = _POLITE_END.sub("", _strip_openings(sentence))
    text = _SHORT_NOT.sub(lambda found: f"{found[1] or found[2] or found[3]} not", text)
    text = _SHORT_VERB.sub("", text).replace("cannot", "can not")
    words = split_script_words(normalize_for_comparison(text))
    return tuple(stem_word(word) for word in words if word not in _EMPTY_WORDS)


def _strip_openings(sentence: str) -> str:
    text = sentence[find_lead_in_end(sentence) :].strip()
    while (opening := _OPENING.match(text)) and opening.end() < len(text):
        text = text[opening.end() :].lstrip()
    return text


def _read_choice(sentence: str) -> tuple[str, ...]:
    """Which of two alternatives a sentence chooses over the other, where it says nothing else: "use
    pnpm, never npm" and "pnpm instead of npm" choose the same.
    """
    text = _SPEAKER.sub("", _strip_openings(sentence))
    stances = parse_clause_stances(text)
    chosen = {each.is_positive: split_chosen_word_from_clause(each) for each in stances}
    if not len(stances) == len(chosen) == 2 or _LOOSE.search(text):
        return ()
    last = stances[1]
    if last.is_positive and last.end and " " not in text[last.start : last.end].strip():
        return ()  # "don't use npm, yarn" may rule out both
    (word, rest), (other, other_rest) = chosen[True], chosen[False]
    if rest or other_rest or other not in (get_alternatives_of_word(word) or ()):
        return ()
    return "over", word, other


def restrict_memory_to_quotation(
    topic: MemoryFile,
    quoted: SentencesTouchedByQuotation,
    evidence: WriteEvidence,
    before: MemoryFile | None,
) -> tuple[MemoryFile, tuple[str, ...]] | None:
    """The memory reduced to what the user said, and what was left out; None where the quoted
    sentences do not say what it says.

    Its first sentence must be a quoted one. Others may be any sentence that the user typed, or
    are in the previous version. A description or name that is not covered is rebuilt.
    """
    known = tuple(split_sentences_by_line(before.body)) if before is not None else ()
    typed = [
        sentence
        for _, text in evidence.user_messages
        for sentence in split_sentences_by_line(text)
        if not _asks(sentence)
    ]
    covered = (*quoted.sentences, *typed, *known)
    body, left_out = _restrict_body(topic.body, covered)
    first = next(
        (
            each
            for each in split_sentences_by_line(body)
            if contains_only_given_sentences(each, quoted.sentences)
        ),
        "",
    )
    if not first or not _is_covered_name(topic.path.rsplit("/", 1)[-1], covered):
        return None
    values: dict[str, object] = {}
    if not contains_only_given_sentences(topic.description, covered):
        values["description"] = first[:150]
        left_out = (*left_out, topic.description)
    if not _is_covered_name(topic.name, covered):
        values["name"] = derive_memory_name_and_description(
            Statement("rule", "feedback", first, first, "")
        )[0]
    restricted = with_body(topic, f"\n{body}\n") if body != topic.body else topic
    return (with_header_values(restricted, values) if values else restricted), left_out


def _restrict_body(body: str, covered: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The lines of which every sentence is covered, and the others."""
    kept: list[str] = []
    left_out: list[str] = []
    for line in body.splitlines():
        pieces = list(split_sentences_by_line(line))
        if not pieces or contains_only_given_sentences(line, covered):
            kept.append(line)
            continue
        said = [each for each in pieces if contains_only_given_sentences(each, covered)]
        left_out += [each for each in pieces if each not in said]
        kept += [" ".join(said)] if said else []
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip("\n"), tuple(left_out)


_PLAIN_NAMES = parse_word_list(
    """
         note memory rule user feedback project reference md about how why
    """
)


def _is_covered_name(name: str, covered: Sequence[str]) -> bool:
    """Whether a name holds no more than five-letter beginnings of the user's words, in any form."""
    if contains_only_given_sentences(name.removesuffix(".md").replace("-", " "), covered):
        return True
    known = {
        form[:5]
        for text in covered
        for word in split_script_words(normalize_for_comparison(text))
        for form in (word, stem_word(word))
    }
    mine = split_script_words(normalize_for_comparison(name))
    return len(mine) < 3 or all(
        word[:5] in known
        or stem_word(word)[:5] in known
        or word in _PLAIN_NAMES
        or word in _EMPTY_WORDS
        or word.isdigit()
        for word in mine
    )
