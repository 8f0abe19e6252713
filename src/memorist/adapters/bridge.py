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

from memorist.adapters.conversation import EngineFailure, EngineWork, HostConversation
from memorist.engine.engine import Memorist
from memorist.errors import UsageError
from memorist.events import Event, EventListener
from memorist.flags.flags import FlagSource
from memorist.ports import Clock, FileSystem, HostInfo, Model
from memorist.settings import Settings

Result = TypeVar("Result")

CLOSE_SECONDS = 75.0
"""Longest wait at close, in seconds.

Our choice: the engine itself waits up to a minute for background work of a session.
"""

MAX_OPEN_CONVERSATIONS = 100
"""Conversations that stay open at once.

Our choice: without a bound, a server with a thread for each user would keep all of them open.
"""


class EngineArguments(TypedDict, total=False):
    """The arguments of `Memorist`."""

    model: str | Model | None
    home: str | os.PathLike[str] | None
    settings: Settings | None
    flags: FlagSource | None
    clock: Clock | None
    files: FileSystem | None


class EngineThread:
    """One engine for any number of agents of a process.

    It runs in a daemon thread and outlives `asyncio.run`. A context manager; closes itself at exit.

    Args:
        listener: called with every event of every conversation, in the engine's thread. Must not
            block.
        most_open: conversations that stay open at once; the least recently used one is closed, and
            reopened by its next request.
        engine: the arguments of `Memorist`: `model`, `home`, `settings`, …

    Raises what `Memorist` raises: SettingsError, ModelNameError.
    """

    def __init__(
        self,
        *,
        listener: EventListener | None = None,
        most_open: int = MAX_OPEN_CONVERSATIONS,
        **engine: Unpack[EngineArguments],
    ) -> None:
        self.listener = None if listener is None else _suppress_errors(listener)
        self._most_open = most_open
        self._owner_pid = os.getpid()
        self._conversations: weakref.WeakValueDictionary[tuple[str, str, str], HostConversation] = (
            weakref.WeakValueDictionary()
        )
        self._conversations_lock = threading.Lock()
        self._open_conversations: OrderedDict[HostConversation, None] = OrderedDict()
        """Open conversations, the most recently used last. Touched in the engine's thread only."""
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run_loop, name="memorist", daemon=True)
        self._thread.start()
        try:
            self._engine = self.run(lambda: _open_engine(engine))
        except BaseException:  # also for Ctrl-C: the loop must not run on without an engine
            self._closed = True
            self._loop.call_soon_threadsafe(self._loop.stop)
            raise
        _close_at_exit(self)

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    @property
    def engine(self) -> Memorist:
        """The engine. Its coroutines run in its own thread: pass them to `run` or `arun`."""
        return self._engine

    def conversation(
        self, id: str, *, project: str = "", format: str, host: HostInfo | None = None
    ) -> HostConversation:
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
        with self._conversations_lock:
            known = self._conversations.get(name)
            if known is None:
                known = self._conversations[name] = HostConversation(
                    self, id, project=project, format=format, host=host
                )
            return known

    def run(self, work: EngineWork[Result]) -> Result:
        """Run `work` on the engine's loop and wait for it.

        Raises what the work raises, and UsageError where the engine cannot be waited for.
        """
        return _unwrap(self.try_run(work))

    async def arun(self, work: EngineWork[Result]) -> Result:
        """As `run`, for a caller on its own event loop."""
        return _unwrap(await self.atry_run(work))

    def try_run(
        self, work: EngineWork[Result], seconds: float | None = None
    ) -> Result | EngineFailure:
        """As `run`, but errors are returned as a value.

        After `seconds` a TimeoutError is returned, and the work continues.
        """
        try:
            begun = self._submit(work)
            error = begun.exception(seconds)
        except (UsageError, TimeoutError, CancelledError) as refused:
            return EngineFailure(refused)
        return begun.result() if error is None else EngineFailure(error)

    async def atry_run(
        self, work: EngineWork[Result], seconds: float | None = None
    ) -> Result | EngineFailure:
        """As `try_run`, for a caller on its own event loop.

        If the caller is cancelled the work continues, so that nothing is left half done.
        """
        try:
            asyncio.get_running_loop()
            begun = self._submit(work)
        except (UsageError, RuntimeError) as refused:
            return EngineFailure(refused)
        ending = asyncio.wrap_future(begun)
        await asyncio.wait([ending], timeout=seconds)
        if not ending.done():
            return EngineFailure(TimeoutError())
        error = CancelledError() if ending.cancelled() else ending.exception()
        return ending.result() if error is None else EngineFailure(error)

    def _submit(self, work: EngineWork[Result]) -> Future[Result]:
        if os.getpid() != self._owner_pid:
            raise UsageError(
                "this process was forked from the one that attached memorist; attach it again "
                "after a fork"
            )
        if self._closed:
            raise UsageError("memorist was closed here; attach it again")
        if threading.current_thread() is self._thread:
            raise UsageError("a listener runs in the engine's own thread and cannot wait for it")
        return asyncio.run_coroutine_threadsafe(work(), self._loop)

    def mark_used(self, conversation: HostConversation) -> None:
        """Note that a conversation is open and in use. Called in the engine's thread."""
        self._open_conversations[conversation] = None
        self._open_conversations.move_to_end(conversation)
        while len(self._open_conversations) > self._most_open:
            oldest, _ = self._open_conversations.popitem(last=False)
            task = self._loop.create_task(oldest.release())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def mark_closed(self, conversation: HostConversation) -> None:
        """Note that a conversation was closed. Called in the engine's thread."""
        self._open_conversations.pop(conversation, None)

    def close(self) -> None:
        """Close every conversation and the engine; waits a little over a minute at most.

        May be called twice, and from any thread.
        """
        if self._closed or os.getpid() != self._owner_pid:
            return
        ending = self._submit(self._engine.close)
        self._closed = True
        try:
            ending.result(CLOSE_SECONDS)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(CLOSE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _unwrap(outcome: Result | EngineFailure) -> Result:
    if isinstance(outcome, EngineFailure):
        raise outcome.error
    return outcome


def open_engine_thread(attached: EngineThread | None, engine: EngineArguments) -> EngineThread:
    """Return the engine that an adapter was given, or open one with these arguments.

    Raises UsageError for both at once.
    """
    if attached is None:
        return EngineThread(**engine)
    if engine:
        raise UsageError(
            f"attached= brings its own engine, so it cannot be combined with "
            f"{', '.join(sorted(engine))}"
        )
    return attached


async def _open_engine(engine: EngineArguments) -> Memorist:
    return Memorist(**engine)


def _suppress_errors(listener: EventListener) -> EventListener:
    """Wrap a listener so that its exceptions are dropped: they cannot stop a session halfway."""

    def told(event: Event) -> None:
        with contextlib.suppress(Exception):
            listener(event)

    return told


def _close_at_exit(attached: EngineThread) -> None:
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
