"""One conversation of a host, with every call of the engine in a blocking and an async form.

Fails open: memorist never stops an agent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from threading import Event
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from memorist.compaction.call import Done
from memorist.compaction.result import Strategy
from memorist.context.host import HostContext
from memorist.core.messages import JsonObject
from memorist.engine.memorist import Memorist
from memorist.engine.session import Session
from memorist.events import AdapterFailed, Listener
from memorist.session_memory.trigger import Host

Result = TypeVar("Result")

PATIENCE_SECONDS = 300.0
"""Longest time in seconds that a host waits before its own request goes out.

Our choice: more than a compaction by a model takes with its retries.
"""

NOTHING = "Nothing has this id."
"""What a fetch tool answers to an unknown id."""

_log = logging.getLogger("memorist.adapters")


Work = Callable[[], Coroutine[Any, Any, Result]]
"""Work to run on the engine's loop."""


class Failure(Struct, frozen=True):
    """An exception as a value."""

    error: BaseException


class Ground(Protocol):
    """What a conversation needs of its engine; implemented by `bridge.EngineThread`."""

    listener: Listener | None

    @property
    def engine(self) -> Memorist:
        """The engine."""
        ...

    def wait(self, work: Work[Result]) -> Result:
        """Run the work in the engine's thread and wait."""
        ...

    async def ran(self, work: Work[Result]) -> Result:
        """The same for a caller on its own event loop."""
        ...

    def tried(self, work: Work[Result], seconds: float | None = None) -> Result | Failure:
        """As `run`, with errors returned as a value."""
        ...

    async def atried(self, work: Work[Result], seconds: float | None = None) -> Result | Failure:
        """As `arun`, with errors returned as a value."""
        ...

    def used(self, conversation: Conversation) -> None:
        """The conversation is open and in use."""
        ...

    def ended(self, conversation: Conversation) -> None:
        """The conversation was closed."""
        ...


