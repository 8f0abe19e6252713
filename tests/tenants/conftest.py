"""A PostgreSQL for the tests of several machines."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from support.postgres_server import postgres


@pytest.fixture(scope="package")
def server() -> Iterator[str]:
    """A real server, for all tests of a process."""
    with postgres() as address:
        yield address


@pytest.fixture
def address(server: str) -> str:
    """The server with nothing of memorist's in it."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("drop schema if exists memorist cascade")
    return server
