"""Reading the log of hooks that gave no response. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct


class HookFailure(Struct, frozen=True):
    """One hook that gave no response."""

    at: float
    """Seconds since the epoch."""
    event: str
    why: str


def parse_hook_failures(text: str, since: float) -> list[HookFailure]:
    """Parse the failures from `since` on, oldest first; truncated lines are skipped."""
    found = []
    for line in text.splitlines():
        parts = line.split("\t")
        try:
            at = float(parts[0])
        except ValueError:
            continue
        if len(parts) == 4 and at >= since:
            found.append(HookFailure(at, parts[1], parts[3]))
    return found


def describe_hook_failures(failures: Sequence[HookFailure]) -> list[str]:
    """The distinct reasons with their counts, most frequent first."""
    counted = Counter((each.event, each.why) for each in failures)
    return [
        f"{event or 'before any event'}, {count:,} {'time' if count == 1 else 'times'}: {why}"
        for (event, why), count in counted.most_common()
    ]
