"""Compaction in a session: takes the planned steps, asks models, stores files, and reports the
outcome.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from memorist.compaction import full_compaction, microcompact, session_memory_compaction
from memorist.compaction.compaction_input import CompactionInput, CompactionOutcome
from memorist.compaction.compaction_plan import (
    CompactionCircuitBreaker,
    ContextWindowState,
    RejectIfOverLimitStep,
    SkipCompactionStep,
    TryStrategyStep,
    count_reply_since_compaction,
    is_provider_compaction_step,
    plan_compaction,
    record_compaction_failure,
    record_compaction_success,
)
from memorist.compaction.compaction_prompts import CompactionPrompts
from memorist.compaction.compaction_result import (
    CompactedHistory,
    CompactionResult,
    UnchangedHistory,
)
from memorist.compaction.compaction_thresholds import (
    CompactionThresholds,
    are_profitable_edits_enabled,
)
from memorist.compaction.conversation_preamble import (
    PreambleAndRest,
    reattach_preamble,
    split_preamble,
)
from memorist.compaction.edit_economics import TokenRates, derive_token_rates
from memorist.compaction.extractive_summary import compact_conversation_with_extracts
from memorist.compaction.full_compaction import SummaryOptions, restore_items_skipped_by_strategy
from memorist.compaction.measured_conversation import (
    MeasuredConversation,
    get_typed_text,
    measure_conversation,
)
from memorist.compaction.microcompact import is_cache_cold
from memorist.compaction.newest_messages import (
    MIN_PAST_TOKENS,
    compute_tokens_left_for_older_messages,
    find_unanswered_start,
    keep_messages_from_index,
    keep_newest_messages,
    raise_limit_to_keep_older_messages,
)
from memorist.compaction.oldest_rounds import build_dropped_beginning_message, ensure_user_first
from memorist.compaction.profitable_edits import (
    EditCostInputs,
    HistoryReplaceableByNotes,
    find_profitable_edit,
    is_price_check_due,
)
from memorist.compaction.restored_content import find_host_announcements, gather_restorable_content
from memorist.compaction.session_memory_compaction import SessionNotes
from memorist.compaction.summary_parser import UnusableSummary
from memorist.compaction.summary_request import (
    COMPACTION_LABEL,
    SummaryRequest,
    add_acceptance_to_receipts,
    build_summary_request,
    determine_whether_summary_was_used,
    request_summary,
)
from memorist.compaction.summary_review import (
    SummaryReview,
    build_history_with_missing_parts,
    check_summary_against_history,
    pair_summary_with_extract,
)
from memorist.compaction.tool_result_budget import (
    OffloadDecisions,
    apply_result_budget,
    build_keep_all_decisions,
)
from memorist.compaction.user_words import estimate_user_only_summary_tokens
from memorist.core.messages import Message, Origin, Usage
from memorist.core.token_count import estimate_messages_tokens, estimate_text_tokens
from memorist.core.tool_pairs import starts_reply
from memorist.errors import StoreError
from memorist.events import CompactionFailed, ConversationCompacted, ResultsStored
from memorist.extensions import SessionExtension, SessionReply
from memorist.forks.fork_spec import Receipt
from memorist.models.model_choice import open_sibling_model
from memorist.models.model_pricing import MILLION, ModelPrice
from memorist.runtime import SessionContext
from memorist.safety.secrets import redact
from memorist.session_memory.conversation_tracker import ConversationTracker
from memorist.session_memory.session_notes import NotesCursor, SessionMemory
from memorist.telemetry.tracing import decorate_work_for_tracing

NO_USAGE = Usage()

MAX_ROUND_SHARE = 0.8
"""Share of the limit up to which the past has all its room beside the newest round: more would fill
the window again at once. A round that is larger still stays whole, and takes the past's room.
"""

USER_WORDS_LIMIT_DIVISOR = 2
"""The user's words widen the result up to one part in so many of the limit."""


