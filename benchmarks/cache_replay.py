"""Playing a session against the cache accounting of the loopback server, while something manages
the history between calls.

Each recorded reply is one call; its cost is the accounted input and the recorded output at the
model's prices. What the model no longer sees it has to fetch again: a result that was cleared
before the model saw it, and, before a reply that edits a file, the file's text where it was shown
earlier but is no longer in the request. Each takes one more call that brings the text back. Other
uses of what was removed leave no trace in a recording and are not counted.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from benchmarks.cache_trace import Trace, TracedCall, TracedPiece
from memorist.compaction.cache_breakpoints import LOOKBACK_BLOCKS, get_minimum_cacheable_tokens
from memorist.core.token_count import get_token_factor
from memorist.models.model_pricing import compute_call_cost, load_shipped_prices
from memorist.testing.prompt_cache import (
    LIFETIMES,
    OPENAI_PREFIX_LIFETIME_SECONDS,
    CumulativePrefixBlock,
    InputTokenCounts,
    PromptCacheState,
    compute_anthropic_usage_and_cache,
    compute_openai_usage_and_cache,
)

FETCH_OUTPUT = 100
"""Tokens of a reply that only reads a file again."""

SUMMARY_PROMPT = 700
"""Tokens of the request for a summary."""

PLACEHOLDER = 12
"""Tokens of the text that stands for a cleared result."""


class CacheTerms(Struct, frozen=True, kw_only=True):
    """What a play is priced and bounded by. Tokens are the model's."""

    model: str
    window: int
    limit: int
    """Auto compaction's threshold: the window demands room above it."""
    price_limit: int
    """The same with the schedule `price`."""
    effective: int
    """Nothing larger can be sent."""

    @property
    def ttl_seconds(self) -> float:
        """How long the provider keeps a prefix: five minutes for Anthropic's short marks, ten for
        OpenAI.
        """
        return LIFETIMES["5m"] if self.marks else OPENAI_PREFIX_LIFETIME_SECONDS

    @property
    def factor(self) -> float:
        """The model's tokens for one estimated token."""
        return get_token_factor(self.model)

    @property
    def marks(self) -> bool:
        """Whether the provider caches at marks (Anthropic) or by itself."""
        return "claude" in self.model


class PromptPiece(Struct):
    """A piece as it stands in the request now."""

    piece: TracedPiece
    tokens: int
    """The model's tokens as shown, less when cleared."""
    call: int
    """The call with which it came."""
    cleared: bool = False

    @property
    def key(self) -> str:
        """Changes when what is shown changes."""
        return f"{self.piece.key}{'-' if self.cleared else ''}"


class CacheStrategy(Protocol):
    """A way of managing the history: called before each call, it may change `play.history`."""

    def __call__(self, play: Play) -> None:
        """Look at the play and clear, cut or leave."""
        ...


class Bill(Struct):
    """What a play has cost: US dollars, calls of all kinds, times that the history was edited,
    files fetched again, tokens by what became of them.
    """

    usd: float = 0.0
    calls: int = 0
    resets: int = 0
    cuts: int = 0
    """Of these, the times that talk was cut, not only results cleared."""
    fetches: int = 0
    summaries: int = 0
    read: int = 0
    written: int = 0
    plain: int = 0
    output: int = 0
    largest: int = 0


