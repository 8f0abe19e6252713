"""The settings of the proxy."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

UPSTREAMS = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com"}
"""The providers' own base addresses (their SDKs' defaults, without the `/v1` that begins their
paths).
"""


class ProxySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the proxy listens, where it sends requests, and its limits. All numbers are chosen here
    unless a source is named.
    """

    host: str = "127.0.0.1"
    """Address to listen on. Any address beyond this machine requires a token
    (MEMORIST_PROXY_TOKEN).
    """
    port: int = 8_787
    """Port to listen on; 0 takes a free one."""
    upstreams: dict[str, str] = field(default_factory=lambda: dict(UPSTREAMS))
    """Name and base address of each provider. A client names one in the first part of its path;
    otherwise the one that speaks its format is used.
    """
    hosts: tuple[str, ...] = ()
    """Names accepted in the Host header in addition to this machine's."""
    tenants: str = ""
    """Who the proxy serves: everybody in one home (empty); tenants identified by token, from a TOML
    file with a table `[tenants]` (its path); or tenants that clients name in the header
    `x-memorist-tenant` (`header`).
    """
    unknown_tenant: Literal["refuse", "pass"] = "refuse"
    """What happens to a request of no known tenant."""
    prepare_seconds: float = 120.0
    """Longest time that memorist may spend on one request, including a summary by a model; after
    that the request is sent unchanged.
    """
    connect_seconds: float = 15.0
    """Longest wait for a connection to a provider."""
    silent_seconds: float = 600.0
    """Longest silence of a provider, before or during its reply (the SDKs' default time limit)."""
    body_bytes: int = 67_108_864
    """Largest request body that is read; a larger one is passed on unread. Twice Anthropic's limit.
    """
    sessions: int = 200
    """Conversations kept open at once; the one idle for longest is closed first."""
    idle_minutes: float = 60.0
    """A conversation idle for this long is closed; its next request opens it again."""
    connections: int = 500
    """Simultaneous connections to the providers."""
