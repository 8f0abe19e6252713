"""Which headers the proxy passes on in each direction, and which requests it admits. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping

from memorist.core.text_analysis import parse_word_list
from memorist.proxy.tenant_lookup import TenantIdentificationRules
from memorist.safety.server_access import LOOPBACK_NAMES, is_host_allowed, is_same_token

_HOP_HEADERS = parse_word_list(
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


def sanitize_header_value(text: str) -> str:
    """A text as a header value: at most 200 characters, printable ASCII."""
    return "".join(sign if " " <= sign <= "~" else "?" for sign in text[:200])


def hash_api_key_of_caller(headers: Mapping[str, str], salt: bytes) -> str:
    """A salted hash of the request's API key: conversations of different keys are never mixed."""
    given = "\0".join(headers.get(name, "") for name in _KEY_HEADERS)
    return hashlib.blake2b(
        given.encode("utf-8", "surrogateescape"), key=salt, digest_size=12
    ).hexdigest()


def find_host_or_origin_refusal(
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


def find_token_or_tenant_refusal(
    headers: Mapping[str, str], token: str, tenant: str, tenancy: TenantIdentificationRules
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
