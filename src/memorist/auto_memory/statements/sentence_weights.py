"""Weights by which sentences are scored, read once from the data files beside this module. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from memorist.core.json_decoding import decode_json

SentenceModel = Literal["english_conversation", "other_conversation", "unconfirmed", "written_rule"]
"""A linear model of a sentence; its weights are in `<model>_weights.json`."""


class SentenceWeights(msgspec.Struct, frozen=True):
    """A linear model over the named features of a sentence."""

    threshold: float
    """Sum of weights from which a sentence counts."""
    weights: dict[str, float]
    """Weight by the name of a feature; a feature that is missing counts nothing."""
    rule_score_weight: float = 0.0
    """Weight of the score as a written rule."""

    def sum_feature_weights(self, features: Iterable[str]) -> float:
        """The sum of the features' weights, above or below the threshold."""
        return sum(self.weights.get(name, 0.0) for name in features) - self.threshold


@cache
def load_sentence_weights(model: SentenceModel) -> SentenceWeights:
    """The weights of a model, as a benchmark fitted and wrote them."""
    return decode_json(
        Path(__file__).with_name(f"{model}_weights.json").read_bytes(), as_type=SentenceWeights
    )
