"""Many users in one process: memory, files and processor time of 200 sessions at once, beside one
session alone; and what a start costs.

Each figure is of a process of its own, so that its peak is its own. The sessions hold notes,
memories, recall and a compaction; their histories are held by the host in the same process, and
count.
"""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from benchmarks.report import BenchResult, BenchRow
from memorist.core.messages import JsonObject, Usage
from memorist.engine.session import Session
from memorist.engine.tenants import Tenants
from memorist.formats.codec_registry import find_codec
from memorist.formats.request_codec import Codec
from memorist.settings import Settings
from memorist.testing.request_checks import WIRES
from memorist.testing.steps import AnswerStep, CallTool, Say
from memorist.testing.wire_formats import ReplyMetadata, build_reply_body

# Agents at work beside each other, as a server of many users sees them: what each says, reads
# and answers bears the mark of its project.


FORMATS = ("anthropic", "openai_responses", "openai_chat")
MODEL = "scripted"
CORRECTED = 1
"""The turn in which the user corrects the agent: what is said then is remembered."""

SentCounts = Callable[["Guest", JsonObject], object]
"""Is shown every request as it would go to the model."""


class Guest(Struct, frozen=True, kw_only=True):
    """Who an agent works for, and where."""

    tenant: str
    project: str
    id: str
    format: str

    @property
    def mark(self) -> str:
        """A word that only this project of this tenant knows."""
        return f"zq{self.tenant}x{self.project}qz"


class SessionsLoad(Struct, frozen=True, kw_only=True):
    """How long the work is."""

    turns: int
    page: int
    """Characters of what is read in each turn."""
    pause: float = 0.0
    """Seconds between two turns, in which the session rests."""


def guests(count: int, *, tenants: int, projects: int) -> list[Guest]:
    """So many agents, spread over tenants and projects, in all three wire formats."""
    return [
        Guest(
            tenant=f"t{number % tenants}",
            project=f"p{number // tenants % projects}",
            id=f"s{number}",
            format=FORMATS[number % len(FORMATS)],
        )
        for number in range(count)
    ]


class Agent:
    """One agent: a loop with a tool call in each turn, and what its user says once to be
    remembered.
    """

    def __init__(
        self, guest: Guest, size: SessionsLoad, sent: SentCounts = lambda *_: None
    ) -> None:
        self.guest = guest
        self.size = size
        self.said: list[str] = []
        """What its user said, in order."""
        self.compacted = False
        self._sent = sent
        self._wire: Codec = find_codec(guest.format)
        self._body: JsonObject | None = None
        self._number = 0

    @property
    def history(self) -> int:
        """Bytes of what it sends."""
        return len(msgspec.json.encode(self._body))

    async def work(self, tenants: Tenants, told: Callable[[], object] = lambda: None) -> None:
        """Every turn; in the middle the conversation is compacted. `told` is called when the user
        has said what is to be remembered.
        """
        for turn in range(self.size.turns):
            guest = self.guest
            async with tenants.session(
                guest.tenant, guest.id, project=guest.project, format=guest.format
            ) as session:
                await self._turn(session, turn)
                if turn == self.size.turns // 2:
                    done = await session.compact()
                    self.compacted = done.result is not None
            await asyncio.sleep(self.size.pause)
            if turn == CORRECTED:
                told()

    async def _turn(self, session: Session, turn: int) -> None:
        mark = self.guest.mark
        text = (
            f"Step {turn} of {self.guest.id}: look into {mark}/step{turn}.py and say what is wrong."
        )
        if turn == CORRECTED:
            text = (
                f"No, always deploy {mark} with pnpm in this repo, never npm. Our lock file "
                f"is shared, says {self.guest.id}."
            )
        self.said.append(text)
        said = self._wire.build_user_messages(text)
        if self._body is None:
            self._body = self._wire.build_request(
                MODEL, system=f"You work on {mark}.", text=text, max_output=1_000
            )
        else:
            self._body = self._wire.append_reply_and_messages(self._body, None, said)
        call = CallTool(
            name="Read",
            input={"file_path": f"/srv/{mark}/step{turn}.py"},
            id=f"call_{self.guest.id}_{turn}",
        )
        await self._ask(session, call)
        self._body = self._wire.append_reply_and_messages(
            self._body,
            None,
            [self._wire.build_tool_result_message(call.id or "", self._page(turn))],
        )
        await self._ask(
            session,
            Say(
                text=f"The loop in {mark}/step{turn}.py stops one row short; {self.guest.id} "
                f"mended it."
            ),
        )
        await session.end_turn()

    async def _ask(self, session: Session, answer: AnswerStep) -> None:
        body: Any = self._body
        request = await session.prepare(body)
        self._sent(self.guest, request)
        self._number += 1
        tokens = session.tracker.tokens
        facts = ReplyMetadata(
            number=self._number,
            model=MODEL,
            usage=Usage(input=tokens, output=50),
            cache_write_long=0,
            request=request,
        )
        reply = build_reply_body(WIRES[self.guest.format], answer, facts)
        await session.observe(reply)
        self._body = self._wire.append_reply_and_messages(body, reply, ())

    def _page(self, turn: int) -> str:
        """A file as it was read: lines that are not alike."""
        lines: list[str] = []
        size = 0
        while size < self.size.page:
            lines.append(
                f"{len(lines)}: {self.guest.mark}_{turn} = rows[{len(lines) * 7 % 101}] + "
                f"offset_{len(lines) * 31 % 997}"
            )
            size += len(lines[-1])
        return "\n".join(lines)


