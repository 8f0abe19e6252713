"""The chat server of the examples under gunicorn with four workers: sixty users, threads whose
requests go to any worker, streamed, with compaction, and a worker that is killed in mid-turn.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import msgspec
import pytest

from memorist.formats.transcript_format import read_session
from memorist.ports import Request
from memorist.store.transcript_writer import LineFile
from memorist.testing.provider_server import ScriptedServer
from memorist.testing.steps import Say, Step

pytest.importorskip("gunicorn")
pytest.importorskip("uvicorn_worker")

pytestmark = pytest.mark.slow

_log = logging.getLogger(__name__)

ROOT = Path(__file__).parents[2]
MODEL = "chat-model"
WINDOW = 8_000
SIGN = re.compile(r"zq(u\d+)qz")
OPENED = re.compile(r"(u\d+)/(\w+) opened in ([0-9.]+) s by (\d+)")
USERS, THREADS, TURNS = 60, 2, 6
AT_ONCE = 16
"""Answers that are awaited at one time; the other users read and type meanwhile."""
WORKERS = 4
TRIES = 20


class SessionOpening(NamedTuple):
    """A worker got a session."""

    user: str
    thread: str
    wait: float
    """Seconds until it had it."""
    process: int


class GunicornServer:
    """The running server, its log and what it was asked."""

    def __init__(self, home: Path, address: str, log: Path) -> None:
        self.home = home
        self.address = address
        self.log = log
        self.retried = 0
        self.kills: tuple[int, ...] = ()
        """A worker is killed in the middle of these answers, counted from 1."""
        self._answers = 0
        self._asking = asyncio.Semaphore(AT_ONCE)

    @property
    def openings(self) -> list[SessionOpening]:
        """Every time a worker got a session, in order."""
        found = OPENED.findall(self.log.read_text())
        return [
            SessionOpening(user, thread, float(wait), int(process))
            for user, thread, wait, process in found
        ]

    @property
    def openings_elsewhere(self) -> list[SessionOpening]:
        """Those by another worker than the one before."""
        last: dict[tuple[str, str], int] = {}
        moved: list[SessionOpening] = []
        for opening in self.openings:
            key = opening.user, opening.thread
            if last.get(key, opening.process) != opening.process:
                moved.append(opening)
            last[key] = opening.process
        return moved

    def transcript(self, user: str, thread: str) -> Path:
        """Where a session is kept."""
        (path,) = self.home.glob(f"{user}/projects/*/{thread}/transcript.jsonl")
        return path

    def compactions(self, user: str, thread: str) -> int:
        """How often a session was compacted."""
        events = self.transcript(user, thread).with_name("events.jsonl").read_bytes()
        return events.count(b'"conversation_compacted"')

    async def ask(self, client: httpx.AsyncClient, body: dict[str, Any]) -> str:
        """The whole answer; asks again where the connection broke, as a browser does."""
        for _ in range(TRIES):
            try:
                async with self._asking:
                    return await self._read(client, body)
            except httpx.TransportError:
                self.retried += 1
                await asyncio.sleep(0.1)
        raise AssertionError(f"no answer after {TRIES} tries:\n{self.log.read_text()[-2_000:]}")

    async def _read(self, client: httpx.AsyncClient, body: dict[str, Any]) -> str:
        words: list[str] = []
        async with client.stream("POST", self.address, json=body) as response:
            assert response.status_code == 200
            async for piece in response.aiter_text():
                if not words:
                    self._answers += 1
                    if self._answers in self.kills:
                        self._kill(body["user"], body["thread"])
                words.append(piece)
        return "".join(words)

    def _kill(self, user: str, thread: str) -> None:
        holders = [
            opening.process
            for opening in self.openings
            if (opening.user, opening.thread) == (user, thread)
        ]
        os.kill(holders[-1], signal.SIGKILL)


@contextmanager
def serve(home: Path, provider: ScriptedServer) -> Iterator[GunicornServer]:
    """Gunicorn with four workers on a free port, over one folder of homes."""
    home.mkdir()
    (home / "config.toml").write_text(
        f'[models.prices."{MODEL}"]\nwindow = {WINDOW}\nmax_output = 1000\n'
    )
    log = home.parent / "gunicorn.log"
    with socket.create_server(("127.0.0.1", 0)) as listening, log.open("wb") as written:
        port = listening.getsockname()[1]
        environment = {
            **os.environ,
            "CHAT_HOME": str(home),
            "EXAMPLE_MODEL": MODEL,
            "ANTHROPIC_API_KEY": "any",
            "ANTHROPIC_BASE_URL": provider.url,
        }
        command = ["-m", "gunicorn", "-w", str(WORKERS), "-k", "uvicorn_worker.UvicornWorker"]
        process = subprocess.Popen(
            [
                *(sys.executable, *command, "--bind", f"fd://{listening.fileno()}"),
                *("--log-level", "info", "--chdir", str(ROOT / "examples"), "chat_server:app"),
            ],
            env=environment,
            pass_fds=[listening.fileno()],
            stdout=written,
            stderr=written,
        )
        try:
            yield GunicornServer(home, f"http://127.0.0.1:{port}/chat", log)
        finally:
            process.terminate()
            process.wait(60)


def answer(request: Request) -> Step:
    """Repeats the sign of whom it was shown, so that a leak would spread."""
    words = msgspec.json.encode(request.body).decode()
    seen = " ".join(sorted(set(SIGN.findall(words))))
    return Say(text=f"Noted for zq{seen}qz. " * 5)


async def converse(
    server: GunicornServer, user: str, said: dict[tuple[str, str], list[str]]
) -> None:
    """The threads of one user, one after the other; in the first one a wish is said."""
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(limits=limits, timeout=60) as client:
        for number in range(THREADS):
            thread = f"t{number}"
            messages: list[dict[str, Any]] = []
            for turn in range(TURNS):
                words = f"Page {turn} of {thread} by zq{user}qz. " + f"Line of {user}. " * 600
                if turn == 1:
                    words = f"No, always deploy zq{user}qz with pnpm, never npm. It broke twice."
                said[user, thread].append(words)
                messages.append({"role": "user", "content": words})
                body = {"user": user, "thread": thread, "messages": messages}
                text = await server.ask(client, body)
                messages.append({"role": "assistant", "content": text})


def said_in(path: Path) -> list[str]:
    """What the user said, as the transcript has it."""
    messages: list[Any] = [
        entry for entry in read_session(LineFile(path)) if hasattr(entry, "blocks")
    ]
    return [message.text for message in messages if message.role == "user" and message.text]


@pytest.mark.parametrize("kills", [(), (150, 300, 450)], ids=["all-live", "three-killed"])
async def test_sixty_users_on_four_workers(tmp_path: Path, kills: tuple[int, ...]) -> None:
    """No request is over the window, none has words of another user, each transcript is whole and
    in order, and what a user wished in one thread is recalled in the next; also where a worker is
    killed in the middle of an answer.
    """
    said: dict[tuple[str, str], list[str]] = defaultdict(list)
    calls = 3 * USERS * THREADS * TURNS
    begun = time.monotonic()
    with ScriptedServer(answer, window=WINDOW, max_calls=calls) as provider:
        with serve(tmp_path / "homes", provider) as server:
            server.kills = kills
            async with asyncio.TaskGroup() as users:
                for number in range(USERS):
                    users.create_task(converse(server, f"u{number}", said))
        received = [request.raw.decode() for request in provider.received]
        refusals = provider.refusals
    openings = server.openings

    _log.info(describe(server, received, refusals, time.monotonic() - begun))
    recalled = {user for body in received for user in recalls(body)}

    assert not refusals
    assert all(len(set(SIGN.findall(body))) == 1 for body in received), "a leak"
    assert {key: said_in(server.transcript(*key)) for key in said} == said
    assert recalled == {f"u{number}" for number in range(USERS)}
    assert all(server.compactions(*key) for key in said)
    assert len({opening.process for opening in openings}) == WORKERS + len(kills)
    assert len(server.openings_elsewhere) > len(openings) // 3


def recalls(body: str) -> list[str]:
    """The user whose second thread this request begins, when it has what was learnt before."""
    begins = "Page 0 of t1" in body and "Page 1 of t1" not in body
    return SIGN.findall(body) if begins and "earlier sessions in this project" in body else []


def describe(server: GunicornServer, received: list[str], refused: list[str], took: float) -> str:
    """The figures of a run, as docs/many-users.md gives them."""
    waits = sorted(opening.wait for opening in server.openings_elsewhere)
    middle, high = waits[len(waits) // 2], waits[len(waits) * 99 // 100]
    return (
        f"{len(received)} requests in {took:.0f} s, {len(refused)} refused, {server.retried} asked "
        f"again, {len(waits)} on another worker than before: the session came after {middle:.2f} s "
        f"(p50), {high:.2f} s (p99)"
    )
