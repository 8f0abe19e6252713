"""A small linear model of how much a sentence reads like a rule that people write down for an agent, in
German, French, Spanish, Portuguese, Russian, Chinese and Japanese, rather than a task. Pure.

It only decides what waits for the person's yes, never what is kept. `prose_rule_score` corrects it
in a conversation, and reads English by itself. `benchmarks/fit_written_rules.py` fits it on sentences
of other people's instruction files, which are not part of the repository, and writes
`written_rule_weights.json`.
"""

from __future__ import annotations

from collections.abc import Iterator

from memorist.auto_memory.statements.sentence_weights import load_sentence_weights
from memorist.auto_memory.statements.statement_patterns import find_lead_in_end
from memorist.auto_memory.statements.unconfirmed_score import list_cue_and_form_feature_names
from memorist.auto_memory.statements.user_prose import ProseSentence
from memorist.core.lazy import lazy_pattern

_WORD = lazy_pattern(
    r"[A-Za-z0-9@_~-]*(?:[./\\_@:][A-Za-z0-9@_~#?=&%-]+)+/?|(?P<word>[\u3040-\u30ff\u3400-\u9fff]|[^\W\d_\u3040-\u9fff]+(?:['’][^\W\d_]+)?|\d+)"
)
"""A word, a number, or one Chinese or Japanese character, whose words have no spaces; addresses, paths
and names in code are none.
"""
_ENDING_CHARS = 2
_LONG_MESSAGES = {"form:160 characters", "form:400 characters", "form:1000 characters"}


def split_normalized_words(sentence: ProseSentence) -> list[str]:
    """The words of a sentence after its lead-in, in lower case; numbers count as 0, and Chinese and
    Japanese characters one by one.
    """
    body = sentence.masked[find_lead_in_end(sentence.masked) :].lower().replace("’", "'")
    words = (found["word"] for found in _WORD.finditer(body))
    return ["0" if word.isdigit() else word for word in words if word]


def list_rule_feature_names(sentence: ProseSentence, typed: str) -> Iterator[str]:
    """Yield the names of a sentence's features: cues and form as for what waits by its score, its
    words and pairs of them, and how its first and last word end. `typed` is the whole message.
    """
    words = split_normalized_words(sentence)
    for name in list_cue_and_form_feature_names(sentence, typed):
        if not name.endswith("characters") or name in _LONG_MESSAGES:
            yield name
    yield from {f"word:{word}" for word in words}
    yield from {f"pair:{one}_{two}" for one, two in zip(["^", *words], [*words, "$"], strict=True)}
    if words:
        yield f"start:{words[0][-_ENDING_CHARS:]}"
        yield f"end:{''.join(words[-3:]) if len(words[-1]) == 1 else words[-1][-_ENDING_CHARS:]}"


def score_non_english_rule(sentence: ProseSentence, typed: str) -> float:
    """The sum of the weights of a sentence's features, above or below the threshold: from 0 on it
    reads like a rule. The sentence is not English.
    """
    model = load_sentence_weights("written_rule")
    return round(model.sum_feature_weights(list_rule_feature_names(sentence, typed)), 6)
