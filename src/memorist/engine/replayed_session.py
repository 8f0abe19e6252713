"""A recorded session played again, record by record, as a host would have."""

from __future__ import annotations

from collections.abc import Callable

from memorist.compaction.compaction_input import CompactionInput, CompactionOutcome
from memorist.compaction.compaction_thresholds import CompactionThresholds
from memorist.compaction.compactor import NO_USAGE
from memorist.core.messages import Message, Origin
from memorist.core.tool_pairs import starts_reply
from memorist.engine.memory_extension import MemoryExtension, RecalledText
from memorist.engine.session_log import LogEntry, SessionLog
from memorist.errors import NothingToDo, StoreError
from memorist.extensions import SessionReply
from memorist.forks.fork_spec import Receipt
from memorist.models.model_pricing import ModelPrice
from memorist.session_memory.conversation_tracker import ConversationTracker, NotesDue
from memorist.store.home_layout import SessionLayout


class ReplayedSession:
    """A recorded session that runs through the engine as if it were live; opened by
    `Memorist.replay_session`.
    """

    def __init__(
        self,
        log: SessionLog,
        memory: MemoryExtension,
        on_close: Callable[[ReplayedSession], object] = lambda _: None,
    ) -> None:
        self._log = log
        self._memory = memory
        self._on_close = on_close
        self.limits: CompactionThresholds | None = None
        """When memorist compacts by itself; None leaves compaction to the recorded agent."""
        self._newest_reply: Message | None = None
        self._waiting: set[str] = set()
        """Ids of the calls of the newest reply that have no result yet."""
        self._recalled: list[RecalledText] = []
        self.price: ModelPrice | None = None
        """Price of the recorded model; None when unknown."""

    @property
    def layout(self) -> SessionLayout:
        """Paths of the session's files."""
        return self._log.context.layout

    @property
    def tracker(self) -> ConversationTracker:
        """State of the conversation so far: size of the context, messages, turns."""
        return self._log.tracker

    @property
    def save_error(self) -> StoreError | None:
        """Why a part of the session was not saved, once it is closed; None where all of it is."""
        return self._log.loss

    def receipts(self) -> list[Receipt]:
        """Receipts of background forks, oldest first."""
        return list(self._log.receipts)

    async def add_record(self, entry: LogEntry) -> None:
        """Add the next entry of the recording."""
        if isinstance(entry, Message) and entry.origin is Origin.USER and not entry.tool_results:
            await self._memory.extract()  # the turn before has ended
        self._log.add_entry(entry)
        await self._log.session_memory.update_if_due()
        if self.limits is not None:
            await self._compact_if_due(entry, self.limits)
        if isinstance(entry, Message):
            self._recalled += self._memory.recall_for_replay(entry)

    async def _compact_if_due(self, entry: LogEntry, limits: CompactionThresholds) -> None:
        """Compact where a live session would have: before the request that this message is part
        of. It is sent when all calls of a reply have their results.
        """
        if not isinstance(entry, Message):
            return
        if self._waits_for_results(entry):
            return
        now = entry.timestamp or 0.0
        if entry.origin is Origin.MODEL:
            self._log.compactor.on_reply(
                SessionReply(messages=(entry,), usage=entry.usage or NO_USAGE, at=now)
            )
        elif self._log.is_auto_compaction_enabled and self._log.compactor.is_due(now, limits):
            done = await self._log.compactor.compact(
                CompactionInput(
                    skills=self._log.invoked_skills.list_invoked(),
                    messages=tuple(self._log.window_messages),
                    limits=limits,
                    price=self.price,
                    now=now,
                    read_whole=self._log.read_whole_conversation,
                )
            )
            self._apply_compaction(done)

    def _waits_for_results(self, entry: Message) -> bool:
        """Whether other calls of the newest reply still have no result after this message."""
        if entry.role == "assistant":
            if starts_reply(entry, self._newest_reply):
                self._waiting.clear()
            self._newest_reply = entry
            self._waiting.update(use.id for use in entry.tool_uses)
            return False
        self._waiting.difference_update(result.tool_use_id for result in entry.tool_results)
        return bool(entry.tool_results and self._waiting)

    def _apply_compaction(self, done: CompactionOutcome) -> None:
        if done.result is None:
            return
        if done.result.strategy == "micro":
            self._log.window_messages = list(done.result.messages)
            self.tracker.on_results_cleared(done.result.tokens_before - done.result.tokens_after)
        else:
            self._log.record_compaction(
                done.to_boundary(self._log.window_messages, manual=False),
                done.result.messages,
                measured_before=True,
            )
            self._memory.on_history_replaced("compacted")

    def take_recalled_texts(self) -> list[RecalledText]:
        """Return the memories that a live session would have been shown since the last call."""
        found, self._recalled = self._recalled, []
        return found

    async def finish_and_update_notes(self) -> str:
        """Finish the recording: extract memories, update the notes and return them.

        Raises NothingToDo for an empty conversation.
        """
        if not self.tracker.messages:
            raise NothingToDo("the conversation is empty, so there is nothing to take notes of")
        await self._memory.extract()
        await self._log.session_memory.update_notes(
            NotesDue(why="the recording ends", tokens=self.tracker.tokens), None
        )
        return self._log.session_memory.read_notes() or ""

    async def close(self) -> None:
        """Write everything and release the files. May be called twice."""
        await self._log.close()
        self._on_close(self)
