"""Select which sessions are consolidated: the most used, then the newest, up to the configured
number (RO-5; codex.md section 1.8). Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from memorist.core.token_count import estimate_text_tokens
from memorist.store.extract_rows import StoredExtract

_SECONDS_PER_DAY = 86_400


def select_rollouts(
    rows: Iterable[StoredExtract], *, limit: int, unused_days: int, now: float
) -> tuple[StoredExtract, ...]:
    """Return the selection in ascending order of session ids, so that a change of rank alone
    changes no file.

    Left out are extracts without content, and those last cited (or, if never cited, last changed or
    extracted: an old session imported recently is new here) more than `unused_days` before `now`
    (seconds since the epoch). If there are more than `limit`, they are ranked by uses, last use or
    change, last change, id.
    """
    cutoff = now - unused_days * _SECONDS_PER_DAY
    fit = [row for row in rows if not row.extracted.is_empty and _last_wanted(row) >= cutoff]
    fit.sort(
        key=lambda row: (row.uses, _changed_at(row), row.extracted.updated, row.extracted.thread),
        reverse=True,
    )
    return tuple(sorted(fit[: max(0, limit)], key=lambda row: row.extracted.thread))


ROUND_SESSIONS = 12
"""Sessions that a model is shown at once: their claims, some fourteen each, fill a page of each
list. Our choice.
"""
ROUND_TOKENS = 40_000
"""Tokens of their raw memories (`draft_review.MAX_RAW_MEMORIES_TOKENS`)."""


def plan_consolidation_rounds(
    chosen: Sequence[StoredExtract], known: Collection[str]
) -> list[tuple[StoredExtract, ...]]:
    """Return the selections of the rounds, each with more of the sessions that the folder does not
    hold yet, by their ids: the oldest first, so that a model is shown each and chooses what stays.
    """
    fresh = sorted(
        (row for row in chosen if row.extracted.thread not in known),
        key=lambda row: (row.extracted.updated, row.extracted.thread),
    )
    ends, tokens, first = [], 0, 0
    for at, row in enumerate(fresh):
        size = estimate_text_tokens(row.extracted.raw_memory)
        if at > first and (at - first >= ROUND_SESSIONS or tokens + size > ROUND_TOKENS):
            ends.append(at)
            tokens, first = 0, at
        tokens += size
    rounds = []
    for end in (*ends, len(fresh)):
        later = {row.extracted.thread for row in fresh[end:]}
        rounds.append(tuple(row for row in chosen if row.extracted.thread not in later))
    return rounds


def _changed_at(row: StoredExtract) -> int:
    return row.extracted.updated if row.last_use is None else row.last_use


def _last_wanted(row: StoredExtract) -> int:
    """Return when it was last cited; if never, when it was changed or extracted."""
    return (
        max(row.extracted.updated, row.extracted.generated)
        if row.last_use is None
        else row.last_use
    )
