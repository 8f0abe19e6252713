"""Credentials and address of the server of a model."""

from __future__ import annotations

from msgspec import Struct


class ModelAccess(Struct, frozen=True, kw_only=True):
    """A key and an address. `base_url` None means the provider's own server. The key is never
    shown, not even in `repr`.
    """

    key: str
    base_url: str | None = None
    bearer: bool = False
    """Anthropic only: the key is a token for `Authorization: Bearer`."""

    def __repr__(self) -> str:
        return f"Access(key=<hidden>, base_url={self.base_url!r}, bearer={self.bearer})"
