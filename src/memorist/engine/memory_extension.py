"""Auto memory within one session: what it extracts for later sessions, and what it recalls from
earlier ones.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from msgspec import Struct

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.client_rules import ClientRule
from memorist.auto_memory.extraction import MemoryExtraction
from memorist.auto_memory.inbox import Proposal
from memorist.auto_memory.statements.user_prose import extract_redacted_user_text
from memorist.core.messages import (
    RECALL_ID_PREFIX,
    Message,
    Origin,
    ToolUse,
    find_newest_user_message,
)
from memorist.engine.background_loading import BackgroundSteps
from memorist.errors import StoreError
from memorist.extensions import HistoryChange, SessionExtension, SessionView
from memorist.forks.fork_spec import ParentCall
from memorist.recall.initial_memory_scan import SCAN_WAIT_SECONDS, InitialMemoryScan
from memorist.recall.memory_selection import list_successful_tools
from memorist.recall.session_recall import MemorySearcher, SessionMemoryRecall
from memorist.runtime import SessionContext
from memorist.team.team_watcher import TeamWatcher
from memorist.transcript_analysis.tool_actions import ChangeAction, CommandAction, parse_tool_action
from memorist.transcript_analysis.written_files import list_files_written_by_command

MAX_SCAN_WAIT_SECONDS = 60.0
"""Longest wait at close, in seconds, for the initial scan when a memory is still to be written
after it (AM-9's bound for every drain). After it the memory is written without the scan.
"""


class RecalledText(Struct, frozen=True):
    """A recalled text that was shown, or in a replay would have been shown, at one message."""

    message: str
    """Id of the message that the text was recalled for."""
    text: str


class MemoryExtension(SessionExtension):
    """Extraction and recall of one session.

    Either may be missing; without both, every method does nothing.
    """

    def __init__(
        self,
        extraction: MemoryExtraction | None = None,
        recall: SessionMemoryRecall | None = None,
        initial_scan: InitialMemoryScan | None = None,
        team_watcher: TeamWatcher | None = None,
    ) -> None:
        self.extraction = extraction
        self.recall = recall
        self._initial_scan = initial_scan
        self._team_watcher = team_watcher
        self._pending_query: Message | None = None
        """The user's last message, until recall was started for it."""
        self.read_failure = ""
        """Why the index could not be read the last time it was due; empty if it could."""
        self._turn_messages: list[Message] = []
        """Messages since the user's last one."""
        self._recent_tools: tuple[str, ...] = ()
        """Tools that the agent used with success in the turn before."""
        self._history_replaced = False
        self._statement_search: BackgroundSteps | None = None
        """Builds the search for what a statement repeats or contradicts, and reads the history."""
        self._retired_recall: SessionMemoryRecall | None = None
        """Recall that was turned off and is still to be closed."""
        self._retired_extraction: MemoryExtraction | None = None
        """Extraction that was turned off and is still to be waited for."""

    def start_background_work(self) -> None:
        """Start the background work of a live session: the initial scan of the memory folder, and
        the watcher of the team's memories.
        """
        if self._initial_scan is not None:
            self._initial_scan.start()
        if self._team_watcher is not None:
            self._team_watcher.start()

    def omit_repeated_client_rules(self, read_rules: Callable[[], Sequence[ClientRule]]) -> None:
        """Show no rule a second time that the agent has in its own files, as they are then read."""
        if self.recall is not None:
            self.recall.read_client_rules = read_rules

    def turn_off(self) -> None:
        """Nothing is read, shown or written from here on."""
        if self.extraction is not None:
            self.extraction.stop()
        self._retired_extraction, self.extraction = self.extraction, None
        self._retired_recall, self.recall = self.recall, None
        self._pending_query = None

    def list_waiting_proposals(self, *, is_for_user: bool = False) -> Sequence[Proposal]:
        """What waits for the user's yes or no, in the order of its numbers: of this project, then
        of what holds in every project. Empty where nothing is extracted. What `is_for_user` keeps
        its numbers until they see the list again.
        """
        if self.extraction is None:
            return ()
        memory = self.extraction.memory
        return memory.list_proposals_for_user() if is_for_user else memory.list_proposals()

    @property
    def _is_scanned(self) -> bool:
        return self._initial_scan is None or self._initial_scan.is_done

    async def wait_for_scan(self) -> None:
        """Wait briefly for the initial scan.

        A request that comes before its end shows nothing of the folder; a later one does.
        """
        if self._initial_scan is not None and not self._initial_scan.is_done:
            await self._initial_scan.wait_until_done(SCAN_WAIT_SECONDS)

    def on_message(self, message: Message, *, replayed: bool = False) -> None:
        """Follow one message. `replayed` marks a message that a former process had seen already."""
        if message.origin is Origin.USER and not message.tool_results:
            self._recent_tools = list_successful_tools(self._turn_messages)
            self._turn_messages.clear()
        self._turn_messages.append(message)
        if self.extraction is not None:
            self.extraction.on_message(message, replayed=replayed, deferred=not self._is_scanned)
        if self.recall is not None and not replayed:
            self.recall.on_message(message)

    def skip_messages_so_far(self) -> None:
        """The messages so far were examined in the session that they were copied from."""
        if self.extraction is not None:
            self.extraction.skip_messages_so_far()

    def _apply_pending_statements(self, *, at_prompt: bool = False) -> None:
        """Write the memories that the user asked for while the initial scan was running."""
        if self.extraction is not None and self._is_scanned:
            self.extraction.apply_statements(at_prompt=at_prompt)

    def on_history_replaced(self, reason: HistoryChange) -> None:
        """Show the index again, and what was recalled where it is due."""
        del reason
        self._history_replaced = True
        if self.recall is not None:
            self.recall.on_history_replaced()

    def on_turns_rolled_back(self, messages: Sequence[Message]) -> None:
        """Take back what was remembered of these messages."""
        if self.extraction is not None:
            self.extraction.on_turns_rolled_back(messages)

    def on_resume(self, view: SessionView) -> None:
        """Restore what a former process had shown, from the messages that are still in the view."""
        if self.recall is not None and (shown := view.injected_texts(RECALL_ID_PREFIX)):
            self.recall.restore_shown_from_texts(shown)

    async def before_request(self, view: SessionView, new_messages: Sequence[Message]) -> None:
        """Show the index, and start recall for the user's newest message.

        A disk error skips this and never stops a request.
        """
        await self.wait_for_scan()
        self._apply_pending_statements(at_prompt=True)
        if self.recall is None:
            return
        asked = find_newest_user_message(new_messages)
        self._pending_query = asked or self._pending_query
        if self._is_scanned:
            with self.recall.scan_once(at_prompt=not self.recall.is_index_due):
                self._show_index(view, self.recall, retry=asked is not None)
                self._start_recall(self.recall)
        if view.accepts_messages:
            for message in self.recall.take_ready_messages():
                view.insert(message)

    def index_message(self) -> Message | None:
        """The index as a message, for a context that has a place for it; the index then counts as
        shown.

        None while the folder is being scanned and on a disk error; it is then shown by itself
        later.
        """
        if self.recall is None or not self._is_scanned:
            return None
        with self.recall.scan_once():
            return self._load_index_message(self.recall)

    def _load_index_message(self, recall: SessionMemoryRecall) -> Message | None:
        try:
            opening = recall.take_index_message()
        except StoreError as error:
            self.read_failure = str(error)
            return None
        self.read_failure = ""
        return opening

    def _show_index(self, view: SessionView, recall: SessionMemoryRecall, *, retry: bool) -> None:
        """Show the index where it is due. `retry` allows another attempt after a disk error."""
        if not recall.is_index_due or (self.read_failure and not retry):
            return
        # Insert at the front only while nothing there is in the provider's cache: before the first
        # reply and after a compaction. At any other time that would break the cached prefix.
        first = self._history_replaced or not view.has_model_reply
        if not (first or view.accepts_messages):
            return
        opening = self._load_index_message(recall)
        if opening is None:
            return
        if first:
            view.insert_at_start(opening)
        else:
            view.insert(opening)
        self._history_replaced = False

    def _start_recall(self, recall: SessionMemoryRecall) -> None:
        asked, self._pending_query = self._pending_query, None
        if asked is not None:
            with contextlib.suppress(StoreError):
                recall.start_search_for_message(
                    extract_redacted_user_text(asked), asked.id, self._recent_tools
                )

    def recall_for_replay(self, message: Message) -> list[RecalledText]:
        """Return what a live session would have been shown before this message is answered.

        For replays.
        """
        if self.recall is None:
            return []
        found = []
        self._pending_query = find_newest_user_message([message])
        if self._pending_query is None and not self.recall.is_index_due:
            return self._take_recalled_texts(self.recall, message)
        with self.recall.scan_once():
            with contextlib.suppress(StoreError):
                opening = self.recall.take_index_message()
                if opening is not None:
                    found.append(RecalledText(message.id, opening.text))
            self._start_recall(self.recall)
        return found + self._take_recalled_texts(self.recall, message)

    @staticmethod
    def _take_recalled_texts(recall: SessionMemoryRecall, message: Message) -> list[RecalledText]:
        return [RecalledText(message.id, shown.text) for shown in recall.take_ready_messages()]

    async def recall_texts(self, query: str, message_id: str) -> list[str]:
        """Recall for an agent that manages its own context: the texts that are relevant to the
        query and not shown yet.

        Waits for a selecting model.
        """
        if self.recall is None or not self._is_scanned:
            return []
        with self.recall.scan_once(at_prompt=True), contextlib.suppress(StoreError):
            self.recall.start_search_for_message(
                query, message_id, list_successful_tools(self._turn_messages) or self._recent_tools
            )
        await self.recall.wait_for_selection()
        return [shown.text for shown in self.recall.take_ready_messages()]

    def preload_in_background(self) -> None:
        """Read in the background what the first prompt would wait for."""
        self._begin_statement_search()
        if self.recall is None or not self._is_scanned:
            return
        with self.recall.scan_once(at_prompt=True), contextlib.suppress(StoreError):
            self.recall.preload_in_background()

    def _begin_statement_search(self) -> None:
        """Prepare in a thread, once, the writing of the first rule that is stated."""
        if self.extraction is None or self._statement_search or not self._is_scanned:
            return
        memory = self.extraction.memory
        with memory.folder.scan_once(at_prompt=True), contextlib.suppress(StoreError):
            steps = memory.prepare_first_write()
            self._statement_search = BackgroundSteps(lambda: steps, "memorist-statements")
            self._statement_search.start(self)

    def before_tool(self, call: ToolUse) -> str:
        """The memories that name a file which the call changes, unless they were shown."""
        paths = _list_changed_files(call)
        if self.recall is None or not self._is_scanned or not paths:
            return ""
        with self.recall.scan_once(at_prompt=True), contextlib.suppress(StoreError):
            return self.recall.recall_for_files(paths, call.id)
        return ""

    def on_turn_end(self, parent: ParentCall | None = None) -> None:
        """Start an extraction in the background: the reply had no tool calls, so the turn is
        over.
        """
        self._apply_pending_statements()
        self._begin_statement_search()
        if self.extraction is not None:
            self.extraction.on_turn_end(parent)

    async def extract(self, parent: ParentCall | None = None) -> None:
        """Run an extraction and wait for it."""
        if self.extraction is not None:
            await self.extraction.extract_now(parent)

    async def wait_for_background(self) -> None:
        """Wait for a running extraction, within its bound; also for one that may write nothing any
        more.
        """
        for extraction in (self.extraction, self._retired_extraction):
            if extraction is not None:
                await extraction.wait_or_cancel()

    async def aclose(self) -> None:
        """Write what the user asked for and wait for a running extraction, within its bound; cancel
        a scan or recall that is still running.
        """
        if self.extraction is not None:
            if self._initial_scan is not None and self.extraction.has_deferred_statements:
                await self._initial_scan.wait_until_done(MAX_SCAN_WAIT_SECONDS)
            self.extraction.apply_statements()
        await self.wait_for_background()
        if self._statement_search is not None:
            self._statement_search.stop(self)
        if self._team_watcher is not None:
            await self._team_watcher.close()
        if self._initial_scan is not None:
            await self._initial_scan.stop()
        for recall in (self.recall, self._retired_recall):
            if recall is not None:
                await recall.close()


def _list_changed_files(call: ToolUse) -> tuple[str, ...]:
    """The paths of the files that a call changes, as it names them."""
    action = parse_tool_action(call)
    if isinstance(action, ChangeAction | CommandAction) and action.changes:
        return tuple(each.path for each in action.changes)
    return (
        list_files_written_by_command(action.command) if isinstance(action, CommandAction) else ()
    )


def open_memory_extension(
    context: SessionContext,
    memory: AutoMemory | None,
    open_search: Callable[[AutoMemory], MemorySearcher],
    team_watcher: TeamWatcher | None = None,
    *,
    held_out: bool = False,
) -> MemoryExtension:
    """Build extraction and recall for a session, extraction alone for one that is held out; neither
    where no memory is kept, nor for a subagent, whose prompts a model wrote. `open_search` gives
    the search in a memory, which whoever opened it closes.
    """
    if memory is None or not context.host.main:
        return MemoryExtension()
    settings = context.runtime.settings.recall
    scan = InitialMemoryScan(memory.folder, settings)
    recall = (
        SessionMemoryRecall(memory, context, open_search(memory))
        if settings.enabled and not held_out
        else None
    )
    extraction = MemoryExtraction(
        memory,
        context,
        scan.wait_until_done,
        recall.mark_memories_in_context if recall is not None else None,
    )
    return MemoryExtension(extraction, recall, scan, team_watcher)
