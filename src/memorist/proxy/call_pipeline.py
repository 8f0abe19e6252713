"""The pipeline of a model call: find its conversation, prepare its request, record its reply."""

from __future__ import annotations

import asyncio
import logging
import secrets
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from memorist.context.rollback import drop_rolled_back
from memorist.core.messages import JsonObject, Message
from memorist.engine.disk_circuit_breaker import DiskCircuitBreaker
from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.engine.session_pool import PoolLimits, SessionPool
from memorist.engine.tenants import UNROOTED_PROJECTS, Tenants
from memorist.errors import FormatError, MemoristError, SessionInUse
from memorist.formats.codec_registry import find_codec
from memorist.models.call_failure import CallFailure
from memorist.ports import HostInfo
from memorist.proxy.body_cache import BodyCache, BodyReading
from memorist.proxy.client_folder import find_working_folder
from memorist.proxy.client_identity import identify_client
from memorist.proxy.conversation_matching import (
    ConversationCall,
    ConversationMatcher,
    HistoryLink,
    IncomingCall,
    ProxyConversation,
    UnrelatedCall,
    link_history,
    to_stored_conversation,
)
from memorist.proxy.header_rules import hash_caller
from memorist.proxy.known_conversations import ConversationStore
from memorist.proxy.provider_routing import Route
from memorist.proxy.request_body import RequestBody, rewrite_body
from memorist.proxy.upstream_reply import decompress_body, parse_upstream_reply
from memorist.settings import ProxySettings
from memorist.store.database import is_disk_failure
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import BESIDE_HOOKS, Layout, SessionLayout, folder_name, home_name
from memorist.store.transcript_reader import read_transcript
from memorist.system import SystemClock

# The engines behind a proxy: one home for all, or one for each tenant.


class ProxyEngines:
    """Opens sessions in the home of their tenant."""

    def __init__(self, engines: Memorist | Tenants) -> None:
        self._engines = engines

    def home(self, tenant: str) -> Path:
        """The home of a tenant, or the only home. Raises UsageError for a tenant without a name."""
        return (
            self._engines.layout.home
            if isinstance(self._engines, Memorist)
            else self._engines.home(tenant)
        )

    async def open(self, conversation: ProxyConversation, project: str) -> Session:
        """Open the session of a conversation; the caller closes it.

        Raises as `Memorist.open` and `Tenants.open` do.

        A tenant's project folder is on the tenant's machine: here it is only a name and is never
        looked up on this disk, which holds the folders of others.

        Where the hooks have the session open, they keep notes and memory, and the proxy compacts
        in a session beside it that neither learns nor recalls.
        """
        id, format = conversation.id, conversation.format
        host = HostInfo(main=conversation.main, interactive=conversation.interactive)
        if isinstance(self._engines, Tenants):
            name = project and str(UNROOTED_PROJECTS / home_name(project))
            return await self._engines.open(
                conversation.tenant, id, project=name, format=format, host=host
            )
        separate_id = f"{id}{BESIDE_HOOKS}"
        if not any(self._engines.layout.projects.glob(f"*/{folder_name(separate_id)}")):
            with suppress(SessionInUse):
                return await self._engines.open(id, project=project, format=format, host=host)
        return await self._engines.open(
            separate_id, project=project, format=format, host=HostInfo(main=False)
        )


# The engine's sessions behind the proxy's conversations.


MAX_FAILURES = 3
"""Consecutive failures after which a conversation is paused.

Our choice, the same as compaction's limit.
"""
PAUSE_SECONDS = 300.0
"""Length of the pause. Our choice."""
CLOSE_SECONDS = 75.0
"""Longest wait for a session to close; its own limit is a minute. Our choice."""


Value = TypeVar("Value")


class EngineCallFailed(Exception):
    """The engine could not prepare a request; the message is a short reason."""


