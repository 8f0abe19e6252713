"""Weights by which extracts and identifiers are scored. Written by `benchmarks/fit_extracts.py`.

They were fitted on recorded sessions of coding agents from public repositories; how they do on
sessions of other owners is in docs/benchmarks.md.
"""

from __future__ import annotations

from memorist.compaction.history_extracts import ExtractKind

BLOCK_WEIGHTS: dict[ExtractKind, tuple[float, ...]] = {
    "said": (-2.40, 0.06, -1.01, 0.00, -0.19, 0.89, -0.88, -0.32, -0.04, -0.03, -0.43),
    "thought": (-3.03, -0.30, -1.12, -0.22, 0.36, 0.89, -0.88, -0.32, -0.04, -0.03, -0.38),
    "injected": (-3.73, 0.08, -0.54, -0.11, 1.12, 0.89, -0.88, -0.32, -0.04, -0.03, -0.40),
    "call": (-1.40, -0.33, -0.94, 0.07, 0.25, 0.60, -1.41, -0.41, -0.00, 0.57, -0.39),
    "change": (-4.03, -0.23, -0.85, 0.02, -0.05, 0.79, -0.16, -0.11, 0.15, -0.40, 0.33),
    "file": (-2.85, -0.43, -1.03, 0.08, 0.01, 0.58, -0.93, -0.10, -0.29, 0.10, -0.23),
    "output": (-3.02, -0.58, -0.84, 0.13, 0.39, 1.71, -1.10, -0.66, -0.01, -0.41, -0.53),
    "error": (-3.55, -0.37, -0.95, -0.20, 0.25, 0.87, -0.87, -0.33, -0.05, -0.03, -0.39),
}
"""Weights of a constant and of `extract_scores.compute_block_features`, by kind."""

EXTRACT_WEIGHTS: dict[ExtractKind, tuple[float, ...]] = {
    "said": (-1.97, 2.04, 0.51, 0.08, -3.30, 1.97, -0.02, 0.01, -0.27, 0.24, -0.95, -0.29, -0.31),
    "thought": (
        -1.85,
        2.16,
        0.65,
        -0.42,
        -3.39,
        0.84,
        -0.02,
        0.36,
        -0.56,
        0.04,
        -0.51,
        -0.33,
        -0.21,
    ),
    "injected": (
        -1.83,
        2.30,
        1.27,
        -0.09,
        -3.36,
        1.33,
        -0.02,
        0.02,
        -0.64,
        -0.03,
        0.21,
        0.33,
        0.19,
    ),
    "call": (-2.03, 2.05, 0.28, 0.05, -3.34, 0.22, -0.02, -0.09, -0.23, 0.02, -0.56, 0.22, -0.38),
    "change": (
        -1.80,
        2.16,
        0.24,
        -0.12,
        -3.39,
        0.46,
        -0.02,
        0.18,
        -0.36,
        -0.39,
        0.20,
        -0.20,
        -0.14,
    ),
    "file": (-1.72, 2.81, 0.93, -0.05, -3.42, 0.82, -0.02, 0.11, -0.51, -0.11, -0.12, 0.21, -0.02),
    "output": (
        -1.42,
        2.90,
        0.65,
        -0.10,
        -3.87,
        0.59,
        -0.02,
        1.01,
        -0.59,
        -0.16,
        -0.32,
        -0.43,
        0.08,
    ),
    "error": (
        -1.81,
        2.26,
        0.73,
        -0.06,
        -3.40,
        0.85,
        -0.02,
        0.23,
        -0.48,
        -0.17,
        -0.19,
        -0.13,
        -0.36,
    ),
}
"""Weights of `extract_scores.compute_extract_features`, by kind."""

TYPICAL_SCORES: dict[ExtractKind, float] = {
    "said": -0.18,
    "thought": -0.53,
    "injected": 0.51,
    "call": -0.19,
    "change": -0.39,
    "file": 0.09,
    "output": -0.34,
    "error": -0.84,
}
"""What the features of an extract add on average, by kind: for blocks that are not split."""

NAME_WEIGHTS = (
    -3.00,
    0.32,
    0.35,
    -0.05,
    -0.33,
    0.07,
    -1.19,
    -0.38,
    0.49,
    0.95,
    -0.05,
    0.12,
    0.14,
    -0.50,
    0.02,
    -0.30,
    -0.86,
    -0.40,
    0.71,
    0.03,
    -0.08,
    0.05,
    -0.51,
)
"""Weights of `identifiers.compute_name_features`."""
