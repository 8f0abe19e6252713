"""Render an extractive summary as text. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memorist.compaction.digest_units import Source, Unit
from memorist.core.tokens import estimate_text

OPENING = (
    "This session goes on from an earlier conversation that no longer fits. What follows was taken from its transcript by a program; "
    "the words are as they stood there, … marks what is left out, and steps count its messages."
)
BRIEF = "The earlier conversation no longer fits. …"
"""The opening where there is hardly any room."""

POINTER = "The full transcript, for exact details: "


def extracts_text(chosen: Iterable[Unit]) -> str:
    """Render the extracts in order, each source below one heading line."""
    by_source: dict[Source, list[Unit]] = {}
    for unit in chosen:
        by_source.setdefault(unit.source, []).append(unit)
    order = sorted(by_source, key=lambda source: source.step)
    return "\n".join(f"{heading(source, by_source[source])}\n{_joined(by_source[source])}" for source in order)


def heading(source: Source, found: list[Unit]) -> str:
    """The line above the extracts of a source."""
    found.sort(key=lambda unit: unit.part)
    first, last = found[0].first, found[-1].last
    where = f" lines {first}–{last}" if first and last else ""
    return f"[step {source.step}] {source.title}{where}:"


def _joined(found: Sequence[Unit]) -> str:
    lines: list[str] = ["…"] if found[0].part else []
    before = found[0].part
    for unit in found:
        if unit.part > before + 1:
            lines.append("…")
        before = unit.part
        lines.extend(unit.lines)
    return "\n".join(lines)


def heading_cost(source: Source) -> int:
    """Upper bound of the tokens of that line."""
    return estimate_text(source.title) + 9


def section(title: str, body: str) -> str:
    """A section with a heading; empty where the body is empty."""
    return f"\n## {title}\n{body}\n" if body.strip() else ""
