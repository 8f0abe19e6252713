"""Recall of past sessions in a running one: what the user said about a prompt before, quoted and
dated, or nothing (PS-2); and the search over all of them (PS-1).
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.removed_memories import ForgottenQuotesReader
from memorist.auto_memory.statements.user_prose import extract_redacted_user_text
from memorist.core.messages import (
    RECALL_ID_PREFIX,
    Message,
    Origin,
    TextBlock,
    ToolUse,
    find_newest_user_message,
)
from memorist.core.prompt_templates import load_prompt
from memorist.engine.memory_extension import MemoryExtension
from memorist.engine.memory_holdout import decide_and_record_holdout
from memorist.engine.past_session_passages import find_passages_for_prompt
from memorist.engine.project_search import ProjectSearch, SearchResults
from memorist.engine.session_log import SessionLog
from memorist.errors import MemoristError, ModelError, StoreError
from memorist.extensions import HistoryChange, SessionExtension, SessionView
from memorist.models.embedder import get_embedder_if_wanted
from memorist.platforms.background_thread import start_thread_awaited_at_exit
from memorist.ports import Embedder
from memorist.recall.entry_vectors import embed_calibration_texts
from memorist.recall.memory_selection import MAX_QUERY_CHARS, has_enough_search_words
from memorist.recall.project_question import is_question_without_request
from memorist.recall.ranker import lock_index_build_in_process
from memorist.recall.session_index import SessionIndex
from memorist.recall.session_passages import (
    MatchedPassage,
    is_quote_repeated_in_texts,
    is_quoted_in_texts,
    render_fixed_calls,
    render_passages,
)
from memorist.rollouts.rollout_memory import register_recordings_in_folder
from memorist.rollouts.session_sources import find_repository_root_or_folder
from memorist.runtime import SessionContext
from memorist.store.rollout_rows import list_rollouts
from memorist.store.state_database import StateDatabase
from memorist.transcript_analysis.invocation_log import FixedInvocation, split_invocations
from memorist.transcript_analysis.tool_actions import CommandAction, parse_tool_action

MAX_CLOSE_SECONDS = 2.0
"""Longest that a closing session indexes; the next one goes on. Our choice."""


class PastSessionRecall(SessionExtension):
    """What one session is shown of the past sessions of its project.

    The index is brought up to date in a thread, so that nobody waits for it; a prompt is answered
    from what is indexed.
    """

    def __init__(
        self,
        context: SessionContext,
        open_state_database: Callable[[], StateDatabase],
        find_index: Callable[[], SessionIndex | None],
        memory: AutoMemory | None,
    ) -> None:
        self._context = context
        self._forgotten = None if memory is None else ForgottenQuotesReader(memory)
        self._open_state = open_state_database
        self._find_index = find_index
        """Gives the index that all sessions of the process share; None while there is none."""
        self._project = find_repository_root_or_folder(context.project)
        self._warned: set[tuple[str, str]] = set()
        """Programs and words that were warned of."""
        self._thread: threading.Thread | None = None
        self._preloading: threading.Thread | None = None
        self._starting = threading.Lock()
        """Held until the thread has started: nobody can wait for it before."""
        self._stopping = threading.Event()

    def sync_index_in_thread(self) -> None:
        """Bring the index up to date in a thread; nothing where one is at it."""
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = start_thread_awaited_at_exit(
                    self._sync, name="memorist-session-index", stopping=self._stopping
                )

    def _sync(self) -> None:
        """Index, in the thread. A failure leaves the index as it was."""
        with contextlib.suppress(MemoristError):
            path = self._context.runtime.layout.session_index
            should_stop = self._stopping.is_set
            with lock_index_build_in_process(str(path), should_stop) as is_free:
                # Not before the wait: sessions that were removed meanwhile would come back.
                with closing(self._open_state()) as state:
                    sessions = list_rollouts(state)
                if not sessions and not path.exists():
                    return
                if is_free:
                    with closing(SessionIndex(path)) as index:
                        index.sync(sessions, should_stop, first=self._project)
            self._load_index()
            if embedder := self._load_embedder():
                with lock_index_build_in_process(f"{path} by meaning", should_stop) as is_free:
                    if is_free:
                        with closing(SessionIndex(path, embedder=embedder)) as index:
                            index.embed_missing_passages(self._project, should_stop)
                self._load_index()
                embed_calibration_texts(embedder)  # or the first question waits for it

    def index_closed_session(self, file: Path) -> None:
        """Register the recording of this session, which has ended, and index it by its words: the
        next session begins with it. What else is due is indexed for `MAX_CLOSE_SECONDS`. A failure
        leaves it to the next search of all folders.
        """
        deadline = time.monotonic() + MAX_CLOSE_SECONDS
        runtime = self._context.runtime
        path = runtime.layout.session_index
        with contextlib.suppress(MemoristError), closing(self._open_state()) as state:
            register_recordings_in_folder(runtime, state, file.parent)
            with lock_index_build_in_process(
                str(path), lambda: time.monotonic() > deadline
            ) as is_free:
                # Not before the wait: what others have registered meanwhile would go.
                sessions = list_rollouts(state) if is_free else ()
                if sessions:
                    with closing(SessionIndex(path)) as index:
                        index.sync(
                            sessions, lambda: time.monotonic() > deadline, first=self._project
                        )

    def _load_index(self) -> None:
        """Read into memory, in the thread, what the next prompt would wait for."""
        index = self._find_index()
        if index is not None and not self._stopping.is_set():
            index.preload_project(self._project)

    def preload_in_background(self) -> None:
        """Read in a thread, if none does so, what the first question by meaning would wait for.
        After a change of the index the next such question reads it: most sessions ask none.
        """
        if self._preloading is None or not self._preloading.is_alive():
            self._preloading = start_thread_awaited_at_exit(
                self._load_vectors, name="memorist-session-vectors", stopping=self._stopping
            )

    def _load_vectors(self) -> None:
        self.wait_for_index()
        with contextlib.suppress(MemoristError):
            if not self._stopping.is_set() and (index := self._open_index(by_meaning=True)):
                index.preload_multilingual_model(self._project)

    def _load_embedder(self) -> Embedder | None:
        """The embedder, where the extra is installed and wanted; takes a quarter of a second."""
        return get_embedder_if_wanted(wanted=self._context.runtime.settings.recall.embeddings)

    def _open_index(self, *, by_meaning: bool) -> SessionIndex | None:
        """The index, with vectors only once they are asked for: they take 8 KB for each turn."""
        index = self._find_index()
        if index is not None and by_meaning and (embedder := self._load_embedder()):
            index.enable_embeddings(embedder)
        return index

    def search(self, query: str, limit: int) -> Sequence[MatchedPassage]:
        """Search the past sessions of this project by words and meaning. Raises StoreError,
        ModelError.
        """
        index = self._open_index(by_meaning=True)
        if index is None:
            return ()
        return index.search(
            query[:MAX_QUERY_CHARS], limit, project=self._project, excluding=self._context.id
        )

    def recall_for_prompt(
        self, prompt: str, *, shown_texts: Sequence[str], memories: Sequence[str]
    ) -> str:
        """The text to show at a prompt; empty for most prompts. Left out are the passages that the
        texts already shown quote, and those that would only repeat what these memories say.
        """
        if not has_enough_search_words(prompt):
            return ""
        with contextlib.suppress(StoreError, ModelError):
            index = self._open_index(by_meaning=is_question_without_request(prompt))
            if index is None:
                return ""
            found = find_passages_for_prompt(
                index,
                prompt,
                project=self._project,
                forgotten=self._forgotten,
                excluding=self._context.id,
            )
            shown = [
                each
                for each in found
                if not is_quoted_in_texts(each, shown_texts)
                and not is_quote_repeated_in_texts(prompt, each, memories)
            ]
            if shown:
                return render_passages(prompt, shown, load_prompt("recall/sessions"))
        return ""

    async def before_request(self, view: SessionView, new_messages: Sequence[Message]) -> None:
        """Show what the user's newest message was answered by before, where there is room."""
        asked = find_newest_user_message(new_messages)
        if asked is None or not view.accepts_messages:
            return
        in_view = view.injected_texts(RECALL_ID_PREFIX)
        text = self.recall_for_prompt(
            extract_redacted_user_text(asked), shown_texts=in_view, memories=in_view
        )
        if text:
            view.insert(
                Message(
                    id=f"{RECALL_ID_PREFIX}{self._context.id[:40]}-past-{asked.id[:40]}",
                    role="user",
                    blocks=(TextBlock(text),),
                    origin=Origin.INJECTED,
                    timestamp=self._context.runtime.clock.now(),
                )
            )

    def before_tool(self, call: ToolUse) -> str:
        """What worked instead of a call that could not work in a past session here, each once;
        empty for nearly every call.
        """
        action = parse_tool_action(call)
        index = None
        if self._context.runtime.settings.recall.before_tool and isinstance(action, CommandAction):
            with contextlib.suppress(StoreError):
                index = self._open_index(by_meaning=False)
        if index is None or not isinstance(action, CommandAction):
            return ""
        found: list[FixedInvocation] = []
        with contextlib.suppress(StoreError):
            for invocation in split_invocations(action.command):
                mended = index.find_fixed_invocation(
                    invocation, project=self._project, excluding=self._context.id
                )
                if mended is not None and (mended.program, mended.word) not in self._warned:
                    self._warned.add((mended.program, mended.word))
                    found.append(mended)
        return render_fixed_calls(found, load_prompt("recall/before_tool")) if found else ""

    def on_history_replaced(self, reason: HistoryChange) -> None:
        """Forget what was warned of: it may have left the conversation."""
        del reason
        self._warned.clear()

    def wait_for_index(self) -> None:
        """Wait for the index."""
        with self._starting:
            thread = self._thread
        if thread is not None:
            thread.join()

    async def aclose(self) -> None:
        """Stop indexing after the current session, and wait for what is read. May be called
        twice.
        """
        self._stopping.set()
        await asyncio.to_thread(self.wait_for_index)
        if self._preloading is not None:
            await asyncio.to_thread(self._preloading.join)
        self._stopping.clear()


