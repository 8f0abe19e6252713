"""Find the provider of a request, and whether it is a model call. Pure."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from msgspec import Struct

from memorist.core.text_analysis import word_set
from memorist.errors import SettingsError
from memorist.proxy.client_identity import decode_header
from memorist.safety.server_access import LOOPBACK_NAMES, is_host_allowed, is_same_token

_CALL_PATHS = (
    (re.compile(r"(?:/v\d+)?/messages/?"), "anthropic"),
    (re.compile(r"(?:/.*)?/responses/?"), "openai_responses"),
    (re.compile(r"(?:/.*)?/chat/completions/?"), "openai_chat"),
)
"""Paths of model calls.

`/messages` must stand alone: OpenAI uses it below `/threads/ID` for something else.
"""

_FORMAT_UPSTREAMS = {
    "anthropic": "anthropic",
    "openai_responses": "openai",
    "openai_chat": "openai",
}
"""The upstream of a format where the path names none."""


class Route(Struct, frozen=True, kw_only=True):
    """Where a request goes."""

    upstream: str
    """Name of the provider; empty if none fits."""
    path: str
    """Path and query below the provider's base URL, as the client wrote them."""
    format: str = ""
    """The wire format of a model call; empty for any other request."""


def find_route(
    method: str, target: str, headers: Mapping[str, str], upstreams: Mapping[str, str]
) -> Route:
    """Find the route of a request with this target (path and query).

    `headers` have lower-case names.

    The first part of the path may name an upstream: `/openrouter/v1/chat/completions`. Without it,
    a model call goes to the upstream named after its format (`anthropic`, `openai`) or to the only
    one there is; other requests are assigned by the headers that Anthropic's clients send.
    """
    path, mark, query = target.partition("?")
    name, _, rest = path.removeprefix("/").partition("/")
    named = name if name in upstreams else ""
    below = f"/{rest}" if named else path
    format = _detect_format(below) if method == "POST" else ""
    upstream = named or _default_upstream(format, headers, upstreams)
    return Route(upstream=upstream, path=below + mark + query, format=format)


_ESCAPED = re.compile("%(?:[uU]00)?([0-9a-fA-F]{2})")
_LONG_DOT = "\xc0\xae"
"""A dot in UTF-8 of two bytes, which is none, and which some decoders take."""
_MAX_ENCODINGS = 5
"""Times that a path is decoded; one that is encoded as often counts as leaving its base."""


def leaves_base(path: str) -> bool:
    """Whether a path holds a segment `.` or `..`, however often it is percent-encoded, and in any
    spelling that some server reads so (`..;`, `%u002e`, the long UTF-8 of a dot, a space behind
    it): behind a provider's base address it would name something else.
    """
    plain = path.partition("?")[0]
    for _ in range(_MAX_ENCODINGS):
        plain, before = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), plain), plain
        if plain == before:
            break
    else:
        return True  # nobody encodes a path that often for a good reason
    parts = re.split(r"[/\\]", plain.replace(_LONG_DOT, "."))
    return any(part.partition(";")[0].strip("\0\t\r\n ") in (".", "..") for part in parts)


def _detect_format(path: str) -> str:
    return next((format for pattern, format in _CALL_PATHS if pattern.fullmatch(path)), "")


def _default_upstream(format: str, headers: Mapping[str, str], upstreams: Mapping[str, str]) -> str:
    if len(upstreams) == 1:
        return next(iter(upstreams))
    anthropic = format == "anthropic" or (
        not format and ("anthropic-version" in headers or "x-api-key" in headers)
    )
    wanted = _FORMAT_UPSTREAMS.get(format, "anthropic" if anthropic else "openai")
    return wanted if wanted in upstreams else ""


def join_url(base: str, path: str) -> str:
    """Join a base URL and a path; a `/v1` that both have is used once."""
    base = base.rstrip("/")
    version = re.search(r"/v\d+$", base)
    if version and (path == version[0] or path.startswith((f"{version[0]}/", f"{version[0]}?"))):
        path = path[len(version[0]) :]
    return base + path


