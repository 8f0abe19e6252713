"""The engine for programs without an event loop: the calls of `Memorist` and `Session`, by the same
names, each of which waits for its result.

    with Memorist() as engine:
        session = engine.open("s1")
        request = session.prepare(request)

The engine runs on a loop in a thread of its own, so background work goes on between the calls.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from functools import wraps
from pathlib import Path, PurePath
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar
from weakref import WeakSet

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.core.messages import JsonObject
from memorist.core.not_picklable import NotPicklable
from memorist.engine.project_search import SearchResults
from memorist.engine.session import Session
from memorist.errors import UsageError
from memorist.events import EventListener
from memorist.extensions import SessionExtension
from memorist.platforms.process_hooks import close_at_exit
from memorist.ports import HostInfo
from memorist.runtime import SessionContext
from memorist.store.home_layout import SessionLayout

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")

MAX_CANCEL_SECONDS = 5.0
"""Longest wait for what is cancelled when the loop ends, in seconds. Our choice."""


class EventLoopThread:
    """An event loop in a daemon thread. Every call may come from any thread but its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="memorist", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._cancel_tasks()
        finally:
            self._loop.close()

    def _cancel_tasks(self) -> None:
        """Cancel what other threads still wait for: nobody else would tell them."""
        if tasks := asyncio.all_tasks(self._loop):
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.wait(tasks, timeout=MAX_CANCEL_SECONDS))

    @property
    def is_running(self) -> bool:
        """Whether it was not stopped."""
        return self._thread.is_alive() and not self._is_stopped

    def submit(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> Future[Result]:
        """Begin `work` on the loop.

        Raises UsageError after `stop`, and in the loop's own thread, which cannot wait for itself.
        """
        if not self.is_running:
            raise UsageError("the engine was closed; open a new one")
        if threading.current_thread() is self._thread:
            raise UsageError("a listener runs in the engine's own thread and cannot wait for it")
        return asyncio.run_coroutine_threadsafe(work(), self._loop)

    def run(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Run `work` on the loop, wait for it and return its result.

        Raises what it raises, and what `submit` raises, also where `stop` ends the work. Ctrl-C
        cancels it.
        """
        future = self.submit(work)
        try:
            return future.result()
        except CancelledError:
            if self._is_stopped:
                raise UsageError("the engine was closed by another thread meanwhile") from None
            raise
        except BaseException:  # Ctrl-C too: nobody waits for the work any more
            future.cancel()
            raise

    def call(self, work: Callable[[], Result]) -> Result:
        """As `run`, for a plain function that touches what the loop's tasks touch."""

        async def calling() -> Result:
            return work()

        return self.run(calling)

    def stop(self, seconds: float | None = None) -> None:
        """End the loop and wait for its thread, at most `seconds`. May be called twice."""
        if self._thread.is_alive():
            self._is_stopped = True
            self._loop.call_soon_threadsafe(self._loop.stop)
            if threading.current_thread() is not self._thread:
                self._thread.join(seconds)


def _wait_for_coroutine(
    method: Callable[Concatenate[Session, Arguments], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[BlockingSession, Arguments], Result]:
    """The same call of a session, which waits for what the coroutine returns or raises."""

    @wraps(method)
    def call(self: BlockingSession, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return self._loop.run(lambda: method(self._session, *args, **kwargs))

    return call


def _call_in_loop(
    method: Callable[Concatenate[Session, Arguments], Result],
) -> Callable[Concatenate[BlockingSession, Arguments], Result]:
    """The same call of a session, made in the loop's thread."""

    @wraps(method)
    def call(self: BlockingSession, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return self._loop.call(lambda: method(self._session, *args, **kwargs))

    return call


class BlockingSession(NotPicklable):
    """A `Session` whose calls wait for their results; one conversation, used by one thread at a
    time. A context manager that closes it. Arguments, results and errors are those of `Session`.
    """

    def __init__(self, session: Session, loop: EventLoopThread) -> None:
        self._session = session
        self._loop = loop

    @property
    def id(self) -> str:
        """The id that it was opened with."""
        return self._session.id

    @property
    def layout(self) -> SessionLayout:
        """As `Session.layout`: where its files are."""
        return self._session.layout

    @property
    def notes(self) -> str | None:
        """The notes on disk; None when there are none yet."""
        return self._loop.call(lambda: self._session.notes)

    @property
    def betas(self) -> tuple[str, ...]:
        """As `Session.betas`."""
        return self._loop.call(lambda: self._session.betas)

    @property
    def fetch_tool(self) -> JsonObject:
        """As `Session.fetch_tool`."""
        return self._session.fetch_tool

    prepare = _wait_for_coroutine(Session.prepare)
    observe = _wait_for_coroutine(Session.observe)
    end_turn = _wait_for_coroutine(Session.end_turn)
    update_notes = _wait_for_coroutine(Session.update_notes)
    compact = _wait_for_coroutine(Session.compact)
    shrink_refused_request = _wait_for_coroutine(Session.shrink_refused_request)
    close = _wait_for_coroutine(Session.close)
    assemble_context = _call_in_loop(Session.assemble_context)
    on_file_read = _call_in_loop(Session.on_file_read)
    search_project = _call_in_loop(Session.search_project)
    recall_for_tool_call = _call_in_loop(Session.recall_for_tool_call)
    pin = _call_in_loop(Session.pin)
    turn_memory_off = _call_in_loop(Session.turn_memory_off)
    fetch = _call_in_loop(Session.fetch)
    receipts = _call_in_loop(Session.receipts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncEngine(Protocol):
    """What is used of `Memorist`, which gives a `BlockingMemorist` of itself."""

    extensions: list[Callable[[SessionContext], SessionExtension]]

    async def open(
        self,
        session: str,
        *,
        project: str | PurePath = "",
        format: str = "anthropic",
        host: HostInfo | None = None,
        folder: str | Path | None = None,
        listener: EventListener | None = None,
    ) -> Session:
        """Open a session."""
        ...

    def memory(self, project: str | PurePath) -> AutoMemory:
        """The memory of a project."""
        ...

    def search(self, query: str, *, project: str | PurePath, limit: int = 10) -> SearchResults:
        """Search all that is kept of a project."""
        ...

    async def delete_session(self, session: str) -> None:
        """Delete what is kept of a session."""
        ...

    async def close(self) -> None:
        """Close every open session, and the engine."""
        ...


class BlockingMemorist(NotPicklable):
    """What `with Memorist(…) as engine` gives: the engine with calls that wait for their results.

    May be used from several threads, a session at a time from one.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        """The engine itself; its coroutines belong to the loop of this object."""
        self._loop = EventLoopThread()
        self._memories = WeakSet[AutoMemory]()
        """Those that the program still uses: one that asks for the memory at each request of its
        own would fill the process with them.
        """
        close_at_exit(self.close)  # else its thread is cut off, in native code with an abort

    @property
    def extensions(self) -> list[Callable[[SessionContext], SessionExtension]]:
        """As `Memorist.extensions`: what opens the host's own extensions of each session."""
        return self.engine.extensions

    def memory(self, project: str | PurePath) -> AutoMemory:
        """As `Memorist.memory`: the memory of a project, for the thread that asks for it."""
        memory = self._loop.call(lambda: self.engine.memory(project).clone_for_thread())
        self._memories.add(memory)
        return memory

    def search(self, query: str, *, project: str | PurePath, limit: int = 10) -> SearchResults:
        """As `Memorist.search`: all that is kept of a project. Raises StoreError."""
        return self._loop.call(lambda: self.engine.search(query, project=project, limit=limit))

    def open(
        self,
        session: str,
        *,
        project: str | PurePath = "",
        format: str = "anthropic",
        host: HostInfo | None = None,
        folder: str | Path | None = None,
        listener: EventListener | None = None,
    ) -> BlockingSession:
        """As `Memorist.open`, whose arguments it takes. Raises as that does."""
        opened = self._loop.run(
            lambda: self.engine.open(
                session, project=project, format=format, host=host, folder=folder, listener=listener
            )
        )
        return BlockingSession(opened, self._loop)

    def delete_session(self, session: str) -> None:
        """As `Memorist.delete_session`: delete what is kept of a session. Raises as that does."""
        self._loop.run(lambda: self.engine.delete_session(session))

    def close(self) -> None:
        """Close every open session and the engine. May be called twice."""
        if self._loop.is_running:
            try:
                self._loop.run(self.engine.close)
            finally:
                self._loop.stop()
                for memory in tuple(self._memories):
                    memory.close()
