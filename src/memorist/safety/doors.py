"""Who may access a server of memorist (SF-6): by default this machine alone, under names the server
knows; from elsewhere only with a token. Pure.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection, Sequence

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
"""Names of this machine that nothing outside it can use."""

ANY = "*"
"""Among a server's names: it answers to every name, because something in front of it checks them.
"""


def host_name(given: str) -> str:
    """The host name in a Host header, without port and brackets, in lower case."""
    name = given.rpartition("]")[0].removeprefix("[") if given.startswith("[") else given.partition(":")[0]
    return name.strip().lower().rstrip(".")


def answers_to(given: Sequence[str], names: Collection[str]) -> bool:
    """Whether a request with these Host headers is for a server of these names, so that no web page
    reaches it through DNS rebinding.
    """
    return ANY in names or (len(given) == 1 and host_name(given[0]) in names)


def same_token(shown: str, token: str) -> bool:
    """Whether the presented token is the expected one; constant time, also for a token that no
    header can hold.
    """
    return hmac.compare_digest(shown.encode("utf-8", "surrogateescape"), token.encode("utf-8", "surrogateescape"))
