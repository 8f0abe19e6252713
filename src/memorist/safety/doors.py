"""Who may come in to a server of ours (SF-6): this machine alone unless it is told otherwise, by names it knows, and beyond it with a token. Pure."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Sequence

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
"""Names of this machine that nothing outside it can use."""

ANY = "*"
"""Among the names of a server: it answers to every name, since something before it looks at them."""


def host_name(given: str) -> str:
    """The name in a Host header, without port and brackets, in small letters."""
    name = given.rpartition("]")[0].removeprefix("[") if given.startswith("[") else given.partition(":")[0]
    return name.strip().lower().rstrip(".")


def answers_to(given: Sequence[str], names: Collection[str]) -> bool:
    """Whether a request with these Host headers is for a server of these names, so that no page in a browser reaches it by a name of its own."""
    return ANY in names or (len(given) == 1 and host_name(given[0]) in names)


def same_token(shown: str, token: str) -> bool:
    """Whether the token is the one shown; takes as long for a wrong one, and for one that no header can hold."""
    return hmac.compare_digest(shown.encode("utf-8", "surrogateescape"), token.encode("utf-8", "surrogateescape"))
