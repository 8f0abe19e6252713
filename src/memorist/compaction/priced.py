"""Clear old tool results when that saves money: what could be cleared now, offered to `economics.choose` (CP-18). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from msgspec import Struct

from memorist.compaction.economics import TALK_FROM, CacheState, Edit, Rates, Verdict, choose, expected_rest
from memorist.compaction.micro import CLEARED, old_results
from memorist.compaction.settings import CompactionSettings
from memorist.core.messages import Message, Origin
from memorist.core.tokens import estimate_message, estimate_text

CHUNKS = 8
"""Groups of neighbouring results that are offered, one edit each; several may share one reset of the cache."""

AGAIN = 0.1
"""Share of cleared results that the model will probably fetch again. `memorist bench cache` finds 0.32 for results that show a file's newest text and
takes 0.02 for others; which is which is not known here."""

FETCH_OUTPUT = 100
"""Output tokens of a call that fetches something again."""

LEAST_SHARE = TALK_FROM
"""Below this share of the auto threshold nothing is cleared for money: there is room, and what the model can see it need not fetch."""


class Money(Struct, frozen=True, kw_only=True):
    """What the model costs and where the session stands."""

    rates: Rates
    output: float
    """US dollars of one token of output."""
    cached: int
    """Tokens of the last request that lie in the provider's cache while it is warm."""
    age_seconds: float
    ttl_seconds: float = 300.0
    calls: int
    """Calls so far."""
    first: int
    """Tokens of the first request."""


class Paying(Struct, frozen=True):
    """Results whose clearing pays, and why."""

    ids: tuple[str, ...]
    verdict: Verdict


def clearing_that_pays(
    messages: Sequence[Message], money: Money, *, used: int, limit: int, settings: CompactionSettings, factor: float
) -> Paying | None:
    """The results to clear before this request because it saves money; None when nothing pays.

    `used` is the context's size, `limit` the auto threshold. What is freed counts over the expected rest of the session; what it costs is the cache that
    is lost from the first cleared result on, and what the model will fetch again.
    """
    if used < limit * LEAST_SHARE:
        return None
    sizes = [estimate_message(message, factor) for message in messages]
    prefix = max(0, used - sum(sizes))
    starts = [prefix, *(prefix + size for size in accumulate(sizes))]
    old = set(old_results(messages, settings.micro_keep))
    state = CacheState(context_tokens=used, cached_tokens=money.cached, age_seconds=money.age_seconds, ttl_seconds=money.ttl_seconds)
    chunks = _chunks(messages, old, factor)
    calls = _calls_since(messages)
    edits = {}
    for chunk in chunks:
        freed = sum(saved for _, _, saved in chunk)
        first, last = chunk[0][0], chunk[-1][0]
        again = AGAIN * len(chunk) * (used * money.rates.read + FETCH_OUTPUT * money.output) + AGAIN * freed * money.rates.write
        edit = Edit(
            kind="clear",
            first_changed_token=starts[first],
            end_token=starts[last + 1],
            tokens_freed=freed,
            loss_usd=again,
            carried=sum(saved * calls[index] for index, _, saved in chunk),
        )
        edits[edit] = tuple(name for _, name, _ in chunk)
    rest = expected_rest(calls=money.calls, context=used, start=money.first, limit=limit)
    choice = choose(edits, state, rest, money.rates, limit=limit)
    if not choice.edits or not choice.verdict.pays:
        return None
    return Paying(tuple(name for edit in choice.edits for name in edits[edit]), choice.verdict)


def _chunks(messages: Sequence[Message], old: set[str], factor: float) -> list[list[tuple[int, str, int]]]:
    """The results that may go, with their message's index and what each frees, in groups of neighbours."""
    least = estimate_text(CLEARED, factor)
    found = [
        (index, result.tool_use_id, estimate_text(result.text, factor) - least)
        for index, message in enumerate(messages)
        for result in message.tool_results
        if result.tool_use_id in old and estimate_text(result.text, factor) > 2 * least
    ]
    size = max(1, -(-len(found) // CHUNKS))
    return [found[start : start + size] for start in range(0, len(found), size)]


def _calls_since(messages: Sequence[Message]) -> list[int]:
    """For each message, the model's replies after it."""
    count, since, reply = 0, [0] * len(messages), None
    for index in range(len(messages) - 1, -1, -1):
        since[index] = count
        message = messages[index]
        if message.origin is Origin.MODEL and (message.reply_id is None or message.reply_id != reply):
            count += 1
            reply = message.reply_id
    return since
