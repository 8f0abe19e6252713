"""A place in a text, and what was seen there."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class SafetyFinding(Struct, frozen=True, order=True):
    """`text[start:end]` was taken by the rule `rule`. It never holds the text itself, so that it
    can be logged (TM-4).
    """

    start: int
    end: int
    rule: str


def keep_earliest_of_overlapping_findings(
    found: Iterable[SafetyFinding],
) -> tuple[SafetyFinding, ...]:
    """The findings in order, without overlaps: one that begins earlier wins, and of two that begin
    together the longer.

    What a losing one covers beyond the winner stays covered, under its own name.
    """
    kept: list[SafetyFinding] = []
    end = 0
    for finding in sorted(found, key=lambda one: (one.start, -one.end)):
        if finding.end > end:
            kept.append(
                finding if finding.start >= end else SafetyFinding(end, finding.end, finding.rule)
            )
            end = finding.end
    return tuple(kept)
