"""Tell the proxy's conversations apart: by what their clients declare, else by their histories.

No I/O.

A client that declares nothing sends its whole history with each request. A request whose history
begins with all of a known one, including the model's reply, continues that conversation. One that
shares only a beginning, a retry of an opening that was answered, and a request with another key
start conversations of their own: starting anew is better than mixing two.

Known conversations can be saved (`to_stored_conversation`) and restored by the next process.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct

from memorist.core.messages import JsonObject, Message
from memorist.engine.host_history import fingerprint, sound
from memorist.formats.registry import codec
from memorist.proxy.bodies import Body
from memorist.proxy.identify import Shape, Who, shape_of
from memorist.proxy.known import Known

MOST_LANES = 10_000
"""Conversations that are remembered; the one idle longest is forgotten.

Our choice; one takes about a kilobyte.
"""
MOST_RESPONSES = 1_000
"""Replies of the Responses API whose history is remembered for `previous_response_id`.

Our choice.
"""


class Link(Struct, frozen=True):
    """A position in a history: the chained hash of all entries up to it, and whether they include a
    model reply.
    """

    mark: bytes
    model: bool = False


class Lane(Struct, eq=False, kw_only=True):
    """One conversation."""

    id: str
    """The id of the engine's session."""
    format: str
    main: bool = True
    tenant: str = ""
    project: str | None = None
    """The project's folder once it is known; empty for none."""
    name: str = ""
    """The client's name for it; empty if it is identified by its history."""
    told: str | None = None
    """The project that its client declared; None if it did not."""
    folder: str = ""
    """The project found by an earlier process; used if its requests no longer name one."""
    scope: bytes = b""
    """The scope in which its history is looked up; empty if its client names it."""
    shape: Shape = ("", "")
    """Instructions and tools of the newest request."""
    asked: Link | None = None
    """The end of the newest request's history."""
    ends: tuple[bytes, bytes] = (b"", b"")
    """The keys it is found by: the end of the newest request's history, and that of its reply once
    it has arrived.
    """
    response: str = ""
    """The newest reply's id, if the provider keeps the history."""


class Call(Struct, frozen=True, kw_only=True):
    """A model call that belongs to a conversation."""

    lane: Lane
    request: JsonObject
    """The request with its whole history, as the engine takes it."""
    caller: str = ""
    whole: bool = True
    """The client sent the whole history; otherwise the provider holds a part of it."""


class Aside(Struct, frozen=True):
    """A model call that is not part of a conversation, and why."""

    why: str


class Asked(Struct, frozen=True, kw_only=True):
    """A model call as it arrived."""

    format: str
    who: Who
    caller: str
    """A hash of its API key; see `hash_caller`."""
    body: Body
    before: Sequence[Link] = ()
    """The links of the entries that the body shares with an earlier one."""
    shape: Shape | None = None
    """The shape of the body if it was computed already."""


