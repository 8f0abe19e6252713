"""Find explicit statements of the user that are meant for later sessions, without a model (AM-7,
AM-8).

Pure. Only text the user typed counts: no tool results, summaries, injected text, other agents'
messages, quotations, code or logs. A sentence is a statement where a pattern matches and no filter
applies; unclear ones are left to a model or to a plainer request. Precision comes before recall: an
unwanted memory is worse than a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from memorist.auto_memory import said_chinese, said_english, said_others
from memorist.auto_memory.said_kinds import Kind, kind_of
from memorist.auto_memory.said_prose import LONG_MESSAGE, LONGEST_SENTENCE, Sentence, mask, sentences
from memorist.auto_memory.said_vetoes import asks, asks_politely, is_of_one_task, is_unfit, quotes_another
from memorist.auto_memory.said_words import ORDER, PLACE, VERB, after_lead_in
from memorist.auto_memory.saying import Act, Saying
from memorist.core.later import late_pattern
from memorist.core.messages import Message, Origin, Text
from memorist.formats.harness import typed_text

MOST = 8
"""Statements taken from one message at most; longer lists of rules belong in an instruction file.
"""

_FORGETS = (*said_english.FORGETS, *said_chinese.FORGETS, *said_others.FORGETS)
_REMEMBERS = (*said_english.REMEMBERS, *said_chinese.REMEMBERS, *said_others.REMEMBERS)
_CORRECTIONS = (*said_english.CORRECTIONS, *said_chinese.CORRECTIONS)
_RULES = (*said_english.RULES, *said_chinese.RULES, *said_others.RULES)

_COMMAND = late_pattern(r"/(?:[\w-]+:)?(?P<name>remember|forget|memorize)[ \t]+(?P<text>\S.*)", re.DOTALL)
_MEMORY_LINE = late_pattern(r"#[ \t]?(?P<text>[^\s#!\d][^\n]{8,400})\s*\Z")
_REFUSAL = late_pattern(
    r"(?:no|nope|nah|wrong|not quite|that['’]?s (?:wrong|not right|incorrect|outdated|not how .{1,30})|incorrect|不对|错了"
    r"|不是|不行)\s*[,.!:;–—，。！：-]+\s*",
    re.IGNORECASE,
)
_THAT = late_pattern(
    r"(?:please |also |and |you )*(?:remember|keep in mind|don['’]?t forget|note|memori[sz]e) (?:that|this|it)(?: please"
    r"| as .{1,40}| for .{1,40})?\s*[.!]*"
    r"|(?:请|帮我|你)*(?:记住|记一下|别忘了)(?:这一?点|这个|了)?[。！!]*",
    re.IGNORECASE,
)
_DURABLE = late_pattern(
    rf"\b(?:always|never(?! (?:been|had|did|done|seen|was|got|\w+ed)\b)|ever|everywhere|for everything|every time|in general"
    rf"|generally|(?:in|across) (?:this|our|all|the whole) {PLACE}|we (?:only )?(?:use|test|write|deploy)"
    rf"|our \w+ (?:returns?|uses?|is|are|has|have)|(?:leads|owns|is responsible for|is in charge of))\b|统一|一律|从来|永远"
    rf"|所有|每次|都用|项目里?(?:都|不|要求)",
    re.IGNORECASE,
)
_FROM_NOW = late_pattern(
    r"(?:from now on|going forward|in future|remember|(?:my|our|house|ground) rules|keep in mind|以后|今后|记住|规则)[^:：]{0,60}[:：]\s*$",
    re.IGNORECASE,
)
_TASK = late_pattern(rf"(?:please |just |also )*(?!keep\b|stop\b){VERB}\b(?!['’]s)", re.IGNORECASE)
_ORDERS = late_pattern(rf"(?:{ORDER}|no|all|every|we|i prefer|请|不要|别|必须|一律|统一|所有|用|每)", re.IGNORECASE)


class Said(Struct, frozen=True):
    """A statement of the user for later sessions."""

    act: Act
    kind: Kind
    text: str
    """The rule or fact in the user's own words, without the request around it ("please remember
    that").
    """
    quote: str
    """The sentence exactly as it stands in the message."""
    message: str
    """Id of the message."""


def said(message: Message) -> tuple[Said, ...]:
    """Find the statements in a message, in order; none in a message that no user typed."""
    if message.origin is not Origin.USER or message.role not in {"user", "developer"}:
        return ()
    found: dict[tuple[str, str], Said] = {}
    for block in message.blocks:
        if not isinstance(block, Text) or (block.origin or message.origin) is not Origin.USER:
            continue
        for act, text, quote in _of_text(typed_text(block.text)):
            if quote in block.text and len(found) < MOST:
                found.setdefault((act, text.casefold()), Said(act, kind_of(text), text, quote, message.id))
    return tuple(found.values())


def _of_text(typed: str) -> Iterator[tuple[Act, str, str]]:
    """Yield act, text and quote of each statement in a typed text."""
    text = typed.strip()
    whole = _whole(text)
    if whole is not None:
        yield from whole
        return
    if text.startswith(("/", "!")):
        return
    for sentence in sentences(text):
        taken = _of_sentence(sentence)
        if taken is not None:
            yield taken


def _whole(text: str) -> list[tuple[Act, str, str]] | None:
    """Read a message that is one command or one memory line; None for any other message."""
    match = _COMMAND.match(text) if len(text) <= LONG_MESSAGE else None
    act: Act = "forget" if match and match["name"] == "forget" else "remember"
    match = match or _MEMORY_LINE.match(text)
    if match is None:
        return None
    words = match["text"].strip()
    fit = len(words) <= LONGEST_SENTENCE and len(words) > 2 and not asks(mask(words)) and not (act == "remember" and is_unfit(words))
    return [(act, words, words)] if fit else []


def _of_sentence(sentence: Sentence) -> tuple[Act, str, str] | None:
    """Return what one sentence states for later."""
    start = after_lead_in(sentence.masked)
    masked = sentence.masked[start:]
    if len(masked) < 4 or quotes_another(sentence.masked):
        return None
    if _THAT.fullmatch(masked):
        return _the_one_before(sentence)
    taken = _matched(_FORGETS, sentence, start) or _matched(_REMEMBERS, sentence, start)
    if taken is None and sentence.listed:
        return _of_item(sentence)
    return taken or _corrected(sentence, start) or _matched(_CORRECTIONS, sentence, start) or _matched(_RULES, sentence, start)


def _the_one_before(sentence: Sentence) -> tuple[Act, str, str] | None:
    """Resolve a lone `remember that` to the sentence before it."""
    before = mask(sentence.before)
    start = after_lead_in(before)
    words = before[start:]
    if len(words) < 8 or asks(words) or quotes_another(words) or is_unfit(words) or is_of_one_task(words, wide=False):
        return None
    return "remember", _trimmed(sentence.before[start:]), sentence.before


def _matched(sayings: tuple[Saying, ...], sentence: Sentence, start: int) -> tuple[Act, str, str] | None:
    """Return the first pattern that matches at `start` and is not filtered out."""
    masked = sentence.masked[start:]
    for each in sayings:
        match = each.match(masked)
        if match is None or not each.follows(sentence.before or sentence.masked):
            continue
        group = "text" if match["text"] is not None else "other"
        begin, end = match.span(group)
        kept = masked[begin:end]
        if each.rules_out(kept) or _is_vetoed(each, masked, kept) or (each.standing and _is_amid_a_task(sentence)):
            continue
        text = _trimmed(sentence.text[start + begin : start + end])
        return (each.act, text, sentence.text) if len(text) > 1 else None
    return None


def _is_vetoed(each: Saying, masked: str, kept: str) -> bool:
    if asks(masked):
        return True
    if each.act == "forget":
        return False
    return is_unfit(kept) or (asks(kept) and not asks_politely(masked)) or is_of_one_task(kept, wide=each.standing)


def _is_amid_a_task(sentence: Sentence) -> bool:
    """Whether the preceding sentence on the line gives a task, to which an "always" may belong."""
    before = mask(sentence.before)
    return _TASK.match(before, after_lead_in(before)) is not None


def _corrected(sentence: Sentence, start: int) -> tuple[Act, str, str] | None:
    """Read a refusal and its correction, in one or two sentences, where it reaches beyond this
    task.
    """
    refusal = _REFUSAL.match(sentence.masked, start)
    if refusal is None and not _REFUSAL.fullmatch(mask(sentence.before)):
        return None
    begin = refusal.end() if refusal else start
    rest = sentence.masked[begin:]
    around = rest + " " + mask(sentence.after)
    if len(rest) < 8 or asks(rest) or is_unfit(around) or is_of_one_task(rest, wide=False):
        return None
    if not _DURABLE.search(around):
        return None
    return "correction", _trimmed(sentence.text[begin:]), sentence.text


def _of_item(sentence: Sentence) -> tuple[Act, str, str] | None:
    """Read a list item where the line before the list announces rules for later."""
    announced = _FROM_NOW.search(mask(sentence.lead))
    if announced is None or not _ORDERS.match(sentence.masked) or asks(sentence.masked) or is_unfit(sentence.masked):
        return None
    act: Act = "remember" if re.match(r"remember|keep|记住", announced[0], re.IGNORECASE) else "rule"
    return None if is_of_one_task(sentence.masked, wide=False) else (act, _trimmed(sentence.text), sentence.text)


def _trimmed(text: str) -> str:
    """Strip joining punctuation and the question mark of a request put as a question."""
    return text.strip().lstrip("，,：:、;；").rstrip("?？").strip()
