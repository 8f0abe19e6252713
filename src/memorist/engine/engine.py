"""The engine: what a host calls. `Memorist` is opened once per process, `Session` once per
conversation.

    open(session)      reads what is on disk and continues where a former process stopped
    prepare(request)   before a model call; returns the request to send
    observe(reply)     after a model call; may start an update of the notes in the background
    on_file_read(path) a file was read into the conversation
    end_turn()         the reply had no tool calls
    update_notes()     update the notes now
    close()            wait for background work, within a bound

`prepare` and `observe` take the host's own wire format. Only `update_notes` and `close` keep the
host waiting for a model.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path, PurePath
from typing import Self, TypeVar

from msgspec.structs import replace

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.home_memories import ProjectMemoryOpener
from memorist.auto_memory.statements.no_memory_and_pin_requests import message_asks_for_no_memory
from memorist.budget.budget_governor import update_hold_from_rate_limits
from memorist.config import apply_project_settings, is_disabled_by_environment, load_settings
from memorist.context.client_rule_reader import ClientRuleReader
from memorist.core.bounded_collections import LruCache
from memorist.core.messages import Message
from memorist.core.not_picklable import NotPicklable
from memorist.dream.dream import DreamExtension
from memorist.dream.project_dream import build_dream_extension
from memorist.engine.background_loading import PATTERN_LOADING
from memorist.engine.blocking_engine import BlockingMemorist
from memorist.engine.callback_guards import guard_listener
from memorist.engine.context_extension import ContextExtension
from memorist.engine.fallback_session_folders import FallbackSessionFolders
from memorist.engine.memory_extension import MemoryExtension, open_memory_extension
from memorist.engine.memory_holdout import decide_and_record_holdout
from memorist.engine.observed_session import ObservedSession
from memorist.engine.past_session_recall import PastSessionRecall, open_past_session_recall
from memorist.engine.project_search import ProjectSearch, SearchResults
from memorist.engine.replayed_session import ReplayedSession
from memorist.engine.session import Session
from memorist.engine.session_arguments import (
    check_ports,
    check_search,
    check_session_arguments,
    check_session_folder,
    check_settings_type,
    find_working_folder,
    resolve_project,
)
from memorist.engine.session_log import SessionLog
from memorist.engine.session_pins import PinnedTextExtension
from memorist.engine.shared_session_lease import SharedSessionLease, open_shared_sessions
from memorist.engine.worker_process import (
    is_temporary_home,
    reap_if_exited,
    start_worker_unless_recently_started,
    stop_worker,
)
from memorist.errors import SessionInUse, StoreError
from memorist.events import EventListener
from memorist.extensions import SessionExtension
from memorist.flags.flag_file import create_flag_source_from_settings
from memorist.flags.flag_lookup import FlagProvider, Flags
from memorist.magic_docs.magic_docs import MagicDocs
from memorist.models.embedder import get_embedder_if_wanted
from memorist.models.model_choice import create_model_from_string
from memorist.models.rate_limits import RateLimitReport, subscribe_to_rate_limits
from memorist.ports import Clock, FileSystem, HostInfo, Model
from memorist.recall.memory_search import (
    EMBEDDING_WAIT_SECONDS,
    MemoryFolderSearch,
    MemorySearch,
    open_memory_search,
)
from memorist.recall.session_index import SessionIndex
from memorist.rollouts.rollout_memory import RolloutMemoryExtension
from memorist.rollouts.session_sources import (
    find_repository_root_or_folder,
    has_other_recorded_sessions,
    list_default_source_folders,
)
from memorist.runtime import HeavyRunner, Runtime, SessionContext
from memorist.safety.secrets import redact_id_keeping_ids_distinct
from memorist.session_memory.session_notes import SessionMemory, load_notes_prompts
from memorist.settings import Family, RecallSettings, Settings
from memorist.skills.skill_discovery import CachingSkillDiscovery, find_skill_base_folders
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import SessionLayout, is_unnamed_session, make_folder_name
from memorist.store.job_claim_rules import build_lease_policy
from memorist.store.session_memory_mode import (
    disable_memory_and_erase_first_words,
    read_memory_off_sessions,
    record_memory_off_session,
)
from memorist.store.session_removal import remove_old_single_questions, remove_session_copies
from memorist.store.sqlite_database import is_database_or_disk_error
from memorist.store.state_database import (
    StateDatabase,
    is_server_database_setting,
    open_state_database,
)
from memorist.system import SystemClock
from memorist.team.team_watcher import open_team_watcher

Opened = TypeVar("Opened")

FLAGS_WAIT_SECONDS = 2.0
"""Longest wait of a replay for the feature flags, in seconds, so that its first messages are judged
like its last.

