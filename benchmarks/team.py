"""Many clients of one team: mixed reads and writes of the same few memories, and whether anything
that was answered for is lost.

100 clients are 100 processes, forked from one that has loaded what they need, so that they fit on a
small machine; each server is a process of its own. A write adds the client's mark to one of 20
memories and is repeated when another was faster, so that every write that was answered for can be
looked for at the end. On SQLite with one server, and on PostgreSQL with two servers that share it.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct

from benchmarks.report import BenchResult, BenchRow
from memorist.errors import RemoteChanged, RemoteError, UsageError
from memorist.team.shared_memory_form import compute_text_checksum
from memorist.team.team_client import ServerAccess, ServerRemote
from memorist.team.team_remote import LastSeenRemoteState, RemoteChange
from support.postgres_server import postgres

CLIENTS = 100
SERVERS = 2
"""Of those that share PostgreSQL: what it is for."""
MEMORIES = 20
SECONDS = 15.0
"""Ours; the figures of docs/team.md were taken over 60."""
WRITES = 0.3
"""Share of writes among what a client does."""
START_SECONDS = 3.0
"""All clients begin at one moment, so long after the first was made."""
REST_SECONDS = 0.5
"""Mean pause of a client between two of them; people who share memories are slower by far."""


class TeamTimings(Struct):
    """What clients saw: seconds of each read and write, marks that were answered for, and
    failures.
    """

    reads: list[float]
    writes: list[float]
    marks: list[tuple[str, str]]
    moved: int = 0
    failed: int = 0


def measure(data: Path) -> BenchResult:
    """Needs no data but the extra `team`, and for PostgreSQL what the tests need; takes about a
    minute.
    """
    del data
    with tempfile.TemporaryDirectory() as place, serving(Path(place)) as url:
        if not url:
            return BenchResult(
                "team server", absent="the server did not start; it needs the extra `team`"
            )
        heard = run_clients((url,), SECONDS)
        found = team_rows(heard, lost=count_missing(url, heard), seconds=SECONDS)
    return BenchResult("team server", (*found, *_on_postgres()))


def _on_postgres() -> tuple[BenchRow, ...]:
    """The same on PostgreSQL; nothing where there is none to start."""
    try:
        with postgres() as address, tempfile.TemporaryDirectory() as place, ExitStack() as servers:
            urls = [servers.enter_context(serving(Path(place), address)) for _ in range(SERVERS)]
            if not all(urls):
                return ()
            heard = run_clients(urls, SECONDS)
            return team_rows(
                heard,
                lost=count_missing(urls[0], heard),
                seconds=SECONDS,
                on=f"PostgreSQL and {SERVERS} servers: ",
            )
    except UsageError:
        return ()


def team_rows(
    heard: TeamTimings, *, lost: int, seconds: float, on: str = ""
) -> tuple[BenchRow, ...]:
    """The table; `on` stands before what was measured."""
    return (
        BenchRow(f"{on}reads by {CLIENTS} clients", len(heard.reads) / seconds, "a second"),
        BenchRow(f"{on}writes by {CLIENTS} clients", len(heard.writes) / seconds, "a second"),
        *(
            BenchRow(f"{on}read, {name}", 1_000 * value, "ms")
            for name, value in latency_shares(heard.reads)
        ),
        *(
            BenchRow(f"{on}write with its repetitions, {name}", 1_000 * value, "ms")
            for name, value in latency_shares(heard.writes)
        ),
        BenchRow(
            f"{on}writes refused because another was faster",
            100 * heard.moved / max(1, heard.moved + len(heard.writes)),
            "%",
        ),
        BenchRow(f"{on}requests that failed", heard.failed, "", "0", heard.failed == 0),
        BenchRow(f"{on}writes that were answered for and are lost", lost, "", "0", lost == 0),
    )


def latency_shares(seconds: Sequence[float]) -> list[tuple[str, float]]:
    """The half, 95 and 99 of 100 that took at most so long."""
    if len(seconds) < 2:
        return []
    cuts = statistics.quantiles(seconds, n=100)
    return [("half", cuts[49]), ("95 of 100", cuts[94]), ("99 of 100", cuts[98])]


def run_clients(urls: Sequence[str], seconds: float) -> TeamTimings:
    """Let all clients work for so long, each in a process, spread over the servers."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    begin = time.monotonic() + START_SECONDS
    asked = [(urls[number % len(urls)], f"c{number}", begin, seconds) for number in range(CLIENTS)]
    with context.Pool(CLIENTS) as pool:
        return _together(pool.map(_client, asked, chunksize=1))


def _together(parts: Sequence[TeamTimings]) -> TeamTimings:
    return TeamTimings(
        reads=[each for part in parts for each in part.reads],
        writes=[each for part in parts for each in part.writes],
        marks=[each for part in parts for each in part.marks],
        moved=sum(part.moved for part in parts),
        failed=sum(part.failed for part in parts),
    )


def count_missing(url: str, heard: TeamTimings) -> int:
    """Marks that were answered for and that no memory holds."""
    remote = ServerRemote(ServerAccess(url=url, space="bench"))
    look = remote.fetch_listing(LastSeenRemoteState())
    texts = remote.read_texts(sorted(look.checksums), look.sizes) if look else {}
    held = {key: set(text.split()) for key, text in texts.items()}
    return sum(mark not in held.get(key, ()) for key, mark in heard.marks)


def _client(given: tuple[str, str, float, float]) -> TeamTimings:
    url, name, begin, seconds = given
    heard = TeamTimings([], [], [])
    chance = random.SystemRandom()
    remote = ServerRemote(ServerAccess(url=url, space="bench"))
    seen, number = LastSeenRemoteState(), 0
    time.sleep(max(0.0, begin - time.monotonic()))
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(chance.uniform(0, 2 * REST_SECONDS))
        start = time.monotonic()
        try:
            if chance.random() < WRITES:
                number += 1
                key = f"m{chance.randrange(MEMORIES)}.md"
                heard.moved += _write(remote, key, f"{name}.{number}")
                heard.marks.append((key, f"{name}.{number}"))
                heard.writes.append(time.monotonic() - start)
            else:
                look = remote.fetch_listing(seen)
                seen = look.state if look is not None else seen
                heard.reads.append(time.monotonic() - start)
        except RemoteError:
            heard.failed += 1
    return heard


def _write(remote: ServerRemote, key: str, mark: str) -> int:
    """Add a mark to a memory; gives how often another was faster."""
    moved = 0
    while True:
        look = remote.fetch_listing(LastSeenRemoteState())
        text = (
            remote.read_texts([key], look.sizes).get(key, "")
            if look and key in look.checksums
            else ""
        )
        try:
            remote.push_changes(
                {key: RemoteChange(f"{text}{mark}\n", compute_text_checksum(text) if text else "")},
                look.state if look else LastSeenRemoteState(),
            )
        except RemoteChanged:
            moved += 1
        else:
            return moved


@contextmanager
def serving(place: Path, store: str = "") -> Iterator[str]:
    """A server in a process of its own; gives its address, empty where it does not start."""
    command = [
        sys.executable,
        "-m",
        "memorist",
        "team",
        "serve",
        "--port",
        "0",
        "--store",
        store or str(place / "team.sqlite"),
    ]
    environment = os.environ | {"MEMORIST_HOME": str(place / "home")}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=place, env=environment
    ) as running:
        line = running.stdout.readline() if running.stdout else ""
        try:
            yield line.split()[-1] if line else ""
        finally:
            running.terminate()
