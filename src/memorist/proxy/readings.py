"""A cache of parsed request bodies, so that only the new part of the next one is parsed. No I/O."""

from __future__ import annotations

from collections import OrderedDict

from msgspec import Struct

from memorist.formats.registry import codec
from memorist.proxy.bodies import Body, begun, read
from memorist.proxy.identify import Shape, about, shape_of
from memorist.proxy.lanes import Link

MOST_KEPT = 67_108_864
"""Bytes of cached bodies. Our choice."""
LIKE = 1_024
"""Leading bytes that a body shares with the earlier one it extends. Our choice."""


MOST_ALIKE = 256
"""Cached bodies with the same beginning; inspecting one takes two microseconds. Our choice."""

Key = tuple[str, str, bytes]


class Kept(Struct, frozen=True, eq=False):
    """A parsed body, cached for the next one."""

    key: Key
    body: Body
    links: list[Link]
    shape: Shape


class Reading(Struct, frozen=True):
    """A body that was just parsed."""

    body: Body
    links: list[Link]
    """Links of the entries that it shares with an earlier body."""
    shape: Shape
    key: Key
    before: Kept | None
    """The earlier body; it may belong to another conversation."""


class Readings:
    """Parsed bodies by their first bytes.

    Bodies of several conversations may begin alike, as those of one application do.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[Kept, None] = OrderedDict()
        self._alike: dict[Key, list[Kept]] = {}
        self._size = 0

    def read(self, format: str, raw: bytes, tenant: str = "") -> Reading:
        """Parse a body. Raises FormatError."""
        key = (tenant, format, raw[:LIKE])
        kept = max(self._alike.get(key, ()), key=lambda each: begun(raw, each.body), default=None)
        body = read(raw, codec(format).history_key(), kept.body if kept else None)
        if kept is None:
            return Reading(body, [], shape_of(format, body), key, None)
        same = all(one is other for one, other in zip(about(format, body), about(format, kept.body), strict=True))
        return Reading(body, kept.links[: body.shared], kept.shape if same else shape_of(format, body), key, kept)

    def keep(self, reading: Reading, links: list[Link]) -> None:
        """Cache a body for the next request.

        It replaces the body that it extends, unless the two share little more than an opening.
        """
        if reading.before is not None and 2 * reading.body.shared > len(reading.before.body.spans):
            self._drop(reading.before)
        kept = Kept(reading.key, reading.body, links, reading.shape)
        self._kept[kept] = None
        self._size += len(kept.body.raw)
        alike = self._alike.setdefault(kept.key, [])
        alike.append(kept)
        if len(alike) > MOST_ALIKE:
            self._drop(alike[0])
        while self._size > MOST_KEPT and len(self._kept) > 1:
            self._drop(next(iter(self._kept)))

    def _drop(self, kept: Kept) -> None:
        if kept not in self._kept:
            return  # another request replaced it meanwhile
        del self._kept[kept]
        self._size -= len(kept.body.raw)
        self._alike[kept.key].remove(kept)
        if not self._alike[kept.key]:
            del self._alike[kept.key]
