"""What a turn costs beside what LangChain's summarisation middleware and the OpenAI Agents SDK's
session take for the same messages (EN-1).

Made-up conversations of 10,000, 200,000 and 2,000,000 tokens go on for some turns, each a message
of the user and a reply. Only what a library does around the call of the model is timed, in
processor time: other programs on the machine are not counted, and neither is waiting for the disk,
which favours the session that commits to a file on each turn. No history is ever compacted or
summarised.

The others are measured where they are installed beside memorist, `pip install langchain
openai-agents`; written against langchain 1.4.7 with langchain-core 1.7.2, and openai-agents 0.24.0.
They need no key and no network.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import importlib.metadata
import math
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

from msgspec import Struct

from benchmarks.report import BenchResult, BenchRow
from memorist.core.messages import JsonObject
from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.settings import Settings

# Who follows the conversation in `preparing`: memorist, and the two others, which are no
# dependencies of memorist and imported only when they run.


MODEL = "claude-opus-4-6"
NEVER = 100_000_000
"""Tokens of a window or trigger that no conversation here reaches: what is measured is following,
not compacting.
"""


class FollowedTurn(NamedTuple):
    """What the user says, what the model answers, and the tokens of the conversation before
    both.
    """

    user: str
    reply: str
    before: int
    tokens: int
    """Of user's message and reply together."""


class Follower(Protocol):
    """One conversation with one library."""

    async def grow(self, turns: Sequence[FollowedTurn]) -> None:
        """Take a history, untimed."""
        ...

    async def turn(self, turn: FollowedTurn) -> float:
        """One more turn; gives the seconds of processor time that the library took around the call
        of the model.
        """
        ...

    async def settle(self) -> None:
        """Wait for what the library still does beside the conversation."""
        ...

    async def close(self) -> None:
        """Let go of files."""
        ...


class PreparingMethod(Struct, frozen=True):
    """A library: how its rows call it, the distribution it comes in (empty: memorist itself), and
    how a conversation with it begins in a folder.
    """

    name: str
    distribution: str
    begin: Callable[[Path], Awaitable[Follower]]


