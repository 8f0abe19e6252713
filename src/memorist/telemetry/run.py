"""Spans to OpenTelemetry, where the process has a tracer provider. `opentelemetry-api` (extra `otel`) is used where somebody has imported it already,
and never imported from here: whoever sets a provider has done so.

A span is made when the work is done, so what caused a fork is not known to OpenTelemetry yet when the fork ends. `causes` marks such work: its
forks wait for the event that tells of it, and become its children.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from functools import wraps
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

from msgspec.structs import replace

from memorist.events import Event
from memorist.forks.spec import Receipt
from memorist.ports import Clock
from memorist.telemetry.settings import TelemetrySettings
from memorist.telemetry.spans import Span, of_event, of_receipt, of_requests

API = "opentelemetry.trace"
SCOPE = "memorist"
"""Name of the instrumentation scope, and what the names of our own spans begin with."""
NANOSECONDS = 1_000_000_000

Given = ParamSpec("Given")
Got = TypeVar("Got")


class _Work:
    """Work that runs, and the forks of one label that it began and that have ended. Once it is over it holds nothing back."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._waiting: list[Callable[[object], None]] | None = []
        self._began: float | None = None
        self._above: object = None

    def holds(self, receipt: Receipt, emit: Callable[[object], None]) -> bool:
        """Whether a fork's spans wait for the work's own span, which `emit` will be given, or None where there is none."""
        if self._waiting is None or receipt.label != self._label:
            return False
        self._waiting.append(emit)
        self._began = receipt.started if self._began is None else min(self._began, receipt.started)
        return True

    def tell(self, span: Span, emit: Callable[[Span], object]) -> None:
        """Make a span. The first one of the work's own name is the work's, and begins no later than its forks, whatever the clock did meanwhile."""
        if self._above is not None or self._waiting is None or span.name != f"{SCOPE}.{self._label}":
            emit(span)
            return
        began = span.start if self._began is None else min(span.start, self._began)
        self._above = emit(replace(span, start=began))

    def over(self) -> None:
        """The work is done: what waited is made now."""
        waiting, self._waiting = self._waiting or [], None
        for emit in waiting:
            emit(self._above)


_work: ContextVar[_Work | None] = ContextVar("memorist_work", default=None)


def causes(label: str) -> Callable[[Callable[Given, Coroutine[Any, Any, Got]]], Callable[Given, Coroutine[Any, Any, Got]]]:
    """Mark work that runs forks of this label and is told of by an event with the span `memorist.LABEL`: theirs stand below that one."""

    def marked(work: Callable[Given, Coroutine[Any, Any, Got]]) -> Callable[Given, Coroutine[Any, Any, Got]]:
        @wraps(work)
        async def runs(*args: Given.args, **kwargs: Given.kwargs) -> Got:
            mine = _Work(label)
            token = _work.set(mine)
            try:
                return await work(*args, **kwargs)
            finally:
                _work.reset(token)
                mine.over()

        return runs

    return marked


class Traces:
    """The spans of one session, or with an empty id those of work outside one."""

    def __init__(self, settings: TelemetrySettings, session: str, clock: Clock) -> None:
        self._settings = settings
        self._session = session
        self._clock = clock

    def event(self, event: Event) -> None:
        """An event was told."""
        api = self._api()
        if api is not None:
            # What watches may fail in any way, and never breaks what it watches.
            with contextlib.suppress(Exception):
                span = of_event(event, self._session, self._clock.now(), content=self._settings.content)
                if span is not None:
                    (_work.get() or _Work("")).tell(span, lambda made: _emit(api, made))

    def receipt(self, receipt: Receipt) -> None:
        """A fork ended, and its receipt is kept."""
        api = self._api()
        if api is None:
            return

        def emit(above: object) -> None:
            with contextlib.suppress(Exception):  # as above
                fork = _emit(api, of_receipt(receipt, self._session, content=self._settings.content), above)
                for request in of_requests(receipt, self._session) if self._settings.requests else ():
                    _emit(api, request, fork)

        work = _work.get()
        if work is None or not work.holds(receipt, emit):
            emit(None)

    def _api(self) -> ModuleType | None:
        return sys.modules.get(API) if self._settings.enabled else None


def _emit(api: ModuleType, span: Span, above: object = None) -> object:
    """Make the span after the fact, below the one above it; without one, what the host's context has as the current span becomes its parent.

    Gives the span; None where no provider is set.
    """
    provider = api.get_tracer_provider()
    if isinstance(provider, api.ProxyTracerProvider):  # none is set
        return None
    made = provider.get_tracer(SCOPE).start_span(
        span.name,
        context=None if above is None else api.set_span_in_context(above),
        kind=api.SpanKind.CLIENT if span.goes_out else api.SpanKind.INTERNAL,
        attributes=span.attributes,
        start_time=round(span.start * NANOSECONDS),
    )
    if span.error:
        made.set_status(api.StatusCode.ERROR, span.said or None)
    made.end(round(span.end * NANOSECONDS))
    return made
