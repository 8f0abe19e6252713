"""Find edits of the conversation that save money: what could be removed now, priced by
`economics.choose_edits` (CP-18). Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from msgspec import Struct

from memorist.compaction.conversation import Conversation
from memorist.compaction.economics import TALK_FROM, CacheState, Edit, Rates, Verdict, choose, expected_rest
from memorist.compaction.micro import CLEARED, old_results
from memorist.compaction.settings import CompactionSettings
from memorist.core.messages import Message, Origin
from memorist.core.tokens import estimate_text

CHUNKS = 8
"""Groups of adjacent results offered as one edit each; several may share one cache reset."""

AGAIN = 0.1
"""Share of cleared results that the model will probably fetch again. `memorist bench cache` finds
0.32 for results that show a file's newest text and assumes 0.02 for others; the two cannot be told
apart here.
"""

FETCH_OUTPUT = 100
"""Output tokens of a call that fetches something again."""

LEAST_SHARE = TALK_FROM
"""Below this share of the auto threshold nothing is cleared to save cost: there is room, and what
the model still sees it need not fetch.
"""


class Money(Struct, frozen=True, kw_only=True):
    """The model's rates and the cost-relevant state of the session."""

    rates: Rates
    output: float
    """US dollars per output token."""
    cached: int
    """Tokens of the last request that are in the provider's cache while it is warm."""
    age_seconds: float
    ttl_seconds: float = 300.0
    calls: int
    """Calls so far."""
    first: int
    """Tokens of the first request."""


class Talk(Struct, frozen=True):
    """History that notes could replace: the messages before `start`, replaced by `tokens` of notes.
    """

    start: int
    tokens: int


class Paying(Struct, frozen=True):
    """An edit that pays, and why: results to clear, and whether the notes should replace older
    dialogue.
    """

    ids: tuple[str, ...]
    verdict: Verdict
    notes: bool = False


def what_pays(
    held: Conversation, money: Money, *, used: int, limit: int, settings: CompactionSettings, talk: Talk | None = None
) -> Paying | None:
    """The edit to make before this request because it saves money; None when nothing pays.

    `used` is the context's size, `limit` the auto threshold. Freed tokens count over the expected
    rest of the session; the cost is the cache that is lost from the first changed message on, plus
    what the model will fetch again. `replaceable` is given where the notes can replace older
    messages.
    """
    if used < limit * LEAST_SHARE:
        return None
    starts = list(accumulate(held.sizes, initial=max(0, used - held.tokens)))
    calls = _calls_since(held.messages)
    again = AGAIN * (used * money.rates.read + FETCH_OUTPUT * money.output)
    edits: dict[Edit, tuple[str, ...]] = {}
    for chunk in _chunks(held.messages, set(old_results(held.messages, settings.micro_keep)), held.factor):
        freed = sum(saved for _, _, saved in chunk)
        edit = Edit(
            kind="clear",
            first_changed_token=starts[chunk[0][0]],
            end_token=starts[chunk[-1][0] + 1],
            tokens_freed=freed,
            loss_usd=again * len(chunk) + AGAIN * freed * money.rates.write,
            carried=sum(saved * calls[index] for index, _, saved in chunk),
        )
        edits[edit] = tuple(name for _, name, _ in chunk)
    if talk is not None and used >= limit * settings.talk_from:
        edits |= dict.fromkeys(_talk(held, talk, starts, calls, again), ())
    rest = expected_rest(calls=money.calls, context=used, start=money.first, limit=limit)
    choice = choose(edits, _state(money, used), rest, money.rates, limit=limit)
    if not choice.edits or not choice.verdict.pays:
        return None
    ids = tuple(name for edit in choice.edits for name in edits[edit])
    return Paying(ids, choice.verdict, notes=any(edit.kind == "session-memory" for edit in choice.edits))


def _state(money: Money, used: int) -> CacheState:
    return CacheState(context_tokens=used, cached_tokens=money.cached, age_seconds=money.age_seconds, ttl_seconds=money.ttl_seconds)


def _talk(held: Conversation, talk: Talk, starts: Sequence[int], calls: Sequence[int], again: float) -> Iterator[Edit]:
    """The edit that puts the notes in place of the messages before `replaceable.start`."""
    removed = starts[talk.start] - starts[0]
    if removed <= talk.tokens:
        return
    gone = range(talk.start)
    carried = sum(held.sizes[index] * calls[index] for index in gone)
    results = sum(len(held.messages[index].tool_results) for index in gone)
    yield Edit(
        kind="session-memory",
        first_changed_token=starts[0],
        end_token=starts[talk.start],
        tokens_freed=removed - talk.tokens,
        loss_usd=again * results,
        carried=round(carried * (removed - talk.tokens) / removed),
    )


def _chunks(messages: Sequence[Message], old: set[str], factor: float) -> list[list[tuple[int, str, int]]]:
    """The clearable results as (message index, id, tokens freed), in groups of neighbors."""
    least = estimate_text(CLEARED, factor)
    found = [
        (index, result.tool_use_id, size - least)
        for index, message in enumerate(messages)
        for result in message.tool_results
        if result.tool_use_id in old and (size := estimate_text(result.text, factor)) > 2 * least
    ]
    size = max(1, -(-len(found) // CHUNKS))
    return [found[start : start + size] for start in range(0, len(found), size)]


def _calls_since(messages: Sequence[Message]) -> list[int]:
    """For each message, the number of the model's replies after it."""
    count, since, reply = 0, [0] * len(messages), None
    for index in range(len(messages) - 1, -1, -1):
        since[index] = count
        message = messages[index]
        if message.origin is Origin.MODEL and (message.reply_id is None or message.reply_id != reply):
            count += 1
            reply = message.reply_id
    return since
