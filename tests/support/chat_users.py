"""The chat server of the examples under gunicorn, and the users who talk to it: threads whose
requests go to any worker of any machine, streamed, with compaction; workers that are killed in the
middle of an answer, and users who stop an answer before its end.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import socket
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import msgspec
from msgspec import Struct, field, structs

from memorist.formats.transcript_format import read_session
from memorist.ports import Request
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.testing.provider_server import ScriptedServer
from memorist.testing.steps import Say, Step

ROOT = Path(__file__).parents[2]
MODEL = "chat-model"
WINDOW = 8_000
SIGN = re.compile(r"zq(u\d+)qz")
OPENED = re.compile(r"(u\d+)/(\w+) opened in ([0-9.]+) s by (\d+)")
TRIES = 50
STOP_SECONDS = 60
WORKER_SECONDS = 300
"""After which gunicorn kills a silent worker: ten times its default, since a worker on a machine
that is busy with all else may start slowly.
"""


class ChatSizes(Struct, frozen=True):
    """How much is said, and what goes wrong meanwhile."""

    users: int = 60
    threads: int = 2
    turns: int = 6
    at_once: int = 16
    """Answers that are awaited at one time; the other users read and type meanwhile."""
    workers: int = 4
    """Of each machine."""
    kills: tuple[int, ...] = ()
    """A worker is killed in the middle of these answers, counted from 1."""
    stop_every: int = 0
    """Of so many answers a user stops one at its first words; 0: none."""

    @property
    def requests(self) -> int:
        """How many the users send, without those that they send again."""
        return self.users * self.threads * self.turns


class SessionOpening(NamedTuple):
    """A worker got a session."""

    user: str
    thread: str
    wait: float
    """Seconds until it had it."""
    process: int


class ProviderCheck(Struct):
    """What the model's server saw of all requests. Bodies are let go of once they are checked."""

    requests: int = 0
    leaks: int = 0
    """Requests with words of more than one user."""
    recalled: set[str] = field(default_factory=set)
    """Users whose second thread began with what was learnt in the first."""

    def read(self, provider: ScriptedServer) -> None:
        """Check the requests that came since the last time."""
        received = provider.requests
        for index in range(self.requests, len(received)):
            text = received[index].raw.decode()
            users = set(SIGN.findall(text))
            self.requests += 1
            self.leaks += len(users) > 1
            begins = "Page 0 of t1" in text and "Page 1 of t1" not in text
            if begins and "earlier sessions in this project" in text:
                self.recalled |= users
            received[index] = structs.replace(received[index], raw=b"", body={})


class ChatMachine:
    """Gunicorn on one machine: its address, and the folder of its users' homes."""

    def __init__(self, home: Path, port: int) -> None:
        self.home = home
        self.url = f"http://127.0.0.1:{port}/chat"