def estimate_unanswered_messages_budget(
    messages: Sequence[Message], user_texts: Sequence[str], limit: int, factor: float
) -> int:
    """Tokens with which what the model has not answered yet stays whole, beside a summary with the
    user's short messages; at most what the limit allows.
    """
    kept = keep_messages_from_index(messages, find_unanswered_start(messages), sys.maxsize, factor)
    size = estimate_messages_tokens(kept, factor)
    said = min(
        limit // USER_WORDS_LIMIT_DIVISOR,
        int(estimate_user_only_summary_tokens(user_texts) * factor),
    )
    usual = min(size + max(MIN_PAST_TOKENS if kept else 0, said), int(limit * MAX_ROUND_SHARE))
    least = compute_tokens_left_for_older_messages(limit)
    if size + least >= limit:
        return usual
    return max(usual, min(size + max(least, said) + 1, limit - 1))


def compact_structurally(
    shown: MeasuredConversation,
    *,
    budgets: tuple[int, int],
    whole: Sequence[Message] = (),
    cwd: str = "",
) -> CompactedHistory:
    """Compact without a model. `budgets` are the usual tokens of the result and the most that a
    request may have: what the model has not answered yet, and the user's words, may take more than
    the usual tokens. The rest is as in `compact_conversation_with_extracts`.
    """
    usual, limit = budgets
    least = estimate_unanswered_messages_budget(
        shown.messages, shown.user_texts, limit, shown.token_factor
    )
    return compact_conversation_with_extracts(shown, max(usual, least), whole=whole, cwd=cwd)


MIN_SUMMARIZABLE_TOKENS = 4_000
"""A smaller conversation gets no extractive summary: the user's words and the newest messages would
hardly fit. In a window that is not much larger, half of the limit.
"""

Value = TypeVar("Value")

LONG_HISTORY_MESSAGES = 256
"""Messages above which pure work on a whole history is done in a thread, so that a host's other
conversations go on: a millisecond of it or less is not worth one. Our choice.
"""


