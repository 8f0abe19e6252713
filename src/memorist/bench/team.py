"""Many clients of one team: mixed reads and writes of the same few memories, and whether anything that was answered for is lost.

100 clients are 100 processes, forked from one that has loaded what they need, so that they fit on a small machine; each server is a process of its own.
A write adds the client's mark to one of 20 memories and is repeated when another was faster, so that every write that was answered for can be looked for
at the end. On SQLite with one server, and on PostgreSQL with two servers that share it.
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

from memorist.bench.bars import Bar, Panel, picture
from memorist.bench.result import Result, Row
from memorist.errors import RemoteError, RemoteMoved, UsageError
from memorist.team.http.run import Access, ServerRemote
from memorist.team.remote import Put, Seen
from memorist.team.wire import digest
from memorist.testing.postgres import postgres

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


class Heard(Struct):
    """What clients saw: seconds of each read and write, marks that were answered for, and failures."""

    reads: list[float]
    writes: list[float]
    marks: list[tuple[str, str]]
    moved: int = 0
    failed: int = 0


def measure(data: Path) -> Result:
    """Needs no data but the extra `team`, and for PostgreSQL what the tests need; takes about a minute."""
    del data
    with tempfile.TemporaryDirectory() as place, serving(Path(place)) as url:
        if not url:
            return Result("team server", absent="the server did not start; it needs the extra `team`")
        heard = run((url,), SECONDS)
        found = rows(heard, lost=missing(url, heard), seconds=SECONDS)
    return Result("team server", (*found, *_on_postgres()))


def _on_postgres() -> tuple[Row, ...]:
    """The same on PostgreSQL; nothing where there is none to start."""
    try:
        with postgres() as address, tempfile.TemporaryDirectory() as place, ExitStack() as servers:
            urls = [servers.enter_context(serving(Path(place), address)) for _ in range(SERVERS)]
            if not all(urls):
                return ()
            heard = run(urls, SECONDS)
            return rows(heard, lost=missing(urls[0], heard), seconds=SECONDS, on=f"PostgreSQL and {SERVERS} servers: ")
    except UsageError:
        return ()


def rows(heard: Heard, *, lost: int, seconds: float, on: str = "") -> tuple[Row, ...]:
    """The table; `on` stands before what was measured."""
    return (
        Row(f"{on}reads by {CLIENTS} clients", len(heard.reads) / seconds, "a second"),
        Row(f"{on}writes by {CLIENTS} clients", len(heard.writes) / seconds, "a second"),
        *(Row(f"{on}read, {name}", 1_000 * value, "ms") for name, value in shares(heard.reads)),
        *(Row(f"{on}write with its repetitions, {name}", 1_000 * value, "ms") for name, value in shares(heard.writes)),
        Row(f"{on}writes refused because another was faster", 100 * heard.moved / max(1, heard.moved + len(heard.writes)), "%"),
        Row(f"{on}requests that failed", heard.failed, "", "0", heard.failed == 0),
        Row(f"{on}writes that were answered for and are lost", lost, "", "0", lost == 0),
    )


def shares(seconds: Sequence[float]) -> list[tuple[str, float]]:
    """The half, 95 and 99 of 100 that took at most so long."""
    if len(seconds) < 2:
        return []
    cuts = statistics.quantiles(seconds, n=100)
    return [("half", cuts[49]), ("95 of 100", cuts[94]), ("99 of 100", cuts[98])]


def drawn(heard: Heard, seconds: float) -> str:
    """The picture for docs/team.md."""
    panels = [
        Panel(what, tuple(Bar(name, value, f"{1_000 * value:.0f} ms", name == "half") for name, value in shares(found)))
        for what, found in (("A look, or a read", heard.reads), ("A write, with its repetitions", heard.writes))
    ]
    did = f"{len(heard.reads):,} reads and {len(heard.writes):,} writes in {seconds:.0f} s"
    return picture("One team server and many clients", f"{CLIENTS} processes, {did}, {MEMORIES} memories, two shared cores", panels)


def run(urls: Sequence[str], seconds: float) -> Heard:
    """Let all clients work for so long, each in a process, spread over the servers."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    begin = time.monotonic() + START_SECONDS
    asked = [(urls[number % len(urls)], f"c{number}", begin, seconds) for number in range(CLIENTS)]
    with context.Pool(CLIENTS) as pool:
        return _together(pool.map(_client, asked, chunksize=1))


def _together(parts: Sequence[Heard]) -> Heard:
    return Heard(
        reads=[each for part in parts for each in part.reads],
        writes=[each for part in parts for each in part.writes],
        marks=[each for part in parts for each in part.marks],
        moved=sum(part.moved for part in parts),
        failed=sum(part.failed for part in parts),
    )


def missing(url: str, heard: Heard) -> int:
    """Marks that were answered for and that no memory holds."""
    remote = ServerRemote(Access(url=url, space="bench"))
    look = remote.look(Seen())
    texts = remote.read(sorted(look.there), look.sizes) if look else {}
    held = {key: set(text.split()) for key, text in texts.items()}
    return sum(mark not in held.get(key, ()) for key, mark in heard.marks)


def _client(given: tuple[str, str, float, float]) -> Heard:
    url, name, begin, seconds = given
    heard = Heard([], [], [])
    chance = random.SystemRandom()
    remote = ServerRemote(Access(url=url, space="bench"))
    seen, number = Seen(), 0
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
                look = remote.look(seen)
                seen = look.seen if look is not None else seen
                heard.reads.append(time.monotonic() - start)
        except RemoteError:
            heard.failed += 1
    return heard


def _write(remote: ServerRemote, key: str, mark: str) -> int:
    """Add a mark to a memory; gives how often another was faster."""
    moved = 0
    while True:
        look = remote.look(Seen())
        text = remote.read([key], look.sizes).get(key, "") if look and key in look.there else ""
        try:
            remote.put({key: Put(f"{text}{mark}\n", digest(text) if text else "")}, look.seen if look else Seen())
        except RemoteMoved:
            moved += 1
        else:
            return moved


@contextmanager
def serving(place: Path, store: str = "") -> Iterator[str]:
    """A server in a process of its own; gives its address, empty where it does not start."""
    command = [sys.executable, "-m", "memorist", "team", "serve", "--port", "0", "--store", store or str(place / "team.sqlite")]
    environment = os.environ | {"MEMORIST_HOME": str(place / "home")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=place, env=environment) as running:
        line = running.stdout.readline() if running.stdout else ""
        try:
            yield line.split()[-1] if line else ""
        finally:
            running.terminate()
