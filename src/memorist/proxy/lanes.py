"""Conversations as they pass through the proxy, told apart: by what their clients say, else by their histories. No I/O.

A client that says nothing sends its whole history again with each request. A request whose history begins with all of a known one, the model's reply to it
included, goes on with that conversation. One that only shares a beginning with it, a retry of an opening that was answered, and a request of another key
are conversations of their own: it is better to begin anew than to mix two.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct

from memorist.core.messages import JsonObject, Message
from memorist.formats.registry import codec
from memorist.host_history import fingerprint, sound
from memorist.proxy.bodies import Body
from memorist.proxy.identify import Who, about, shape_of

MOST_LANES = 10_000
"""Conversations that are remembered; the one that was quiet longest is forgotten. Ours; one takes about a kilobyte."""
MOST_RESPONSES = 1_000
"""Replies of the Responses API whose history is remembered for `previous_response_id`. Ours."""


class Link(Struct, frozen=True):
    """A place in a history: a hash of all up to it, and whether the model has spoken in that."""

    mark: bytes
    model: bool = False


class Lane(Struct, eq=False, kw_only=True):
    """One conversation."""

    id: str
    """The session that the engine knows it by."""
    format: str
    main: bool = True
    project: str | None = None
    """The project's folder, once it is known; empty for none."""
    scope: tuple[str, ...] = ()
    """Where its history is looked for; empty for one that its client names."""
    shape: tuple[int, int] = (0, 0)
    about: tuple[object, object] = (None, None)
    """Instructions and tools of the newest request, for a client whose name for the conversation is only likely."""
    asked: Link | None = None
    """The end of the newest request's history."""
    answered: Link | None = None
    """The end of the reply to it, once it has come."""
    response: str = ""
    """The newest reply's id, where the provider keeps the history."""


class Call(Struct, frozen=True, kw_only=True):
    """A model call that belongs to a conversation."""

    lane: Lane
    request: JsonObject
    """The request with its whole history, as the engine takes it."""
    whole: bool = True
    """The client sent the whole history; else a part of it is with the provider."""


class Aside(Struct, frozen=True):
    """A model call that is no part of a conversation, and why."""

    why: str


class Asked(Struct, frozen=True, kw_only=True):
    """A model call as it came."""

    format: str
    who: Who
    caller: str
    """Who holds its key; see `headers.caller_of`."""
    body: Body
    before: Sequence[Link] = ()
    """The links of the entries that the body shares with an earlier one."""


