"""A small linear model of how likely a sentence of a conversation is meant to last, in German, French,
Spanish, Portuguese, Russian, Chinese and Japanese. Pure.

`written_rule_score` was fitted on what is written in files: in a conversation it takes reports,
remarks and tasks for rules. This model corrects it: its score is one feature beside words, pairs of
words, and how words begin and end. It only decides what waits for the person's yes, never what is
kept. `benchmarks/fit_conversation.py` fits it and writes `conversation_weights.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from memorist.auto_memory.statements.conversation_weights import (
    RULE_SCORE_WEIGHT,
    THRESHOLD,
    WEIGHTS,
)
from memorist.auto_memory.statements.user_prose import ProseSentence
from memorist.auto_memory.statements.written_rule_score import (
    list_rule_features,
    read_weights,
    split_words,
)

LARGEST_RULE_SCORE = 3.0
"""A larger score as a written rule, or a smaller one than its negative, says no more than this."""
_HEAD_CHARS = (3, 4)
_TAIL_CHARS = (2, 3)


def list_conversation_features(sentence: ProseSentence, typed: str) -> Iterator[str]:
    """Yield the names of a sentence's features: those of `list_rule_features`, and the first and last
    letters of each word (`head:`, `tail:`), which stand for its forms. `typed` is the whole message.
    """
    yield from list_rule_features(sentence, typed)
    words = {word for word in split_words(sentence) if len(word) > 1}
    yield from {f"head:{word[:size]}" for word in words for size in _HEAD_CHARS}
    yield from {f"tail:{word[-size:]}" for word in words for size in _TAIL_CHARS}


def limit_rule_score(score: float) -> float:
    """The score as a written rule, within what it can say."""
    return max(-LARGEST_RULE_SCORE, min(LARGEST_RULE_SCORE, score))


def score_conversation(sentence: ProseSentence, typed: str, rule_score: float) -> float:
    """The sum of the weights of a sentence's features and of its score as a written rule, above or
    below the threshold: from 0 on it waits.
    """
    weights = read_weights(WEIGHTS)
    total = sum(weights.get(name, 0.0) for name in list_conversation_features(sentence, typed))
    total += RULE_SCORE_WEIGHT * limit_rule_score(rule_score)
    # Rounded: the words come in an order that differs from start to start.
    return round(total - THRESHOLD, 6)
