"""Check that the prefix only grows: each request extends the one before, or the difference is named
(CX-8). Pure.

A provider serves from its cache a request that begins with the very same bytes as before: tools,
system prompt, then the history. `PrefixChecker` takes request bodies of any of the three wire
formats in the order in which they were sent; `memorist.testing.assert_prefix_grows` asserts it in
a test.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from memorist.compaction.cache_break_detection import (
    CacheBreakCause,
    RequestFingerprint,
    compare_fingerprints,
    find_first_difference_index,
    fingerprint_request,
)
from memorist.core.messages import JsonObject, Origin
from memorist.formats.host_markup import detect_origin

PrefixDifferenceReason = CacheBreakCause | Literal["compaction", "rolled back", "host rewrite"]
"""Known causes: a compaction, rolled-back turns, a host that rewrote its history; otherwise the
part that changed.
"""


class PrefixDifference(Struct, frozen=True):
    """A request that does not extend the one before it."""

    request: int
    """Counted from 1."""
    part: str
    """Where the bytes diverge: `tools`, `system`, `model`, `params` or `messages`."""
    why: PrefixDifferenceReason
    what: str
    """What exactly differs, in one clause."""
    index: int | None = None
    """The first history entry that differs, counted from 0; None if the history is not the
    cause.
    """

    def __str__(self) -> str:
        return f"request {self.request}: {self.why} ({self.part}): {self.what}"


class PrefixChecker:
    """Consecutive requests of one conversation. Call it with each body."""

    def __init__(self) -> None:
        self.requests = 0
        self.differences: list[PrefixDifference] = []
        self._last: RequestFingerprint | None = None

    def __call__(self, body: JsonObject) -> PrefixDifference | None:
        """Take the next request; return how it fails to extend the previous one, or None.

        Differences are also collected in `differences`.

        Cache marks are ignored, as they move with every request; so is whether a text is written as
        a string or as one text block.
        """
        self.requests += 1
        now = fingerprint_request(body, exact=True)
        before, self._last = self._last, now
        if before is None:
            return None
        found = next(
            ((part, what) for part, what in compare_fingerprints(before, now) if part != "marks"),
            None,
        )
        if found is None:
            return None
        index = (
            find_first_difference_index(before.messages, now.messages)
            if found[0] == "messages"
            else None
        )
        difference = PrefixDifference(self.requests, found[0], found[0], found[1], index)
        if index is not None:
            difference = _classify_history_break(difference, index, body, len(now.messages))
        self.differences.append(difference)
        return difference

    def __str__(self) -> str:
        """One line for each difference, or a statement that there is none."""
        return (
            "\n".join(map(str, self.differences))
            or f"the prefix only grew over {self.requests} requests"
        )


def _classify_history_break(
    found: PrefixDifference, index: int, body: JsonObject, count: int
) -> PrefixDifference:
    """Determine the cause of a change within the history."""
    history = body.get("messages", body.get("input"))
    entries = history if isinstance(history, list) else []
    entry = entries[index] if index < len(entries) else None
    role = entry.get("role") if isinstance(entry, dict) else None
    lead = all(
        isinstance(each, dict) and each.get("role") in ("system", "developer")
        for each in entries[: index + 1]
    )
    if lead and role in ("system", "developer"):
        return PrefixDifference(found.request, "system", "system", found.what, index)
    if any(_is_summary(each) for each in entries[index : index + 3]):
        return PrefixDifference(found.request, found.part, "compaction", found.what, index)
    why: PrefixDifferenceReason = "rolled back" if index == count else "host rewrite"
    return PrefixDifference(found.request, found.part, why, found.what, index)


def _is_summary(entry: object) -> bool:
    """Tell whether an entry begins with a compaction's summary."""
    if not isinstance(entry, dict):
        return False
    content = entry.get("content")
    parts = (
        [{"text": content}]
        if isinstance(content, str)
        else content
        if isinstance(content, list)
        else []
    )
    texts = [
        part["text"]
        for part in parts
        if isinstance(part, dict) and isinstance(part.get("text"), str)
    ]
    return entry.get("type") in ("compaction", "compaction_summary") or any(
        detect_origin(text) is Origin.SUMMARY for text in texts
    )
