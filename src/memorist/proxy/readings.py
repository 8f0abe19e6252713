"""Request bodies that were read lately, so that of the next one only what is new is read. No I/O."""

from __future__ import annotations

from collections import OrderedDict

from msgspec import Struct

from memorist.formats.registry import codec
from memorist.proxy.bodies import Body, read
from memorist.proxy.lanes import Link

MOST_KEPT = 67_108_864
"""Bytes of earlier bodies that are kept. Ours."""
LIKE = 1_024
"""Bytes with which a body begins that goes on from an earlier one. Ours."""


class Kept(Struct, frozen=True):
    """A body that was read, for the next one."""

    body: Body
    links: list[Link]


class Readings:
    """Bodies that were read lately, by how they begin."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, bytes], Kept] = OrderedDict()
        self._size = 0

    def read(self, format: str, raw: bytes) -> tuple[Body, list[Link], tuple[str, bytes]]:
        """The body, and the links of the entries that it shares with an earlier one. Raises FormatError."""
        key = (format, raw[:LIKE])
        kept = self._kept.get(key)
        body = read(raw, codec(format).history_key(), kept.body if kept else None)
        return body, kept.links[: body.shared] if kept else [], key

    def keep(self, key: tuple[str, bytes], body: Body, links: list[Link]) -> None:
        """For the next request."""
        old = self._kept.pop(key, None)
        self._size += len(body.raw) - (len(old.body.raw) if old else 0)
        self._kept[key] = Kept(body, links)
        while self._size > MOST_KEPT and len(self._kept) > 1:
            self._size -= len(self._kept.popitem(last=False)[1].body.raw)
