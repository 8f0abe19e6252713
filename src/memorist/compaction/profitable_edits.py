"""Finding edits of the conversation that save money: what could be removed now, priced by
`edit_economics.choose_profitable_or_required_edits` (CP-18). Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from msgspec import Struct

from memorist.compaction.compaction_thresholds import (
    CompactionThresholds,
    are_profitable_edits_enabled,
)
from memorist.compaction.edit_economics import (
    NOTES_FROM_SHARE,
    HistoryEdit,
    RequestCacheState,
    TokenRates,
    choose_profitable_or_required_edits,
    estimate_rest_of_session,
)
from memorist.compaction.measured_conversation import MeasuredConversation
from memorist.compaction.microcompact import CLEARED_TEXT, list_clearable_result_ids
from memorist.core.messages import Message, Origin
from memorist.core.token_count import estimate_text_tokens
from memorist.settings import CompactionSettings

MAX_CLEARING_EDITS = 8
"""Groups of adjacent results offered as one edit each; several may share one cache reset."""


REFETCH_SHARE = 0.1
"""Share of cleared results that the model will probably fetch again. `make bench NAME=cache` finds
0.32 for results that show a file's newest text and assumes 0.02 for others; the two cannot be told
apart here.
"""


REFETCH_OUTPUT_TOKENS = 100
"""Output tokens of a call that fetches something again."""


MIN_THRESHOLD_SHARE = NOTES_FROM_SHARE
"""Below this share of the auto threshold nothing is cleared to save cost: there is room, and what
the model still sees it need not fetch.
"""


PRICE_CHECK_GROWTH_TOKENS = 5_000
"""Growth in tokens after which pricing is repeated, so that it costs little."""


def is_price_check_due(
    tokens: int, priced_tokens: int, limits: CompactionThresholds, settings: CompactionSettings
) -> bool:
    """Whether a context of `tokens`, which was last priced at `priced_tokens`, is priced again."""
    return (
        are_profitable_edits_enabled(settings)
        and tokens >= limits.ordinary_auto_threshold * MIN_THRESHOLD_SHARE
        and tokens - priced_tokens >= PRICE_CHECK_GROWTH_TOKENS
    )


class EditCostInputs(Struct, frozen=True, kw_only=True):
    """The model's rates and the cost-relevant state of the session."""

    rates: TokenRates
    output: float
    """US dollars per output token."""
    cached: int
    """Tokens of the last request that are in the provider's cache while it is warm."""
    age_seconds: float
    ttl_seconds: float = 300.0
    calls: int
    """Calls so far."""
    first_request_tokens: int
    """Tokens of the first request."""


class HistoryReplaceableByNotes(Struct, frozen=True):
    """History that notes could replace: the messages before `start`, replaced by `tokens` of
    notes.
    """

    start: int
    tokens: int


class ProfitableEdit(Struct, frozen=True):
    """An edit that pays: results to clear, and whether the notes should replace older dialogue."""

    ids: tuple[str, ...]
    notes: bool = False