def search_memories_sessions_and_notes(log: SessionLog, query: str, limit: int) -> SearchResults:
    """Search all that is kept of a session's project; nothing without one. Raises StoreError."""
    if not log.context.project:
        return SearchResults()
    memory = log.extensions.find(MemoryExtension)
    sessions = log.extensions.find(PastSessionRecall)
    recall = memory.recall if memory is not None else None
    return ProjectSearch(
        log.runtime.layout,
        log.runtime.open_database,
        root=find_repository_root_or_folder(log.context.project),
        settings=log.runtime.settings.auto_memory,
        memories=recall.search if recall is not None else None,
        sessions=sessions.search if sessions is not None else None,
    ).search(query[:MAX_QUERY_CHARS], limit)


def open_past_session_recall(
    context: SessionContext,
    open_state_database: Callable[[], StateDatabase],
    find_index: Callable[[], SessionIndex | None],
    memory: AutoMemory | None,
) -> PastSessionRecall | None:
    """Open the recall of the project's past sessions, and bring its index up to date in a thread;
    none without a project, since nothing crosses projects, and none where recall is off.
    """
    enabled = context.has_past_sessions and context.runtime.settings.recall.enabled
    if not context.project or not enabled or decide_and_record_holdout(context):
        return None
    recall = PastSessionRecall(context, open_state_database, find_index, memory)
    recall.sync_index_in_thread()
    return recall
