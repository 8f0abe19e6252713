"""The evidence a model is shown of a recorded session: rows by speaker, chosen within a budget, in
order, with gap marks (RO-3). Pure.

The order in which rows get room, and the sizes, are the published ones (codex.md section 1.11).
What does not fit is left out whole, the newest kept first in each tier, so that the user's words
outlive tool output. Memory is bounded: no more of each tier is held than could be shown.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable, Sequence
from enum import IntEnum

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory import evidence as told
from memorist.core.tokens import BYTES_PER_TOKEN, estimate_text
from memorist.core.truncate import cut_middle
from memorist.safety.data import neutralise


class Tier(IntEnum):
    """The speaker; a lower tier gets room first."""

    USER = 0
    FINAL = 1
    AGENT = 2
    COMMENTARY = 3
    HARNESS = 4
    TOOL = 5


LABELS = {
    Tier.USER: "user",
    Tier.FINAL: "assistant",
    Tier.AGENT: "other agent",
    Tier.COMMENTARY: "assistant, on the way",
    Tier.HARNESS: "harness",
    Tier.TOOL: "tool",
}

ROW_TOKENS = 2_500
"""Tokens of one row: 10,000 bytes (codex.md section 1.11)."""
TOOL_TOKENS = 2_000
"""Tokens of one tool's output."""
WINDOW_SHARE = 0.95 * 0.7
"""Share of a window for evidence: the usable part, less the prompt and the answer."""
UNKNOWN_WINDOW = 150_000
"""Tokens of evidence if the window is unknown."""
PASSES = 4
"""Upper bound of parts for a long session; older content is sampled, as in a single pass."""
SMALLEST = 500
"""Tokens below which evidence is not reduced further."""
CUT_SHARE = 3
"""User text that does not fit is cut to this fraction (1/n) of the remaining room rather than left
out.
"""
SHRINK = 0.6
"""Factor of the next budget if the model does not say by how much the request was too long."""

_GAP_BYTES = 32
_NUMBERS = re.compile(r"(?<![\w.])(\d{1,3}(?:[,_]\d{3})+|\d{4,9})(?![\w.])")
_FACTORS = (0.5, 4.0)
"""Bounds within which a measured factor is believed."""


class Row(Struct, frozen=True, kw_only=True):
    """One thing that was said or done."""

    tier: Tier
    text: str
    line: int = 0
    """Line in the session's file; 0 if there is none."""
    date: str = ""


class Selected(Struct, frozen=True, kw_only=True):
    """What the model is shown, and by whom it was said, for judging the answer."""

    text: str
    said: told.Evidence
    shown: int = 0
    left_out: int = 0


def budget(window: int | None, *, reserved: int) -> int:
    """Return the token budget of evidence for a window: its usable share, and never more than
    `reserved` (prompt and answer) leaves.
    """
    if not window:
        return UNKNOWN_WINDOW
    return max(SMALLEST, min(int(window * WINDOW_SHARE), window - reserved))


def limit_bytes(tokens: int, factor: float) -> int:
    """Convert tokens to bytes of text, where one estimated token is `factor` real ones."""
    return max(1, int(tokens * BYTES_PER_TOKEN / factor))


def measured(factor: float, *, estimated: int, counted: int) -> float:
    """Return the factor after a provider counted a request of known estimate; unchanged if it
    counted none.
    """
    if estimated <= 0 or counted <= 0:
        return factor
    return min(_FACTORS[1], max(_FACTORS[0], factor * counted / estimated))


def shrunk(tokens: int, why: str) -> int:
    """Return the next smaller budget after a refusal: from the numbers in the error (sent,
    allowed), otherwise by a fixed factor.
    """
    numbers = sorted({int(re.sub(r"\D", "", found)) for found in _NUMBERS.findall(why)}, reverse=True)
    share = 0.95 * numbers[1] / numbers[0] if len(numbers) > 1 else SHRINK
    return int(tokens * min(0.9, max(0.1, share)))


