"""Explain in one line why an entry was found. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def why(matched: Sequence[str], *, around: bool, by_author: bool, cosine: float | None) -> str:
    """Explain a match: the words, or that they occur around it; the author; the similarity."""
    parts = []
    if matched:
        parts.append("has " + ", ".join(matched))
    elif around:
        parts.append("stands beside what was asked for")
    if by_author:
        parts.append("by the one named")
    if cosine is not None:
        parts.append(f"meaning {cosine:.2f}")
    return "; ".join(parts)
