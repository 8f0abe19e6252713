"""What `prepare` and `observe` cost in a long session, beside a short one, in the same run
(EN-1).
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.report import BenchResult, BenchRow
from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.settings import Settings

SMALL, LARGE = 100_000, 2_000_000
STEPS = 200
MODEL = "claude-opus-4-6"
_WORDS = "the quick agent reads a file and writes what it found into the notes of the session "


def measure(data: Path) -> BenchResult:
    """Grow a conversation to 100,000 and to 2,000,000 tokens and time the next steps of each. Needs
    no data.
    """
    del data
    return asyncio.run(_measure())


async def _measure() -> BenchResult:
    with tempfile.TemporaryDirectory() as folder:
        async with Memorist(model="structural", home=folder, settings=_no_end()) as engine:
            small, large = await _grown(engine, SMALL), await _grown(engine, LARGE)
            # Turn about, so that whatever else the machine does falls on both.
            times: dict[str, list[float]] = {"small": [], "large": []}
            for step in range(STEPS):
                for name, (session, messages) in (("small", small), ("large", large)):
                    times[name].append(await _step(session, messages, step))
    first, second = (statistics.median(times[name]) for name in ("small", "large"))
    return BenchResult(
        "live",
        (
            BenchRow("prepare + observe at 100,000 tokens, median", first * 1e6, "µs"),
            BenchRow("prepare + observe at 2,000,000 tokens, median", second * 1e6, "µs"),
            BenchRow("ratio", second / first, "", "at most 1.2", second / first <= 1.2),
        ),
    )


def _no_end() -> Settings:
    """A window so large that nothing is compacted: what is measured is following, not
    compacting.
    """
    return Settings(models=ModelSettings(prices={MODEL: ModelPrice(window=100_000_000)}))


async def _grown(engine: Memorist, tokens: int) -> tuple[Session, list[Any]]:
    session = await engine.open(f"grown-{tokens}")
    messages: list[Any] = []
    step = 0
    while session.tracker.tokens < tokens:
        await _step(session, messages, step, size=40)
        step += 1
    return session, messages


async def _step(session: Session, messages: list[Any], step: int, size: int = 4) -> float:
    """One turn; gives the seconds that memorist took of it."""
    mark = f"{session.id} {len(messages)} {step}"
    messages.append({"role": "user", "content": f"{mark} {_WORDS * size}"})
    request = {"model": MODEL, "max_tokens": 1000, "messages": messages}
    tokens = session.tracker.tokens
    reply = {
        "id": f"msg_{mark}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [{"type": "text", "text": f"{mark} {_WORDS * size}"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": tokens + 25 * size, "output_tokens": 25 * size},
    }
    began = time.perf_counter()
    await session.prepare(request)
    await session.observe(reply)
    taken = time.perf_counter() - began
    messages.append({"role": "assistant", "content": reply["content"]})
    # Updates run beside the conversation; let them, outside the measured time.
    await asyncio.sleep(0)
    return taken