async def play_agents(tenants: Tenants, agents: Sequence[Agent]) -> None:
    """All at once: an agent of the second half joins when a user of its project has corrected one
    of the first half, so that there is something to recall.
    """
    first, second = agents[: (len(agents) + 1) // 2], agents[(len(agents) + 1) // 2 :]
    corrected = {(each.guest.tenant, each.guest.project): asyncio.Event() for each in agents}
    corrections = {(each.guest.tenant, each.guest.project) for each in first}

    async def join(agent: Agent) -> None:
        project = agent.guest.tenant, agent.guest.project
        if project in corrections:
            await corrected[project].wait()
        await agent.work(tenants)

    await asyncio.gather(
        *(
            agent.work(tenants, corrected[agent.guest.tenant, agent.guest.project].set)
            for agent in first
        ),
        *(join(agent) for agent in second),
    )


MANY = 200
ONE_BY_ONE = 20
SIZE = SessionsLoad(turns=12, page=16_000)
"""About 200,000 characters a session, as after half an hour of a coding agent."""
TENANTS, PROJECTS = 10, 4
MOST_MEGABYTES = 1_024
STARTS = 5
_CHILD = "from benchmarks.sessions import child; child({count}, at_once={at_once})"
_STATUS = Path("/proc/self/smaps_rollup")


class SessionsUsage(Struct, frozen=True, kw_only=True):
    """What a process had used when all its sessions were open."""

    rss: float
    """Peak, in megabytes."""
    pss: float
    """At the end, in megabytes: pages that processes share are counted in parts. 0 where the system
    does not tell.
    """
    files: int
    cpu: float
    """Seconds of the sessions' turns, after one session to warm up."""
    history: float
    """Megabytes of what the host sends for one session."""


def measure(data: Path) -> BenchResult:
    """Run the sessions, all at once and one by one, each in a process of its own. Needs no data."""
    del data
    many, alone = _run(MANY, at_once=True), _run(ONE_BY_ONE, at_once=False)
    turn, alone_turn = many.cpu / MANY / SIZE.turns, alone.cpu / ONE_BY_ONE / SIZE.turns
    engine, plain = _start("import memorist.engine.engine"), _start("import msgspec")
    return BenchResult(
        "sessions",
        (
            BenchRow(
                f"peak memory of a process with {MANY} sessions at once",
                many.rss,
                "MB",
                f"under {MOST_MEGABYTES:,}",
                many.rss < MOST_MEGABYTES,
            ),
            BenchRow("the same, shared pages in parts (PSS)", many.pss, "MB"),
            BenchRow(
                "memory for each further session",
                (many.rss - alone.rss) / (MANY - ONE_BY_ONE),
                "MB",
            ),
            BenchRow("what the host sends of it", many.history, "MB"),
            BenchRow("open files of a session", many.files / MANY, ""),
            BenchRow("turns (two requests each) in a second of processor time", 1 / turn, "/s"),
            BenchRow(
                "processor time of a turn, beside sessions one by one",
                turn / alone_turn,
                "",
                "at most 1.5",
                turn / alone_turn <= 1.5,
            ),
            BenchRow("processor time of `import memorist.engine.engine`", 1_000 * engine, "ms"),
            BenchRow("the same, beside `import msgspec`", engine / plain, ""),
        ),
    )


def _run(count: int, *, at_once: bool) -> SessionsUsage:
    command = [sys.executable, "-c", _CHILD.format(count=count, at_once=at_once)]
    return msgspec.json.decode(
        subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout, type=SessionsUsage
    )


def child(count: int, *, at_once: bool) -> None:
    """In the process that is measured: prints what it used, as JSON."""
    sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(_used(count, at_once=at_once))))


async def _used(count: int, *, at_once: bool) -> SessionsUsage:
    with tempfile.TemporaryDirectory() as root:
        async with Tenants(root, settings=Settings(), most_open=MANY + 1) as tenants:
            first, *agents = [
                Agent(guest, SIZE)
                for guest in guests(count + 1, tenants=TENANTS, projects=PROJECTS)
            ]
            await first.work(tenants)
            before = _cpu()
            if at_once:
                await play_agents(tenants, agents)
            else:
                for agent in agents:
                    await agent.work(tenants)
            return SessionsUsage(
                rss=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                / (1024 if sys.platform == "linux" else 1024 * 1024),
                pss=_pss(),
                files=_files(),
                cpu=_cpu() - before,
                history=sum(agent.history for agent in agents) / len(agents) / 1e6,
            )


def _cpu() -> float:
    return time.process_time()


def _files() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


def _pss() -> float:
    if not _STATUS.exists():
        return 0.0
    lines = (line.split() for line in _STATUS.read_text("utf-8").splitlines())
    return sum(int(line[1]) / 1024 for line in lines if line[0] == "Pss:")


def _start(statement: str) -> float:
    """Processor time of a new interpreter that runs the statement, without that of an empty one;
    the best of a few, from compiled files.
    """
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }

    def taken(words: str) -> float:
        before = os.times()
        subprocess.run([sys.executable, "-c", words], check=True, env=environment)
        after = os.times()
        return (
            after.children_user
            + after.children_system
            - before.children_user
            - before.children_system
        )

    return min(taken(statement) for _ in range(STARTS)) - min(taken("pass") for _ in range(STARTS))
