"""The pipeline of a model call: find its conversation, prepare its request, record its reply."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from memorist.context.turn_rollback import drop_rolled_back_entries
from memorist.core.messages import JsonObject, Message
from memorist.errors import MemoristError, WireFormatError
from memorist.formats.codec_registry import find_codec
from memorist.models.call_failure import CallFailure
from memorist.models.reply_assembly import parse_reply_or_call_failure
from memorist.proxy.body_limit import LARGE_BODY_BYTES
from memorist.proxy.conversation_matching import (
    CallInConversation,
    ConversationMatcher,
    IncomingCall,
    ProxyConversation,
    UnrelatedCall,
    to_stored_conversation,
)
from memorist.proxy.conversation_store import ConversationStore
from memorist.proxy.declared_conversation import read_declared_conversation
from memorist.proxy.header_rules import hash_api_key_of_caller
from memorist.proxy.provider_routing import ProviderRoute
from memorist.proxy.proxy_session_pool import (
    EngineCallFailed,
    PreparedRequest,
    ProxySessionPool,
    TenantSessionOpener,
    log,
    run_engine_call,
)
from memorist.proxy.request_body import RequestBody, encode_changed_request_body
from memorist.proxy.request_body_cache import BodyCache, ParsedBodyWithCacheInfo
from memorist.proxy.upstream_reply import decompress_body
from memorist.settings import ProxySettings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import (
    BESIDE_HOOKS,
    UNNAMED_SESSION_PREFIXES,
    Layout,
    SessionLayout,
    make_folder_name,
)
from memorist.store.transcript_reader import read_transcript

MAX_HOMES = 1_000
"""Homes whose conversations are held in memory; those of the one idle longest are read from disk
again. Our choice.
"""


class PreparedCall(Struct, frozen=True):
    """A prepared model call: the bytes to send, and the outcome for the client."""

    data: bytes
    outcome: str
    call: CallInConversation | None = None
    body: RequestBody | None = None
    prepared: PreparedRequest | None = None


class _HomeConversations:
    """The conversations of one home."""

    def __init__(self, homes: TenantSessionOpener, tenant: str) -> None:
        layout = Layout(homes.home(tenant))
        self.store = ConversationStore(DiskFiles(), layout.known_conversations)
        self.matcher = ConversationMatcher(
            lambda: f"{UNNAMED_SESSION_PREFIXES[0]}{secrets.token_hex(8)}",
            self.store.conversations,
            partial(rebuild_responses_history, layout),
        )

    def save(self, conversation: ProxyConversation) -> None:
        self.store.save(to_stored_conversation(conversation))


def rebuild_responses_history(layout: Layout, id: str) -> list[Any] | None:
    """What was said in a session of the Responses API, in that format and without the turns that
    were taken back; None where nothing is recorded, or in more than one project.
    """
    folders = [
        each
        for name in (make_folder_name(id), make_folder_name(f"{id}{BESIDE_HOOKS}"))
        for each in layout.projects.glob(f"*/{name}")
    ]
    if len(folders) != 1:
        return None
    try:
        entries = read_transcript(SessionLayout(folders[0]).transcript)
        messages = [each for each in drop_rolled_back_entries(entries) if isinstance(each, Message)]
        return list(find_codec("openai_responses").encode_messages(messages)) or None
    except MemoristError as error:
        log.warning("the record of the session %s cannot be read: %s", id, error)
        return None


class CallPipeline:
    """One for each proxy. Construct it inside a running loop."""

    def __init__(self, homes: TenantSessionOpener, settings: ProxySettings) -> None:
        self._homes = homes
        self._by_tenant: OrderedDict[str, _HomeConversations] = OrderedDict()
        self._bodies = BodyCache()
        self._settings = settings
        self._unpacking = asyncio.Lock()
        self.pool = ProxySessionPool(homes, settings)

    @property
    def cached_bytes(self) -> int:
        """Bytes of the request bodies that are cached for the next ones."""
        return self._bodies.size

    def _home(self, tenant: str) -> _HomeConversations:
        found = self._by_tenant.get(tenant)
        if found is None:
            found = self._by_tenant[tenant] = _HomeConversations(self._homes, tenant)
            while len(self._by_tenant) > MAX_HOMES:
                self._by_tenant.popitem(last=False)
        self._by_tenant.move_to_end(tenant)
        return found

    async def prepare_call(
        self, route: ProviderRoute, headers: Mapping[str, str], raw: bytes, tenant: str = ""
    ) -> PreparedCall:
        """Prepare a model call of a tenant with this body; `end_call` belongs to its end.

        Never raises: an error becomes the outcome.
        """
        found: CallInConversation | UnrelatedCall | None = None
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
        except asyncio.CancelledError:
            if isinstance(found, CallInConversation):
                found.conversation.open_calls -= 1
            raise
        except EngineCallFailed as error:
            log.warning("a request is passed on as it came: %s", error)
            return PreparedCall(
                raw,
                f"passed: {error}",
                found if isinstance(found, CallInConversation) else None,
                body,
            )
        if new is None:
            return PreparedCall(raw, "unchanged", found, body, prepared)
        return PreparedCall(new, "changed", found, body, prepared)

    async def _identify(
        self, route: ProviderRoute, headers: Mapping[str, str], raw: bytes, tenant: str
    ) -> tuple[CallInConversation | UnrelatedCall, RequestBody]:
        """Find the conversation of a request, and parse its body; a large one is parsed in a
        thread, so that other requests go on. Raises EngineCallFailed.
        """
        salt = run_engine_call(lambda: self._home(tenant).store.salt)

        plain = await self._unpack(raw, headers.get("content-encoding", ""))
        is_large = len(plain) > LARGE_BODY_BYTES

        def read() -> tuple[ParsedBodyWithCacheInfo, IncomingCall]:
            reading = self._bodies.parse_with_cache(route.format, plain, tenant)
            who = read_declared_conversation(headers, reading.body)
            call = IncomingCall(
                format=route.format,
                identity=who,
                caller=hash_api_key_of_caller(headers, salt),
                body=reading.body,
                shape=reading.shape,
            )
            if is_large and who.certainty not in ("named", "likely"):
                call.history.read_newest()
            return reading, call

        if is_large:
            reading, call = await asyncio.to_thread(run_engine_call, read)
        else:
            reading, call = run_engine_call(read)
        return run_engine_call(lambda: self._match(reading, call, tenant)), reading.body

    async def _unpack(self, raw: bytes, encoding: str) -> bytes:
        """Remove the content encoding of a request: in a thread and one after the other, since a
        few kilobytes may unpack to all that a body may have. Raises EngineCallFailed.
        """
        if encoding.strip().lower() in ("", "identity"):
            return raw
        async with self._unpacking:
            return await asyncio.to_thread(
                run_engine_call, partial(decompress_body, raw, encoding, self._settings.body_bytes)
            )

    def _match(
        self, reading: ParsedBodyWithCacheInfo, call: IncomingCall, tenant: str
    ) -> CallInConversation | UnrelatedCall:
        """Find the conversation of a request that was read, and keep the reading for the next."""
        found = self._home(tenant).matcher.find_or_start_conversation(call)
        self._bodies.store(reading)
        if isinstance(found, CallInConversation):
            found.conversation.tenant = tenant
            found.conversation.open_calls += 1
        return found

    def end_call(self, prepared_call: PreparedCall) -> None:
        """Note that a call has its reply, or that its client waits for none."""
        if prepared_call.call is not None:
            prepared_call.call.conversation.open_calls -= 1

    async def shrink_refused_request(self, prepared_call: PreparedCall) -> bytes | None:
        """The bytes of a smaller request, once, after the provider rejected one as too long; else
        None.
        """
        call, body, prepared = prepared_call.call, prepared_call.body, prepared_call.prepared
        if call is None or body is None or prepared is None:
            return None
        try:
            request = await self.pool.shrink_refused_request(call.conversation, prepared)
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
            reply = parse_reply_or_call_failure(conversation.format, content_type, data)
            if isinstance(reply, CallFailure):
                return None
            try:
                find_codec(conversation.format).decode_reply(reply)
            except WireFormatError:
                log.warning("a reply has an unknown format; it was passed on unchanged")
                return None
            return reply

        try:
            if (
                call.known_history is not None or conversation.format == "openai_responses"
            ):  # the next request is matched by this reply, so it is decoded at once
                reply = run_engine_call(read)
                if reply is not None:
                    home = self._home(conversation.tenant)
                    run_engine_call(
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


async def _encode(call: CallInConversation, body: RequestBody, request: JsonObject) -> bytes | None:
    """As `encode_request`, a large body in a thread. Raises EngineCallFailed."""
    work = partial(encode_request, call, body, request)
    if len(body.raw) > LARGE_BODY_BYTES:
        return await asyncio.to_thread(run_engine_call, work)
    return run_engine_call(work)


def encode_request(
    call: CallInConversation, body: RequestBody, request: Mapping[str, object]
) -> bytes | None:
    """The bytes of the request to send; None if it equals the client's."""
    if call.has_full_history:
        return encode_changed_request_body(body, dict(request))
    return None if request == call.request else msgspec.json.encode(request)