# Identify the tenant of a request where one proxy serves many. Pure.


TENANTS_BY_HEADER = "header"
"""Value of the setting `proxy.tenants` that takes the tenant's name from the header
`x-memorist-tenant`.
"""
MIN_TOKEN_LENGTH = 16
"""Fewest characters of a tenant's token: 16 random letters and digits hold 95 bits. Our choice."""
_HASHED = re.compile(r"sha256:([0-9a-f]{64})")


class Tenancy(Struct, frozen=True, kw_only=True):
    """How tenants are identified. With neither field set there are none: all share one home."""

    tokens: Mapping[str, str] = {}
    """Tenant names by the SHA-256 of their token, in hex."""
    by_header: bool = False
    """Clients name their tenant in `x-memorist-tenant`."""
    unknown: Literal["refuse", "pass"] = "refuse"
    """Whether a request of an unknown tenant is refused, or passed through unchanged."""

    @property
    def has_tenants(self) -> bool:
        """Whether there are tenants at all."""
        return self.by_header or bool(self.tokens)


def find_tenant(headers: Mapping[str, str], tenancy: Tenancy) -> str:
    """The tenant of a request; empty if unknown. `headers` have lower-case names."""
    if tenancy.by_header:
        return decode_header(headers.get("x-memorist-tenant", "")).strip()
    return tenancy.tokens.get(_hash_token(headers.get("x-memorist-token", "")), "")


def _hash_token(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def parse_tenant_tokens(text: str, source: str, *, private: bool) -> dict[str, str]:
    """Parse a tenants file: TOML with one table `[tenants]` from names to tokens, or to `sha256:`
    and a token's hash.

    `source` names the file in errors. `private`: only its owner can read the file, so it may hold
    plain tokens. Raises SettingsError for an invalid file, a token that is too short or repeated,
    and a file with plain tokens that others can read.
    """
    try:
        given = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"the tenants' file {source} is not valid TOML: {error}") from error
    found = given.get("tenants")
    if set(given) != {"tenants"} or not isinstance(found, dict) or not found:
        raise SettingsError(
            f"the tenants' file {source} holds one table [tenants], with a line NAME = "
            f'"TOKEN" for each of them'
        )
    tokens = dict[str, str]()
    for name, token in found.items():
        mark = _token_hash(token, f"{name!r} in {source}", private=private)
        if not name or mark in tokens:
            raise SettingsError(
                f"{name!r} in {source} has no name, or the token of another tenant; give each "
                f"a token of its own"
            )
        tokens[mark] = name
    return tokens


def _token_hash(token: object, where: str, *, private: bool) -> str:
    if isinstance(token, str) and token.startswith("sha256:"):
        hashed = _HASHED.fullmatch(token.lower())
        if hashed is None:
            raise SettingsError(
                f"{where}: `sha256:` is followed by the 64 hex digits of the token's hash"
            )
        return hashed[1]
    if (
        not isinstance(token, str)
        or len(token) < MIN_TOKEN_LENGTH
        or not token.isascii()
        or not token.isprintable()
        or token != token.strip()
    ):
        raise SettingsError(
            f"{where}: a token is a text of {MIN_TOKEN_LENGTH} printable ASCII characters or "
            f"more, or `sha256:` and its hash"
        )
    if not private:
        raise SettingsError(
            f"{where}: others can read the file; make it private (chmod 600), or write "
            f"`sha256:` and the token's hash"
        )
    return _hash_token(token)


# Which headers are passed on in each direction, and which requests are admitted. Pure.


_HOP_HEADERS = word_set(
    """
         connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer
    transfer-encoding upgrade
    """
)
"""Hop-by-hop headers (RFC 9110, section 7.6.1)."""
_OWN_PREFIX = "x-memorist"
_READABLE_ENCODINGS = frozenset({"gzip", "deflate", "zstd", "identity", "*"})
"""Encodings of a reply that the proxy can decode."""
_KEY_HEADERS = ("authorization", "x-api-key", "api-key")

HeaderPairs = list[tuple[str, str]]


