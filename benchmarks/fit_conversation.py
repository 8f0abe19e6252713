"""Fit the model of `statements.prose_rule_score`: two logistic regressions over its features, one
for English and one for the seven other languages.

    python -m benchmarks.fit_conversation

The examples are in `labels/conversation.jsonl`, written for this: one JSON object a line, with
`language` (en, de, fr, es, pt, ru, zh, ja), `keep` (yes: a rule or a fact that lasts; no: a report,
a remark, a task, an answer) and `text`. English ones labelled `no` are joined by the traps of
`labels/made_up.jsonl`.

The n-th examples of all languages say much the same, so they are of one fold. Each fold is scored
by a model of the others; the threshold is what a share of the examples labelled `no` exceed.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct

from benchmarks.statement_weights import Vector, write_sentence_weights
from memorist.auto_memory.statements.non_english_rule_score import score_non_english_rule
from memorist.auto_memory.statements.prose_rule_score import (
    clamp_rule_score,
    extract_prose_rule_features,
)
from memorist.auto_memory.statements.sentence_weights import SentenceWeights
from memorist.auto_memory.statements.user_prose import split_prose_sentences

LABELS = Path(__file__).parent / "labels"
FOLDS = 5
LEAST_EXAMPLES = 2
"""Sentences that have a feature before it counts."""
STRONGEST = 1600
"""Features that are kept."""
RULE_SCORE_SCALE = 3.0
"""How much larger the score as a written rule enters: it says more than one word, and is to be held
down less.
"""
NEWTON_STEPS = 8
GRADIENT_STEPS = 40


class FitSettings(Struct, frozen=True):
    """What differs between the models."""

    false_share: float
    """Examples labelled `no` that may wait."""
    loss_weight: float
    """Of the summed loss beside half the squared weights."""


ENGLISH = FitSettings(false_share=0.01, loss_weight=0.3)
"""English orders of the moment are worded like rules, so fewer may wait."""
OTHER = FitSettings(false_share=0.045, loss_weight=1.0)


class Example(Struct, frozen=True):
    """One sentence: its features, and its score as a written rule."""

    language: str
    lasts: bool
    fold: int
    features: frozenset[str]
    rule_score: float


class Model(Struct, frozen=True):
    """Weights by feature, of the score as a written rule, and the constant."""

    weights: dict[str, float]
    rule_score_weight: float
    constant: float

    def score(self, example: Example) -> float:
        """The score of an example."""
        return (
            self.constant
            + self.rule_score_weight * example.rule_score
            + sum(self.weights.get(name, 0.0) for name in example.features)
        )


def read_examples() -> list[Example]:
    """Read the examples; of one with several sentences each counts."""
    found: list[Example] = []
    number: Counter[tuple[str, bool]] = Counter()
    for language, lasts, text in _read_rows():
        found += [
            Example(
                language,
                lasts,
                number[language, lasts] % FOLDS,
                frozenset(extract_prose_rule_features(sentence, text)),
                0.0
                if language == "en"
                else clamp_rule_score(score_non_english_rule(sentence, text)),
            )
            for sentence in split_prose_sentences(text)
        ]
        number[language, lasts] += 1
    return found


def _read_rows() -> Iterator[tuple[str, bool, str]]:
    """The language, whether it lasts, and the text of each example."""
    for line in (LABELS / "conversation.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        yield row["language"], row["keep"] == "yes", row["text"]
    for line in (LABELS / "made_up.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if not row.get("act") and not any(each.isalpha() for each in row["text"] if each > "\x7f"):
            yield "en", False, row["text"]


def fit_model(examples: Sequence[Example], loss_weight: float) -> Model:
    """Fit weights. Both classes count the same in sum."""
    counts = Counter(name for one in examples for name in one.features)
    names = sorted(name for name, count in counts.items() if count >= LEAST_EXAMPLES)
    column = {name: number for number, name in enumerate(names)}
    x = np.zeros((len(examples), len(names) + 2))
    x[:, -1] = 1.0
    for number, one in enumerate(examples):
        x[number, [column[name] for name in one.features & column.keys()]] = 1.0
        x[number, -2] = RULE_SCORE_SCALE * one.rule_score
    y = np.array([one.lasts for one in examples], float)
    share = len(y) * np.where(y == 1, 0.5 / y.sum(), 0.5 / (len(y) - y.sum()))
    found = minimise_loss(x, y, loss_weight * share)
    kept = sorted(column, key=lambda name: -abs(found[column[name]]))[:STRONGEST]
    return Model(
        {name: float(found[column[name]]) for name in kept},
        float(found[-2]) * RULE_SCORE_SCALE,
        float(found[-1]),
    )


def describe(scored: Sequence[tuple[Example, float]], limit: float) -> str:
    """Shares that wait, by language: of what lasts and of what does not."""
    total: Counter[tuple[str, str]] = Counter()
    waits: Counter[tuple[str, str]] = Counter()
    for one, score in scored:
        kind = "lasts" if one.lasts else "does not"
        total[one.language, kind] += 1
        waits[one.language, kind] += score > limit
    return "; ".join(
        f"{language} {kind} {waits[language, kind] / count:.2f} of {count}"
        for (language, kind), count in sorted(total.items())
    )


def fit_with_threshold(examples: Sequence[Example], settings: FitSettings) -> tuple[Model, float]:
    """The model of all examples, and the threshold; prints the figures of models of the others."""
    scored: list[tuple[Example, float]] = []
    for fold in range(FOLDS):
        others = [one for one in examples if one.fold != fold]
        model = fit_model(others, settings.loss_weight)
        scored += [(one, model.score(one)) for one in examples if one.fold == fold]
    no = [score for one, score in scored if not one.lasts]
    limit = float(np.quantile(no, 1 - settings.false_share))
    sys.stdout.write(f"left out in turn: {describe(scored, limit)}\n")
    return fit_model(examples, settings.loss_weight), limit


def minimise_loss(x: Vector, y: Vector, share: Vector) -> Vector:
    """The weights with the least loss plus half their squares, by Newton's method; each step is
    solved by conjugate gradients.
    """
    weights = np.zeros(x.shape[1])
    penalty = np.ones(x.shape[1])
    penalty[-1] = 1e-6
    for _ in range(NEWTON_STEPS):
        guess = 1 / (1 + np.exp(-x @ weights))
        slope = x.T @ (share * (guess - y)) + penalty * weights
        bend = share * guess * (1 - guess)
        step = np.zeros_like(weights)
        rest = slope.copy()
        direction = rest.copy()
        for _ in range(GRADIENT_STEPS):
            bent = x.T @ (bend * (x @ direction)) + penalty * direction
            length = (rest @ rest) / (direction @ bent)
            step += length * direction
            new = rest - length * bent
            if new @ new < 1e-10:
                break
            direction = new + (new @ new) / (rest @ rest) * direction
            rest = new
        weights -= step
    return weights


def main() -> None:
    """Print the figures and write the weights."""
    examples = read_examples()
    english = [one for one in examples if one.language == "en"]
    others = [one for one in examples if one.language != "en"]
    model, limit = fit_with_threshold(english, ENGLISH)
    write_sentence_weights(
        "english_conversation", SentenceWeights(limit - model.constant, model.weights)
    )
    model, limit = fit_with_threshold(others, OTHER)
    write_sentence_weights(
        "other_conversation",
        SentenceWeights(limit - model.constant, model.weights, round(model.rule_score_weight, 2)),
    )


if __name__ == "__main__":
    main()
