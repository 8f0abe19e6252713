"""Fit the model of `statements.unconfirmed_score`: a logistic regression over its features.

    python -m benchmarks.statement_weights --natural PATH... --more PATH... [--write]

PATH is a file of labels. The messages were typed by other people and are no part of the
repository; `labels/typed.jsonl` says which they are, by repository and SHA-256 of the text, with
their label and where in the text the words to keep stand. Each line of a file of labels has `repo`
(or `file`, which begins with it), `text`, `keep` (yes, maybe, no) and `span`, the words of the text
that are to be kept.

`--natural` are all the messages of chats that nobody picked by their words, `--more` those that the
rules were written after or that were found by their words. Only the former tell how well it works
and where the threshold lies.

Sentences of a span are examples of what waits, all sentences of messages labelled `no` of what does
not. The made-up messages of `labels` count for little: they widen the vocabulary. A word's value is
multiplied by how much more often one of the two has it (the logarithm of the ratio, as naive Bayes
weighs it: Wang and Manning 2012). Two features that only the fit has tell that a rule decides the
sentence, and that the message was picked, so that its words need not stand for that. Owners of
repositories are divided into folds; each is scored by a model of the others, and the threshold is
the score that `FALSE_SHARE` of the natural messages labelled `no` exceed. `--write` writes the
weights and the list.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct, structs

from memorist.auto_memory.statements.sentence_weights import SentenceModel, SentenceWeights
from memorist.auto_memory.statements.statement_parser import find_statements, split_typed_sentences
from memorist.auto_memory.statements.unconfirmed_score import list_lasting_feature_names
from memorist.auto_memory.statements.unconfirmed_statements import decide_by_rules
from memorist.auto_memory.statements.user_prose import extract_redacted_user_text
from memorist.core.messages import Message, Origin, TextBlock

Vector = npt.NDArray[np.float64]

FOLDS = 5
FALSE_SHARES = (0.03, 0.04, 0.045, 0.05, 0.06, 0.08)
"""Shares of the messages labelled `no` that may be noticed, of which figures are printed."""
FALSE_SHARE = 0.045
"""The one that sets the threshold."""
MAYBE_WEIGHT = 0.5
MADE_UP_WEIGHT = 0.3
"""How much such a sentence counts beside one of a message labelled `yes`."""
LEAST_OWNERS = 3
"""Owners of repositories that use a word before it becomes a feature: no names, no topics."""
SCALES = {"word": 0.5, "early": 0.5, "pair": 0.5, "part": 0.25}
"""A feature's value, beside 1 of the script: such are many and must say more to count."""
FORM_SCALES = {"cue": 0.4, "form": 0.4, "message": 0.4, "source": 1.2}
"""The value of a feature that no ratio multiplies: both classes have each of these often."""
LOSS_WEIGHT = 0.1
"""Of the summed loss beside half the squared weights (the usual C of such fits)."""
STEPS = 300
STRONGEST = 4000
"""Features that are kept: those whose weights, times how often they occur, are the largest."""
SMALLEST = 0.005
UNFIT = -99.0
"""The score of a sentence that never waits."""
NOTICED = 99.0
"""The score of a message of which something is kept or waits whatever its words."""
MADE_UP = "made up"
PICKED = "picked"
LABELS = Path(__file__).parent / "labels"
TARGET = Path("src/memorist/auto_memory/statements")


class LabelledSentence(Struct, frozen=True):
    """One sentence: its features, and whether its words are among those to keep."""

    features: frozenset[str]
    stated: bool
    decided: bool
    """Whether the rules let it wait whatever its score."""


class LabelledMessage(Struct, frozen=True):
    """One labelled message that a person typed."""

    owner: str
    source: str
    """`MADE_UP`, `PICKED`, or empty for one of the natural messages."""
    keep: str
    noticed_anyway: bool
    """Whether the rules keep something of it, or let it wait whatever the score."""
    sentences: tuple[LabelledSentence, ...]
    listed: dict[str, Any]
    """How `labels/typed.jsonl` names it."""


class Model(Struct, frozen=True):
    """Weights by feature, and the constant."""

    weights: dict[str, float]
    constant: float

    def score(self, message: LabelledMessage) -> float:
        """The score of a message's best sentence."""
        return self.constant + max(
            (sum(self.weights.get(name, 0.0) for name in s.features) for s in message.sentences),
            default=UNFIT,
        )


class SparseRows:
    """A matrix of which few numbers are not 0, given by rows of column and value."""

    def __init__(self, rows: Sequence[Sequence[tuple[int, float]]], width: int) -> None:
        self.shape = (len(rows), width)
        self._row = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        self._column = np.array([column for row in rows for column, _ in row], int)
        self._value = np.array([value for row in rows for _, value in row], float)

    def scale_columns(self, scale: Vector) -> SparseRows:
        """The matrix with each column multiplied by a number."""
        values = (self._value * scale[self._column]).tolist()
        rows: list[list[tuple[int, float]]] = [[] for _ in range(self.shape[0])]
        for row, column, value in zip(self._row, self._column, values, strict=True):
            rows[row].append((int(column), value))
        return SparseRows(rows, self.shape[1])

    def count_nonzero(self, share: Vector) -> Vector:
        """In how many rows each column stands, a row counting by its share."""
        return np.bincount(self._column, share[self._row], self.shape[1]).astype(np.float64)

    def sum_rows(self, weights: Vector) -> Vector:
        """Of each row the sum of its values times the weights of their columns."""
        return np.bincount(self._row, self._value * weights[self._column], self.shape[0]).astype(
            np.float64
        )

    def sum_columns(self, weights: Vector) -> Vector:
        """Of each column the sum of its values times the weights of their rows."""
        return np.bincount(self._column, self._value * weights[self._row], self.shape[1]).astype(
            np.float64
        )