def find_profitable_edit(
    conversation: MeasuredConversation,
    cost: EditCostInputs,
    *,
    used: int,
    limits: CompactionThresholds,
    settings: CompactionSettings,
    replaceable: HistoryReplaceableByNotes | None = None,
) -> ProfitableEdit | None:
    """The edit to make before this request because it saves money; None when nothing pays.

    `used` is the context's size; a share of the ordinary schedule's threshold must be used. Freed
    tokens count over the expected rest of the session; the cost is the cache that is lost from the
    first changed message on, plus what the model will fetch again. `replaceable` is given where the
    notes can replace older messages.
    """
    if used < limits.ordinary_auto_threshold * MIN_THRESHOLD_SHARE:
        return None
    starts = list(accumulate(conversation.sizes, initial=max(0, used - conversation.tokens)))
    calls = _count_calls_since(conversation.messages)
    again = REFETCH_SHARE * (used * cost.rates.cache_read + REFETCH_OUTPUT_TOKENS * cost.output)
    edits: dict[HistoryEdit, tuple[str, ...]] = {}
    for chunk in _group_clearable(
        conversation.messages,
        set(list_clearable_result_ids(conversation.messages, settings.micro_keep)),
        conversation.token_factor,
    ):
        freed = sum(saved for _, _, saved in chunk)
        edit = HistoryEdit(
            kind="clear",
            first_changed_token=starts[chunk[0][0]],
            end_token=starts[chunk[-1][0] + 1],
            tokens_freed=freed,
            loss_usd=again * len(chunk) + REFETCH_SHARE * freed * cost.rates.cache_write,
            carried=sum(saved * calls[index] for index, _, saved in chunk),
        )
        edits[edit] = tuple(name for _, name, _ in chunk)
    if replaceable is not None and used >= limits.ordinary_auto_threshold * settings.talk_from:
        edits |= dict.fromkeys(
            _build_notes_edit(conversation, replaceable, starts, calls, again), ()
        )
    rest = estimate_rest_of_session(
        calls=cost.calls, context=used, start=cost.first_request_tokens, limit=limits.auto
    )
    choice = choose_profitable_or_required_edits(
        edits, _build_cache_state(cost, used), rest, cost.rates, limit=limits.auto
    )
    if not choice.edits or not choice.verdict.pays:
        return None
    ids = tuple(name for edit in choice.edits for name in edits[edit])
    return ProfitableEdit(ids, notes=any(edit.kind == "session-memory" for edit in choice.edits))


def _build_cache_state(cost: EditCostInputs, used: int) -> RequestCacheState:
    return RequestCacheState(
        context_tokens=used,
        cached_tokens=cost.cached,
        age_seconds=cost.age_seconds,
        ttl_seconds=cost.ttl_seconds,
    )


def _build_notes_edit(
    conversation: MeasuredConversation,
    replaceable: HistoryReplaceableByNotes,
    starts: Sequence[int],
    calls: Sequence[int],
    refetch_usd: float,
) -> Iterator[HistoryEdit]:
    """The edit that puts the notes in place of the messages before `replaceable.start`."""
    removed = starts[replaceable.start] - starts[0]
    if removed <= replaceable.tokens:
        return
    dropped = range(replaceable.start)
    carried = sum(conversation.sizes[index] * calls[index] for index in dropped)
    results = sum(len(conversation.messages[index].tool_results) for index in dropped)
    yield HistoryEdit(
        kind="session-memory",
        first_changed_token=starts[0],
        end_token=starts[replaceable.start],
        tokens_freed=removed - replaceable.tokens,
        loss_usd=refetch_usd * results,
        carried=round(carried * (removed - replaceable.tokens) / removed),
    )


def _group_clearable(
    messages: Sequence[Message], old: set[str], factor: float
) -> list[list[tuple[int, str, int]]]:
    """The clearable results as (message index, id, tokens freed), in groups of neighbors."""
    least = estimate_text_tokens(CLEARED_TEXT, factor)
    found = [
        (index, result.tool_use_id, size - least)
        for index, message in enumerate(messages)
        for result in message.tool_results
        if result.tool_use_id in old
        and (size := estimate_text_tokens(result.text, factor)) > 2 * least
    ]
    size = max(1, -(-len(found) // MAX_CLEARING_EDITS))
    return [found[start : start + size] for start in range(0, len(found), size)]


def _count_calls_since(messages: Sequence[Message]) -> list[int]:
    """For each message, the number of the model's replies after it."""
    count, since, reply = 0, [0] * len(messages), None
    for index in range(len(messages) - 1, -1, -1):
        since[index] = count
        message = messages[index]
        if message.origin is Origin.MODEL and (
            message.reply_id is None or message.reply_id != reply
        ):
            count += 1
            reply = message.reply_id
    return since
