"""Fit the weights of `auto_memory.statements.waiting_score`: a logistic regression over its cues.

    python -m benchmarks.statement_weights LABELS.jsonl...

Each line of a labels file has `file`, `text`, `keep` (yes, maybe, no) and `span`, the words of the
text that are to be kept. Sentences of a span are examples of what waits, all sentences of messages
labelled `no` of what does not; `maybe` counts as neither. The figures are of sentences whose
repository was left out of the fit.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memorist.auto_memory.statements.prose import split_prose_sentences
from memorist.auto_memory.statements.waiting_score import CUES

Weights = npt.NDArray[np.float64]

FALSE_SHARE = 0.05
"""Messages labelled `no` that may wait: the threshold is set to this share."""
STEPS = 4000
RATE = 0.5
PENALTY = 0.004
"""Of the squared weights (L2), so that thirty cues do not fit forty sentences by heart."""


class LabelledMessage(Struct, frozen=True):
    """One labelled message, as cues of its sentences."""

    repository: str
    keep: str
    sentences: tuple[tuple[bool, ...], ...]
    """Per sentence, which cue is in it, in the order of `CUES`."""
    stated: tuple[bool, ...]
    """Per sentence, whether it is among the words to keep."""


def repository_of(file: str) -> str:
    """The repository that a session's file name begins with."""
    return re.sub(r"__.*", "", file.rsplit("/", maxsplit=1)[-1])


def read_labels(paths: Iterable[Path]) -> list[LabelledMessage]:
    """The labelled messages that a person typed."""
    found = []
    for line in (line for path in paths for line in path.read_text("utf-8").splitlines()):
        one = json.loads(line)
        if one["class"] == "paste":
            continue
        sentences = list(split_prose_sentences(one["text"].strip()))
        span = one["span"] or ""
        found.append(
            LabelledMessage(
                repository_of(one["file"]),
                one["keep"],
                tuple(
                    tuple(cue.search(each.masked) is not None for cue in CUES.values())
                    for each in sentences
                ),
                tuple(
                    bool(span) and (each.text[:40] in span or span[:40] in each.text)
                    for each in sentences
                ),
            )
        )
    return found


def fit_weights(messages: Sequence[LabelledMessage]) -> Weights:
    """Weights of the cues and, last, the constant. Each class counts as much as the other."""
    rows: list[list[bool]] = []
    wanted: list[bool] = []
    for one in messages:
        for cues, stated in zip(one.sentences, one.stated, strict=True):
            if (one.keep == "yes" and stated) or one.keep == "no":
                rows.append([*cues, True])
                wanted.append(one.keep == "yes")
    x, y = np.array(rows, float), np.array(wanted, float)
    share = np.where(y == 1, 0.5 / y.sum(), 0.5 / (len(y) - y.sum()))
    weights = np.zeros(x.shape[1])
    for _ in range(STEPS):
        guess = 1 / (1 + np.exp(-x @ weights))
        slope = x.T @ (share * (guess - y))
        slope[:-1] += PENALTY * weights[:-1]
        weights -= RATE * slope
    return weights


def score_message(one: LabelledMessage, weights: Weights) -> float:
    """The score of a message's best sentence."""
    return max((float(np.array([*s, True], float) @ weights) for s in one.sentences), default=-99.0)


def main() -> None:
    """Print the table of weights, and what is found when each repository is left out once."""
    messages = read_labels(map(Path, sys.argv[1:]))
    left_out: dict[str, list[float]] = {"yes": [], "maybe": [], "no": []}
    for repository in sorted({one.repository for one in messages}):
        weights = fit_weights([one for one in messages if one.repository != repository])
        for one in messages:
            if one.repository == repository:
                left_out[one.keep].append(score_message(one, weights))
    limit = float(np.quantile(left_out["no"], 1 - FALSE_SHARE))
    lines = [
        f"# {keep}: {sum(s > limit for s in scores)} of {len(scores)} wait"
        for keep, scores in left_out.items()
    ]
    weights = fit_weights(messages)
    scores = [score_message(one, weights) for one in messages if one.keep == "no"]
    lines.append("WEIGHTS: dict[str, float] = {")
    lines += [f'    "{name}": {weight:.2f},' for name, weight in zip(CUES, weights, strict=False)]
    lines.append("}")
    lines.append(
        f"THRESHOLD = {float(np.quantile(scores, 1 - FALSE_SHARE)) - float(weights[-1]):.2f}"
    )
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
