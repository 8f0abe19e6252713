"""Fit the weights by which extracts and identifiers are scored, and write them as
`compaction/extract_weights.json`. Needs numpy.

Usage: python fit_extracts.py FOLDER-OF-SESSIONS ... OUTPUT [--without OWNER ...]

Each recorded session is cut at the points of the `carryover` benchmark. A unit's label is the
number of its words that stand in spans which the assistant uses later and nobody shows again
before; a span that stands in several units counts for the newest. An identifier's label is whether
it is used later.

The model is the same for both: at one point, the share of all later use that falls on a unit is its
words times exp(weights . features), divided by the sum of that over all units (a Poisson regression
with an intercept for each point). So sessions in which much is used again do not drown the others,
and the weights only say what is likelier within one history. It is fitted by Newton's method with a
ridge penalty. Points of a repository share a weight that grows with the root of their number.
Owners named after --without are left out, so that the fit can be judged on them.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.carryover import SPAN, WORD, CarryoverPoint, Span, points
from memorist.compaction.extract_scores import compute_block_features, compute_extract_features
from memorist.compaction.extractive_summary import scan_history
from memorist.compaction.history_extracts import Extract, split_into_extracts
from memorist.compaction.identifier_ranking import collect_identifiers, compute_identifier_features
from memorist.transcript_analysis.names_in_text import find_recognizable_names

Vector = np.ndarray[Any, np.dtype[np.float64]]

KINDS = ("said", "thought", "injected", "call", "change", "file", "output", "error")

RIDGE = 30.0
"""Penalty of what sets a kind apart from the others; what all kinds share has a tenth of it.
Chosen by cross-validation over owners."""

IDENTIFIER_RIDGE = 3.0

LEAST = 20
"""Uses below which a point weighs less than others: its shares are chance."""

STEPS = 40
"""Newton steps at most; some fifteen are enough."""


class FeatureTable:
    """Rows of features with labels, exposures and the points that they are of."""

    def __init__(self) -> None:
        self.rows: list[list[float]] = []
        self.kinds: list[int] = []
        self.labels: list[float] = []
        self.words: list[float] = []
        self.points: list[int] = []
        self.repositories: list[str] = []
        """Of each point."""

    def add(self, row: list[float], label: float, words: float = 1.0, kind: int = 0) -> None:
        """Add a row to the newest point."""
        self.rows.append(row)
        self.labels.append(label)
        self.words.append(words)
        self.kinds.append(kind)
        self.points.append(len(self.repositories) - 1)


def tables(found: Iterable[CarryoverPoint]) -> tuple[FeatureTable, FeatureTable]:
    """The units and the identifiers of these points."""
    units, identifiers = FeatureTable(), FeatureTable()
    for point in found:
        repository = point.session.split("__")[0]
        units.repositories.append(repository)
        identifiers.repositories.append(repository)
        scan = scan_history(point.history)
        past = scan.history
        for name in collect_identifiers(scan.blocks, scan.names):
            identifiers.add(compute_identifier_features(name, past), name.text in point.used.facts)
        left = set(point.used.spans)
        for piece in reversed(scan.blocks):
            apart = split_into_extracts(piece)
            for unit, (label, words) in zip(apart, labelled(apart, left), strict=True):
                row = compute_block_features(piece, past)[1:] + compute_extract_features(
                    unit, find_recognizable_names(unit.text), past, len(apart)
                )
                units.add(row, label, max(words, 1.0), KINDS.index(piece.source.kind))
    return units, identifiers


def labelled(units: Sequence[Extract], left: set[Span]) -> list[tuple[float, float]]:
    """Of each unit of a piece the words used later, and all its words. Spans that are found are
    taken out of `left`.
    """
    words = [(word, at) for at, unit in enumerate(units) for word in WORD.findall(unit.text)]
    texts = [word for word, _ in words]
    credit = np.zeros(len(words))
    found = set()
    for start, span in enumerate(zip(*(texts[shift:] for shift in range(SPAN)), strict=False)):
        if span in left:
            credit[start : start + SPAN] += 1 / SPAN
            found.add(span)
    left -= found
    made = [[0.0, 0.0] for _ in units]
    for (_, at), share in zip(words, credit, strict=True):
        made[at][0] += share
        made[at][1] += 1
    return [(label, count) for label, count in made]


def fitted(table: FeatureTable, matrix: Vector, ridge: Vector) -> Vector:
    """The weights of the columns of a matrix."""
    groups = np.array(table.points)
    count = len(table.repositories)
    labels, words = np.array(table.labels, float), np.array(table.words)
    used = np.bincount(groups, weights=labels, minlength=count)
    often = Counter(table.repositories)
    weight = np.array([often[each] ** -0.5 for each in table.repositories]) / np.maximum(
        used, LEAST
    )
    weight = (weight * 30 * count / (weight * used).sum())[groups]
    weights = np.zeros(matrix.shape[1])
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    for _ in range(STEPS):
        raw = words * np.exp(np.clip(matrix @ weights, -20, 20))
        expected = (
            raw
            * (used / np.maximum(np.bincount(groups, weights=raw, minlength=count), 1e-12))[groups]
        )
        mass = weight * expected
        sums = np.add.reduceat(matrix * mass[:, None], starts, axis=0)
        totals = np.maximum(np.add.reduceat(mass, starts), 1e-12)
        curve = (
            (matrix * mass[:, None]).T @ matrix - (sums / totals[:, None]).T @ sums + np.diag(ridge)
        )
        step = np.linalg.solve(curve, matrix.T @ (weight * (labels - expected)) - ridge * weights)
        weights += step * min(1.0, 1.5 / np.abs(step).max())
        if np.abs(step).max() < 1e-3:
            break
    return weights


def by_kind(table: FeatureTable) -> tuple[Vector, Vector]:
    """Constants and weights of each kind: what all kinds share, and what sets a kind apart."""
    shared = np.array(table.rows)
    kinds = np.eye(len(KINDS))[table.kinds]
    apart = [np.hstack([kinds[:, [at]], shared * kinds[:, [at]]]) for at in range(len(KINDS))]
    width = shared.shape[1]
    ridge = np.full(width + len(KINDS) * (width + 1), RIDGE)
    ridge[:width] = ridge[width :: width + 1] = RIDGE / 10
    weights = fitted(table, np.hstack([shared, *apart]), ridge)
    own = weights[width:].reshape(len(KINDS), width + 1)
    return own[:, 0], own[:, 1:] + weights[:width]


def fitted_weights(units: FeatureTable, identifiers: FeatureTable) -> dict[str, object]:
    """What the data file holds: the fields of `ExtractWeights`."""
    constants, weights = by_kind(units)
    rows, kinds, words = np.array(units.rows), np.array(units.kinds), np.array(units.words)
    split = rows.shape[1] - EXTRACT_FEATURES
    typical = {}
    for at, kind in enumerate(KINDS):
        own = kinds == at
        added = rows[own, split:] @ weights[at, split:]
        average = np.average(added, weights=words[own]) if own.any() else 0.0
        typical[kind] = round(float(average), 2)
    named = np.array(identifiers.rows)[:, 1:]
    named_weights = fitted(identifiers, named, np.full(named.shape[1], IDENTIFIER_RIDGE))
    pieces = [np.r_[each - 3, own[:split]] for each, own in zip(constants, weights, strict=True)]
    return {
        "blocks": dict(zip(KINDS, map(_row, pieces), strict=True)),
        "extracts": dict(zip(KINDS, map(_row, weights[:, split:]), strict=True)),
        "typical_scores": typical,
        "names": _row(np.r_[-3.0, named_weights]),
    }


def _row(values: Vector) -> list[float]:
    return [round(float(value), 2) for value in values]


EXTRACT_FEATURES = 13
"""Length of what `extract_scores.compute_extract_features` gives."""


def main() -> None:
    """Fit and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sessions", type=Path, nargs="+")
    parser.add_argument("output", type=Path)
    parser.add_argument("--without", nargs="*", default=[])
    given = parser.parse_args()
    paths = [
        path
        for path in sorted(each for folder in given.sessions for each in folder.rglob("*.jsonl"))
        if not path.name.startswith(tuple(given.without) or "\0")
    ]
    text = json.dumps(fitted_weights(*tables(points(paths))), indent=1)
    given.output.write_text(f"{text}\n")


if __name__ == "__main__":
    main()
