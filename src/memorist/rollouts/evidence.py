"""What a model is shown of a recorded session: rows by who speaks, chosen within a budget, in their own order, with marks for gaps (RO-3). Pure.

The order in which rows get room, and the sizes, are the published ones (codex.md section 1.11). What does not fit is left out whole, newest kept
first in each tier, so that the words of the person outlive the output of tools. Memory is bounded: of each tier no more is held than could be shown.
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
    """Who speaks; a lower one gets room first."""

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
"""Of one row: 10,000 bytes (codex.md section 1.11)."""
TOOL_TOKENS = 2_000
"""Of one tool's output."""
WINDOW_SHARE = 0.95 * 0.7
"""Part of a window that evidence may fill: what can be used of it, and of that what is left beside the prompt and the answer."""
UNKNOWN_WINDOW = 150_000
"""Tokens of evidence where the window is not known."""
PASSES = 4
"""Most parts that a long session is read in: what is older than that is chosen from, as in a single pass."""
SMALLEST = 500
"""Tokens below which evidence is not cut down any further."""
CUT_SHARE = 3
"""Words of the person that do not fit are cut to one part in so many of what is left, rather than left out."""
SHRINK = 0.6
"""Part of the budget that is tried next where the model does not say by how much the request was too long."""

_GAP_BYTES = 32
_NUMBERS = re.compile(r"(?<![\w.])(\d{1,3}(?:[,_]\d{3})+|\d{4,9})(?![\w.])")
_FACTORS = (0.5, 4.0)
"""Bounds of what a measured factor is believed to be."""


class Row(Struct, frozen=True, kw_only=True):
    """One thing that was said or done."""

    tier: Tier
    text: str
    line: int = 0
    """Line of the session's file; 0 where there is none."""
    date: str = ""


class Selected(Struct, frozen=True, kw_only=True):
    """What the model is shown, and from whom it comes, for judging what it answers."""

    text: str
    said: told.Evidence
    shown: int = 0
    left_out: int = 0


def budget(window: int | None, *, reserved: int) -> int:
    """Tokens of evidence for a window: the share that may be filled, and never more than what `reserved` (prompt and answer) leaves."""
    if not window:
        return UNKNOWN_WINDOW
    return max(SMALLEST, min(int(window * WINDOW_SHARE), window - reserved))


def limit_bytes(tokens: int, factor: float) -> int:
    """Bytes of text that so many tokens are, where one estimated token is `factor` real ones."""
    return max(1, int(tokens * BYTES_PER_TOKEN / factor))


def measured(factor: float, *, estimated: int, counted: int) -> float:
    """The factor after a provider counted a request that was estimated at so many tokens; the old one where it counted none."""
    if estimated <= 0 or counted <= 0:
        return factor
    return min(_FACTORS[1], max(_FACTORS[0], factor * counted / estimated))


def shrunk(tokens: int, why: str) -> int:
    """The next smaller budget after a refusal: by the numbers in its words (what was sent, what fits), else by a fixed part."""
    numbers = sorted({int(re.sub(r"\D", "", found)) for found in _NUMBERS.findall(why)}, reverse=True)
    share = 0.95 * numbers[1] / numbers[0] if len(numbers) > 1 else SHRINK
    return int(tokens * min(0.9, max(0.1, share)))


class Rows:
    """Rows of a session, or of a part of it, as they come; no more of each tier is kept than `size` bytes."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: dict[Tier, deque[tuple[int, Row, int]]] = {tier: deque() for tier in Tier}
        self._bytes = dict.fromkeys(Tier, 0)
        self.count = 0

    def add(self, row: Row) -> None:
        """Take the next row; the oldest of its tier go where they could not be shown any more."""
        self.count += 1
        size = row_bytes(row)
        kept = self._kept[row.tier]
        kept.append((self.count, row, size))
        self._bytes[row.tier] += size
        while self._bytes[row.tier] > self._size and len(kept) > 1:
            self._bytes[row.tier] -= kept.popleft()[2]

    def select(self, tokens: int, factor: float) -> Selected:
        """The rows that fit, in their order; an empty text where none fits."""
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
    """The row and its bytes; the person's words are cut where they do not fit, other rows are not."""
    if size <= left or row.tier is not Tier.USER:
        return row, size
    cut = replace(row, text=cut_row(row.text, max(1, left // CUT_SHARE // BYTES_PER_TOKEN)))
    return cut, row_bytes(cut)


def row_bytes(row: Row) -> int:
    """Bytes that a row takes at most, with the mark for a gap before it."""
    text = _row_text(row)
    return (len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))) + 1 + _GAP_BYTES


def spoken(rows: Iterable[Row]) -> told.Evidence:
    """The rows sorted by whose words they are; a message is named by its line."""
    user: list[tuple[str, str]] = []
    outside: list[str] = []
    for row in rows:
        if row.tier is Tier.USER:
            user.append((pointer(row.line), row.text))
        elif row.tier not in (Tier.FINAL, Tier.COMMENTARY):
            outside.append(row.text)
    return told.Evidence(user=tuple(user), outside=tuple(outside))


def pointer(line: int) -> str:
    """How a place in a session is named."""
    return f"line {line}" if line else ""


def _row_text(row: Row) -> str:
    """A row: its head at the start of a line, its text a space further in, so that no text can pass for a head."""
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
    """A text cut in the middle to the size of a row."""
    return cut_middle(text, tokens)


def parts(weights: Sequence[int], size: int, most: int = PASSES) -> list[int]:
    """Where a long session is parted: for each part the number of turns in it. `weights` are bytes of talk by turn, `size` those of one pass.

    One part where all fits; no more than `most`, of about equal weight, never parting a turn.
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
    """Tokens of a text by the factor."""
    return estimate_text(text, factor)
