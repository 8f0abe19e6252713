"""A small linear model of how likely a sentence is meant to last: a sum of weights over cues.

Pure. It only decides what waits for the person's yes, never what is kept. The weights are fitted by
`benchmarks/statement_weights.py`, which prints this table; the cues are words and form, no topics.
"""

from __future__ import annotations

import re

from memorist.auto_memory.statements.patterns import VERB
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
        "short": r"^\S+(?:\s+\S+){0,3}\s*$",
        "long": r"^(?:\S+\s+){30,}",
    }.items()
}
"""By name, what is looked for in a sentence with its quotations masked."""

WEIGHTS: dict[str, float] = {
    "never_always": 0.78,
    "negated_order": 0.95,
    "negation": 1.02,
    "order": 0.05,
    "rule_verb": 1.29,
    "should": 0.44,
    "we": 0.05,
    "we_state": 0.64,
    "i_state": 0.16,
    "you": 0.94,
    "reason": 1.10,
    "contrast": 0.72,
    "question": -1.11,
    "can_you": -1.03,
    "deixis": 0.36,
    "moment": -0.33,
    "many": -0.27,
    "plural_process": 1.39,
    "only": 0.73,
    "future": 0.50,
    "lets": 0.57,
    "discuss": 1.44,
    "identifier": 0.56,
    "number": -0.29,
    "past": -0.68,
    "passing": -0.48,
    "colon": -0.54,
    "short": -0.54,
    "long": 0.60,
}
THRESHOLD = 1.67
"""Score from which a sentence waits, the constant of the fit taken off: one in twenty messages that
hold nothing lasting then waits.
"""


def score_sentence(masked: str) -> float:
    """The sum of the weights of the cues in a sentence; from `THRESHOLD` on it waits."""
    return sum(weight for name, weight in WEIGHTS.items() if CUES[name].search(masked) is not None)
