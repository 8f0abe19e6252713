"""A small linear model of how likely a sentence is meant to last: a sum of weights over features.

Pure. It only decides what waits for the person's yes, never what is kept. Features are cues, form,
and plain words; `benchmarks/statement_weights.py` fits the weights and writes
`unconfirmed_weights.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from memorist.auto_memory.statements.pattern_alternatives import OpeningPattern
from memorist.auto_memory.statements.sentence_weights import load_sentence_weights
from memorist.auto_memory.statements.statement_filters import is_question
from memorist.auto_memory.statements.statement_patterns import (
    READ_SENTENCES,
    VERB,
    find_lead_in_end,
)
from memorist.auto_memory.statements.user_prose import MASK_CHARACTER, ProseSentence
from memorist.core.lazy import lazy_pattern

CUES: dict[str, re.Pattern[str]] = {
    name: lazy_pattern(pattern, re.IGNORECASE)
    for name, pattern in {
        "never_always": r"\b(?:never|always|ever|every time|whenever|wherever)\b",
        "negated_order": r"^(?:please |just |but |so |and |also )*(?:do not|don['’]?t|no |never|avoid|stop)\b",
        "negation": r"\b(?:not|no|none|without|omit\w*|don['’]?t|doesn['’]?t|cannot|can['’]?t|won['’]?t)\b",
        "order": rf"^(?:please |just |also |then |and |ok,? )*{VERB}\b",
        "rule_verb": r"\b(?:use|using|prefer|avoid|follow|keep|stick|conform|align|assum\w+|ensure|ground|respect)\b",
        "should": r"\b(?:should|must|shall|supposed to|have to|has to|need(?:s)? to be)\b",
        "we": r"\b(?:we|our|us)\b",
        "we_state": r"\bwe (?:have|do|did|use|want|don['’]?t|never|always|only|intend|keep|support)\b",
        "i_state": r"\bi (?:don['’]?t|do not|never|always|prefer|value|intend|expect|like|want|hate|only)\b",
        "you": r"\byou(?:['’]?re|r)?\b",
        "reason": r"\b(?:since|because|so that|that['’]?s why|as it|otherwise|given|so (?:i|we|you)|it messes|due to)\b",
        "contrast": r"\b(?:instead of|rather than|rather|not the|instead)\b",
        "question": r"\?\s*$",
        "can_you": r"^(?:ok,? |so,? |and |also )*(?:can|could|would|will|should|shall|is|are|do|does|did|what|why|how|where|which|when)\b",
        "deixis": r"\b(?:this|that|these|those|it|here|there|above|below)\b",
        "moment": r"\b(?:now|today|yet|currently|just|again|still|first|next|already|the (?:last|first|second|other|same))\b",
        "many": r"\b(?:all|any|each|every|everything|anywhere|everywhere|general\w*)\b",
        "plural_process": r"\b(?:commits|pull requests|prs|titles|messages|tests|conventions?|principles?|practices?|documentation|types|assumptions|permissions|terminology|specs?|simplicity)\b",
        "only": r"\b(?:only|solely|exclusively|intentional\w*|by design|on purpose|by default)\b",
        "future": r"\b(?:in future|in the future|from now|next time|going forward|any ?more|no longer|when coming to)\b",
        "lets": r"^(?:ok,? |and |so |wait,? )*let['’]?s\b",
        "discuss": r"\b(?:discuss|ask me|check with me|clarify|confirm with me|wait for)\b",
        "identifier": r"[\w./-]+/[\w./-]+|\w+_\w+|\w+\(\)|#\d+|\b[0-9a-f]{7,40}\b|https?://",
        "number": r"\b\d+\b",
        "past": r"\b(?:got|saw|tried|noticed|added|merged|pushed|fixed|ran|wrote|asked|answered|failed|was|were)\b",
        "passing": r"\b(?:error|errors|failing|failed|broken|bug|conflicts?|looks?|seems?|maybe|i think|thinking|wonder\w*|ok|okay|yes|yeah)\b",
        "colon": r":\s*$",
        "screen": r"\b(?:buttons?|pages?|headers?|panels?|icons?|titles?|screens?|views?|menus?|sidebar|layouts?|css|colou?rs?|borders?|avatars?|modal|dialog|tooltip|fonts?|width|columns?|rows?|labels?|badges?|spinner|indicator|design|display(?:ed)?|render\w*|show(?:s|n|ing)?)\b",
        "short": r"^\S+(?:\s+\S+){0,3}\s*$",
        "long": r"^(?:\S+\s+){30,}",
    }.items()
}
"""By name, what is looked for in a sentence with its quotations masked."""

_WORD = lazy_pattern(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+")
_IMPERATIVE = OpeningPattern(rf"(?:please )?{VERB}\b")
_NEGATED = lazy_pattern(r"n['’]t\b|\b(?:not|no|never)\b", re.IGNORECASE)
KNOWN_SHARE = 1 / 3
"""Of a sentence's different words, at least this share has a weight; else it is in another language, or a
paste.
"""
UNREADABLE = -99.0
"""The score of a sentence that the model cannot read."""
_SENTENCE_STEPS = (2, 4, 7, 12, 20, 30)
"""Words from which a sentence is one step longer."""
_MESSAGE_STEPS = (30, 80, 160, 400, 1000)
"""Characters from which a message is one step longer."""


def list_sentence_features(sentence: ProseSentence, typed: str, reply_before: str) -> Iterator[str]:
    """Yield the names of a sentence's features: `cue:` and `form:` with a name, `word:` with a word
    in lower case. `typed` is the whole message, `reply_before` the agent's turn before it.
    """
    yield from list_cues_and_form(sentence, typed)
    setting = {
        "first message": not reply_before,
        "after a question": reply_before.rstrip().endswith("?"),
        "small letter": typed[:1].islower(),
    }
    yield from (f"form:{name}" for name, holds in setting.items() if holds)
    words = _split_words(sentence)
    yield from {f"word:{'0' if word.isdigit() else word}" for word in words}


@lru_cache(READ_SENTENCES)
def list_cues_and_form(sentence: ProseSentence, typed: str) -> tuple[str, ...]:
    """The features of a sentence that are neither its words nor of the conversation around it."""
    masked = sentence.masked
    body = masked[find_lead_in_end(masked) :]
    count = len(_split_words(sentence))
    form = {
        "question": is_question(body),
        "not first": bool(sentence.before),
        "not last": bool(sentence.after),
        "list": sentence.in_list,
        "imperative": _IMPERATIVE.match(body) is not None,
        "negated": _NEGATED.search(body) is not None,
        "path": "/" in body or "_" in body,
        "quotation": MASK_CHARACTER in body,
    }
    return (
        *(f"cue:{name}" for name, cue in CUES.items() if cue.search(masked) is not None),
        *(f"form:{step} words" for step in _SENTENCE_STEPS if count >= step),
        *(f"form:{step} characters" for step in _MESSAGE_STEPS if len(typed) >= step),
        *(f"form:{name}" for name, holds in form.items() if holds),
    )


@lru_cache(READ_SENTENCES)
def _split_words(sentence: ProseSentence) -> tuple[str, ...]:
    body = sentence.masked[find_lead_in_end(sentence.masked) :]
    return tuple(word.replace("’", "'") for word in _WORD.findall(body.lower()))


def score_unconfirmed_sentence(sentence: ProseSentence, typed: str, reply_before: str) -> float:
    """The sum of the weights of a sentence's features, above or below the threshold: from 0 on it
    waits.
    """
    found = tuple(list_sentence_features(sentence, typed, reply_before))
    words = [name for name in found if name.startswith("word:")]
    model = load_sentence_weights("unconfirmed")
    if KNOWN_SHARE * len(words) > sum(name in model.weights for name in words):
        return UNREADABLE
    # Rounded: the words come in an order that differs from start to start.
    return round(model.sum_features(found), 6)
