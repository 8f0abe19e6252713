"""Which headers are passed on in each direction, and which requests are admitted. Pure.

Headers carry API keys. They are passed on and never inspected, except for a salted hash that keeps
the conversations of different keys apart.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping

from memorist.proxy.tenancy import Tenancy
from memorist.safety.doors import LOOPBACK, answers_to, same_token

_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Hop-by-hop headers (RFC 9110, section 7.6.1)."""
_OURS = "x-memorist"
_READABLE = frozenset({"gzip", "deflate", "zstd", "identity", "*"})
"""Encodings of a reply that the proxy can decode."""
_KEYS = ("authorization", "x-api-key", "api-key")

Pairs = list[tuple[str, str]]


def towards_upstream(given: Iterable[tuple[str, str]], *, read: bool, rewritten: bool) -> Pairs:
    """The client's headers for the provider, in order.

    `read`: the reply will be read on the side, so it must come in a readable encoding. `rewritten`:
    the body was replaced and is not compressed.
    """
    pairs = list(given)
    gone = _HOP | _named(pairs) | {"host", "content-length", "expect"} | ({"content-encoding"} if rewritten else set())
    kept = []
    for name, value in pairs:
        lowered = name.lower()
        if lowered in gone or lowered == _OURS or lowered.startswith(f"{_OURS}-"):
            continue
        kept.append((name, _readable(value) if read and lowered == "accept-encoding" else value))
    return kept


def towards_client(given: Iterable[tuple[str, str]]) -> Pairs:
    """The provider's headers for the client, in order."""
    pairs = list(given)
    gone = _HOP | _named(pairs)
    return [(name, value) for name, value in pairs if name.lower() not in gone]


def _named(pairs: Pairs) -> set[str]:
    return {word.strip().lower() for name, value in pairs if name.lower() == "connection" for word in value.split(",")}


def _readable(value: str) -> str:
    kept = [part.strip() for part in value.split(",") if part.partition(";")[0].strip().lower() in _READABLE]
    return ", ".join(kept) or "identity"


def plain(text: str) -> str:
    """A text as a header value: at most 200 characters, printable ASCII."""
    return "".join(sign if " " <= sign <= "~" else "?" for sign in text[:200])


def caller_of(headers: Mapping[str, str], salt: bytes) -> str:
    """A salted hash of the request's API key: conversations of different keys are never mixed."""
    given = "\0".join(headers.get(name, "") for name in _KEYS)
    return hashlib.blake2b(given.encode("utf-8", "surrogateescape"), key=salt, digest_size=12).hexdigest()


def refusal(headers: Mapping[str, str], given_hosts: Collection[str], names: Collection[str]) -> tuple[int, str] | None:
    """Status and reason if a request must be refused for its host or origin; None if it is admitted
    (SF-6).

    The Host header must name this machine or one of `allowed_hosts`, so that no web page reaches
    the proxy through a DNS name of its own; pages of other sites are refused by their Origin.
    """
    known = LOOPBACK | set(names)
    if not answers_to(tuple(given_hosts), known):
        return 421, "memorist's proxy does not answer to this name; see --allow-host"
    origin = headers.get("origin", "")
    if origin.lower().startswith(("http:", "https:")) and not answers_to((origin.partition("://")[2].partition("/")[0],), known):
        return 403, "memorist's proxy does not answer pages of other sites; see --allow-host"
    return None


def admitted(headers: Mapping[str, str], token: str, tenant: str, tenancy: Tenancy) -> tuple[int, str] | None:
    """Status and reason if a request must be refused for its token or tenant; None if it is
    admitted.

    With a `token`, the client must send it in `x-memorist-token`; a tenant's own token replaces it.
    A request of an unknown tenant is refused, unless the settings pass those through.
    """
    known = bool(tenant) and not tenancy.by_header
    if token and not known and not same_token(headers.get("x-memorist-token", ""), token):
        return 401, "memorist's proxy needs its token in the header x-memorist-token"
    if not tenancy.many or tenant or tenancy.unknown == "pass":
        return None
    if tenancy.by_header:
        return 400, "memorist's proxy serves several tenants; name one in the header x-memorist-tenant"
    return 401, "memorist's proxy serves several tenants; send a tenant's token in the header x-memorist-token"