class Play:
    """One session under one way of managing."""

    def __init__(self, trace: Trace, terms: CacheTerms) -> None:
        self.trace = trace
        self.terms = terms
        self.bill = Bill()
        self.history: list[PromptPiece] = []
        self.now = 0.0
        self.last_at: float | None = None
        self.call_number = 0
        self.cached = 0
        """Tokens of the last request."""
        self.notes = 0
        """Size of the structural notes by now."""
        # A host whose window is small sends a short prompt: a quarter of the window at most.
        self.prefix = min(round(trace.prefix * terms.factor), terms.window // 4)
        self._cache = PromptCacheState()
        self._sent: list[CumulativePrefixBlock] = []
        self._seen: dict[str, int] = {}

    def run(self, way: CacheStrategy) -> Bill:
        """Play all calls."""
        for number, call in enumerate(self.trace.calls):
            self.call_number = number
            self.now = max(self.now, call.at)
            self.notes = round(call.notes * self.terms.factor)
            self._add(call.news)
            way(self)
            self._truncate()
            self._fetch_again(call)
            self._send(round(call.output * self.terms.factor))
            self._add(call.reply)
        return self.bill

    @property
    def tokens(self) -> int:
        """The coming request."""
        return self.prefix + sum(shown.tokens for shown in self.history)

    @property
    def gap(self) -> float:
        """Seconds since the last call began."""
        return 0.0 if self.last_at is None else self.now - self.last_at

    def size(self, piece: TracedPiece) -> int:
        """The model's tokens of a piece."""
        return max(1, round(piece.tokens * self.terms.factor))

    def clear(self, shown: PromptPiece) -> None:
        """Put the placeholder in a result's place."""
        shown.cleared = True
        shown.tokens = min(shown.tokens, PLACEHOLDER)

    def cut(self, first_kept: int, tokens: int, *, restored: tuple[TracedPiece, ...] = ()) -> None:
        """Put a summary of so many tokens, and what is restored, in the place of everything before
        `first_kept`.
        """
        summary = PromptPiece(
            TracedPiece(f"summary {self.call_number}", 0, "summary"), tokens, self.call_number
        )
        back = [PromptPiece(piece, self.size(piece), self.call_number) for piece in restored]
        self.history = [summary, *back, *self.history[first_kept:]]
        self.bill.cuts += 1

    def summarise(self) -> None:
        """A call that writes a summary: the whole request, a short prompt, and notes and an
        analysis of the same size as output. Where that does not fit, the oldest pieces are left
        out of it.
        """
        self.bill.summaries += 1
        whole, prompt = self.history, round(SUMMARY_PROMPT * self.terms.factor)
        self._truncate(prompt)
        self._send(2 * self.notes, extra=prompt)
        self.history = whole

    def _add(self, pieces: tuple[TracedPiece, ...]) -> None:
        for piece in pieces:
            self.history.append(PromptPiece(piece, self.size(piece), self.call_number))
            if piece.kind == "result":
                self._seen |= dict.fromkeys(piece.shows, piece.tokens)

    def _truncate(self, extra: int = 0) -> None:
        """What does not fit beside `extra` tokens cannot be sent: the oldest pieces go, just enough
        of them.
        """
        over = self.tokens + extra - self.terms.effective
        if over <= 0:
            return
        gone = 0
        while gone < len(self.history) - 1 and over > 0:
            over -= self.history[gone].tokens
            gone += 1
        self.history = self.history[gone:]
        self.bill.resets += 1
        self.bill.cuts += 1

    def _fetch_again(self, call: TracedCall) -> None:
        unseen = [
            shown.piece
            for shown in self.history
            if shown.cleared and shown.call == self.call_number
        ]
        for piece in unseen:
            self._fetch(piece.key, piece.tokens, piece.shows)
        needed = {name for name in call.edits if name in self._seen}
        if needed:
            needed -= {
                name for shown in self.history if not shown.cleared for name in shown.piece.shows
            }
        for name in sorted(needed):
            self._fetch(name, self._seen[name], (name,))

    def _fetch(self, what: str, tokens: int, shows: tuple[str, ...]) -> None:
        self.bill.fetches += 1
        self._send(FETCH_OUTPUT)
        key = f"again {what} {self.call_number}"
        self._add(
            (
                TracedPiece(key + "?", FETCH_OUTPUT, "reply"),
                TracedPiece(key, tokens, "result", shows),
            )
        )
        self._truncate()

    def _blocks(self) -> list[CumulativePrefixBlock]:
        """The request as the accounting takes it, with the marks of `compaction.marks`."""
        blocks = [CumulativePrefixBlock("prefix", self.prefix, None)]
        key, tokens = "prefix", self.prefix
        for shown in self.history:
            key = f"{hash((key, shown.key)):x}"
            tokens += shown.tokens
            blocks.append(CumulativePrefixBlock(key, tokens, None))
        same = next(
            (
                index
                for index, (old, new) in enumerate(zip(self._sent, blocks, strict=False))
                if old.key != new.key
            ),
            len(self._sent),
        )
        places = {
            0,
            len(blocks) - 1,
            *([same - 1] if 0 < same < len(blocks) - LOOKBACK_BLOCKS else []),
        }
        for place in places:
            blocks[place] = blocks[place]._replace(ttl="5m")
        return blocks

    def _send(self, output: int, *, extra: int = 0) -> None:
        blocks = self._blocks()
        if self.terms.marks:
            self._cache, counts = compute_anthropic_usage_and_cache(
                self._cache,
                blocks,
                minimum=get_minimum_cacheable_tokens(self.terms.model),
                now=self.now,
            )
        else:
            self._cache, counts = compute_openai_usage_and_cache(self._cache, blocks, now=self.now)
        self._sent = blocks
        self.cached, self.last_at = blocks[-1].tokens, self.now
        self._charge(counts, output, extra)

    def _charge(self, counts: InputTokenCounts, output: int, extra: int) -> None:
        counts = InputTokenCounts(
            input=counts.input + extra,
            cache_read=counts.cache_read,
            cache_write=counts.cache_write,
            cache_write_long=counts.cache_write_long,
        )
        usd = compute_call_cost(
            self.terms.model,
            counts.usage(output),
            load_shipped_prices(),
            cache_write_1h=counts.cache_write_long,
        )
        if usd is None:
            raise LookupError(f"the price table does not know {self.terms.model}")
        bill = self.bill
        bill.usd += usd
        bill.calls += 1
        bill.read += counts.cache_read
        bill.written += counts.cache_write
        bill.plain += counts.input
        bill.output += output
        bill.largest = max(bill.largest, counts.total)
