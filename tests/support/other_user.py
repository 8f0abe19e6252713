"""Another user of this machine, as the kernel's table of sockets would name it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memorist.platforms import loopback_peers

OTHER = os.getuid() + 4242


class _TableOfOtherUser:
    """A table of sockets in which all of them belong to somebody else."""

    def __init__(self, table: Path) -> None:
        self._table = table

    def read_text(self, encoding: str) -> str:
        first, *rows = self._table.read_text(encoding).splitlines()
        found = [row.split() for row in rows]
        return "\n".join((first, *(" ".join((*row[:7], str(OTHER), *row[8:])) for row in found)))


def let_another_user_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on every connection counts as another user's."""
    tables = tuple(map(_TableOfOtherUser, loopback_peers.SOCKET_TABLES))
    monkeypatch.setattr(loopback_peers, "SOCKET_TABLES", tables)
