"""What a host that has its context assembled waits for in turns in which nothing changed (rows for `memorist bench context`).

A project with 50 instruction files and 200 skills, made up in a temporary folder; a real session, opened by the engine. Processor time is taken.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from memorist.bench.result import Row
from memorist.context.host import HostContext
from memorist.context.settings import ContextSettings, Family
from memorist.engine.memorist import Memorist
from memorist.engine.session import Session
from memorist.settings import Settings

LENGTHS = (10, 1_000, 10_000)
"""Messages that went before."""
TURNS = 21
MILLISECONDS = 1.0
"""Goal for a turn without changes, at any length of history."""
_REPLY = {
    "role": "assistant",
    "content": [{"type": "text", "text": "It is done, and the tests pass."}],
    "usage": {"input_tokens": 9, "output_tokens": 9},
}


def live_rows(folder: Path, family: Family, lengths: tuple[int, ...] = LENGTHS) -> list[Row]:
    """The rows for a project's folder."""
    return asyncio.run(_rows(folder, family, lengths))


async def _rows(folder: Path, family: Family, lengths: tuple[int, ...]) -> list[Row]:
    rows: list[Row] = []
    for length in lengths:
        with tempfile.TemporaryDirectory() as home:
            settings = Settings(
                home=home, context=ContextSettings(managed=f"{home}/none", user_folder=f"{home}/none", agents_folder=f"{home}/none")
            )
            async with Memorist(model="structural", settings=settings) as engine:
                plain = await _turns(await engine.open("plain", folder=Path(home) / "plain"), length)
                session = await engine.open("assembled", folder=Path(home) / "assembled")
                session.assemble(HostContext(folder=str(folder), family=family))
                assembled = await _turns(session, length)
        whole, without = (median(each[1:]) * 1_000 for each in (assembled, plain))
        goal, met = f"under {MILLISECONDS:g}", whole - without < MILLISECONDS
        rows.append(
            Row(f"{family}: what the assembly adds to a turn without changes, after {length:,} messages", whole - without, "ms", goal, met)
        )
        rows.append(Row(f"{family}: `prepare` in such a turn, in all", whole, "ms"))
    return rows


async def _turns(session: Session, length: int) -> list[float]:
    """Seconds of `prepare` for the first request and for turns after a history of this length."""
    history: list[Any] = []
    for number in range(length // 2):
        history += [{"role": "user", "content": f"Please do step {number}."}, {"role": "assistant", "content": _REPLY["content"]}]
    took = []
    for number in range(TURNS + 1):
        history.append({"role": "user", "content": f"And now number {number}, please."})
        body = {"model": "m", "max_tokens": 100, "messages": list(history)}
        began = time.process_time()
        await session.prepare(body)
        took.append(time.process_time() - began)
        await session.observe(dict(_REPLY))
        await session.end_turn()
        await asyncio.sleep(0.02)
        history.append({"role": "assistant", "content": _REPLY["content"]})
    return took
