"""A range of a text with the rule that matched it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class Finding(Struct, frozen=True, order=True):
    """The rule `rule` matched `text[start:end]`. It never holds the text itself, so that it can be
    logged (TM-4).
    """

    start: int
    end: int
    rule: str


def apart(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings in order, without overlaps: the one that begins earlier wins, and of two that
    begin together the longer.

    What a losing finding covers beyond the winner stays covered, under its own rule.
    """
    kept: list[Finding] = []
    end = 0
    for finding in sorted(found, key=lambda one: (one.start, -one.end)):
        if finding.end > end:
            kept.append(finding if finding.start >= end else Finding(end, finding.end, finding.rule))
            end = finding.end
    return tuple(kept)
