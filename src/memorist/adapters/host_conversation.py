"""One conversation of a host, with every call of the engine in a blocking and an async form.

Fails open: memorist never stops an agent.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from threading import Event
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from memorist.compaction.compaction_input import CompactionOutcome
from memorist.compaction.compaction_result import CompactionStrategy
from memorist.core.messages import JsonObject
from memorist.engine.disk_failure_pauses import DiskFailurePauses
from memorist.engine.session import Session
from memorist.errors import MemoristError, StoreError
from memorist.events import AdapterFailed, EventListener
from memorist.ports import HostInfo
from memorist.store.sqlite_database import is_database_or_disk_error

Result = TypeVar("Result")

MAX_WAIT_SECONDS = 300.0
"""Longest time in seconds that a host waits before its own request goes out.

Our choice: more than a compaction by a model takes with its retries.
"""

UNKNOWN_ID_TEXT = "Nothing has this id."
"""What a fetch tool answers to an unknown id."""

_log = logging.getLogger("memorist.adapters")


EngineWork = Callable[[], Coroutine[Any, Any, Result]]
"""Work to run on the engine's loop."""


class EngineFailure(Struct, frozen=True):
    """An exception as a value."""

    error: BaseException


class EngineRunner(Protocol):
    """What a conversation needs of its engine; implemented by `engine_thread.EngineThread`."""

    listener: EventListener | None
    disk_pause: DiskFailurePauses
    failures_after_close: set[tuple[str, str]]
    """What was reported of all conversations once the engine takes no calls any more."""

    @property
    def is_closed(self) -> bool:
        """Whether it takes no calls any more."""
        ...

    def run(self, work: EngineWork[Result]) -> Result:
        """Run the work in the engine's thread and wait."""
        ...

    async def arun(self, work: EngineWork[Result]) -> Result:
        """The same for a caller on its own event loop."""
        ...

    def run_or_return_failure(
        self, work: EngineWork[Result], seconds: float | None = None
    ) -> Result | EngineFailure:
        """As `run`, with errors returned as a value."""
        ...

    async def arun_or_return_failure(
        self, work: EngineWork[Result], seconds: float | None = None
    ) -> Result | EngineFailure:
        """As `arun`, with errors returned as a value."""
        ...

    def find_session(self, conversation: HostConversation) -> Session | None:
        """The session of a conversation while it is open."""
        ...

    def use_session(self, conversation: HostConversation) -> AbstractAsyncContextManager[Session]:
        """Hold the session of a conversation, opened if it is not open."""
        ...

    async def close_session(self, conversation: HostConversation) -> None:
        """Close the session of a conversation after its earlier calls."""
        ...


class ConversationName(Struct, frozen=True):
    """What names a conversation within a home."""

    user: str
    """Whose memory it is; empty for the home's own."""
    project: str
    id: str
    format: str
    """Its wire format."""

    @property
    def key(self) -> str:
        """The name as one text, another for each name."""
        return repr((self.user, self.project, self.id, self.format))


