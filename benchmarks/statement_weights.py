"""Fit the model of `statements.unconfirmed_score`: a logistic regression over its features.

    python -m benchmarks.statement_weights LABELS.jsonl...

Each line of a labels file has `file`, `text`, `before`, `keep` (yes, maybe, no) and `span`, the
words of the text that are to be kept. Sentences of a span are examples of what waits, all sentences
of messages labelled `no` of what does not. `maybe` counts for less, and in figures for neither. The
made-up messages of `labels/made_up.jsonl` count for little: they widen the vocabulary.

Repositories are divided by a fixed seed. First the open half is fitted with each of its
repositories left out in turn, which sets the threshold; the shut half is met once. Then both halves
are fitted together, in the same way, and `unconfirmed_weights.json` is written.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct, structs

from memorist.auto_memory.statements.sentence_weights import SentenceModel, SentenceWeights
from memorist.auto_memory.statements.statement_filters import (
    is_forbidden_in_memory,
    is_reported_speech,
)
from memorist.auto_memory.statements.unconfirmed_score import list_sentence_features
from memorist.auto_memory.statements.user_prose import split_prose_sentences

Vector = npt.NDArray[np.float64]

SEED = "14"
"""Divides the repositories: one whose name hashes to an even byte with it is open."""
FALSE_SHARE = 0.05
"""Messages labelled `no` that may wait: the threshold is set to this share."""
MAYBE_WEIGHT = 0.6
MADE_UP_WEIGHT = 0.05
"""How much such a sentence counts beside one of a message labelled `yes` or `no`."""
LEAST_OWNERS = 3
"""Owners of repositories that use a word before it becomes a feature: no names, no topics."""
WORD_SCALE = 0.5
"""A word's value as a feature, beside 1 of a cue: words are many and must say more to count."""
LOSS_WEIGHT = 0.1
"""Of the summed loss beside half the squared weights (the usual C of such fits)."""
NEWTON_STEPS = 25
UNFIT = -99.0
"""The score of a sentence that never waits."""
MADE_UP = "made up"
TARGET = Path("src/memorist/auto_memory/statements")
SMALLEST = 0.005


class LabelledSentence(Struct, frozen=True):
    """One sentence: its features, and whether its words are among those to keep."""

    features: frozenset[str]
    stated: bool
    fit: bool


class LabelledMessage(Struct, frozen=True):
    """One labelled message that a person typed."""

    repository: str
    keep: str
    sentences: tuple[LabelledSentence, ...]


class FittedModel(Struct, frozen=True):
    """Weights by feature, and the constant."""

    weights: dict[str, float]
    constant: float

    def score(self, message: LabelledMessage) -> float:
        """The score of a message's best sentence."""
        return max(
            (
                self.constant + sum(self.weights.get(name, 0.0) for name in each.features)
                for each in message.sentences
                if each.fit
            ),
            default=UNFIT,
        )


def repository_of(file: str) -> str:
    """The repository that a session's file name begins with."""
    return re.sub(r"__.*", "", file.rsplit("/", maxsplit=1)[-1])


def is_open(repository: str) -> bool:
    """Whether a repository belongs to the half that is looked at."""
    return hashlib.sha256(f"{SEED}:{repository}".encode()).digest()[0] % 2 == 0


def read_labels(paths: Iterable[Path]) -> list[LabelledMessage]:
    """The labelled messages that a person typed; pastes are left out."""
    rows = [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]
    return [
        _label(repository_of(one["file"]), one, one["before"])
        for one in rows
        if one["class"] != "paste"
    ]


def read_made_up() -> list[LabelledMessage]:
    """The made-up messages: those with a rule or a fact as `yes`, the traps as `no`."""
    path = Path(__file__).parent / "labels" / "made_up.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        _label(
            MADE_UP,
            {"text": one["text"], "keep": "yes" if one.get("act") else "no", "span": one["text"]},
            "…",
        )
        for one in rows
        if one.get("act") != "forget"
    ]


def _label(repository: str, one: dict[str, Any], before: str) -> LabelledMessage:
    typed, span = one["text"].strip(), one["span"] or ""
    return LabelledMessage(
        repository,
        one["keep"],
        tuple(
            LabelledSentence(
                frozenset(list_sentence_features(each, typed, before)),
                bool(span) and (each.text[:40] in span or span[:40] in each.text),
                not (is_reported_speech(each.masked) or is_forbidden_in_memory(each.masked)),
            )
            for each in split_prose_sentences(typed)
        ),
    )


