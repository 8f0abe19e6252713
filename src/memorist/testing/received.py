"""A request as the scripted server received it."""

from __future__ import annotations

from msgspec import Struct

from memorist.core.messages import JsonObject


class Received(Struct, frozen=True, kw_only=True):
    """One request. Header names are in lower case; headers that hold keys are left out."""

    number: int = 0
    """Counted from 1, over all paths."""
    method: str
    path: str
    """With its query."""
    headers: dict[str, str]
    raw: bytes
    """The body's bytes, decompressed."""
    body: JsonObject
    """The body as JSON; empty when it is not a JSON object."""
    format: str | None = None
    """The wire format, for requests to a model."""
