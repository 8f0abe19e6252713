"""What becomes of a model call: whose conversation it is, what memorist makes of it, and what is taken in of the answer."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from memorist.core.messages import JsonObject
from memorist.engine import Memorist
from memorist.errors import FormatError
from memorist.formats.registry import codec
from memorist.models.faults import Fault
from memorist.proxy.bodies import Body
from memorist.proxy.conversations.run import Conversations, Failed, Prepared
from memorist.proxy.headers import caller_of
from memorist.proxy.identify import identify
from memorist.proxy.lanes import Aside, Asked, Call, Lanes, links_of
from memorist.proxy.readings import Readings
from memorist.proxy.replies import reply_of, unpacked
from memorist.proxy.rewrite import rewritten
from memorist.proxy.route import Route
from memorist.proxy_settings import ProxySettings

log = logging.getLogger("memorist.proxy")


class Taken(Struct, frozen=True):
    """What became of a model call: the bytes to send, and a word for the client."""

    data: bytes
    word: str
    call: Call | None = None
    body: Body | None = None
    prepared: Prepared | None = None


class Taking:
    """One for a proxy; made inside a running loop."""

    def __init__(self, engine: Memorist, settings: ProxySettings) -> None:
        self._lanes = Lanes(lambda: f"proxy-{secrets.token_hex(8)}")
        self._salt = secrets.token_bytes(16)
        self._readings = Readings()
        self.conversations = Conversations(engine, settings)

    async def take(self, way: Route, headers: Mapping[str, str], raw: bytes) -> Taken:
        """What to send for a model call with this body. Never raises: what goes wrong is in the word."""
        try:
            plain = unpacked(raw, headers.get("content-encoding", ""))
            body, before, key = self._readings.read(way.format, plain)
            who = identify(headers, body)
            asked = Asked(format=way.format, who=who, caller=caller_of(headers, self._salt), body=body, before=before)
            found = self._lanes.call(asked)
            named = who.certainty in ("named", "likely")
            self._readings.keep(key, body, [] if named or isinstance(found, Aside) else links_of(way.format, body.items, before))
        except FormatError as error:
            return Taken(raw, f"passed: {error}")
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
            # A client of a format that is not known as well as we think: its request is passed on, and said.
            log.warning("a request could not be understood (%s); it is passed on as it came", type(error).__name__)
            return Taken(raw, "passed: it could not be understood")
        if isinstance(found, Aside):
            return Taken(raw, f"passed: {found.why}")
        try:
            prepared = await self.conversations.prepare(found.lane, found.request)
        except Failed as error:
            return Taken(raw, f"passed: {error}", found, body)
        new = written(found, body, prepared.request)
        if new is None:
            return Taken(raw, "unchanged", found, body, prepared)
        return Taken(new, "changed", found, body, prepared)

    async def smaller(self, taken: Taken) -> bytes | None:
        """The bytes of a smaller request, once, after the provider refused one as too long."""
        if taken.call is None or taken.body is None or taken.prepared is None:
            return None
        try:
            request = await self.conversations.recover(taken.call.lane, taken.prepared)
        except Failed:
            return None
        return None if request is None else written(taken.call, taken.body, request)

    def replied(self, taken: Taken, content_type: str, data: bytes) -> None:
        """The whole answer to a model call has come. To be told before the client sees its end, and thus may go on from it."""
        if taken.call is None:
            return
        lane, call = taken.call.lane, taken.call
        reply: JsonObject | None = None
        by_history = bool(lane.scope) or lane.format == "openai_responses"
        if by_history:
            reply = _reply(lane.format, content_type, data)
            if reply is not None:
                self._lanes.replied(call, reply, codec(lane.format).decode_reply(reply).messages)
        if taken.prepared is not None:
            read = (lambda: reply) if by_history else lambda: _reply(lane.format, content_type, data)
            self.conversations.observe(lane, taken.prepared, read)


def _reply(format: str, content_type: str, data: bytes) -> JsonObject | None:
    """The reply in the bytes of an answer; None for one that is not whole, or not understood."""
    reply = reply_of(format, content_type, data)
    if isinstance(reply, Fault):
        return None
    try:
        codec(format).decode_reply(reply)
    except FormatError:
        log.warning("an answer could not be understood; it was passed on as it came")
        return None
    return reply


def written(call: Call, body: Body, sent: Mapping[str, object]) -> bytes | None:
    """The bytes of the request to send; None where it says what the client's says."""
    if call.whole:
        return rewritten(body, dict(sent))
    return None if sent == call.request else msgspec.json.encode(sent)