def fit_model(messages: Sequence[LabelledMessage]) -> FittedModel:
    """Fit weights by Newton's method. Both classes count the same in sum."""
    where = defaultdict(set)
    for one in messages:
        for each in one.sentences:
            for name in each.features:
                where[name].add(one.repository.split("-")[0])
    names = sorted(
        name
        for name, found in where.items()
        if not name.startswith("word:") or len(found) >= LEAST_OWNERS
    )
    column = {name: number for number, name in enumerate(names)}
    rows = [
        (one, each) for one in messages for each in one.sentences if one.keep == "no" or each.stated
    ]
    x = np.zeros((len(rows), len(names) + 1))
    x[:, -1] = 1.0
    for number, (_, each) in enumerate(rows):
        for name in each.features & column.keys():
            x[number, column[name]] = _scale(name)
    y = np.array([one.keep != "no" for one, _ in rows], float)
    share = np.array([_weight(one) for one, _ in rows])
    share *= len(rows) * np.where(y == 1, 0.5 / share[y == 1].sum(), 0.5 / share[y == 0].sum())
    found = _minimise(x, y, LOSS_WEIGHT * share)
    weights = {name: float(found[column[name]]) * _scale(name) for name in names}
    return FittedModel(weights, float(found[-1]))


def _scale(name: str) -> float:
    return WORD_SCALE if name.startswith("word:") else 1.0


def _weight(one: LabelledMessage) -> float:
    weight = MAYBE_WEIGHT if one.keep == "maybe" else 1.0
    return weight * MADE_UP_WEIGHT if one.repository == MADE_UP else weight


def _minimise(x: Vector, y: Vector, share: Vector) -> Vector:
    """The weights with the least loss plus half their squares; the constant is not held down."""
    weights = np.zeros(x.shape[1])
    penalty = np.ones(x.shape[1])
    penalty[-1] = 1e-6
    for _ in range(NEWTON_STEPS):
        guess = 1 / (1 + np.exp(-x @ weights))
        slope = x.T @ (share * (guess - y)) + penalty * weights
        bend = (x.T * (share * guess * (1 - guess))) @ x + np.diag(penalty)
        weights -= np.linalg.solve(bend, slope)
    return weights


def score_left_out(
    messages: Sequence[LabelledMessage], more: Sequence[LabelledMessage]
) -> list[tuple[LabelledMessage, float]]:
    """Each message with the score of a model that never saw its repository."""
    found = []
    for repository in sorted({one.repository for one in messages}):
        model = fit_model([*(m for m in messages if m.repository != repository), *more])
        found += [(one, model.score(one)) for one in messages if one.repository == repository]
    return found


def find_limit(scored: Iterable[tuple[LabelledMessage, float]]) -> float:
    """The score that `FALSE_SHARE` of the messages labelled `no` exceed."""
    return float(np.quantile([s for one, s in scored if one.keep == "no"], 1 - FALSE_SHARE))


def describe(title: str, scored: Sequence[tuple[LabelledMessage, float]], limit: float) -> str:
    """What waits of each label, and the repository with the largest share of false alarms."""
    total = Counter(one.keep for one, _ in scored)
    waits = Counter(one.keep for one, score in scored if score > limit)
    said = ", ".join(f"{keep} {waits[keep]} of {total[keep]}" for keep in ("yes", "maybe", "no"))
    by: dict[str, list[tuple[LabelledMessage, float]]] = defaultdict(list)
    for one, score in scored:
        by[one.repository].append((one, score))
    shares = [
        (sum(s > limit for s in no) / len(no), len(no), name)
        for name, found in by.items()
        if len(no := [s for one, s in found if one.keep == "no"]) >= 10
    ]
    worst = max(shares, default=(0.0, 0, ""))
    return f"{title}: waits {said}; worst repository {worst[0]:.2f} of {worst[1]} labelled no"


def write_sentence_weights(model: SentenceModel, weights: SentenceWeights) -> None:
    """Write the data file of a model; features whose weight rounds to nothing are left out."""
    table = {name: round(w, 2) for name, w in sorted(weights.weights.items()) if abs(w) >= SMALLEST}
    found = structs.replace(weights, threshold=round(weights.threshold, 2), weights=table)
    shown = {k: v for k, v in structs.asdict(found).items() if v != 0.0}
    text = json.dumps(shown, indent=1, ensure_ascii=False)
    (TARGET / f"{model}_weights.json").write_text(f"{text}\n", "utf-8")


def main() -> None:
    """Print the figures and write the weights."""
    messages, made_up = read_labels(map(Path, sys.argv[1:])), read_made_up()
    opened = [one for one in messages if is_open(one.repository)]
    scored = score_left_out(opened, made_up)
    limit = find_limit(scored)
    lines = [describe("open, each repository left out in turn", scored, limit)]
    model = fit_model([*opened, *made_up])
    shut = [one for one in messages if not is_open(one.repository)]
    lines.append(describe("shut, fitted on open", [(one, model.score(one)) for one in shut], limit))
    scored = score_left_out(messages, made_up)
    limit = find_limit(scored)
    lines.append(describe("both, each repository left out in turn", scored, limit))
    model = fit_model([*messages, *made_up])
    write_sentence_weights("unconfirmed", SentenceWeights(limit - model.constant, model.weights))
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
