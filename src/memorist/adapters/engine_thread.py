"""An engine on an event loop and thread of its own, so that hosts of every kind can call it:
blocking, on any loop, from any thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Self, TypedDict, TypeVar, Unpack

from memorist.adapters.host_conversation import (
    ConversationName,
    EngineFailure,
    EngineWork,
    HostConversation,
)
from memorist.core.bounded_collections import LruCache
from memorist.core.not_picklable import NotPicklable
from memorist.engine.blocking_engine import EventLoopThread
from memorist.engine.callback_guards import guard_listener
from memorist.engine.disk_failure_pauses import DiskFailurePauses
from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.engine.session_arguments import resolve_project
from memorist.engine.session_pool import PoolLimits, SessionPool
from memorist.engine.tenants import MAX_IDLE_SECONDS, Tenants
from memorist.errors import MemoristError, UsageError
from memorist.events import EventListener
from memorist.flags.flag_lookup import FlagProvider
from memorist.platforms.process_hooks import close_at_exit, run_in_forked_children
from memorist.ports import Clock, FileSystem, HostInfo, Model
from memorist.settings import Settings
from memorist.store.home_layout import make_portable_folder_name
from memorist.system import SystemClock

Result = TypeVar("Result")

MAX_CLOSE_WAIT_SECONDS = 75.0
"""Longest wait at close, in seconds.

Our choice: the engine itself waits up to a minute for background work of a session.
"""

MAX_OPEN_CONVERSATIONS = 100
"""Conversations that stay open at once.