def repository_of(file: str) -> str:
    """The repository that a session's file name begins with."""
    return re.sub(r"__.*", "", file.rsplit("/", maxsplit=1)[-1])


def read_messages(paths: Iterable[Path], source: str = "") -> list[LabelledMessage]:
    """The labelled messages of files."""
    rows = [json.loads(line) for file in paths for line in file.read_text("utf-8").splitlines()]
    return [_read_message(one, source) for one in rows]


def _read_message(one: dict[str, Any], source: str) -> LabelledMessage:
    repository = one.get("repo") or repository_of(one["file"])
    span = one["span"] or ""
    begin = one["text"].find(span) if span else -1
    listed = {
        "repo": repository,
        "sha256": hashlib.sha256(one["text"].encode()).hexdigest(),
        "keep": one["keep"],
        "span": [begin, begin + len(span)] if begin >= 0 else None,
    }
    owner = re.split("[/-]", repository)[0]
    return _label(owner, source, one["text"], one["keep"], one["span"], listed)


def read_made_up() -> Iterator[LabelledMessage]:
    """The made-up messages: those with a rule or a fact as `yes`, the traps as `no`."""
    for name in ("conversation", "made_up"):
        for number, line in enumerate((LABELS / f"{name}.jsonl").read_text("utf-8").splitlines()):
            one = json.loads(line)
            keep = one.get("keep") or ("yes" if one["act"] else "no")
            if one.get("act") != "forget":
                yield _label(f"made up {number % 50}", MADE_UP, one["text"], keep, one["text"], {})


def _label(
    owner: str, source: str, text: str, keep: str, span: str | None, listed: dict[str, Any]
) -> LabelledMessage:
    message = Message(
        id="m", role="user", origin=Origin.USER, is_typed=True, blocks=(TextBlock(text=text),)
    )
    typed = extract_redacted_user_text(message).strip()
    found = [(each, decide_by_rules(each, typed)) for each in split_typed_sentences(typed)]
    return LabelledMessage(
        owner,
        source,
        keep,
        any(waits for _, waits in found) or bool(find_statements(message)),
        tuple(
            LabelledSentence(
                list_lasting_feature_names(each, typed),
                _is_in(each.text, span or ""),
                decided=waits is True,
            )
            for each, waits in found
            if waits is not False
        ),
        listed,
    )


def _is_in(sentence: str, span: str) -> bool:
    return bool(span) and (sentence[:40] in span or span[:40] in sentence)


def fit_model(messages: Sequence[LabelledMessage]) -> Model:
    """Fit weights. Both classes count the same in sum."""
    owners = defaultdict(set)
    for one in messages:
        for each in one.sentences:
            for name in _list_fitted_features(one, each):
                owners[name].add(one.owner)
    names = sorted(name for name, found in owners.items() if len(found) >= LEAST_OWNERS)
    column = {name: number for number, name in enumerate(names)}
    rows = [
        (one, each) for one in messages for each in one.sentences if one.keep == "no" or each.stated
    ]
    x = SparseRows(
        [
            [(column[n], 1.0) for n in sorted(_list_fitted_features(*row)) if n in column]
            for row in rows
        ],
        len(names),
    )
    y = np.array([one.keep != "no" for one, _ in rows], float)
    share = np.array([_weight(one) for one, _ in rows])
    share *= len(rows) * np.where(y == 1, 0.5 / share[y == 1].sum(), 0.5 / share[y == 0].sum())
    occurs = x.count_nonzero(share)
    ratios = _weigh_by_ratio(x, y, share)
    scale = np.array([_scale(name, ratio) for name, ratio in zip(names, ratios, strict=True)])
    found, constant = _minimise(x.scale_columns(scale), y, LOSS_WEIGHT * share)
    weights = found * scale
    strongest = np.argsort(-np.abs(weights) * occurs, kind="stable")[:STRONGEST]
    kept = {names[at]: float(weights[at]) for at in sorted(strongest)}
    return Model({n: w for n, w in kept.items() if not n.startswith("source:")}, constant)


def _list_fitted_features(one: LabelledMessage, sentence: LabelledSentence) -> frozenset[str]:
    """The features of a sentence with those that only the fit has."""
    sources = {"source:rules": sentence.decided, "source:picked": one.source == PICKED}
    return sentence.features | {name for name, holds in sources.items() if holds}


