"""The team server: a few requests over one store, to be run behind a reverse proxy that does TLS.

Needs the extra `team`.

It listens on this machine alone unless configured otherwise with a token; it checks the Host
header, so that no web page reaches it under a name of its own (SF-6). Input is not trusted: names,
checksums, sizes and secrets are checked here as well as by the clients.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import socket
import sqlite3
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import uvicorn
from msgspec import Struct
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from memorist.auto_memory.memory_file import parse_topic
from memorist.auto_memory.team_memory import find_kind_sharing_problem
from memorist.core.text_analysis import encode_text
from memorist.errors import StoreError, UsageError
from memorist.safety.secrets import find_secrets
from memorist.safety.server_access import LOOPBACK_NAMES, is_host_allowed
from memorist.store.database import BUSY_SECONDS, create_private_file
from memorist.store.disk_files import make_folders
from memorist.store.state_database import SqliteState, StateDatabase, open_state
from memorist.system import open_listening_socket
from memorist.team.shared_file import find_key_problem, text_checksum
from memorist.team.team_protocol import (
    MAX_REQUEST_BYTES,
    SPACE_PATTERN,
    NewTeamText,
    TeamChange,
    TeamChangesReceipt,
    TeamChangesRequest,
    TeamEntry,
    TeamLog,
    TeamRefusal,
    TeamTexts,
    TeamTextsRequest,
    TeamView,
    entity_tag,
    is_checksum,
)
from memorist.team.team_remote import MAX_REVISIONS
from memorist.uvicorn_server import MAX_CONNECTIONS, BoundedConfig

# The store of a team server: memories of several teams, each with its current checksum;
# deletions leave a tombstone; tokens are stored as hashes.


_TEAM_TABLES = (
    "create table if not exists team_spaces (name text primary key, id text not null, version "
    "bigint not null)",
    """create table if not exists team_entries (space text not null, key text not null, hash text not null, text text, bytes bigint not null,
    version bigint not null, author text not null, at bigint not null, primary key (space, key))""",
    "create table if not exists team_tokens (hash text primary key, name text not null, space "
    "text not null, writes integer not null)",
    """create table if not exists team_revisions (space text not null, key text not null, version bigint not null, hash text not null,
    author text not null, at bigint not null, primary key (space, key, version))""",
    "create index if not exists team_revisions_by_version on team_revisions (space, version)",
    # Revisions of stores from before the table existed.
    """insert into team_revisions (space, key, version, hash, author, at)
    select space, key, version, hash, author, at from team_entries where true on conflict (space, key, version) do nothing""",
)
MAX_STORED_REVISIONS = 100
"""Newest changes of one memory whose author is kept. Ours: 5,000 memories make 75 MB at most."""
_INSERT_REVISION = (
    "insert into team_revisions (space, key, version, hash, author, at) values (:space, "
    ":key, :version, :hash, :author, :at)"
)
_PRUNE_REVISIONS = """delete from team_revisions where space = :space and key = :key and version < (select min(version) from
    (select version from team_revisions where space = :space and key = :key order by version desc limit :most) as kept)"""
_SELECT_REVISIONS = (
    "select key, version, hash, author, at from team_revisions where space = :space order "
    "by version desc, key limit :most"
)
_SELECT_REVISIONS_OF_ONE = """select key, version, hash, author, at from team_revisions where space = :space and key = :key
    order by version desc limit :most"""
_SAVE_ENTRY = """insert into team_entries (space, key, hash, text, bytes, version, author, at)
    values (:space, :key, :hash, :text, :bytes, :version, :author, :at)
    on conflict (space, key) do update set hash = excluded.hash, text = excluded.text, bytes = excluded.bytes, version = excluded.version,
    author = excluded.author, at = excluded.at"""


class TeamSnapshot(Struct, frozen=True, kw_only=True):
    """A team's memories: checksum and size by name, and what was deleted."""

    id: str
    """Random id created with the team: no other store has it."""
    version: int
    """Number of changes so far."""
    entries: dict[str, tuple[str, int]]
    deleted: tuple[str, ...]
    by: dict[str, tuple[str, int]] = {}
    """Token holder and time of the last change of each memory, including deleted ones."""


class TeamWrite(Struct, frozen=True):
    """One change: the new text and its checksum (None and empty to delete), and the checksum of
    what it replaces.
    """

    text: str | None
    hash: str
    was: str


