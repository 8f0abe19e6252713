"""Whose connection reached a server of this machine. Linux tells by its table of sockets; elsewhere
nobody knows.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Any

SOCKET_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


def is_connection_of_other_user(peer: Sequence[Any] | None, server: Sequence[Any] | None) -> bool:
    """Whether a connection over loopback was opened by another user of this machine than the one
    that this process runs as. root is none, since it can read every file anyway.

    `peer` and `server` are its two ends: address, port. False where the table has no such socket.
    """
    if not peer or not server or not hasattr(os, "getuid"):
        return False
    try:
        end = f"{_encode_address(str(peer[0]))}:{int(peer[1]):04X}"
    except ValueError:  # no address, as of a test's client
        return False
    opened_by = next(_list_socket_users(end, f":{int(server[1]):04X}"), None)
    return opened_by is not None and opened_by != os.getuid()


def _list_socket_users(end: str, server_end: str) -> Iterator[int]:
    """Users of the sockets with these ends; -1 for one that its program closed, of which the table
    says root and no inode.
    """
    for table in SOCKET_TABLES:
        try:
            rows = table.read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            local, remote, user, inode = (row.split()[at] for at in (1, 2, 7, 9))
            # A program may reach 127.0.0.1 by a socket of IPv6, whose address ends so.
            if local.endswith(end) and remote.endswith(server_end):
                is_root = user == "0"
                yield (-1 if inode == "0" else os.getuid()) if is_root else int(user)


def _encode_address(address: str) -> str:
    """An address as the table writes it: words of 32 bits in the machine's order of bytes."""
    found = ip_address(address.partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    data = (mapped or found).packed
    words = (data[at : at + 4] for at in range(0, len(data), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
