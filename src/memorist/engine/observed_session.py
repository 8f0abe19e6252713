"""A live session of an agent that manages its own context: memorist reads what the agent records,
and its hooks ask what to show.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from msgspec import Struct, field

from memorist.auto_memory.inbox import Proposal
from memorist.auto_memory.moved_projects import describe_memory_found_elsewhere
from memorist.auto_memory.statements.no_memory_and_pin_requests import find_text_to_pin
from memorist.compaction.compactor import NO_USAGE
from memorist.context.turn_rollback import starts_turn
from memorist.core.messages import Message, Origin, ToolUse
from memorist.engine.copied_messages import CopiedMessageDetector
from memorist.engine.memory_extension import MemoryExtension
from memorist.engine.past_session_recall import PastSessionRecall
from memorist.engine.session_log import LogEntry, SessionLog
from memorist.engine.session_pins import PinnedTextExtension
from memorist.errors import StoreError
from memorist.extensions import SessionReply
from memorist.formats.host_markup import strip_host_markup
from memorist.formats.transcript_format import CompactionBoundary, SessionHead, TurnRollback
from memorist.rollouts.rollout_memory import RolloutMemoryExtension
from memorist.safety.redacted_json import encode_redacted
from memorist.session_memory.conversation_tracker import NotesDue
from memorist.session_memory.notes_template import parse_section_bodies
from memorist.store.disk_files import read_json_if_valid
from memorist.store.home_layout import SessionLayout

RECORDS_PER_SLICE = 20
"""Number of records that are processed before other tasks run: some milliseconds of work."""


class ShownTexts(Struct, frozen=True, kw_only=True):
    """What the agent was shown since its last compaction, so that a new process shows nothing
    twice.

    Written to disk.
    """

    texts: tuple[str, ...] = ()
    was_rollout_memory_shown: bool = field(default=False, name="past")


class ObservedSession:
    """Opened by `Memorist.observe_session`.

    Methods may be called while others wait; `add_records` and `close` exclude each other.
    """

    def __init__(
        self,
        log: SessionLog,
        memory: MemoryExtension,
        *,
        turn_memory_off: Callable[[], None] = lambda: None,
        on_close: Callable[[ObservedSession], object] = lambda _: None,
        why_unsaved: str = "",
    ) -> None:
        self.why_unsaved = why_unsaved
        """Why the home does not take the session's files; empty where it does."""
        self._log = log
        self._memory = memory
        self.turn_memory_off = turn_memory_off
        """Lets nothing more be read, shown or written in this session."""
        self._pins = log.extensions.find(PinnedTextExtension)
        self._rollout_memory = rollout_memory = log.extensions.find(RolloutMemoryExtension)
        self._session_recall = log.extensions.find(PastSessionRecall)
        self._on_close = on_close
        self._lock = asyncio.Lock()
        self._prompt_count = 0
        self.message_ids: set[str] = set(log.known_ids)
        """Ids of the messages that were recorded."""
        self._shown = self._saved_shown = self._load_shown()
        if self._shown.texts and memory.recall is not None:
            memory.recall.restore_shown_from_texts(self._shown.texts)
        if self._shown.was_rollout_memory_shown and rollout_memory is not None:
            rollout_memory.mark_shown()

    @property
    def layout(self) -> SessionLayout:
        """Paths of the session's files."""
        return self._log.context.layout

    @property
    def message_count(self) -> int:
        """Number of messages so far."""
        return self._log.tracker.messages

    @property
    def notes(self) -> str | None:
        """The notes on disk; None when there are none yet."""
        return self._log.session_memory.read_notes()

    def notes_by_section(self) -> dict[str, str]:
        """The notes by section title; empty without notes."""
        return parse_section_bodies(self.notes or "", self._log.session_memory.template)

    def _load_shown(self) -> ShownTexts:
        files, path = self._log.runtime.files, self.layout.hook_context
        with contextlib.suppress(StoreError):
            return read_json_if_valid(files, path, ShownTexts) or ShownTexts()
        return ShownTexts()

    def save_shown_texts(self) -> None:
        """Save what the agent was shown, after the answer with it: the disk takes some milliseconds
        to confirm it. A process that is killed before shows something twice.
        """
        if self._saved_shown is self._shown:
            return
        self._saved_shown = self._shown
        with contextlib.suppress(StoreError):
            self._log.runtime.files.write(self.layout.hook_context, encode_redacted(self._shown))

    async def add_records(self, head: SessionHead | None, entries: Iterable[LogEntry]) -> None:
        """Add what the agent has recorded since the last call. `entries` are taken in slices in a
        thread, so that they can be read from a file of any size. Raises StoreError.
        """
        async with self._lock:
            if head is not None:
                self._log.tracker.on_transcript_head(head)
            unread = iter(entries)
            copies = None
            if not self.message_ids and head is not None:
                copies, unread = await asyncio.to_thread(self._begin_matching, head, unread)
            is_copied = False
            while records := await asyncio.to_thread(_take_slice, unread, copies):
                for entry, is_copy in records:
                    if is_copied and not is_copy:
                        self._memory.skip_messages_so_far()
                    is_copied = is_copy
                    self._add_record(entry, is_copy=is_copy)
            if is_copied:
                self._memory.skip_messages_so_far()
            self._log.flush()

    def _begin_matching(
        self, head: SessionHead, unread: Iterator[LogEntry]
    ) -> tuple[CopiedMessageDetector | None, Iterator[LogEntry]]:
        """What finds the first records that were copied from another session, and the records; None
        for a session that begins with no reply of a model, and is no copy.
        """
        if not head.forked_from and head.format != "claude_code":
            return None, unread
        start: list[LogEntry] = []
        for entry in unread:
            start.append(entry)
            if isinstance(entry, Message) and entry.origin is Origin.MODEL:
                return CopiedMessageDetector(self.layout, head.forked_from), chain(start, unread)
        return None, iter(start)

    def _add_record(self, entry: LogEntry, *, is_copy: bool) -> None:
        """Add a record. What `is_copy` was said in another session, which has learnt from it."""
        match entry:
            case TurnRollback(turns=turns, messages=messages):
                self._log.record_rollback(turns, messages)
            case Message():
                self._log.add_message(entry, replayed=is_copy)
            case _:
                self._log.add_entry(entry)
        if isinstance(entry, Message):
            self.message_ids.add(entry.id)
            if entry.origin is Origin.MODEL and not is_copy:
                self._log.extensions.on_reply(
                    SessionReply(
                        messages=(entry,),
                        usage=entry.usage or NO_USAGE,
                        at=entry.timestamp or self._log.runtime.clock.now(),
                    )
                )
        self._log.session_memory.schedule_if_due()

    def on_rewind(self, live_ids: Iterable[str]) -> None:
        """The user rewound the conversation: of the recorded messages only those with these ids are
        still in the agent's context. Called before what was said since is added: the newest turns
        were rolled back where all of them are missing and something new takes their place. A file
        that merely lost its end rolls back nothing.
        """
        here = set(live_ids)
        window = self._log.window_messages
        kept = [message for message in window if message.id in here]
        newest = window[len(kept) :]
        is_continued = not here <= self.message_ids
        is_missing = here.isdisjoint(each.id for each in newest)
        if newest and is_continued and is_missing and starts_turn(newest[0]):
            self._log.record_rollback(sum(map(starts_turn, newest)), len(newest))
        elif newest:
            self._log.record_external_replacement(
                CompactionBoundary(id="", line=0, trigger="host", kept=len(kept)), kept
            )

    async def take_opening_texts(self) -> list[str]:
        """Return what to show at the start of a session: the memory index and the rollout memory,
        unless the agent was shown them already.
        """
        await self._memory.wait_for_scan()
        texts = []
        index = self._memory.index_message()
        if index is not None:
            texts.append(index.text)
        if self._pins is not None and (pinned := self._pins.take_pins_missing_from_view()):
            texts.append(pinned)
        past = ""
        if self._rollout_memory is not None:
            with contextlib.suppress(StoreError):
                past = self._rollout_memory.take_due_text()
        if texts or past:
            self._add_shown(texts, has_past=bool(past))
        return [*texts, *filter(None, [past])]

    def _add_shown(self, texts: Iterable[str], *, has_past: bool = False) -> None:
        self._shown = ShownTexts(
            texts=(*self._shown.texts, *texts),
            was_rollout_memory_shown=self._shown.was_rollout_memory_shown or has_past,
        )

    def list_waiting_proposals(self, *, is_for_user: bool = False) -> Sequence[Proposal]:
        """What waits for the user's yes or no, in the order of its numbers, which stay where it
        `is_for_user` to see.
        """
        return self._memory.list_waiting_proposals(is_for_user=is_for_user)

    @property
    def memory_read_failure(self) -> str:
        """Why the memories could not be read for the opening texts; empty if they could."""
        return self._memory.read_failure

    def suggest_former_memory(self) -> str:
        """Say which memory may be this project's, where it has none yet; empty otherwise."""
        extraction, context = self._memory.extraction, self._log.context
        if extraction is None or extraction.memory.folder.exists or not context.project:
            return ""
        runtime = self._log.runtime
        found = describe_memory_found_elsewhere(runtime.files, runtime.layout, context.project)
        return found[0] if found else ""

    def on_history_replaced(self) -> None:
        """The agent compacted its conversation, or began a new one: what was shown is gone."""
        self._log.extensions.on_history_replaced("compacted")
        self._shown = ShownTexts()

    async def recall_for_prompt(self, prompt: str) -> list[str]:
        """Return the memories that are relevant to the user's prompt and were not shown yet."""
        self._prompt_count += 1
        await self._memory.wait_for_scan()
        texts = await self._memory.recall_texts(
            strip_host_markup(prompt), f"prompt-{self._prompt_count}"
        )
        if self._pins is not None:
            if pinned := find_text_to_pin(prompt):
                self._pins.pin(pinned)
            texts += filter(None, [self._pins.take_pins_missing_from_view()])
        if self._session_recall is not None:
            said = self._session_recall.recall_for_prompt(
                strip_host_markup(prompt), shown_texts=self._shown.texts, memories=texts
            )
            texts += filter(None, [said])
        if texts:
            self._add_shown(texts)
        return texts

    def recall_for_tool_call(self, call: ToolUse) -> list[str]:
        """Return what to show before the agent makes this call, each text once; empty for most."""
        text = self._log.extensions.before_tool(call)
        if not text or text in self._shown.texts:
            return []
        self._add_shown([text])
        return [text]

    def preload_in_background(self) -> None:
        """Read in the background what the first prompt would wait for, while nobody does."""
        self._memory.preload_in_background()
        if self._session_recall is not None:
            self._session_recall.preload_in_background()

    async def update_notes(self, why: str) -> None:
        """Update the notes at a break of the client's and wait for it. `why` is recorded as the
        reason.
        """
        if self._log.session_memory.are_notes_kept and self.message_count:
            await self._log.session_memory.wait_for_running_update()
            await self._log.session_memory.update_at_break(
                NotesDue(why=why, tokens=self._log.tracker.tokens)
            )

    def on_turn_end(self) -> None:
        """The turn is over and the agent waits for its user: a natural break for updates."""
        self._log.tracker.on_turn_end()
        self._log.extensions.on_turn_end()
        self._log.flush()

    def register_recording(self, file: Path) -> None:
        """The session is over and recorded in this file: register it as a rollout."""
        if self._rollout_memory is not None:
            with contextlib.suppress(StoreError):
                self._rollout_memory.register_recording(file)
        if self._session_recall is not None:
            self._session_recall.sync_index_in_thread()

    async def wait_for_background(self) -> None:
        """Wait for background work, within its bounds; the session stays open."""
        await self._log.extensions.wait_for_background()

    async def close(self) -> None:
        """Wait for background work, at most a minute, write everything and release the files.

        May be called twice.
        """
        async with self._lock:
            self.save_shown_texts()
            await self._log.close()
        self._on_close(self)


def _take_slice(
    unread: Iterator[LogEntry], copies: CopiedMessageDetector | None
) -> list[tuple[LogEntry, bool]]:
    """The next records, each with whether it belongs to the first ones, which were copied."""
    return [
        (entry, copies is not None and copies.is_still_copied(entry))
        for entry in islice(unread, RECORDS_PER_SLICE)
    ]
