"""Whether memory helps: what differs between sessions that have it and those that go without it by
lot (`memory_holdout`); and the report of it. Pure.

What is compared are whole sessions; the interval is Welch's, of the logarithms: a few sessions are
many times as long as the others, and by the plain means such a one passes for an effect. Neither
kind counts as less varied than both together: of thirty sessions often none holds what is rare, and
no variance at all would pass for certainty.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import NormalDist, fmean, variance

from msgspec import Struct

from memorist.auto_memory.statements.user_prose import extract_redacted_user_text
from memorist.core.messages import Message
from memorist.engine.session_list import list_known_sessions
from memorist.errors import UnreadableSession
from memorist.formats.format_detection import read_session
from memorist.formats.transcript_format import TranscriptEntry
from memorist.rollouts.user_reactions import UserReaction, classify_user_reaction
from memorist.store.home_layout import Layout
from memorist.store.memory_uses import MemoryUseTotal, read_holdout_by_session, sum_memory_uses
from memorist.store.sqlite_database import Connection
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.transcript_analysis.call_outcome import (
    find_error_line,
    get_result_head_and_tail,
    parse_call_outcome,
)
from memorist.transcript_analysis.tool_actions import CommandAction, parse_tool_action

MEASURES = ("turns", "corrections", "repeated_failures", "tokens")
"""Fields of `SessionMeasures` that are compared."""
MIN_SESSIONS = 30
"""Sessions of each kind below which nothing is claimed: the interval of fewer is too narrow. Our
choice.
"""
MIN_OCCURRENCES = 3.0
"""Sessions of the rarer kind that are expected to hold what is measured, by both kinds together;
below it nothing is claimed. Chosen on generated sessions (docs/recall.md).
"""
CONFIDENCE_LEVEL = 1 - 0.05 / len(MEASURES)
"""Of each interval: together they hold with 95 % (Bonferroni)."""


class SessionMeasures(Struct, frozen=True, kw_only=True):
    """Measures of one session: turns, corrections, failures, tokens."""

    turns: int
    """Messages that the user typed."""
    corrections: int
    """Those of them that put the agent right."""
    repeated_failures: int
    """Commands that failed with an error that the same command had met in this session."""
    tokens: int
    """Of all requests, read from the cache or not, and of all replies."""


class MemoryEffectEstimate(Struct, frozen=True, kw_only=True):
    """One measure, with memory and without, each as the mean of its logarithms (of one more than
    the count, so that 0 has one), taken back.
    """

    measure: str
    with_memory: float
    without: float
    low: float
    """Of the ratio: one more than the count with memory, to that without."""
    high: float
    verdict: str
    """`lower` or `higher` with memory where the interval leaves out 1, otherwise `no difference
    shown`; `too few` below `MIN_SESSIONS` of a kind, `too rare` below `MIN_OCCURRENCES`.
    """


def measure_session(entries: Iterable[TranscriptEntry]) -> SessionMeasures:
    """Count in a recorded session what `MEASURES` lists."""
    turns = corrections = tokens = 0
    failures = _FailureCounter()
    for entry in entries:
        if not isinstance(entry, Message):
            continue
        typed = extract_redacted_user_text(entry)
        act = classify_user_reaction(typed, first=not turns) if typed else UserReaction.COMMAND
        turns += act is not UserReaction.COMMAND
        corrections += act is UserReaction.CORRECTS
        tokens += entry.usage.context_tokens if entry.usage is not None else 0
        failures.add(entry)
    return SessionMeasures(
        turns=turns, corrections=corrections, repeated_failures=failures.repeated, tokens=tokens
    )


class _FailureCounter:
    """Counts failures that came before in the same session."""

    def __init__(self) -> None:
        self.repeated = 0
        self._open: dict[str, CommandAction] = {}
        self._seen: set[tuple[str, str]] = set()

    def add(self, message: Message) -> None:
        """Follow one message."""
        for use in message.tool_uses:
            action = parse_tool_action(use)
            if isinstance(action, CommandAction):
                self._open[use.id] = action
        for result in message.tool_results:
            called = self._open.pop(result.tool_use_id, None)
            if called is None:
                continue
            ends = get_result_head_and_tail(result)
            if parse_call_outcome(result, called, ends).ok is False:
                failure = called.short_command, find_error_line(*ends)
                self.repeated += failure in self._seen
                self._seen.add(failure)


def estimate_memory_effects(
    given: Sequence[SessionMeasures], held_out: Sequence[SessionMeasures]
) -> tuple[MemoryEffectEstimate, ...]:
    """Compare sessions with memory to those without, measure by measure."""
    return tuple(_estimate(name, given, held_out) for name in MEASURES)


def _estimate(
    name: str, given: Sequence[SessionMeasures], held_out: Sequence[SessionMeasures]
) -> MemoryEffectEstimate:
    ours = [math.log1p(getattr(each, name)) for each in given]
    others = [math.log1p(getattr(each, name)) for each in held_out]
    doubt = _find_doubt(ours, others)
    low, high = (0.0, 0.0) if doubt else _find_welch_interval(ours, others)
    shown = "lower" if high < 0 else "higher" if low > 0 else "no difference shown"
    return MemoryEffectEstimate(
        measure=name,
        with_memory=math.expm1(fmean(ours)) if ours else 0.0,
        without=math.expm1(fmean(others)) if others else 0.0,
        low=math.exp(low),
        high=math.exp(high),
        verdict=doubt or shown,
    )


def _find_doubt(ours: Sequence[float], others: Sequence[float]) -> str:
    """Why nothing is claimed; empty where something may be."""
    rarer, sessions = min(len(ours), len(others)), len(ours) + len(others)
    if rarer < MIN_SESSIONS:
        return "too few"
    holding = sum(1 for each in (*ours, *others) if each)
    return "too rare" if holding * rarer < MIN_OCCURRENCES * sessions else ""


def _find_welch_interval(ours: Sequence[float], others: Sequence[float]) -> tuple[float, float]:
    """Welch's interval of the difference of the means, of unequal variances."""
    spreads, sizes = (variance(ours), variance(others)), (len(ours), len(others))
    joint = sum((size - 1) * spread for size, spread in zip(sizes, spreads, strict=True)) / (
        sum(sizes) - 2
    )
    parts = [max(each, joint) / size for each, size in zip(spreads, sizes, strict=True)]
    difference = fmean(ours) - fmean(others)
    if not sum(parts):
        return difference, difference
    freedom = sum(parts) ** 2 / (
        parts[0] ** 2 / (len(ours) - 1) + parts[1] ** 2 / (len(others) - 1)
    )
    reach = _student_quantile((1 + CONFIDENCE_LEVEL) / 2, freedom) * math.sqrt(sum(parts))
    return difference - reach, difference + reach