class StoredTeamRevision(Struct, frozen=True, kw_only=True):
    """One change of a memory: the resulting version of the team's state, the token holder, and the
    time.
    """

    key: str
    version: int
    author: str
    at: int
    deleted: bool


class TeamToken(Struct, frozen=True):
    """The holder of a token, its team (empty: all), and whether it may write."""

    name: str
    space: str
    writes: bool


class TeamStoreFull(StoreError):
    """A team has the maximum number of memories."""


class TeamStore:
    """The store of a server. Its methods are thread-safe, and raise StoreError."""

    def __init__(self, state: StateDatabase, *, most: int) -> None:
        self._state = state
        self._most = most
        self._lock = threading.Lock()
        with self._transaction():
            for statement in _TEAM_TABLES:
                state.execute(statement)

    def read_snapshot(self, space: str) -> TeamSnapshot:
        """The current state of a team; an unknown team is created."""
        with self._transaction():
            id, version = self._ensure_space(space)
            rows = self._state.query(
                "select key, hash, bytes, author, at from team_entries where space = :space",
                {"space": space},
            )
        return TeamSnapshot(
            id=id,
            version=version,
            entries={row["key"]: (row["hash"], row["bytes"]) for row in rows if row["hash"]},
            deleted=tuple(sorted(row["key"] for row in rows if not row["hash"])),
            by={row["key"]: (row["author"], row["at"]) for row in rows},
        )

    def find_version(self, space: str) -> tuple[str, int] | None:
        """Id and version of a team; None where it is unknown."""
        with self._locked():
            found = self._state.query(
                "select id, version from team_spaces where name = :space", {"space": space}
            )
        return (found[0]["id"], found[0]["version"]) if found else None

    def read_texts(self, space: str, keys: list[str], *, most: int) -> dict[str, str]:
        """Texts by name, up to `most` bytes; missing names are skipped, and the list is cut at the
        limit.
        """
        texts: dict[str, str] = {}
        with self._locked():
            for key in keys:
                rows = self._select_entry(space, key)
                if not rows or rows[0]["text"] is None:
                    continue
                most -= rows[0]["bytes"]
                if most < 0 and texts:
                    break
                texts[key] = rows[0]["text"]
        return texts

    def apply_writes(
        self,
        space: str,
        writes: Mapping[str, TeamWrite],
        author: str,
        *,
        version: int | None = None,
    ) -> dict[str, str]:
        """Apply all changes atomically. Returns the names whose current checksum differs from the
        writer's expectation, with that checksum; nothing is written then.

        `version` is the required version of the whole team, where the writer gives one. Raises
        TeamStoreFull.
        """
        with self._transaction():
            _, present = self._ensure_space(space)
            if not writes:
                return {}
            moved = {
                key: now
                for key, write in writes.items()
                if (now := self._current_hash(space, key)) != write.was
            }
            if moved or version not in (None, present):
                return moved or {"": ""}
            at = self._state.now()
            for key, write in writes.items():
                values = {
                    "space": space,
                    "key": key,
                    "hash": write.hash,
                    "text": write.text,
                    "version": present + 1,
                    "author": author,
                    "at": at,
                }
                self._state.execute(_INSERT_REVISION, values)
                self._state.execute(
                    _PRUNE_REVISIONS, {"space": space, "key": key, "most": MAX_STORED_REVISIONS}
                )
                self._state.execute(
                    _SAVE_ENTRY,
                    values | {"bytes": len(write.text.encode()) if write.text is not None else 0},
                )
            rows = self._state.query(
                "select count(*) as many from team_entries where space = :space and hash <> ''",
                {"space": space},
            )
            if rows[0]["many"] > self._most and any(not write.was for write in writes.values()):
                raise TeamStoreFull(f"a team has at most {self._most:,} memories")
            self._state.execute(
                "update team_spaces set version = :version where name = :space",
                {"version": present + 1, "space": space},
            )
        return {}

    def list_revisions(self, space: str, key: str = "", *, most: int) -> list[StoredTeamRevision]:
        """The newest changes of a memory, or of all for an empty name; at most `MAX_REVISIONS` of
        each.
        """
        with self._locked():
            rows = self._state.query(
                _SELECT_REVISIONS_OF_ONE if key else _SELECT_REVISIONS,
                {"space": space, "most": most} | ({"key": key} if key else {}),
            )
        return [
            StoredTeamRevision(
                key=row["key"],
                version=row["version"],
                author=row["author"],
                at=row["at"],
                deleted=not row["hash"],
            )
            for row in rows
        ]

    def _select_entry(self, space: str, key: str) -> Sequence[Mapping[str, Any]]:
        return self._state.query(
            "select hash, text, bytes from team_entries where space = :space and key = :key",
            {"space": space, "key": key},
        )

    def _current_hash(self, space: str, key: str) -> str:
        rows = self._select_entry(space, key)
        return str(rows[0]["hash"]) if rows else ""

    def _ensure_space(self, space: str) -> tuple[str, int]:
        record = {"space": space, "id": secrets.token_hex(16)}
        self._state.execute(
            "insert into team_spaces (name, id, version) values (:space, :id, 0) on conflict "
            "(name) do nothing",
            record,
        )
        found = self._state.query(
            "select id, version from team_spaces where name = :space", {"space": space}
        )[0]
        return found["id"], found["version"]

    def add_token(self, name: str, *, space: str = "", writes: bool = True) -> str:
        """Create a token; only its hash is stored."""
        token = secrets.token_urlsafe(32)
        values = {"hash": _token_hash(token), "name": name, "space": space, "writes": int(writes)}
        with self._transaction():
            self._state.execute(
                "insert into team_tokens (hash, name, space, writes) values (:hash, :name, "
                ":space, :writes)",
                values,
            )
        return token

    def revoke_token(self, name: str) -> int:
        """Revoke every token of that name; returns their number."""
        with self._transaction():
            return self._state.execute("delete from team_tokens where name = :name", {"name": name})

    def find_token(self, secret: str) -> TeamToken | None:
        """The rights of a token; None for an unknown one."""
        with self._locked():
            rows = self._state.query(
                "select name, space, writes from team_tokens where hash = :hash",
                {"hash": _token_hash(secret)},
            )
        return (
            TeamToken(rows[0]["name"], rows[0]["space"], bool(rows[0]["writes"])) if rows else None
        )

    def list_tokens(self) -> list[TeamToken]:
        """Every token's holder."""
        with self._locked():
            rows = self._state.query("select name, space, writes from team_tokens order by name")
        return [TeamToken(row["name"], row["space"], bool(row["writes"])) for row in rows]

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._lock:
            yield

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock, self._state.transaction():
            yield

    def close(self) -> None:
        """Close the store. May be called twice."""
        self._state.close()


