"""An engine on an event loop and thread of its own, so that hosts of every kind can call it:
blocking, on any loop, from any thread.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
import weakref
from collections import OrderedDict
from concurrent.futures import CancelledError, Future
from pathlib import Path
from types import TracebackType
from typing import Self, TypedDict, TypeVar, Unpack

from memorist.adapters.conversation import Conversation, Failure, Work
from memorist.engine.memorist import Memorist
from memorist.errors import UsageError
from memorist.events import Event, Listener
from memorist.flags.run import Source
from memorist.ports import Clock, Files, Model
from memorist.session_memory.trigger import Host
from memorist.settings import Settings

Result = TypeVar("Result")

CLOSE_SECONDS = 75.0
"""Longest wait at close, in seconds.

Our choice: the engine itself waits up to a minute for background work of a session.
"""

MOST_OPEN = 100
"""Conversations that stay open at once.

Our choice: without a bound, a server with a thread for each user would keep all of them open.
"""


class EngineArguments(TypedDict, total=False):
    """The arguments of `Memorist`."""

    model: str | Model | None
    home: str | os.PathLike[str] | None
    settings: Settings | None
    flags: Source | None
    clock: Clock | None
    files: Files | None


class Attached:
    """One engine for any number of agents of a process.

    It runs in a daemon thread and outlives `asyncio.run`. A context manager; closes itself at exit.

    Args:
        listener: called with every event of every conversation, in the engine's thread. Must not block.
        most_open: conversations that stay open at once; the least recently used one is closed, and
            reopened by its next request.
        engine: the arguments of `Memorist`: `model`, `home`, `settings`, …

    Raises what `Memorist` raises: SettingsError, ModelNameError.
    """

    def __init__(self, *, listener: Listener | None = None, most_open: int = MOST_OPEN, **engine: Unpack[EngineArguments]) -> None:
        self.listener = None if listener is None else _harmless(listener)
        self._most_open = most_open
        self._process = os.getpid()
        self._known: weakref.WeakValueDictionary[tuple[str, str, str], Conversation] = weakref.WeakValueDictionary()
        self._knowing = threading.Lock()
        self._open: OrderedDict[Conversation, None] = OrderedDict()
        """Open conversations, the most recently used last. Touched in the engine's thread only."""
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="memorist", daemon=True)
        self._thread.start()
        try:
            self._engine = self.wait(lambda: _made(engine))
        except BaseException:  # also for Ctrl-C: the loop must not run on without an engine
            self._closed = True
            self._loop.call_soon_threadsafe(self._loop.stop)
            raise
        _at_exit(self)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    @property
    def engine(self) -> Memorist:
        """The engine. Its coroutines run in its own thread: pass them to `run` or `arun`."""
        return self._engine

    def conversation(self, id: str, *, project: str = "", format: str, host: Host | None = None) -> Conversation:
        """Return the conversation of this id, new or known; the same object while it is referenced
        or open. Opened by its first request.

        `project`, `format` and `host` are those of `Memorist.open`; a relative `project` is
        resolved from the working folder. Raises UsageError for an empty id.
        """
        if not id:
            raise UsageError("a conversation needs an id; any text that is not empty will do")
        if project:
            project = str(Path(project).expanduser().absolute())
        name = (project, id, format)
        with self._knowing:
            known = self._known.get(name)
            if known is None:
                known = self._known[name] = Conversation(self, id, project=project, format=format, host=host)
            return known

    def wait(self, work: Work[Result]) -> Result:
        """Run `work` on the engine's loop and wait for it.

        Raises what the work raises, and UsageError where the engine cannot be waited for.
        """
        return _result(self.tried(work))

    async def ran(self, work: Work[Result]) -> Result:
        """As `run`, for a caller on its own event loop."""
        return _result(await self.atried(work))

    def tried(self, work: Work[Result], seconds: float | None = None) -> Result | Failure:
        """As `run`, but errors are returned as a value.

        After `seconds` a TimeoutError is returned, and the work continues.
        """
        try:
            begun = self._begun(work)
            error = begun.exception(seconds)
        except (UsageError, TimeoutError, CancelledError) as refused:
            return Failure(refused)
        return begun.result() if error is None else Failure(error)

    async def atried(self, work: Work[Result], seconds: float | None = None) -> Result | Failure:
        """As `try_run`, for a caller on its own event loop.

        If the caller is cancelled the work continues, so that nothing is left half done.
        """
        try:
            asyncio.get_running_loop()
            begun = self._begun(work)
        except (UsageError, RuntimeError) as refused:
            return Failure(refused)
        ending = asyncio.wrap_future(begun)
        await asyncio.wait([ending], timeout=seconds)
        if not ending.done():
            return Failure(TimeoutError())
        error = CancelledError() if ending.cancelled() else ending.exception()
        return ending.result() if error is None else Failure(error)

    def _begun(self, work: Work[Result]) -> Future[Result]:
        if os.getpid() != self._process:
            raise UsageError("this process was forked from the one that attached memorist; attach it again after a fork")
        if self._closed:
            raise UsageError("memorist was closed here; attach it again")
        if threading.current_thread() is self._thread:
            raise UsageError("a listener runs in the engine's own thread and cannot wait for it")
        return asyncio.run_coroutine_threadsafe(work(), self._loop)

    def used(self, conversation: Conversation) -> None:
        """Note that a conversation is open and in use. Called in the engine's thread."""
        self._open[conversation] = None
        self._open.move_to_end(conversation)
        while len(self._open) > self._most_open:
            oldest, _ = self._open.popitem(last=False)
            task = self._loop.create_task(oldest.let_go())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def ended(self, conversation: Conversation) -> None:
        """Note that a conversation was closed. Called in the engine's thread."""
        self._open.pop(conversation, None)

    def close(self) -> None:
        """Close every conversation and the engine; waits a little over a minute at most.

        May be called twice, and from any thread.
        """
        if self._closed or os.getpid() != self._process:
            return
        ending = self._begun(self._engine.close)
        self._closed = True
        try:
            ending.result(CLOSE_SECONDS)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(CLOSE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _result(outcome: Result | Failure) -> Result:
    if isinstance(outcome, Failure):
        raise outcome.error
    return outcome


def attach(attached: Attached | None, engine: EngineArguments) -> Attached:
    """Return the engine that an adapter was given, or open one with these arguments.

    Raises UsageError for both at once.
    """
    if attached is None:
        return Attached(**engine)
    if engine:
        raise UsageError(f"attached= brings its own engine, so it cannot be combined with {', '.join(sorted(engine))}")
    return attached


async def _made(engine: EngineArguments) -> Memorist:
    return Memorist(**engine)


def _harmless(listener: Listener) -> Listener:
    """Wrap a listener so that its exceptions are dropped: they cannot stop a session halfway."""

    def told(event: Event) -> None:
        with contextlib.suppress(Exception):
            listener(event)

    return told


def _at_exit(attached: Attached) -> None:
    """Close the engine when the program ends.

    Uses the hook of Python's own thread pools, which runs before they are shut down; `atexit` would
    come too late.
    """
    closing = weakref.WeakMethod(attached.close)

    def close() -> None:
        method = closing()
        if method is not None:
            method()

    getattr(threading, "_register_atexit", atexit.register)(close)
