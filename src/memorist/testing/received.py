"""A request as the scripted server got it."""

from __future__ import annotations

from msgspec import Struct

from memorist.core.messages import JsonObject


class Received(Struct, frozen=True, kw_only=True):
    """One request. Headers have lower-case names; those that hold keys are left out."""

    number: int = 0
    """Counted from 1, over all paths."""
    method: str
    path: str
    """With its query."""
    headers: dict[str, str]
    raw: bytes
    """The body's bytes, unpacked."""
    body: JsonObject
    """The body as JSON; empty when it is no JSON object."""
    format: str | None = None
    """The wire format, for requests to a model."""
