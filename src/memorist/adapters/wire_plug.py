"""What the plugs have in common that sit where a client sends its requests: whose conversation a call belongs to, and each call from request to reply."""

from __future__ import annotations

import logging
import os
import uuid
import weakref
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Self, TypedDict, Unpack

from memorist.adapters.attached import Attached, EngineArguments, attach
from memorist.adapters.conversation import Conversation
from memorist.adapters.wire_reply import over, refused_as_too_long, reply_of
from memorist.core.messages import JsonObject
from memorist.engine.fetching import fetch_tool
from memorist.ports import Model
from memorist.session_memory.trigger import Host
from memorist.settings import Settings

_log = logging.getLogger("memorist.adapters")

_CHOSEN: ContextVar[Mapping[object, str | None]] = ContextVar("memorist_conversation", default=MappingProxyType({}))
"""By plug, the conversation that the calls of this thread or task belong to; None for none."""


class PlugOptions(TypedDict, total=False):
    """What every plug takes by keyword.

    project: folder of the project; without it nothing is remembered across sessions.
    home, model, settings: as `Memorist` takes them.
    attached: an engine that several plugs share, instead of those three.
    session: id of the conversation; without it one is made.
    host: what the host says of itself, as for `Memorist.open`.
    """

    project: str | os.PathLike[str]
    home: str | os.PathLike[str] | None
    model: str | Model | None
    settings: Settings | None
    attached: Attached | None
    session: str
    host: Host | None


class Calls:
    """Which call of each conversation is the newest: a reply that comes after the next request is read from that request's history instead."""

    def __init__(self) -> None:
        self._newest: weakref.WeakKeyDictionary[Conversation, int] = weakref.WeakKeyDictionary()

    def begin(self, conversation: Conversation) -> int:
        """The number of a new call."""
        self._newest[conversation] = self._newest.get(conversation, 0) + 1
        return self._newest[conversation]

    def newest(self, conversation: Conversation, number: int) -> bool:
        """Whether no call came after this one."""
        return self._newest.get(conversation) == number


class Exchange:
    """One model call: `request` first, `refused` where the provider said no, `answered` or `heard` at the end. None of them raises."""

    def __init__(self, conversation: Conversation, calls: Calls) -> None:
        self.conversation = conversation
        self._calls = calls
        self._number = 0

    @property
    def _awaited(self) -> bool:
        return self._calls.newest(self.conversation, self._number)

    @property
    def betas(self) -> tuple[str, ...]:
        """Beta names that the request needs; see `Session.betas`."""
        session = self.conversation.session
        return () if session is None else session.betas

    def request(self, body: JsonObject) -> JsonObject:
        """The request to send."""
        self._number = self._calls.begin(self.conversation)
        return self.conversation.prepare(body)

    async def arequest(self, body: JsonObject) -> JsonObject:
        """As `request`."""
        self._number = self._calls.begin(self.conversation)
        return await self.conversation.aprepare(body)

    def refused(self, status: int, data: bytes) -> JsonObject | None:
        """The provider answered with an error: a smaller request where it said that this one is too long, else None."""
        return self.too_long() if refused_as_too_long(status, data) else None

    async def arefused(self, status: int, data: bytes) -> JsonObject | None:
        """As `refused`."""
        return await self.atoo_long() if refused_as_too_long(status, data) else None

    def too_long(self) -> JsonObject | None:
        """The provider said that the request is too long: a smaller one, None when there is none."""
        return self.conversation.recover() if self._awaited else None

    async def atoo_long(self) -> JsonObject | None:
        """As `too_long`."""
        return await self.conversation.arecover() if self._awaited else None

    def answered(self, reply: object) -> None:
        """The provider answered: the SDK's object or its JSON. Without calls of tools in it the turn is over."""
        if not self._awaited:
            return
        self.conversation.observe(reply)
        if over(self.conversation.format, reply):
            self.conversation.end_turn()

    async def aanswered(self, reply: object) -> None:
        """As `answered`."""
        if not self._awaited:
            return
        await self.conversation.aobserve(reply)
        if over(self.conversation.format, reply):
            await self.conversation.aend_turn()

    def heard(self, kind: str, data: bytes) -> None:
        """As `answered`, for a body as it came over the wire; nothing where it holds no whole reply. `kind` is its content type."""
        reply = reply_of(self.conversation.format, kind, data)
        if reply is not None:
            self.answered(reply)

    async def aheard(self, kind: str, data: bytes) -> None:
        """As `heard`."""
        reply = reply_of(self.conversation.format, kind, data)
        if reply is not None:
            await self.aanswered(reply)


class WirePlug:
    """One for a client. Takes `PlugOptions`.

    All calls of the client are one conversation, unless said otherwise: those within `with plug.within("id"):` are of that one, and those within
    `with plug.apart():` (a title, a classification) of none, and pass as they are. Both hold for the thread or task that entered them.
    """

    formats: ClassVar[tuple[str, ...]]
    """The wire formats that the client speaks, the usual one first."""

    def __init__(self, **options: Unpack[PlugOptions]) -> None:
        engine = EngineArguments()
        for name in ("home", "model", "settings"):
            if options.get(name) is not None:
                engine[name] = options[name]
        self.attached = attach(options.get("attached"), engine)
        self._owns = options.get("attached") is None
        project = options.get("project", "")
        self.project = str(Path(project).expanduser().absolute()) if project else ""
        self.session = options.get("session") or str(uuid.uuid4())
        """The id of the conversation that calls belong to when nothing else is said."""
        self._host = options.get("host")
        self._calls = Calls()
        self._mark = object()
        self._told: set[str] = set()

    def conversation(self, id: str = "", format: str = "") -> Conversation:
        """The conversation of this id; without one, that calls belong to now. `format` is its wire format, where the client speaks several.

        For what the host asks for itself: `summarise`, `compact`, `fetch`.
        """
        name = id or _CHOSEN.get().get(self._mark) or self.session
        return self.attached.conversation(name, project=self.project, format=format or self.formats[0], host=self._host)

    def fetch_tool(self, format: str = "") -> JsonObject:
        """The definition of a tool by which the model gets back what was taken out; answer its calls by `conversation().fetch(id)`."""
        return fetch_tool(format or self.formats[0])

    def within(self, id: str) -> AbstractContextManager[None]:
        """The calls within belong to the conversation of this id."""
        return self._within(id)

    def apart(self) -> AbstractContextManager[None]:
        """The calls within belong to no conversation, and pass as they are."""
        return self._within(None)

    @contextmanager
    def _within(self, id: str | None) -> Iterator[None]:
        token = _CHOSEN.set({**_CHOSEN.get(), self._mark: id})
        try:
            yield
        finally:
            _CHOSEN.reset(token)

    def exchange(self, format: str, id: str | None = None) -> Exchange | None:
        """A call that is about to be made; None for one that passes as it is."""
        if id is None and _CHOSEN.get().get(self._mark, self.session) is None:
            return None
        return Exchange(self.conversation(id or "", format), self._calls)

    def kept_elsewhere(self, body: JsonObject, fields: Collection[str]) -> bool:
        """Whether a request leaves its history, or a part of it, with the provider, by one of these fields; it then passes as it is, and that is told
        once.
        """
        field = next((field for field in fields if body.get(field) not in (None, False)), None)
        if field is not None and field not in self._told:
            self._told.add(field)
            _log.warning("requests with `%s` leave their history with the provider: memorist lets them pass as they are", field)
        return field is not None

    def close(self) -> None:
        """Write everything, and let go of the engine where it is the plug's own. May be called twice."""
        if self._owns:
            self.attached.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
