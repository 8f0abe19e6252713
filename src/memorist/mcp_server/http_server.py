"""The MCP server over streamable HTTP, for clients that cannot start a program.

It listens on this machine only, unless configured otherwise and given a token (SF-6). It checks the
Host and Origin headers, so that no page in a browser reaches it through a name of its own.
"""

from __future__ import annotations

import logging
import socket
from pathlib import Path

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from memorist.mcp_server.mcp_access import McpAccessPolicy
from memorist.mcp_server.stdio_server import McpServer
from memorist.uvicorn_server import BoundedConfig

MCP_PATH = "/mcp"
MAX_BODY_BYTES = 1_000_000
"""Bytes of the largest request: fifty times the longest memory that an agent may write."""


def is_not_a_disconnect(record: logging.LogRecord) -> bool:
    """Whether a log entry of the MCP SDK is about something else than a client that hung up: the
    SDK writes a traceback for each, so that a flood of them would fill the log.
    """
    return not (record.exc_info and isinstance(record.exc_info[1], ClientDisconnect))


logging.getLogger("mcp.server.streamable_http").addFilter(is_not_a_disconnect)


class GuardedApp:
    """Passes on the requests that the access policy accepts."""

    def __init__(self, inner: ASGIApp, policy: McpAccessPolicy) -> None:
        self._inner = inner
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        refused = (
            self._policy.check_request(Headers(scope=scope)) if scope["type"] == "http" else None
        )
        if refused is not None:
            challenge = {"www-authenticate": "Bearer"} if refused[0] == 401 else None
            await PlainTextResponse(refused[1], refused[0], challenge)(scope, receive, send)
            return
        await self._inner(scope, receive, send)


def build_app(server: McpServer, policy: McpAccessPolicy) -> ASGIApp:
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
    config = BoundedConfig(build_app(server, policy), lifespan="on")
    try:
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        server.close()
