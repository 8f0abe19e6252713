"""Agents at work beside each other, as a server of many users sees them: what each says, reads and answers bears the mark of its project."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from memorist.core.messages import JsonObject, Usage
from memorist.engine.session import Session
from memorist.engine.tenants import Tenants
from memorist.formats.codec import Codec
from memorist.formats.registry import codec
from memorist.testing.ledger import WIRES
from memorist.testing.steps import Answer, Call, Say
from memorist.testing.wire import Facts, body_of

FORMATS = ("anthropic", "openai_responses", "openai_chat")
MODEL = "scripted"
CORRECTED = 1
"""The turn in which the user corrects the agent: what is said then is remembered."""

Sent = Callable[["Guest", JsonObject], object]
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


class Size(Struct, frozen=True, kw_only=True):
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
    """One agent: a loop with a tool call in each turn, and what its user says once to be remembered."""

    def __init__(self, guest: Guest, size: Size, sent: Sent = lambda *_: None) -> None:
        self.guest = guest
        self.size = size
        self.said: list[str] = []
        """What its user said, in order."""
        self.compacted = False
        self._sent = sent
        self._wire: Codec = codec(guest.format)
        self._body: JsonObject | None = None
        self._number = 0

    @property
    def history(self) -> int:
        """Bytes of what it sends."""
        return len(msgspec.json.encode(self._body))

    async def work(self, tenants: Tenants, told: Callable[[], object] = lambda: None) -> None:
        """Every turn; in the middle the conversation is compacted. `told` is called when the user has said what is to be remembered."""
        for turn in range(self.size.turns):
            guest = self.guest
            async with tenants.session(guest.tenant, guest.id, project=guest.project, format=guest.format) as session:
                await self._turn(session, turn)
                if turn == self.size.turns // 2:
                    done = await session.compact()
                    self.compacted = done.result is not None
            await asyncio.sleep(self.size.pause)
            if turn == CORRECTED:
                told()

    async def _turn(self, session: Session, turn: int) -> None:
        mark = self.guest.mark
        text = f"Step {turn} of {self.guest.id}: look into {mark}/step{turn}.py and say what is wrong."
        if turn == CORRECTED:
            text = f"No, always deploy {mark} with pnpm in this repo, never npm. Our lock file is shared, says {self.guest.id}."
        self.said.append(text)
        said = self._wire.user_text(text)
        if self._body is None:
            self._body = self._wire.new_body(MODEL, system=f"You work on {mark}.", text=text, max_output=1_000)
        else:
            self._body = self._wire.extend(self._body, None, said)
        call = Call(name="Read", input={"file_path": f"/srv/{mark}/step{turn}.py"}, id=f"call_{self.guest.id}_{turn}")
        await self._ask(session, call)
        self._body = self._wire.extend(self._body, None, [self._wire.tool_result(call.id or "", self._page(turn))])
        await self._ask(session, Say(text=f"The loop in {mark}/step{turn}.py stops one row short; {self.guest.id} mended it."))
        await session.end_turn()

    async def _ask(self, session: Session, answer: Answer) -> None:
        body: Any = self._body
        request = await session.prepare(body)
        self._sent(self.guest, request)
        self._number += 1
        tokens = session.following.tokens
        facts = Facts(number=self._number, model=MODEL, usage=Usage(input=tokens, output=50), cache_write_long=0, request=request)
        reply = body_of(WIRES[self.guest.format], answer, facts)
        await session.observe(reply)
        self._body = self._wire.extend(body, reply, ())

    def _page(self, turn: int) -> str:
        """A file as it was read: lines that are not alike."""
        lines: list[str] = []
        size = 0
        while size < self.size.page:
            lines.append(f"{len(lines)}: {self.guest.mark}_{turn} = rows[{len(lines) * 7 % 101}] + offset_{len(lines) * 31 % 997}")
            size += len(lines[-1])
        return "\n".join(lines)


async def play(tenants: Tenants, agents: Sequence[Agent]) -> None:
    """All at once: the second half joins when users of the first have corrected their agents, so that there is something to recall."""
    first, second = agents[: (len(agents) + 1) // 2], agents[(len(agents) + 1) // 2 :]
    corrected = asyncio.Semaphore(0)

    async def join(agent: Agent) -> None:
        await corrected.acquire()
        await agent.work(tenants)

    await asyncio.gather(*(agent.work(tenants, corrected.release) for agent in first), *(join(agent) for agent in second))
