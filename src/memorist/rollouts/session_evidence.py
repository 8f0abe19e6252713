"""The evidence a model is shown of a recorded session: rows by speaker, chosen within a budget, in
order, with gap marks (RO-3). Pure.

The order in which rows get room, and the sizes, are the published ones (codex.md section 1.11).
What does not fit is left out whole, the newest kept first in each tier, so that the user's words
outlive tool output. Memory is bounded: no more of each tier is held than could be shown.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from enum import IntEnum

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.write_evidence import WriteEvidence, extract_own_words, extract_user_text
from memorist.core.messages import (
    RECALL_ID_PREFIX,
    ROLLOUT_MEMORY_ID_PREFIX,
    DocumentBlock,
    ImageBlock,
    Message,
    Origin,
    ToolResult,
    ToolUse,
)
from memorist.core.token_count import BYTES_PER_TOKEN
from memorist.core.truncation import truncate_middle
from memorist.errors import ContextTooLong
from memorist.formats.transcript_format import CompactionBoundary, TranscriptEntry
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.transcript.call_outcome import parse_call_outcome, result_head_and_tail
from memorist.transcript.tool_actions import (
    AskUserAction,
    ChangeAction,
    CommandAction,
    DelegateAction,
    OtherToolAction,
    ProposePlanAction,
    ReadAction,
    TaskListAction,
    TaskUpdateAction,
    ToolAction,
)
from memorist.transcript.typed_replies import find_typed_replies, parse_client_action


class EvidenceTier(IntEnum):
    """The speaker; a lower tier gets room first."""

    USER = 0
    FINAL = 1
    AGENT = 2
    COMMENTARY = 3
    HARNESS = 4
    TOOL = 5


TIER_LABELS = {
    EvidenceTier.USER: "user",
    EvidenceTier.FINAL: "assistant",
    EvidenceTier.AGENT: "other agent",
    EvidenceTier.COMMENTARY: "assistant, on the way",
    EvidenceTier.HARNESS: "harness",
    EvidenceTier.TOOL: "tool",
}

MAX_ROW_TOKENS = 2_500
"""Tokens of one row: 10,000 bytes (codex.md section 1.11)."""
MAX_TOOL_ROW_TOKENS = 2_000
"""Tokens of one tool's output."""
WINDOW_SHARE = 0.95 * 0.7
"""Share of a window for evidence: the usable part, less the prompt and the answer."""
UNKNOWN_WINDOW = 150_000
"""Tokens of evidence if the window is unknown."""
MAX_PARTS = 4
"""Upper bound of parts for a long session; older content is sampled, as in a single pass."""
MIN_EVIDENCE_TOKENS = 500
"""Tokens below which evidence is not reduced further."""
CUT_SHARE = 3
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

    tier: EvidenceTier
    text: str
    line: int = 0
    """Line in the session's file; 0 if there is none."""
    date: str = ""
    own: str = ""
    """The user's own words in it, which alone can prove what the user said: none of what a program
    may have passed on, of pasted and wrapped text, of an agent's question.
    """


class SelectedEvidence(Struct, frozen=True, kw_only=True):
    """What the model is shown, and by whom it was said, for judging the answer."""

    text: str
    by_speaker: WriteEvidence
    shown_rows: int = 0
    left_out: int = 0


def evidence_token_budget(window: int | None, *, reserved: int) -> int:
    """Return the token budget of evidence for a window: its usable share, and never more than
    `reserved` (prompt and answer) leaves.
    """
    if not window:
        return UNKNOWN_WINDOW
    return max(MIN_EVIDENCE_TOKENS, min(int(window * WINDOW_SHARE), window - reserved))


def tokens_to_bytes(tokens: int, factor: float) -> int:
    """Convert tokens to bytes of text, where one estimated token is `factor` real ones."""
    return max(1, int(tokens * BYTES_PER_TOKEN / factor))


def calibrate_factor(factor: float, *, estimated: int, counted: int) -> float:
    """Return the factor after a provider counted a request of known estimate; unchanged if it
    counted none.
    """
    if estimated <= 0 or counted <= 0:
        return factor
    return min(_FACTOR_BOUNDS[1], max(_FACTOR_BOUNDS[0], factor * counted / estimated))


def shrink_budget(budget: int, sent: int, refused: ContextTooLong) -> int:
    """Return the next smaller budget after a refusal of `sent` tokens of evidence: by what the
    provider says of the request's size and its window, otherwise by a fixed factor.

    Counted from what was sent: a session that is smaller than its budget shrinks as well.
    """
    share = SHRINK_FACTOR
    if refused.tokens and refused.window:
        share = 0.95 * refused.window / refused.tokens
    return int(min(budget, sent) * min(0.9, max(0.1, share)))


