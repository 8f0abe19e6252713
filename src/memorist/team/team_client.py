"""The client of a team server.

Sizes, times, checksums and versions in its responses are all checked. Standard library only.
"""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Struct

from memorist.core.json_decoding import decode_json
from memorist.core.lazy import lazy_module
from memorist.errors import (
    RemoteChanged,
    RemoteRefused,
    RemoteRolledBack,
    RemoteUnavailable,
    SettingsError,
)
from memorist.team.team_protocol import (
    MAX_RESPONSE_BYTES,
    SPACE_PATTERN,
    TeamChangeHistory,
    TeamChangesAppliedReceipt,
    TeamChangesRequest,
    TeamListing,
    TeamRefusal,
    TeamTextChange,
    TeamTexts,
    TeamTextsRequest,
    build_entity_tag,
    is_checksum_or_empty,
)
from memorist.team.team_remote import (
    MAX_NAME_CHARACTERS,
    MAX_REVISIONS,
    ChangeAuthor,
    LastSeenRemoteState,
    MemoryRevision,
    RemoteChange,
    RemoteListing,
)

if TYPE_CHECKING:
    import email.utils as email_utils
    import http.client as http_client
    import ssl
else:
    email_utils = lazy_module("email.utils")
    http_client = lazy_module("http.client")
    ssl = lazy_module("ssl")

_LOOPBACK_HOSTS = ("127.0.0.1", "::1", "localhost")
_RETRIED_STATUSES = (408, 425, 429, 500, 502, 503, 504)
"""Statuses after which a request is retried: slow down, overloaded, temporarily broken."""
FIRST_RETRY_PAUSE_SECONDS = 0.25
"""Seconds before the first retry; each further one waits twice as long, give or take a half."""
MAX_READ_BYTES = 200_000
"""Bytes of texts requested at once."""
_MAX_VERSION = 1 << 62
_RANDOM = secrets.SystemRandom()

Decoded = TypeVar("Decoded")


class ServerAccess(Struct, frozen=True, kw_only=True):
    """Address and credentials of a server."""

    url: str
    """`https://HOST[:PORT]`; plain `http` only on this machine."""
    space: str
    token: str = ""
    ca_file: str = ""
    """File with the authorities that may have signed its certificate; empty uses the
    system's own.
    """
    timeout_seconds: float = 30.0
    retries: int = 3


class TeamServerStatus(Struct, frozen=True):
    """A server's answer to a probe: whether it accepts writes, and its clock (seconds since the
    epoch; None if not reported).
    """

    can_write: bool
    server_time: float | None


class _ServerResponse(Struct, frozen=True):
    status: int
    body: bytes
    date: str = ""


