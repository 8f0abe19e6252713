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

from memorist.core.later import late_module
from memorist.errors import RemoteMoved, RemoteRefused, RemoteUnavailable, RemoteWentBack, SettingsError
from memorist.team.protocol import MOST_ANSWER, SPACE, Changes, Done, Log, NewText, Refusal, Texts, View, Wanted, entity_tag, is_digest
from memorist.team.remote import MOST_NAME, MOST_REVISIONS, By, Look, Put, Revision, Seen

if TYPE_CHECKING:
    import email.utils as email_utils
    import http.client as http_client
    import ssl
else:
    email_utils, http_client, ssl = late_module("email.utils"), late_module("http.client"), late_module("ssl")

_LOCAL = ("127.0.0.1", "::1", "localhost")
_AGAIN = (408, 425, 429, 500, 502, 503, 504)
"""Statuses after which a request is retried: slow down, overloaded, temporarily broken."""
FIRST_PAUSE = 0.25
"""Seconds before the first retry; each further one waits twice as long, give or take a half."""
READ_BYTES = 200_000
"""Bytes of texts requested at once."""
_MOST_VERSION = 1 << 62
_CHANCE = secrets.SystemRandom()

Told = TypeVar("Told")


class Access(Struct, frozen=True, kw_only=True):
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


class Reached(Struct, frozen=True):
    """A server's answer to a probe: whether it accepts writes, and its clock (seconds since the
    epoch; None if not reported).
    """

    writes: bool
    clock: float | None


class _Answer(Struct, frozen=True):
    status: int
    body: bytes
    date: str = ""


