"""The team server and its client, over real sockets of this machine (TM-2, TM-3, TM-4, SF-6)."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from memorist.errors import (
    RemoteChanged,
    RemoteRefused,
    RemoteRolledBack,
    RemoteUnavailable,
    SettingsError,
    UsageError,
)
from memorist.safety.server_access import LOOPBACK_NAMES, parse_host_name
from memorist.team.shared_memory_form import compute_text_checksum
from memorist.team.team_client import ServerAccess, ServerRemote
from memorist.team.team_protocol import (
    MAX_REQUEST_BYTES,
    MemoryHashAndSize,
    derive_space_name_from_remote,
)
from memorist.team.team_remote import LastSeenRemoteState, RemoteChange
from memorist.team.team_server import (
    FORWARDED_HEADERS,
    TeamApplication,
    TeamServerLimits,
    bind_socket_refusing_open_access,
)
from memorist.team.team_store import (
    TeamMemoryWrite,
    TeamStore,
    TeamStoreFull,
    TeamTokenHolder,
    open_team_store,
)
from support.other_user import let_another_user_connect
from support.postgres_server import postgres
from team.conftest import TOKEN, Machine, note

EVERYWHERE = ".".join("0000")


@contextmanager
def serving(store: TeamStore, limits: TeamServerLimits | None = None) -> Iterator[int]:
    """A server in a thread; gives its port."""
    listening = bind_socket_refusing_open_access("127.0.0.1", 0, store)
    server = uvicorn.Server(
        uvicorn.Config(
            TeamApplication(store, limits).asgi,
            log_level="critical",
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TeamStore]:
    made = open_team_store(str(tmp_path / "team.sqlite"), most=20)
    yield made
    made.close()


@pytest.fixture
def port(store: TeamStore) -> Iterator[int]:
    with serving(store) as number:
        yield number


def client(
    port: int, *, token: str = "", space: str = "shop", seconds: float = 20.0
) -> ServerRemote:
    access = ServerAccess(
        url=f"http://127.0.0.1:{port}", space=space, token=token, timeout_seconds=seconds, retries=1
    )
    return ServerRemote(access, sleep=lambda _: None)


def ask(
    port: int,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, json.loads(
        data
    ) if data and answer.headers.get_content_type() == "application/json" else data


def change(key: str, text: str | None, was: str = "") -> bytes:
    return json.dumps({"changes": {key: {"text": text, "was": was}}}).encode()


@pytest.mark.covers("TM-2")
def test_two_machines_share_by_the_server(tmp_path: Path, port: int) -> None:
    """New, changed, deleted: all arrives, and a look when nothing changed is answered by the entity
    tag alone.
    """
    a, b = Machine(tmp_path / "a", client(port)), Machine(tmp_path / "b", client(port))
    a.write("release.md", note("We release on Tuesdays."))
    a.sync.pull_and_push()
    b.sync.pull_and_push()
    b.write("release.md", note("We release on Mondays."))
    b.sync.pull_and_push()
    a.sync.pull_and_push()

    assert a.body("release.md") == "We release on Mondays."
    assert client(port).fetch_listing(a.sync.load_state().seen) is None
    (a.team / "release.md").unlink()
    a.sync.pull_and_push()
    assert b.sync.pull_and_push().dropped == ("release.md",)


@pytest.mark.covers("TM-2")
def test_an_answer_has_a_limit_and_the_client_asks_for_the_rest(
    port: int, store: TeamStore, tmp_path: Path
) -> None:
    """Large memories come in several answers; one request for all of them gets the first ones."""
    remote = client(port)
    big = {f"m{number}.md": f"{number} {'x' * 190_000}\n" for number in range(8)}
    seen = LastSeenRemoteState(id=store.read_or_create_snapshot("shop").id, version="0")
    for key, text in big.items():
        seen = remote.push_changes({key: RemoteChange(text, "")}, seen)

    look = remote.fetch_listing(LastSeenRemoteState())

    assert look is not None
    assert remote.read_texts(sorted(big), look.sizes) == big
    status, told = ask(
        port, "POST", "/v1/team/shop/read", json.dumps({"keys": sorted(big)}).encode()
    )
    assert status == 200
    assert 0 < len(told["texts"]) < len(big)


@pytest.mark.covers("TM-2", "SF-4")
def test_puts_are_conditional_and_whole(port: int, store: TeamStore) -> None:
    """A change of what is no longer as it was is refused with all that came with it; so is one
    whose entity tag is old.
    """
    remote = client(port)
    seen = remote.push_changes(
        {"a.md": RemoteChange(note("A."), "")},
        LastSeenRemoteState(id=store.read_or_create_snapshot("shop").id, version="0"),
    )
    with pytest.raises(RemoteChanged):
        remote.push_changes(
            {"new.md": RemoteChange("new\n", ""), "a.md": RemoteChange(note("B."), "")}, seen
        )
    status, _ = ask(port, "PUT", "/v1/team/shop", change("b.md", "B\n"), {"if-match": '"old-1"'})

    assert status == 412
    assert seen.version == "1"
    assert seen.tag
    assert set(store.read_or_create_snapshot("shop").entries) == {"a.md"}
    assert (
        ask(port, "PUT", "/v1/team/shop", change("b.md", "B\n"), {"if-match": seen.tag})[0] == 200
    )


@pytest.mark.covers("TM-2")
def test_many_writers_of_one_memory_are_served_one_after_the_other(
    port: int, store: TeamStore
) -> None:
    """Of ten who change the same state at once one gets through; the others are told to look again."""
    found: list[str] = []

    def write(number: int) -> None:
        try:
            client(port).push_changes(
                {"a.md": RemoteChange(f"{number}\n", "")}, LastSeenRemoteState()
            )
            found.append("done")
        except RemoteChanged:
            found.append("moved")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(found) == ["done", *["moved"] * 9]
    assert store.read_or_create_snapshot("shop").version == 1


@pytest.mark.covers("TM-2", "TM-3", "TM-4", "SF-6")
@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/team/shop", change("../x.md", "x\n"), 400),
        ("/v1/team/shop", change("%2e%2e%2fx.md", "x\n"), 400),
        ("/v1/team/shop", change("a\0.md", "x\n"), 400),
        ("/v1/team/shop", change("a.md", f"The token is {TOKEN}.\n"), 422),
        ("/v1/team/shop", change("a.md", note("Jo likes tea.", kind="user")), 422),
        ("/v1/team/shop", change("a.md", "x" * 250_001), 413),
        ("/v1/team/shop", b"x" * (MAX_REQUEST_BYTES + 1), 413),
        ("/v1/team/shop", change("a.md", "x\n", "md5:1"), 400),
        ("/v1/team/shop", b"[" * 100_000, 400),
        ("/v1/team/shop", b"\xff\xfe", 400),
        (
            "/v1/team/shop",
            json.dumps(
                {"changes": {f"k{number}.md": {"text": "x\n"} for number in range(21)}}
            ).encode(),
            413,
        ),
        ("/v1/team/..%2fshop", change("a.md", "x\n"), 404),
        ("/v1/team/shop", change("a.md", "lone \ud800\n"), 400),
        ("/v1/team/shop", change("lone\ud800.md", "x\n"), 400),
        ("/v1/team/-shop", change("a.md", "x\n"), 400),
    ],
    ids=[
        "upwards",
        "percent",
        "null",
        "secret",
        "person",
        "entry",
        "body",
        "checksum",
        "deep",
        "bytes",
        "many",
        "space",
        "surrogate",
        "key",
        "name",
    ],
)
def test_what_a_hostile_client_sends_is_refused_and_nothing_is_kept(
    port: int, store: TeamStore, path: str, body: bytes, status: int
) -> None:
    """Names, secrets, sizes, counts and nonsense: a short answer with the reason, which never holds
    the secret; the server goes on.
    """
    found, told = ask(port, "PUT", path, body)

    assert found == status
    assert TOKEN not in str(told)
    assert store.read_or_create_snapshot("shop").entries == {}
    assert ask(port, "GET", "/healthz")[0] == 200


@pytest.mark.covers("SF-6")
def test_only_known_hosts_are_answered(store: TeamStore, port: int) -> None:
    """A page in a browser that has its own name point at this machine gets nothing; neither does a
    request with two names, or none.
    """
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", ""):
        assert ask(port, "GET", "/v1/team/shop", headers={"host": host})[0] == 421
    for host in ("localhost", "127.0.0.1:99", "[::1]:8642", "LOCALHOST"):
        assert ask(port, "GET", "/v1/team/shop", headers={"host": host})[0] == 200
    with serving(store, TeamServerLimits(hosts=frozenset({"team.example"}))) as named:
        assert ask(named, "GET", "/v1/team/shop", headers={"host": "team.example"})[0] == 200
        assert ask(named, "GET", "/v1/team/shop")[0] == 421
    assert parse_host_name("[2001:db8::1]:80") == "2001:db8::1"


@pytest.mark.covers("SF-6")
def test_beyond_this_machine_a_token_is_needed(store: TeamStore) -> None:
    """The server does not listen elsewhere without one."""
    with pytest.raises(UsageError, match="memorist team token"):
        bind_socket_refusing_open_access(EVERYWHERE, 0, store)
    store.add_token("jo")
    bind_socket_refusing_open_access(EVERYWHERE, 0, store).close()


@pytest.mark.covers("SF-6")
@pytest.mark.parametrize("name", ["team.example", "*"])
def test_a_name_that_others_know_needs_a_token(store: TeamStore, name: str) -> None:
    """A server that is told to answer to a name of the network is behind a proxy, and would let
    everybody in; with a token it serves.
    """
    limits = TeamServerLimits(hosts=LOOPBACK_NAMES | {name})

    with pytest.raises(UsageError, match="make a token first"):
        bind_socket_refusing_open_access("127.0.0.1", 0, store, limits)
    store.add_token("jo")
    bind_socket_refusing_open_access("127.0.0.1", 0, store, limits).close()


@pytest.mark.covers("SF-6")
@pytest.mark.parametrize("header", FORWARDED_HEADERS)
def test_what_a_proxy_passes_on_comes_from_anywhere(port: int, header: str) -> None:
    """Without a token this machine's own requests are served, and no forwarded one, though it comes
    from this machine too.
    """
    assert ask(port, "GET", "/v1/team/shop")[0] == 200
    assert ask(port, "GET", "/v1/team/shop", headers={header: "203.0.113.7"})[0] == 401


@pytest.mark.covers("SF-6")
def test_without_a_token_the_server_is_for_its_own_user(
    store: TeamStore, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others of this machine need one as well."""
    let_another_user_connect(monkeypatch)
    assert ask(port, "GET", "/v1/team/shop")[0] == 401
    token = store.add_token("jo")
    assert ask(port, "GET", "/v1/team/shop", headers={"authorization": f"Bearer {token}"})[0] == 200


