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

from memorist.auto_memory.shared import not_for_a_team
from memorist.auto_memory.topic import encode, parse
from memorist.errors import StoreError, UsageError
from memorist.listening import listen as open_socket
from memorist.safety.doors import LOOPBACK, answers_to
from memorist.safety.secrets import find_secrets
from memorist.store.team import TeamFull, TeamStore, Token, Write
from memorist.team.keys import key_problem
from memorist.team.protocol import (
    MOST_BODY,
    SPACE,
    Changed,
    Changes,
    Done,
    Entry,
    Log,
    NewText,
    Refusal,
    Texts,
    View,
    Wanted,
    entity_tag,
    is_digest,
)
from memorist.team.remote import MOST_REVISIONS
from memorist.team.wire import digest

BODY_SECONDS = 30.0
"""Time limit for a request's body to arrive."""
MOST_AT_ONCE = 200
"""Concurrent connections; further ones are refused with 503."""
MOST_READ = 1_000_000
"""Bytes of texts in one response; a client asks for 200,000."""
FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
"""Headers that reveal a request forwarded by a proxy, possibly from anywhere."""
ANYBODY = Token("this machine", "", writes=True)

Asked = TypeVar("Asked")


class Limits(Struct, frozen=True, kw_only=True):
    """Limits of one server."""

    hosts: frozenset[str] = LOOPBACK
    """Accepted names in the Host header, without port."""
    entry_bytes: int = 250_000


class _Refused(Exception):
    def __init__(self, status: int, refusal: Refusal) -> None:
        super().__init__(refusal.error)
        self.status = status
        self.refusal = refusal


def _refuse(status: int, error: str, detail: str, keys: dict[str, str] | None = None, limit: int = 0) -> _Refused:
    return _Refused(status, Refusal(error=error, detail=detail, keys=keys or {}, limit=limit))


class TeamApplication:
    """The request handlers over one store."""

    def __init__(self, store: TeamStore, limits: Limits | None = None) -> None:
        self._store = store
        self._limits = limits or Limits()
        below = "/v1/team/{space}"
        routes = [
            Route("/healthz", self._health),
            Route(below, self._team, methods=["GET", "PUT"]),
            Route(f"{below}/read", self._read, methods=["POST"]),
            Route(f"{below}/log", self._log, methods=["GET"]),
        ]
        self.asgi: ASGIApp = KnownHosts(
            Starlette(routes=routes, exception_handlers={_Refused: _told, StoreError: _broken}), self._limits.hosts
        )

    async def _health(self, _: Request) -> Response:
        return Response(b'{"ok":true}', media_type="application/json")

    async def _team(self, request: Request) -> Response:
        return await (self._look(request) if request.method in ("GET", "HEAD") else self._put(request))

    async def _allowed(self, request: Request, *, writing: bool) -> tuple[str, Token]:
        space = request.path_params["space"]
        if not SPACE.match(space):
            raise _refuse(400, "space", "The name of the team is none.")
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        token = await run_in_threadpool(self._token, given.strip() if kind.lower() == "bearer" else "")
        if token is None or (token is ANYBODY and any(name in request.headers for name in FORWARDED)):
            raise _refuse(401, "token", "A token is needed, and this one is not known.")
        if token.space not in ("", space) or (writing and not token.writes):
            raise _refuse(403, "token", "The token does not allow this.")
        return space, token

    def _token(self, given: str) -> Token | None:
        if given:
            return self._store.token(given)
        return None if self._store.tokens() else ANYBODY

    async def _look(self, request: Request) -> Response:
        space, _ = await self._allowed(request, writing=False)
        mark = await run_in_threadpool(self._store.mark, space)
        if mark is not None and request.headers.get("if-none-match") == entity_tag(*mark):
            return Response(status_code=304, headers={"etag": entity_tag(*mark)})
        found = await run_in_threadpool(self._store.look, space)
        entries = {key: Entry(checksum, size) for key, (checksum, size) in found.entries.items()}
        view = View(id=found.id, version=found.version, entries=entries, gone=list(found.gone), by=found.by)
        return _json(view, headers={"etag": entity_tag(found.id, found.version)})

    async def _read(self, request: Request) -> Response:
        space, _ = await self._allowed(request, writing=False)
        wanted = await _body(request, Wanted)
        texts = await run_in_threadpool(lambda: self._store.read(space, [key for key in wanted.keys if "\0" not in key], most=MOST_READ))
        return _json(Texts(texts))

    async def _log(self, request: Request) -> Response:
        space, _ = await self._allowed(request, writing=False)
        key = request.query_params.get("key", "")
        if key and (problem := key_problem(key)):
            raise _refuse(400, "key", problem)
        noted = await run_in_threadpool(lambda: self._store.log(space, key, most=MOST_REVISIONS))
        return _json(Log([Changed(key=each.key, version=each.version, by=each.author, at=each.at, deleted=each.deleted) for each in noted]))

    async def _put(self, request: Request) -> Response:
        space, token = await self._allowed(request, writing=True)
        changes = (await _body(request, Changes)).changes
        writes = await run_in_threadpool(lambda: {key: self._judged(key, change) for key, change in changes.items()})
        version = None
        if tag := request.headers.get("if-match", ""):
            mark = await run_in_threadpool(self._store.mark, space)
            if mark is None or tag != entity_tag(*mark):
                raise _refuse(412, "moved", "The team's memories are not as the tag says.")
            version = mark[1]
        try:
            moved = await run_in_threadpool(lambda: self._store.put(space, writes, token.name, version=version))
        except TeamFull as error:
            raise _refuse(413, "too_many", str(error)) from error
        if moved:
            raise _refuse(412, "moved", "Somebody changed the same memory.", {key: now for key, now in moved.items() if key})
        mark = await run_in_threadpool(self._store.mark, space)
        return _json(Done(id=mark[0], version=mark[1]) if mark else Done(id="", version=0))

    def _judged(self, key: str, change: NewText) -> Write:
        if problem := key_problem(key):
            raise _refuse(400, "key", problem)
        if not is_digest(change.was):
            raise _refuse(400, "was", "What a change replaces is named by its checksum.")
        if change.text is None:
            return Write(None, "", change.was)
        if "\0" in change.text:
            raise _refuse(400, "text", "A text holds a null character.")
        size = len(encode(change.text))
        if size > self._limits.entry_bytes:
            raise _refuse(413, "too_large", f"{key} has {size:,} bytes.", limit=self._limits.entry_bytes)
        rules = sorted({finding.rule for finding in find_secrets(change.text)})
        if rules:
            raise _refuse(422, "secret", f"{key} holds a secret.", {key: ", ".join(rules)})
        if problem := not_for_a_team(parse(key, encode(change.text)).kind):
            raise _refuse(422, "private", f"{key}: {problem}.")
        return Write(change.text, digest(change.text), change.was)


