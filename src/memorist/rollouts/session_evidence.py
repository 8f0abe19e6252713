"""The evidence a model is shown of a recorded session: rows by speaker, chosen within a budget, in
order, with gap marks (RO-3). Pure.

The order in which rows get room, and the sizes, are the published ones (Codex).
What does not fit is left out whole, the newest kept first in each tier, so that the user's words
outlive tool output. Memory is bounded: no more of each tier is held than could be shown.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from enum import IntEnum

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.write_evidence import WriteEvidence
from memorist.core.token_count import BYTES_PER_TOKEN
from memorist.core.truncation import truncate_middle
from memorist.errors import ContextTooLong
from memorist.safety.markup_sanitizer import neutralize_markup


class SpeakerPriority(IntEnum):
    """The speaker; a lower tier gets room first."""

    USER = 0
    FINAL = 1
    AGENT = 2
    COMMENTARY = 3
    HARNESS = 4
    TOOL = 5


TIER_LABELS = {
    SpeakerPriority.USER: "user",
    SpeakerPriority.FINAL: "assistant",
    SpeakerPriority.AGENT: "other agent",
    SpeakerPriority.COMMENTARY: "assistant, on the way",
    SpeakerPriority.HARNESS: "harness",
    SpeakerPriority.TOOL: "tool",
}

MAX_ROW_TOKENS = 2_500
"""Tokens of one row: 10,000 bytes (Codex)."""
MAX_TOOL_ROW_TOKENS = 2_000
"""Tokens of one tool's output."""
EVIDENCE_WINDOW_SHARE = 0.95 * 0.7
"""Share of a window for evidence: the usable part, less the prompt and the answer."""
UNKNOWN_WINDOW_EVIDENCE_TOKENS = 150_000
"""Tokens of evidence if the window is unknown."""
MAX_PARTS = 4
"""Upper bound of parts for a long session; older content is sampled, as in a single pass."""
MIN_EVIDENCE_TOKENS = 500
"""Tokens below which evidence is not reduced further."""
CUT_TEXT_ROOM_DIVISOR = 3
"""User text that does not fit is cut to this fraction (1/n) of the remaining room rather than left
out.
"""
SHRINK_FACTOR = 0.6
"""Factor of the next budget if the model does not say by how much the request was too long."""

_GAP_BYTES = 32
_FACTOR_BOUNDS = (0.5, 4.0)
"""Bounds within which a measured factor is believed."""


class EvidenceRow(Struct, frozen=True, kw_only=True):
    """One thing that was said or done."""

    tier: SpeakerPriority
    text: str
    line: int = 0
    """Line in the session's file; 0 if there is none."""
    date: str = ""
    own: str = ""
    """The user's own words in it, which alone can prove what the user said: none of what a program
    may have passed on, of pasted and wrapped text, of an agent's question.
    """


class EvidenceBySpeaker(Struct, frozen=True, kw_only=True):
    """What the model is shown, and by whom it was said, for judging the answer."""

    text: str
    by_speaker: WriteEvidence
    typed: tuple[str, ...] = ()
    """The user's messages, with what they pasted."""
    shown_rows: int = 0


def compute_evidence_token_budget(window: int | None, *, reserved: int) -> int:
    """Return the token budget of evidence for a window: its usable share, and never more than
    `reserved` (prompt and answer) leaves.
    """
    if not window:
        return UNKNOWN_WINDOW_EVIDENCE_TOKENS
    return max(MIN_EVIDENCE_TOKENS, min(int(window * EVIDENCE_WINDOW_SHARE), window - reserved))


def convert_tokens_to_bytes(tokens: int, factor: float) -> int:
    """Convert tokens to bytes of text, where one estimated token is `factor` real ones."""
    return max(1, int(tokens * BYTES_PER_TOKEN / factor))


def calibrate_token_estimate_factor(factor: float, *, estimated: int, counted: int) -> float:
    """Return the factor after a provider counted a request of known estimate; unchanged if it
    counted none.
    """
    if estimated <= 0 or counted <= 0:
        return factor
    return min(_FACTOR_BOUNDS[1], max(_FACTOR_BOUNDS[0], factor * counted / estimated))


def shrink_evidence_budget(budget: int, sent: int, refused: ContextTooLong) -> int:
    """Return the next smaller budget after a refusal of `sent` tokens of evidence: by what the
    provider says of the request's size and its window, otherwise by a fixed factor.

    Counted from what was sent: a session that is smaller than its budget shrinks as well.
    """
    share = SHRINK_FACTOR
    if refused.tokens and refused.window:
        share = 0.95 * refused.window / refused.tokens
    return int(min(budget, sent) * min(0.9, max(0.1, share)))


