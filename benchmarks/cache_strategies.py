"""The ways of managing a history that the `cache` measurement compares, by their effect in tokens.

- *nothing*: until the request does not fit; then the oldest pieces go, just enough of them, at each
  call. All other ways end there too.
- *clearing at each request*: above 100,000 tokens of whole history, all results but the newest 3
  are cleared; `clear_tool_uses` with its defaults, which looks at the whole history each time.
- *clearing at the threshold*: above the auto threshold the same, and what was cleared stays
  cleared.
- *clearing after an hour*: time-based microcompact; results but the newest 5 are cleared when an
  hour has passed.
- *session memory compact*: the structural notes, and the newest 10,000 to 40,000 tokens.
- *full compact*: a summary call; the five newest-read files come back, 5,000 tokens of each at
  most. The summary is taken to be as long as the notes, and the analysis before it as long again.
- *extractive summary*: half the threshold, at most 40,000 tokens: 85 % of them text, the rest the
  newest messages, as with recorded sessions.
- *by price*: all of these edits are offered at each call to `economics.choose`.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.cache_replay import FETCH_OUTPUT, PLACEHOLDER, SUMMARY_PROMPT, Play, PromptPiece
from benchmarks.cache_trace import TracedPiece
from memorist.compaction.edit_economics import (
    NOTES_FROM_SHARE,
    HistoryEdit,
    RequestCacheState,
    TokenRates,
    choose_profitable_or_required_edits,
    derive_token_rates,
    estimate_rest_of_session,
)
from memorist.models.model_pricing import MILLION, load_shipped_prices, match_model_price

CLEAR_TRIGGER, CLEAR_KEEP = 100_000, 3
"""Defaults of `clear_tool_uses_20250919` (Claude Code)."""

MICRO_KEEP, MICRO_SECONDS = 5, 3_600.0
"""Time-based microcompact (Claude Code)."""

KEEP_TOKENS, KEEP_TEXTS, KEEP_MAXIMUM = 10_000, 5, 40_000
"""What session memory compact keeps (Claude Code)."""

RESTORED, RESTORED_TOKENS = 5, 5_000
"""Files that come back after a full compact, and the largest part of one (Claude Code).
"""

DIGEST_TEXT = 0.85
"""Part of a digest that is text; the rest is the newest of the conversation."""

WORTH_CLEARING = 50
"""A result shorter than this is not worth a placeholder."""

CHUNKS = 8
"""Groups of neighbouring results that are offered for clearing, one edit each."""

AGAIN_FILE, AGAIN = 0.32, 0.02
"""Share of removed results that are fetched again: of those that show a file's newest text, and of
others. In the recorded sessions 114 of 352 results that show a file were needed by a later edit
when five newer results stood behind them. What becomes of other results cannot be seen there: a
guess."""


def nothing(play: Play) -> None:
    """Leave all as it is."""
    del play


def _old_results(play: Play, keep: int) -> list[int]:
    """Places of the results that are not among the newest `keep` and are still shown."""
    results = [index for index, shown in enumerate(play.history) if shown.piece.kind == "result"]
    return [
        index for index in results[: max(0, len(results) - keep)] if _clearable(play.history[index])
    ]


def _clearable(shown: PromptPiece) -> bool:
    return not shown.cleared and shown.tokens > WORTH_CLEARING


def _clear_all(play: Play, keep: int) -> None:
    places = _old_results(play, keep)
    for index in places:
        play.clear(play.history[index])
    play.bill.resets += bool(places)


def clear_each_request(play: Play) -> None:
    """As the provider's clearing does it: the trigger is compared with the whole history, so above
    it every request clears again.
    """
    whole = play.prefix + sum(play.size(shown.piece) for shown in play.history)
    if whole > min(CLEAR_TRIGGER, play.terms.limit):
        _clear_all(play, CLEAR_KEEP)


def clear_at_threshold(play: Play) -> None:
    """A host's own clearing: what was cleared stays cleared, and it begins again only above the
    threshold.
    """
    if play.tokens > play.terms.limit:
        _clear_all(play, CLEAR_KEEP)


def after_an_hour(play: Play) -> None:
    """Time-based microcompact."""
    if play.gap >= MICRO_SECONDS:
        _clear_all(play, MICRO_KEEP)


def _boundary(play: Play, index: int) -> int:
    """The nearest place at or before `index` where a cut parts no result from its use and no reply:
    before a whole reply, or before what was said.
    """
    history = play.history
    while 0 < index < len(history):
        here, before = history[index].piece.kind, history[index - 1].piece.kind
        if here == "said" or (here == "reply" and before != "reply"):
            break
        index -= 1
    return index


def _keep_from(play: Play, tokens: int, texts: int, maximum: int) -> int:
    """Index of the first piece kept when the tail is taken from the end."""
    kept = said = 0
    index = len(play.history)
    while index > 0:
        shown = play.history[index - 1]
        if (kept >= tokens and said >= texts) or kept + shown.tokens > maximum:
            break
        index -= 1
        kept += shown.tokens
        said += shown.piece.kind != "result"
    return max(
        _boundary(play, index), 1 if play.history and play.history[0].piece.kind == "summary" else 0
    )


def notes_start(play: Play) -> int:
    """Where the kept part of a session memory compact begins."""
    return _keep_from(play, KEEP_TOKENS, KEEP_TEXTS, KEEP_MAXIMUM)


def digest_start(play: Play) -> int:
    """Where the digest's tail begins."""
    return _keep_from(play, round(digest_budget(play) * (1 - DIGEST_TEXT)), 1, KEEP_MAXIMUM)


