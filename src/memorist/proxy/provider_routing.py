"""Find the provider of a request, and whether it is a model call. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

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


class ProviderRoute(Struct, frozen=True, kw_only=True):
    """The provider that a request goes to, the path there, and its wire format."""

    upstream: str
    """Name of the provider; empty if none fits."""
    path: str
    """Path and query below the provider's base URL, as the client wrote them."""
    format: str = ""
    """The wire format of a model call; empty for any other request."""


def find_provider_route(
    method: str, target: str, headers: Mapping[str, str], upstreams: Mapping[str, str]
) -> ProviderRoute:
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
    return ProviderRoute(upstream=upstream, path=below + mark + query, format=format)


_ESCAPED = re.compile("%(?:[uU]00)?([0-9a-fA-F]{2})")
_LONG_DOT = "\xc0\xae"
"""A dot in UTF-8 of two bytes, which is none, and which some decoders take."""
_MAX_ENCODINGS = 5
"""Times that a path is decoded; one that is encoded as often counts as leaving its base."""


def has_dot_segment(path: str) -> bool:
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