Our choice; a live session never waits.
"""

MAX_HANDOVER_WAIT_SECONDS = 5.0
"""Longest wait for another process to let go of a session, in seconds. Our choice: it does so
within a tenth of a second, unless it is in the middle of a call or of an update of the notes.
"""

HANDOVER_STEP_SECONDS = 0.02
"""Wait between two tries, in seconds."""


class Memorist(NotPicklable):
    """The engine of one process. Holds no conversation itself; any number of sessions may be open
    at once.

    Args:
        model: a model string, an object that satisfies `memorist.ports.Model`, or None for the
            settings' model.
        home: folder of all data; None for the settings' home.
        settings: all settings; None reads the user's file and the environment, and for each session
            its project's file.
        flags: source of feature flags (`memorist.flags.flag_lookup.FlagProvider`); None for the
            file that the settings name.
        clock: clock and file system, for tests and unusual hosts.

    Raises SettingsError for settings that cannot be used, ModelNameError for a model string that
    cannot be understood.
    """

    def __init__(
        self,
        *,
        model: str | Model | None = None,
        home: str | os.PathLike[str] | None = None,
        settings: Settings | None = None,
        flags: FlagProvider | None = None,
        clock: Clock | None = None,
        files: FileSystem | None = None,
    ) -> None:
        self.environment: Mapping[str, str] = os.environ
        """Where sessions find a user's skills (`HOME`) and a team's token; each tenant has its
        own.
        """
        self.owner = ""
        """Whose sessions these are, where several homes share them on one server."""
        self.folder = find_working_folder()
        """Where the engine was opened: a project that is a relative path counts from there."""
        self.starts_workers = True
        """Whether opening a session starts a process for due work on past sessions."""
        self.run_heavy: HeavyRunner = asyncio.to_thread
        """Runs work of seconds outside the event loop."""
        self.extensions: list[Callable[[SessionContext], SessionExtension]] = []
        """What opens the host's own extensions of each live session, after memorist's: mostly
        subclasses of `memorist.SessionExtension`, whose constructor takes the session's context.
        """
        check_ports(model, clock, files)
        where = None if home is None else Path(home).expanduser().absolute()
        self._reads_project_settings = settings is None
        caller = {"model": model} if isinstance(model, str) and model else None
        found = (
            check_settings_type(settings)
            or load_settings(os.environ, home=where, caller=caller).settings
        )
        self.settings = found if where is None else replace(found, home=str(where))
        self._shared_sessions = open_shared_sessions(self.settings.shared_sessions)
        self._clock = clock or SystemClock()
        self._files = files or DiskFiles()
        self._home = ProjectMemoryOpener(self.settings, files=self._files, clock=self._clock)
        self.layout = self._home.layout
        source = create_flag_source_from_settings(self.settings.flags) if flags is None else flags
        self._model, self._owns_model = self._open_model(model)
        subscribe_to_rate_limits(self._model, self._on_rate_limits)
        self.flags = Flags(source, refresh_seconds=self.settings.flags.refresh_seconds)
        """Feature flags as last looked up.

        `flags.refresh()` looks them up at once, in the background.
        """
        self.runtime = Runtime(
            settings=self.settings,
            clock=self._clock,
            files=self._files,
            model=self._model,
            flags=self.flags,
            open_database=self.database,
        )
        """What every part of the engine works with."""
        self._sessions: set[Session | ReplayedSession | ObservedSession] = set()
        self._memory_searches = LruCache(MemoryFolderSearch.close)
        """The search in each memory, shared by all sessions of its project."""
        self._session_index: SessionIndex | None = None
        self._session_index_lock = threading.Lock()
        """Held while the index of past sessions is opened, which threads ask for too."""
        self._skill_searches: LruCache[CachingSkillDiscovery] = LruCache()
        self._state: StateDatabase | None = None
        self._blocking: BlockingMemorist | None = None
        self._unsaved = FallbackSessionFolders()
        self._worker_process: int | None = None
        """Process id of the last started worker."""

    def _open_model(self, model: str | Model | None) -> tuple[Model | None, bool]:
        if model is None or isinstance(model, str):
            return create_model_from_string(
                model or self.settings.model, self.settings.models, clock=self._clock
            ), True
        return model, False

    def _on_rate_limits(self, limits: RateLimitReport) -> None:
        """Store rate limits that a provider reported: all processes of this home hold back
        background work by them.
        """
        if self._home.opened_database is not None:
            update_hold_from_rate_limits(
                self._home.opened_database,
                limits,
                now=self._clock.now(),
                settings=self.settings.spend,
            )

    @property
    def open_sessions(self) -> int:
        """Number of open sessions."""
        return len(self._sessions)

    async def open(
        self,
        session: str,
        *,
        project: str | PurePath = "",
        format: str = "anthropic",
        host: HostInfo | None = None,
        folder: str | Path | None = None,
        listener: EventListener | None = None,
    ) -> Session:
        """Open a session by its id, new or known.

        Args:
            session: any text that names it; the same text finds it again.
            project: root folder of the project, which need not exist; separates projects on
                disk. A relative one counts from the folder in which the engine was opened.
            format: wire format of `prepare` and `observe`: `anthropic`, `openai_responses` or
                `openai_chat`.
            host: what the host says of itself; decides whether notes are kept.
            folder: where to put the session's files instead of in the home folder.
            listener: called with every event; what it raises is logged, and stops nothing.

        Where the home cannot be written, the session's files are kept in a temporary folder and
        brought home at its end if that is possible by then; the log `memorist` has a warning.

        Raises StoreError when `folder` cannot be written or another process has the session open;
        SettingsError for a project's settings file that cannot be used; UsageError for an argument
        of another type.
        """
        project = resolve_project(check_session_arguments(session, project, host), self.folder)
        given = check_session_folder(folder)
        known = self._apply_off_switch(host or HostInfo())
        home = self.layout.session_layout(project, redact_id_keeping_ids_distinct(session)).folder
        share = None if given is not None else self._open_share(home)

        async def open_at(where: Path | None) -> Session:
            if share is not None:
                await share.acquire(where or home)
            try:
                log = self._open_log(session, project, format, known, where, listener)
                with log.release_on_error():
                    memory = self._begin_session(log)
                    return Session(
                        log,
                        lambda context: ContextExtension(
                            context, log, memory, self.get_skill_discovery
                        ),
                        lambda: self.turn_memory_off(log),
                        self._on_session_closed,
                        share,
                    )
            except BaseException:  # a cancellation too: others wait for the shared session
                if share is not None:
                    await share.release_without_saving()
                raise

        self._unsaved.move_to_home(home)
        try:
            opened = await self._open_in_turn(lambda: open_at(given))
        except StoreError as error:
            if given is not None or not is_database_or_disk_error(error):
                raise
            opened = await open_at(self._unsaved.make_folder(home, error))
        self._sessions.add(opened)
        await self._sweep_single_questions(session)
        return opened

    async def _sweep_single_questions(self, session: str) -> None:
        """Once in some 256 conversations without a name, whose ids are random, keep those of one
        question at their bound: a program that asks thousands would fill the home.
        """
        if is_unnamed_session(session) and session.endswith("00"):
            with contextlib.suppress(StoreError):  # the next one tries again
                await asyncio.to_thread(self._remove_old_single_questions)

    def _remove_old_single_questions(self) -> None:
        """Delete them with their places in the search."""
        removed = remove_old_single_questions(self.layout)
        if removed and self.layout.session_index.exists():
            with closing(SessionIndex(self.layout.session_index)) as index:
                index.remove_sessions(removed)

    def _open_share(self, folder: Path) -> SharedSessionLease | None:
        """The share of a session that workers on several machines have, by the names of its
        folder and its owner.
        """
        name = folder.relative_to(self.layout.projects).as_posix()
        shared = self._shared_sessions
        return None if shared is None else SharedSessionLease(shared, f"{self.owner}/{name}")

    def _on_session_closed(self, session: Session | ObservedSession) -> None:
        self._sessions.discard(session)
        self._unsaved.on_session_closed(session.layout.folder)

    def observe_session(
        self,
        session: str,
        *,
        project: str | PurePath = "",
        format: str = "anthropic",
        listener: EventListener | None = None,
        loads: Family | None = None,
    ) -> ObservedSession:
        """Open a live session of an agent that memorist observes through the agent's own records,
        as hooks do.

        `loads` is the family of instruction files that the agent itself loads for the project: what
        is in them is not shown a second time. None compares with none.

        Where the home cannot be written, the files are kept as those of `open` are. Raises as
        `open` does.
        """
        project = resolve_project(check_session_arguments(session, project, None), self.folder)
        known = self._apply_off_switch(HostInfo())
        home = self.layout.session_layout(project, redact_id_keeping_ids_distinct(session)).folder

        def open_at(where: Path | None, why_unsaved: str = "") -> ObservedSession:
            log = self._open_log(session, project, format, known, where, listener)
            with log.release_on_error():
                memory = self._begin_session(log)
                if loads is not None and project:
                    own = ClientRuleReader(self._files, self.settings.context, self.environment)
                    memory.omit_repeated_client_rules(partial(own.read_rules, loads, Path(project)))
                return ObservedSession(
                    log,
                    memory,
                    turn_memory_off=lambda: self.turn_memory_off(log),
                    on_close=self._on_session_closed,
                    why_unsaved=why_unsaved,
                )

        self._unsaved.move_to_home(home)
        try:
            opened = open_at(None)
        except StoreError as error:
            if not is_database_or_disk_error(error):
                raise
            opened = open_at(self._unsaved.make_folder(home, error), str(error))
        self._sessions.add(opened)
        return opened

    def _apply_off_switch(self, host: HostInfo) -> HostInfo:
        return replace(host, memory=False) if is_disabled_by_environment(self.environment) else host

    def _begin_session(self, log: SessionLog) -> MemoryExtension:
        """Begin a live session with its extensions, and start their due work.

        The order of the list is the order of their calls.
        """
        context, host = log.context, log.context.host
        auto_memory = self._memory_for(context)
        past = open_past_session_recall(
            context, self._open_shared_state, self._find_session_index, auto_memory
        )
        held_out = decide_and_record_holdout(context)
        memory = self._open_memory_extension(log, auto_memory, held_out=held_out)
        extensions: list[SessionExtension] = []
        learns = context.has_past_sessions
        if learns and not held_out:
            extensions.append(RolloutMemoryExtension(context, self._open_rollout_state))
        extensions.append(memory)
        if host.memory:
            extensions.append(MagicDocs(context, tracker=log.tracker))
        if auto_memory is not None:
            extensions.append(build_dream_extension(auto_memory, context))
        if past is not None:
            extensions.append(past)
        if host.main and host.memory:
            extensions += (
                PinnedTextExtension(context),
                MemoryOffRequestExtension(lambda: self.turn_memory_off(log)),
            )
        log.start([*extensions, *(open_own(context) for open_own in self.extensions)])
        if memory.extraction is not None:
            PATTERN_LOADING.start(self)
        memory.start_background_work()
        if learns:
            self._start_worker(context.layout.folder)
        return memory

    def turn_memory_off(self, log: SessionLog) -> None:
        """Let nothing more be read, shown or written in a session, nor learned of it later."""
        memory = log.extensions.find(MemoryExtension)
        if memory is None:
            return
        memory.turn_off()
        log.extensions.remove_by_class(
            MemoryExtension,
            RolloutMemoryExtension,
            PastSessionRecall,
            MagicDocs,
            SessionMemory,
            DreamExtension,
        )
        record_memory_off_session(self._files, self.layout, log.context.id)

    def keep_session_out(self, session: str) -> None:
        """Let nothing be learned of a session that was not opened. Raises StoreError."""
        record_memory_off_session(self._files, self.layout, session)

    def memory_off_sessions(self) -> frozenset[str]:
        """Ids of sessions whose user turned memory off. Raises StoreError."""
        return read_memory_off_sessions(self._files, self.layout)

    def _open_memory_extension(
        self, log: SessionLog, auto_memory: AutoMemory | None, *, held_out: bool = False
    ) -> MemoryExtension:
        context = log.context
        return open_memory_extension(
            context,
            auto_memory,
            lambda memory: self._open_search(memory, context.runtime.settings.recall),
            open_team_watcher(auto_memory, context, self.environment),
            held_out=held_out,
        )

    def _open_search(self, memory: AutoMemory, settings: RecallSettings) -> MemorySearch:
        everywhere = memory.everywhere
        return MemorySearch(
            self._open_folder_search(memory, settings),
            self._open_folder_search(everywhere, settings) if everywhere else None,
        )

    def _open_folder_search(
        self, memory: AutoMemory, settings: RecallSettings
    ) -> MemoryFolderSearch:
        way = "meaning" if settings.embeddings else "words"
        return self._memory_searches.get_or_create(
            f"{way} {memory.layout.folder}", lambda: MemoryFolderSearch(memory.folder, settings)
        )

    def _find_session_index(self) -> SessionIndex | None:
        """The index of past sessions, shared by all sessions; None while there is none. Raises
        StoreError.
        """
        path = self.layout.session_index
        with self._session_index_lock:
            if self._session_index is not None and self._session_index.is_outdated:
                self._session_index.close()
                self._session_index = None
            if self._session_index is None and path.exists():
                self._session_index = SessionIndex(path)
            return self._session_index

    def _start_worker(self, session: Path) -> None:
        """Start one where something may be due.

        A user whose first session this is has no past: a script leaves no process behind that
        writes to the home after the engine was closed.
        """
        if (
            self.starts_workers
            and (self._worker_process is None or reap_if_exited(self._worker_process))
            and self._has_past(session)
        ):
            self._worker_process = start_worker_unless_recently_started(
                self.settings, files=self._files, clock=self._clock, environment=self.environment
            )

    def _has_past(self, session: Path) -> bool:
        """Whether there is anything to learn from but the session that is kept in this folder."""
        return (
            is_server_database_setting(self.settings.state)
            or self.layout.rollouts_state.exists()
            or has_other_recorded_sessions(
                list_default_source_folders(self.layout, self.environment), excluding=session
            )
        )

    def _open_shared_state(self) -> StateDatabase:
        return open_state_database(self.settings.state, self.layout.database, waits_once=True)

    def _open_rollout_state(self) -> StateDatabase:
        if self._state is None:
            self._state = self._open_shared_state()
        return self._state

    def get_skill_discovery(self, folder: str) -> CachingSkillDiscovery:
        """The skill search of a working folder; what it has read is kept for the next session
        there.
        """
        locations = find_skill_base_folders(Path(folder), self.environment, self.settings.home)
        return self._skill_searches.get_or_create(
            folder, lambda: CachingSkillDiscovery(locations, self.settings.skills)
        )

    def replay_session(
        self,
        session: str,
        *,
        project: str = "",
        folder: str | Path | None = None,
        listener: EventListener | None = None,
    ) -> ReplayedSession:
        """Open a session that is fed from a recording, as `memorist replay` does.

        Raises as `open` does.
        """
        self.flags.wait_for_lookup(FLAGS_WAIT_SECONDS)
        where = check_session_folder(folder)
        log = self._open_log(session, project, "anthropic", HostInfo(), where, listener)
        with log.release_on_error():
            memory = self._open_memory_extension(log, self._memory_for(log.context))
            log.start([memory])
        played = ReplayedSession(log, memory, self._sessions.discard)
        self._sessions.add(played)
        return played

    def _open_log(
        self,
        session: str,
        project: str,
        format: str,
        host: HostInfo,
        folder: Path | None,
        listener: EventListener | None,
    ) -> SessionLog:
        session = redact_id_keeping_ids_distinct(session)
        where = (
            SessionLayout(folder)
            if folder is not None
            else self.layout.session_layout(project, session)
        )
        context = SessionContext(
            runtime=self._session_runtime(project, listener),
            layout=where,
            id=session,
            project=project,
            format=format,
            host=host,
        )
        return SessionLog(context, load_notes_prompts(self._files, self.layout))

    async def _open_in_turn(self, open_log: Callable[[], Awaitable[Opened]]) -> Opened:
        """Open the log; where another process has it and hands it over, wait for that.

        Raises SessionInUse after `MAX_HANDOVER_WAIT_SECONDS`, and at once where it does not hand
        over.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + MAX_HANDOVER_WAIT_SECONDS
        while True:
            try:
                return await open_log()
            except SessionInUse as in_use:
                if not in_use.releases_lease or loop.time() >= until:
                    raise
            await asyncio.sleep(HANDOVER_STEP_SECONDS)

    def _session_runtime(self, project: str, listener: EventListener | None) -> Runtime:
        runtime = replace(self.runtime, environment=self.environment, run_heavy=self.run_heavy)
        if listener is not None:
            runtime = replace(runtime, emit=guard_listener(listener))
        if self._reads_project_settings:
            settings = apply_project_settings(self.settings, os.environ, project)
            runtime = replace(runtime, settings=settings)
        return runtime

    def database(self) -> sqlite3.Connection:
        """The state database, opened on first use; where it cannot be written a copy in memory, and
        the file is tried again once in a minute. Raises StoreError.
        """
        return self._home.database()

    def _memory_for(self, context: SessionContext) -> AutoMemory | None:
        """The memory of a session's project; None without a project, and on a machine whose disk is
        not persistent.
        """
        return self.memory(context.project) if context.has_auto_memory else None

    def memory(self, project: str | PurePath) -> AutoMemory:
        """The memory of a project, by any folder of its repository.

        Raises SettingsError for an unsafe `auto_memory.directory`, UsageError for what names no
        project.
        """
        return self._home.memory(resolve_project(project, self.folder))

    def search(self, query: str, *, project: str | PurePath, limit: int = 10) -> SearchResults:
        """Search all that is kept of a project, by any folder of its repository, without a session:
        memories, the team's, past sessions as far as they are indexed, notes and the memory of past
        sessions; at most `limit` of each. Raises StoreError, UsageError for what is no query.
        """
        query, project = check_search(query, limit), resolve_project(project, self.folder)
        recall = self.settings.recall
        path = self.layout.session_index
        root = find_repository_root_or_folder(project)
        with contextlib.ExitStack() as opened:
            index = None
            if path.exists():
                embedder = get_embedder_if_wanted(wanted=recall.embeddings)
                index = opened.enter_context(closing(SessionIndex(path, embedder=embedder)))
            memories = open_memory_search(
                self.memory(project), recall, embedding_wait=EMBEDDING_WAIT_SECONDS
            )
            return ProjectSearch(
                self.layout,
                self.database,
                root=root,
                settings=self.settings.auto_memory,
                memories=opened.enter_context(closing(memories)).search,
                sessions=partial(index.search, project=root) if index else None,
            ).search(query, limit)

    async def delete_session(self, session: str) -> None:
        """Delete what is kept of a session for good, here and on the server of shared sessions:
        transcript, notes, events and its place in the search; where it is open here it is closed.

        Memories that it led to stay, `memory(project).forget` removes them; nothing more is learnt
        from it, and the next consolidation takes it out of the memory of past sessions. A later
        session of this id begins afresh. Called again it finishes what was interrupted.

        Raises UsageError for what is no id, SessionInUse where another process or hooks have it
        open, StoreError.
        """
        check_session_arguments(session, "", None)
        id = redact_id_keeping_ids_distinct(session)
        for each in list(self._sessions):
            if isinstance(each, Session) and each.id == id:
                await each.close()
        if self._shared_sessions is not None:
            await asyncio.to_thread(
                self._shared_sessions.remove_sessions, self.owner, make_folder_name(id)
            )
        with self._session_index_lock:
            if self._session_index is not None:
                self._session_index.close()
                self._session_index = None
        await asyncio.to_thread(remove_session_copies, self.layout, id)
        terms = build_lease_policy(self.settings.rollouts)
        disable_memory_and_erase_first_words(
            self._open_rollout_state(), self._files, self.layout, id, terms
        )

    async def close(self) -> None:
        """Close every open session, the flags and the model; an error of a session is raised when
        all is closed. May be called twice.
        """
        closing = (session.close() for session in list(self._sessions))
        ended = await asyncio.gather(*closing, return_exceptions=True)
        self._sessions.clear()
        await self._close_shared()
        for error in ended:
            if isinstance(error, BaseException):
                raise error

    async def _close_shared(self) -> None:
        """Close what the sessions used."""
        PATTERN_LOADING.stop(self)
        for search in self._memory_searches:
            search.close()
        self._memory_searches.clear()
        if self._session_index is not None:
            self._session_index.close()
            self._session_index = None
        self._unsaved.close()
        self.flags.close()
        if self._model is not None and self._owns_model:
            await self._model.close()
        if self._state is not None:
            self._state.close()
            self._state = None
        self._home.close()
        worker = self._worker_process
        if (
            worker is not None
            and not reap_if_exited(worker)
            and is_temporary_home(self.layout.home)
        ):
            await stop_worker(worker)

    def __enter__(self) -> BlockingMemorist:
        """The engine for a program without an event loop: the same calls, which wait for their
        results.
        """
        self._blocking = BlockingMemorist(self)
        return self._blocking

    def __exit__(self, *_: object) -> None:
        if self._blocking is not None:
            self._blocking.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class MemoryOffRequestExtension(SessionExtension):
    """Calls `turn_off` at the message that asks for it."""

    def __init__(self, turn_off: Callable[[], None]) -> None:
        self._turn_off = turn_off

    def on_message(self, message: Message, *, replayed: bool = False) -> None:
        """Turn memory off where the message asks for it; also when the session is opened again."""
        del replayed
        if message_asks_for_no_memory(message):
            self._turn_off()