class Lanes:
    """All conversations of one home.

    `new_id` returns a new session id; `known` are the conversations of an earlier process, the one
    idle longest first.
    """

    def __init__(self, fresh: Callable[[], str], known: Iterable[Known] = ()) -> None:
        self._fresh = fresh
        self._named: OrderedDict[tuple[str, str, str], Lane] = OrderedDict()
        self._ends: OrderedDict[bytes, Lane] = OrderedDict()
        self._responses: OrderedDict[tuple[str, str], tuple[Lane, list[Any]]] = OrderedDict()
        for each in known:
            self._take_up(each)

    def _take_up(self, each: Known) -> None:
        lane = Lane(
            id=each.id, format=each.format, main=each.main, project=each.told, name=each.name, told=each.told, folder=each.folder,
            shape=each.shape, ends=(each.asked, each.answered),
        )  # fmt: skip
        if each.name:
            self._named[each.name, each.format, each.told or ""] = lane
        for end in filter(None, lane.ends):
            self._remember(lane, end)

    def call(self, asked: Asked) -> Call | Aside:
        """Match a model call to its conversation, or start a new one."""
        values = asked.body.values
        if asked.who.aside:
            return Aside(asked.who.aside)
        if asked.format == "openai_responses" and values.get("conversation"):
            return Aside("its history is with the provider")
        previous = values.get("previous_response_id") if asked.format == "openai_responses" else None
        if previous:
            return self._going_on(asked, str(previous))
        lane = self._lane(asked)
        return lane if isinstance(lane, Aside) else Call(lane=lane, request=values, caller=asked.caller)

    def _lane(self, asked: Asked) -> Lane | Aside:
        certainty = asked.who.certainty
        if certainty in ("named", "likely"):
            lane = self._by_name(asked)
            if certainty == "named":
                return lane
            shape = asked.shape or shape_of(asked.format, asked.body)
            if lane.shape == ("", "") or lane.shape[0] == shape[0] or lane.shape[1] == shape[1]:
                lane.shape = shape
                return lane
        return self._by_history(asked)

    def _by_name(self, asked: Asked) -> Lane:
        name, told = asked.who.name, asked.who.project
        key = (name, asked.format, told or "")
        lane = self._named.get(key)
        if lane is None:
            taken = any((name, other, told or "") in self._named for other in ("anthropic", "openai_responses", "openai_chat"))
            id = f"{name} ({asked.format})" if taken else name
            lane = self._named[key] = Lane(id=id, format=asked.format, main=asked.who.main, project=told, name=name, told=told)
        self._named.move_to_end(key)
        while len(self._named) > MOST_LANES:
            self._named.popitem(last=False)
        return lane

    def _by_history(self, asked: Asked) -> Lane | Aside:
        who = asked.who
        scope = _scope(asked.caller, asked.format, who.name, who.project or "")
        links, shape = links_of(asked.format, asked.body.items, asked.before), asked.shape or shape_of(asked.format, asked.body)
        lane = self._going_on_with(scope, links)
        if lane is not None and lane.shape[0] != shape[0] and lane.shape[1] != shape[1]:
            if not asked.body.values.get("tools"):
                return Aside("another kind of request about a conversation")
            lane = None
        if lane is None:
            id = f"{who.name[:60]}-{self._fresh()}" if who.name else self._fresh()
            main = who.main and who.certainty != "likely"
            lane = Lane(id=id, format=asked.format, main=main, project=who.project, told=who.project)
        lane.scope, lane.shape = scope, shape
        self._ended(lane, links[-1] if links else Link(b""))
        return lane

    def _going_on_with(self, scope: bytes, links: Sequence[Link]) -> Lane | None:
        for link in reversed(links):
            end = _end(scope, link)
            lane = self._ends.get(end)
            if lane is None:
                continue
            answered = lane.ends[1]
            if (
                not answered or answered == end or link.model
            ):  # a retry of an unanswered request, or a reply that the client rewrote
                return lane
        return None

    def _ended(self, lane: Lane, asked: Link) -> None:
        for end in lane.ends:
            if self._ends.get(end) is lane:
                del self._ends[end]
        lane.asked, lane.ends = asked, (_end(lane.scope, asked), b"")
        self._remember(lane, lane.ends[0])

    def _remember(self, lane: Lane, end: bytes) -> None:
        self._ends[end] = lane
        self._ends.move_to_end(end)
        while len(self._ends) > 2 * MOST_LANES:
            self._ends.popitem(last=False)

    def _going_on(self, asked: Asked, previous: str) -> Call | Aside:
        """Match a request that names the reply it continues instead of sending the history
        again.
        """
        known = self._responses.get((asked.caller, previous))
        if known is None:
            return Aside("its history is with the provider")
        lane, history = known
        if lane.response != previous:  # the conversation continued from that reply already: this is a branch
            lane = Lane(id=self._fresh(), format=lane.format, main=lane.main, project=lane.project, told=lane.told, response=previous)
        given = asked.body.values.get("input")
        new = [{"role": "user", "content": given}] if isinstance(given, str) else list(given or ())
        request = {name: value for name, value in asked.body.values.items() if name != "previous_response_id"} | {"input": [*history, *new]}
        return Call(lane=lane, request=request, caller=asked.caller, whole=False)

    def replied(self, call: Call, reply: JsonObject, messages: Iterable[Message]) -> None:
        """Record the complete reply of a call.

        Must be called before the client can continue from it.
        """
        lane = call.lane
        if lane.scope and lane.asked is not None:
            lane.ends = (lane.ends[0], _end(lane.scope, _linked(lane.asked, messages)))
            self._remember(lane, lane.ends[1])
        if (
            lane.format == "openai_responses"
            and reply.get("id")
            and reply.get("store") is not False
            and call.request.get("store") is not False
        ):
            given = call.request.get("input")
            history = [{"role": "user", "content": given}] if isinstance(given, str) else list(given or ())
            lane.response = str(reply["id"])
            self._responses[call.caller, lane.response] = (lane, [*history, *(reply.get("output") or ())])
            while len(self._responses) > MOST_RESPONSES:
                self._responses.popitem(last=False)


def known_of(lane: Lane) -> Known | None:
    """What the next process needs to know of a conversation; None if it could not be found
    again.
    """
    if not lane.name and not lane.ends[0]:
        return None
    return Known(
        id=lane.id, format=lane.format, main=lane.main, name=lane.name, told=lane.told, folder=lane.project or lane.folder,
        shape=lane.shape, asked=lane.ends[0], answered=lane.ends[1],
    )  # fmt: skip


def _scope(*parts: str) -> bytes:
    """A hash of the scope in which a history is looked up; it reveals none of the parts."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()


def _end(scope: bytes, link: Link) -> bytes:
    return hashlib.blake2b(link.mark, key=scope, digest_size=16).digest()


def links_of(format: str, items: Sequence[Any], before: Sequence[Link] = ()) -> list[Link]:
    """A link for each entry of a history; those of its beginning may be known.

    Raises FormatError.
    """
    links, reading = list(before[: len(items)]), codec(format)
    last = links[-1] if links else Link(b"")
    for index in range(len(links), len(items)):
        last = _linked(last, reading.decode_item(sound(items[index]), id=str(index)))
        links.append(last)
    return links


def _linked(link: Link, messages: Iterable[Message]) -> Link:
    for message in messages:
        mark = hashlib.blake2b(link.mark + fingerprint(message).encode(), digest_size=16).digest()
        link = Link(mark, link.model or message.role == "assistant")
    return link
