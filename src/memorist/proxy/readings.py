"""Request bodies that were read lately, so that of the next one only what is new is read. No I/O."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from msgspec import Struct

from memorist.formats.registry import codec
from memorist.proxy.bodies import Body, read
from memorist.proxy.identify import Shape, about, shape_of
from memorist.proxy.lanes import Link

MOST_KEPT = 67_108_864
"""Bytes of earlier bodies that are kept. Ours."""
LIKE = 1_024
"""Bytes with which a body begins that goes on from an earlier one. Ours."""


_NAMES = ("x-memorist-session", "x-claude-code-session-id", "x-claude-code-agent-id", "session-id", "session_id", "thread-id")
"""Headers that tell conversations apart which begin alike. A hint and no more: what it gets wrong is read whole."""

Key = tuple[str, str, bytes, tuple[str, ...]]


class Kept(Struct, frozen=True):
    """A body that was read, for the next one."""

    body: Body
    links: list[Link]
    shape: Shape


class Reading(Struct, frozen=True):
    """A body that was read now."""

    body: Body
    links: list[Link]
    """Those of the entries that it shares with an earlier one."""
    shape: Shape
    key: Key


class Readings:
    """Bodies that were read lately, by how they begin."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, Kept] = OrderedDict()
        self._size = 0

    def read(self, format: str, raw: bytes, headers: Mapping[str, str], tenant: str = "") -> Reading:
        """Read a body. Raises FormatError."""
        key = (tenant, format, raw[:LIKE], tuple(headers.get(name, "") for name in _NAMES))
        kept = self._kept.get(key)
        body = read(raw, codec(format).history_key(), kept.body if kept else None)
        if kept is None:
            return Reading(body, [], shape_of(format, body), key)
        same = all(one is other for one, other in zip(about(format, body), about(format, kept.body), strict=True))
        return Reading(body, kept.links[: body.shared], kept.shape if same else shape_of(format, body), key)

    def keep(self, reading: Reading, links: list[Link]) -> None:
        """For the next request."""
        body, old = reading.body, self._kept.pop(reading.key, None)
        self._size += len(body.raw) - (len(old.body.raw) if old else 0)
        self._kept[reading.key] = Kept(body, links, reading.shape)
        while self._size > MOST_KEPT and len(self._kept) > 1:
            self._size -= len(self._kept.popitem(last=False)[1].body.raw)
