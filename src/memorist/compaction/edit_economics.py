"""Cost and saving of editing the history already sent: decided by price, online, several edits
sharing one cache reset (CP-18). Pure.

Changing a token that was already sent invalidates the cache from there on: the rest is written
again instead of read. In return, everything freed is no longer read by later calls. The number of
later calls is unknown. The estimate is the standard one for unknown lifetimes: as many again as so
far (Lindy), capped at the call at which the window forces a cut anyway. The same applies to a
single token: one that has been in the context for ten calls is expected to stay for ten more. So an
edit is made when the cost of carrying its tokens so far reaches the price of removing them, which
is the break-even rule of the ski-rental problem: never more than twice the cost of the optimal
decision made with knowledge of the end, and, under steady growth, the spacing at which resets and
reads together cost the least.

On a cold cache (idle for longer than its lifetime) everything is written again in any case: then
freeing tokens costs nothing but the information lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import floor, inf

from msgspec import Struct

from memorist.models.model_pricing import MILLION, ModelPrice

DEFAULT_EXPECTED_CALLS = 1.0
"""Expected calls of a session of which nothing is known yet."""

NOTES_FROM_SHARE = 0.5
"""Share of the auto threshold from which an edit that removes dialogue may be made because it pays;
below it, `HistoryEdit.only_forced` is set. By price alone, dialogue would be removed as soon as the
context has a few ten thousand tokens. Half the threshold keeps most of the saving (`memorist bench
cache`).
"""


class HistoryEdit(Struct, frozen=True, kw_only=True):
    """One possible change of what was sent. Positions are token counts from the start of the
    request (tools and system included).
    """

    kind: str
    """The compaction strategy, as named by `result.CompactionStrategy`, or `clear`."""
    first_changed_token: int
    end_token: int | None = None
    """Where the changed part ends; None is the end of the request. Edits whose parts overlap
    exclude each other.
    """
    tokens_freed: int
    """Tokens by which the request shrinks: what is removed less what replaces it."""
    cost_usd: float = 0.0
    """Cost of making the edit: a summary call."""
    loss_usd: float = 0.0
    """Expected cost of the model fetching again what it no longer sees."""
    carried: int | None = None
    """Token-calls so far: each freed token times the calls that carried it since the edit became
    possible. None where unknown.
    """
    only_forced: bool = False
    """True for an edit that loses what cannot be fetched again: made only when the window demands
    it, however well it would pay.
    """


class RequestCacheState(Struct, frozen=True, kw_only=True):
    """The state of the request. `cached_tokens` of it were in the last request and are in the
    provider's cache while that is warm.
    """

    context_tokens: int
    """Size of the next request, unedited."""
    cached_tokens: int
    age_seconds: float
    """Time since the last request began (each hit renews the lifetime)."""
    ttl_seconds: float = 300.0

    @property
    def warm_tokens(self) -> int:
        """Tokens that an unedited request reads from the cache."""
        if self.age_seconds <= self.ttl_seconds:
            return min(self.cached_tokens, self.context_tokens)
        return 0


class TokenRates(Struct, frozen=True, kw_only=True):
    """US dollars per input token by how it is billed; above `long_from` input tokens, multiplied by
    `long_factor`.
    """

    cache_read: float
    cache_write: float
    long_from: float = inf
    long_factor: float = 1.0

    def compute_request_cost(self, read: float, written: float) -> float:
        """Cost of one request, given the tokens read from the cache and the tokens written to
        it.
        """
        factor = self.long_factor if read + written > self.long_from else 1.0
        return (read * self.cache_read + written * self.cache_write) * factor


class ExpectedRestOfSession(Struct, frozen=True):
    """The expected rest of the session: calls to come, tokens added by each, calls so far."""

    calls: float
    growth: float
    so_far: float = 0.0


class HistoryEditVerdict(Struct, frozen=True):
    """Whether an edit pays, in US dollars."""

    pays: bool
    saved_usd: float
    cost_usd: float

    @property
    def gain(self) -> float:
        """Saving less cost; negative when the edit does not pay."""
        return self.saved_usd - self.cost_usd


class HistoryEditChoice(Struct, frozen=True):
    """What to do before this request: the edits, all sharing one cache reset, and their common
    verdict.
    """

    edits: tuple[HistoryEdit, ...]
    verdict: HistoryEditVerdict


NO_EDITS = HistoryEditChoice((), HistoryEditVerdict(pays=False, saved_usd=0.0, cost_usd=0.0))


def derive_token_rates(
    price: ModelPrice | None, *, ttl_seconds: float = 300.0
) -> TokenRates | None:
    """Rates from an entry of the price table (`models.prices`); None where the price is
    unknown.

    Without cache prices, reads and writes count as plain input. A lifetime over five minutes uses
    the price of one-hour writes.
    """
    if price is None or price.input is None:
        return None
    write = price.input if price.cache_write is None else price.cache_write
    if ttl_seconds > 300 and price.cache_write_1h is not None:
        write = price.cache_write_1h
    return TokenRates(
        cache_read=(price.input if price.cache_read is None else price.cache_read) / MILLION,
        cache_write=write / MILLION,
        long_from=inf if price.long_from is None else price.long_from,
        long_factor=price.long_input_factor,
    )


def estimate_rest_of_session(
    *, calls: int, context: int, start: int, limit: int
) -> ExpectedRestOfSession:
    """Estimate the rest: as many calls as so far with the same average growth, capped at the call
    that reaches `limit`.

    `start` is the context at the first call. Nothing else is assumed; the end of the session is
    unknown.
    """
    if calls <= 0:
        return ExpectedRestOfSession(DEFAULT_EXPECTED_CALLS, 0.0)
    growth = max(0.0, (context - start) / calls)
    room = (limit - context) / growth if growth > 0 else inf
    return ExpectedRestOfSession(max(0.0, min(float(calls), room)), growth, float(calls))


def _reading_cost(context: float, growth: float, calls: float, rates: TokenRates) -> float:
    """US dollars for reading a context that grows from call to call, over that many calls."""
    if context > rates.long_from:
        below = 0.0
    else:
        below = (
            calls
            if growth <= 0 or rates.long_from == inf
            else min(calls, floor((rates.long_from - context) / growth) + 1.0)
        )
    above = calls - below
    cheap = below * context + growth * max(0.0, below * (below - 1)) / 2
    dear = above * (context + growth * below) + growth * max(0.0, above * (above - 1)) / 2
    return (cheap + dear * rates.long_factor) * rates.cache_read


def _immediate_cost(freed: int, first: float, state: RequestCacheState, rates: TokenRates) -> float:
    """Extra cost of this request with the edits; negative where they make it cheaper."""
    warm = state.warm_tokens
    read = min(warm, first)
    after = state.context_tokens - freed
    return rates.compute_request_cost(read, max(0.0, after - read)) - rates.compute_request_cost(
        warm, state.context_tokens - warm
    )


def _later_saving(
    edits: Sequence[HistoryEdit],
    state: RequestCacheState,
    rest: ExpectedRestOfSession,
    rates: TokenRates,
) -> float:
    """Saving in later calls, which no longer read the freed tokens."""
    freed = sum(edit.tokens_freed for edit in edits)
    whole = _reading_cost(state.context_tokens, rest.growth, rest.calls, rates)
    saved = whole - _reading_cost(
        max(0, state.context_tokens - freed), rest.growth, rest.calls, rates
    )
    expected = freed * rest.calls
    if expected <= 0:
        return 0.0
    carried = sum(
        edit.tokens_freed * rest.calls
        if edit.carried is None
        else min(edit.carried, edit.tokens_freed * rest.calls)
        for edit in edits
    )
    return saved * carried / expected


def price_edits_together(
    edits: Sequence[HistoryEdit],
    state: RequestCacheState,
    rest: ExpectedRestOfSession,
    rates: TokenRates,
) -> HistoryEditVerdict:
    """Price of making all these edits before this request, with one reset at the first changed
    token.
    """
    if not edits:
        return NO_EDITS.verdict
    first = min(edit.first_changed_token for edit in edits)
    now = _immediate_cost(sum(edit.tokens_freed for edit in edits), first, state, rates)
    cost = max(0.0, now) + sum(edit.cost_usd + edit.loss_usd for edit in edits)
    saved = _later_saving(edits, state, rest, rates) + max(0.0, -now)
    return HistoryEditVerdict(pays=saved > cost, saved_usd=saved, cost_usd=cost)


def choose_profitable_or_required_edits(
    edits: Iterable[HistoryEdit],
    state: RequestCacheState,
    rest: ExpectedRestOfSession,
    rates: TokenRates,
    *,
    limit: int,
) -> HistoryEditChoice:
    """The edits to make before this request: those that pay most together or, above `limit` tokens,
    the cheapest that bring it below.

    Every possible reset position is tried with all edits behind it, so that edits of which none
    would pay alone can share one. Where nothing brings the request below the limit, the edits that
    free the most are chosen. Online: nothing is known of the session's future.
    """
    given = tuple(edits)
    if state.context_tokens > limit:
        return _choose_forced(given, state, rest, rates, limit)
    free = tuple(edit for edit in given if not edit.only_forced and edit.tokens_freed > 0)
    best = NO_EDITS
    for group in _group_edits(free, state, rest, rates):
        verdict = price_edits_together(group, state, rest, rates)
        if verdict.pays and verdict.gain > best.verdict.gain:
            best = HistoryEditChoice(group, verdict)
    return best


def _group_edits(
    edits: Sequence[HistoryEdit],
    state: RequestCacheState,
    rest: ExpectedRestOfSession,
    rates: TokenRates,
) -> list[tuple[HistoryEdit, ...]]:
    """For each possible reset position and each edit there: that edit plus all later ones that are
    worth more than they cost once the cache is lost.
    """
    worth = {id(edit): _edit_worth(edit, state, rest, rates) for edit in edits}
    worthy = sorted(
        (edit for edit in edits if worth[id(edit)] > 0),
        key=lambda edit: worth[id(edit)],
        reverse=True,
    )
    groups = []
    for lead in edits:
        group = [lead]
        for other in worthy:
            if other.first_changed_token >= lead.first_changed_token and not any(
                _do_edits_overlap(other, chosen) for chosen in group
            ):
                group.append(other)
        groups.append(tuple(sorted(group, key=lambda edit: edit.first_changed_token)))
    return groups


def _edit_worth(
    edit: HistoryEdit, state: RequestCacheState, rest: ExpectedRestOfSession, rates: TokenRates
) -> float:
    """What the edit adds to a reset that begins before it: its tokens are neither written now nor
    read later.
    """
    factor = rates.long_factor if state.context_tokens > rates.long_from else 1.0
    return (
        edit.tokens_freed * rates.cache_write * factor
        + _later_saving((edit,), state, rest, rates)
        - edit.cost_usd
        - edit.loss_usd
    )


def _do_edits_overlap(left: HistoryEdit, right: HistoryEdit) -> bool:
    ends = [inf if edit.end_token is None else edit.end_token for edit in (left, right)]
    return left.first_changed_token < ends[1] and right.first_changed_token < ends[0]


def _choose_forced(
    edits: Sequence[HistoryEdit],
    state: RequestCacheState,
    rest: ExpectedRestOfSession,
    rates: TokenRates,
    limit: int,
) -> HistoryEditChoice:
    """The window demands room: of the groups that fit, the one with the lowest cost per call until
    the window is full again.
    """
    useful = tuple(edit for edit in edits if edit.tokens_freed > 0)
    if not useful:
        return NO_EDITS
    groups = [*_group_edits(useful, state, rest, rates), *((edit,) for edit in useful)]
    fitting = [group for group in groups if _tokens_after(group, state) <= limit]
    if fitting:
        best = min(
            fitting,
            key=lambda group: (
                _cost_per_call(group, state, rest, rates, limit),
                _tokens_after(group, state),
            ),
        )
    else:
        best = min(groups, key=lambda group: _tokens_after(group, state))
    return HistoryEditChoice(best, price_edits_together(best, state, rest, rates))


def _tokens_after(edits: Sequence[HistoryEdit], state: RequestCacheState) -> int:
    return state.context_tokens - sum(edit.tokens_freed for edit in edits)


def _cost_per_call(
    edits: Sequence[HistoryEdit],
    state: RequestCacheState,
    rest: ExpectedRestOfSession,
    rates: TokenRates,
    limit: int,
) -> float:
    """Cost of the edits and of reading what they leave, per call until the window is full again or
    the expected end.
    """
    after = _tokens_after(edits, state)
    until_full = (limit - after) / rest.growth if rest.growth > 0 else inf
    calls = max(1.0, min(max(rest.so_far, DEFAULT_EXPECTED_CALLS), until_full))
    own = sum(edit.cost_usd + edit.loss_usd for edit in edits)
    now = _immediate_cost(
        state.context_tokens - after, min(edit.first_changed_token for edit in edits), state, rates
    )
    return (own + now + _reading_cost(after, rest.growth, calls, rates)) / calls
