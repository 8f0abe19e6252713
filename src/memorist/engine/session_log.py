"""What a session writes and tracks: transcript, events, receipts, notes and compaction.

Shared by live, observed and replayed sessions. What compactions removed is read back from the
transcript.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, takewhile
from pathlib import Path
from typing import get_args

from msgspec.structs import replace

from memorist.budget.budget_governor import BudgetGovernor
from memorist.compaction.compaction_prompts import load_shipped_compaction_prompts
from memorist.compaction.compaction_result import CompactionStrategy
from memorist.compaction.compactor import Compactor
from memorist.compaction.window_recording_merge import (
    merge_window_into_recording,
    strip_host_content,
)
from memorist.context.turn_rollback import drop_rolled_back_entries, starts_turn
from memorist.core.messages import Message, Origin
from memorist.core.token_count import estimate_message_tokens
from memorist.engine.callback_guards import guard_token_counter
from memorist.engine.host_history import compute_message_digest
from memorist.errors import StoreError, UnreadableSession
from memorist.events import (
    Event,
    ForkFinished,
    HistoryReplaced,
    SessionClosed,
    SessionOpened,
    TurnsRolledBack,
)
from memorist.extensions import ExtensionList, SessionExtension
from memorist.forks.fork_spec import Receipt
from memorist.forks.joint_fork import JoinedForkRunner
from memorist.formats.transcript_format import (
    CompactionBoundary,
    SessionHead,
    TranscriptEntry,
    TurnRollback,
    UsageReport,
    WorldStateRecord,
)
from memorist.runtime import SessionContext
from memorist.session_memory.conversation_tracker import ConversationTracker
from memorist.session_memory.notes_prompt import NotesPrompts
from memorist.session_memory.session_notes import SessionMemory
from memorist.settings import SessionMemorySettings
from memorist.skills.skill_invocation import InvokedSkillTracker
from memorist.store.event_log import EventLog
from memorist.store.session_rows import record_session
from memorist.store.transcript_reader import read_transcript
from memorist.store.transcript_writer import TranscriptWriter
from memorist.telemetry.tracing import SessionTracer

# What compactions removed from a conversation, read back from the transcript for the next
# compaction without a model: an extract of the whole holds more than an extract of an extract.

MAX_REMOVED_TOKENS = 400_000
"""Newest tokens of a transcript that are read back: a second or two of work. Our choice."""

_OWN_STRATEGIES = frozenset(get_args(CompactionStrategy))


def read_whole_conversation(
    transcript: Path, window: Sequence[Message], hidden: Iterable[str] = ()
) -> tuple[Message, ...]:
    """The conversation as if no compaction had removed anything from it: the recorded messages in
    their order, those of the `window` as they are shown now. Without the messages with a `hidden`
    id, what the user rolled back, what the host dropped without a summary, and what it had put into
    the conversation, which is brought back by other means. Raises UnreadableSession.
    """
    recorded = collect_messages_ignoring_compactions(
        drop_rolled_back_entries(read_transcript(transcript))
    )
    shown, left_out = {each.id for each in window}, set(hidden)
    recorded = [
        part
        for each in recorded
        if each.id in shown or each.id not in left_out
        if (part := each if each.id in shown else strip_host_content(each)).blocks
    ]
    newest = _take_newest(recorded)
    return merge_window_into_recording(newest, window, is_whole=len(newest) == len(recorded))


def collect_messages_ignoring_compactions(entries: Iterable[TranscriptEntry]) -> list[Message]:
    """The messages that compactions removed, or nothing did: our own compactions, and those of the
    host, which put a summary in their place. What the host dropped without one stays away.
    """
    found: list[Message] = []
    dropped: list[Message] = []
    """What the host's newest history left out, until it shows a summary or the model answers."""
    for entry in entries:
        match entry:
            case Message(origin=Origin.SUMMARY):
                found = [*dropped, *found, entry]
                dropped = []
            case Message(origin=origin):
                found.append(entry)
                dropped = [] if origin is Origin.MODEL else dropped
            case CompactionBoundary(id=id, kept=kept, replacement=replacement) if (
                id not in _OWN_STRATEGIES
            ):
                at = max(0, len(found) - kept)
                if any(each.origin is Origin.SUMMARY for each in replacement):
                    # Codex puts copies of the user's messages beside its summary.
                    found[at:at] = [each for each in replacement if each.origin is not Origin.USER]
                    dropped = []
                else:
                    found, dropped = [*replacement, *found[at:]], found[:at]
            case _:
                pass
    return found


