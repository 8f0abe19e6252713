"""The tenant of a request where one proxy serves many. Pure."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from memorist.errors import SettingsError
from memorist.platforms.regular_files import is_open_to_other_users, read_regular_text_file
from memorist.proxy.declared_conversation import escape_header_surrogates
from memorist.settings import ProxySettings

TENANTS_BY_HEADER = "header"
"""Value of the setting `proxy.tenants` that takes the tenant's name from the header
`x-memorist-tenant`.
"""
MIN_TOKEN_CHARACTERS = 16
"""Fewest characters of a tenant's token: 16 random letters and digits hold 95 bits. Our choice."""
_HASHED = re.compile(r"sha256:([0-9a-f]{64})")


class TenantIdentificationRules(Struct, frozen=True, kw_only=True):
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


def find_tenant(headers: Mapping[str, str], tenancy: TenantIdentificationRules) -> str:
    """The tenant of a request; empty if unknown. `headers` have lower-case names."""
    if tenancy.by_header:
        return escape_header_surrogates(headers.get("x-memorist-tenant", "")).strip()
    return tenancy.tokens.get(_hash_token(headers.get("x-memorist-token", "")), "")


def _hash_token(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def parse_tenants_by_token_hash(text: str, source: str, *, private: bool) -> dict[str, str]:
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
        or len(token) < MIN_TOKEN_CHARACTERS
        or not token.isascii()
        or not token.isprintable()
        or token != token.strip()
    ):
        raise SettingsError(
            f"{where}: a token is a text of {MIN_TOKEN_CHARACTERS} printable ASCII characters or "
            f"more, or `sha256:` and its hash"
        )
    if not private:
        raise SettingsError(
            f"{where}: others can read the file; make it private (chmod 600), or write "
            f"`sha256:` and the token's hash"
        )
    return _hash_token(token)


def read_tenant_identification(settings: ProxySettings) -> TenantIdentificationRules:
    """Read how tenants are identified. Raises SettingsError for an invalid tenants file."""
    if settings.tenants in ("", TENANTS_BY_HEADER):
        return TenantIdentificationRules(
            by_header=settings.tenants == TENANTS_BY_HEADER, unknown=settings.unknown_tenant
        )
    path = Path(settings.tenants).expanduser()
    try:
        text, private = read_regular_text_file(path), not is_open_to_other_users(path)
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"the tenants' file {path} cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error
    return TenantIdentificationRules(
        tokens=parse_tenants_by_token_hash(text, str(path), private=private),
        unknown=settings.unknown_tenant,
    )
