"""The team server: a few requests over one store, to be run behind a reverse proxy that does TLS.

Needs the extra `team`.

It listens on this machine alone unless configured otherwise with a token; it checks the Host
header, so that no web page reaches it under a name of its own (SF-6). Input is not trusted: names,
checksums, sizes and secrets are checked here as well as by the clients.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Collection
from typing import TypeVar

import msgspec
import uvicorn
from msgspec import Struct
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from memorist.auto_memory.memory_file import parse_memory_file
from memorist.auto_memory.team_memory import find_kind_sharing_problem
from memorist.core.json_decoding import decode_json
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.errors import StoreError, UsageError
from memorist.platforms.loopback_peers import is_connection_of_other_user
from memorist.safety.secrets import find_secrets
from memorist.safety.server_access import LOOPBACK_NAMES, is_host_allowed
from memorist.system import open_listening_socket
from memorist.team.shared_memory_form import compute_text_checksum
from memorist.team.shared_names import find_shared_name_problem
from memorist.team.team_protocol import (
    MAX_REQUEST_BYTES,
    SPACE_PATTERN,
    TeamChangeHistory,
    TeamChangesAppliedReceipt,
    TeamChangesRequest,
    TeamRefusal,
    TeamTextChange,
    TeamTexts,
    TeamTextsRequest,
    build_entity_tag,
    is_checksum_or_empty,
)
from memorist.team.team_remote import MAX_KEYS, MAX_REVISIONS
from memorist.team.team_store import TeamMemoryWrite, TeamStore, TeamStoreFull, TeamTokenHolder
from memorist.uvicorn_server import MAX_CONNECTIONS, BoundedUvicornConfig

MAX_BODY_ARRIVAL_SECONDS = 30.0
"""Time limit for a request's body to arrive."""
MAX_READ_RESPONSE_BYTES = 1_000_000
"""Bytes of texts in one response; a client asks for 200,000."""
FORWARDED_HEADERS = (
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
)
"""Headers that reveal a request forwarded by a proxy, possibly from anywhere."""
LOCAL_TOKEN = TeamTokenHolder("this machine", "", writes=True)

DecodedBody = TypeVar("DecodedBody")


class TeamServerLimits(Struct, frozen=True, kw_only=True):
    """Limits of one server."""

    hosts: frozenset[str] = LOOPBACK_NAMES
    """Accepted names in the Host header, without port."""
    entry_bytes: int = 250_000


class _RequestRefused(Exception):
    def __init__(self, status: int, refusal: TeamRefusal) -> None:
        super().__init__(refusal.error)
        self.status = status
        self.refusal = refusal


def _build_refusal(
    status: int, error: str, detail: str, keys: dict[str, str] | None = None, limit: int = 0
) -> _RequestRefused:
    return _RequestRefused(
        status, TeamRefusal(error=error, detail=detail, keys=keys or {}, limit=limit)
    )


def _refuse_too_many(names: int) -> None:
    """Each name is a query while others wait for the store, and no team has more."""
    if names > MAX_KEYS:
        raise _build_refusal(
            413, "too_many", f"A request names at most {MAX_KEYS:,} memories.", limit=MAX_KEYS
        )


