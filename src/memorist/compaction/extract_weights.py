"""Weights by which extracts and identifiers are scored, read once from their data file. Pure.

`benchmarks/fit_extracts.py` writes `extract_weights.json`. They were fitted on recorded sessions of
coding agents from public repositories; how they do on sessions of other owners is in
docs/benchmarks.md.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from memorist.compaction.history_extracts import ExtractKind


class ExtractWeights(msgspec.Struct, frozen=True):
    """Weights in the order of the features that they are of."""

    blocks: dict[ExtractKind, tuple[float, ...]]
    """Weights of a constant and of `extract_scores.compute_block_features`, by kind."""
    extracts: dict[ExtractKind, tuple[float, ...]]
    """Weights of `extract_scores.compute_extract_features`, by kind."""
    typical_scores: dict[ExtractKind, float]
    """What the features of an extract add on average, by kind: for blocks that are not split."""
    names: tuple[float, ...]
    """Weights of `identifier_ranking.compute_identifier_features`."""


@cache
def load_extract_weights() -> ExtractWeights:
    """The weights that ship with memorist."""
    return msgspec.json.decode(
        Path(__file__).with_suffix(".json").read_bytes(), type=ExtractWeights
    )