def run_guarded(work: Callable[[], Value]) -> Value:
    """Return the result of `work`.

    Raises EngineCallFailed for any exception in it, so that the client's bytes are sent in any
    case.
    """
    try:
        return work()
    except FormatError as error:
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

    def __init__(self, homes: ProxyEngines, settings: ProxySettings) -> None:
        self._homes = homes
        self._settings = settings
        self._pool = SessionPool[_ConversationKey, Session](
            _close_session,
            clock=SystemClock(),
            limits=PoolLimits(60.0 * settings.idle_minutes, settings.sessions),
            on_error=_log_close_failure,
        )
        self._pool.is_wanted = lambda session: session.is_wanted
        self._failures: dict[_ConversationKey, _ConversationFailures] = {}
        """Of the conversations that failed last time."""
        self._disk = DiskCircuitBreaker(SystemClock())
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

    async def recover(
        self, conversation: ProxyConversation, prepared: PreparedRequest
    ) -> JsonObject | None:
        """A smaller request after the provider rejected one as too long; None if there is none.

        Raises EngineCallFailed.
        """

        async def work() -> JsonObject | None:
            if self._pool.find(_conversation_key(conversation)) is not prepared.session:
                return None
            async with self._use(conversation, {}) as session:
                return await session.recover() if session is prepared.session else None

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
                    if not has_tool_calls(conversation.format, reply):
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
            async with asyncio.timeout(CLOSE_SECONDS):
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
            session.offer()
            return session

        return self._pool.use(_conversation_key(conversation), open_session)

    async def _run_bounded(
        self, conversation: ProxyConversation, work: Callable[[], Coroutine[Any, Any, Value]]
    ) -> Value:
        """Run the work as a task of its own within the time limit.

        Raises EngineCallFailed, after which the session is released.
        """
        if self._disk.is_paused(conversation.tenant):
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
            if is_disk_failure(error):
                self._disk.on_failure(error, home=conversation.tenant, session="")
            raise self._on_failure(conversation, f"{type(error).__name__}: {error}") from error
        except Exception as error:
            # As in `run_guarded`: the client's work goes on, and the message may quote the
            # conversation.
            raise self._on_failure(
                conversation, f"{type(error).__name__} in {_innermost_frame(error)}"
            ) from error

    def _on_failure(self, conversation: ProxyConversation, why: str) -> EngineCallFailed:
        key = _conversation_key(conversation)
        known = self._failures.setdefault(key, _ConversationFailures())
        known.count += 1
        if known.count >= MAX_FAILURES:
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
    async with asyncio.timeout(CLOSE_SECONDS):
        await session.close()


def _log_close_failure(error: BaseException) -> None:
    log.warning(
        "a conversation could not be closed cleanly: %s in %s",
        type(error).__name__,
        _innermost_frame(error),
    )


def has_tool_calls(format: str, reply: JsonObject) -> bool:
    """Whether a reply holds tool calls, so that the turn continues. Raises FormatError."""
    messages: tuple[Message, ...] = find_codec(format).decode_reply(reply).messages
    return any(message.tool_uses for message in messages)


def _innermost_frame(error: BaseException) -> str:
    """Module and line of the innermost frame of an error, without any data it worked on."""
    trace, location = error.__traceback__, "?"
    while trace is not None:
        location = f"{trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}"
        trace = trace.tb_next
    return location


MAX_HOMES = 1_000
"""Homes whose conversations are held in memory; those of the one idle longest are read from disk
again. Our choice.
"""

LARGE_BODY_BYTES = 1_000_000
"""Bytes from which a body is joined, parsed and rewritten in a thread. Our choice: to parse a
megabyte takes 6 ms.
"""

log = logging.getLogger("memorist.proxy")


class PreparedCall(Struct, frozen=True):
    """A prepared model call: the bytes to send, and the outcome for the client."""

    data: bytes
    outcome: str
    call: ConversationCall | None = None
    body: RequestBody | None = None
    prepared: PreparedRequest | None = None