class TeamApplication:
    """The request handlers over one store."""

    def __init__(self, store: TeamStore, limits: TeamServerLimits | None = None) -> None:
        self._store = store
        self._limits = limits or TeamServerLimits()
        below = "/v1/team/{space}"
        routes = [
            Route("/healthz", self._get_health),
            Route(below, self._route_team, methods=["GET", "PUT"]),
            Route(f"{below}/read", self._post_read, methods=["POST"]),
            Route(f"{below}/log", self._get_log, methods=["GET"]),
        ]
        self.asgi: ASGIApp = AllowedHostsMiddleware(
            Starlette(
                routes=routes,
                exception_handlers={
                    _RequestRefused: _refusal_response,
                    StoreError: _error_response,
                },
            ),
            self._limits.hosts,
        )

    async def _get_health(self, _: Request) -> Response:
        return Response(b'{"ok":true}', media_type="application/json")

    async def _route_team(self, request: Request) -> Response:
        return await (
            self._get_view(request)
            if request.method in ("GET", "HEAD")
            else self._put_changes(request)
        )

    async def _authorize(self, request: Request, *, writing: bool) -> tuple[str, TeamTokenHolder]:
        space = request.path_params["space"]
        if not SPACE_PATTERN.match(space):
            raise _build_refusal(400, "space", "The name of the team is none.")
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        token = await run_in_threadpool(
            self._find_token, given.strip() if kind.lower() == "bearer" else ""
        )
        if token is None or (token is LOCAL_TOKEN and await _comes_from_elsewhere(request)):
            raise _build_refusal(401, "token", "A token is needed, and this one is not known.")
        if token.space not in ("", space) or (writing and not token.writes):
            raise _build_refusal(403, "token", "The token does not allow this.")
        return space, token

    def _find_token(self, given: str) -> TeamTokenHolder | None:
        if given:
            return self._store.find_token(given)
        return None if self._store.is_token_needed() else LOCAL_TOKEN

    async def _get_view(self, request: Request) -> Response:
        space, _ = await self._authorize(request, writing=False)
        mark = await run_in_threadpool(self._store.find_team_id_and_version, space)
        if mark is not None and request.headers.get("if-none-match") == build_entity_tag(*mark):
            return Response(status_code=304, headers={"etag": build_entity_tag(*mark)})
        found = await run_in_threadpool(self._store.read_or_create_snapshot, space)
        return _json_response(found, headers={"etag": build_entity_tag(found.id, found.version)})

    async def _post_read(self, request: Request) -> Response:
        space, _ = await self._authorize(request, writing=False)
        wanted = await _read_body(request, TeamTextsRequest)
        _refuse_too_many(len(wanted.keys))
        texts = await run_in_threadpool(
            lambda: self._store.read_texts(
                space, [key for key in wanted.keys if "\0" not in key], most=MAX_READ_RESPONSE_BYTES
            )
        )
        return _json_response(TeamTexts(texts))

    async def _get_log(self, request: Request) -> Response:
        space, _ = await self._authorize(request, writing=False)
        key = request.query_params.get("key", "")
        if key and (problem := find_shared_name_problem(key)):
            raise _build_refusal(400, "key", problem)
        changes = await run_in_threadpool(
            lambda: self._store.list_revisions(space, key, most=MAX_REVISIONS)
        )
        return _json_response(TeamChangeHistory(changes))

    async def _put_changes(self, request: Request) -> Response:
        space, token = await self._authorize(request, writing=True)
        changes = (await _read_body(request, TeamChangesRequest)).changes
        _refuse_too_many(len(changes))
        writes = await run_in_threadpool(
            lambda: {key: self._judge_change(key, change) for key, change in changes.items()}
        )
        version = None
        if tag := request.headers.get("if-match", ""):
            mark = await run_in_threadpool(self._store.find_team_id_and_version, space)
            if mark is None or tag != build_entity_tag(*mark):
                raise _build_refusal(412, "moved", "The team's memories are not as the tag says.")
            version = mark[1]
        try:
            moved = await run_in_threadpool(
                lambda: self._store.apply_writes(space, writes, token.name, version=version)
            )
        except TeamStoreFull as error:
            raise _build_refusal(413, "too_many", str(error)) from error
        if moved:
            raise _build_refusal(
                412,
                "moved",
                "Somebody changed the same memory.",
                {key: now for key, now in moved.items() if key},
            )
        mark = await run_in_threadpool(self._store.find_team_id_and_version, space)
        return _json_response(
            TeamChangesAppliedReceipt(id=mark[0], version=mark[1])
            if mark
            else TeamChangesAppliedReceipt(id="", version=0)
        )

    def _judge_change(self, key: str, change: TeamTextChange) -> TeamMemoryWrite:
        if problem := find_shared_name_problem(key):
            raise _build_refusal(400, "key", problem)
        if not is_checksum_or_empty(change.was):
            raise _build_refusal(400, "was", "What a change replaces is named by its checksum.")
        if change.text is None:
            return TeamMemoryWrite(None, "", change.was)
        if "\0" in change.text:
            raise _build_refusal(400, "text", "A text holds a null character.")
        size = len(encode_file_text_as_utf8(change.text))
        if size > self._limits.entry_bytes:
            raise _build_refusal(
                413, "too_large", f"{key} has {size:,} bytes.", limit=self._limits.entry_bytes
            )
        rules = sorted({finding.rule for finding in find_secrets(change.text)})
        if rules:
            raise _build_refusal(422, "secret", f"{key} holds a secret.", {key: ", ".join(rules)})
        if problem := find_kind_sharing_problem(
            parse_memory_file(key, encode_file_text_as_utf8(change.text)).kind
        ):
            raise _build_refusal(422, "private", f"{key}: {problem}.")
        return TeamMemoryWrite(change.text, compute_text_checksum(change.text), change.was)