@pytest.mark.covers("SF-6")
def test_the_last_token_that_is_taken_back_opens_the_server_to_nobody(tmp_path: Path) -> None:
    """It may be reached from elsewhere, and whoever had the token knows where; neither does a start
    anew open it, nor is it closed by a name that no token has.
    """
    path = str(tmp_path / "team.sqlite")
    store = open_team_store(path, most=20)
    assert store.revoke_tokens("nobody") == 0
    with serving(store) as port:
        assert ask(port, "GET", "/v1/team/shop")[0] == 200
        store.add_token("jo")
        assert store.revoke_tokens("jo") == 1
        assert ask(port, "GET", "/v1/team/shop")[0] == 401
    store.close()
    store = open_team_store(path, most=20)
    assert store.list_tokens() == []
    with serving(store) as port:
        assert ask(port, "GET", "/v1/team/shop")[0] == 401
        assert ask(port, "PUT", "/v1/team/shop", change("a.md", "x\n"))[0] == 401
    with pytest.raises(UsageError, match="make a token first"):
        bind_socket_refusing_open_access(EVERYWHERE, 0, store)
    store.close()


@pytest.mark.covers("SF-6")
def test_a_token_opens_what_it_is_for(store: TeamStore, port: int, tmp_path: Path) -> None:
    """Once there is one, none and a wrong one are refused; one may be for one team, may only read,
    and may be taken back. The file holds hashes.
    """
    every, one, reading = (
        store.add_token("every"),
        store.add_token("one", space="shop"),
        store.add_token("reading", writes=False),
    )

    for token in ("", "wrong"):
        with pytest.raises(RemoteRefused, match="401"):
            client(port, token=token).fetch_listing(LastSeenRemoteState())
    assert client(port, token=every, space="other").fetch_listing(LastSeenRemoteState()) is not None
    with pytest.raises(RemoteRefused, match="403"):
        client(port, token=one, space="other").fetch_listing(LastSeenRemoteState())
    with pytest.raises(RemoteRefused, match="403"):
        client(port, token=one, space="other").list_revisions()
    assert client(port, token=reading).fetch_listing(LastSeenRemoteState()) is not None
    with pytest.raises(RemoteRefused, match="403"):
        client(port, token=reading).push_changes(
            {"a.md": RemoteChange("a\n", "")}, LastSeenRemoteState()
        )
    store.revoke_tokens("every")
    with pytest.raises(RemoteRefused, match="401"):
        client(port, token=every).fetch_listing(LastSeenRemoteState())
    assert one.encode() not in b"".join(path.read_bytes() for path in tmp_path.glob("team.sqlite*"))