class ServerRemote:
    """A team on a server of ours. Raises SettingsError for an unusable address or CA file."""

    def __init__(self, access: Access, *, sleep: Callable[[float], None] = time.sleep) -> None:
        parts = urlsplit(access.url)
        secure = parts.scheme == "https"
        try:
            port = parts.port
        except ValueError as error:
            raise SettingsError(f"{access.url!r} has no port that there can be") from error
        if not parts.hostname or parts.scheme not in ("http", "https") or parts.username or parts.query or parts.fragment:
            raise SettingsError("the address of a team server is https://HOST or https://HOST:PORT, without user name and token")
        if not secure and parts.hostname not in _LOCAL:
            raise SettingsError(f"{parts.hostname} is on another machine: the token and the memories need https")
        if not SPACE.match(access.space):
            raise SettingsError(f"{access.space!r} is no name of a team: letters, digits, dots, dashes and underscores")
        self._access = access
        self._host, self._port, self._secure = parts.hostname, port, secure
        self._path = f"{parts.path.rstrip('/')}/v1/team/{access.space}"
        self._sleep = sleep
        self._trust = _trust(access.ca_file) if secure and access.ca_file else None
        self.name = f"{parts.scheme}://{parts.hostname}{f':{port}' if port else ''}{parts.path.rstrip('/')} ({access.space})"

    def look(self, seen: Seen) -> Look | None:
        """Fetch the listing; None if nothing changed."""
        headers = {"if-none-match": seen.tag} if seen.tag else {}
        answer = self._ask("GET", self._path, headers=headers)
        if answer.status == 304 and seen.tag:
            return None
        view = self._read_as(answer, View)
        if not 0 <= view.version < _MOST_VERSION or not 0 < len(view.id) <= 64:
            raise RemoteRefused(f"{self.name} does not say which state it shows")
        if seen.id == view.id and seen.version.isdigit() and view.version < int(seen.version):
            raise RemoteWentBack(
                f"{self.name} shows version {view.version} and showed {seen.version} before: an old copy was put in its place, or an answer was replayed; "
                "look into it, then go on with `memorist team pull --anew`"
            )
        there = {key: entry.hash for key, entry in view.entries.items() if entry.hash and is_digest(entry.hash)}
        return Look(
            seen=Seen(id=view.id, version=str(view.version), tag=entity_tag(view.id, view.version)),
            there=there,
            gone=frozenset(view.gone) - there.keys(),
            sizes={key: entry.bytes for key, entry in view.entries.items() if key in there},
            problems=dict.fromkeys(view.entries.keys() - there.keys(), "It has no checksum."),
            by={key: By(name[:MOST_NAME], float(at)) for key, (name, at) in view.by.items()},
        )

    def read(self, keys: Sequence[str], sizes: Mapping[str, int]) -> dict[str, str]:
        """Read texts by name, in parts."""
        texts: dict[str, str] = {}
        part: list[str] = []
        size = 0
        for key in keys:
            more = max(0, sizes.get(key, READ_BYTES))
            if part and size + more > READ_BYTES:
                texts |= self._texts(part)
                part, size = [], 0
            part.append(key)
            size += more
        return texts | (self._texts(part) if part else {})

    def _texts(self, keys: list[str]) -> dict[str, str]:
        return self._read_as(self._ask("POST", f"{self._path}/read", Wanted(keys)), Texts).texts

    def log(self, key: str = "") -> tuple[Revision, ...]:
        """List changes as the server recorded them."""
        of_one = f"?key={quote(key, safe='')}" if key else ""
        answer = self._ask("GET", f"{self._path}/log{of_one}")
        changes = self._read_as(answer, Log).changes[:MOST_REVISIONS]
        return tuple(
            Revision(key=each.key, version=f"{each.version}", by=By(each.by[:MOST_NAME], float(each.at)), deleted=each.deleted)
            for each in changes
        )

    def put(self, changes: Mapping[str, Put], seen: Seen) -> Seen:
        """Apply all changes or none.

        If a response is lost it is open whether they were applied; the retry is then refused as
        moved, and the next listing shows them as applied.
        """
        body = Changes({key: NewText(change.text, change.was) for key, change in changes.items()})
        answer = self._ask("PUT", self._path, body)
        done = self._read_as(answer, Done)
        if not 0 <= done.version < _MOST_VERSION or done.id != seen.id:
            return Seen(id=seen.id, version=seen.version)
        alone = seen.version.isdigit() and done.version == int(seen.version) + 1
        return Seen(id=done.id, version=str(done.version), tag=entity_tag(done.id, done.version) if alone else "")

    def reach(self) -> Reached:
        """Check once, by an empty change, whether it answers and accepts writes.

        Raises RemoteError.
        """
        try:
            looked = self._once("GET", self._path, b"", {})
            self._read_as(looked, View)
            written = self._once("PUT", self._path, msgspec.json.encode(Changes({})), {})
        except (OSError, http_client.HTTPException) as error:
            raise RemoteUnavailable(f"{self.name} cannot be reached ({str(error) or type(error).__name__})") from error
        return Reached(written.status == 200, _moment(looked.date))

    def close(self) -> None:
        """Nothing to close."""

    def _ask(self, method: str, path: str, body: Struct | None = None, headers: Mapping[str, str] | None = None) -> _Answer:
        """Send one request, retried where that may help."""
        problem = ""
        for attempt in range(self._access.retries + 1):
            if attempt:
                self._sleep(FIRST_PAUSE * 2 ** (attempt - 1) * _CHANCE.uniform(0.5, 1.5))
            try:
                answer = self._once(method, path, b"" if body is None else msgspec.json.encode(body), headers or {})
            except (OSError, http_client.HTTPException) as error:
                problem = str(error) or type(error).__name__
                continue
            if answer.status not in _AGAIN:
                return answer
            problem = f"it answers {answer.status}"
        raise RemoteUnavailable(f"{self.name} cannot be reached ({problem}); what is to be sent stays here, and is sent the next time")

    def _once(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> _Answer:
        seconds = self._access.timeout_seconds
        connection = (
            http_client.HTTPSConnection(self._host, self._port, timeout=seconds, context=self._trust)
            if self._secure
            else http_client.HTTPConnection(self._host, self._port, timeout=seconds)
        )
        # A server that sends a byte now and then keeps every single wait short: this ends the
        # whole.
        ending = threading.Timer(seconds, lambda: _cut(connection))
        ending.daemon = True
        ending.start()
        try:
            token = {"authorization": f"Bearer {self._access.token}"} if self._access.token else {}
            connection.request(method, path, body or None, {"accept": "application/json", **token, **headers})
            response = connection.getresponse()
            found = response.read(MOST_ANSWER + 1)
            if len(found) > MOST_ANSWER:
                raise RemoteRefused(f"{self.name} answers with more than {MOST_ANSWER:,} bytes; look into it")
            if not ending.is_alive():
                raise TimeoutError("the answer took too long")
            length = response.getheader("content-length")
            if length is not None and length.isdigit() and response.status not in (204, 304) and len(found) != int(length):
                raise http_client.IncompleteRead(found, int(length) - len(found))
            return _Answer(response.status, found, response.getheader("date") or "")
        except ssl.SSLCertVerificationError as error:
            raise RemoteRefused(
                f"{self.name} shows a certificate that is not trusted here ({error.verify_message.rstrip('.')}); for an authority of your own "
                "name its file in team.ca_file, else check the address"
            ) from error
        finally:
            ending.cancel()
            connection.close()

    def _read_as(self, answer: _Answer, kind: type[Told]) -> Told:
        if answer.status != 200:
            raise self._refusal(answer)
        try:
            return msgspec.json.decode(answer.body, type=kind)
        except (msgspec.DecodeError, RecursionError) as error:
            raise RemoteRefused(f"{self.name} does not answer as a team server does; check the address") from error

    def _refusal(self, answer: _Answer) -> Exception:
        try:
            said = msgspec.json.decode(answer.body, type=Refusal)
        except (msgspec.DecodeError, RecursionError):
            said = Refusal(error="")
        if answer.status == 412:
            return RemoteMoved(f"somebody changed the same memory at {self.name}")
        cures = {
            401: "give a token: MEMORIST_TEAM_TOKEN, or team.token_file",
            403: "the token does not allow this; ask for another",
            404: "there is no team server at this address",
            421: "the server does not answer to this name: start it with --allow-host",
        }
        if not said.error:  # no server of ours: what stands before it answered
            cures[413] = "the reverse proxy before the server takes no request of this size; have it take 2 MB"
        cure = cures.get(answer.status) or " ".join(said.detail.split())[:300] or "look into it"
        return RemoteRefused(f"{self.name} refuses ({answer.status}{f' {said.error[:40]}' if said.error else ''}): {cure}")


def _trust(ca_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # SSLError is one
        raise SettingsError(f"team.ca_file: {ca_file} cannot be read as certificates ({error.strerror or error})") from error


def _moment(date: str) -> float | None:
    try:
        return email_utils.parsedate_to_datetime(date).timestamp()
    except ValueError:
        return None


def _cut(connection: http_client.HTTPConnection) -> None:
    opened = getattr(connection, "sock", None)
    if opened is not None:
        with suppress(OSError):
            opened.shutdown(socket.SHUT_RDWR)
