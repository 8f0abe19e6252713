"""The MCP server over streamable HTTP, for clients that cannot start a program.

It listens on this machine only, unless configured otherwise and given a token (SF-6). It checks the
Host and Origin headers, so that no page in a browser reaches it through a name of its own.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Collection
from pathlib import Path

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from msgspec import Struct
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from memorist.errors import UsageError
from memorist.mcp_server.stdio_server import McpServer
from memorist.platforms.loopback_peers import is_connection_of_other_user
from memorist.safety.server_access import LOOPBACK_NAMES, is_host_allowed, is_same_token
from memorist.uvicorn_server import BoundedUvicornConfig

AUTH_VARIABLE = "MEMORIST_MCP_TOKEN"

OTHER_USER_REFUSAL = (
    "The server answers the user that it runs as; with a token in MEMORIST_MCP_TOKEN it answers "
    "whoever shows that."
)
MIN_TOKEN_CHARS = 16
"""Characters of the shortest token: 80 bits where it is drawn from letters and digits."""


class McpAccessPolicy(Struct, frozen=True, kw_only=True):
    """Which requests the server accepts."""

    hosts: frozenset[str] = LOOPBACK_NAMES
    """Host names that the server answers to, in lower case and without port."""
    token: str = ""
    """Token that a client must send; empty where none is needed."""

    def find_refusal(self, headers: Headers) -> tuple[int, str] | None:
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

    Raises UsageError for an address or a name beyond this machine without a token, and for a token
    that is too short.
    """
    if token and len(token) < MIN_TOKEN_CHARS:
        raise UsageError(
            f"the token in {AUTH_VARIABLE} is too short; take {MIN_TOKEN_CHARS} characters or "
            f"more, drawn at random"
        )
    hosts = LOOPBACK_NAMES | {name.lower() for name in allowed_hosts}
    beyond = sorted({host, *hosts} - LOOPBACK_NAMES)
    if beyond and not token:
        raise UsageError(
            f"{', '.join(beyond)} can be reached from elsewhere, and anybody could read and "
            f"write; put a token into {AUTH_VARIABLE} first"
        )
    return McpAccessPolicy(hosts=hosts, token=token)


MCP_PATH = "/mcp"
MAX_BODY_BYTES = 1_000_000
"""Bytes of the largest request: fifty times the longest memory that an agent may write."""


def is_no_disconnect_record(record: logging.LogRecord) -> bool:
    """Whether a log entry of the MCP SDK is about something else than a client that hung up: the
    SDK writes a traceback for each, so that a flood of them would fill the log.
    """
    return not (record.exc_info and isinstance(record.exc_info[1], ClientDisconnect))


logging.getLogger("mcp.server.streamable_http").addFilter(is_no_disconnect_record)


class GuardedApp:
    """Passes on the requests that the access policy accepts."""

    def __init__(self, inner: ASGIApp, policy: McpAccessPolicy) -> None:
        self._inner = inner
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        refused = (
            self._policy.find_refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        )
        if refused is None and not self._policy.token and _is_of_other_user(scope):
            refused = 401, OTHER_USER_REFUSAL
        if refused is not None:
            challenge = {"www-authenticate": "Bearer"} if refused[0] == 401 else None
            await PlainTextResponse(refused[1], refused[0], challenge)(scope, receive, send)
            return
        await self._inner(scope, receive, send)


def _is_of_other_user(scope: Scope) -> bool:
    return scope["type"] == "http" and is_connection_of_other_user(
        scope.get("client"), scope.get("server")
    )


def build_asgi_app(server: McpServer, policy: McpAccessPolicy) -> ASGIApp:
    """Build the server as an ASGI application."""
    ours = TransportSecuritySettings(
        enable_dns_rebinding_protection=False
    )  # `GuardedApp` checks every request, IPv6 names and tokens too
    app = server.build_server().streamable_http_app(
        streamable_http_path=MCP_PATH,
        max_request_body_size=MAX_BODY_BYTES,
        transport_security=ours,
        json_response=False,
    )
    return GuardedApp(app, policy)


def serve_http(
    folder: Path | None, working_folder: Path, listener: socket.socket, policy: McpAccessPolicy
) -> None:
    """Serve until the process receives SIGINT or SIGTERM."""
    server = McpServer(folder, working_folder)
    config = BoundedUvicornConfig(build_asgi_app(server, policy), lifespan="on")
    try:
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        server.close()
