"""The pipeline of a model call: find its conversation, prepare its request, record its reply."""

from __future__ import annotations

import logging
import secrets
from collections import OrderedDict
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from memorist.core.messages import JsonObject
from memorist.errors import FormatError
from memorist.formats.registry import codec
from memorist.models.faults import Fault
from memorist.proxy.bodies import Body
from memorist.proxy.conversations.run import Conversations, Failed, Prepared, guarded
from memorist.proxy.headers import caller_of
from memorist.proxy.homes.run import Homes
from memorist.proxy.identify import identify
from memorist.proxy.lanes import Aside, Asked, Call, Lane, Lanes, known_of, links_of
from memorist.proxy.readings import Readings
from memorist.proxy.remembered.run import Remembered
from memorist.proxy.replies import reply_of, unpacked
from memorist.proxy.rewrite import rewritten
from memorist.proxy.route import Route
from memorist.proxy_settings import ProxySettings
from memorist.store.files import DiskFiles
from memorist.store.layout import Layout

MOST_HOMES = 1_000
"""Homes whose conversations are held in memory; those of the one idle longest are read from disk
again. Our choice.
"""

log = logging.getLogger("memorist.proxy")


class Taken(Struct, frozen=True):
    """A prepared model call: the bytes to send, and the outcome for the client."""

    data: bytes
    word: str
    call: Call | None = None
    body: Body | None = None
    prepared: Prepared | None = None


class _Home:
    """The conversations of one home."""

    def __init__(self, homes: Homes, tenant: str) -> None:
        self.remembered = Remembered(DiskFiles(), Layout(homes.home(tenant)).conversations)
        self.lanes = Lanes(lambda: f"proxy-{secrets.token_hex(8)}", self.remembered.known)

    def keep(self, lane: Lane) -> None:
        self.remembered.keep(known_of(lane))


class Taking:
    """One for each proxy. Construct it inside a running loop."""

    def __init__(self, homes: Homes, settings: ProxySettings) -> None:
        self._homes = homes
        self._at: OrderedDict[str, _Home] = OrderedDict()
        self._readings = Readings()
        self.conversations = Conversations(homes, settings)

    def _home(self, tenant: str) -> _Home:
        found = self._at.get(tenant)
        if found is None:
            found = self._at[tenant] = _Home(self._homes, tenant)
            while len(self._at) > MOST_HOMES:
                self._at.popitem(last=False)
        self._at.move_to_end(tenant)
        return found

    async def take(self, way: Route, headers: Mapping[str, str], raw: bytes, tenant: str = "") -> Taken:
        """Prepare a model call of a tenant with this body.

        Never raises: an error becomes the outcome.
        """
        found: Call | Aside | None = None
        body: Body | None = None
        try:
            found, body = guarded(lambda: self._found(way, headers, raw, tenant))
            if isinstance(found, Aside):
                return Taken(raw, f"passed: {found.why}")
            call, given = found, body
            try:
                prepared = await self.conversations.prepare(call.lane, call.request)
            finally:
                self._home(tenant).keep(call.lane)  # also after an error: its project is known now
            new = guarded(lambda: written(call, given, prepared.request))
        except Failed as error:
            log.warning("a request is passed on as it came: %s", error)
            return Taken(raw, f"passed: {error}", found if isinstance(found, Call) else None, body)
        return Taken(raw, "unchanged", found, body, prepared) if new is None else Taken(new, "changed", found, body, prepared)

    def _found(self, way: Route, headers: Mapping[str, str], raw: bytes, tenant: str) -> tuple[Call | Aside, Body]:
        """Find the conversation of a request, and parse its body.

        Raises FormatError, and what opening a home raises.
        """
        home = self._home(tenant)
        plain = unpacked(raw, headers.get("content-encoding", ""))
        reading = self._readings.read(way.format, plain, tenant)
        body, before = reading.body, reading.links
        who = identify(headers, body)
        caller = caller_of(headers, home.remembered.salt)
        found = home.lanes.call(Asked(format=way.format, who=who, caller=caller, body=body, before=before, shape=reading.shape))
        named = who.certainty in ("named", "likely")
        self._readings.keep(reading, [] if named or isinstance(found, Aside) else links_of(way.format, body.items, before))
        if isinstance(found, Call):
            found.lane.tenant = tenant
        return found, body

    async def smaller(self, taken: Taken) -> bytes | None:
        """The bytes of a smaller request, once, after the provider rejected one as too long; else
        None.
        """
        call, body, prepared = taken.call, taken.body, taken.prepared
        if call is None or body is None or prepared is None:
            return None
        try:
            request = await self.conversations.recover(call.lane, prepared)
            return None if request is None else guarded(lambda: written(call, body, request))
        except Failed:
            return None

    def replied(self, taken: Taken, content_type: str, data: bytes) -> None:
        """Record the complete reply of a model call.

        Must be called before the client sees the end of the reply, because the client may continue
        from it at once.
        """
        if taken.call is None:
            return
        lane, call = taken.call.lane, taken.call

        def read() -> JsonObject | None:
            reply = reply_of(lane.format, content_type, data)
            if isinstance(reply, Fault):
                return None
            try:
                codec(lane.format).decode_reply(reply)
            except FormatError:
                log.warning("a reply has an unknown format; it was passed on unchanged")
                return None
            return reply

        try:
            if lane.scope or lane.format == "openai_responses":  # the next request is matched by this reply, so it is decoded at once
                reply = guarded(read)
                if reply is not None:
                    home = self._home(lane.tenant)
                    guarded(lambda: home.lanes.replied(call, reply, codec(lane.format).decode_reply(reply).messages))
                    home.keep(lane)
                if taken.prepared is not None:
                    self.conversations.observe(lane, taken.prepared, lambda: reply)
            elif taken.prepared is not None:
                self.conversations.observe(lane, taken.prepared, read)
        except Failed as error:
            log.warning("an answer is not taken in: %s", error)


def written(call: Call, body: Body, sent: Mapping[str, object]) -> bytes | None:
    """The bytes of the request to send; None if it equals the client's."""
    if call.whole:
        return rewritten(body, dict(sent))
    return None if sent == call.request else msgspec.json.encode(sent)