class Compactor(SessionExtension):
    """Compaction of one session. Holds the state that must survive between requests: decisions,
    circuit breaker, the user's texts.
    """

    def __init__(
        self,
        context: SessionContext,
        tracker: ConversationTracker,
        session_memory: SessionMemory,
        prompts: CompactionPrompts,
    ) -> None:
        self._runtime = context.runtime
        self._settings = context.runtime.settings.compaction
        self._layout = context.layout
        self._tracker = tracker
        self._session_memory = session_memory
        self._prompts = prompts
        self._decisions = OffloadDecisions()
        self._breaker = CompactionCircuitBreaker()
        self._summary_runs: list[Receipt] = []
        """Requests of the attempt under way, recorded with what becomes of their summary."""
        self._user_texts: list[str] = []
        self._dropped_texts: list[str] = []
        """What the host left out since the model answered, until the host shows a summary."""
        self._last_message: Message | None = None
        self._last_reply: float | None = None
        self._calls = 0
        self._cached_tokens = 0
        self._first_request_tokens = 0
        self._priced_at_tokens = 0
        self._began = 0.0
        self._conversation: MeasuredConversation | None = None
        """The conversation as last measured."""

    def on_message(self, message: Message, *, replayed: bool = False) -> None:
        """A message was added to the conversation; the user's text is kept verbatim (CP-16)."""
        del replayed
        words = get_typed_text(message)
        if words:
            self._user_texts.append(words)
        if message.origin is Origin.SUMMARY:
            self._user_texts[:0] = self._dropped_texts
        if message.origin in (Origin.SUMMARY, Origin.MODEL):
            self._dropped_texts = []
        if starts_reply(message, self._last_message):
            # Counted here and not in `on_reply`, so that a reply that is only seen in the history
            # of the next request counts too.
            self._breaker = count_reply_since_compaction(self._breaker)
        self._last_message = message

    def on_host_history(self, kept: Iterable[Message]) -> None:
        """The host rewrote its history, of which these messages were known before: what it dropped
        comes back only with a summary, not where the user changed something or went back.
        """
        messages = list(kept)
        if any(message.origin is Origin.SUMMARY for message in messages):
            return
        left = set(map(get_typed_text, messages))
        self._dropped_texts += [each for each in self._user_texts if each not in left]
        self._user_texts = [each for each in self._user_texts if each in left]

    def on_rollback(self, removed: Iterable[Message]) -> None:
        """The user rolled back the newest turns, with these messages: their words do not hold."""
        count = sum(bool(get_typed_text(message)) for message in removed)
        del self._user_texts[max(0, len(self._user_texts) - count) :]

    def on_reply(self, reply: SessionReply) -> None:
        """The model answered at this time; its usage tells how much of the conversation is in the
        provider's cache.
        """
        self._last_reply = reply.at
        self._calls += 1
        self._cached_tokens = reply.usage.cache_read + reply.usage.cache_write
        self._first_request_tokens = self._first_request_tokens or self._tracker.tokens

    def build_opening_message(self) -> Message:
        """The user message put first where the beginning was dropped and the assistant would speak
        first.
        """
        return build_dropped_beginning_message(self._prompts.cut_marker)

    def keep_shown_results(self, messages: Sequence[Message]) -> None:
        """Memorist was attached to a running conversation: everything shown in full so far stays
        so, or the provider's cache would be lost.
        """
        self._decisions = build_keep_all_decisions(messages)

    def offload_results(self, recent: Sequence[Message]) -> tuple[Message, ...] | None:
        """Apply the tool result budget to the messages since the last reply; returns the messages
        to show instead, None when nothing changes.

        A result is stored before it leaves the conversation. Where the disk refuses, it stays.
        """
        folder = self._layout.tool_results
        budgeted = apply_result_budget(recent, self._decisions, self._settings, folder=str(folder))
        try:
            for payload in budgeted.payloads:
                raw = self._runtime.settings.raw_transcripts
                text = payload.text if raw else redact(payload.text).text
                self._runtime.files.create(folder / payload.name, text.encode("utf-8", "replace"))
        except StoreError as error:
            self._runtime.emit(
                CompactionFailed("budget", f"the results stay in the conversation: {error}")
            )
            return None
        self._decisions = budgeted.decisions
        if budgeted.payloads:
            stored = sum(cut.tokens for cut in budgeted.removed_items)
            self._tracker.on_results_stored(int(stored * self._tracker.meter.factor))
            self._runtime.emit(
                ResultsStored(tuple(cut.id for cut in budgeted.removed_items), stored)
            )
        return budgeted.messages if budgeted.messages != tuple(recent) else None

    def is_due(self, now: float, limits: CompactionThresholds) -> bool:
        """Whether there is anything to decide before this request. The cost does not depend on the
        length of the conversation.
        """
        settings = self._settings
        idle = is_cache_cold(now, self._last_reply, settings)
        tokens = self._tracker.tokens
        priced = is_price_check_due(tokens, self._priced_at_tokens, limits, settings)
        return settings.enabled and (idle or priced or tokens >= limits.auto)

    @decorate_work_for_tracing(COMPACTION_LABEL)
    async def compact(self, call: CompactionInput) -> CompactionOutcome:
        """Take the planned steps for this request, in order."""
        now = self._runtime.clock.now() if call.now is None else call.now
        self._began = self._runtime.clock.monotonic()
        self._priced_at_tokens = self._tracker.tokens
        transcript, factor = (str(self._layout.transcript), self._tracker.meter.calibrated_factor)
        self._conversation = measured = await _run_unless_short(
            call.messages,
            measure_conversation,
            call.messages,
            user_texts=self._user_texts,
            transcript=transcript,
            factor=factor,
            before=self._conversation,
        )
        saved = await self._clear_for_cost(call, measured, now)
        result = saved if isinstance(saved, CompactedHistory) else None
        steps = plan_compaction(
            self._window_state(call, measured, result), self._breaker, self._settings
        )
        if (
            not call.forced
            and self._tracker.tokens < call.limits.blocking
            and any(is_provider_compaction_step(step) for step in steps)
        ):
            # The request carries the provider's own edit; ours would interfere with it.
            return CompactionOutcome(result)
        why, blocked, tried, model_failed = "", False, False, False
        for step in steps:
            match step:
                case TryStrategyStep(strategy=strategy) if (
                    result is None or result.strategy == "micro"
                ) and not is_provider_compaction_step(step):
                    tried = True
                    outcome = await self._attempt_strategy(strategy, measured, call)
                    if isinstance(outcome, CompactedHistory):
                        result = outcome
                    else:
                        why = outcome.why
                        model_failed = model_failed or (
                            outcome.was_model_asked and strategy in {"full", "inline"}
                        )
                case TryStrategyStep():
                    pass  # an earlier attempt succeeded
                case SkipCompactionStep(why=why):
                    pass
                case RejectIfOverLimitStep(limit=limit, why=guard):
                    blocked = (result.tokens_after if result else self._tracker.tokens) >= limit
                    why = f"{why} {guard}".strip() if blocked else why
        return self._report_outcome(
            call, CompactionOutcome(result, why, blocked), tried=tried, model_failed=model_failed
        )

    def _report_outcome(
        self, call: CompactionInput, done: CompactionOutcome, *, tried: bool, model_failed: bool
    ) -> CompactionOutcome:
        succeeded = done.result is not None and done.result.strategy != "micro"
        if tried:
            self._breaker = (
                record_compaction_success(self._breaker, model_failed=model_failed)
                if succeeded
                else record_compaction_failure(
                    self._breaker, used=self._tracker.tokens, model_failed=model_failed
                )
            )
        if done.blocked:
            self._runtime.emit(CompactionFailed("guard", done.why))
        if (result := done.result) is not None:
            trigger = "manual" if call.manual else "too_long" if call.forced else "auto"
            sizes = (
                result.tokens_before,
                result.tokens_after,
                len(result.removed_items),
                len(result.restored_records),
            )
            seconds = self._runtime.clock.monotonic() - self._began
            self._runtime.emit(ConversationCompacted(result.strategy, trigger, *sizes, seconds))
        elif done.why and not done.blocked:
            self._runtime.emit(CompactionFailed(call.manual or "auto", done.why))
        return done

    def _window_state(
        self,
        call: CompactionInput,
        measured: MeasuredConversation,
        cleared: CompactedHistory | None,
    ) -> ContextWindowState:
        used = self._tracker.tokens
        freed = cleared.tokens_before - cleared.tokens_after if cleared else 0
        return ContextWindowState(
            used=max(used, call.limits.auto) if call.forced else used,
            freed=0 if call.forced else freed,
            prefix=max(0, used - measured.tokens),
            limits=call.limits,
            manual=call.manual,
            has_user_instructions=bool(call.instructions),
            has_notes=self._has_model_notes(),
            has_model=self._runtime.model is not None,
            provider_compacts=call.provider_compacts,
        )

    async def _clear_for_cost(
        self, call: CompactionInput, measured: MeasuredConversation, now: float
    ) -> CompactionResult:
        """Clear what a cold cache makes free to clear, or what saves money."""
        settings = self._settings
        if call.manual or call.forced:
            return UnchangedHistory("Asked for in another way.")
        cleared = microcompact.clear_old_results_when_idle(
            measured.messages,
            now=now,
            last_reply=self._last_reply,
            settings=settings,
            factor=measured.token_factor,
        )
        if (
            isinstance(cleared, CompactedHistory)
            or call.price is None
            or not are_profitable_edits_enabled(settings)
            or call.provider_compacts
        ):
            return cleared
        money = self._cost_state(call.price, now)
        paying = find_profitable_edit(
            measured,
            money,
            used=self._tracker.tokens,
            limits=call.limits,
            settings=settings,
            replaceable=self._replaceable_history(measured),
        )
        if paying is not None and paying.notes:
            smaller = await self._try_strategy(
                "session-memory" if self._has_model_notes() else "structural", measured, call
            )
            cleared = smaller if isinstance(smaller, CompactedHistory) else cleared
        if paying is None or isinstance(cleared, CompactedHistory):
            return cleared
        return microcompact.clear_tool_results(
            measured.messages, paying.ids, factor=measured.token_factor, sizes=measured.sizes
        )

    def _replaceable_history(
        self, measured: MeasuredConversation
    ) -> HistoryReplaceableByNotes | None:
        """The history that the notes, or the extractive summary, could replace now."""
        if self._session_memory.way is None:
            return None
        if not self._has_model_notes():
            budget = min(measured.tokens // 2, self._settings.keep_maximum_tokens)
            return HistoryReplaceableByNotes(len(measured.messages) - 1, budget)
        text, cursor = self._read_notes()
        if text is None or cursor is None:
            return None
        start = session_memory_compaction.find_first_kept_index(
            measured, cursor.message, self._settings
        )
        if isinstance(start, UnchangedHistory) or start >= len(measured.messages):
            return None
        said = sum(estimate_text_tokens(words, measured.token_factor) for words in self._user_texts)
        return HistoryReplaceableByNotes(
            start,
            estimate_text_tokens(text, measured.token_factor)
            + min(said, self._settings.inline_user_tokens),
        )

    def _has_model_notes(self) -> bool:
        """Whether the notes may replace the conversation: only when a model wrote them. The
        extractive summary is made from the same transcript as structural notes and carries far more
        at every size (docs/decisions/0005).
        """
        text, _ = self._read_notes()
        return text is not None and self._session_memory.has_model_or_user_notes

    def _read_notes(self) -> tuple[str | None, NotesCursor | None]:
        """The notes, and how far they reach; nothing where the disk refuses them: compaction then
        goes on without.
        """
        try:
            return self._session_memory.read_notes(), self._session_memory.read_cursor()
        except StoreError:
            return None, None

    def _cost_state(self, price: ModelPrice, now: float) -> EditCostInputs:
        rates = derive_token_rates(price)
        age = 0.0 if self._last_reply is None else now - self._last_reply
        return EditCostInputs(
            rates=rates or TokenRates(cache_read=0.0, cache_write=0.0),
            output=(price.output or 0.0) / MILLION,
            cached=self._cached_tokens,
            age_seconds=age,
            calls=self._calls,
            first_request_tokens=self._first_request_tokens,
        )

    async def _attempt_strategy(
        self, strategy: str, measured: MeasuredConversation, call: CompactionInput
    ) -> CompactionResult:
        """Try a strategy, and record the requests to a model with what became of its summary."""
        outcome: CompactionResult = UnchangedHistory("The compaction did not end.")
        try:
            outcome = await self._try_strategy(strategy, measured, call)
        finally:
            if self._summary_runs:
                use = determine_whether_summary_was_used(outcome)
                for each in add_acceptance_to_receipts(self._summary_runs, use):
                    self._runtime.record_receipt(each)
                self._summary_runs.clear()
        return outcome

    async def _try_strategy(
        self, strategy: str, measured: MeasuredConversation, call: CompactionInput
    ) -> CompactionResult:
        if strategy == "micro":
            return microcompact.clear_tool_results(
                measured.messages,
                microcompact.list_clearable_result_ids(
                    measured.messages, self._settings.micro_keep
                ),
                factor=measured.token_factor,
            )
        apart: PreambleAndRest = await _run_unless_short(
            measured.messages,
            split_preamble,
            measured,
            max(1, call.limits.auto - max(0, self._tracker.tokens - measured.tokens)),
        )
        if not call.forced:
            spare = max(0, call.limits.blocking - call.limits.auto - 1)
            kept = apart.rest.messages
            apart = replace(
                apart,
                limit=raise_limit_to_keep_older_messages(
                    kept, apart.limit, spare, measured.token_factor
                ),
            )
        settings = self._settings
        await self._process_ledger()
        facts = replace(
            gather_restorable_content(
                self._tracker.ledger, self._runtime.files, self._layout.notes, settings
            ),
            skills=call.skills,
            announcements=find_host_announcements(apart.rest.messages),
        )
        terms = SummaryOptions(
            texts=self._prompts,
            settings=settings,
            limit=apart.limit,
            facts=facts,
            automatic=call.manual is None,
        )
        return reattach_preamble(
            restore_items_skipped_by_strategy(
                await self._rewrite_rest(strategy, apart, measured, call, terms),
                terms,
                measured.token_factor,
            ),
            apart,
        )

    async def _rewrite_rest(
        self,
        strategy: str,
        apart: PreambleAndRest,
        whole: MeasuredConversation,
        call: CompactionInput,
        terms: SummaryOptions,
    ) -> CompactionResult:
        measured = apart.rest
        match strategy:
            case "session-memory":
                return await self._compact_with_notes(measured, call, terms)
            case "full" | "inline":
                return await self._compact_with_model(strategy, (measured, whole), call, terms)
            case "structural":
                return await self._compact_structurally(measured, call, terms.limit)
            case "tail":
                usual = min(terms.limit, measured.tokens) // 2
                least = estimate_unanswered_messages_budget(
                    measured.messages, (), terms.limit, measured.token_factor
                )
                return ensure_user_first(
                    keep_newest_messages(measured, max(usual, least)),
                    self._prompts.cut_marker,
                    measured.token_factor,
                )
            case _:
                return UnchangedHistory(f"The way {strategy!r} is not open for this request.")

    async def _compact_with_notes(
        self, measured: MeasuredConversation, call: CompactionInput, terms: SummaryOptions
    ) -> CompactionResult:
        await self._session_memory.wait_for_running_update()
        text, cursor = self._read_notes()
        if text is None:
            return UnchangedHistory("There are no notes yet.")
        path, upto = str(self._layout.notes), cursor.message if cursor else None
        newest = self._tracker.newest_messages
        if newest and upto == newest[-1].id and measured.messages:
            # The notes cover a reply that the host has not sent back yet, and so all before it.
            upto = measured.messages[-1].id
        notes = SessionNotes(
            text=text,
            path=path,
            template=self._session_memory.template,
            last_summarised=upto,
            section_tokens=self._runtime.settings.session_memory.section_tokens,
        )
        compacted = session_memory_compaction.compact_with_notes(measured, notes, terms)
        if (
            isinstance(compacted, CompactedHistory)
            and compacted.added_messages == compacted.messages
        ):
            return UnchangedHistory(
                "The newest step alone is too large to be kept beside the notes."
            )
        if isinstance(compacted, UnchangedHistory):
            return compacted
        compared: SummaryReview = await self._runtime.run_heavy(
            pair_summary_with_extract,
            text,
            measured,
            limit=terms.limit,
            whole=await _read_whole(measured, call),
            cwd=self._tracker.ledger.cwd,
        )
        fuller = build_history_with_missing_parts(
            compared,
            lambda _, addition: session_memory_compaction.compact_with_notes(
                measured, notes, replace(terms, host_addition=addition)
            ),
        )
        return fuller if isinstance(fuller, CompactedHistory) else compacted

    async def _compact_with_model(
        self,
        strategy: str,
        both: tuple[MeasuredConversation, MeasuredConversation],
        call: CompactionInput,
        terms: SummaryOptions,
    ) -> CompactionResult:
        # The model is asked about the whole conversation; its summary replaces only a part.
        measured, whole = both
        request = build_summary_request(
            whole, self._prompts, call.instructions, hand_over=strategy == "inline"
        )
        summary = await self._request_summary(strategy, request, call)
        if isinstance(summary, UnusableSummary):
            return UnchangedHistory(summary.why, summary.was_model_asked)
        reviewed: SummaryReview | UnusableSummary = await self._runtime.run_heavy(
            check_summary_against_history,
            summary,
            whole.messages,
            measured,
            limit=terms.limit,
            whole=await _read_whole(measured, call),
            cwd=self._tracker.ledger.cwd,
        )
        if isinstance(reviewed, UnusableSummary):
            return UnchangedHistory(reviewed.why)
        rewrite = (
            full_compaction.compact_with_hand_over
            if strategy == "inline"
            else full_compaction.replace_history_with_summary
        )
        return build_history_with_missing_parts(
            reviewed,
            lambda text, addition: rewrite(measured, text, replace(terms, host_addition=addition)),
        )

    async def _request_summary(
        self, strategy: str, request: SummaryRequest, call: CompactionInput
    ) -> str | UnusableSummary:
        """Ask for the summary. On a switch to a smaller window the model that has worked so far
        writes the hand-over, since it still sees the whole conversation; where that fails,
        memorist's own.
        """
        ask = partial(
            request_summary,
            request,
            call.parent,
            marker=self._prompts.cut_marker,
            record=self._summary_runs.append,
            asked=call.manual is not None,
        )
        own = self._runtime.model
        if strategy == "inline" and call.predecessor and own is not None:
            model = open_sibling_model(
                own,
                call.predecessor,
                self._runtime.settings.models,
                environment=self._runtime.environment,
            )
            if model is not None:
                try:
                    found = await ask(replace(self._runtime, model=model))
                finally:
                    await model.close()
                if not isinstance(found, UnusableSummary):
                    return found
        return await ask(self._runtime)

    async def _process_ledger(self) -> None:
        """Process the messages that the ledger has only received; the host's other conversations
        have their turn between two of them.
        """
        for _ in self._tracker.ledger.process_in_steps():
            await asyncio.sleep(0)

    async def _compact_structurally(
        self, measured: MeasuredConversation, call: CompactionInput, limit: int
    ) -> CompactionResult:
        """Compact without a model, outside the loop: a long history takes seconds, in which the
        host's other conversations go on.
        """
        if measured.tokens < min(MIN_SUMMARIZABLE_TOKENS, limit // 2):
            return UnchangedHistory(
                f"The conversation has {measured.tokens:,} tokens; there is nothing to be gained."
            )
        compacted: CompactedHistory = await self._runtime.run_heavy(
            compact_structurally,
            measured,
            budgets=(
                min(limit // 2, measured.tokens // 2, self._settings.keep_maximum_tokens),
                limit,
            ),
            whole=await _read_whole(measured, call),
            cwd=self._tracker.ledger.cwd,
        )
        if compacted.tokens_after < measured.tokens:
            return compacted.replace_copies_by_given_messages(measured.messages)
        return UnchangedHistory("The result would not be smaller than what it replaces.")


async def _read_whole(measured: MeasuredConversation, call: CompactionInput) -> tuple[Message, ...]:
    """The conversation with what earlier compactions removed, where one of them did."""
    if call.read_whole is None or not any(
        message.origin is Origin.SUMMARY for message in measured.messages
    ):
        return measured.messages
    shown = {message.id for message in measured.messages}
    preamble = frozenset(each.id for each in call.messages if each.id not in shown)
    return await call.read_whole(measured.messages, preamble)


async def _run_unless_short(
    messages: Sequence[Message], work: Callable[..., Value], /, *given: object, **named: object
) -> Value:
    """Run pure work on these messages: a long history in a thread, a short one at once."""
    if len(messages) <= LONG_HISTORY_MESSAGES:
        return work(*given, **named)
    return await asyncio.to_thread(work, *given, **named)