class _HomeConversations:
    """The conversations of one home."""

    def __init__(self, homes: ProxyEngines, tenant: str) -> None:
        layout = Layout(homes.home(tenant))
        self.store = ConversationStore(DiskFiles(), layout.known_conversations)
        self.matcher = ConversationMatcher(
            lambda: f"proxy-{secrets.token_hex(8)}",
            self.store.conversations,
            partial(read_recorded_history, layout),
        )

    def save(self, conversation: ProxyConversation) -> None:
        self.store.save(to_stored_conversation(conversation))


def read_recorded_history(layout: Layout, id: str) -> list[Any] | None:
    """What was said in a session of the Responses API, in that format and without the turns that
    were taken back; None where nothing is recorded, or in more than one project.
    """
    folders = [
        each
        for name in (folder_name(id), folder_name(f"{id}{BESIDE_HOOKS}"))
        for each in layout.projects.glob(f"*/{name}")
    ]
    if len(folders) != 1:
        return None
    try:
        entries = read_transcript(SessionLayout(folders[0]).transcript)
        messages = [each for each in drop_rolled_back(entries) if isinstance(each, Message)]
        return list(find_codec("openai_responses").encode_messages(messages)) or None
    except MemoristError as error:
        log.warning("the record of the session %s cannot be read: %s", id, error)
        return None