class KnownHosts:
    """Middleware that admits requests to one of the hosts; with `*` among them, any."""

    def __init__(self, inner: ASGIApp, hosts: Collection[str]) -> None:
        self._inner = inner
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "http":
            given = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
            if not answers_to(given, self._hosts):
                response = _json(Refusal(error="host", detail="The server does not answer to this name; see --allow-host."), status=421)
                await response(scope, receive, send)
                return
        await self._inner(scope, receive, send)


async def _body(request: Request, kind: type[Asked]) -> Asked:
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > MOST_BODY:
                    raise _refuse(413, "too_large", "The request is too large.", limit=MOST_BODY)
                parts.append(part)
    except TimeoutError:
        raise _refuse(408, "slow", "The request took too long to arrive.") from None
    try:
        return msgspec.json.decode(b"".join(parts), type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _refuse(400, "json", "The request is not understood.") from error


def _json(value: object, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status_code=status, headers=headers, media_type="application/json")


async def _told(_: Request, error: Exception) -> Response:
    return _json(error.refusal, status=error.status) if isinstance(error, _Refused) else _json(Refusal(error="broken"), status=500)


async def _broken(_request: Request, _error: Exception) -> Response:
    return _json(Refusal(error="store", detail="The store refuses for now."), status=503)


def listen(host: str, port: int, store: TeamStore, limits: Limits | None = None) -> socket.socket:
    """Bind a socket to serve on.

    Raises UsageError for a host or a name beyond this machine while there is no token, StoreError
    if it cannot be bound.
    """
    beyond = sorted({host, *(limits or Limits()).hosts} - LOOPBACK)
    if beyond and not store.tokens():
        raise UsageError(
            f"{', '.join(beyond)} can be reached from elsewhere, and anybody could read and write; make a token first: memorist team token NAME"
        )
    return open_socket(host, port, MOST_AT_ONCE)


def serve(store: TeamStore, listening: socket.socket, limits: Limits) -> None:
    """Serve until the process is told to stop (SIGINT, SIGTERM)."""
    config = uvicorn.Config(
        TeamApplication(store, limits).asgi,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        lifespan="off",
        limit_concurrency=MOST_AT_ONCE,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=5,
    )
    uvicorn.Server(config).run(sockets=[listening])
