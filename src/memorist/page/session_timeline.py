"""How a recorded session went: its turns with tokens, costs, cache breaks, compactions and
failures, and its notes at any turn. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct, structs

from memorist.compaction.cache_break_detection import MIN_DROP_SHARE, MIN_DROP_TOKENS
from memorist.context.recorded_context import starts_user_turn
from memorist.core.messages import Message, Usage
from memorist.formats.transcript_format import CompactionBoundary, TranscriptEntry
from memorist.models.model_pricing import compute_call_cost, load_shipped_prices
from memorist.replay.replay_results import FailureAndFix
from memorist.replay.session_recorder import (
    estimate_message_tokens_by_kind,
    list_failures_with_fixes,
)
from memorist.session_memory.structural_notes import render_structural_sections
from memorist.transcript_analysis.transcript_ledger import TranscriptLedger

BESIDE = "beside the file"
"""What the provider counted and the session's file does not hold: system prompt, tools, and the
error of the estimate.
"""


class TurnUsage(Struct, frozen=True, kw_only=True):
    """One turn of a recorded session, as its provider counted it."""

    number: int
    said: str
    line: int
    context: int
    """Tokens of the largest request."""
    cost: float
    """US dollars of its calls, as far as the model's price is known."""
    tokens_by_kind: Mapping[str, int] = {}
    """Tokens of the window by kind of content when it ended: estimated from the file, and what the
    provider counted beyond that as `BESIDE`.
    """


class CacheLoss(Struct, frozen=True, kw_only=True):
    """A call that read much less from the cache than the one before."""

    turn: int
    line: int
    tokens: int
    cost: float
    """US dollars that these tokens cost more than read from the cache."""


class SessionTimeline(Struct, frozen=True, kw_only=True):
    """How a recorded session went."""

    turns: tuple[TurnUsage, ...]
    losses: tuple[CacheLoss, ...]
    compactions: tuple[tuple[int, CompactionBoundary, int], ...]
    """Turn, mark, and tokens of the next request (0 where there is none)."""
    troubles: tuple[FailureAndFix, ...] = ()
    """What failed, and what fixed it."""


class SessionTimelineBuilder:
    """Builds the timeline of a recorded session, entry by entry."""

    def __init__(self) -> None:
        self._turns: list[TurnUsage] = []
        self._losses: list[CacheLoss] = []
        self._marks: list[tuple[int, CompactionBoundary, int]] = []
        self._window: Counter[str] = Counter()
        self._ledger = TranscriptLedger()
        self._last = Usage()
        self._counted: set[str] = set()

    def add(self, entry: TranscriptEntry) -> None:
        """Take in the next entry."""
        if isinstance(entry, CompactionBoundary):
            self._marks.append((len(self._turns), entry, 0))
            self._last, self._window = Usage(), Counter()
        elif isinstance(entry, Message):
            self._ledger.add(entry)
            self._add_message(entry)

    def build(self) -> SessionTimeline:
        """The timeline so far."""
        return SessionTimeline(
            turns=tuple(self._turns),
            losses=tuple(self._losses),
            compactions=tuple(self._marks),
            troubles=list_failures_with_fixes(self._ledger),
        )

    def _add_message(self, message: Message) -> None:
        if starts_user_turn(message):
            self._turns.append(
                TurnUsage(
                    number=len(self._turns) + 1,
                    said=message.text,
                    line=message.line or 0,
                    context=0,
                    cost=0,
                )
            )
        self._window.update(estimate_message_tokens_by_kind(message))
        if not self._turns:
            return
        turn = self._turns[-1]
        usage = message.usage
        key = message.reply_id or f"{message.model}{usage}"
        if usage is not None and key not in self._counted:
            self._counted.add(key)
            turn = self._add_call(turn, message, usage)
        other_tokens = max(0, turn.context - self._window.total())
        self._turns[-1] = structs.replace(
            turn, tokens_by_kind={**self._window, BESIDE: other_tokens}
        )

    def _add_call(self, turn: TurnUsage, message: Message, usage: Usage) -> TurnUsage:
        loss = _find_loss(self._last, usage, message, len(self._turns))
        self._losses += [] if loss is None else [loss]
        if self._marks and not self._marks[-1][2]:
            self._marks[-1] = (*self._marks[-1][:2], usage.context_tokens)
        self._last = usage
        cost = compute_call_cost(message.model or "", usage, load_shipped_prices()) or 0.0
        return structs.replace(
            turn, context=max(turn.context, usage.context_tokens), cost=turn.cost + cost
        )


def build_session_timeline(entries: Iterable[TranscriptEntry]) -> SessionTimeline:
    """The turns of a session with tokens, costs, cache breaks, compactions and failures."""
    builder = SessionTimelineBuilder()
    for entry in entries:
        builder.add(entry)
    return builder.build()


def _find_loss(before: Usage, now: Usage, message: Message, turn: int) -> CacheLoss | None:
    lost = before.cache_read - now.cache_read
    if lost <= max(MIN_DROP_TOKENS, MIN_DROP_SHARE * before.cache_read):
        return None
    prices, model = load_shipped_prices(), message.model or ""
    whole = compute_call_cost(model, Usage(input=lost), prices) or 0.0
    return CacheLoss(
        turn=turn,
        line=message.line or 0,
        tokens=lost,
        cost=whole - (compute_call_cost(model, Usage(cache_read=lost), prices) or 0.0),
    )


def render_structural_notes_at(entries: Iterable[TranscriptEntry], turn: int) -> str:
    """The notes that the transcript's structure proves when a turn ended."""
    ledger = TranscriptLedger()
    turns = 0
    for entry in entries:
        if isinstance(entry, CompactionBoundary):
            ledger.on_compaction()
        elif isinstance(entry, Message):
            turns += starts_user_turn(entry)
            if turns > turn:
                break
            ledger.add(entry)
    sections = render_structural_sections(ledger)
    return "\n\n".join(f"# {title}\n{text}" for title, text in sections.items() if text.strip())


def find_removed_and_added_lines(before: str, now: str) -> tuple[list[str], list[str]]:
    """The lines that went and the lines that came, without empty ones."""
    old, new = (dict.fromkeys(filter(str.strip, text.splitlines())) for text in (before, now))
    return [line for line in old if line not in new], [line for line in new if line not in old]
