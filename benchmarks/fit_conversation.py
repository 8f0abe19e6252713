"""Fit the model of `statements.conversation_score`: a logistic regression over its features.

    python -m benchmarks.fit_conversation

The examples are in `labels/conversation.jsonl`, written for this: one JSON object a line, with
`language` (de, fr, es, pt, ru, zh, ja), `keep` (yes: a rule or a fact that lasts; no: a report, a
remark, a task, an answer) and `text`.

The n-th examples of all languages say much the same, so they are of one fold. Each fold is scored
by a model of the others; the threshold is what `FALSE_SHARE` of the examples labelled `no` exceed.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct

from benchmarks.fit_written_rules import minimise_loss
from benchmarks.statement_weights import wrap_entries
from memorist.auto_memory.statements.conversation_score import (
    limit_rule_score,
    list_conversation_features,
)
from memorist.auto_memory.statements.user_prose import split_prose_sentences
from memorist.auto_memory.statements.written_rule_score import score_written_rule

LABELS = Path(__file__).parent / "labels" / "conversation.jsonl"
FOLDS = 5
FALSE_SHARE = 0.05
"""Examples labelled `no` that may wait, as of English ones."""
LEAST_EXAMPLES = 2
"""Sentences that have a feature before it counts."""
STRONGEST = 1600
"""Features that are kept."""
LOSS_WEIGHT = 1.0
"""Of the summed loss beside half the squared weights."""
RULE_SCORE_SCALE = 3.0
"""How much larger the score as a written rule enters: it says more than one word, and is to be held
down less.
"""
TARGET = Path("src/memorist/auto_memory/statements/conversation_weights.py")


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


def read_examples(path: Path) -> list[Example]:
    """Read the examples; of one with several sentences each counts."""
    found: list[Example] = []
    number: Counter[tuple[str, str]] = Counter()
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        kind = row["language"], row["keep"]
        found += [
            Example(
                row["language"],
                row["keep"] == "yes",
                number[kind] % FOLDS,
                frozenset(list_conversation_features(sentence, row["text"])),
                limit_rule_score(score_written_rule(sentence, row["text"])),
            )
            for sentence in split_prose_sentences(row["text"])
        ]
        number[kind] += 1
    return found


def fit_model(examples: Sequence[Example]) -> Model:
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
    found = minimise_loss(x, y, LOSS_WEIGHT * share)
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


def render_module(model: Model, limit: float) -> str:
    """The source text of `conversation_weights.py`."""
    entries = [
        f"{name.replace(' ', '~')}={weight:.2f}"
        for name, weight in sorted(model.weights.items())
        if abs(weight) >= 0.005
    ]
    lines = [
        '"""The weights of `conversation_score`, by `benchmarks/fit_conversation.py`. Pure."""',
        "",
        "from __future__ import annotations",
        "",
        f"RULE_SCORE_WEIGHT = {model.rule_score_weight:.2f}",
        f"THRESHOLD = {limit - model.constant:.2f}",
        'WEIGHTS = r"""',
        *wrap_entries(entries),
        '"""',
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the figures and write the weights."""
    examples = read_examples(LABELS)
    scored: list[tuple[Example, float]] = []
    for fold in range(FOLDS):
        model = fit_model([one for one in examples if one.fold != fold])
        scored += [(one, model.score(one)) for one in examples if one.fold == fold]
    limit = float(np.quantile([s for one, s in scored if not one.lasts], 1 - FALSE_SHARE))
    before = [(one, one.rule_score) for one in examples]
    sys.stdout.write(f"as a written rule: {describe(before, 0.0)}\n")
    sys.stdout.write(f"left out in turn: {describe(scored, limit)}\n")
    TARGET.write_text(render_module(fit_model(examples), limit), "utf-8")


if __name__ == "__main__":
    main()
