"""A small linear model of how likely a sentence of prose in an instruction file is a rule or a fact that
lasts, rather than a report, a remark or a task of the moment. Pure.

English has weights of its own. In German, French, Spanish, Portuguese, Russian, Chinese and Japanese
the score as a written rule, which was fitted on files and takes reports, remarks and tasks for rules,
is one feature beside words, pairs of words, and how words begin and end. It was fitted on sentences
as people say them in a conversation: `benchmarks/fit_conversation.py` fits it and writes
`english_conversation_weights.json` and `other_conversation_weights.json`.
"""

from __future__ import annotations

from collections.abc import Iterator

from memorist.auto_memory.statements.non_english_rule_score import (
    list_rule_feature_names,
    score_non_english_rule,
    split_normalized_words,
)
from memorist.auto_memory.statements.sentence_language import is_english
from memorist.auto_memory.statements.sentence_weights import load_sentence_weights
from memorist.auto_memory.statements.user_prose import ProseSentence

LARGEST_RULE_SCORE = 3.0
"""A larger score as a written rule, or a smaller one than its negative, says no more than this."""
_HEAD_CHARS = (3, 4)
_TAIL_CHARS = (2, 3)


def extract_prose_rule_features(sentence: ProseSentence, typed: str) -> Iterator[str]:
    """Yield the names of a sentence's features: those of `list_rule_feature_names`, and the first and last
    letters of each word (`head:`, `tail:`), which stand for its forms. `typed` is the whole message.
    """
    yield from list_rule_feature_names(sentence, typed)
    words = {word for word in split_normalized_words(sentence) if len(word) > 1}
    yield from {f"head:{word[:size]}" for word in words for size in _HEAD_CHARS}
    yield from {f"tail:{word[-size:]}" for word in words for size in _TAIL_CHARS}


def clamp_rule_score(score: float) -> float:
    """The score as a written rule, within what it can say."""
    return max(-LARGEST_RULE_SCORE, min(LARGEST_RULE_SCORE, score))


def score_prose_rule(sentence: ProseSentence, typed: str) -> float:
    """The sum of the weights of a sentence's features, and in other languages than English of its
    score as a written rule, above or below the threshold: from 0 on it is a rule.
    """
    english = is_english(split_normalized_words(sentence))
    model = load_sentence_weights("english_conversation" if english else "other_conversation")
    total = model.sum_feature_weights(extract_prose_rule_features(sentence, typed))
    if not english:
        total += model.rule_score_weight * clamp_rule_score(score_non_english_rule(sentence, typed))
    # Rounded: the words come in an order that differs from start to start.
    return round(total, 6)