class AllowedHostsMiddleware:
    """Middleware that admits requests to one of the hosts; with `*` among them, any."""

    def __init__(self, inner: ASGIApp, hosts: Collection[str]) -> None:
        self._inner = inner
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "http":
            given = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
            if not is_host_allowed(given, self._hosts):
                response = _json_response(
                    TeamRefusal(
                        error="host",
                        detail="The server does not answer to this name; see --allow-host.",
                    ),
                    status=421,
                )
                await response(scope, receive, send)
                return
        await self._inner(scope, receive, send)


async def _comes_from_elsewhere(request: Request) -> bool:
    """Whether a proxy passed the request on, or another user of this machine sent it."""
    ends = request.scope.get("client"), request.scope.get("server")
    return any(name in request.headers for name in FORWARDED_HEADERS) or await run_in_threadpool(
        is_connection_of_other_user, *ends
    )


async def _read_body(request: Request, kind: type[DecodedBody]) -> DecodedBody:
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(MAX_BODY_ARRIVAL_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > MAX_REQUEST_BYTES:
                    raise _build_refusal(
                        413, "too_large", "The request is too large.", limit=MAX_REQUEST_BYTES
                    )
                parts.append(part)
    except TimeoutError:
        raise _build_refusal(408, "slow", "The request took too long to arrive.") from None
    try:
        return decode_json(b"".join(parts), as_type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _build_refusal(400, "json", "The request is not understood.") from error


def _json_response(
    value: object, *, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    return Response(
        msgspec.json.encode(value),
        status_code=status,
        headers=headers,
        media_type="application/json",
    )


async def _refusal_response(_: Request, error: Exception) -> Response:
    if isinstance(error, _RequestRefused):
        return _json_response(error.refusal, status=error.status)
    return _json_response(TeamRefusal(error="broken"), status=500)


async def _error_response(_request: Request, _error: Exception) -> Response:
    return _json_response(
        TeamRefusal(error="store", detail="The store refuses for now."), status=503
    )


def bind_socket_refusing_open_access(
    host: str, port: int, store: TeamStore, limits: TeamServerLimits | None = None
) -> socket.socket:
    """Bind a socket to serve on.

    Raises UsageError for a host or a name beyond this machine while there is no token, StoreError
    if it cannot be bound.
    """
    beyond = sorted({host, *(limits or TeamServerLimits()).hosts} - LOOPBACK_NAMES)
    if beyond and not store.list_tokens():
        raise UsageError(
            f"{', '.join(beyond)} can be reached from elsewhere, and anybody could read and "
            f"write; make a token first: memorist team token NAME"
        )
    return open_listening_socket(host, port, MAX_CONNECTIONS)


def serve_team(store: TeamStore, listening: socket.socket, limits: TeamServerLimits) -> None:
    """Serve until the process is told to stop (SIGINT, SIGTERM)."""
    config = BoundedUvicornConfig(TeamApplication(store, limits).asgi, lifespan="off")
    uvicorn.Server(config).run(sockets=[listening])