class Lanes:
    """All conversations of one proxy. `fresh` gives a new id."""

    def __init__(self, fresh: Callable[[], str]) -> None:
        self._fresh = fresh
        self._named: OrderedDict[tuple[str, str], Lane] = OrderedDict()
        self._ends: OrderedDict[tuple[tuple[str, ...], bytes], Lane] = OrderedDict()
        self._responses: OrderedDict[str, tuple[Lane, list[Any]]] = OrderedDict()

    def call(self, asked: Asked) -> Call | Aside:
        """The conversation that a request is of, a new one where it goes on with none that is known."""
        values = asked.body.values
        if asked.who.aside:
            return Aside(asked.who.aside)
        if asked.format == "openai_responses" and values.get("conversation"):
            return Aside("its history is with the provider")
        previous = values.get("previous_response_id") if asked.format == "openai_responses" else None
        if previous:
            return self._going_on(asked, str(previous))
        lane = self._lane(asked)
        return lane if isinstance(lane, Aside) else Call(lane=lane, request=values)

    def _lane(self, asked: Asked) -> Lane | Aside:
        who = asked.who
        if who.certainty in ("named", "likely"):
            lane = self._by_name(asked)
            seen = about(asked.format, asked.body)
            if who.certainty == "named" or all(one is other for one, other in zip(seen, lane.about, strict=True)):
                return lane
            shape = shape_of(asked.format, asked.body)
            if lane.shape == (0, 0) or lane.shape[0] == shape[0] or lane.shape[1] == shape[1]:
                lane.shape, lane.about = shape, seen
                return lane
        return self._by_history(asked)

    def _by_name(self, asked: Asked) -> Lane:
        key = (asked.who.name, asked.format)
        lane = self._named.get(key)
        if lane is None:
            taken = any((asked.who.name, other) in self._named for other in ("anthropic", "openai_responses", "openai_chat"))
            id = f"{asked.who.name} ({asked.format})" if taken else asked.who.name
            lane = self._named[key] = Lane(id=id, format=asked.format, main=asked.who.main, project=asked.who.project)
        self._named.move_to_end(key)
        while len(self._named) > MOST_LANES:
            self._named.popitem(last=False)
        return lane

    def _by_history(self, asked: Asked) -> Lane | Aside:
        scope = (asked.caller, asked.format, asked.who.name, asked.who.project or "")
        links, shape = links_of(asked.format, asked.body.items, asked.before), shape_of(asked.format, asked.body)
        lane = self._known(scope, links)
        if lane is not None and lane.shape[0] != shape[0] and lane.shape[1] != shape[1]:
            if not asked.body.values.get("tools"):
                return Aside("another kind of request about a conversation")
            lane = None
        if lane is None:
            id = f"{asked.who.name[:60]}-{self._fresh()}" if asked.who.name else self._fresh()
            main = asked.who.main and asked.who.certainty != "likely"
            lane = Lane(id=id, format=asked.format, main=main, project=asked.who.project, scope=scope)
        lane.shape = shape
        self._ended(lane, links[-1] if links else Link(b""))
        return lane

    def _known(self, scope: tuple[str, ...], links: Sequence[Link]) -> Lane | None:
        for place in range(len(links) - 1, -1, -1):
            lane = self._ends.get((scope, links[place].mark))
            if lane is None:
                continue
            end = lane.answered
            if end is not None and end.mark == links[place].mark:
                return lane
            if end is None or links[place].model:  # a retry of what was never answered, or a reply that the client put otherwise
                return lane
        return None

    def _ended(self, lane: Lane, asked: Link) -> None:
        for end in (lane.asked, lane.answered):
            if end is not None and self._ends.get((lane.scope, end.mark)) is lane:
                del self._ends[lane.scope, end.mark]
        lane.asked, lane.answered = asked, None
        self._remember(lane, asked)

    def _remember(self, lane: Lane, end: Link) -> None:
        key = (lane.scope, end.mark)
        self._ends[key] = lane
        self._ends.move_to_end(key)
        while len(self._ends) > 2 * MOST_LANES:
            self._ends.popitem(last=False)

    def _going_on(self, asked: Asked, previous: str) -> Call | Aside:
        """A request that names the reply it goes on from instead of sending the history again."""
        known = self._responses.get(previous)
        if known is None:
            return Aside("its history is with the provider")
        lane, history = known
        if lane.response != previous:  # it went on from there already, another way
            lane = Lane(id=self._fresh(), format=lane.format, main=lane.main, project=lane.project, response=previous)
        given = asked.body.values.get("input")
        new = [{"role": "user", "content": given}] if isinstance(given, str) else list(given or ())
        request = {name: value for name, value in asked.body.values.items() if name != "previous_response_id"} | {"input": [*history, *new]}
        return Call(lane=lane, request=request, whole=False)

    def replied(self, call: Call, reply: JsonObject, messages: Iterable[Message]) -> None:
        """The whole reply to a call has come; to be told before the client can go on from it."""
        lane = call.lane
        if lane.scope and lane.asked is not None:
            lane.answered = _linked(lane.asked, messages)
            self._remember(lane, lane.answered)
        if (
            lane.format == "openai_responses"
            and reply.get("id")
            and reply.get("store") is not False
            and call.request.get("store") is not False
        ):
            given = call.request.get("input")
            history = [{"role": "user", "content": given}] if isinstance(given, str) else list(given or ())
            lane.response = str(reply["id"])
            self._responses[lane.response] = (lane, [*history, *(reply.get("output") or ())])
            while len(self._responses) > MOST_RESPONSES:
                self._responses.popitem(last=False)


def links_of(format: str, items: Sequence[Any], before: Sequence[Link] = ()) -> list[Link]:
    """A link for each entry of a history; those of its beginning may be known. Raises FormatError."""
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
