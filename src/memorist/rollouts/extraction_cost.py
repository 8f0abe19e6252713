"""What the extraction of past sessions by a model would cost. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from memorist.core.token_count import BYTES_PER_TOKEN
from memorist.models.context_window import DEFAULT_WINDOW
from memorist.models.model_pricing import (
    MILLION,
    load_shipped_prices,
    match_model_price,
    merge_prices,
)
from memorist.rollouts.session_evidence import compute_evidence_token_budget
from memorist.settings import Settings
from memorist.store.rollout_rows import Rollout

ESTIMATED_ANSWER_TOKENS = 2_000
"""Approximate tokens of one answer of stage one: a summary and a raw memory of some tasks."""


def describe_extraction_cost(threads: Sequence[Rollout], settings: Settings) -> list[str]:
    """The most that the extraction of these sessions would cost, in lines for the user; empty if
    there are none.
    """
    name = settings.rollouts.model or settings.model
    if not threads:
        return []
    if name == "structural":
        return [
            "no model is set: their structure alone is taken, which costs nothing (--model "
            "names one)"
        ]
    price = match_model_price(
        name.partition(":")[2], merge_prices(load_shipped_prices(), settings.models.prices)
    )
    room = compute_evidence_token_budget(
        (price.window if price is not None else None) or DEFAULT_WINDOW,
        reserved=ESTIMATED_ANSWER_TOKENS,
    )
    tokens = sum(min(thread.size // BYTES_PER_TOKEN, room) for thread in threads)
    said = (
        f"with {name}: {len(threads):,} requests or a few more, at most about {tokens:,} "
        f"tokens of input"
    )
    if price is None or price.input is None or price.output is None:
        return [f"{said}; the price of this model is not known"]
    dollars = (
        tokens * price.input + len(threads) * ESTIMATED_ANSWER_TOKENS * price.output
    ) / MILLION
    return [
        f"{said}, about ${dollars:,.2f}; the caps of `spend` hold "
        f"({settings.spend.day_requests:,} requests a day), and what is over them waits"
    ]