class EvidenceRows:
    """Rows of a session or of a part of it; at most `size` bytes of each tier are kept."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: dict[EvidenceTier, deque[tuple[int, EvidenceRow, int]]] = {
            tier: deque() for tier in EvidenceTier
        }
        self._bytes = dict.fromkeys(EvidenceTier, 0)
        self.count = 0

    def add(self, row: EvidenceRow) -> None:
        """Add a row; the oldest of its tier are dropped once they could not be shown any more."""
        self.count += 1
        size = max_row_bytes(row)
        kept = self._kept[row.tier]
        kept.append((self.count, row, size))
        self._bytes[row.tier] += size
        while self._bytes[row.tier] > self._size and len(kept) > 1:
            self._bytes[row.tier] -= kept.popleft()[2]

    def select(self, tokens: int, factor: float) -> SelectedEvidence:
        """Select the rows that fit, in order; an empty text if none fits."""
        left = tokens_to_bytes(tokens, factor) - _GAP_BYTES
        chosen: list[tuple[int, EvidenceRow]] = []
        for tier in EvidenceTier:
            for number, row, size in reversed(self._kept[tier]):
                fits, used = _fit_row(row, size, left)
                if used <= left:
                    left -= used
                    chosen.append((number, fits))
        chosen.sort(key=lambda pair: pair[0])
        return SelectedEvidence(
            text=_render_rows(chosen, self.count),
            by_speaker=group_by_speaker(row for _, row in chosen),
            shown_rows=len(chosen),
            left_out=self.count - len(chosen),
        )


def _fit_row(row: EvidenceRow, size: int, left: int) -> tuple[EvidenceRow, int]:
    """Return the row and its bytes; user text that does not fit is cut, other rows are not."""
    if size <= left or row.tier is not EvidenceTier.USER:
        return row, size
    cut = replace(row, text=truncate_row(row.text, max(1, left // CUT_SHARE // BYTES_PER_TOKEN)))
    return cut, max_row_bytes(cut)


def max_row_bytes(row: EvidenceRow) -> int:
    """Return the maximum bytes of a row, including a gap mark before it."""
    text = _row_text(row)
    return (
        (len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")))
        + 1
        + _GAP_BYTES
    )


def group_by_speaker(rows: Iterable[EvidenceRow]) -> WriteEvidence:
    """Group the rows by speaker; a message is named by its line."""
    user: list[tuple[str, str]] = []
    outside: list[str] = []
    for row in rows:
        if row.own:
            user.append((line_pointer(row.line), row.own))
        if row.tier is EvidenceTier.USER:
            outside += [row.text] if row.own != row.text else []
        elif row.tier not in (EvidenceTier.FINAL, EvidenceTier.COMMENTARY):
            outside.append(row.text)
    return WriteEvidence(user_messages=tuple(user), outside_texts=tuple(outside))


def line_pointer(line: int) -> str:
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


def truncate_row(text: str, tokens: int = MAX_ROW_TOKENS) -> str:
    """Cut a text in the middle to the size of a row."""
    return truncate_middle(text, tokens)


def split_turns(weights: Sequence[int], size: int, max_parts: int = MAX_PARTS) -> list[int]:
    """Split a long session into parts; return the number of turns in each.

    `weights` are bytes of dialogue by turn, `size` the bytes of one part. One part if everything
    fits; at most `max_parts`, of about equal weight, never splitting a turn.
    """
    total = sum(weights)
    wanted = min(max_parts, math.ceil(total / max(1, size)))
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


# Turn entries of a recorded session into rows of evidence: who speaks, what is left out, what
# belongs together (RO-3). Pure.


MAX_OPEN_CALLS = 64
"""Calls awaiting a result; the result of an older one never came."""
_MAX_CALL_CHARACTERS = 400
_INSTRUCTION_OPENINGS = (
    "# agents.md instructions", "<skill", "<user_instructions", "base directory for this skill:",
    "<permissions instructions", "<system-reminder",
    "<skills_instructions", "<plugins_instructions", "<apps_instructions", "<collaboration_mode",
    "<personality_spec", "caveat: the messages below",
    "<local-command-caveat", "[memorist]",
)  # fmt: skip
"""How texts begin that a client repeats in every session, case-folded: they are instruction files,
not work.
"""


def format_utc_day(timestamp: float | None) -> str:
    """Return the UTC day of a time in seconds since the epoch; empty for none, and for one outside
    the calendar.
    """
    if timestamp is None:
        return ""
    try:
        return datetime.fromtimestamp(timestamp, UTC).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return ""


class EvidenceRowBuilder:
    """Builds rows of entries, in order.

    The agent's last words before the user speaks again are its final answer, which is known only
    then.
    """

    def __init__(self) -> None:
        self._open: dict[str, ToolAction] = {}
        self._saying: list[EvidenceRow] = []
        self.turns = 0
        """User messages so far."""

    def add(self, entry: TranscriptEntry) -> Iterator[EvidenceRow]:
        """Yield the rows that are complete with this entry."""
        if isinstance(entry, CompactionBoundary):
            yield from self._flush_replies(EvidenceTier.COMMENTARY)
            return
        if not isinstance(entry, Message) or entry.id.startswith(
            (RECALL_ID_PREFIX, ROLLOUT_MEMORY_ID_PREFIX)
        ):
            return
        for result in entry.tool_results:
            yield from self._on_tool_result(entry, result)
        if entry.origin is Origin.MODEL:
            yield from self._on_model_message(entry)
        elif entry.role not in ("developer", "system"):
            yield from self._on_other_message(entry)

    def finish(self) -> Iterator[EvidenceRow]:
        """Yield the pending rows at the end of the session."""
        yield from self._flush_replies(EvidenceTier.FINAL)

    def _flush_replies(self, tier: EvidenceTier) -> Iterator[EvidenceRow]:
        saying, self._saying = self._saying, []
        for row in saying:
            yield EvidenceRow(tier=tier, text=row.text, line=row.line, date=row.date)

    def _on_model_message(self, message: Message) -> Iterator[EvidenceRow]:
        if message.text.strip():
            self._saying.append(_build_row(message, EvidenceTier.FINAL, message.text))
        for call in message.tool_uses:
            yield from self._flush_replies(EvidenceTier.COMMENTARY)
            self._on_tool_call(call)

    def _on_tool_call(self, call: ToolUse) -> None:
        self._open[call.id] = parse_client_action(call)
        if len(self._open) > MAX_OPEN_CALLS:
            del self._open[next(iter(self._open))]

    def _on_tool_result(self, message: Message, result: ToolResult) -> Iterator[EvidenceRow]:
        action = self._open.pop(result.tool_use_id, None)
        kind = (
            action.kind
            if isinstance(action, CommandAction)
            else "ask"
            if isinstance(action, AskUserAction | ProposePlanAction)
            else "file"
        )
        outcome = parse_call_outcome(result, kind, result_head_and_tail(result))
        if outcome.user_text and (outcome.rejected or kind == "ask"):
            how = "Refused: " if outcome.rejected else "Answered: "
            row = _build_row(message, EvidenceTier.USER, f"{how}{outcome.user_text}")
            replies = find_typed_replies(result, action)
            yield replace(row, own="\n".join(each.text for each in replies if each.proven))
            return
        if isinstance(action, TaskListAction | TaskUpdateAction):
            return  # its answer only says that the list was taken
        text = truncate_row(
            "\n".join(filter(None, (result.text.strip(), _attachment_marks(result)))),
            MAX_TOOL_ROW_TOKENS,
        )
        failed = " (failed)" if outcome.ok is False else ""
        yield _build_row(
            message,
            EvidenceTier.TOOL,
            f"{describe_action(action)[:_MAX_CALL_CHARACTERS]}{failed}\n{text}".strip(),
        )

    def _on_other_message(self, message: Message) -> Iterator[EvidenceRow]:
        words = extract_user_text(message)
        marks = _attachment_marks(message)
        if message.origin is Origin.USER and (words or marks):
            yield from self._flush_replies(EvidenceTier.FINAL)
            self.turns += 1
            row = _build_row(message, EvidenceTier.USER, "\n".join(filter(None, (words, marks))))
            yield replace(row, own=extract_own_words(words) if message.is_typed else "")
            return
        text = message.text.strip()
        if (
            not text
            or message.origin is Origin.TOOL
            or text[:40].lower().startswith(_INSTRUCTION_OPENINGS)
        ):
            return
        tier = (
            EvidenceTier.AGENT
            if message.origin in (Origin.AGENT, Origin.NOTIFICATION)
            else EvidenceTier.HARNESS
        )
        yield _build_row(message, tier, text)


def _build_row(message: Message, tier: EvidenceTier, text: str) -> EvidenceRow:
    return EvidenceRow(
        tier=tier,
        text=truncate_row(text, MAX_ROW_TOKENS),
        line=message.line,
        date=format_utc_day(message.timestamp),
    )


def _attachment_marks(holder: Message | ToolResult) -> str:
    """Render one mark per image and document."""
    blocks = holder.blocks if isinstance(holder, Message) else holder.content
    return "\n".join(
        "[image]" if isinstance(block, ImageBlock) else "[document]"
        for block in blocks
        if isinstance(block, ImageBlock | DocumentBlock)
    )


def describe_action(action: ToolAction | None) -> str:
    """Describe a call in a few words."""
    match action:
        case CommandAction(short=short):
            return f"$ {short}"
        case ChangeAction(changes=changes):
            return "changed " + ", ".join(change.path for change in changes[:8])
        case ReadAction(paths=paths, what=what):
            return f"read {' '.join((*paths, what))}".strip()
        case DelegateAction(what=what):
            return f"gave to another agent: {what}"
        case OtherToolAction(name=name, detail=detail) if name:
            return f"{name} {detail}".strip()
        case _:
            return "a call"
