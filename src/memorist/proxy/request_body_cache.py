"""A cache of parsed request bodies, so that only the new part of the next one is parsed. No I/O."""

from __future__ import annotations

from collections import OrderedDict

from msgspec import Struct

from memorist.formats.codec_registry import find_codec
from memorist.proxy.declared_conversation import (
    RequestShape,
    get_instructions_and_tools,
    hash_instructions_and_tools,
)
from memorist.proxy.request_body import RequestBody, count_shared_entries, parse_request_body

MAX_CACHED_BYTES = 67_108_864
"""Bytes of cached bodies. Our choice."""
PREFIX_BYTES = 1_024
"""Leading bytes that a body shares with the earlier one it extends. Our choice."""


MAX_BODIES_PER_PREFIX = 256
"""Cached bodies with the same beginning; inspecting one takes two microseconds. Our choice."""

BodyCacheKey = tuple[str, str, bytes]


class CachedRequestBody(Struct, frozen=True, eq=False):
    """A parsed body, cached for the next one."""

    key: BodyCacheKey
    body: RequestBody
    shape: RequestShape


class ParsedBodyWithCacheInfo(Struct, frozen=True):
    """A body that was just parsed."""

    body: RequestBody
    shape: RequestShape
    key: BodyCacheKey
    earlier: CachedRequestBody | None
    """The earlier body; it may belong to another conversation."""


class BodyCache:
    """Parsed bodies by their first bytes.

    Bodies of several conversations may begin alike, as those of one application do.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[CachedRequestBody, None] = OrderedDict()
        self._alike: dict[BodyCacheKey, list[CachedRequestBody]] = {}
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes of the cached bodies as they were received; at most `MAX_CACHED_BYTES`, unless one
        body alone is larger.
        """
        return self._size

    def parse_with_cache(
        self, format: str, raw: bytes, tenant: str = ""
    ) -> ParsedBodyWithCacheInfo:
        """Parse a body. Raises WireFormatError."""
        key = (tenant, format, raw[:PREFIX_BYTES])
        kept = max(
            self._alike.get(key, ()),
            key=lambda each: count_shared_entries(raw, each.body),
            default=None,
        )
        body = parse_request_body(
            raw, find_codec(format).history_key(), kept.body if kept else None
        )
        if kept is None:
            return ParsedBodyWithCacheInfo(
                body, hash_instructions_and_tools(format, body), key, None
            )
        same = all(
            one is other
            for one, other in zip(
                get_instructions_and_tools(format, body),
                get_instructions_and_tools(format, kept.body),
                strict=True,
            )
        )
        return ParsedBodyWithCacheInfo(
            body, kept.shape if same else hash_instructions_and_tools(format, body), key, kept
        )

    def store(self, reading: ParsedBodyWithCacheInfo) -> None:
        """Cache a body for the next request.

        It replaces the body that it extends, unless the two share little more than an opening.
        """
        if reading.earlier is not None and 2 * reading.body.shared_entries > len(
            reading.earlier.body.entry_spans
        ):
            self._drop(reading.earlier)
        kept = CachedRequestBody(reading.key, reading.body, reading.shape)
        self._kept[kept] = None
        self._size += len(kept.body.raw)
        alike = self._alike.setdefault(kept.key, [])
        alike.append(kept)
        if len(alike) > MAX_BODIES_PER_PREFIX:
            self._drop(alike[0])
        while self._size > MAX_CACHED_BYTES and len(self._kept) > 1:
            self._drop(next(iter(self._kept)))

    def _drop(self, kept: CachedRequestBody) -> None:
        if kept not in self._kept:
            return  # another request replaced it meanwhile
        del self._kept[kept]
        self._size -= len(kept.body.raw)
        self._alike[kept.key].remove(kept)
        if not self._alike[kept.key]:
            del self._alike[kept.key]