Our choice: without a bound, a server with a thread for each user would keep all of them open.
"""

MAX_KNOWN_CONVERSATIONS = 10_000
"""Conversations whose failures are remembered, so that each is logged once. Our choice."""

USERS_FOLDER = "users"
"""Folder in the home that holds a home for each user."""

_log = logging.getLogger("memorist.adapters")


class EngineArguments(TypedDict, total=False):
    """The arguments of `Memorist`."""

    model: str | Model | None
    home: str | os.PathLike[str] | None
    settings: Settings | None
    flags: FlagProvider | None
    clock: Clock | None
    files: FileSystem | None


class EngineThread(NotPicklable):
    """One engine for any number of agents of a process.

    It runs in a daemon thread and outlives `asyncio.run`. A context manager; closes itself at exit.
    In a forked child the first call opens an engine of the child's own, over the same home.
    A conversation with a user is kept in that user's own home, `users/NAME` in the home folder, as
    `Tenants` does: nothing of it is shown to another user.

    Args:
        listener: called with every event of every conversation, in the engine's thread. Must not
            block.
        most_open: conversations that stay open at once; the least recently used one is closed, as
            is one that was idle for ten minutes, and reopened by its next request.
        engine: the arguments of `Memorist`: `model`, `home`, `settings`, …

    Raises what `Memorist` raises: SettingsError, ModelNameError.
    """

    def __init__(
        self,
        *,
        listener: EventListener | None = None,
        most_open: int = MAX_OPEN_CONVERSATIONS,
        **engine: Unpack[EngineArguments],
    ) -> None:
        self.listener = None if listener is None else guard_listener(listener)
        self._arguments = engine
        self._most_open = most_open
        self._conversations: LruCache[HostConversation] = LruCache(max_size=MAX_KNOWN_CONVERSATIONS)
        self.disk_pause = DiskFailurePauses(engine.get("clock") or SystemClock())
        """The pauses after the disk refused."""
        self.failures_after_close: set[tuple[str, str]] = set()
        """What was reported of all conversations once no calls are taken any more."""
        self._has_warned_of_users = False
        self._closed = False
        self._inherited: list[object] = []
        """What a forked child has of its parent: kept, since closing would disturb the parent."""
        self._conversations_lock = threading.Lock()
        self._opening_lock = threading.Lock()
        self._loop: EventLoopThread | None = self._open()
        run_in_forked_children(self._leave_to_parent)
        close_at_exit(self.close)

    def _open(self) -> EventLoopThread:
        """Begin a loop, and open the engine on it."""
        self._sessions = SessionPool[str, Session](
            Session.close,
            clock=self._arguments.get("clock") or SystemClock(),
            limits=PoolLimits(MAX_IDLE_SECONDS, self._most_open),
            on_error=_log_close_failure,
        )
        self._sessions.is_takeover_requested = lambda session: session.is_takeover_requested
        self._users: Tenants | None = None
        """The homes of users; touched in the engine's thread only."""
        loop = EventLoopThread()
        try:
            self._engine = loop.run(lambda: _open_engine(self._arguments))
        except BaseException:  # also for Ctrl-C: the loop must not run on without an engine
            self._closed = True
            loop.stop(0.0)
            raise
        return loop

    def _leave_to_parent(self) -> None:
        """In a forked child: its parent has the thread and the open files, and may hold a lock."""
        self._conversations_lock, self._opening_lock = threading.Lock(), threading.Lock()
        self._inherited.append((self._loop, self._engine, self._sessions, self._users))
        self._loop = None

    def _open_loop(self) -> EventLoopThread:
        """The engine's loop, begun anew in a forked child.

        Raises UsageError after `close`, and in a child what opening the engine raises.
        """
        with self._opening_lock:
            if self._closed:
                raise UsageError("memorist was closed here; attach it again")
            self._loop = self._loop or self._open()
            return self._loop

    @property
    def is_closed(self) -> bool:
        """Whether no calls are taken any more."""
        return self._closed

    @property
    def engine(self) -> Memorist:
        """The engine. Its coroutines run in its own thread: pass them to `run` or `arun`."""
        with contextlib.suppress(MemoristError, OSError):  # as a call will say
            self._open_loop()
        return self._engine

    def conversation(
        self,
        id: str,
        *,
        user: str = "",
        project: str = "",
        format: str,
        host: HostInfo | None = None,
    ) -> HostConversation:
        """Return the conversation of this id, new or known. Opened by its first request.

        `user` is any text that names whose memory it is; empty for the home's own. `project`,
        `format` and `host` are those of `Memorist.open`; a relative `project` counts from the
        folder in which the engine was opened. Raises UsageError for an empty id.
        """
        if not id:
            raise UsageError("a conversation needs an id; any text that is not empty will do")
        project = resolve_project(project, self._engine.folder)
        name = ConversationName(user, project, id, format)
        with self._conversations_lock:
            return self._conversations.get_or_create(
                name.key, lambda: HostConversation(self, name, host)
            )

    def run(self, work: EngineWork[Result]) -> Result:
        """Run `work` on the engine's loop and wait for it.

        Raises what the work raises, and UsageError where the engine cannot be waited for.
        """
        return _unwrap(self.run_or_return_failure(work))

    async def arun(self, work: EngineWork[Result]) -> Result:
        """As `run`, for a caller on its own event loop."""
        return _unwrap(await self.arun_or_return_failure(work))

    def run_or_return_failure(
        self, work: EngineWork[Result], seconds: float | None = None
    ) -> Result | EngineFailure:
        """As `run`, but errors are returned as a value.

        After `seconds` a TimeoutError is returned, and the work continues.
        """
        try:
            future = self._submit(work)
            error = future.exception(seconds)
        except (MemoristError, OSError, CancelledError) as refused:
            return EngineFailure(refused)
        return future.result() if error is None else EngineFailure(error)

    async def arun_or_return_failure(
        self, work: EngineWork[Result], seconds: float | None = None
    ) -> Result | EngineFailure:
        """As `run_or_return_failure`, for a caller on its own event loop.

        If the caller is cancelled the work continues, so that nothing is left half done.
        """
        try:
            asyncio.get_running_loop()
            future = self._submit(work)
        except (MemoristError, OSError, RuntimeError) as refused:
            return EngineFailure(refused)
        ending = asyncio.wrap_future(future)
        await asyncio.wait([ending], timeout=seconds)
        if not ending.done():
            return EngineFailure(TimeoutError())
        error = CancelledError() if ending.cancelled() else ending.exception()
        return ending.result() if error is None else EngineFailure(error)

    def _submit(self, work: EngineWork[Result]) -> Future[Result]:
        return self._open_loop().submit(work)

    def find_session(self, conversation: HostConversation) -> Session | None:
        """The session of a conversation while it is open."""
        return self._sessions.find(conversation.name.key)

    def use_session(
        self, conversation: HostConversation
    ) -> contextlib.AbstractAsyncContextManager[Session]:
        """Hold the session of a conversation, opened if it is not open. In the engine's thread."""
        return self._sessions.use(
            conversation.name.key,
            lambda: self._open_offered(conversation),
            is_current=lambda session: not session.is_closed,
        )

    async def close_session(self, conversation: HostConversation) -> None:
        """Close the session of a conversation after its earlier calls. In the engine's thread."""
        await self._sessions.close_key(conversation.name.key)

    async def _open_offered(self, conversation: HostConversation) -> Session:
        """Open the session of a conversation; another worker of the server gets it on asking."""
        session = await self._open_session(conversation)
        session.allow_takeover()
        return session

    async def _open_session(self, conversation: HostConversation) -> Session:
        name, host = conversation.name, conversation.host
        if name.user:
            return await self._open_users().open(
                name.user,
                name.id,
                project=name.project,
                format=name.format,
                host=host,
                listener=self.listener,
            )
        if name.project and (host is None or host.main):
            self._warn_of_missing_users()
        return await self._engine.open(
            name.id, project=name.project, format=name.format, host=host, listener=self.listener
        )

    async def open_engine(self, user: str) -> Memorist:
        """The engine of a user; for an empty name the home's own. Runs in the engine's thread.

        Ask for it each time: a user's engine is closed when it rests. Raises as `Memorist` does.
        """
        return await self._open_users().engine(user) if user else self._engine

    def home(self, user: str) -> Path:
        """The folder of a user's data; for an empty name the engine's own."""
        own = self._engine.layout.home
        return own / USERS_FOLDER / make_portable_folder_name(user) if user else own

    def _open_users(self) -> Tenants:
        """The homes of users, with the settings and the model of the engine."""
        if self._users is None:
            self._users = Tenants(
                self._engine.layout.home / USERS_FOLDER,
                settings=self._engine.settings,
                model=self._arguments.get("model"),
                clock=self._arguments.get("clock"),
            )
        return self._users

    def _warn_of_missing_users(self) -> None:
        """Say once that conversations share their memory, when a second one is open."""
        if len(self._sessions) and not self._has_warned_of_users:
            self._has_warned_of_users = True
            _log.warning(
                "several conversations are open and none names a user, so they share the memory "
                "of their project; on a server for many users pass user= to the adapter"
            )

    def close(self) -> None:
        """Close every conversation and the engine; waits a little over a minute at most.

        May be called twice, and from any thread.
        """
        with self._opening_lock:
            loop = None if self._closed else self._loop
            ending = None if loop is None else loop.submit(self._close_all)
            self._closed = True
        if loop is None or ending is None:
            return
        try:
            ending.result(MAX_CLOSE_WAIT_SECONDS)
        finally:
            loop.stop(MAX_CLOSE_WAIT_SECONDS)

    async def _close_all(self) -> None:
        for error in await self._sessions.close():
            _log_close_failure(error)
        if self._users is not None:
            await self._users.close()
        await self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _log_close_failure(error: BaseException) -> None:
    _log.warning("a conversation could not be closed cleanly: %s", error)


def _unwrap(outcome: Result | EngineFailure) -> Result:
    if isinstance(outcome, EngineFailure):
        raise outcome.error
    return outcome


def attach_or_open_engine_thread(
    attached: EngineThread | None, engine: EngineArguments
) -> EngineThread:
    """Return the engine that an adapter was given, or open one with these arguments.

    Raises UsageError for both at once.
    """
    if attached is None:
        return EngineThread(**engine)
    if engine:
        raise UsageError(
            f"attached= brings its own engine, so it cannot be combined with "
            f"{', '.join(sorted(engine))}"
        )
    return attached


async def _open_engine(engine: EngineArguments) -> Memorist:
    return Memorist(**engine)