def digest_budget(play: Play) -> int:
    """Tokens of a digest with its tail, as `compaction.run` asks for."""
    return min(play.terms.limit // 2, KEEP_MAXIMUM)


def restored_files(play: Play) -> tuple[TracedPiece, ...]:
    """The newest-read files, each cut to its largest part."""
    found: dict[tuple[str, ...], TracedPiece] = {}
    for shown in reversed(play.history):
        piece = shown.piece
        if (
            piece.kind == "result"
            and piece.shows
            and piece.shows not in found
            and len(found) < RESTORED
        ):
            most = round(RESTORED_TOKENS / play.terms.factor)
            found[piece.shows] = piece._replace(
                key=f"{piece.key} restored {play.call_number}", tokens=min(piece.tokens, most)
            )
    return tuple(reversed(found.values()))


def summary_start(play: Play) -> int:
    """Full compact keeps the newest call's news only."""
    return _boundary(play, len(play.history) - 1)


STARTS = {"notes": notes_start, "digest": digest_start, "summary": summary_start}
"""Where the kept part begins, by way of compaction."""


def _compact(play: Play, way: str, start: int) -> None:
    if way == "summary":
        play.summarise()
    text = round(digest_budget(play) * DIGEST_TEXT) if way == "digest" else play.notes
    play.cut(start, text, restored=restored_files(play) if way == "summary" else ())
    play.bill.resets += 1


class AtThreshold:
    """One way of compaction at the auto threshold."""

    def __init__(self, way: str) -> None:
        self.way = way

    def __call__(self, play: Play) -> None:
        """Compact when the request is above the threshold."""
        if play.tokens > play.terms.limit:
            _compact(play, self.way, STARTS[self.way](play))


class ByPrice:
    """All edits offered to `economics.choose` at each call.

    Those that cut talk may be done because they pay from `talk_from` of the auto threshold on; 1
    leaves them to when the window demands it. Nothing at all is done below `results_from` of it.
    """

    def __init__(self, *, talk_from: float = NOTES_FROM_SHARE, results_from: float = 0.0) -> None:
        self.talk_from = talk_from
        self.results_from = results_from
        self._start: int | None = None

    def __call__(self, play: Play) -> None:
        """Do what pays or what the window demands."""
        price = match_model_price(play.terms.model, load_shipped_prices())
        rates = derive_token_rates(price, ttl_seconds=play.terms.ttl_seconds)
        if rates is None or price is None:
            return
        tokens = play.tokens
        self._start = tokens if self._start is None else self._start
        if tokens < self.results_from * play.terms.limit:
            return
        state = RequestCacheState(
            context_tokens=tokens,
            cached_tokens=play.cached,
            age_seconds=play.gap,
            ttl_seconds=play.terms.ttl_seconds,
        )
        rest = estimate_rest_of_session(
            calls=play.call_number, context=tokens, start=self._start, limit=play.terms.price_limit
        )
        output = (price.output or 0.0) / MILLION
        offered = _Offer(
            play,
            rates,
            (price.input or 0.0) / MILLION,
            output,
            only_forced=tokens < self.talk_from * play.terms.limit,
        )
        choice = choose_profitable_or_required_edits(
            offered.edits(), state, rest, rates, limit=play.terms.price_limit
        )
        for edit in choice.edits:
            if edit.kind == "clear":
                for index in offered.chunks[edit.first_changed_token]:
                    play.clear(play.history[index])
        for edit in choice.edits:
            if edit.kind != "clear":
                _compact(play, edit.kind, offered.cuts[edit.kind])
        if choice.edits and all(edit.kind == "clear" for edit in choice.edits):
            play.bill.resets += 1


class _Offer:
    """The edits that are possible now, with their prices."""

    def __init__(
        self, play: Play, rates: TokenRates, uncached: float, output: float, *, only_forced: bool
    ) -> None:
        self.play = play
        self.rates = rates
        self.uncached = uncached
        self.output = output
        self.only_forced = only_forced
        self.chunks: dict[int, list[int]] = {}
        self.cuts: dict[str, int] = {}
        self.starts = [play.prefix]
        self.newest: dict[str, PromptPiece] = {}
        for shown in play.history:
            self.starts.append(self.starts[-1] + shown.tokens)
            if not shown.cleared:
                self.newest |= dict.fromkeys(shown.piece.shows, shown)

    def edits(self) -> Iterator[HistoryEdit]:
        """Clearing in chunks, and the three ways of compaction."""
        yield from self._clears()
        back = sum(self.play.size(piece) for piece in restored_files(self.play))
        yield from self._cut("notes", self.play.notes, 0.0)
        yield from self._cut("digest", round(digest_budget(self.play) * DIGEST_TEXT), 0.0)
        yield from self._cut("summary", self.play.notes + back, self._summary_cost())

    def _clears(self) -> Iterator[HistoryEdit]:
        places = [
            index
            for index in _old_results(self.play, MICRO_KEEP)
            if self._worth_clearing(self.play.history[index])
        ]
        size = max(1, -(-len(places) // CHUNKS))
        for start in range(0, len(places), size):
            chunk = places[start : start + size]
            first = self.starts[chunk[0]]
            self.chunks[first] = chunk
            shown = [self.play.history[index] for index in chunk]
            yield HistoryEdit(
                kind="clear",
                first_changed_token=first,
                end_token=self.starts[chunk[-1] + 1],
                tokens_freed=sum(each.tokens - PLACEHOLDER for each in shown),
                loss_usd=self._loss(shown),
                carried=sum((each.tokens - PLACEHOLDER) * self._age(each) for each in shown),
            )

    def _worth_clearing(self, shown: PromptPiece) -> bool:
        """Whether a result that the model has seen is worth its loss once the cache is lost
        anyway.
        """
        if shown.call == self.play.call_number:
            return False
        freed = shown.tokens - PLACEHOLDER
        return freed * (
            self.rates.cache_write + self.rates.cache_read * self._age(shown)
        ) > self._loss([shown])

    def _cut(self, kind: str, put: int, cost: float) -> Iterator[HistoryEdit]:
        first_kept = self.cuts[kind] = STARTS[kind](self.play)
        gone = self.play.history[:first_kept]
        removed = sum(shown.tokens for shown in gone)
        if removed <= put:
            return
        yield HistoryEdit(
            kind=kind,
            first_changed_token=self.play.prefix,
            end_token=self.starts[first_kept],
            tokens_freed=removed - put,
            cost_usd=cost,
            loss_usd=self._loss(gone),
            carried=round(
                sum(shown.tokens * self._age(shown) for shown in gone) * (removed - put) / removed
            ),
            only_forced=self.only_forced,
        )

    def _age(self, shown: PromptPiece) -> int:
        return self.play.call_number - shown.call

    def _loss(self, gone: list[PromptPiece]) -> float:
        """What fetching again will probably cost: a short call that reads the context, and the
        result written anew.
        """
        each = self.starts[-1] * self.rates.cache_read + FETCH_OUTPUT * self.output
        results = [shown for shown in gone if shown.piece.kind == "result" and not shown.cleared]
        return sum(
            self._again(shown) * (each + shown.tokens * self.rates.cache_write) for shown in results
        )

    def _again(self, shown: PromptPiece) -> float:
        newest = any(self.newest[name] is shown for name in shown.piece.shows)
        return AGAIN_FILE if newest else AGAIN

    def _summary_cost(self) -> float:
        play = self.play
        warm = play.gap <= play.terms.ttl_seconds
        reading = play.tokens * (self.rates.cache_read if warm else self.uncached)
        return (
            reading
            + SUMMARY_PROMPT * play.terms.factor * self.uncached
            + 2 * play.notes * self.output
        )
