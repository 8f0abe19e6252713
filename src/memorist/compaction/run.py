"""Compaction in a session: takes the planned steps, asks models, stores files, and reports the
outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction import from_session_memory, full, inline, micro
from memorist.compaction.asking.run import LABEL, Asking, ask
from memorist.compaction.budget import Decisions, apply_budget, as_shown
from memorist.compaction.call import Call, Done
from memorist.compaction.conversation import Conversation, conversation, typed
from memorist.compaction.digest import digest
from memorist.compaction.economics import Rates, rates_of
from memorist.compaction.facts.run import facts_of
from memorist.compaction.from_session_memory import Notes
from memorist.compaction.full import Terms
from memorist.compaction.lead import lead_of, led
from memorist.compaction.plan import Breakers, Guard, Situation, Stop, Way, compacted, decide, failed, is_providers, replied
from memorist.compaction.priced import LEAST_SHARE, Money, Talk, what_pays
from memorist.compaction.result import Compacted, Outcome, Unchanged
from memorist.compaction.settings import CompactionSettings
from memorist.compaction.skills_kept import with_skills
from memorist.compaction.standing import Parted, parted, stood
from memorist.compaction.summary import Unusable
from memorist.compaction.tail import tail
from memorist.compaction.texts import Texts
from memorist.compaction.thresholds import Thresholds
from memorist.core.messages import Message, Usage
from memorist.core.tokens import estimate_text
from memorist.errors import StoreError
from memorist.events import CompactionFailed, ConversationCompacted, Event, ResultsStored
from memorist.models.prices import MILLION, Price
from memorist.ports import Clock, Files
from memorist.session_memory.follow import Following
from memorist.session_memory.run import SessionMemory
from memorist.store.layout import SessionLayout
from memorist.telemetry.run import causes

NO_USAGE = Usage()

WORTH_DIGESTING = 4_000
"""A smaller conversation gets no extractive summary: the user's words and the newest messages would
hardly fit.
"""

PRICE_EVERY = 5_000
"""Growth in tokens after which pricing is repeated, so that it costs little."""


class CompactionMeans(Struct, frozen=True, kw_only=True):
    """Dependencies of compaction."""

    clock: Clock
    files: Files
    asking: Asking | None
    """Dependencies for asking a model for a summary; None without a model."""
    settings: CompactionSettings
    layout: SessionLayout
    tell: Callable[[Event], None]


class Compactor:
    """Compaction of one session. Holds the state that must survive between requests: decisions,
    circuit breaker, the user's texts.
    """

    def __init__(self, following: Following, memory: SessionMemory, texts: Texts, means: CompactionMeans) -> None:
        self._following = following
        self._memory = memory
        self._texts = texts
        self._means = means
        self._decisions = Decisions()
        self._breakers = Breakers()
        self._said: list[str] = []
        self._last_reply: float | None = None
        self._calls = 0
        self._cached = 0
        self._first = 0
        self._priced_at = 0
        self._began = 0.0
        self._held: Conversation | None = None
        """The conversation as last measured."""

    def took(self, message: Message) -> None:
        """A message was added to the conversation; the user's text is kept verbatim (CP-16)."""
        words = typed(message)
        if words:
            self._said.append(words)

    def replied(self, now: float, usage: Usage = NO_USAGE) -> None:
        """The model answered at this time; its usage tells how much of the conversation is in the
        provider's cache.
        """
        self._breakers = replied(self._breakers)
        self._last_reply = now
        self._calls += 1
        self._cached = usage.cache_read + usage.cache_write
        self._first = self._first or self._following.tokens

    def lead(self) -> Message:
        """The user message put first where the beginning was dropped and the assistant would speak
        first.
        """
        return lead_of(self._texts.cut_marker)

    def joined(self, messages: Sequence[Message]) -> None:
        """Memorist was attached to a running conversation: everything shown in full so far stays
        so, or the provider's cache would be lost.
        """
        self._decisions = as_shown(messages)

    def offload(self, recent: Sequence[Message]) -> tuple[Message, ...] | None:
        """Apply the tool result budget to the messages since the last reply; returns the messages
        to show instead, None when nothing changes.

        A result is stored before it leaves the conversation. Where the disk refuses, it stays.
        """
        folder = self._means.layout.results
        budgeted = apply_budget(recent, self._decisions, self._means.settings, folder=str(folder))
        try:
            for payload in budgeted.payloads:
                self._means.files.create(folder / payload.name, payload.text.encode("utf-8", "replace"))
        except StoreError as error:
            self._means.tell(CompactionFailed("budget", f"the results stay in the conversation: {error}"))
            return None
        self._decisions = budgeted.decisions
        if budgeted.payloads:
            self._means.tell(ResultsStored(tuple(cut.id for cut in budgeted.cut), sum(cut.tokens for cut in budgeted.cut)))
        return budgeted.messages if budgeted.messages != tuple(recent) else None

    def due(self, now: float, limits: Thresholds) -> bool:
        """Whether there is anything to decide before this request. The cost does not depend on the
        length of the conversation.
        """
        settings = self._means.settings
        idle = self._last_reply is not None and now - self._last_reply >= settings.micro_gap_minutes * 60
        tokens = self._following.tokens
        grown = settings.by_price and tokens >= limits.auto * LEAST_SHARE and tokens - self._priced_at >= PRICE_EVERY
        return settings.enabled and (idle or grown or self._following.tokens >= limits.auto)

    @causes(LABEL)
    async def make_smaller(self, call: Call) -> Done:
        """Take the planned steps for this request, in order."""
        now = self._means.clock.now() if call.now is None else call.now
        self._began = self._means.clock.monotonic()
        self._priced_at = self._following.tokens
        transcript, factor = str(self._means.layout.transcript), self._following.meter.factor
        self._held = held = conversation(call.messages, said=self._said, transcript=transcript, factor=factor, before=self._held)
        saved = await self._saved(call, held, now)
        result = saved if isinstance(saved, Compacted) else None
        steps = decide(self._situation(call, held, result, now), self._breakers, self._means.settings)
        if not call.forced and self._following.tokens < call.limits.blocking and any(is_providers(step) for step in steps):
            # The request carries the provider's own edit; ours would break what it is about to do.
            return Done(result)
        why, blocked, tried, model_failed = "", False, False, False
        for step in steps:
            match step:
                case Way(strategy=strategy) if (result is None or result.strategy == "micro") and not is_providers(step):
                    tried = True
                    made = await self._way(strategy, held, call)
                    if isinstance(made, Compacted):
                        result = made
                    else:
                        why = made.why
                        model_failed = model_failed or (made.asked and strategy in {"full", "inline"})
                case Stop(why=why):
                    pass
                case Guard(limit=limit):
                    blocked = (result.tokens_after if result else self._following.tokens) >= limit
                case _:
                    pass
        return self._told(call, Done(result, why, blocked), tried=tried, model_failed=model_failed)

    def _told(self, call: Call, done: Done, *, tried: bool, model_failed: bool) -> Done:
        succeeded = done.result is not None and done.result.strategy != "micro"
        if tried:
            move = compacted if succeeded else failed
            self._breakers = move(self._breakers, model_failed=model_failed)
        if (result := done.result) is not None:
            trigger = "manual" if call.manual else "too_long" if call.forced else "auto"
            sizes = (result.tokens_before, result.tokens_after, len(result.cut), len(result.restored))
            seconds = self._means.clock.monotonic() - self._began
            self._means.tell(ConversationCompacted(result.strategy, trigger, *sizes, seconds))
        elif done.why:
            self._means.tell(CompactionFailed(call.manual or "auto", done.why))
        return done

    def _situation(self, call: Call, held: Conversation, cleared: Compacted | None, now: float) -> Situation:
        used = self._following.tokens
        freed = cleared.tokens_before - cleared.tokens_after if cleared else 0
        return Situation(
            used=max(used, call.limits.auto) if call.forced else used,
            freed=0 if call.forced else freed,
            prefix=max(0, used - held.tokens),
            limits=call.limits,
            manual=call.manual,
            instructions=bool(call.instructions),
            idle_minutes=None if self._last_reply is None else (now - self._last_reply) / 60,
            has_notes=self._notes_serve(),
            has_model=self._means.asking is not None,
            provider_compacts=call.provider_compacts,
        )

    async def _saved(self, call: Call, held: Conversation, now: float) -> Outcome:
        """Clear what a cold cache makes free to clear, or what saves money."""
        settings = self._means.settings
        if call.manual or call.forced:
            return Unchanged("Asked for in another way.")
        made = micro.by_time(held.messages, now=now, last_reply=self._last_reply, settings=settings, factor=held.factor)
        if isinstance(made, Compacted) or call.price is None or not settings.by_price or call.provider_compacts:
            return made
        money, limit = self._money(call.price, now), call.limits.auto
        paying = what_pays(held, money, used=self._following.tokens, limit=limit, settings=settings, talk=self._talk(held))
        if paying is not None and paying.notes:
            smaller = await self._way("session-memory" if self._notes_serve() else "structural", held, call)
            made = smaller if isinstance(smaller, Compacted) else made
        if paying is None or isinstance(made, Compacted):
            return made
        return micro.clear(held.messages, paying.ids, factor=held.factor, sizes=held.sizes)

    def _talk(self, held: Conversation) -> Talk | None:
        """The history that the notes, or the extractive summary, could replace now."""
        if self._memory.way is None:
            return None
        if not self._notes_serve():
            budget = min(held.tokens // 2, self._means.settings.keep_maximum_tokens)
            return Talk(len(held.messages) - 1, budget)
        text, cursor = self._memory.notes(), self._memory.cursor()
        if text is None or cursor is None:
            return None
        start = from_session_memory.keep_index(held, cursor.message, self._means.settings)
        if isinstance(start, Unchanged) or start >= len(held.messages):
            return None
        said = sum(estimate_text(words, held.factor) for words in self._said)
        return Talk(start, estimate_text(text, held.factor) + min(said, self._means.settings.inline_user_tokens))

    def _notes_serve(self) -> bool:
        """Whether the notes may replace the conversation: only when a model wrote them. The
        extractive summary is made from the same transcript as structural notes and carries far more
        at every size (docs/decisions/0005).
        """
        return self._memory.way == "model" and self._memory.notes() is not None

    def _money(self, price: Price, now: float) -> Money:
        rates = rates_of(price)
        age = 0.0 if self._last_reply is None else now - self._last_reply
        return Money(
            rates=rates or Rates(plain=0.0, read=0.0, write=0.0),
            output=(price.output or 0.0) / MILLION,
            cached=self._cached,
            age_seconds=age,
            calls=self._calls,
            first=self._first,
        )

    async def _way(self, strategy: str, held: Conversation, call: Call) -> Outcome:
        if strategy == "micro":
            return micro.clear(held.messages, micro.old_results(held.messages, self._means.settings.micro_keep), factor=held.factor)
        apart = parted(held, max(1, call.limits.auto - max(0, self._following.tokens - held.tokens)))
        settings = self._means.settings
        facts = replace(facts_of(self._following.ledger, self._means.files, self._means.layout.notes, settings), skills=call.skills)
        terms = Terms(texts=self._texts, settings=settings, limit=apart.limit, facts=facts, automatic=call.manual is None)
        return stood(with_skills(await self._rest(strategy, apart, held, call, terms), terms, held.factor), apart)

    async def _rest(self, strategy: str, apart: Parted, whole: Conversation, call: Call, terms: Terms) -> Outcome:
        held = apart.rest
        match strategy:
            case "session-memory":
                return await self._by_notes(held, terms)
            case "full" | "inline":
                return await self._by_model(strategy, (held, whole), call, terms)
            case "structural":
                return self._by_structure(held, terms.limit)
            case "tail":
                return led(tail(held.messages, min(terms.limit, held.tokens) // 2, factor=held.factor), self._texts.cut_marker, held.factor)
            case _:
                return Unchanged(f"The way {strategy!r} is not open for this request.")

    async def _by_notes(self, held: Conversation, terms: Terms) -> Outcome:
        await self._memory.settled()
        text, cursor = self._memory.notes(), self._memory.cursor()
        if text is None:
            return Unchanged("There are no notes yet.")
        path, upto = str(self._means.layout.notes), cursor.message if cursor else None
        notes = Notes(text=text, path=path, template=self._memory.template, last_summarised=upto)
        made = from_session_memory.compact(held, notes, terms)
        if isinstance(made, Compacted) and all(message.id.startswith("memorist") for message in made.messages):
            return Unchanged("The newest step alone is too large to be kept beside the notes.")
        return made

    async def _by_model(self, strategy: str, both: tuple[Conversation, Conversation], call: Call, terms: Terms) -> Outcome:
        (held, whole), means = both, self._means  # it is asked about the whole, and writes what takes the place of a part
        if means.asking is None:
            return Unchanged("No model is set up.")
        asking = replace(means.asking, asked=call.manual is not None)
        summary = await ask(whole, call.parent, asking, texts=self._texts, settings=means.settings, instructions=call.instructions)
        if isinstance(summary, Unusable):
            return Unchanged(summary.why, summary.asked)
        if strategy == "inline":
            return inline.compact(held, inline.HandOver(summary=summary), terms)
        return full.compact(held, summary, terms)

    def _by_structure(self, held: Conversation, limit: int) -> Outcome:
        budget = min(limit // 2, held.tokens // 2, self._means.settings.keep_maximum_tokens)
        if held.tokens < WORTH_DIGESTING:
            return Unchanged(f"The conversation has {held.tokens:,} tokens; there is nothing to be gained.")
        cwd = self._following.ledger.cwd
        made = digest(held.messages, budget, said=self._said, transcript=held.transcript, cwd=cwd, factor=held.factor)
        return made if made.tokens_after < held.tokens else Unchanged("The result would not be smaller than what it replaces.")