def _weigh_by_ratio(x: SparseRows, y: Vector, share: Vector) -> Vector:
    """How much more often one class has each feature: the absolute logarithm of the ratio."""
    counts = [1.0 + x.count_nonzero(share * (y == each)) for each in (0, 1)]
    no, yes = (each / each.sum() for each in counts)
    ratios: Vector = np.abs(np.log(yes / no))
    return ratios


def _scale(name: str, ratio: float) -> float:
    group = name.partition(":")[0]
    return FORM_SCALES.get(group) or SCALES.get(group, 1.0) * ratio


def _weight(one: LabelledMessage) -> float:
    if one.source == MADE_UP:
        return MADE_UP_WEIGHT
    if one.keep == "no":
        return float(len(one.sentences) ** -0.5)
    return MAYBE_WEIGHT if one.keep == "maybe" else 1.0


def _minimise(x: SparseRows, y: Vector, share: Vector) -> tuple[Vector, float]:
    """The weights with the least loss plus half their squares, and the constant, which is not held
    down: Nesterov's accelerated gradients, whose step is from the largest curvature.
    """
    weights, ahead = np.zeros(x.shape[1]), np.zeros(x.shape[1])
    constant = constant_ahead = 0.0
    direction = np.ones(x.shape[1])
    for _ in range(8):
        direction /= np.linalg.norm(direction)
        direction = x.sum_columns(share * 0.25 * x.sum_rows(direction))
    steepest = 1.0 + 1.1 * float(np.linalg.norm(direction))
    momentum = 1.0
    for _ in range(STEPS):
        error = share * (
            1 / (1 + np.exp(-np.clip(x.sum_rows(ahead) + constant_ahead, -30, 30))) - y
        )
        new = ahead - (x.sum_columns(error) + ahead) / steepest
        new_constant = constant_ahead - float(error.sum()) / (0.5 * float(share.sum()))
        later = (1 + (1 + 4 * momentum * momentum) ** 0.5) / 2
        ahead = new + (momentum - 1) / later * (new - weights)
        constant_ahead = new_constant + (momentum - 1) / later * (new_constant - constant)
        weights, constant, momentum = new, new_constant, later
    return weights, constant


def score_left_out(
    messages: Sequence[LabelledMessage], more: Sequence[LabelledMessage]
) -> list[tuple[LabelledMessage, float]]:
    """Each message with the score of a model that never saw its owner."""
    found = []
    for fold in range(FOLDS):
        others = [one for one in (*messages, *more) if _fold_of(one.owner) != fold]
        model = fit_model(others)
        found += [
            (one, NOTICED if one.noticed_anyway else model.score(one))
            for one in messages
            if _fold_of(one.owner) == fold
        ]
    return found


def _fold_of(owner: str) -> int:
    return int(hashlib.sha256(f"14{owner}".encode()).hexdigest(), 16) % FOLDS


def find_limit(scored: Iterable[tuple[LabelledMessage, float]], share: float) -> float:
    """The score that a share of the messages labelled `no` exceed."""
    return float(np.quantile([s for one, s in scored if one.keep == "no"], 1 - share))


def describe(title: str, scored: Sequence[tuple[LabelledMessage, float]]) -> str:
    """The shares that are noticed at each share of false ones."""
    parts = []
    for share in FALSE_SHARES:
        limit = find_limit(scored, share)
        noticed = {
            keep: [score > limit for one, score in scored if one.keep == keep]
            for keep in ("yes", "maybe")
        }
        shown = " ".join(f"{keep} {sum(found)} of {len(found)}" for keep, found in noticed.items())
        parts.append(f"{share} → {shown}")
    return f"{title}: {'; '.join(parts)}\n"


def write_sentence_weights(model: SentenceModel, weights: SentenceWeights, digits: int = 3) -> None:
    """Write the data file of a model; features whose weight is next to nothing are left out."""
    table = {
        name: round(w, digits) for name, w in sorted(weights.weights.items()) if abs(w) >= SMALLEST
    }
    found = structs.replace(weights, threshold=round(weights.threshold, 3), weights=table)
    shown = {k: v for k, v in structs.asdict(found).items() if v != 0.0}
    text = json.dumps(shown, indent=1, ensure_ascii=False)
    (TARGET / f"{model}_weights.json").write_text(f"{text}\n", "utf-8")


def main() -> None:
    """Print the figures; write the weights and the list of messages."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--natural", type=Path, nargs="+", required=True)
    parser.add_argument("--more", type=Path, nargs="+", default=[])
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    natural = read_messages(arguments.natural)
    picked = read_messages(arguments.more, PICKED)
    made_up = list(read_made_up())
    scored = score_left_out(natural, [*picked, *made_up])
    sys.stdout.write(describe("each owner left out in turn", scored))
    if arguments.write:
        model = fit_model([*natural, *picked, *made_up])
        threshold = find_limit(scored, FALSE_SHARE) - model.constant
        write_sentence_weights("unconfirmed", SentenceWeights(threshold, model.weights), digits=2)
        rows = sorted({json.dumps(one.listed) for one in (*natural, *picked)})
        (LABELS / "typed.jsonl").write_text("\n".join(rows) + "\n", "utf-8")


if __name__ == "__main__":
    main()
