"""Which models run on this machine or in its own network. Pure."""

from __future__ import annotations

import re
from ipaddress import ip_address

_HOST = re.compile(r"\w+://(?:[^@/]*@)?(\[[^\]]*\]|[^:/?#]*)")


def is_server_on_own_network(address: str) -> bool:
    """Whether an address is on this machine or its own network: a loopback or private number, or a
    name without a dot.
    """
    found = _HOST.match(address)
    host = found[1].strip("[]").lower() if found else ""
    try:
        number = ip_address(host)
    except ValueError:
        return (bool(host) and "." not in host) or host.endswith((".local", ".internal", ".lan"))
    return number.is_loopback or number.is_private


def is_model_on_own_network(name: str) -> bool:
    """Whether a model string names the embedded model, or one of a near server: one that answers
    slowly, and mostly one request at a time.
    """
    kind, _, rest = name.partition(":")
    if kind == "local":
        return True
    address = rest.partition("@")[2]
    return bool(address) and is_server_on_own_network(address)