def open_team_store(location: str, *, most: int) -> TeamStore:
    """Open the store at a path, or at `postgresql://…`, creating it if missing. Raises
    SettingsError, StoreError.
    """
    if "://" in location:
        return TeamStore(open_state(location, Path()), most=most)
    path = Path(location)
    make_folders(path.parent)
    try:
        create_private_file(path)
        database = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        database.row_factory = sqlite3.Row
        database.execute("pragma journal_mode = wal")
        # Acknowledged changes must survive a power cut: otherwise clients would see an older state.
        database.execute("pragma synchronous = full")
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"the team store {path} cannot be opened ({error}); check the folder's space and "
            f"permissions"
        ) from error
    return TeamStore(SqliteState(database), most=most)


def _token_hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


BODY_SECONDS = 30.0
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
LOCAL_TOKEN = TeamToken("this machine", "", writes=True)

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

    async def _authorize(self, request: Request, *, writing: bool) -> tuple[str, TeamToken]:
        space = request.path_params["space"]
        if not SPACE_PATTERN.match(space):
            raise _build_refusal(400, "space", "The name of the team is none.")
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        token = await run_in_threadpool(
            self._find_token, given.strip() if kind.lower() == "bearer" else ""
        )
        if token is None or (
            token is LOCAL_TOKEN and any(name in request.headers for name in FORWARDED_HEADERS)
        ):
            raise _build_refusal(401, "token", "A token is needed, and this one is not known.")
        if token.space not in ("", space) or (writing and not token.writes):
            raise _build_refusal(403, "token", "The token does not allow this.")
        return space, token

    def _find_token(self, given: str) -> TeamToken | None:
        if given:
            return self._store.find_token(given)
        return None if self._store.list_tokens() else LOCAL_TOKEN

    async def _get_view(self, request: Request) -> Response:
        space, _ = await self._authorize(request, writing=False)
        mark = await run_in_threadpool(self._store.find_version, space)
        if mark is not None and request.headers.get("if-none-match") == entity_tag(*mark):
            return Response(status_code=304, headers={"etag": entity_tag(*mark)})
        found = await run_in_threadpool(self._store.read_snapshot, space)
        entries = {
            key: TeamEntry(checksum, size) for key, (checksum, size) in found.entries.items()
        }
        view = TeamView(
            id=found.id,
            version=found.version,
            entries=entries,
            deleted=list(found.deleted),
            by=found.by,
        )
        return _json_response(view, headers={"etag": entity_tag(found.id, found.version)})

    async def _post_read(self, request: Request) -> Response:
        space, _ = await self._authorize(request, writing=False)
        wanted = await _read_body(request, TeamTextsRequest)
        texts = await run_in_threadpool(
            lambda: self._store.read_texts(
                space, [key for key in wanted.keys if "\0" not in key], most=MAX_READ_RESPONSE_BYTES
            )
        )
        return _json_response(TeamTexts(texts))

    async def _get_log(self, request: Request) -> Response:
        space, _ = await self._authorize(request, writing=False)
        key = request.query_params.get("key", "")
        if key and (problem := find_key_problem(key)):
            raise _build_refusal(400, "key", problem)
        noted = await run_in_threadpool(
            lambda: self._store.list_revisions(space, key, most=MAX_REVISIONS)
        )
        return _json_response(
            TeamLog(
                [
                    TeamChange(
                        key=each.key,
                        version=each.version,
                        by=each.author,
                        at=each.at,
                        deleted=each.deleted,
                    )
                    for each in noted
                ]
            )
        )

    async def _put_changes(self, request: Request) -> Response:
        space, token = await self._authorize(request, writing=True)
        changes = (await _read_body(request, TeamChangesRequest)).changes
        writes = await run_in_threadpool(
            lambda: {key: self._judge_change(key, change) for key, change in changes.items()}
        )
        version = None
        if tag := request.headers.get("if-match", ""):
            mark = await run_in_threadpool(self._store.find_version, space)
            if mark is None or tag != entity_tag(*mark):
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
        mark = await run_in_threadpool(self._store.find_version, space)
        return _json_response(
            TeamChangesReceipt(id=mark[0], version=mark[1])
            if mark
            else TeamChangesReceipt(id="", version=0)
        )

    def _judge_change(self, key: str, change: NewTeamText) -> TeamWrite:
        if problem := find_key_problem(key):
            raise _build_refusal(400, "key", problem)
        if not is_checksum(change.was):
            raise _build_refusal(400, "was", "What a change replaces is named by its checksum.")
        if change.text is None:
            return TeamWrite(None, "", change.was)
        if "\0" in change.text:
            raise _build_refusal(400, "text", "A text holds a null character.")
        size = len(encode_text(change.text))
        if size > self._limits.entry_bytes:
            raise _build_refusal(
                413, "too_large", f"{key} has {size:,} bytes.", limit=self._limits.entry_bytes
            )
        rules = sorted({finding.rule for finding in find_secrets(change.text)})
        if rules:
            raise _build_refusal(422, "secret", f"{key} holds a secret.", {key: ", ".join(rules)})
        if problem := find_kind_sharing_problem(parse_topic(key, encode_text(change.text)).kind):
            raise _build_refusal(422, "private", f"{key}: {problem}.")
        return TeamWrite(change.text, text_checksum(change.text), change.was)


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


async def _read_body(request: Request, kind: type[DecodedBody]) -> DecodedBody:
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
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
        return msgspec.json.decode(b"".join(parts), type=kind)
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
    return (
        _json_response(error.refusal, status=error.status)
        if isinstance(error, _RequestRefused)
        else _json_response(TeamRefusal(error="broken"), status=500)
    )


async def _error_response(_request: Request, _error: Exception) -> Response:
    return _json_response(
        TeamRefusal(error="store", detail="The store refuses for now."), status=503
    )


def bind_server_socket(
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
    config = BoundedConfig(TeamApplication(store, limits).asgi, lifespan="off")
    uvicorn.Server(config).run(sockets=[listening])
