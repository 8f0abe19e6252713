"""The receipt of a run that wrote a summary: what became of it, in place of the model's answer,
which stands in the history where it stands at all (FK-8). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.compaction_result import CompactionResult, UnchangedHistory
from memorist.compaction.full_compaction import MODEL_SUMMARY_ID
from memorist.core.sentences import shorten_to_one_line
from memorist.forks.fork_spec import ForkOutcome, Receipt
from memorist.safety.secrets import redact

MAX_NAMED_LINES = 8
"""Dropped lines that a receipt names; of the others their number."""
MAX_NAMED_CHARACTERS = 160
MAX_REASON_CHARACTERS = 600


class SummaryAcceptance(Struct, frozen=True):
    """What became of a summary."""

    why: str = ""
    """Why it was not used; empty where it stands."""
    tokens: int = 0
    """Tokens of the new history; 0 where that is not known."""
    dropped: tuple[str, ...] = ()
    """Lines that were not believed, each with the reason where there is one."""


def find_summary_acceptance(result: CompactionResult) -> SummaryAcceptance:
    """What became of the summary that a compaction was to be made of."""
    if isinstance(result, UnchangedHistory):
        return SummaryAcceptance(result.why or "It was not used.")
    dropped = tuple(each.why for each in result.removed_items if each.id == MODEL_SUMMARY_ID)
    return SummaryAcceptance("", result.tokens_after, dropped)


def add_acceptance_to_receipts(
    receipts: Sequence[Receipt], use: SummaryAcceptance
) -> list[Receipt]:
    """The receipts of the requests for one summary, of which the last one answered."""
    *failed, last = receipts
    ran = last.outcome in (ForkOutcome.UNCHANGED, ForkOutcome.OVER_LIMIT)
    return [*map(_bound_reason, failed), _describe_use(last, use) if ran else _bound_reason(last)]


def _bound_reason(receipt: Receipt) -> Receipt:
    return replace(
        receipt, said=shorten_to_one_line(redact(receipt.said).text, MAX_REASON_CHARACTERS)
    )


def _describe_use(receipt: Receipt, use: SummaryAcceptance) -> Receipt:
    if use.why:
        return _bound_reason(replace(receipt, said=f"The summary is not used: {use.why}"))
    size = f" in a history of {use.tokens:,} tokens" if use.tokens else ""
    lines = [f"The summary stands{size}."]
    lines += [
        f"(Dropped: {shorten_to_one_line(redact(each).text, MAX_NAMED_CHARACTERS)})"
        for each in use.dropped[:MAX_NAMED_LINES]
    ]
    left = len(use.dropped) - MAX_NAMED_LINES
    lines += [f"({left} more lines were dropped.)"] if left > 0 else []
    return replace(receipt, outcome=ForkOutcome.CHANGED, said="\n".join(lines))
