"""One live conversation: what a host calls before and after each call of its model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import PurePath
from typing import Any, Self

from memorist.compaction.compaction_input import CompactionInput, CompactionOutcome
from memorist.compaction.compaction_result import CompactedHistory, CompactionStrategy
from memorist.compaction.compaction_thresholds import compute_request_thresholds
from memorist.compaction.provider_edits import ProviderEdits
from memorist.compaction.summary_parser import UnusableSummary
from memorist.context.context_pieces import ContextPiece
from memorist.context.first_context_assembly import HostContext
from memorist.core.argument_types import check_text, check_type
from memorist.core.messages import JsonObject, Message, ToolUse
from memorist.core.not_picklable import NotPicklable
from memorist.engine.context_extension import ContextExtension
from memorist.engine.copied_messages import count_copied_messages
from memorist.engine.fetch_tool import build_fetch_tool_definition
from memorist.engine.host_history import (
    COMPARED_NEWEST_ENTRIES,
    HistoryAdditions,
    HostHistory,
    check_entry_shapes,
    replace_lone_surrogates,
    to_plain_json,
)
from memorist.engine.memory_extension import MemoryExtension
from memorist.engine.past_session_recall import (
    PastSessionRecall,
    search_memories_sessions_and_notes,
)
from memorist.engine.project_search import SearchResults
from memorist.engine.provider_cache_watcher import CacheBreakDetector
from memorist.engine.request_view import IDLE_WORK_DELAY_SECONDS, RequestView
from memorist.engine.session_arguments import check_search, check_strategy
from memorist.engine.session_log import SessionLog
from memorist.engine.session_pins import add_pin
from memorist.engine.shared_session_lease import SharedSessionLease
from memorist.engine.shown_history import RolledBackTurns, ShownHistory
from memorist.errors import NothingToDo, UsageError, WireFormatError
from memorist.events import CompactionFailed, ConversationCompacted, FileRead, WindowLearned
from memorist.extensions import SessionReply
from memorist.forks.fork_request import parse_name_from_model_string
from memorist.forks.fork_spec import ParentCall, Receipt
from memorist.forks.latest_task_queue import finish_before_cancellation
from memorist.formats.codec_registry import find_codec
from memorist.formats.request_codec import INSTRUCTION_AND_TOOL_KEYS, OUTPUT_LIMIT_KEYS
from memorist.models.context_window import resolve_context_window
from memorist.models.context_window_observer import ContextWindowObserver, is_too_large_in_bytes
from memorist.models.model_pricing import ModelPrice, find_request_model_price
from memorist.platforms.background_thread import PROMPT_IN_PROGRESS
from memorist.ports import Request
from memorist.session_memory.conversation_tracker import ConversationTracker, NotesDue
from memorist.session_memory.session_notes import SessionMemory
from memorist.store.home_layout import SessionLayout

STEP_SECONDS, STEP_MESSAGES = 0.004, 256
"""After so many seconds or messages of reading a history, others get their turn. Our choice: less
than a request takes on the network.
"""


MAX_ASSUMED_SHARE = 0.5
"""Share of the threshold that instructions and tools may take by an estimate alone: it may be far
off, and a count that leaves no room for the conversation stops compaction. Our choice.
"""


class Session(NotPicklable):
    """Opened by `Memorist.open`.

    Methods are called from one task; updates of the notes run in the background.
    """

    def __init__(
        self,
        log: SessionLog,
        open_context: Callable[[HostContext], ContextExtension],
        turn_memory_off: Callable[[], None] = lambda: None,
        on_close: Callable[[Session], object] = lambda _: None,
        share: SharedSessionLease | None = None,
    ) -> None:
        self._log = log
        self._share = share
        self._extensions = log.extensions
        self._open_context = open_context
        self._context: ContextExtension | None = None
        self._turn_memory_off = turn_memory_off
        """Lets nothing more be read, shown or written in this session, nor learned of it later."""
        self._on_close = on_close
        self._format = log.context.format
        self._codec = find_codec(self._format)
        self._history = HostHistory(
            self._codec, log.known_ids, is_typed=log.context.host.interactive
        )
        window = ShownHistory(self._codec, self._history)
        self._view = RequestView(
            window,
            self._history,
            log.compactor,
            layout=log.context.layout,
            files=log.runtime.files,
            raw=log.runtime.settings.raw_transcripts,
        )
        self._is_closed = False
        self._closing: asyncio.Task[None] | None = None
        self._resumed = False
        self._request: JsonObject | None = None
        self._last_sent: JsonObject | None = None
        self._previous_sent: JsonObject | None = None
        self._reply: JsonObject | None = None
        self._recovery_tried = False
        self._unseen_messages: tuple[Message, ...] = ()
        """What no extension was given yet, because a request was cancelled before."""
        self._limits_key: tuple[object, ...] = ()
        self._fixed_parts: list[object] = []
        """What was counted last of a request beside its history."""
        self._window_observer = ContextWindowObserver()
        self._cache_watcher = CacheBreakDetector()
        self._provider_edits = ProviderEdits(
            self._format, log.runtime.settings.compaction, is_main=log.context.host.main
        )
        self._limits = compute_request_thresholds({}, log.runtime.settings)
        self._price: ModelPrice | None = None

    @property
    def id(self) -> str:
        """The id that it was opened with."""
        return self._log.context.id

    @property
    def layout(self) -> SessionLayout:
        """Paths of its files."""
        return self._log.context.layout

    @property
    def tracker(self) -> ConversationTracker:
        """State of the conversation: size of the context, messages, turns."""
        return self._log.tracker

    @property
    def session_memory(self) -> SessionMemory:
        """The session memory: the notes and their updates."""
        return self._log.session_memory

    @property
    def notes(self) -> str | None:
        """The notes on disk; None when there are none yet."""
        return self.session_memory.read_notes()

    def pin(self, text: str) -> None:
        """Keep a text in sight for this session: it goes out with the next request, and again
        after each compaction. Raises StoreError.
        """
        add_pin(self._log.runtime.files, self.layout, check_text("a pin", text))

    def turn_memory_off(self) -> None:
        """Let nothing more be read, shown or written in this session, nor learned of it later."""
        self._turn_memory_off()

    def allow_takeover(self) -> None:
        """Let another process take the session over when it asks: whoever holds it open looks at
        `is_takeover_requested` between two calls, and closes it then.
        """
        self._log.allow_takeover()
        if self._share is not None:
            self._share.allow_takeover()

    offer = allow_takeover
    """Deprecated: the former name."""

    @property
    def is_takeover_requested(self) -> bool:
        """Whether another process asks for the session."""
        return self._log.is_takeover_requested or (
            self._share is not None and self._share.is_takeover_requested
        )

    def assemble_context(self, context: HostContext) -> None:
        """Assemble the context, for a host that does not do it itself.

        Call it before the first request in each process, and again when any of its information
        changes: the next request then tells the model the difference. Raises InputError for a
        section that the family does not have.
        """
        check_type("context", context, HostContext, "a memorist.HostContext")
        if self._context is None:
            self._context = self._open_context(context)
            self._extensions.add_first(self._context)
        else:
            self._context.update_host(context)

    @property
    def first_context(self) -> tuple[ContextPiece, ...]:
        """The first context as the model sees it, piece by piece; empty before the first request,
        and where the host assembles its own.
        """
        return () if self._context is None else self._context.pieces

    def receipts(self) -> list[Receipt]:
        """Receipts of the forks that ran since the session was opened, oldest first."""
        return list(self._log.receipts)

    async def prepare(self, request: JsonObject) -> JsonObject:
        """Take the request that the host is about to send, and return the one to send.

        The history is compacted where the window demands it or it was requested; the host's own
        objects are never changed. Takes time in proportion to what is new in the history. Raises
        WireFormatError when the request is not of the session's format, UsageError after `close`.
        """
        self._check_open()
        with PROMPT_IN_PROGRESS:
            try:
                return await self._prepare(request)
            except RecursionError as error:
                raise WireFormatError("the request is nested too deep to be read") from error

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, also by a deletion; its id opens it again."""
        return self._is_closed

    def _check_open(self) -> None:
        if self._is_closed:
            raise UsageError(f"the session {self.id} is closed; open it again by its id")

    async def _prepare(self, request: JsonObject) -> JsonObject:
        new_messages, back = await finish_before_cancellation(self._read_history(request))
        if len(new_messages.entries) > STEP_MESSAGES:
            await asyncio.sleep(0)
        if not self._resumed:
            self._log.recount_if_more_is_shown(self._view.messages())
        if back is not None or not self._resumed:
            self._resumed = True
            self._extensions.on_resume(self._view)
        self._update_limits(request)
        self._count_fixed_parts(request)
        self._recovery_tried = False
        if self._log.is_auto_compaction_enabled and self._log.compactor.is_due(
            self._log.runtime.clock.now(), self._limits
        ):
            await self._compact()
        await self._run_extensions(request, self._unseen_messages)
        self._unseen_messages = ()
        return self._build_request(request, rewritten=new_messages.rewritten)

    async def _read_history(
        self, request: JsonObject
    ) -> tuple[HistoryAdditions, RolledBackTurns | None]:
        """Record what is new in a request's history, and what it takes back."""
        new_messages = await self._add_history(self._history_items(request))
        following = self._log.tracker
        following.meter.set_model(str(request.get("model", "")))
        back = self._view.find_rollback(new_messages)
        if back is not None:
            self._log.record_rollback(back.turns, len(back.messages))
            self._history.forget_messages(back.messages)
        elif new_messages.rewritten and following.messages:
            kept = tuple(
                message
                for entry in new_messages.entries
                for message in entry.messages
                if message not in entry.new_messages
            )
            self._log.record_host_history(kept)
            self._extensions.on_history_replaced("rewritten")
        await self._add_messages(new_messages.new_messages)
        if self._resumed:
            self._unseen_messages += _find_messages_sent_again(new_messages)
        self._unseen_messages += new_messages.new_messages
        self._view.add_request(new_messages, back)
        if back is not None:
            self._extensions.on_history_replaced("rolled back")
            self._log.flush()
        elif self._grows_back(new_messages):
            self._log.recount_if_more_is_shown(self._view.messages())
        return new_messages, back

    def _grows_back(self, added: HistoryAdditions) -> bool:
        """Whether a request brings back messages that the host had left out before: they are
        recorded, and not counted any more.
        """
        new = {message.id for message in added.new_messages}
        known = [
            each.id for entry in added.entries for each in entry.messages if each.id not in new
        ]
        newest = self._log.window_messages[-len(known) - COMPARED_NEWEST_ENTRIES :]
        return not {each.id for each in newest}.issuperset(known)

    async def _add_history(self, items: Sequence[Any]) -> HistoryAdditions:
        """Find what is new in a history; one that is long and new as a whole is decoded in a
        thread, and nothing else of this session runs meanwhile.
        """
        if len(items) > STEP_MESSAGES and self._request is None:
            return await asyncio.to_thread(self._history.add_request, items)
        return self._history.add_request(items)

    async def _add_messages(self, messages: Sequence[Message]) -> None:
        """Record the new messages. After each step of a long history, but for its last, the host's
        other conversations have as much time as it took.
        """
        copied = 0
        if not self.tracker.messages:  # the session begins
            copied = await asyncio.to_thread(
                count_copied_messages, self._log.context.layout, messages
            )
        clock, began = self._log.runtime.clock, self._log.runtime.clock.monotonic()
        for number, message in enumerate(messages, 1):
            self._log.add_message(message, replayed=number <= copied)
            if number == copied and (memory := self._extensions.find(MemoryExtension)) is not None:
                memory.skip_messages_so_far()
            if number == len(messages):
                return
            if number % STEP_MESSAGES == 0 or clock.monotonic() - began > STEP_SECONDS:
                await asyncio.sleep(clock.monotonic() - began)
                began = clock.monotonic()

    async def _run_extensions(self, request: JsonObject, messages: Sequence[Message]) -> None:
        """Insert what the extensions have to show besides the host's messages, given the new
        ones.
        """
        self._view.model = str(request.get("model", ""))
        self._view.context_window = None if self._price is None else self._price.window
        await self._extensions.before_request(self._view, messages)

    def _count_fixed_parts(self, request: JsonObject) -> None:
        """Count the instructions and tools of a request, until a provider's count includes them."""
        meter = self.tracker.meter
        parts = [request[name] for name in INSTRUCTION_AND_TOOL_KEYS if request.get(name)]
        if not meter.is_measured and parts != self._fixed_parts:
            self._fixed_parts = parts
            meter.assume_prefix(parts, limit=int(self._limits.auto * MAX_ASSUMED_SHARE))

    def _update_limits(self, request: JsonObject) -> None:
        """Update thresholds and price; looked up again only when the request's model or output
        limit changes.
        """
        learned = self._find_learned_window(request)
        about = (request.get("model"), learned, *(request.get(name) for name in OUTPUT_LIMIT_KEYS))
        if about != self._limits_key:
            self._limits_key = about
            self._limits = compute_request_thresholds(request, self._log.runtime.settings, learned)
            self._price = find_request_model_price(
                request, self._log.runtime.settings.models.prices
            )

    def _find_learned_window(self, request: JsonObject) -> int | None:
        """The window that the host names or the model's server showed: in this process, or to
        memorist's own client of the same model.
        """
        runtime, name = self._log.runtime, str(request.get("model", ""))
        learned, named = runtime.learned_windows.get(name), self._log.context.host.window
        if learned or named:
            return min(filter(None, (learned, named)))
        known = find_request_model_price(request, runtime.settings.models.prices)
        if (
            known is None
            and runtime.model is not None
            and parse_name_from_model_string(runtime.model.name) == name
        ):
            return runtime.model.window
        return None

    def _learn_window(self, window: int | None, why: str) -> None:
        """Follow a smaller window from now on, in all sessions of the engine."""
        request, runtime = self._request or {}, self._log.runtime
        name = str(request.get("model", ""))
        assumed = resolve_context_window(
            request, runtime.settings.models, self._find_learned_window(request)
        )
        if window is not None and window < assumed:
            runtime.learned_windows[name] = window
            self._update_limits(request)
            self._log.emit(WindowLearned(name, window, why))

    def _history_items(self, request: JsonObject) -> Sequence[Any]:
        key = self._codec.history_key()
        if not isinstance(request, Mapping):
            raise WireFormatError(
                f"prepare takes the whole request, an object with 'model' and {key!r}, not "
                f"{type(request).__name__}"
            )
        items = request.get(key)
        if isinstance(items, str) and self._format == "openai_responses":
            return [{"role": "user", "content": items}]
        if not isinstance(items, list | tuple):
            raise WireFormatError(
                f"a request of format {self._format!r} holds its history as a list under {key!r}"
            )
        check_entry_shapes(items, key)
        return items

    def _build_request(self, request: JsonObject, *, rewritten: bool = False) -> JsonObject:
        marks = self._format == "anthropic" and self._log.is_auto_compaction_enabled
        self._request, self._reply = request, None
        if self._context is not None:
            request = self._context.add_system_prompt(request)
        if marks or self._view.differs_from_host_history:
            self._previous_sent = self._last_sent
        asyncio.get_running_loop().call_later(IDLE_WORK_DELAY_SECONDS, self._prepare_ahead)
        shown = self._view.build_request(request, self._codec.history_key(), marks=marks)
        self._last_sent = self._provider_edits.add_edits(
            shown, self._limits, self.tracker.tokens, self._view.messages
        )
        self._cache_watcher.on_request(
            self._last_sent,
            self._codec.history_key(),
            self._log.runtime.clock.now(),
            rewritten=rewritten,
        )
        return self._last_sent

    def _prepare_ahead(self) -> None:
        """Prepare the next request while the host waits for its model: copy the history, free the
        previous request, update the ledger.
        """
        self._previous_sent = None
        self._view.prepare_next_request()
        self.tracker.ledger.process_pending()

    async def observe(self, reply: object) -> None:
        """Take the model's reply: the SDK's object or its JSON. Starts an update of the notes in
        the background when one is due. The same reply once more, as from a loop that tries again,
        changes nothing.

        Raises WireFormatError when the reply is not of the session's format, UsageError after
        `close`.
        """
        self._check_open()
        body = replace_lone_surrogates(to_plain_json(reply))
        if not isinstance(body, dict):
            raise WireFormatError(
                f"a reply of format {self._format!r} is an object, not {type(reply).__name__}"
            )
        if body == self._reply:
            return
        answer = self._codec.decode_reply(body)
        self._reply = body
        sent = self.tracker.tokens
        for message in self._history.add_reply(answer.messages):
            self._log.add_message(message)
        self.tracker.on_reply_end(answer.usage)
        counted = answer.usage.context_tokens - answer.usage.output
        self._learn_window(self._window_observer.on_reply(sent, counted), "cut")
        self._extensions.on_reply(
            SessionReply(
                messages=tuple(answer.messages),
                usage=answer.usage,
                at=self._log.runtime.clock.now(),
                parent=lambda: self._parent_call(self._reply),
            )
        )
        self._on_provider_edits(self._reply)
        broke = self._cache_watcher.on_reply(answer.usage)
        if broke is not None:
            self._log.emit(broke)

    def _on_provider_edits(self, reply: JsonObject) -> None:
        """Record what the provider itself cleared or compacted."""
        cleared, compacted = self._provider_edits.read_reply(reply)
        before = self.tracker.tokens
        if cleared is not None:
            self._cache_watcher.expect_break()
            self._log.emit(
                ConversationCompacted(
                    "micro", "provider", before + cleared.tokens, before, len(cleared.ids), 0
                )
            )
        if isinstance(compacted, UnusableSummary):
            self._log.emit(CompactionFailed("provider", compacted.why))
        elif compacted:
            self._cache_watcher.expect_break()
            self._log.emit(ConversationCompacted("provider", "provider", before, before, 0, 0))

    @property
    def betas(self) -> tuple[str, ...]:
        """Beta names that the last prepared request needs, for
        `client.beta.messages.create(betas=…)`; empty where none.
        """
        return self._provider_edits.betas

    def search_project(self, query: str, limit: int = 10) -> SearchResults:
        """Search all that is kept of this project: memories, the team's, past sessions, notes and
        the memory of past sessions; at most `limit` of each. Raises StoreError.
        """
        return search_memories_sessions_and_notes(self._log, check_search(query, limit), limit)

    def recall_for_tool_call(self, name: str, arguments: JsonObject) -> str:
        """Return what is known of a tool call that the model wants and the host is about to make;
        empty for nearly every call, and never the same twice.

        The host shows it beside the call's result, or asks its model again. Takes some
        milliseconds at most.
        """
        check_type("arguments", arguments, dict, "an object of JSON")
        return self._extensions.before_tool(ToolUse("", check_text("a tool", name), arguments))

    async def end_turn(self) -> None:
        """End the turn: the reply had no tool calls and the host waits for its user, a natural
        break. Raises UsageError after `close`.
        """
        self._check_open()
        self.tracker.on_turn_end()
        self._extensions.on_turn_end(self._parent_call(self._reply))
        self._save()

    def _save(self) -> None:
        """Write everything, and where other machines share the session begin to send it there."""
        self._log.flush()
        if self._share is not None:
            self._share.save_in_background()

    def on_file_read(self, path: str | PurePath) -> None:
        """Note that a file was read into the conversation by other means than a tool call. Raises
        UsageError after `close`.
        """
        self._check_open()
        path = check_text("a path", str(path) if isinstance(path, PurePath) else path)
        self.tracker.ledger.work_record.files.record_read(path)
        self._extensions.on_file_read(path)
        self._log.emit(FileRead(path))

    async def update_notes(self) -> str:
        """Update the notes now, whatever the thresholds say, and return them (SM-11).

        Raises NothingToDo for an empty conversation, UsageError after `close`.
        """
        self._check_open()
        if not self.tracker.messages:
            raise NothingToDo("the conversation is empty, so there is nothing to take notes of")
        await self.session_memory.update_notes(
            NotesDue(why="asked for", tokens=self.tracker.tokens), self._parent_call(None)
        )
        return self.notes or ""

    async def compact(
        self, instructions: str = "", strategy: CompactionStrategy = "auto"
    ) -> CompactionOutcome:
        """Compact the conversation now; the next request shows it. `instructions` say what a
        summary should hold.

        The outcome's `result` is None when nothing was compacted, and its `why` says why. Raises
        NothingToDo for an empty conversation, UsageError after `close`.
        """
        self._check_open()
        check_text("what a summary should hold", instructions)
        check_strategy(strategy)
        if not self.tracker.messages or self._request is None:
            raise NothingToDo("the conversation is empty, so there is nothing to compact")
        return await self._compact(manual=strategy, instructions=instructions) or CompactionOutcome(
            None
        )

    async def shrink_refused_request(self) -> JsonObject | None:
        """Compact after the provider refused the last request as too long, and return the request
        to send instead.

        Once for each prepared request; None when nothing more can be done. Raises UsageError after
        `close`.
        """
        self._check_open()
        if (
            self._request is None
            or self._recovery_tried
            or not self._log.is_auto_compaction_enabled
        ):
            return None
        self._recovery_tried = True
        assumed = resolve_context_window(
            self._request,
            self._log.runtime.settings.models,
            self._find_learned_window(self._request),
        )
        window = self._window_observer.infer_window_from_refusal(self.tracker.tokens, assumed)
        if is_too_large_in_bytes(self._last_sent):
            self._limits = compute_request_thresholds(
                self._request, self._log.runtime.settings, window or assumed
            )
            self._limits_key = ()  # these limits are for this one request
        else:
            self._learn_window(window, "refused")
        done = await self._compact(forced=True)
        if done is None or done.result is None:
            return None
        await self._run_extensions(self._request, ())
        return self._build_request(self._request)

    async def _compact(
        self,
        *,
        manual: CompactionStrategy | None = None,
        instructions: str = "",
        forced: bool = False,
    ) -> CompactionOutcome | None:
        call = CompactionInput(
            limits=self._limits,
            parent=self._parent_call(None),
            price=self._price,
            manual=manual,
            instructions=instructions,
            forced=forced,
            provider_compacts=self._provider_edits.is_compaction_enabled,
            skills=self._log.invoked_skills.list_invoked(),
            predecessor=self._find_larger_predecessor(),
            read_whole=self._log.read_whole_conversation,
        )
        done = await self._view.compact_if_due(self._log.runtime.clock.now(), call)
        if done is not None and done.result is not None:
            await finish_before_cancellation(self._apply_compaction(done, done.result, call))
        return done

    async def _apply_compaction(
        self, done: CompactionOutcome, result: CompactedHistory, call: CompactionInput
    ) -> None:
        """Show the new history and record it. The steps take some milliseconds where the history is
        long, and others have their turn between them.
        """
        before = self._view.messages()
        await asyncio.sleep(0)
        self._view.show_messages(result.messages)
        await asyncio.sleep(0)
        self._cache_watcher.expect_break()
        self._window_observer.on_compaction()
        if result.strategy != "micro":
            self._log.record_compaction(
                done.to_boundary(before, manual=call.manual is not None), result.messages
            )
            self._extensions.on_history_replaced("compacted")
            self._save()

    def _find_larger_predecessor(self) -> str:
        """The model of the last request, where the upcoming one goes to another model with a
        smaller window; else empty.
        """
        last = (self._last_sent or {}).get("model")
        if not isinstance(last, str) or not self._limits_key or last == self._limits_key[0]:
            return ""
        before = compute_request_thresholds({"model": last}, self._log.runtime.settings)
        return last if before.effective > self._limits.effective else ""

    def fetch(self, id: str) -> str | None:
        """Return the full text of a message or tool result that is no longer shown in full; None
        when the session has none with this id.
        """
        self._log.flush()
        return self._view.fetch(id)

    @property
    def fetch_tool(self) -> JsonObject:
        """The definition of a tool by which the model fetches back what was removed.

        A host that offers it answers its calls with `fetch`.
        """
        return build_fetch_tool_definition(self._format)

    def _parent_call(self, reply: JsonObject | None) -> ParentCall | None:
        """The parent's last request as it was sent, and the reply to it."""
        if self._last_sent is None or self._log.runtime.model is None:
            return None
        body = self._last_sent
        if body is self._request:
            # The body is the host's own object and may have changed since; our copy of the history
            # has not.
            key = self._codec.history_key()
            body = {
                name: self._history.items if name == key else value for name, value in body.items()
            }
        return ParentCall(Request(format=self._format, body=body, label="parent"), reply)

    async def close(self) -> None:
        """Wait for background work, at most a minute, write everything and release the files.

        May be called twice. A caller that is cancelled only waits no longer.
        """
        self._is_closed = True
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        past = self._extensions.find(PastSessionRecall)
        try:
            await self._log.close()
            if past is not None and self.tracker.messages:
                await asyncio.to_thread(
                    past.index_closed_session, self._log.context.layout.transcript
                )
        finally:
            if self._share is not None:
                await self._share.close()
            self._on_close(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _find_messages_sent_again(added: HistoryAdditions) -> tuple[Message, ...]:
    """The user's messages at the end of a request that are recorded, but that the host had left out
    meanwhile, or sends after another beginning: what is shown for them left the view.
    """
    new = {message.id for message in added.new_messages}
    sent = [message for entry in added.entries for message in entry.messages]
    newest = [*takewhile(lambda message: message.role == "user", reversed(sent))]
    return tuple(message for message in reversed(newest) if message.id not in new)
