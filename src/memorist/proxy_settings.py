"""The settings of the proxy."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

UPSTREAMS = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com"}
"""The providers' own addresses (their SDKs' defaults, without the `/v1` that their paths begin with)."""


class ProxySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the proxy listens, where it sends to, and its limits. All figures are ours."""

    host: str = "127.0.0.1"
    """Address to listen on. Beyond this machine a token is needed (MEMORIST_PROXY_TOKEN)."""
    port: int = 8_787
    """Port to listen on; 0 takes a free one."""
    upstreams: dict[str, str] = field(default_factory=lambda: dict(UPSTREAMS))
    """Name to base address of each provider. A client names one by the first part of its path, or gets the one that speaks its format."""
    hosts: tuple[str, ...] = ()
    """Names that it answers to in the Host header, beside this machine's."""
    tenants: str = ""
    """Whom the proxy serves: all in one home (empty); tenants by their tokens, from a TOML file with a table `[tenants]` (its path); or tenants that
    clients name in the header `x-memorist-tenant` (`header`).
    """
    unknown_tenant: Literal["refuse", "pass"] = "refuse"
    """What becomes of a request of no tenant that is known."""
    prepare_seconds: float = 120.0
    """Longest time that memorist may take for one request, a summary by a model included; after it the request goes out as it came."""
    connect_seconds: float = 15.0
    """Longest wait for a connection to a provider."""
    silent_seconds: float = 600.0
    """Longest silence of a provider, before its answer or within it (the SDKs' default time limit)."""
    body_bytes: int = 67_108_864
    """Largest request that is read; a larger one is passed on unread. Twice what Anthropic takes."""
    sessions: int = 200
    """Conversations kept open at once; the one that was quiet longest is closed first."""
    idle_minutes: float = 60.0
    """A conversation that was quiet so long is closed; its next request opens it again."""
    connections: int = 500
    """Connections to the providers at once."""
