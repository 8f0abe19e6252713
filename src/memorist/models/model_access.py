"""How the server of a model is reached: its address, the key for it, and headers of the user's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from memorist.errors import ModelNameError
from memorist.models.model_settings import ModelSettings

PLACEHOLDER_KEY = "none"
"""Sent as the key to a server that needs none; the SDK requires one."""


class ModelAccess(Struct, frozen=True, kw_only=True):
    """A key, an address and the headers of every request. `base_url` None means the provider's own
    server. Key and headers are never shown, not even in `repr`.
    """

    key: str
    base_url: str | None = None
    is_bearer_token: bool = False
    """Anthropic only: the key is a token for `Authorization: Bearer`."""
    headers: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"ModelAccess(key=<hidden>, base_url={self.base_url!r}, bearer={self.is_bearer_token})"
        )


def resolve_model_access(
    provider: Literal["ANTHROPIC", "OPENAI"],
    base_url: str | None,
    settings: ModelSettings,
    environment: Mapping[str, str],
) -> ModelAccess:
    """Find key and address; `provider` begins the names of its environment variables.

    A provider's key goes to the provider, or to the address that the environment sets for it; any
    other server gets `MEMORIST_API_KEY` or the variable named in the settings, and no key at all
    without one. Raises ModelNameError for a key that is missing.
    """
    bearer = False
    if settings.key_variable is not None:
        key = environment.get(settings.key_variable, "")
        wanted = f"{settings.key_variable}, which the settings name"
    elif base_url is not None:
        key, wanted = environment.get("MEMORIST_API_KEY") or PLACEHOLDER_KEY, ""
    else:
        key = environment.get(f"{provider}_API_KEY", "")
        wanted = f"{provider}_API_KEY, or use the model structural, which needs none"
        if not key and provider == "ANTHROPIC":
            key = environment.get("ANTHROPIC_AUTH_TOKEN", "")
            bearer = bool(key)
    if not key:
        raise ModelNameError(f"The key for this model is missing; set {wanted}.")
    return ModelAccess(
        key=key,
        base_url=base_url or environment.get(f"{provider}_BASE_URL"),
        is_bearer_token=bearer,
        headers=settings.headers,
    )