class HostConversation:
    """Returned by `EngineThread.conversation`. Calls may come from any thread or loop; they run one
    after another.

    The calls of the agent's loop (`prepare`, `observe`, `end_turn`, `shrink_refused_request`,
    `close`) raise nothing: an error is logged once for each
    kind, passed to the listener as `AdapterFailed`, and the host's own request goes out. Calls on
    demand (`update_notes`, `compact`, `fetch`) raise as the engine does.
    """

    def __init__(
        self, engine_loop: EngineRunner, name: ConversationName, host: HostInfo | None
    ) -> None:
        self.name = name
        self.host = host
        self._engine_loop = engine_loop
        self._reported_failures: set[tuple[str, str]] = set()
        self._overdue_call: Event | None = None
        """Set when the overdue call ends: the one that exceeded the longest wait."""

    @property
    def _is_paused(self) -> bool:
        """Whether requests go out unchanged: while an overdue call runs, and for a while after the
        disk refused.
        """
        is_stuck = self._overdue_call is not None and not self._overdue_call.is_set()
        return is_stuck or self._engine_loop.disk_pause.is_paused(self._home_key, self.name.key)

    @property
    def _home_key(self) -> str:
        return repr(self.name.user)

    @property
    def id(self) -> str:
        """The id of the session."""
        return self.name.id

    @property
    def project(self) -> str:
        """The root folder of the project."""
        return self.name.project

    @property
    def format(self) -> str:
        """The wire format."""
        return self.name.format

    @property
    def session(self) -> Session | None:
        """The engine's session while it is open. Its coroutines must run in the engine's thread."""
        return self._engine_loop.find_session(self)

    @property
    def notes(self) -> str | None:
        """The notes on disk; None when there are none yet."""
        session = self.session
        return None if session is None else session.notes

    def prepare(self, request: JsonObject) -> JsonObject:
        """Return the request to send; the same object when nothing changes or memorist failed."""
        return self.encode_prepare_decode(lambda: request, lambda body: body, request)

    async def aprepare(self, request: JsonObject) -> JsonObject:
        """As `prepare`."""
        return await self.aencode_prepare_decode(lambda: request, lambda body: body, request)

    def observe(self, reply: object) -> None:
        """Take the model's reply: the SDK's object or its JSON."""
        self.encode_and_observe(lambda: reply)

    async def aobserve(self, reply: object) -> None:
        """As `observe`."""
        await self.aencode_and_observe(lambda: reply)

    def end_turn(self) -> None:
        """End the turn: the agent has finished and waits for its user."""
        self._call("end_turn", Session.end_turn, None)

    async def aend_turn(self) -> None:
        """As `end_turn`."""
        await self._acall("end_turn", Session.end_turn, None)

    def shrink_refused_request(self) -> JsonObject | None:
        """Return the request to send after the provider refused the last one as too long; None when
        nothing more can be done.
        """
        return self.shrink_refused_request_and_decode(lambda body: body)

    async def ashrink_refused_request(self) -> JsonObject | None:
        """As `shrink_refused_request`."""
        return await self.ashrink_refused_request_and_decode(lambda body: body)

    def encode_prepare_decode(
        self,
        encode: Callable[[], JsonObject],
        decode: Callable[[JsonObject], Result],
        fallback: Result,
    ) -> Result:
        """Prepare with the adapter's mapping inside, so that a message that cannot be mapped does
        not stop the agent.

        `encode` builds the request, `decode` maps the prepared one back, `fallback` goes out on
        failure: the host's own request.
        """
        return self._call(
            "prepare", lambda session: _prepare_mapped(session, encode, decode), fallback
        )

    async def aencode_prepare_decode(
        self,
        encode: Callable[[], JsonObject],
        decode: Callable[[JsonObject], Result],
        fallback: Result,
    ) -> Result:
        """As `encode_prepare_decode`."""
        return await self._acall(
            "prepare", lambda session: _prepare_mapped(session, encode, decode), fallback
        )

    def encode_and_observe(self, encode: Callable[[], object]) -> None:
        """Observe what `encode` returns, with the mapping inside."""
        self._call("observe", lambda session: _encode_and_observe(session, encode), None)

    async def aencode_and_observe(self, encode: Callable[[], object]) -> None:
        """As `encode_and_observe`."""
        await self._acall("observe", lambda session: _encode_and_observe(session, encode), None)

    def shrink_refused_request_and_decode(
        self, decode: Callable[[JsonObject], Result]
    ) -> Result | None:
        """Recover and map the request back with `decode`; None when nothing more can be done."""
        return self._call(
            "recover", lambda session: _shrink_refused_request_mapped(session, decode), None
        )

    async def ashrink_refused_request_and_decode(
        self, decode: Callable[[JsonObject], Result]
    ) -> Result | None:
        """As `shrink_refused_request_and_decode`."""
        return await self._acall(
            "recover", lambda session: _shrink_refused_request_mapped(session, decode), None
        )

    def update_notes(self) -> str:
        """Update the notes now and return them.

        Raises NothingToDo for an empty conversation, StoreError where it cannot be opened.
        """
        return self._engine_loop.run(lambda: self._run_serially(Session.update_notes))

    async def aupdate_notes(self) -> str:
        """As `update_notes`."""
        return await self._engine_loop.arun(lambda: self._run_serially(Session.update_notes))

    def compact(
        self, instructions: str = "", strategy: CompactionStrategy = "auto"
    ) -> CompactionOutcome:
        """Compact the conversation now; the next request shows it. Raises as `update_notes`."""
        return self._engine_loop.run(
            lambda: self._run_serially(lambda session: session.compact(instructions, strategy))
        )

    async def acompact(
        self, instructions: str = "", strategy: CompactionStrategy = "auto"
    ) -> CompactionOutcome:
        """As `compact`."""
        return await self._engine_loop.arun(
            lambda: self._run_serially(lambda session: session.compact(instructions, strategy))
        )

    def fetch(self, id: str) -> str | None:
        """Return the full text of what is no longer shown in full; None for an unknown id.

        Raises StoreError where it cannot be opened.
        """
        return self._engine_loop.run(
            lambda: self._run_serially(lambda session: _fetch(session, id))
        )

    async def afetch(self, id: str) -> str | None:
        """As `fetch`."""
        return await self._engine_loop.arun(
            lambda: self._run_serially(lambda session: _fetch(session, id))
        )

    def answer_fetch(self, id: str) -> str:
        """The answer of a fetch tool to the model: the full text, or that there is none.

        Raises nothing, as the tool runs in the agent's loop.
        """
        text = self._call("fetch", lambda session: _fetch(session, id), None)
        return text or UNKNOWN_ID_TEXT

    async def aanswer_fetch(self, id: str) -> str:
        """As `answer_fetch`."""
        text = await self._acall("fetch", lambda session: _fetch(session, id), None)
        return text or UNKNOWN_ID_TEXT

    def close(self) -> None:
        """Write everything and release the files. The next request opens it again."""
        self._result_or_fallback(
            "close", self._engine_loop.run_or_return_failure(self._close_session), None
        )

    async def aclose(self) -> None:
        """As `close`."""
        outcome = await self._engine_loop.arun_or_return_failure(self._close_session)
        self._result_or_fallback("close", outcome, None)

    async def _close_session(self) -> None:
        await self._engine_loop.close_session(self)

    def _call(
        self, point: str, work: Callable[[Session], Awaitable[Result]], fallback: Result
    ) -> Result:
        if self._is_paused:
            return fallback
        ended = Event()
        return self._result_or_fallback(
            point,
            self._engine_loop.run_or_return_failure(
                lambda: self._run_serially(work, ended), MAX_WAIT_SECONDS
            ),
            fallback,
            ended,
        )

    async def _acall(
        self, point: str, work: Callable[[Session], Awaitable[Result]], fallback: Result
    ) -> Result:
        if self._is_paused:
            return fallback
        ended = Event()
        return self._result_or_fallback(
            point,
            await self._engine_loop.arun_or_return_failure(
                lambda: self._run_serially(work, ended), MAX_WAIT_SECONDS
            ),
            fallback,
            ended,
        )

    def _result_or_fallback(
        self,
        point: str,
        outcome: Result | EngineFailure,
        fallback: Result,
        ended: Event | None = None,
    ) -> Result:
        """Return the outcome, or the fallback after any failure (a disk, an unknown format, a
        defect of ours): the agent goes on without memorist.
        """
        if not isinstance(outcome, EngineFailure):
            return outcome
        if isinstance(outcome.error, TimeoutError):
            self._overdue_call = ended
        self._engine_loop.disk_pause.pause_after(
            outcome.error, home=self._home_key, session=self.name.key
        )
        self._report_failure(point, outcome.error)
        return fallback

    async def _run_serially(
        self, work: Callable[[Session], Awaitable[Result]], ended: Event | None = None
    ) -> Result:
        """Run work in the engine's thread, after all earlier calls."""
        try:
            async with self._engine_loop.use_session(self) as session:
                return await work(session)
        finally:
            if ended is not None:
                ended.set()

    def _report_failure(self, point: str, error: BaseException) -> None:
        """Report a failure once for each call and kind of error."""
        is_disk = isinstance(error, StoreError) or is_database_or_disk_error(error)
        mark = ("disk" if is_disk else point, type(error).__name__)
        loop = self._engine_loop
        reported = loop.failures_after_close if loop.is_closed else self._reported_failures
        if mark in reported:
            return
        reported.add(mark)
        _log.warning(
            "memorist failed in %s of conversation %r, which goes on without it: %s",
            point,
            self.id,
            error,
            exc_info=None if isinstance(error, MemoristError) else error,
        )
        if self._engine_loop.listener is not None:
            self._engine_loop.listener(
                AdapterFailed(self.id, point, f"{type(error).__name__}: {error}")
            )


async def _fetch(session: Session, id: str) -> str | None:
    return session.fetch(id)


async def _prepare_mapped(
    session: Session, encode: Callable[[], JsonObject], decode: Callable[[JsonObject], Result]
) -> Result:
    return decode(await session.prepare(encode()))


async def _encode_and_observe(session: Session, encode: Callable[[], object]) -> None:
    await session.observe(encode())


async def _shrink_refused_request_mapped(
    session: Session, decode: Callable[[JsonObject], Result]
) -> Result | None:
    body = await session.shrink_refused_request()
    return None if body is None else decode(body)