@contextmanager
def telling(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server that says what it likes; gives its port."""
    listening = socket.create_server(("127.0.0.1", 0))
    ending = threading.Event()

    def accept() -> None:
        while not ending.is_set():
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(20)
                try:
                    connection.recv(65_536)
                    answer(connection)
                except OSError:
                    continue

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        ending.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(30)


def said(
    body: bytes, status: str = "200 OK", length: int | None = None
) -> Callable[[socket.socket], None]:
    head = (
        f"HTTP/1.1 {status}\r\ncontent-length: "
        f"{len(body) if length is None else length}\r\nconnection: close\r\n\r\n"
    ).encode()
    return lambda connection: connection.sendall(head + body)


def drip(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
    while True:
        connection.sendall(b" ")
        threading.Event().wait(0.02)


def endless(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b" " * 1_000_000)


VIEW = json.dumps({"id": "x", "version": 3, "entries": {}}).encode()


@pytest.mark.covers("TM-2", "SF-5")
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (said(b"", "503 Busy"), RemoteUnavailable),
        (said(b"", "429 Slow"), RemoteUnavailable),
        (said(b"", "500 Broken"), RemoteUnavailable),
        (lambda connection: None, RemoteUnavailable),
        (lambda connection: connection.sendall(b"nonsense\r\n\r\n"), RemoteUnavailable),
        (lambda connection: threading.Event().wait(3.0), RemoteUnavailable),
        (drip, RemoteUnavailable),
        (said(VIEW, length=len(VIEW) + 50), RemoteUnavailable),
        (endless, RemoteRefused),
        (said(b"<html>"), RemoteRefused),
        (said(b'{"id":"x","version":-1,"entries":{}}'), RemoteRefused),
        (said(b'{"id":"x","version":1e400,"entries":{}}'), RemoteRefused),
        (said(b"[" * 50_000), RemoteRefused),
        (said(b"", "302 Found\r\nlocation: http://127.0.0.1:1/"), RemoteRefused),
        (said(b"", "304 Not Modified"), RemoteRefused),
        (said(b"{}", "401 No"), RemoteRefused),
    ],
    ids=[
        "busy",
        "slow",
        "broken",
        "silent",
        "nonsense",
        "stall",
        "drip",
        "cut",
        "endless",
        "page",
        "minus",
        "huge",
        "deep",
        "away",
        "unasked",
        "token",
    ],
)
def test_a_server_that_fails_or_lies_is_an_error_in_bounded_time(
    answer: Callable[[socket.socket], None], error: type[Exception]
) -> None:
    """It stalls, drips, cuts, floods, redirects, talks nonsense: one of two errors, and never a
    hang.
    """
    # What is refused must have come whole, however busy the machine is.
    with telling(answer) as port, pytest.raises(error):
        client(port, seconds=1.0 if error is RemoteUnavailable else 60.0).fetch_listing(
            LastSeenRemoteState()
        )


@pytest.mark.covers("TM-2", "SF-5")
def test_an_old_answer_is_not_believed() -> None:
    """A replayed state with an older version of the same store is refused; another store's is a new
    beginning; hostile entries are told of.
    """
    with telling(said(VIEW)) as port:
        with pytest.raises(RemoteRolledBack, match="--from-scratch"):
            client(port).fetch_listing(LastSeenRemoteState(id="x", version="4"))
        assert client(port).fetch_listing(LastSeenRemoteState(id="y", version="4")) is not None
    bad = json.dumps(
        {"id": "x", "version": 1, "entries": {"a.md": {"hash": "no", "bytes": 1}}, "gone": ["b.md"]}
    ).encode()
    with telling(said(bad)) as port:
        look = client(port).fetch_listing(LastSeenRemoteState())
    assert look is not None
    assert look.problems
    assert look.deleted == {"b.md"}


@pytest.mark.covers("TM-2", "SF-5")
def test_what_is_to_be_sent_outlives_a_server_that_is_away(
    tmp_path: Path, store: TeamStore
) -> None:
    """Without the server nothing here is lost; when it is back all goes."""
    with serving(store) as port:
        a = Machine(tmp_path / "a", client(port))
        a.write("one.md", note("One."))
        a.sync.pull_and_push()
    a.write("two.md", note("Two."))

    with pytest.raises(RemoteUnavailable, match="stays here"):
        a.sync.pull_and_push()
    with serving(store) as again:
        a.sync = type(a.sync)(a.memory, client(again), files=a.files, settings=a.settings)
        assert a.sync.pull_and_push().sent == ("two.md",)

    assert set(store.read_or_create_snapshot("shop").entries) == {"one.md", "two.md"}


@pytest.mark.covers("TM-2", "SF-6")
@pytest.mark.parametrize(
    "url",
    [
        "http://team.example",
        "https://user:word@team.example",
        "ftp://team.example",
        "https://",
        "https://team.example:99999",
        "https://team.example/?a=1",
        "https://[::1",
        "https://team..example",
        "https://team .example",
        "https://team\n.example",
    ],
)
def test_an_address_that_would_leak_or_lead_nowhere_is_refused(url: str) -> None:
    """Plain HTTP to another machine, names and passwords in the address, other protocols, and what
    is no host: two dots in a row ended the thread that synchronises a session.
    """
    with pytest.raises(SettingsError):
        ServerRemote(ServerAccess(url=url, space="shop"))


@pytest.mark.covers("TM-2")
def test_a_proxy_that_takes_no_large_request_is_named_as_the_reason() -> None:
    """Its answer is no JSON of ours; the person is told which limit to raise."""
    with (
        telling(said(b"<html>too large</html>", "413 Content Too Large")) as port,
        pytest.raises(RemoteRefused, match="reverse proxy"),
    ):
        client(port).push_changes({"a.md": RemoteChange("a\n", "")}, LastSeenRemoteState())


def certificates(folder: Path, name: str) -> tuple[Path, Path]:
    """A key with its certificate in one file, and the authority that signed it in another; made
    now, good for a day.
    """
    x509 = pytest.importorskip(
        "cryptography.x509", reason="making a certificate needs the package cryptography"
    )
    hashes = pytest.importorskip("cryptography.hazmat.primitives.hashes")
    ec = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ec")
    how = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    now = datetime.now(UTC)
    common = x509.oid.NameOID.COMMON_NAME
    issuer = x509.Name([x509.NameAttribute(common, "shop authority")])
    authority, own = (
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP256R1()),
    )

    # from Python 3.13 on, `ssl` asks for what names the keys
    signer = x509.SubjectKeyIdentifier.from_public_key(authority.public_key())
    names_signer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(signer)
    uses = dict.fromkeys(
        (
            "digital_signature", "content_commitment", "key_encipherment", "data_encipherment",
            "key_agreement", "crl_sign", "encipher_only", "decipher_only",
        ),
        False,
    )  # fmt: skip

    def signed(subject: Any, key: Any, *extensions: tuple[Any, bool]) -> bytes:
        begun = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
        )
        begun = begun.serial_number(x509.random_serial_number())
        for extension, is_critical in extensions:
            begun = begun.add_extension(extension, critical=is_critical)
        dated = begun.not_valid_before(now - timedelta(days=1)).not_valid_after(
            now + timedelta(days=1)
        )
        made: bytes = dated.sign(authority, hashes.SHA256()).public_bytes(how.Encoding.PEM)
        return made

    root, server = folder / "authority.pem", folder / "server.pem"
    root.write_bytes(
        signed(
            issuer,
            authority,
            (x509.BasicConstraints(ca=True, path_length=None), True),
            (x509.KeyUsage(key_cert_sign=True, **uses), True),
            (signer, False),
        )
    )
    named = x509.SubjectAlternativeName([x509.DNSName(name)])
    subject = x509.Name([x509.NameAttribute(common, name)])
    key = own.private_bytes(how.Encoding.PEM, how.PrivateFormat.PKCS8, how.NoEncryption())
    server.write_bytes(key + signed(subject, own, (named, False), (names_signer, False)))
    return root, server


@contextmanager
def behind_tls(port: int, certificate: Path) -> Iterator[int]:
    """What a reverse proxy does for one request after another: TLS off, bytes on."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                plain, _ = listening.accept()
            except OSError:
                return
            with (
                suppress(OSError),
                context.wrap_socket(plain, server_side=True) as outside,
                socket.create_connection(("127.0.0.1", port)) as inside,
            ):
                inside.sendall(
                    outside.recv(65_536).replace(
                        b"Accept-Encoding: identity\r\n", b"Connection: close\r\n"
                    )
                )
                while part := inside.recv(65_536):
                    outside.sendall(part)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(30)


@pytest.mark.covers("TM-2", "SF-6")
def test_a_certificate_of_ones_own_is_trusted_where_its_authority_is_named(
    port: int, tmp_path: Path
) -> None:
    """By `team.ca_file`; without it, or for another name, the server is refused at once, and the
    reason says what to do.
    """
    root, server = certificates(tmp_path, "localhost")
    (other := tmp_path / "other").mkdir()
    known, elsewhere = certificates(other, "team.example")
    pauses: list[float] = []

    def reached(at: int, ca_file: str) -> ServerRemote:
        return ServerRemote(
            ServerAccess(url=f"https://localhost:{at}", space="shop", ca_file=ca_file),
            sleep=pauses.append,
        )

    with behind_tls(port, server) as at:
        assert reached(at, str(root)).fetch_listing(LastSeenRemoteState()) is not None
        with pytest.raises(RemoteRefused, match=r"team\.ca_file"):
            reached(at, "").fetch_listing(LastSeenRemoteState())
    with behind_tls(port, elsewhere) as at, pytest.raises(RemoteRefused, match="certificate"):
        reached(at, str(known)).fetch_listing(LastSeenRemoteState())
    assert pauses == []


@pytest.mark.covers("TM-2")
@pytest.mark.parametrize("text", [None, "no certificate"])
def test_a_file_of_authorities_that_is_none_is_told_at_once(
    tmp_path: Path, text: str | None
) -> None:
    """Missing, or without a certificate in it."""
    path = tmp_path / "authority.pem"
    if text is not None:
        path.write_text(text, "utf-8")

    with pytest.raises(SettingsError, match=r"team\.ca_file"):
        ServerRemote(ServerAccess(url="https://team.example", space="shop", ca_file=str(path)))


@pytest.mark.covers("TM-2")
def test_a_project_has_one_name_however_it_was_cloned() -> None:
    """By SSH, by HTTPS, with and without `.git`."""
    forms = [
        "git@git.example:team/shop.git",
        "https://git.example/team/shop",
        "ssh://git@git.example:22/team/shop.git",
        "https://jo@git.example/Team/Shop/",
    ]

    assert len({derive_space_name_from_remote(form) for form in forms}) == 1
    assert compute_text_checksum("a") != compute_text_checksum("b")


@pytest.mark.covers("SF-6")
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/team/shop/read", {"keys": [f"{number}.md" for number in range(5_001)]}),
        ("PUT", "/v1/team/shop", {"changes": {f"{n}.md": {"text": None} for n in range(5_001)}}),
    ],
)
def test_a_request_names_no_more_than_a_team_may_have(
    port: int, method: str, path: str, body: dict[str, object]
) -> None:
    """Each name is a query while others wait: two megabytes of names would keep them waiting."""
    assert ask(port, method, path, json.dumps(body).encode())[0] == 413


