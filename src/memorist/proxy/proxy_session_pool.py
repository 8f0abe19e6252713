"""The sessions of all conversations of one proxy: opened by a request, bounded in time, closed when
idle, rested after failures.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from memorist.core.messages import JsonObject
from memorist.engine.disk_failure_pauses import DiskFailurePauses
from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.engine.session_pool import PoolLimits, SessionPool
from memorist.engine.tenants import UNROOTED_PROJECTS, Tenants
from memorist.errors import MemoristError, SessionInUse, WireFormatError
from memorist.formats.codec_registry import find_codec
from memorist.ports import HostInfo
from memorist.proxy.client_working_folder import find_working_folder
from memorist.proxy.conversation_matching import ProxyConversation
from memorist.settings import ProxySettings
from memorist.store.home_layout import BESIDE_HOOKS, make_folder_name, make_portable_folder_name
from memorist.store.sqlite_database import is_database_or_disk_error
from memorist.system import SystemClock

MAX_CONSECUTIVE_FAILURES = 3
"""Consecutive failures after which a conversation is paused.

Our choice, the same as compaction's limit.
"""


PAUSE_SECONDS = 300.0
"""Length of the pause. Our choice."""


MAX_CLOSE_WAIT_SECONDS = 75.0
"""Longest wait for a session to close; its own limit is a minute. Our choice."""


Value = TypeVar("Value")


class EngineCallFailed(Exception):
    """The engine could not prepare a request; the message is a short reason."""


def run_engine_call(work: Callable[[], Value]) -> Value:
    """Return the result of `work`.

    Raises EngineCallFailed for any exception in it, so that the client's bytes are sent in any
    case.
    """
    try:
        return work()
    except WireFormatError as error:
        raise EngineCallFailed(str(error)) from error
    except Exception as error:
        # An unforeseen error. Its message may quote the conversation, so only its type and place
        # are logged.
        raise EngineCallFailed(f"{type(error).__name__} in {_innermost_frame(error)}") from error


class PreparedRequest(Struct, frozen=True, eq=False):
    """The request to send, and the session that prepared it."""

    request: JsonObject
    session: Session


_ConversationKey = tuple[str, str, str]
"""Tenant, declared project and id of a conversation."""


class _ConversationFailures:
    """Consecutive failures of one conversation, and the pause that they lead to."""

    def __init__(self) -> None:
        self.count = 0
        self.paused_until = 0.0


class ProxySessionPool:
    """The sessions of all conversations of one proxy."""

    def __init__(self, homes: TenantSessionOpener, settings: ProxySettings) -> None:
        self._homes = homes
        self._settings = settings
        self._pool = SessionPool[_ConversationKey, Session](
            _close_session,
            clock=SystemClock(),
            limits=PoolLimits(60.0 * settings.idle_minutes, settings.sessions),
            on_error=_log_close_failure,
        )
        self._pool.is_takeover_requested = lambda session: session.is_takeover_requested
        self._failures: dict[_ConversationKey, _ConversationFailures] = {}
        """Of the conversations that failed last time."""
        self._disk_pause = DiskFailurePauses(SystemClock())
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        """Number of open conversations."""
        return len(self._pool)

    async def prepare(
        self, conversation: ProxyConversation, request: JsonObject
    ) -> PreparedRequest:
        """Let the engine record a request and prepare the one to send. Raises EngineCallFailed."""

        async def work() -> PreparedRequest:
            async with self._use(conversation, request) as session:
                return PreparedRequest(await session.prepare(request), session)

        found = await self._run_bounded(conversation, work)
        self._failures.pop(_conversation_key(conversation), None)
        return found

    async def shrink_refused_request(
        self, conversation: ProxyConversation, prepared: PreparedRequest
    ) -> JsonObject | None:
        """A smaller request after the provider rejected one as too long; None if there is none.

        Raises EngineCallFailed.
        """

        async def work() -> JsonObject | None:
            if self._pool.find(_conversation_key(conversation)) is not prepared.session:
                return None
            async with self._use(conversation, {}) as session:
                return (
                    await session.shrink_refused_request() if session is prepared.session else None
                )

        return await self._run_bounded(conversation, work)

    def observe(
        self,
        conversation: ProxyConversation,
        prepared: PreparedRequest,
        read: Callable[[], JsonObject | None],
    ) -> None:
        """Record a reply in the background; the conversation's next request waits for that.

        `read` returns the reply, or None if it is incomplete.
        """

        async def work() -> None:
            if self._pool.find(_conversation_key(conversation)) is not prepared.session:
                return
            async with self._use(conversation, {}) as session:
                reply = read() if session is prepared.session else None
                if reply is not None:
                    await prepared.session.observe(reply)
                    if find_codec(conversation.format).decode_reply(reply).ends_turn:
                        await prepared.session.end_turn()

        async def quietly() -> None:
            with suppress(EngineCallFailed):
                await self._run_bounded(conversation, work)

        self._spawn(quietly())

    async def wait_until_idle(self) -> None:
        """Wait until no background work is running."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Close every conversation. Waits for running work within a bound."""
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_CLOSE_WAIT_SECONDS):
                await self.wait_until_idle()
        for error in await self._pool.close():
            _log_close_failure(error)

    def _use(
        self, conversation: ProxyConversation, request: JsonObject
    ) -> AbstractAsyncContextManager[Session]:
        async def open_session() -> Session:
            if conversation.project is None:
                conversation.project = (
                    find_working_folder(conversation.format, request)
                    or conversation.restored_project
                )
            session = await self._homes.open(conversation, conversation.project)
            session.allow_takeover()
            return session

        return self._pool.use(_conversation_key(conversation), open_session)

    async def _run_bounded(
        self, conversation: ProxyConversation, work: Callable[[], Coroutine[Any, Any, Value]]
    ) -> Value:
        """Run the work as a task of its own within the time limit.

        Raises EngineCallFailed, after which the session is released.
        """
        if self._disk_pause.is_paused(conversation.tenant):
            raise EngineCallFailed("the disk refused a moment ago, and it rests")
        known = self._failures.get(_conversation_key(conversation))
        if known is not None and known.paused_until > asyncio.get_running_loop().time():
            raise EngineCallFailed("it failed several times and rests")
        task = self._spawn(work())
        done, _ = await asyncio.wait({task}, timeout=self._settings.prepare_seconds)
        if not done:
            task.cancel()
            raise self._on_failure(conversation, "it took too long")
        try:
            return task.result()
        except (MemoristError, OSError, sqlite3.Error) as error:
            if is_database_or_disk_error(error):
                self._disk_pause.pause_after(error, home=conversation.tenant, session="")
            raise self._on_failure(conversation, f"{type(error).__name__}: {error}") from error
        except Exception as error:
            # As in `run_engine_call`: the client's work goes on, and the message may quote the
            # conversation.
            raise self._on_failure(
                conversation, f"{type(error).__name__} in {_innermost_frame(error)}"
            ) from error

    def _on_failure(self, conversation: ProxyConversation, why: str) -> EngineCallFailed:
        key = _conversation_key(conversation)
        known = self._failures.setdefault(key, _ConversationFailures())
        known.count += 1
        if known.count >= MAX_CONSECUTIVE_FAILURES:
            known.paused_until, known.count = asyncio.get_running_loop().time() + PAUSE_SECONDS, 0
        self._pool.discard(key)
        log.warning("memorist could not do its part: %s", why)
        return EngineCallFailed(why)

    def _spawn(self, work: Coroutine[Any, Any, Value]) -> asyncio.Task[Value]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _conversation_key(conversation: ProxyConversation) -> _ConversationKey:
    return (conversation.tenant, conversation.declared_project or "", conversation.id)