class ServerRemote:
    """A team on a server of ours. Raises SettingsError for an unusable address or CA file."""

    def __init__(
        self, access: ServerAccess, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        try:
            parts = urlsplit(access.url)
            port = parts.port
            (parts.hostname or "").encode("idna")
        except ValueError as error:
            raise SettingsError(f"{access.url!r} has no host or port that there can be") from error
        secure = parts.scheme == "https"
        if (
            not parts.hostname
            or parts.scheme not in ("http", "https")
            or parts.username
            or parts.query
            or parts.fragment
            or any(sign.isspace() for sign in access.url)
        ):
            raise SettingsError(
                "the address of a team server is https://HOST or https://HOST:PORT, without "
                "user name and token"
            )
        if not secure and parts.hostname not in _LOOPBACK_HOSTS:
            raise SettingsError(
                f"{parts.hostname} is on another machine: the token and the memories need https"
            )
        if not SPACE_PATTERN.match(access.space):
            raise SettingsError(
                f"{access.space!r} is no name of a team: letters, digits, dots, dashes and "
                f"underscores"
            )
        self._access = access
        self._host, self._port, self._secure = parts.hostname, port, secure
        self._path = f"{parts.path.rstrip('/')}/v1/team/{access.space}"
        self._sleep = sleep
        self._trust = _load_trust(access.ca_file) if secure and access.ca_file else None
        self.name = (
            f"{parts.scheme}://{parts.hostname}{f':{port}' if port else ''}"
            f"{parts.path.rstrip('/')} ({access.space})"
        )

    def fetch_listing(self, known_state: LastSeenRemoteState) -> RemoteListing | None:
        """Fetch the listing; None if nothing changed."""
        headers = {"if-none-match": known_state.tag} if known_state.tag else {}
        answer = self._request("GET", self._path, headers=headers)
        if answer.status == 304 and known_state.tag:
            return None
        view = self._decode_response(answer, TeamListing)
        if not 0 <= view.version < _MAX_VERSION or not 0 < len(view.id) <= 64:
            raise RemoteRefused(f"{self.name} does not say which state it shows")
        if (
            known_state.id == view.id
            and known_state.version.isdigit()
            and view.version < int(known_state.version)
        ):
            raise RemoteRolledBack(
                f"{self.name} shows version {view.version} and showed {known_state.version} "
                f"before: an old copy was put in its place, or an answer was replayed; "
                "look into it, then go on with `memorist team pull --from-scratch`"
            )
        there = {
            key: entry.hash
            for key, entry in view.entries.items()
            if entry.hash and is_checksum_or_empty(entry.hash)
        }
        return RemoteListing(
            state=LastSeenRemoteState(
                id=view.id, version=str(view.version), tag=build_entity_tag(view.id, view.version)
            ),
            checksums=there,
            deleted=frozenset(view.deleted) - there.keys(),
            sizes={key: entry.bytes for key, entry in view.entries.items() if key in there},
            problems=dict.fromkeys(view.entries.keys() - there.keys(), "It has no checksum."),
            by={
                key: ChangeAuthor(name[:MAX_NAME_CHARACTERS], float(at))
                for key, (name, at) in view.by.items()
            },
        )

    def read_texts(self, keys: Sequence[str], sizes: Mapping[str, int]) -> dict[str, str]:
        """Read texts by name, in parts."""
        texts: dict[str, str] = {}
        part: list[str] = []
        size = 0
        for key in keys:
            more = max(0, sizes.get(key, MAX_READ_BYTES))
            if part and size + more > MAX_READ_BYTES:
                texts |= self._fetch_texts(part)
                part, size = [], 0
            part.append(key)
            size += more
        return texts | (self._fetch_texts(part) if part else {})

    def _fetch_texts(self, keys: list[str]) -> dict[str, str]:
        return self._decode_response(
            self._request("POST", f"{self._path}/read", TeamTextsRequest(keys)), TeamTexts
        ).texts

    def list_revisions(self, key: str = "") -> tuple[MemoryRevision, ...]:
        """List changes as the server recorded them."""
        of_one = f"?key={quote(key, safe='')}" if key else ""
        answer = self._request("GET", f"{self._path}/log{of_one}")
        changes = self._decode_response(answer, TeamChangeHistory).changes[:MAX_REVISIONS]
        return tuple(
            MemoryRevision(
                key=each.key,
                version=f"{each.version}",
                by=ChangeAuthor(each.by[:MAX_NAME_CHARACTERS], float(each.at)),
                deleted=each.deleted,
            )
            for each in changes
        )

    def push_changes(
        self, changes: Mapping[str, RemoteChange], known_state: LastSeenRemoteState
    ) -> LastSeenRemoteState:
        """Apply all changes or none.

        If a response is lost it is open whether they were applied; the retry is then refused as
        moved, and the next listing shows them as applied.
        """
        body = TeamChangesRequest(
            {key: TeamTextChange(change.text, change.was) for key, change in changes.items()}
        )
        answer = self._request("PUT", self._path, body)
        done = self._decode_response(answer, TeamChangesAppliedReceipt)
        if not 0 <= done.version < _MAX_VERSION or done.id != known_state.id:
            return LastSeenRemoteState(id=known_state.id, version=known_state.version)
        alone = known_state.version.isdigit() and done.version == int(known_state.version) + 1
        return LastSeenRemoteState(
            id=done.id,
            version=str(done.version),
            tag=build_entity_tag(done.id, done.version) if alone else "",
        )

    def check_access(self) -> TeamServerStatus:
        """Check once, by an empty change, whether it answers and accepts writes.

        Raises RemoteError.
        """
        try:
            looked = self._request_once("GET", self._path, b"", {})
            self._decode_response(looked, TeamListing)
            written = self._request_once(
                "PUT", self._path, msgspec.json.encode(TeamChangesRequest({})), {}
            )
        except (OSError, http_client.HTTPException) as error:
            raise RemoteUnavailable(
                f"{self.name} cannot be reached ({str(error) or type(error).__name__})"
            ) from error
        return TeamServerStatus(written.status == 200, _parse_date(looked.date))

    def close(self) -> None:
        """Nothing to close."""

    def _request(
        self,
        method: str,
        path: str,
        body: Struct | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> _ServerResponse:
        """Send one request, retried where that may help."""
        problem = ""
        for attempt in range(self._access.retries + 1):
            if attempt:
                self._sleep(
                    FIRST_RETRY_PAUSE_SECONDS * 2 ** (attempt - 1) * _RANDOM.uniform(0.5, 1.5)
                )
            try:
                answer = self._request_once(
                    method, path, b"" if body is None else msgspec.json.encode(body), headers or {}
                )
            except (OSError, http_client.HTTPException) as error:
                problem = str(error) or type(error).__name__
                continue
            if answer.status not in _RETRIED_STATUSES:
                return answer
            problem = f"it answers {answer.status}"
        raise RemoteUnavailable(
            f"{self.name} cannot be reached ({problem}); what is to be sent stays here, and is "
            f"sent the next time"
        )

    def _request_once(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> _ServerResponse:
        seconds = self._access.timeout_seconds
        connection = (
            http_client.HTTPSConnection(
                self._host, self._port, timeout=seconds, context=self._trust
            )
            if self._secure
            else http_client.HTTPConnection(self._host, self._port, timeout=seconds)
        )
        # A server that sends a byte now and then keeps every single wait short: this ends the
        # whole.
        ending = threading.Timer(seconds, lambda: _cut_connection(connection))
        ending.daemon = True
        ending.start()
        try:
            token = {"authorization": f"Bearer {self._access.token}"} if self._access.token else {}
            connection.request(
                method, path, body or None, {"accept": "application/json", **token, **headers}
            )
            response = connection.getresponse()
            found = response.read(MAX_RESPONSE_BYTES + 1)
            if len(found) > MAX_RESPONSE_BYTES:
                raise RemoteRefused(
                    f"{self.name} answers with more than {MAX_RESPONSE_BYTES:,} bytes; look into it"
                )
            if not ending.is_alive():
                raise TimeoutError("the answer took too long")
            length = response.getheader("content-length")
            if (
                length is not None
                and length.isdigit()
                and response.status not in (204, 304)
                and len(found) != int(length)
            ):
                raise http_client.IncompleteRead(found, int(length) - len(found))
            return _ServerResponse(response.status, found, response.getheader("date") or "")
        except ssl.SSLCertVerificationError as error:
            raise RemoteRefused(
                f"{self.name} shows a certificate that is not trusted here "
                f"({error.verify_message.rstrip('.')}); for an authority of your own "
                "name its file in team.ca_file, else check the address"
            ) from error
        finally:
            ending.cancel()
            connection.close()

    def _decode_response(self, answer: _ServerResponse, kind: type[Decoded]) -> Decoded:
        if answer.status != 200:
            raise self._error_for(answer)
        try:
            return decode_json(answer.body, as_type=kind)
        except (msgspec.DecodeError, RecursionError) as error:
            raise RemoteRefused(
                f"{self.name} does not answer as a team server does; check the address"
            ) from error

    def _error_for(self, answer: _ServerResponse) -> Exception:
        try:
            said = decode_json(answer.body, as_type=TeamRefusal)
        except (msgspec.DecodeError, RecursionError):
            said = TeamRefusal(error="")
        if answer.status == 412:
            return RemoteChanged(f"somebody changed the same memory at {self.name}")
        cures = {
            401: "give a token: MEMORIST_TEAM_TOKEN, or team.token_file",
            403: "the token does not allow this; ask for another",
            404: "there is no team server at this address",
            421: "the server does not answer to this name: start it with --allow-host",
        }
        if not said.error:  # no server of ours: what stands before it answered
            cures[413] = (
                "the reverse proxy before the server takes no request of this size; have it "
                "take 2 MB"
            )
        cure = cures.get(answer.status) or " ".join(said.detail.split())[:300] or "look into it"
        return RemoteRefused(
            f"{self.name} refuses "
            f"({answer.status}{f' {said.error[:40]}' if said.error else ''}): {cure}"
        )


def _load_trust(ca_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # SSLError is one
        raise SettingsError(
            f"team.ca_file: {ca_file} cannot be read as certificates ({error.strerror or error})"
        ) from error


def _parse_date(date: str) -> float | None:
    try:
        return email_utils.parsedate_to_datetime(date).timestamp()
    except ValueError:
        return None


def _cut_connection(connection: http_client.HTTPConnection) -> None:
    opened = getattr(connection, "sock", None)
    if opened is not None:
        with suppress(OSError):
            opened.shutdown(socket.SHUT_RDWR)