@pytest.mark.covers("TM-2", "SF-6")
def test_deletions_never_grow_a_team_beyond_what_a_client_reads(
    port: int, store: TeamStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deletion of what was never there is no change; of real ones the newest are remembered, so
    that a machine that comes back learns of them.
    """
    monkeypatch.setattr("memorist.team.team_store.MAX_TOMBSTONES", 3)
    never = {f"never{number}.md": {"text": None} for number in range(500)}

    assert ask(port, "PUT", "/v1/team/shop", json.dumps({"changes": never}).encode())[0] == 200
    assert store.read_or_create_snapshot("shop").version == 0
    for number in range(5):
        assert ask(port, "PUT", "/v1/team/shop", change(f"k{number}.md", "x\n"))[0] == 200
        was = compute_text_checksum("x\n")
        assert ask(port, "PUT", "/v1/team/shop", change(f"k{number}.md", None, was))[0] == 200

    listing = client(port).fetch_listing(LastSeenRemoteState())

    assert store.read_or_create_snapshot("shop").deleted == ["k2.md", "k3.md", "k4.md"]
    assert listing is not None
    assert listing.deleted == {"k2.md", "k3.md", "k4.md"}


@pytest.mark.covers("TM-2", "SF-4")
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_both_databases_keep_the_same(kind: str, tmp_path: Path) -> None:
    """Versions, checksums, marks of deletion, limits, whole changes and tokens; a store that is
    opened again has what was answered for.
    """
    with (
        postgres() if kind == "postgresql" else nullcontext(str(tmp_path / "team.sqlite")) as place
    ):
        store = open_team_store(place, most=2)
        one, two = (
            TeamMemoryWrite("one\n", compute_text_checksum("one\n"), ""),
            TeamMemoryWrite("two\n", compute_text_checksum("two\n"), ""),
        )

        assert store.apply_writes("shop", {"a.md": one, "b.md": two}, "jo") == {}
        assert store.apply_writes("shop", {"a.md": two, "c.md": one}, "jo") == {
            "a.md": one.new_hash
        }
        with pytest.raises(TeamStoreFull):
            store.apply_writes("shop", {"c.md": one}, "jo")
        assert store.apply_writes(
            "shop", {"b.md": TeamMemoryWrite(None, "", two.new_hash)}, "kim", version=0
        ) == {"": ""}
        assert (
            store.apply_writes(
                "shop", {"b.md": TeamMemoryWrite(None, "", two.new_hash)}, "kim", version=1
            )
            == {}
        )
        token = store.add_token("jo", space="shop", writes=False)
        found = store.read_or_create_snapshot("shop")
        store.close()
        again = open_team_store(place, most=2)

        assert again.read_or_create_snapshot("shop") == found
        assert (found.version, found.entries, found.deleted) == (
            2,
            {"a.md": MemoryHashAndSize(one.new_hash, 4)},
            ["b.md"],
        )
        assert {key: name for key, (name, _) in found.by.items()} == {"a.md": "jo", "b.md": "kim"}
        noted = [
            (each.key, each.version, each.by, each.deleted)
            for each in again.list_revisions("shop", most=9)
        ]
        assert noted == [
            ("b.md", 2, "kim", True),
            ("a.md", 1, "jo", False),
            ("b.md", 1, "jo", False),
        ]
        assert [each.version for each in again.list_revisions("shop", "b.md", most=9)] == [2, 1]
        assert again.find_team_id_and_version("shop") == (found.id, 2)
        assert again.read_texts("shop", ["a.md", "b.md", "c.md"], most=100) == {"a.md": "one\n"}
        assert again.read_or_create_snapshot("other").id != found.id
        assert again.find_token(token) == TeamTokenHolder("jo", "shop", writes=False)
        assert again.find_token("x") is None
        assert again.revoke_tokens("jo") == 1
        assert again.list_tokens() == []
        again.close()