class CallPipeline:
    """One for each proxy. Construct it inside a running loop."""

    def __init__(self, homes: ProxyEngines, settings: ProxySettings) -> None:
        self._homes = homes
        self._by_tenant: OrderedDict[str, _HomeConversations] = OrderedDict()
        self._bodies = BodyCache()
        self._settings = settings
        self._unpacking = asyncio.Lock()
        self.pool = ProxySessionPool(homes, settings)

    def _home(self, tenant: str) -> _HomeConversations:
        found = self._by_tenant.get(tenant)
        if found is None:
            found = self._by_tenant[tenant] = _HomeConversations(self._homes, tenant)
            while len(self._by_tenant) > MAX_HOMES:
                self._by_tenant.popitem(last=False)
        self._by_tenant.move_to_end(tenant)
        return found

    async def prepare(
        self, route: Route, headers: Mapping[str, str], raw: bytes, tenant: str = ""
    ) -> PreparedCall:
        """Prepare a model call of a tenant with this body.

        Never raises: an error becomes the outcome.
        """
        found: ConversationCall | UnrelatedCall | None = None
        body: RequestBody | None = None
        try:
            found, body = await self._identify(route, headers, raw, tenant)
            if isinstance(found, UnrelatedCall):
                return PreparedCall(raw, f"passed: {found.why}")
            call, given = found, body
            try:
                prepared = await self.pool.prepare(call.conversation, call.request)
            finally:
                self._home(tenant).save(
                    call.conversation
                )  # also after an error: its project is known now
            new = await _encode(call, given, prepared.request)
        except EngineCallFailed as error:
            log.warning("a request is passed on as it came: %s", error)
            return PreparedCall(
                raw,
                f"passed: {error}",
                found if isinstance(found, ConversationCall) else None,
                body,
            )
        return (
            PreparedCall(raw, "unchanged", found, body, prepared)
            if new is None
            else PreparedCall(new, "changed", found, body, prepared)
        )

    async def _identify(
        self, route: Route, headers: Mapping[str, str], raw: bytes, tenant: str
    ) -> tuple[ConversationCall | UnrelatedCall, RequestBody]:
        """Find the conversation of a request, and parse its body; a large one is parsed in a
        thread, so that other requests go on. Raises EngineCallFailed.
        """
        salt = run_guarded(lambda: self._home(tenant).store.salt)

        plain = await self._unpack(raw, headers.get("content-encoding", ""))

        def read() -> tuple[BodyReading, IncomingCall]:
            reading = self._bodies.read(route.format, plain, tenant)
            who = identify_client(headers, reading.body)
            links: Sequence[HistoryLink] = ()
            if who.certainty not in ("named", "likely") and not who.unrelated_reason:
                links = link_history(route.format, reading.body.items, reading.links)
            return reading, IncomingCall(
                format=route.format,
                identity=who,
                caller=hash_caller(headers, salt),
                body=reading.body,
                known_links=links,
                shape=reading.shape,
            )

        if len(plain) > LARGE_BODY_BYTES:
            reading, call = await asyncio.to_thread(run_guarded, read)
        else:
            reading, call = run_guarded(read)
        return run_guarded(lambda: self._match(reading, call, tenant)), reading.body

    async def _unpack(self, raw: bytes, encoding: str) -> bytes:
        """Remove the content encoding of a request: in a thread and one after the other, since a
        few kilobytes may unpack to all that a body may have. Raises EngineCallFailed.
        """
        if encoding.strip().lower() in ("", "identity"):
            return raw
        async with self._unpacking:
            return await asyncio.to_thread(
                run_guarded, partial(decompress_body, raw, encoding, self._settings.body_bytes)
            )

    def _match(
        self, reading: BodyReading, call: IncomingCall, tenant: str
    ) -> ConversationCall | UnrelatedCall:
        """Find the conversation of a request that was read, and keep the reading for the next."""
        found = self._home(tenant).matcher.match(call)
        is_related = isinstance(found, ConversationCall)
        self._bodies.store(reading, list(call.known_links) if is_related else [])
        if isinstance(found, ConversationCall):
            found.conversation.tenant = tenant
        return found

    async def recover(self, prepared_call: PreparedCall) -> bytes | None:
        """The bytes of a smaller request, once, after the provider rejected one as too long; else
        None.
        """
        call, body, prepared = prepared_call.call, prepared_call.body, prepared_call.prepared
        if call is None or body is None or prepared is None:
            return None
        try:
            request = await self.pool.recover(call.conversation, prepared)
            return None if request is None else await _encode(call, body, request)
        except EngineCallFailed:
            return None

    def on_reply(self, prepared_call: PreparedCall, content_type: str, data: bytes) -> None:
        """Record the complete reply of a model call.

        Must be called before the client sees the end of the reply, because the client may continue
        from it at once.
        """
        if prepared_call.call is None:
            return
        conversation, call = prepared_call.call.conversation, prepared_call.call

        def read() -> JsonObject | None:
            reply = parse_upstream_reply(conversation.format, content_type, data)
            if isinstance(reply, CallFailure):
                return None
            try:
                find_codec(conversation.format).decode_reply(reply)
            except FormatError:
                log.warning("a reply has an unknown format; it was passed on unchanged")
                return None
            return reply

        try:
            if (
                conversation.scope or conversation.format == "openai_responses"
            ):  # the next request is matched by this reply, so it is decoded at once
                reply = run_guarded(read)
                if reply is not None:
                    home = self._home(conversation.tenant)
                    run_guarded(
                        lambda: home.matcher.on_reply(
                            call,
                            reply,
                            find_codec(conversation.format).decode_reply(reply).messages,
                        )
                    )
                    home.save(conversation)
                if prepared_call.prepared is not None:
                    self.pool.observe(conversation, prepared_call.prepared, lambda: reply)
            elif prepared_call.prepared is not None:
                self.pool.observe(conversation, prepared_call.prepared, read)
        except EngineCallFailed as error:
            log.warning("an answer is not taken in: %s", error)


async def _encode(call: ConversationCall, body: RequestBody, request: JsonObject) -> bytes | None:
    """As `encode_request`, a large body in a thread. Raises EngineCallFailed."""
    work = partial(encode_request, call, body, request)
    if len(body.raw) > LARGE_BODY_BYTES:
        return await asyncio.to_thread(run_guarded, work)
    return run_guarded(work)


def encode_request(
    call: ConversationCall, body: RequestBody, request: Mapping[str, object]
) -> bytes | None:
    """The bytes of the request to send; None if it equals the client's."""
    if call.has_full_history:
        return rewrite_body(body, dict(request))
    return None if request == call.request else msgspec.json.encode(request)