class ChatService:
    """The running machines, their common log, and the users' side of what was said."""

    def __init__(
        self, machines: Sequence[ChatMachine], log: Path, sizes: ChatSizes, provider: ScriptedServer
    ) -> None:
        self.machines = machines
        self.sizes = sizes
        self.provider = provider
        self.seen = ProviderCheck()
        self.said: dict[tuple[str, str], list[str]] = defaultdict(list)
        """The words of each thread's user, in order."""
        self.retried = 0
        """Answers that broke off and were asked for again."""
        self.stopped = 0
        """Answers that their users stopped."""
        self._log = log
        self._answers = 0
        self._asking = asyncio.Semaphore(sizes.at_once)
        self._random = random.Random(7)

    @property
    def openings(self) -> list[SessionOpening]:
        """Every time a worker got a session, in order."""
        found = OPENED.findall(self._log.read_text())
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

    async def run(self) -> None:
        """All users at once, each with one thread after the other."""
        async with asyncio.TaskGroup() as users:
            for number in range(self.sizes.users):
                users.create_task(self._converse(f"u{number}"))
        self.seen.read(self.provider)

    async def _converse(self, user: str) -> None:
        """The threads of one user; in the first one a wish is said."""
        limits = httpx.Limits(max_keepalive_connections=0)
        async with httpx.AsyncClient(limits=limits, timeout=60) as client:
            for number in range(self.sizes.threads):
                thread = f"t{number}"
                messages: list[dict[str, Any]] = []
                for turn in range(self.sizes.turns):
                    words = f"Page {turn} of {thread} by zq{user}qz. " + f"Line of {user}. " * 600
                    if turn == 1:
                        words = (
                            f"No, always deploy zq{user}qz with pnpm, never npm. It broke twice."
                        )
                    self.said[user, thread].append(words)
                    messages.append({"role": "user", "content": words})
                    body = {"user": user, "thread": thread, "messages": messages}
                    text = await self._ask(client, body)
                    messages.append({"role": "assistant", "content": text})

    async def _ask(self, client: httpx.AsyncClient, body: dict[str, Any]) -> str:
        """The whole answer, or what came of it until the user stopped it; asks again where the
        connection broke, as a browser does.
        """
        for _ in range(TRIES):
            try:
                async with self._asking:
                    return await self._read(client, body)
            except httpx.TransportError:
                self.retried += 1
                await asyncio.sleep(0.1)
            finally:
                self.seen.read(self.provider)
        raise AssertionError(f"no answer after {TRIES} tries:\n{self._log.read_text()[-2_000:]}")

    async def _read(self, client: httpx.AsyncClient, body: dict[str, Any]) -> str:
        words: list[str] = []
        url = self._random.choice(self.machines).url
        async with client.stream("POST", url, json=body) as response:
            assert response.status_code == 200
            async for piece in response.aiter_text():
                words.append(piece)
                if len(words) == 1 and self._is_stopped(body):
                    break
        return "".join(words)

    def _is_stopped(self, body: dict[str, Any]) -> bool:
        """Count an answer that begins; kill its worker if it is the turn of one."""
        self._answers += 1
        if self._answers in self.sizes.kills:
            holders = [
                opening.process
                for opening in self.openings
                if (opening.user, opening.thread) == (body["user"], body["thread"])
            ]
            os.kill(holders[-1], signal.SIGKILL)
            return False
        is_stopped = self.sizes.stop_every > 0 and self._answers % self.sizes.stop_every == 0
        self.stopped += is_stopped
        return is_stopped

    def transcripts(self, user: str, thread: str) -> list[Path]:
        """Where a session is kept, on each machine that served it."""
        return [
            path
            for machine in self.machines
            for path in machine.home.glob(f"{user}/projects/*/{thread}/transcript.jsonl")
        ]

    def is_whole(self, user: str, thread: str) -> bool:
        """Whether the transcript has each word of the user once and in order; of several machines
        that of the last one.
        """
        kept = [said_in(path) for path in self.transcripts(user, thread)]
        return self.said[user, thread] in kept

    def compactions(self, user: str, thread: str) -> int:
        """How often a session was compacted, on the machine that counted most."""
        return max(
            path.with_name("events.jsonl").read_bytes().count(b'"conversation_compacted"')
            for path in self.transcripts(user, thread)
        )

    def describe(self) -> str:
        """The figures of a run, as docs/many-users.md gives them."""
        waits = sorted(opening.wait for opening in self.openings_elsewhere)
        middle, high = waits[len(waits) // 2], waits[len(waits) * 99 // 100]
        return (
            f"{self.seen.requests} requests, {len(self.provider.refusals)} refused, {self.retried} "
            f"asked again, {self.stopped} stopped, {len(waits)} on another worker than before: the "
            f"session came after {middle:.2f} s (p50), {high:.2f} s (p99)"
        )


@contextmanager
def serve_chat(
    folder: Path, sizes: ChatSizes, provider: ScriptedServer, *, machines: int = 1, shared: str = ""
) -> Iterator[ChatService]:
    """Gunicorn on free ports, once for each machine over homes of its own; `shared` is the setting
    `shared_sessions`.
    """
    log = folder / "gunicorn.log"
    with ExitStack() as running:
        found = [
            running.enter_context(
                _serve_machine(folder / f"homes-{n}", log, sizes, provider, shared)
            )
            for n in range(machines)
        ]
        yield ChatService(found, log, sizes, provider)


@contextmanager
def _serve_machine(
    home: Path, log: Path, sizes: ChatSizes, provider: ScriptedServer, shared: str
) -> Iterator[ChatMachine]:
    home.mkdir()
    (home / "config.toml").write_text(
        f'shared_sessions = "{shared}"\n[models.prices."{MODEL}"]\n'
        f"window = {WINDOW}\nmax_output = 1000\n"
    )
    environment = {
        **os.environ,
        "CHAT_HOME": str(home),
        "EXAMPLE_MODEL": MODEL,
        "ANTHROPIC_API_KEY": "any",
        "ANTHROPIC_BASE_URL": provider.url,
    }
    with socket.create_server(("127.0.0.1", 0)) as listening, log.open("ab") as written:
        command = [
            *(sys.executable, "-m", "gunicorn", "-w", str(sizes.workers)),
            *("-k", "uvicorn_worker.UvicornWorker", "--bind", f"fd://{listening.fileno()}"),
            *("--timeout", str(WORKER_SECONDS)),
            *("--log-level", "info", "--chdir", str(ROOT / "examples"), "chat_server:app"),
        ]
        process = subprocess.Popen(
            command, env=environment, pass_fds=[listening.fileno()], stdout=written, stderr=written
        )
        try:
            yield ChatMachine(home, listening.getsockname()[1])
        finally:
            process.terminate()
            process.wait(STOP_SECONDS)


def repeat_signs(request: Request) -> Step:
    """The model's answer: it repeats the sign of whom it was shown, so that a leak would spread."""
    words = msgspec.json.encode(request.body).decode()
    seen = " ".join(sorted(set(SIGN.findall(words))))
    return Say(text=f"Noted for zq{seen}qz. " * 5)


def said_in(path: Path) -> list[str]:
    """What the user said, as the transcript has it."""
    messages: list[Any] = [
        entry for entry in read_session(UnpackedUtf8Lines(path)) if hasattr(entry, "blocks")
    ]
    return [message.text for message in messages if message.role == "user" and message.text]