class Conversation:
    """Returned by `EngineThread.conversation`. Calls may come from any thread or loop; they run one after another.

    The calls of the agent's loop (`prepare`, `observe`, `end_turn`, `recover`, `on_file_read`,
    `assemble`, `close`) raise nothing: an error is logged once for each kind, passed to the listener as
    `AdapterFailed`, and the host's own request goes out. Calls on demand (`summarise`, `compact`,
    `fetch`) raise as the engine does.
    """

    def __init__(self, ground: Ground, id: str, *, project: str, format: str, host: Host | None) -> None:
        self.id = id
        self.project = project
        self.format = format
        self._ground = ground
        self._host = host
        self._session: Session | None = None
        self._turn = asyncio.Lock()
        self._told: set[tuple[str, str]] = set()
        self._late: Event | None = None
        """Set when the overdue call ends: the one that exceeded the longest wait."""

    @property
    def _stuck(self) -> bool:
        """Whether an overdue call still runs; until it ends, all requests go out unchanged."""
        return self._late is not None and not self._late.is_set()

    @property
    def session(self) -> Session | None:
        """The engine's session while it is open. Its coroutines must run in the engine's thread."""
        return self._session

    @property
    def notes(self) -> str | None:
        """The notes on disk; None when there are none yet."""
        return None if self._session is None else self._session.notes

    def prepare(self, request: JsonObject) -> JsonObject:
        """Return the request to send; the same object when nothing changes or memorist failed."""
        return self._kept("prepare", lambda session: session.prepare(request), request)

    async def aprepare(self, request: JsonObject) -> JsonObject:
        """As `prepare`."""
        return await self._akept("prepare", lambda session: session.prepare(request), request)

    def observe(self, reply: object) -> None:
        """Take the model's reply: the SDK's object or its JSON."""
        self._kept("observe", lambda session: session.observe(reply), None)

    async def aobserve(self, reply: object) -> None:
        """As `observe`."""
        await self._akept("observe", lambda session: session.observe(reply), None)

    def end_turn(self) -> None:
        """End the turn: the agent has finished and waits for its user."""
        self._kept("end_turn", lambda session: session.end_turn(), None)

    async def aend_turn(self) -> None:
        """As `end_turn`."""
        await self._akept("end_turn", lambda session: session.end_turn(), None)

    def recover(self) -> JsonObject | None:
        """Return the request to send after the provider refused the last one as too long; None when
        nothing more can be done.
        """
        return self._kept("recover", lambda session: session.recover(), None)

    async def arecover(self) -> JsonObject | None:
        """As `recover`."""
        return await self._akept("recover", lambda session: session.recover(), None)

    def prepare_mapped(self, make: Callable[[], JsonObject], back: Callable[[JsonObject], Result], instead: Result) -> Result:
        """Prepare with the adapter's mapping inside, so that a message that cannot be mapped does
        not stop the agent.

        `encode` builds the request, `decode` maps the prepared one back, `fallback` goes out on
        failure: the host's own request.
        """
        return self._kept("prepare", lambda session: _mapped(session, make, back), instead)

    async def aprepare_mapped(self, make: Callable[[], JsonObject], back: Callable[[JsonObject], Result], instead: Result) -> Result:
        """As `prepare_mapped`."""
        return await self._akept("prepare", lambda session: _mapped(session, make, back), instead)

    def observe_mapped(self, make: Callable[[], object]) -> None:
        """Observe what `encode` returns, with the mapping inside."""
        self._kept("observe", lambda session: _observed(session, make), None)

    async def aobserve_mapped(self, make: Callable[[], object]) -> None:
        """As `observe_mapped`."""
        await self._akept("observe", lambda session: _observed(session, make), None)

    def recover_mapped(self, back: Callable[[JsonObject], Result]) -> Result | None:
        """Recover and map the request back with `decode`; None when nothing more can be done."""
        return self._kept("recover", lambda session: _recovered(session, back), None)

    async def arecover_mapped(self, back: Callable[[JsonObject], Result]) -> Result | None:
        """As `recover_mapped`."""
        return await self._akept("recover", lambda session: _recovered(session, back), None)

    def on_file_read(self, path: str) -> None:
        """Note that a file came into the conversation without a tool call."""
        self._kept("on_file_read", lambda session: _done(lambda: session.on_file_read(path)), None)

    def assemble(self, context: HostContext) -> None:
        """Have memorist assemble the context, from the next request on."""
        self._kept("assemble", lambda session: _done(lambda: session.assemble(context)), None)

    def summarise(self) -> str:
        """Update the notes now and return them.

        Raises NothingToDo for an empty conversation, StoreError where it cannot be opened.
        """
        return self._ground.wait(lambda: self._serial(lambda session: session.summarise()))

    async def asummarise(self) -> str:
        """As `summarise`."""
        return await self._ground.ran(lambda: self._serial(lambda session: session.summarise()))

    def compact(self, instructions: str = "", strategy: Strategy = "auto") -> Done:
        """Compact the conversation now; the next request shows it. Raises as `summarise`."""
        return self._ground.wait(lambda: self._serial(lambda session: session.compact(instructions, strategy)))

    async def acompact(self, instructions: str = "", strategy: Strategy = "auto") -> Done:
        """As `compact`."""
        return await self._ground.ran(lambda: self._serial(lambda session: session.compact(instructions, strategy)))

    def fetch(self, id: str) -> str | None:
        """Return the full text of what is no longer shown in full; None for an unknown id.

        Raises StoreError where it cannot be opened.
        """
        return self._ground.wait(lambda: self._serial(lambda session: _done(lambda: session.fetch(id))))

    async def afetch(self, id: str) -> str | None:
        """As `fetch`."""
        return await self._ground.ran(lambda: self._serial(lambda session: _done(lambda: session.fetch(id))))

    def fetched(self, id: str) -> str:
        """The answer of a fetch tool to the model: the full text, or that there is none.

        Raises nothing, as the tool runs in the agent's loop.
        """
        return self._kept("fetch", lambda session: _done(lambda: session.fetch(id)), None) or NOTHING

    async def afetched(self, id: str) -> str:
        """As `answer_fetch`."""
        return await self._akept("fetch", lambda session: _done(lambda: session.fetch(id)), None) or NOTHING

    def close(self) -> None:
        """Write everything and release the files. The next request opens it again."""
        self._taken("close", self._ground.tried(self.let_go), None)

    async def aclose(self) -> None:
        """As `close`."""
        self._taken("close", await self._ground.atried(self.let_go), None)

    async def let_go(self) -> None:
        """Close the session. Runs in the engine's thread."""
        async with self._turn:
            session, self._session = self._session, None
            self._ground.ended(self)
            if session is not None:
                await session.close()

    def _kept(self, point: str, work: Callable[[Session], Awaitable[Result]], instead: Result) -> Result:
        if self._stuck:
            return instead
        ended = Event()
        return self._taken(point, self._ground.tried(lambda: self._serial(work, ended), PATIENCE_SECONDS), instead, ended)

    async def _akept(self, point: str, work: Callable[[Session], Awaitable[Result]], instead: Result) -> Result:
        if self._stuck:
            return instead
        ended = Event()
        return self._taken(point, await self._ground.atried(lambda: self._serial(work, ended), PATIENCE_SECONDS), instead, ended)

    def _taken(self, point: str, outcome: Result | Failure, instead: Result, ended: Event | None = None) -> Result:
        """Return the outcome, or the fallback after any failure (a disk, an unknown format, a
        defect of ours): the agent goes on without memorist.
        """
        if not isinstance(outcome, Failure):
            return outcome
        if isinstance(outcome.error, TimeoutError):
            self._late = ended
        self._failed(point, outcome.error)
        return instead

    async def _serial(self, work: Callable[[Session], Awaitable[Result]], ended: Event | None = None) -> Result:
        """Run work in the engine's thread, after all earlier calls."""
        try:
            async with self._turn:
                if self._session is None:
                    self._session = await self._ground.engine.open(
                        self.id, project=self.project, format=self.format, host=self._host, listener=self._ground.listener
                    )
                self._ground.used(self)
                return await work(self._session)
        finally:
            if ended is not None:
                ended.set()

    def _failed(self, point: str, error: BaseException) -> None:
        """Report a failure once for each call and kind of error."""
        mark = (point, type(error).__name__)
        if mark in self._told:
            return
        self._told.add(mark)
        _log.warning("memorist failed in %s of conversation %r, which goes on without it: %s", point, self.id, error, exc_info=error)
        if self._ground.listener is not None:
            self._ground.listener(AdapterFailed(self.id, point, f"{type(error).__name__}: {error}"))


async def _done(work: Callable[[], Result]) -> Result:
    return work()


async def _mapped(session: Session, make: Callable[[], JsonObject], back: Callable[[JsonObject], Result]) -> Result:
    return back(await session.prepare(make()))


async def _observed(session: Session, make: Callable[[], object]) -> None:
    await session.observe(make())


async def _recovered(session: Session, back: Callable[[JsonObject], Result]) -> Result | None:
    body = await session.recover()
    return None if body is None else back(body)