def _student_quantile(share: float, freedom: float) -> float:
    """Student's quantile by its expansion around the normal one: within 0.1 % from 15 degrees of
    freedom on.
    """
    z = NormalDist().inv_cdf(share)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / freedom + second / freedom**2


# Whether memory helped in a home: the sessions that went without it beside the others, and the
# memories that were shown often and never used.

MIN_UNUSED_SHOWINGS = 5
"""Times that a memory was shown without once being read or cited, from which on it is named. Our
choice.
"""


class MemoryEffectReport(Struct, frozen=True, kw_only=True):
    """What memory changed, as far as can be told."""

    with_memory: int
    """Sessions."""
    without: int
    minimum: int = MIN_SESSIONS
    level: float = CONFIDENCE_LEVEL
    effects: tuple[MemoryEffectEstimate, ...]
    idle: tuple[str, ...]
    """Memories of this project that were shown often and never used."""


def measure_memory_effect(
    home: Layout, database: Connection | None, folder: Path
) -> MemoryEffectReport:
    """Measure the sessions that were drawn by `recall.holdout`, and find idle memories of a memory
    folder. Raises StoreError.
    """
    drawn = {} if database is None else read_holdout_by_session(database)
    files = {each.id: each.file for each in list_known_sessions(home, None)} if drawn else {}
    groups: tuple[list[SessionMeasures], list[SessionMeasures]] = ([], [])
    for session, held_out in drawn.items():
        with contextlib.suppress(UnreadableSession):
            found = measure_session(read_session(UnpackedUtf8Lines(Path(files.get(session, "")))))
            groups[held_out].append(found)
    uses = {} if database is None else sum_memory_uses(database, str(folder))
    return MemoryEffectReport(
        with_memory=len(groups[0]),
        without=len(groups[1]),
        effects=estimate_memory_effects(*groups),
        idle=tuple(_find_idle(uses)),
    )


def _find_idle(uses: dict[str, MemoryUseTotal]) -> Iterator[str]:
    for path, total in sorted(uses.items()):
        if path and total.shown >= MIN_UNUSED_SHOWINGS and not total.used:
            yield path
