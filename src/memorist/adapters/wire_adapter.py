"""What adapters at a client's HTTP requests share: which conversation a call belongs to, unnamed
ones told apart by their histories, and each call from request to reply.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import threading
import uuid
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Self, TypedDict, Unpack
from weakref import WeakValueDictionary

from msgspec import Struct

from memorist.adapters.engine_thread import (
    EngineArguments,
    EngineThread,
    attach_or_open_engine_thread,
)
from memorist.adapters.host_conversation import HostConversation
from memorist.adapters.run_identity import (
    RunValue,
    UserAndProject,
    UserAndProjectResolver,
    find_user_id,
)
from memorist.adapters.wire_reply import assemble_reply_json, ends_turn
from memorist.core.messages import JsonObject
from memorist.engine.fetch_tool import build_fetch_tool_definition
from memorist.engine.history_matching import (
    NOT_READABLE,
    KnownHistory,
    UnnamedConversationFinder,
    hash_conversation_scope,
    hash_messages,
    read_request_history,
)
from memorist.engine.host_history import is_instructions, to_plain_json
from memorist.formats.codec_registry import find_codec
from memorist.models.call_failure import is_too_long_response
from memorist.ports import HostInfo, Model
from memorist.settings import Settings
from memorist.store.home_layout import UNNAMED_SESSION_PREFIXES

# The unnamed conversations of one client, told apart by their histories.

MAX_DEFAULT_CONVERSATIONS = 1_000
"""Unnamed conversations that can be gone on with; the one idle longest is forgotten. Our choice."""


class DefaultCall(Struct, frozen=True, eq=False, weakref=True):
    """A request of an unnamed conversation."""

    id: str
    """The conversation's."""
    scope: bytes
    known: KnownHistory


