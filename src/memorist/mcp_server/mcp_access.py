"""Which requests the MCP server over HTTP accepts: by host name, origin and token (SF-6). Pure."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct
from starlette.datastructures import Headers

from memorist.errors import UsageError
from memorist.safety.server_access import LOOPBACK_NAMES, is_host_allowed, is_same_token

AUTH_VARIABLE = "MEMORIST_MCP_TOKEN"

MIN_TOKEN_CHARS = 16
"""Characters of the shortest token: 80 bits where it is drawn from letters and digits."""


class McpAccessPolicy(Struct, frozen=True, kw_only=True):
    """Which requests the server accepts."""

    hosts: frozenset[str] = LOOPBACK_NAMES
    """Host names that the server answers to, in lower case and without port."""
    token: str = ""
    """Token that a client must send; empty where none is needed."""

    def check_request(self, headers: Headers) -> tuple[int, str] | None:
        """Return status and reason for a request that is refused; None for one that is accepted."""
        if not is_host_allowed(headers.getlist("host"), self.hosts):
            return 421, "The server does not answer to this name; see --allow-host."
        origins = headers.getlist("origin")
        if any(
            not is_host_allowed((origin.partition("://")[2],), self.hosts) for origin in origins
        ):
            return 403, "Pages of other origins are not let in."
        kind, _, shown = headers.get("authorization", "").partition(" ")
        if self.token and not (
            kind.lower() == "bearer" and is_same_token(shown.strip(), self.token)
        ):
            return 401, "A token is needed, and this one is not known."
        return None


def build_access_policy(host: str, allowed_hosts: Collection[str], token: str) -> McpAccessPolicy:
    """Build the access policy of a server at this address.

    Raises UsageError for an address beyond this machine without a token, and for a token that is
    too short.
    """
    if token and len(token) < MIN_TOKEN_CHARS:
        raise UsageError(
            f"the token in {AUTH_VARIABLE} is too short; take {MIN_TOKEN_CHARS} characters or "
            f"more, drawn at random"
        )
    if host not in LOOPBACK_NAMES and not token:
        raise UsageError(
            f"{host} can be reached from elsewhere, and anybody could read and write; put a "
            f"token into {AUTH_VARIABLE} first"
        )
    return McpAccessPolicy(
        hosts=LOOPBACK_NAMES | {name.lower() for name in allowed_hosts}, token=token
    )