class Rows:
    """Rows of a session or of a part of it; at most `size` bytes of each tier are kept."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: dict[Tier, deque[tuple[int, Row, int]]] = {tier: deque() for tier in Tier}
        self._bytes = dict.fromkeys(Tier, 0)
        self.count = 0

    def add(self, row: Row) -> None:
        """Add a row; the oldest of its tier are dropped once they could not be shown any more."""
        self.count += 1
        size = row_bytes(row)
        kept = self._kept[row.tier]
        kept.append((self.count, row, size))
        self._bytes[row.tier] += size
        while self._bytes[row.tier] > self._size and len(kept) > 1:
            self._bytes[row.tier] -= kept.popleft()[2]

    def select(self, tokens: int, factor: float) -> Selected:
        """Select the rows that fit, in order; an empty text if none fits."""
        left = limit_bytes(tokens, factor) - _GAP_BYTES
        chosen: list[tuple[int, Row]] = []
        for tier in Tier:
            for number, row, size in reversed(self._kept[tier]):
                fits, taken = _fitted(row, size, left)
                if taken <= left:
                    left -= taken
                    chosen.append((number, fits))
        chosen.sort(key=lambda pair: pair[0])
        return Selected(
            text=_rendered(chosen, self.count),
            said=spoken(row for _, row in chosen),
            shown=len(chosen),
            left_out=self.count - len(chosen),
        )


def _fitted(row: Row, size: int, left: int) -> tuple[Row, int]:
    """Return the row and its bytes; user text that does not fit is cut, other rows are not."""
    if size <= left or row.tier is not Tier.USER:
        return row, size
    cut = replace(row, text=cut_row(row.text, max(1, left // CUT_SHARE // BYTES_PER_TOKEN)))
    return cut, row_bytes(cut)


def row_bytes(row: Row) -> int:
    """Return the maximum bytes of a row, including a gap mark before it."""
    text = _row_text(row)
    return (len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))) + 1 + _GAP_BYTES


def spoken(rows: Iterable[Row]) -> told.Evidence:
    """Group the rows by speaker; a message is named by its line."""
    user: list[tuple[str, str]] = []
    outside: list[str] = []
    for row in rows:
        if row.tier is Tier.USER:
            user.append((pointer(row.line), row.text))
        elif row.tier not in (Tier.FINAL, Tier.COMMENTARY):
            outside.append(row.text)
    return told.Evidence(user=tuple(user), outside=tuple(outside))


def pointer(line: int) -> str:
    """Name a place in a session."""
    return f"line {line}" if line else ""


def _row_text(row: Row) -> str:
    """Render a row: head at the start of a line, text indented, so that no text can pass for a
    head.
    """
    head = " ".join(filter(None, (f"[{row.line or '-'}]", LABELS[row.tier], row.date)))
    return f"{head}\n " + neutralise(row.text).strip().replace("\n", "\n ")


def _rendered(chosen: Sequence[tuple[int, Row]], count: int) -> str:
    lines: list[str] = []
    after = 0
    for number, row in chosen:
        lines += _gap(number - after - 1)
        lines.append(_row_text(row))
        after = number
    if chosen:
        lines += _gap(count - after)
    return "\n".join(lines)


def _gap(rows: int) -> list[str]:
    return [f"[… {rows} left out …]"] if rows else []


def cut_row(text: str, tokens: int = ROW_TOKENS) -> str:
    """Cut a text in the middle to the size of a row."""
    return cut_middle(text, tokens)


def parts(weights: Sequence[int], size: int, most: int = PASSES) -> list[int]:
    """Split a long session into parts; return the number of turns in each.

    `weights` are bytes of dialogue by turn, `size` the bytes of one part. One part if everything
    fits; at most `max_parts`, of about equal weight, never splitting a turn.
    """
    total = sum(weights)
    wanted = min(most, math.ceil(total / max(1, size)))
    if wanted <= 1 or len(weights) <= 1:
        return [len(weights)]
    ends: list[int] = []
    done = 0
    for at, weight in enumerate(weights, 1):
        done += weight
        if done * wanted >= total * (len(ends) + 1) and len(ends) < wanted - 1:
            ends.append(at)
    ends = [*(end for end in ends if end < len(weights)), len(weights)]
    return [end - start for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def estimated(text: str, factor: float) -> int:
    """Estimate the tokens of a text, scaled by the factor."""
    return estimate_text(text, factor)
