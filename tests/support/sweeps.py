"""How much of a sweep runs: a sample in `make test`, all of it in `make test-slow`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest
from hypothesis import settings


def sampled(values: Iterable[Any], sample: Collection[Any]) -> list[Any]:
    """The values of a parameter, or tuples of several; those outside the sample are slow."""
    return [
        value
        if value in sample
        else pytest.param(
            *(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow
        )
        for value in values
    ]


def count_examples(sample: int, *, whole: int) -> int:
    """How many examples a property test draws: the first few in `make test`, all in
    `make test-slow` and `make fuzz`.
    """
    return sample if settings.get_current_profile_name() == "same" else whole


def examples(sample: int, *, whole: int, **more: Any) -> settings:
    """Settings of a property test that draws so many."""
    return settings(max_examples=count_examples(sample, whole=whole), **more)
