"""Whose connection reached a server of this machine."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import closing
from pathlib import Path

import pytest

from memorist.platforms import loopback_peers
from memorist.platforms.loopback_peers import is_connection_of_other_user
from support.other_user import let_another_user_connect

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the table")


@pytest.mark.covers("SF-6")
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_connection_is_of_the_user_who_opened_it(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over both families; where nobody knows (a test's client, a socket that is gone) it counts as
    ours.
    """
    family = socket.AF_INET6 if address == "::1" else socket.AF_INET
    with (
        closing(socket.create_server((address, 0), family=family)) as server,
        closing(socket.create_connection((address, server.getsockname()[1]))),
        server.accept()[0] as accepted,
    ):
        ends = accepted.getpeername(), accepted.getsockname()
        assert not is_connection_of_other_user(*ends)
        let_another_user_connect(monkeypatch)
        assert is_connection_of_other_user(*ends)
        assert not is_connection_of_other_user((address, 1), ends[1])
        assert not is_connection_of_other_user(("testclient", 50_000), ends[1])
        assert not is_connection_of_other_user(None, None)


@pytest.mark.covers("SF-6")
@pytest.mark.parametrize(
    ("user", "inode", "is_other"),
    [("0", "7", False), ("0", "0", True), ("{own}", "7", False), ("{other}", "7", True)],
)
def test_root_is_nobody_else_but_a_closed_socket_is(
    user: str, inode: str, is_other: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table gives root's number to a socket that its program has closed, whoever had it. A
    socket of IPv6 may reach a server of IPv4.
    """
    named = user.format(own=os.getuid(), other=os.getuid() + 1)
    prefix = "0000000000000000FFFF0000"
    row = f"1: {prefix}0100007F:0010 {prefix}0100007F:0020 01 0:0 00:0 0 {named} 0 {inode}"
    table = tmp_path / "tcp"
    table.write_text(f"head\n{row}\n")
    monkeypatch.setattr(loopback_peers, "SOCKET_TABLES", (tmp_path / "none", table))

    assert is_connection_of_other_user(("127.0.0.1", 16), ("127.0.0.1", 32)) is is_other
