"""Fit the model of `statements.non_english_rule_score`: a logistic regression over its features.

    python -m benchmarks.fit_written_rules --labels L.jsonl... --rules R.jsonl... --tasks T.jsonl...

Rules are sentences of instruction files, tasks are what is done once (orders of a conversation,
lines of changelogs): one JSON object a line, with `author`, `language` (en, de, …) and `text`, and
for tasks a `weight`. Labels are as for `benchmarks.statement_weights`; the messages labelled `no`
are tasks. English ones count for less: other languages mix them in. The sentences are other
people's, so they are not part of the repository.

Owners are divided into four parts; each is scored by a model of the other three. A sentence waits
from the score that `FALSE_SHARE` of the tasks exceed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from benchmarks.statement_weights import UNFIT, Vector, repository_of, write_sentence_weights
from memorist.auto_memory.statements.non_english_rule_score import list_rule_feature_names
from memorist.auto_memory.statements.sentence_weights import SentenceWeights
from memorist.auto_memory.statements.statement_filters import (
    is_forbidden_in_memory,
    is_question_or_supposition,
    is_reported_speech,
)
from memorist.auto_memory.statements.user_prose import split_prose_sentences

PARTS = 4
FALSE_SHARE = 0.05
LEAST_OWNERS = 2
"""Owners that use a word before it becomes a feature."""
STRONGEST = 1000
"""Features that are kept of each model."""
WORD_SCALE = 0.5
"""A word's value as a feature, beside 1 of a cue."""
ENGLISH_SHARE = 0.3
"""Weight of English sentences."""
LOSS_WEIGHT = 1.0
NEWTON_STEPS = 8
GRADIENT_STEPS = 40


class Example(Struct, frozen=True):
    """A text of a rule or of a task: the features of its sentences, and which of them may wait."""

    owner: str
    language: str
    is_rule: bool
    weight: float
    sentences: tuple[tuple[frozenset[str], bool], ...]

    @property
    def part(self) -> int:
        """The part that its owner belongs to."""
        return hashlib.sha256(self.owner.encode()).digest()[0] % PARTS


class Model(Struct, frozen=True):
    """Weights by feature, and the constant."""

    weights: dict[str, float]
    constant: float

    def score(self, example: Example) -> float:
        """The score of an example's best sentence."""
        return max(
            (
                self.constant + sum(self.weights.get(name, 0.0) for name in features)
                for features, fit in example.sentences
                if fit
            ),
            default=UNFIT,
        )


def read_examples(labels: list[Path], rules: list[Path], tasks: list[Path]) -> list[Example]:
    """Read all examples."""
    return [
        *(
            _example(repository_of(row["file"]).split("-")[0], "en", row)
            for row in _read_rows(labels)
            if row["keep"] == "no"
        ),
        *(_example(row["author"], row["language"], row, is_rule=True) for row in _read_rows(rules)),
        *(_example(row["author"], row["language"], row) for row in _read_rows(tasks)),
    ]


def _read_rows(paths: Iterable[Path]) -> list[dict[str, Any]]:
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]


def _example(owner: str, language: str, row: dict[str, Any], *, is_rule: bool = False) -> Example:
    typed = row["text"].strip()
    return Example(
        owner,
        language,
        is_rule,
        row.get("weight", 1.0),
        tuple(
            (
                frozenset(list_rule_feature_names(each, typed)),
                not (
                    is_question_or_supposition(each.masked)
                    or is_reported_speech(each.masked)
                    or is_forbidden_in_memory(each.masked)
                ),
            )
            for each in split_prose_sentences(typed)
        ),
    )


def fit_model(examples: Sequence[Example]) -> Model:
    """Fit weights. In each language rules and tasks count the same in sum."""
    owners = defaultdict(set)
    for one in examples:
        for features, _ in one.sentences:
            for name in features:
                owners[name].add(one.owner)
    names = sorted(name for name, found in owners.items() if len(found) >= LEAST_OWNERS)
    column = {name: number for number, name in enumerate(names)}
    rows = [(one, features) for one in examples for features, _ in one.sentences]
    x = np.zeros((len(rows), len(names) + 1))
    x[:, -1] = 1.0
    for number, (_, features) in enumerate(rows):
        for name in features & column.keys():
            x[number, column[name]] = _scale(name)
    y = np.array([one.is_rule for one, _ in rows], float)
    sums: defaultdict[tuple[str, bool], float] = defaultdict(float)
    for one, _ in rows:
        sums[one.language, one.is_rule] += one.weight
    share = np.array(
        [
            one.weight
            * (ENGLISH_SHARE if one.language == "en" else 1.0)
            / sums[one.language, one.is_rule]
            for one, _ in rows
        ]
    )
    share *= len(rows) / share.sum()
    found = minimise_loss(x, y, LOSS_WEIGHT * share)
    by_size = sorted(column, key=lambda name: -abs(found[column[name]] * _scale(name)))
    kept = by_size[:STRONGEST]
    return Model(
        {name: float(found[column[name]]) * _scale(name) for name in kept}, float(found[-1])
    )


def _scale(name: str) -> float:
    return 1.0 if name.startswith(("cue:", "form:")) else WORD_SCALE


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


def score_left_out(examples: Sequence[Example]) -> list[tuple[Example, float]]:
    """Each example with the score of a model that never saw its owner."""
    found = []
    for part in range(PARTS):
        model = fit_model([one for one in examples if one.part != part])
        found += [(one, model.score(one)) for one in examples if one.part == part]
    return found


def describe(scored: Sequence[tuple[Example, float]], limit: float) -> str:
    """Shares that wait, by language: of rules and of tasks."""
    total: Counter[tuple[str, str]] = Counter()
    waits: Counter[tuple[str, str]] = Counter()
    for one, score in scored:
        kind = "rules" if one.is_rule else "tasks"
        total[one.language, kind] += 1
        waits[one.language, kind] += score > limit
    return "; ".join(
        f"{language} {kind} {waits[language, kind] / count:.2f} of {count}"
        for (language, kind), count in sorted(total.items())
    )


def main() -> None:
    """Print the figures and write the weights."""
    parser = argparse.ArgumentParser()
    for name in ("labels", "rules", "tasks"):
        parser.add_argument(f"--{name}", nargs="+", type=Path, required=True)
    options = parser.parse_args()
    examples = read_examples(options.labels, options.rules, options.tasks)
    scored = [(one, s) for one, s in score_left_out(examples) if one.language != "en"]
    limit = float(np.quantile([s for one, s in scored if not one.is_rule], 1 - FALSE_SHARE))
    sys.stdout.write(describe(scored, limit) + "\n")
    model = fit_model(examples)
    write_sentence_weights("written_rule", SentenceWeights(limit - model.constant, model.weights))


if __name__ == "__main__":
    main()
