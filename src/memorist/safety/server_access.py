"""Who may access a server of memorist (SF-6): by default this machine alone, under names the server
knows; from elsewhere only with a token. Pure.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection, Sequence

LOOPBACK_NAMES = frozenset({"127.0.0.1", "::1", "localhost"})
"""Names of this machine that nothing outside it can use."""

ANY_HOST = "*"
"""Among a server's names: it answers to every name, because something in front of it checks them.
"""


def parse_host_name(header: str) -> str:
    """The host name in a Host header, without port and brackets, in lower case."""
    name = (
        header.rpartition("]")[0].removeprefix("[")
        if header.startswith("[")
        else header.partition(":")[0]
    )
    return name.strip().lower().rstrip(".")


def is_host_allowed(headers: Sequence[str], names: Collection[str]) -> bool:
    """Whether a request with these Host headers is for a server of these names, so that no web page
    reaches it through DNS rebinding.
    """
    return ANY_HOST in names or (len(headers) == 1 and parse_host_name(headers[0]) in names)


def is_same_token(presented: str, expected: str) -> bool:
    """Whether the presented token is the expected one; constant time, also for a token that no
    header can hold.
    """
    return hmac.compare_digest(
        presented.encode("utf-8", "surrogateescape"), expected.encode("utf-8", "surrogateescape")
    )
