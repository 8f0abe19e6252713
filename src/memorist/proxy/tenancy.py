"""Which tenant a request is of, where one proxy serves many. Pure."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from memorist.errors import SettingsError
from memorist.proxy.identify import as_text

HEADER = "header"
"""The setting `proxy.tenants` that takes a tenant's name from the header `x-memorist-tenant`."""
LEAST_TOKEN = 16
"""Fewest characters of a tenant's token: of random letters and digits they hold 95 bits. Ours."""
_HASHED = re.compile(r"sha256:([0-9a-f]{64})")


class Tenancy(Struct, frozen=True, kw_only=True):
    """How tenants are known. None are where neither is set: all share one home."""

    tokens: Mapping[str, str] = {}
    """SHA-256 of each token, in hex, to the tenant's name."""
    by_header: bool = False
    """Whoever may use the proxy says in `x-memorist-tenant` whom a request is of."""
    unknown: Literal["refuse", "pass"] = "refuse"
    """What becomes of a request of nobody who is known: it is refused, or passed on as it came."""

    @property
    def many(self) -> bool:
        """Whether there are tenants at all."""
        return self.by_header or bool(self.tokens)


def tenant_of(headers: Mapping[str, str], tenancy: Tenancy) -> str:
    """The tenant whose request this is; empty for one of nobody who is known. `headers` have lower-case names."""
    if tenancy.by_header:
        return as_text(headers.get("x-memorist-tenant", "")).strip()
    return tenancy.tokens.get(_hash(headers.get("x-memorist-token", "")), "")


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def read_tokens(text: str, where: str, *, private: bool) -> dict[str, str]:
    """The tenants of a file `where`: TOML, with a table `[tenants]` from each name to its token, or to `sha256:` and the hash of it. `private`: nobody but
    its owner can read the file, so that tokens may stand in it as they are.

    Raises SettingsError for what is no such file, a token that is too short or stands twice, and one that others can read.
    """
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"the tenants' file {where} is not valid TOML: {error}") from error
    found = given.get("tenants")
    if set(given) != {"tenants"} or not isinstance(found, dict) or not found:
        raise SettingsError(f'the tenants\' file {where} holds one table [tenants], with a line NAME = "TOKEN" for each of them')
    tokens = dict[str, str]()
    for name, token in found.items():
        mark = _mark(token, f"{name!r} in {where}", private=private)
        if not name or mark in tokens:
            raise SettingsError(f"{name!r} in {where} has no name, or the token of another tenant; give each a token of its own")
        tokens[mark] = name
    return tokens


def _mark(token: object, where: str, *, private: bool) -> str:
    if isinstance(token, str) and token.startswith("sha256:"):
        hashed = _HASHED.fullmatch(token.lower())
        if hashed is None:
            raise SettingsError(f"{where}: `sha256:` is followed by the 64 hex digits of the token's hash")
        return hashed[1]
    if not isinstance(token, str) or len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable() or token != token.strip():
        raise SettingsError(f"{where}: a token is a text of {LEAST_TOKEN} printable ASCII characters or more, or `sha256:` and its hash")
    if not private:
        raise SettingsError(f"{where}: others can read the file; make it private (chmod 600), or write `sha256:` and the token's hash")
    return _hash(token)