def _is_same_message(one: Message, other: Message) -> bool:
    """Whether both say the same: of equal messages, another id is left where the host drops one."""
    return one.id == other.id or compute_message_digest(one) == compute_message_digest(other)


def _take_newest(messages: Sequence[Message]) -> Sequence[Message]:
    sizes = accumulate(estimate_message_tokens(each) for each in reversed(messages))
    count = sum(size <= MAX_REMOVED_TOKENS for size in sizes)
    return messages[len(messages) - count :]


_log = logging.getLogger("memorist")

LogEntry = (
    SessionHead | Message | CompactionBoundary | TurnRollback | WorldStateRecord | UsageReport
)


class SessionLog:
    """The log of one session.

    Opening it reads what is on disk; a session has at most one open log.
    """

    def __init__(self, context: SessionContext, texts: NotesPrompts) -> None:
        runtime, layout = context.runtime, context.layout
        self._listener = runtime.emit
        self._closed = False
        self._is_recorded = False
        """Whether the database knows of the session."""
        self._warned: set[str] = set()
        self.loss: StoreError | None = None
        """Why a part of the session was not saved, once it is closed; None where all of it is."""
        self._auto_compact = context.host.auto_compact
        self._traces = SessionTracer(runtime.settings.telemetry, context.id, runtime.clock)
        self._governor = BudgetGovernor(
            runtime.open_database(),
            context.id,
            clock=runtime.clock,
            settings=runtime.settings.spend,
            on_receipt=self._traces.on_receipt,
            runner=JoinedForkRunner(runtime.clock).run,
        )
        self.receipts: list[Receipt] = []
        self.runtime = replace(
            runtime, governor=self._governor, emit=self.emit, record_receipt=self.record_receipt
        )
        self.context = context = replace(
            context,
            runtime=self.runtime,
            host=replace(context.host, auto_compact=self.is_auto_compaction_enabled),
        )
        self.tracker = ConversationTracker(
            self._session_memory_settings, guard_token_counter(context.host.count_tokens)
        )
        self.session_memory = SessionMemory(context, self.tracker, texts)
        texts_of_compaction = load_shipped_compaction_prompts()
        self.compactor = Compactor(context, self.tracker, self.session_memory, texts_of_compaction)
        self.invoked_skills = InvokedSkillTracker(texts_of_compaction.skill)
        """The skills that the conversation invoked."""
        self.window_messages: list[Message] = []
        """The messages that the model is shown, as far as transcript and compactions tell."""
        self.known_ids: list[str] = []
        """Ids of the messages that an earlier process recorded."""
        self.extensions = ExtensionList((), self.emit)
        self._transcript = TranscriptWriter(
            layout.transcript, redacts=not runtime.settings.raw_transcripts
        )
        with contextlib.ExitStack() as undo:
            undo.callback(self._transcript.close)
            self._events = EventLog(layout.events, runtime.clock)
            undo.pop_all()

    def start(self, extensions: Iterable[SessionExtension]) -> None:
        """Read what is on disk, and begin: `extensions` follow the session after its notes, its
        compactor and its skills. Called once. Raises StoreError.
        """
        self.extensions = ExtensionList(
            (self.session_memory, self.compactor, self.invoked_skills, *extensions), self.emit
        )
        context = self.context
        self.known_ids = self._replay_transcript()
        if not self.known_ids:
            head = SessionHead(
                session=context.id,
                format="memorist",
                cwd=context.project,
                is_subagent=not context.host.main,
            )
            self.add_entry(head)
        self._record()
        self.emit(
            SessionOpened(
                context.id,
                context.format,
                resumed=bool(self.known_ids),
                messages=len(self.known_ids),
            )
        )

    def allow_takeover(self) -> None:
        """Let go of the session when another process asks for it, see `is_takeover_requested`."""
        self._transcript.allow_takeover()

    @property
    def is_takeover_requested(self) -> bool:
        """Whether another process asks for the session."""
        return self._transcript.is_takeover_requested

    @contextlib.contextmanager
    def release_on_error(self) -> Iterator[None]:
        """Release the files if the session cannot begin, else nobody could open it before the
        process ends.
        """
        try:
            yield
        except BaseException:  # a cancellation too
            for close in (self._transcript.close, self._events.close):
                with contextlib.suppress(StoreError):
                    close()
            raise

    def _session_memory_settings(self) -> SessionMemorySettings:
        return self.runtime.flags.apply_to_section(self.runtime.settings.session_memory)

    def _replay_transcript(self) -> list[str]:
        """Track the transcript on disk again, after a restart; the notes' cursor says which message
        they cover (SM-14).

        Returns the ids of its messages.
        """
        cursor = self.session_memory.read_cursor()
        known = []
        for entry in read_transcript(self.context.layout.transcript):
            if isinstance(entry, Message):
                known.append(entry.id)
                self.extensions.on_message(entry, replayed=True)
                self.window_messages.append(entry)
            match entry:
                case CompactionBoundary():
                    self._apply_boundary(entry, None)
                case TurnRollback(turns=turns, kept=True):
                    removed = {each.id for each in self._apply_rollback(turns)}
                    known = [id for id in known if id not in removed]
                case _:
                    self._track(entry)
            if cursor is not None and isinstance(entry, Message) and entry.id == cursor.message:
                self.tracker.on_notes_updated(self.tracker.tokens)
        return known

    def add_message(self, message: Message, *, replayed: bool = False) -> None:
        """Record a message and track it. `replayed` marks one that another session had seen. A host
        says of none when it was: it is now.
        """
        if message.timestamp is None:
            message = replace(message, timestamp=self.runtime.clock.now())
        self._transcript.append(message)
        self.extensions.on_message(message, replayed=replayed)
        self.window_messages.append(message)
        self.tracker.on_message(message)

    def add_entry(self, entry: LogEntry) -> None:
        """Record any entry and track it."""
        match entry:
            case Message():
                self.add_message(entry)
            case CompactionBoundary():
                self.record_external_replacement(entry)
            case _:
                self._transcript.append(entry)
                self._track(entry)

    def _track(self, entry: object) -> None:
        match entry:
            case Message():
                self.tracker.on_message(entry)
            case UsageReport(context=context, output=output, reasoning=reasoning):
                self.tracker.record_context_measurement(context, output=output, reasoning=reasoning)
            case SessionHead():
                self.tracker.on_transcript_head(entry)
            case TurnRollback():
                self.emit(TurnsRolledBack(entry.turns, entry.messages, entry.line))

    def _apply_boundary(
        self, boundary: CompactionBoundary, kept_messages: Sequence[Message] | None
    ) -> None:
        """Apply the new history: the boundary's replacement, and the messages that stayed.

        Without `kept_messages` those are the newest ones.
        """
        if kept_messages is None:
            kept_messages = self.window_messages[-boundary.kept :] if boundary.kept else ()
        self.window_messages = [*boundary.replacement, *kept_messages]
        if boundary.id not in _OWN_STRATEGIES:
            self.compactor.on_host_history(self.window_messages)
        self.tracker.on_history_replaced(tuple(self.window_messages))

    def record_host_history(self, kept: tuple[Message, ...]) -> None:
        """Record that the host rewrote its history: of what is known these messages are still in
        it. Those before the newest, as after an edit or a return to an earlier turn, are written
        once more; never all, as a host may leave one out with each request.
        """
        pairs = zip(reversed(self.window_messages), reversed(kept), strict=False)
        newest = sum(1 for _ in takewhile(lambda pair: _is_same_message(*pair), pairs))
        at = len(kept) - newest
        boundary = CompactionBoundary(
            id="", line=0, trigger="host", kept=newest, replacement=kept[:at]
        )
        self.record_external_replacement(boundary, kept[at:])

    def record_external_replacement(
        self, boundary: CompactionBoundary, kept_messages: Sequence[Message] | None = None
    ) -> None:
        """Record that the host or the recorded agent replaced its history.

        `kept_messages` are those that stayed, where known.
        """
        before = self.tracker.tokens
        self._transcript.append(boundary)
        self._apply_boundary(boundary, kept_messages)
        self.emit(
            HistoryReplaced(
                boundary.trigger,
                boundary.tokens_before or before,
                self.tracker.tokens,
                boundary.line,
            )
        )

    def recount_if_more_is_shown(self, shown: Sequence[Message]) -> None:
        """Count what the model is shown where that is more than the transcript tells: the host's
        history, of which a former process had compacted a part, and the view of it is lost.
        """
        known = {message.id for message in self.window_messages}
        if any(message.id not in known for message in shown):
            self.window_messages = list(shown)
            self.tracker.recount_tokens(shown)

    def record_rollback(self, turns: int, messages: int) -> None:
        """Record that the user rolled back the last turns, with this many messages: a marker is
        appended, nothing is deleted (CX-7).
        """
        self._transcript.append(TurnRollback(turns=turns, messages=messages, line=0, kept=True))
        self._apply_rollback(turns)
        self.emit(TurnsRolledBack(turns, messages))

    def _apply_rollback(self, turns: int) -> list[Message]:
        starts = [
            index for index, message in enumerate(self.window_messages) if starts_turn(message)
        ]
        if turns < 1:  # an agent asked for none
            return []
        at = starts[-turns] if turns <= len(starts) else 0
        removed = self.window_messages[at:]
        del self.window_messages[at:]
        self.compactor.on_rollback(removed)
        self.extensions.on_turns_rolled_back(removed)
        self.tracker.on_rollback(removed)
        self.tracker.on_history_replaced(tuple(self.window_messages))
        return removed

    def record_compaction(
        self,
        boundary: CompactionBoundary,
        messages: tuple[Message, ...],
        *,
        measured_before: bool = False,
    ) -> None:
        """Record that memorist replaced the history by these messages.

        With `measured_before`, as in a replay, later usage still counts what is gone.
        """
        self._transcript.append(boundary)
        self.window_messages = list(messages)
        self.tracker.on_history_replaced(messages, measured_before=measured_before)

    async def read_whole_conversation(
        self, window: Sequence[Message], hidden: frozenset[str]
    ) -> tuple[Message, ...]:
        """A `ConversationReader` of this session."""
        self.flush()
        if self._transcript.dropped_entries or self._transcript.is_deleted:
            return tuple(window)
        path = self.context.layout.transcript
        try:
            return await asyncio.to_thread(read_whole_conversation, path, window, hidden)
        except (UnreadableSession, OSError):
            return tuple(window)

    def flush(self) -> None:
        """Hand the transcript to the operating system, and record the session where that was not
        possible before. What the disk does not take is kept for the next time.
        """
        self._write(self._transcript.flush)
        if not self._is_recorded:
            self._record()
        if self._transcript.is_deleted:
            self._warn_once("was deleted while it runs; what is said now is lost", "")
        if self._transcript.dropped_entries:
            self._warn_once(
                "waits for its disk with all that is kept; what is said now is lost", ""
            )

    def _record(self) -> None:
        """Record in the database that the session was opened."""
        context, runtime = self.context, self.runtime

        def record() -> None:
            record_session(
                runtime.open_database(),
                context.id,
                project=context.project,
                folder=str(context.layout.folder),
                format=context.format,
                now=runtime.clock.now(),
            )
            self._is_recorded = True

        self._write(record, "is not in the list of sessions for now")

    def _write(
        self, write: Callable[[], object], problem: str = "is not saved for now"
    ) -> StoreError | None:
        """Write as far as the disk lets it: the host goes on in any case, and the log says so.
        Returns what the disk refused with.
        """
        try:
            write()
        except StoreError as error:
            self._warn_once(problem, f": {error}")
            return error
        return None

    def _warn_once(self, problem: str, cause: str) -> None:
        if problem not in self._warned:
            self._warned.add(problem)
            _log.warning("the session %s %s%s", self.context.id, problem, cause)

    def emit(self, event: Event) -> None:
        """Write an event and pass it to the listener."""
        self._write(lambda: self._events.append(event))
        self._traces.on_event(event)
        self._listener(event)

    def record_receipt(self, receipt: Receipt) -> None:
        """Keep a fork's receipt and emit its event. What the fork made stands also where the
        database refuses the receipt.
        """
        self.receipts.append(receipt)

        def record() -> None:
            number = self._governor.record_receipt(receipt)
            self.emit(
                ForkFinished(
                    number, receipt.label, receipt.outcome.value, receipt.requests, receipt.cost_usd
                )
            )

        self._write(record, "has a receipt that is not counted for now")

    @property
    def is_auto_compaction_enabled(self) -> bool:
        """Whether the conversation is compacted automatically, as the flags have it now."""
        settings = self.runtime.flags.apply_to_section(self.runtime.settings.compaction)
        return self._auto_compact and settings.enabled

    async def close(self) -> None:
        """Wait for background work, at most a minute, write everything and release the files: also
        where the wait is cancelled. May be called twice.
        """
        if self._closed:
            return
        self._closed = True
        try:
            await self.extensions.aclose()
        finally:
            self._close_files()

    def _close_files(self) -> None:
        """Write what is left, and release the files."""
        self._governor.release_reservations()
        self.emit(SessionClosed(self.tracker.messages, self.tracker.tokens))
        if not self._is_recorded:
            self._record()
        words = self._write(self._transcript.close, "is lost from here on")
        events = self._write(self._events.close, "has no record of its last events")
        self.loss = words or events
        if lost := self._transcript.dropped_entries:
            self._warn_once(f"lost {lost:,} entries that its disk did not take", "")
