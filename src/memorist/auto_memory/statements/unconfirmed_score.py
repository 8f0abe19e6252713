"""A small linear model of how likely a sentence is meant to last, learned on messages that people typed
to their agents, in any language. Pure.

It only decides what waits for the person's yes, never what is kept. Features are words, pairs and
parts of words, the first words once more, the script, cues, the sentence's form, and how many
sentences the message has: one of many says less. The messages themselves are other people's
and no part of the repository; `benchmarks/statement_weights.py` fits the weights and writes
`unconfirmed_weights.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from memorist.auto_memory.statements.pattern_alternatives import OpeningPattern
from memorist.auto_memory.statements.sentence_language import is_english
from memorist.auto_memory.statements.sentence_weights import load_sentence_weights
from memorist.auto_memory.statements.statement_filters import is_question_or_supposition
from memorist.auto_memory.statements.statement_parser import split_typed_sentences
from memorist.auto_memory.statements.statement_patterns import (
    SENTENCE_CACHE_SIZE,
    VERB,
    find_lead_in_end,
)
from memorist.auto_memory.statements.user_prose import MASK_CHARACTER, ProseSentence
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import count_cjk_letters

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

_WORD = lazy_pattern(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]|[^\W\d_\u3040-\u9fff\uac00-\ud7a3]+(?:['’][^\W\d_]+)?|\d+|[?!:@/]"
)
"""A word, a number, a mark that tells something, or one Chinese, Japanese or Korean character."""
_LATIN_WORD = lazy_pattern(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+")
_IMPERATIVE = OpeningPattern(rf"(?:please )?{VERB}\b")
_NEGATED = lazy_pattern(r"n['’]t\b|\b(?:not|no|never)\b", re.IGNORECASE)
_EARLY_WORDS = 3
"""Words at a sentence's beginning that count once more as such."""
_PART_CHARS = (2, 3, 4)
"""Letters of the parts of a word, which stand for its forms and for kin in other languages."""
_SCRIPTS = {
    "Chinese or Japanese": lazy_pattern("[\u3040-\u30ff\u3400-\u9fff]"),
    "Korean": lazy_pattern("[\uac00-\ud7a3]"),
    "Cyrillic": lazy_pattern("[\u0400-\u04ff]"),
    "another": lazy_pattern("[\u0370-\u03ff\u0530-\u1fff]"),
    "accented": lazy_pattern("[\u00c0-\u024f]"),
}
_SENTENCE_STEPS = (2, 4, 7, 12, 20, 30)
"""Words from which a sentence is one step longer."""
_MESSAGE_STEPS = (30, 80, 160, 400, 1000)
"""Characters from which a message is one step longer."""
_MESSAGE_SENTENCE_STEPS = (2, 3, 5, 9)
"""Sentences from which a message is one step longer."""


def list_lasting_feature_names(sentence: ProseSentence, typed: str) -> frozenset[str]:
    """The names of the features of a sentence of a typed text: `script:`, `word:`, `early:`, `pair:`
    and `part:` in lower case, `cue:`, `form:`, and `message:`.
    """
    masked = sentence.masked[find_lead_in_end(sentence.masked) :]
    found = (word.replace("’", "'") for word in _WORD.findall(masked.lower()))
    words = ["0" if word.isdigit() else word for word in found]
    script = next((name for name, has in _SCRIPTS.items() if has.search(masked)), "plain")
    count = len(split_typed_sentences(typed))
    return frozenset(
        (
            f"script:{script}",
            *(f"word:{word}" for word in words),
            *(f"early:{word}" for word in words[:_EARLY_WORDS]),
            *(f"pair:{one}_{two}" for one, two in zip(["^", *words], [*words, "$"], strict=True)),
            *(f"part:{part}" for word in words if len(word) > 1 for part in _split_parts(word)),
            *_list_form_features(sentence, typed, words),
            *(f"message:{step} sentences" for step in _MESSAGE_SENTENCE_STEPS if count >= step),
        )
    )


def _list_form_features(sentence: ProseSentence, typed: str, words: list[str]) -> Iterator[str]:
    """The features of a sentence's form, without its length where the model knows too few words of
    its language to weigh against it.
    """
    is_known = is_english(words) or count_cjk_letters(sentence.masked) > 0
    for name in list_cue_and_form_feature_names(sentence, typed):
        if is_known or name not in _LENGTH_FEATURES:
            yield name


_LENGTH_FEATURES = frozenset({"cue:long", "form:12 words", "form:20 words", "form:30 words"})


def _split_parts(word: str) -> Iterator[str]:
    framed = f"<{word}>"
    for size in _PART_CHARS:
        yield from (framed[at : at + size] for at in range(len(framed) - size + 1))


@lru_cache(SENTENCE_CACHE_SIZE)
def list_cue_and_form_feature_names(sentence: ProseSentence, typed: str) -> tuple[str, ...]:
    """The features of a sentence that are neither its words nor of the conversation around it."""
    masked = sentence.masked
    body = masked[find_lead_in_end(masked) :]
    count = len(_split_words(sentence))
    form = {
        "question": is_question_or_supposition(body),
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


@lru_cache(SENTENCE_CACHE_SIZE)
def _split_words(sentence: ProseSentence) -> tuple[str, ...]:
    body = sentence.masked[find_lead_in_end(sentence.masked) :]
    return tuple(word.replace("’", "'") for word in _LATIN_WORD.findall(body.lower()))


def score_unconfirmed_sentence(features: Iterable[str]) -> float:
    """The sum of the weights of a sentence's features, above or below the threshold: from 0 on it
    waits.
    """
    # Rounded: features come in an order that differs from start to start.
    return round(load_sentence_weights("unconfirmed").sum_feature_weights(features), 6)
