"""Who follows the conversation in `preparing`: memorist, and the two others, which are no dependencies of memorist and imported only when they run."""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

from msgspec import Struct

from memorist.core.messages import JsonObject
from memorist.engine.memorist import Memorist
from memorist.engine.session import Session
from memorist.models.prices import Price
from memorist.models.settings import ModelSettings
from memorist.settings import Settings

MODEL = "claude-opus-4-6"
NEVER = 100_000_000
"""Tokens of a window or trigger that no conversation here reaches: what is measured is following, not compacting."""


class Turn(NamedTuple):
    """What the user says, what the model answers, and the tokens of the conversation before both."""

    user: str
    reply: str
    before: int
    tokens: int
    """Of user's message and reply together."""


class Follower(Protocol):
    """One conversation with one library."""

    async def grow(self, turns: Sequence[Turn]) -> None:
        """Take a history, untimed."""
        ...

    async def turn(self, turn: Turn) -> float:
        """One more turn; gives the seconds of processor time that the library took around the call of the model."""
        ...

    async def settle(self) -> None:
        """Wait for what the library still does beside the conversation."""
        ...

    async def close(self) -> None:
        """Let go of files."""
        ...


class Way(Struct, frozen=True):
    """A library: how its rows call it, the distribution it comes in (empty: memorist itself), and how a conversation with it begins in a folder."""

    name: str
    distribution: str
    begin: Callable[[Path], Awaitable[Follower]]


class Ours:
    """`prepare` and `observe` of a session with structural notes, which are updated in the background."""

    def __init__(self, engine: Memorist, session: Session) -> None:
        self._engine = engine
        self._session = session
        self._messages: list[JsonObject] = []
        self.sent: JsonObject = {}
        """The last request as memorist gave it."""

    @classmethod
    async def begin(cls, folder: Path) -> Self:
        """A conversation of its own, in a home of its own."""
        settings = Settings(models=ModelSettings(prices={MODEL: Price(window=NEVER)}))
        engine = Memorist(model="structural", home=folder, settings=settings)
        return cls(engine, await engine.open("grown"))

    async def grow(self, turns: Sequence[Turn]) -> None:
        """As it would have grown: turn by turn."""
        for turn in turns:
            await self.turn(turn)
            await self.settle()

    async def turn(self, turn: Turn) -> float:
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
        await self._session.memory.drain(60)

    async def close(self) -> None:
        """Closes the session too."""
        await self._engine.close()


def _offered(module: str, name: str) -> Callable[..., Any]:
    """A class of another library; ImportError also where this version of it has none of that name."""
    found: Callable[..., Any] | None = getattr(importlib.import_module(module), name, None)
    if found is None:
        raise ImportError(f"{module} has no {name}")
    return found


class _Middleware(Protocol):
    def before_model(self, state: object, runtime: object) -> object: ...


class LangChain:
    """`SummarizationMiddleware.before_model`, which decides before each call of the model whether to summarise; here it never has to."""

    def __init__(self, folder: Path) -> None:
        del folder
        model = _offered("langchain_core.language_models.fake_chat_models", "FakeListChatModel")(responses=["a summary"])
        make = _offered("langchain.agents.middleware", "SummarizationMiddleware")
        self._middleware: _Middleware = make(model=model, trigger=("tokens", NEVER))
        self._user = _offered("langchain_core.messages", "HumanMessage")
        self._model = _offered("langchain_core.messages", "AIMessage")
        self._messages: list[object] = []

    async def grow(self, turns: Sequence[Turn]) -> None:
        """Its history is a list."""
        for turn in turns:
            self._add(turn)

    async def turn(self, turn: Turn) -> float:
        """The agent's graph, which copies and merges the list of messages around this, is not timed."""
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

    def _add(self, turn: Turn) -> None:
        half = turn.tokens // 2
        usage = {"input_tokens": turn.before + half, "output_tokens": half, "total_tokens": turn.before + turn.tokens}
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
    """`SQLiteSession`: each turn reads the history back from the file and adds what the turn brought, in one commit."""

    def __init__(self, folder: Path) -> None:
        self._store: _Stored = _offered("agents", "SQLiteSession")("grown", folder / "agents.sqlite3")

    async def grow(self, turns: Sequence[Turn]) -> None:
        """All at once, as it stores each item by itself anyway."""
        await self._store.add_items([item for turn in turns for item in _items(turn)])

    async def turn(self, turn: Turn) -> float:
        """Processor time of the thread that works on the file is counted, waiting for the disk is not."""
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
    """The same within `OpenAIResponsesCompactionSession`, which decides after each turn whether to compact; here the answer is always no."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        make = _offered("agents.memory", "OpenAIResponsesCompactionSession")
        self._session: _Compacting = make("grown", self._store, should_trigger_compaction=lambda _: False)

    async def turn(self, turn: Turn) -> float:
        """No client is ever made, as nothing is compacted."""
        items = _items(turn)
        began = time.process_time()
        await self._session.get_items()
        await self._session.add_items(items)
        await self._session.run_compaction({"response_id": f"resp_{turn.before}"})
        return time.process_time() - began


def _items(turn: Turn) -> list[object]:
    said = {"type": "output_text", "text": turn.reply, "annotations": []}
    return [
        {"role": "user", "content": turn.user},
        {"id": f"msg_{turn.before}", "type": "message", "role": "assistant", "status": "completed", "content": [said]},
    ]


async def _langchain(folder: Path) -> Follower:
    return LangChain(folder)


async def _agents(folder: Path) -> Follower:
    return Agents(folder)


async def _agents_compacting(folder: Path) -> Follower:
    return AgentsCompacting(folder)


OURS = Way("memorist", "", Ours.begin)
OTHERS = (
    Way("LangChain SummarizationMiddleware", "langchain", _langchain),
    Way("OpenAI Agents SQLiteSession", "openai-agents", _agents),
    Way("OpenAI Agents SQLiteSession, compaction decided", "openai-agents", _agents_compacting),
)