class MemoristFollower:
    """`prepare` and `observe` of a session with structural notes, which are updated in the
    background.
    """

    def __init__(self, engine: Memorist, session: Session) -> None:
        self._engine = engine
        self._session = session
        self._messages: list[JsonObject] = []
        self.sent: JsonObject = {}
        """The last request as memorist gave it."""

    @classmethod
    async def begin(cls, folder: Path) -> Self:
        """A conversation of its own, in a home of its own."""
        settings = Settings(models=ModelSettings(prices={MODEL: ModelPrice(window=NEVER)}))
        engine = Memorist(model="structural", home=folder, settings=settings)
        return cls(engine, await engine.open("grown"))

    async def grow(self, turns: Sequence[FollowedTurn]) -> None:
        """As it would have grown: turn by turn."""
        for turn in turns:
            await self.turn(turn)
            await self.settle()

    async def turn(self, turn: FollowedTurn) -> float:
        """Updates of the notes run beside the conversation, once `settle` lets them."""
        self._messages.append({"role": "user", "content": turn.user})
        request: JsonObject = {"model": MODEL, "max_tokens": 1000, "messages": self._messages}
        half = turn.tokens // 2
        reply = {
            "id": f"msg_{turn.before}",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [{"type": "text", "text": turn.reply}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": turn.before + half, "output_tokens": half},
        }
        began = time.process_time()
        self.sent = await self._session.prepare(request)
        taken = time.process_time() - began
        await asyncio.sleep(0)  # the call of the model
        began = time.process_time()
        await self._session.observe(reply)
        taken += time.process_time() - began
        self._messages.append({"role": "assistant", "content": reply["content"]})
        return taken

    async def settle(self) -> None:
        """The update of the notes that may be under way."""
        await self._session.session_memory.wait_or_cancel(60)

    async def close(self) -> None:
        """Closes the session too."""
        await self._engine.close()


def _offered(module: str, name: str) -> Callable[..., Any]:
    """A class of another library; ImportError also where this version of it has none of that
    name.
    """
    found: Callable[..., Any] | None = getattr(importlib.import_module(module), name, None)
    if found is None:
        raise ImportError(f"{module} has no {name}")
    return found


class _Middleware(Protocol):
    def before_model(self, state: object, runtime: object) -> object: ...


class LangChain:
    """`SummarizationMiddleware.before_model`, which decides before each call of the model whether
    to summarise; here it never has to.
    """

    def __init__(self, folder: Path) -> None:
        del folder
        model = _offered("langchain_core.language_models.fake_chat_models", "FakeListChatModel")(
            responses=["a summary"]
        )
        make = _offered("langchain.agents.middleware", "SummarizationMiddleware")
        self._middleware: _Middleware = make(model=model, trigger=("tokens", NEVER))
        self._user = _offered("langchain_core.messages", "HumanMessage")
        self._model = _offered("langchain_core.messages", "AIMessage")
        self._messages: list[object] = []

    async def grow(self, turns: Sequence[FollowedTurn]) -> None:
        """Its history is a list."""
        for turn in turns:
            self._add(turn)

    async def turn(self, turn: FollowedTurn) -> float:
        """The agent's graph, which copies and merges the list of messages around this, is not
        timed.
        """
        self._messages.append(self._user(turn.user, id=f"user_{turn.before}"))
        state = {"messages": self._messages}
        began = time.process_time()
        changed = self._middleware.before_model(state, None)
        taken = time.process_time() - began
        if changed is not None:
            raise RuntimeError("the middleware summarised a history below its trigger")
        self._messages.pop()
        self._add(turn)
        return taken

    def _add(self, turn: FollowedTurn) -> None:
        half = turn.tokens // 2
        usage = {
            "input_tokens": turn.before + half,
            "output_tokens": half,
            "total_tokens": turn.before + turn.tokens,
        }
        self._messages += [
            self._user(turn.user, id=f"user_{turn.before}"),
            self._model(turn.reply, id=f"msg_{turn.before}", usage_metadata=usage),
        ]

    async def settle(self) -> None:
        """Nothing runs beside it."""

    async def close(self) -> None:
        """It has no files."""


class _Stored(Protocol):
    async def get_items(self) -> list[object]: ...

    async def add_items(self, items: list[object]) -> None: ...

    def close(self) -> None: ...


class _Compacting(_Stored, Protocol):
    async def run_compaction(self, args: object) -> None: ...


class Agents:
    """`SQLiteSession`: each turn reads the history back from the file and adds what the turn
    brought, in one commit.
    """

    def __init__(self, folder: Path) -> None:
        self._store: _Stored = _offered("agents", "SQLiteSession")(
            "grown", folder / "agents.sqlite3"
        )

    async def grow(self, turns: Sequence[FollowedTurn]) -> None:
        """All at once, as it stores each item by itself anyway."""
        await self._store.add_items([item for turn in turns for item in _items(turn)])

    async def turn(self, turn: FollowedTurn) -> float:
        """Processor time of the thread that works on the file is counted, waiting for the disk is
        not.
        """
        items = _items(turn)
        began = time.process_time()
        await self._store.get_items()
        await self._store.add_items(items)
        return time.process_time() - began

    async def settle(self) -> None:
        """Nothing runs beside it."""

    async def close(self) -> None:
        """The file."""
        self._store.close()


class AgentsCompacting(Agents):
    """The same within `OpenAIResponsesCompactionSession`, which decides after each turn whether to
    compact; here the answer is always no.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        make = _offered("agents.memory", "OpenAIResponsesCompactionSession")
        self._session: _Compacting = make(
            "grown", self._store, should_trigger_compaction=lambda _: False
        )

    async def turn(self, turn: FollowedTurn) -> float:
        """No client is ever made, as nothing is compacted."""
        items = _items(turn)
        began = time.process_time()
        await self._session.get_items()
        await self._session.add_items(items)
        await self._session.run_compaction({"response_id": f"resp_{turn.before}"})
        return time.process_time() - began


def _items(turn: FollowedTurn) -> list[object]:
    said = {"type": "output_text", "text": turn.reply, "annotations": []}
    return [
        {"role": "user", "content": turn.user},
        {
            "id": f"msg_{turn.before}",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [said],
        },
    ]


async def _langchain(folder: Path) -> Follower:
    return LangChain(folder)


async def _agents(folder: Path) -> Follower:
    return Agents(folder)


async def _agents_compacting(folder: Path) -> Follower:
    return AgentsCompacting(folder)


OURS = PreparingMethod("memorist", "", MemoristFollower.begin)
OTHERS = (
    PreparingMethod("LangChain SummarizationMiddleware", "langchain", _langchain),
    PreparingMethod("OpenAI Agents SQLiteSession", "openai-agents", _agents),
    PreparingMethod(
        "OpenAI Agents SQLiteSession, compaction decided", "openai-agents", _agents_compacting
    ),
)


SIZES = (10_000, 200_000, 2_000_000)
COMPARED = 200_000
"""Tokens of the conversation for which the goal against the others holds."""
TURNS = 40
"""Timed ones; half of them stand before a conversation's nominal size and half after it, so that
the median is at that size.
"""
BLOCK = 5
"""Turns with one library before the next has its own: enough that most find the processor's caches
warm.
"""
MESSAGE = 250
"""Tokens of a message: between the means of the recorded sessions of two coding agents, 258 and
198.
"""
CHARACTERS = 4
"""Of a token."""
GOAL, FLAT = 20, 1.2
_WORDS = "the quick agent reads a file and writes what it found into the notes of the session "


class PreparingCost(Struct, frozen=True):
    """Microseconds of a turn: the median around the call of the model; the mean of that; and the
    mean with what ran in the background.
    """

    median: float
    mean: float
    whole: float


def measure(data: Path) -> BenchResult:
    """Time turns of short and long conversations with each library. Needs no data; takes less than
    a minute.
    """
    del data
    return asyncio.run(compare_preparing(SIZES, OTHERS))


async def compare_preparing(sizes: Sequence[int], others: Sequence[PreparingMethod]) -> BenchResult:
    """The rows for these sizes in tokens, ascending. An other library that is not there has one
    row, which says so.
    """
    async with AsyncExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ours = await _grown(OURS, sizes, root / "ours", stack)
        theirs: dict[str, _Timed] = {}
        absent: dict[str, BenchRow] = {}
        for number, way in enumerate(others):
            try:
                version = importlib.metadata.version(way.distribution)
                theirs[f"{way.name} ({version})"] = await _grown(
                    way, sizes, root / str(number), stack
                )
            except importlib.metadata.PackageNotFoundError:
                absent[way.name] = BenchRow(
                    f"{way.name}: not measured, {way.distribution} is not installed", math.nan
                )
            except ImportError as missing:
                absent[way.name] = BenchRow(
                    f"{way.name}: not measured, {way.distribution} cannot be imported ({missing})",
                    math.nan,
                )
        gc.collect()
        await _time([ours, *theirs.values()], sizes)
    costs = {size: ours.cost(size) for size in sizes}
    rows = _own(costs, sizes)
    for name, timed in theirs.items():
        rows += _beside(name, {size: timed.cost(size) for size in sizes}, costs)
    return BenchResult("prepare", (*rows, *absent.values()))


def _own(ours: Mapping[int, PreparingCost], sizes: Sequence[int]) -> list[BenchRow]:
    rows = [
        row
        for size in sizes
        for row in (
            BenchRow(f"memorist at {size:,} tokens, median", ours[size].median, "µs"),
            BenchRow(f"memorist at {size:,} tokens, mean", ours[size].mean, "µs"),
            BenchRow(
                f"memorist at {size:,} tokens, mean with the notes in the background",
                ours[size].whole,
                "µs",
            ),
        )
    ]
    first, last = ours[sizes[0]], ours[sizes[-1]]
    what = f"memorist: {sizes[-1]:,} to {sizes[0]:,} tokens"
    flat = last.median / first.median
    rows.append(BenchRow(f"{what}, medians", flat, "times", f"at most {FLAT}", flat <= FLAT))
    rows.append(BenchRow(f"{what}, means", last.mean / first.mean, "times"))
    return rows


def _beside(
    name: str, theirs: Mapping[int, PreparingCost], ours: Mapping[int, PreparingCost]
) -> list[BenchRow]:
    rows = []
    for size, cost in theirs.items():
        times = cost.median / ours[size].median
        what = f"{name} to memorist at {size:,} tokens"
        rows.append(BenchRow(f"{name} at {size:,} tokens, median", cost.median, "µs"))
        rows.append(
            BenchRow(what, times, "times", f"at least {GOAL}", times >= GOAL)
            if size == COMPARED
            else BenchRow(what, times, "times")
        )
    return rows


class _Timed:
    """Conversations with one library, by their size, and the seconds that their turns took: around
    the call of the model, and in all.
    """

    def __init__(self) -> None:
        self.grown: dict[int, Follower] = {}
        self.around: dict[int, list[float]] = defaultdict(list)
        self.whole: dict[int, list[float]] = defaultdict(list)

    def cost(self, size: int) -> PreparingCost:
        around = self.around[size]
        return PreparingCost(
            statistics.median(around) * 1e6,
            statistics.mean(around) * 1e6,
            statistics.mean(self.whole[size]) * 1e6,
        )

    async def turn(self, size: int, turn: FollowedTurn) -> None:
        began = time.process_time()
        self.around[size].append(await self.grown[size].turn(turn))
        await self.grown[size].settle()
        self.whole[size].append(time.process_time() - began)


async def _grown(
    way: PreparingMethod, sizes: Sequence[int], folder: Path, stack: AsyncExitStack
) -> _Timed:
    timed = _Timed()
    for size in sizes:
        home = folder / str(size)
        home.mkdir(parents=True)
        timed.grown[size] = await way.begin(home)
        stack.push_async_callback(timed.grown[size].close)
        await timed.grown[size].grow([_turn(number) for number in range(_first(size))])
    return timed


async def _time(all_timed: Sequence[_Timed], sizes: Sequence[int]) -> None:
    """The libraries take turns a few at a time, and the sizes in changing order, so that a slower
    minute of the machine falls on all.
    """
    for start in range(0, TURNS, BLOCK):
        for timed in all_timed:
            for step in range(start, start + BLOCK):
                for place in range(len(sizes)):
                    size = sizes[(step + place) % len(sizes)]
                    await timed.turn(size, _turn(_first(size) + step))


def _first(size: int) -> int:
    """How many turns come before the timed ones."""
    return max(0, size // (2 * MESSAGE) - TURNS // 2)


def _turn(number: int) -> FollowedTurn:
    """No two messages are alike, all are equally long."""
    user, reply = (
        f"{who} {number} {_WORDS * (CHARACTERS * MESSAGE // len(_WORDS) + 1)}"[
            : CHARACTERS * MESSAGE
        ]
        for who in ("user", "reply")
    )
    return FollowedTurn(user, reply, 2 * MESSAGE * number, 2 * MESSAGE)