class DefaultConversations:
    """The unnamed conversations of one client. May be used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._histories: UnnamedConversationFinder[str] = UnnamedConversationFinder(
            MAX_DEFAULT_CONVERSATIONS
        )
        self._waiting: WeakValueDictionary[str, DefaultCall] = WeakValueDictionary()
        """By conversation, its newest call while somebody waits for the reply."""
        self.newest_id = _make_id()
        """Id of the one that was used last; of the first one before that."""

    def find_or_start(self, format: str, body: JsonObject, scope: str) -> DefaultCall:
        """Match a request to its conversation, or begin one. `scope` is what it shares with no
        other: user, project and wire format.
        """
        given = body.get("input" if format == "openai_responses" else "messages")
        history = read_request_history(
            format, given, hash_conversation_scope(scope), _hash_instructions(body, given)
        )
        with self._lock:
            match = self._histories.find(history, self._waiting.__contains__)
            if match is not None:
                id, known = match.key, match.continue_history()
            else:
                id = _make_id() if len(self._histories) else self.newest_id
                known = history.begin()
            self._histories.remember(id, known)
            self.newest_id = id
            call = self._waiting[id] = DefaultCall(id, history.scope, known)
        return call

    def add_reply(self, call: DefaultCall, format: str, reply: object) -> None:
        """Note the reply to the newest request of a conversation, or None for a broken one."""
        with self._lock:
            if self._waiting.get(call.id) is call:
                del self._waiting[call.id]
        with contextlib.suppress(*NOT_READABLE):
            messages = find_codec(format).decode_reply(to_plain_json(reply)).messages
            known = call.known.with_reply(hash_messages(call.scope, messages))
            with self._lock:
                self._histories.remember(call.id, known)


def _make_id() -> str:
    return f"{UNNAMED_SESSION_PREFIXES[1]}{uuid.uuid4().hex}"


def _hash_instructions(body: JsonObject, given: object) -> str:
    items = given if isinstance(given, list | tuple) else ()
    said = [body.get("system"), body.get("instructions"), *filter(is_instructions, items)]
    return hashlib.blake2b(repr(said).encode("utf-8", "replace"), digest_size=8).hexdigest()


_log = logging.getLogger("memorist.adapters")

_CURRENT_CONVERSATION: ContextVar[Mapping[object, str | None]] = ContextVar(
    "memorist_conversation", default=MappingProxyType({})
)
"""By adapter, the conversation that calls of this thread or task belong to; None for no
conversation.
"""


class AdapterOptions(TypedDict, total=False):
    """Options that every wire adapter takes by keyword.

    project: folder of the project, or a function of the request's body; without it nothing is
        remembered across sessions.
    user: whose memory it is, or a function of the request's body; users share nothing.
    home, model, settings: as for `Memorist`.
    attached: an engine shared by several adapters, instead of those three.
    session: id of the conversation of all calls; without it conversations are told apart by their
        histories.
    host: what the host says of itself, as for `Memorist.open`.
    """

    project: RunValue[JsonObject] | os.PathLike[str]
    user: RunValue[JsonObject] | None
    home: str | os.PathLike[str] | None
    model: str | Model | None
    settings: Settings | None
    attached: EngineThread | None
    session: str
    host: HostInfo | None


class NewestCallTracker:
    """The newest call of each conversation: a reply that comes after the next request is read from
    that request's history instead.
    """

    def __init__(self) -> None:
        self._newest: weakref.WeakKeyDictionary[HostConversation, int] = weakref.WeakKeyDictionary()

    def begin_call(self, conversation: HostConversation) -> int:
        """Number a new call."""
        self._newest[conversation] = self._newest.get(conversation, 0) + 1
        return self._newest[conversation]

    def is_newest(self, conversation: HostConversation, number: int) -> bool:
        """Whether no call came after this one."""
        return self._newest.get(conversation) == number


class WireCall:
    """One model call: `prepare` first, `shrink_if_error_says_too_long` after an error, `observe` or
    `observe_body` at the end.

    None of the methods raises.
    """

    def __init__(
        self,
        conversation: HostConversation,
        sequence: NewestCallTracker,
        note_reply: Callable[[object], None] = lambda _: None,
    ) -> None:
        self.conversation = conversation
        self._sequence = sequence
        self._note_reply = note_reply
        self._number = 0

    @property
    def _is_newest(self) -> bool:
        return self._sequence.is_newest(self.conversation, self._number)

    @property
    def betas(self) -> tuple[str, ...]:
        """Beta names that the request needs; see `Session.betas`."""
        session = self.conversation.session
        return () if session is None else session.betas

    def prepare(self, body: JsonObject) -> JsonObject:
        """Return the request to send."""
        self._number = self._sequence.begin_call(self.conversation)
        return self.conversation.prepare(body)

    async def aprepare(self, body: JsonObject) -> JsonObject:
        """As `prepare`."""
        self._number = self._sequence.begin_call(self.conversation)
        return await self.conversation.aprepare(body)

    def shrink_if_error_says_too_long(self, status: int, data: bytes) -> JsonObject | None:
        """Return a smaller request if the provider's error says that this one is too long, else
        None.
        """
        return self.shrink_refused_request() if is_too_long_response(status, data) else None

    async def ashrink_if_error_says_too_long(self, status: int, data: bytes) -> JsonObject | None:
        """As `shrink_if_error_says_too_long`."""
        return await self.ashrink_refused_request() if is_too_long_response(status, data) else None

    def shrink_refused_request(self) -> JsonObject | None:
        """Return a smaller request after the provider refused this one as too long; None when there
        is none.
        """
        return self.conversation.shrink_refused_request() if self._is_newest else None

    async def ashrink_refused_request(self) -> JsonObject | None:
        """As `shrink_refused_request`."""
        return await self.conversation.ashrink_refused_request() if self._is_newest else None

    def observe(self, reply: object) -> None:
        """Take the reply: the SDK's object or its JSON.

        Without tool calls in it the turn is over.
        """
        if not self._is_newest:
            return
        self._note_reply(reply)
        self.conversation.observe(reply)
        if ends_turn(self.conversation.format, reply):
            self.conversation.end_turn()

    async def aobserve(self, reply: object) -> None:
        """As `observe`."""
        if not self._is_newest:
            return
        self._note_reply(reply)
        await self.conversation.aobserve(reply)
        if ends_turn(self.conversation.format, reply):
            await self.conversation.aend_turn()

    def observe_body(self, content_type: str, data: bytes) -> None:
        """As `observe`, for a body as it came over the wire; ignored unless it holds a whole
        reply.
        """
        reply = assemble_reply_json(self.conversation.format, content_type, data)
        if reply is None:
            self._note_reply(None)
        else:
            self.observe(reply)

    async def aobserve_body(self, content_type: str, data: bytes) -> None:
        """As `observe_body`."""
        reply = assemble_reply_json(self.conversation.format, content_type, data)
        if reply is None:
            self._note_reply(None)
        else:
            await self.aobserve(reply)


class WireAdapter:
    """The adapter of one client. Takes `AdapterOptions`.

    Calls in `with adapter.within("id"):` belong to that conversation, and those in `with
    adapter.bypass():` (a title, a classification) belong to none and pass unchanged. Both hold for
    the thread or task that entered them. All others belong to the conversation `session`; where
    none was given, to the one that their history goes on with.
    """

    formats: ClassVar[tuple[str, ...]]
    """The wire formats that the client speaks, the usual one first."""

    def __init__(self, **options: Unpack[AdapterOptions]) -> None:
        engine = EngineArguments()
        for name in ("home", "model", "settings"):
            if options.get(name) is not None:
                engine[name] = options[name]
        self.attached = attach_or_open_engine_thread(options.get("attached"), engine)
        self._owns = options.get("attached") is None
        project = options.get("project", "")
        given = project if callable(project) else os.fspath(project)
        self._identity = UserAndProjectResolver(options.get("user"), given, self.find_user)
        self.project = (
            str(Path(given).expanduser().absolute()) if isinstance(given, str) and given else ""
        )
        """Root folder of the project; empty for none, and where each request has its own."""
        self._session = options.get("session") or ""
        self._unnamed = DefaultConversations()
        self._host = options.get("host")
        self._sequence = NewestCallTracker()
        self._context_key = object()
        self._warned_fields: set[str] = set()

    @staticmethod
    def find_user(body: JsonObject) -> str:
        """The user that a request names to the provider; empty if none."""
        named = find_user_id(body.get("metadata"))
        return named or str(body.get("safety_identifier") or body.get("user") or "")

    @property
    def session(self) -> str:
        """Id of the conversation of all calls; without one that of this thread's or task's newest
        unnamed call, else of the client's.
        """
        return (
            self._session
            or _CURRENT_CONVERSATION.get().get(self._unnamed)
            or self._unnamed.newest_id
        )

    def conversation(
        self, id: str = "", format: str = "", *, user: str = "", project: str = ""
    ) -> HostConversation:
        """Return the conversation of this id; without one, the current conversation. `format` is
        its wire format, where the client speaks several.

        For what the host itself requests: `update_notes`, `compact`, `fetch`. `user` and `project`
        are needed where they come from the request.
        """
        return self._open_conversation(id, format, self._identity.resolve_named(user, project))

    def _open_conversation(self, id: str, format: str, owner: UserAndProject) -> HostConversation:
        name = id or _CURRENT_CONVERSATION.get().get(self._context_key) or self.session
        return self.attached.conversation(
            name,
            user=owner.user,
            project=owner.project,
            format=format or self.formats[0],
            host=self._host,
        )

    def fetch_tool(self, format: str = "") -> JsonObject:
        """The definition of a tool by which the model fetches back what was removed; answer its
        calls with `conversation().fetch(id)`.
        """
        return build_fetch_tool_definition(format or self.formats[0])

    def within(self, id: str) -> AbstractContextManager[None]:
        """Make the calls in this block belong to the conversation of this id."""
        return self._conversation_scope(id)

    def bypass(self) -> AbstractContextManager[None]:
        """Make the calls in this block belong to no conversation; they pass unchanged."""
        return self._conversation_scope(None)

    @contextmanager
    def _conversation_scope(self, id: str | None) -> Iterator[None]:
        token = _CURRENT_CONVERSATION.set({**_CURRENT_CONVERSATION.get(), self._context_key: id})
        try:
            yield
        finally:
            _CURRENT_CONVERSATION.reset(token)

    def begin_call(self, format: str, body: JsonObject, id: str | None = None) -> WireCall | None:
        """Begin the call of a request; None for one that passes unchanged."""
        current = _CURRENT_CONVERSATION.get()
        if id is None and current.get(self._context_key, "") is None:
            return None
        owner = self._identity.resolve(body)
        name = id or current.get(self._context_key) or self._session
        if name:
            return WireCall(self._open_conversation(name, format, owner), self._sequence)
        call = self._unnamed.find_or_start(format, body, repr((owner, format)))
        _CURRENT_CONVERSATION.set({**current, self._unnamed: call.id})
        return WireCall(
            self._open_conversation(call.id, format, owner),
            self._sequence,
            partial(self._unnamed.add_reply, call, format),
        )

    def has_provider_history(self, body: JsonObject, fields: Collection[str]) -> bool:
        """Whether one of these fields leaves a request's history, or part of it, with the provider.

        The request then passes unchanged; a warning is logged once for each field.
        """
        field = next((field for field in fields if body.get(field) not in (None, False)), None)
        if field is not None and field not in self._warned_fields:
            self._warned_fields.add(field)
            _log.warning(
                "requests with `%s` leave their history with the provider: memorist lets them "
                "pass as they are",
                field,
            )
        return field is not None

    def close(self) -> None:
        """Write everything, and close the engine if it is the adapter's own.

        May be called twice.
        """
        if self._owns:
            self.attached.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