def filter_request_headers(
    headers: Iterable[tuple[str, str]], *, read: bool, rewritten: bool
) -> HeaderPairs:
    """The client's headers for the provider, in order.

    `read`: the reply will be read on the side, so it must come in a readable encoding. `rewritten`:
    the body was replaced and is not compressed.
    """
    pairs = list(headers)
    dropped = (
        _HOP_HEADERS
        | _connection_headers(pairs)
        | {"host", "content-length", "expect"}
        | ({"content-encoding"} if rewritten else set())
    )
    kept = []
    for name, value in pairs:
        lowered = name.lower()
        if lowered in dropped or lowered == _OWN_PREFIX or lowered.startswith(f"{_OWN_PREFIX}-"):
            continue
        kept.append(
            (name, _readable_encodings(value) if read and lowered == "accept-encoding" else value)
        )
    return kept


def filter_reply_headers(headers: Iterable[tuple[str, str]]) -> HeaderPairs:
    """The provider's headers for the client, in order."""
    pairs = list(headers)
    dropped = _HOP_HEADERS | _connection_headers(pairs)
    return [(name, value) for name, value in pairs if name.lower() not in dropped]


def _connection_headers(pairs: HeaderPairs) -> set[str]:
    return {
        word.strip().lower()
        for name, value in pairs
        if name.lower() == "connection"
        for word in value.split(",")
    }


def _readable_encodings(value: str) -> str:
    kept = [
        part.strip()
        for part in value.split(",")
        if part.partition(";")[0].strip().lower() in _READABLE_ENCODINGS
    ]
    return ", ".join(kept) or "identity"


def clean_header_value(text: str) -> str:
    """A text as a header value: at most 200 characters, printable ASCII."""
    return "".join(sign if " " <= sign <= "~" else "?" for sign in text[:200])


def hash_caller(headers: Mapping[str, str], salt: bytes) -> str:
    """A salted hash of the request's API key: conversations of different keys are never mixed."""
    given = "\0".join(headers.get(name, "") for name in _KEY_HEADERS)
    return hashlib.blake2b(
        given.encode("utf-8", "surrogateescape"), key=salt, digest_size=12
    ).hexdigest()


def check_host(
    headers: Mapping[str, str], host_headers: Collection[str], allowed_hosts: Collection[str]
) -> tuple[int, str] | None:
    """Status and reason if a request must be refused for its host or origin; None if it is admitted
    (SF-6).

    The Host header must name this machine or one of `allowed_hosts`, so that no web page reaches
    the proxy through a DNS name of its own; pages of other sites are refused by their Origin, and
    so is the origin `null`, which any page gives itself in a sandboxed frame.
    """
    known = LOOPBACK_NAMES | set(allowed_hosts)
    if not is_host_allowed(tuple(host_headers), known):
        return 421, "memorist's proxy does not answer to this name; see --allow-host"
    origin = headers.get("origin", "").lower()
    is_page = origin == "null" or origin.startswith(("http:", "https:"))
    host = origin.partition("://")[2].partition("/")[0] or origin
    if is_page and not is_host_allowed((host,), known):
        return 403, "memorist's proxy does not answer pages of other sites; see --allow-host"
    return None


def check_token(
    headers: Mapping[str, str], token: str, tenant: str, tenancy: Tenancy
) -> tuple[int, str] | None:
    """Status and reason if a request must be refused for its token or tenant; None if it is
    admitted.

    With a `token`, the client must send it in `x-memorist-token`; a tenant's own token replaces it.
    A request of an unknown tenant is refused, unless the settings pass those through.
    """
    known = bool(tenant) and not tenancy.by_header
    if token and not known and not is_same_token(headers.get("x-memorist-token", ""), token):
        return 401, "memorist's proxy needs its token in the header x-memorist-token"
    if not tenancy.has_tenants or tenant or tenancy.unknown == "pass":
        return None
    if tenancy.by_header:
        return (
            400,
            "memorist's proxy serves several tenants; name one in the header x-memorist-tenant",
        )
    return (
        401,
        "memorist's proxy serves several tenants; send a tenant's token in the header "
        "x-memorist-token",
    )