class EvidenceRowBuffer:
    """Rows of a session or of a part of it; at most `size` bytes of each tier are kept."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: dict[SpeakerPriority, deque[tuple[int, EvidenceRow, int]]] = {
            tier: deque() for tier in SpeakerPriority
        }
        self._bytes = dict.fromkeys(SpeakerPriority, 0)
        self.count = 0

    def add(self, row: EvidenceRow) -> None:
        """Add a row; the oldest of its tier are dropped once they could not be shown any more."""
        self.count += 1
        size = compute_row_bytes_with_gap(row)
        kept = self._kept[row.tier]
        kept.append((self.count, row, size))
        self._bytes[row.tier] += size
        while self._bytes[row.tier] > self._size and len(kept) > 1:
            self._bytes[row.tier] -= kept.popleft()[2]

    def select_rows_to_fit(self, tokens: int, factor: float) -> EvidenceBySpeaker:
        """Select the rows that fit, in order; an empty text if none fits."""
        left = convert_tokens_to_bytes(tokens, factor) - _GAP_BYTES
        chosen: list[tuple[int, EvidenceRow]] = []
        for tier in SpeakerPriority:
            for number, row, size in reversed(self._kept[tier]):
                fits, used = _fit_row(row, size, left)
                if used <= left:
                    left -= used
                    chosen.append((number, fits))
        chosen.sort(key=lambda pair: pair[0])
        return EvidenceBySpeaker(
            text=_render_rows(chosen, self.count),
            by_speaker=group_evidence_by_speaker(row for _, row in chosen),
            typed=tuple(row.text for _, row in chosen if row.tier is SpeakerPriority.USER),
            shown_rows=len(chosen),
        )


def _fit_row(row: EvidenceRow, size: int, left: int) -> tuple[EvidenceRow, int]:
    """Return the row and its bytes; user text that does not fit is cut, other rows are not."""
    if size <= left or row.tier is not SpeakerPriority.USER:
        return row, size
    cut = replace(
        row,
        text=truncate_middle(row.text, max(1, left // CUT_TEXT_ROOM_DIVISOR // BYTES_PER_TOKEN)),
    )
    return cut, compute_row_bytes_with_gap(cut)


def compute_row_bytes_with_gap(row: EvidenceRow) -> int:
    """Return the maximum bytes of a row, including a gap mark before it."""
    text = _row_text(row)
    return (
        (len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")))
        + 1
        + _GAP_BYTES
    )


def group_evidence_by_speaker(rows: Iterable[EvidenceRow]) -> WriteEvidence:
    """Group the rows by speaker; a message is named by its line."""
    user: list[tuple[str, str]] = []
    outside: list[str] = []
    for row in rows:
        if row.own:
            user.append((render_line_number(row.line), row.own))
        if row.tier is SpeakerPriority.USER:
            outside += [row.text] if row.own != row.text else []
        elif row.tier not in (SpeakerPriority.FINAL, SpeakerPriority.COMMENTARY):
            outside.append(row.text)
    return WriteEvidence(user_messages=tuple(user), outside_texts=tuple(outside))


def render_line_number(line: int) -> str:
    """Name a place in a session."""
    return f"line {line}" if line else ""


def _row_text(row: EvidenceRow) -> str:
    """Render a row: head at the start of a line, text indented, so that no text can pass for a
    head.
    """
    head = " ".join(filter(None, (f"[{row.line or '-'}]", TIER_LABELS[row.tier], row.date)))
    return f"{head}\n " + neutralize_markup(row.text).strip().replace("\n", "\n ")


def _render_rows(chosen: Sequence[tuple[int, EvidenceRow]], count: int) -> str:
    lines: list[str] = []
    after = 0
    for number, row in chosen:
        lines += _gap_mark(number - after - 1)
        lines.append(_row_text(row))
        after = number
    if chosen:
        lines += _gap_mark(count - after)
    return "\n".join(lines)


def _gap_mark(rows: int) -> list[str]:
    return [f"[… {rows} left out …]"] if rows else []


def count_turns_per_part(weights: Sequence[int], size: int) -> list[int]:
    """Split a long session into parts; return the number of turns in each.

    `weights` are bytes of dialogue by turn, `size` the bytes of one part. One part if everything
    fits; at most `MAX_PARTS`, of about equal weight, never splitting a turn.
    """
    total = sum(weights)
    wanted = min(MAX_PARTS, math.ceil(total / max(1, size)))
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