async def _close_session(session: Session) -> None:
    async with asyncio.timeout(MAX_CLOSE_WAIT_SECONDS):
        await session.close()


def _log_close_failure(error: BaseException) -> None:
    log.warning(
        "a conversation could not be closed cleanly: %s in %s",
        type(error).__name__,
        _innermost_frame(error),
    )


def _innermost_frame(error: BaseException) -> str:
    """Module and line of the innermost frame of an error, without any data it worked on."""
    trace, location = error.__traceback__, "?"
    while trace is not None:
        location = f"{trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}"
        trace = trace.tb_next
    return location


log = logging.getLogger("memorist.proxy")


class TenantSessionOpener:
    """Opens sessions in the home of their tenant."""

    def __init__(self, engines: Memorist | Tenants) -> None:
        self._engines = engines

    def home(self, tenant: str) -> Path:
        """The home of a tenant, or the only home. Raises UsageError for a tenant without a name."""
        if isinstance(self._engines, Memorist):
            return self._engines.layout.home
        return self._engines.home(tenant)

    async def open(self, conversation: ProxyConversation, project: str) -> Session:
        """Open the session of a conversation; the caller closes it.

        Raises as `Memorist.open` and `Tenants.open` do.

        A tenant's project folder is on the tenant's machine: here it is only a name and is never
        looked up on this disk, which holds the folders of others.

        Where the hooks have the session open, they keep notes and memory, and the proxy compacts
        in a session beside it that neither learns nor recalls.
        """
        id, format = conversation.id, conversation.format
        host = HostInfo(main=conversation.is_main_agent, interactive=conversation.has_typing_user)
        if isinstance(self._engines, Tenants):
            name = project and str(UNROOTED_PROJECTS / make_portable_folder_name(project))
            return await self._engines.open(
                conversation.tenant, id, project=name, format=format, host=host
            )
        separate_id = f"{id}{BESIDE_HOOKS}"
        if not any(self._engines.layout.projects.glob(f"*/{make_folder_name(separate_id)}")):
            with suppress(SessionInUse):
                return await self._engines.open(id, project=project, format=format, host=host)
        return await self._engines.open(
            separate_id, project=project, format=format, host=HostInfo(main=False)
        )
