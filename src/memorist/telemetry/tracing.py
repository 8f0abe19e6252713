"""Spans to OpenTelemetry, where the process has a tracer provider. `opentelemetry-api` (extra
`otel`) is used where somebody has imported it already, and never imported from here: whoever sets a
provider has done so.

A span is made when the work is done, so what caused a fork is not known to OpenTelemetry yet when
the fork ends. `causes` marks such work: its forks wait for the event that tells of it, and become
its children.
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
from memorist.forks.fork_spec import Receipt
from memorist.ports import Clock
from memorist.settings import TelemetrySettings
from memorist.telemetry.spans import (
    Span,
    build_event_span,
    build_fork_request_spans,
    build_fork_span,
)

TRACE_MODULE = "opentelemetry.trace"
SCOPE = "memorist"
"""Name of the instrumentation scope, and prefix of our own span names."""
NANOSECONDS = 1_000_000_000

WorkParams = ParamSpec("WorkParams")
WorkResult = TypeVar("WorkResult")


class _TracedWork:
    """Running work, and the ended forks of one label that it started. Once finished it holds
    nothing back.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._waiting: list[Callable[[object], None]] | None = []
        self._began: float | None = None
        self._parent_span: object = None

    def defer_fork_span(self, receipt: Receipt, emit: Callable[[object], None]) -> bool:
        """Whether a fork's span waits for the work's own span, which `emit` will receive, or None
        where there is none.
        """
        if self._waiting is None or receipt.label != self._label:
            return False
        self._waiting.append(emit)
        self._began = receipt.started if self._began is None else min(self._began, receipt.started)
        return True

    def emit_span(self, span: Span, emit: Callable[[Span], object]) -> None:
        """Emit a span. The first one with the work's own name is the work's, and starts no later
        than its forks, even if the clock was changed meanwhile.
        """
        if (
            self._parent_span is not None
            or self._waiting is None
            or span.name != f"{SCOPE}.{self._label}"
        ):
            emit(span)
            return
        began = span.start if self._began is None else min(span.start, self._began)
        self._parent_span = emit(replace(span, start=began))

    def finish(self) -> None:
        """The work is done: emit the waiting spans."""
        waiting, self._waiting = self._waiting or [], None
        for emit in waiting:
            emit(self._parent_span)


_current_work: ContextVar[_TracedWork | None] = ContextVar("memorist_work", default=None)


def decorate_work_for_tracing(
    label: str,
) -> Callable[
    [Callable[WorkParams, Coroutine[Any, Any, WorkResult]]],
    Callable[WorkParams, Coroutine[Any, Any, WorkResult]],
]:
    """Mark work that runs forks of this label and is reported by an event with the span
    `memorist.LABEL`: their spans become its children.
    """

    def marked(
        work: Callable[WorkParams, Coroutine[Any, Any, WorkResult]],
    ) -> Callable[WorkParams, Coroutine[Any, Any, WorkResult]]:
        @wraps(work)
        async def runs(*args: WorkParams.args, **kwargs: WorkParams.kwargs) -> WorkResult:
            mine = _TracedWork(label)
            token = _current_work.set(mine)
            try:
                return await work(*args, **kwargs)
            finally:
                _current_work.reset(token)
                mine.finish()

        return runs

    return marked


class SessionTracer:
    """The spans of one session, or with an empty id those of work outside sessions."""

    def __init__(self, settings: TelemetrySettings, session: str, clock: Clock) -> None:
        self._settings = settings
        self._session = session
        self._clock = clock

    def on_event(self, event: Event) -> None:
        """Emit the span of an event."""
        api = self._trace_api()
        if api is not None:
            # Tracing may fail in any way, and must never break what it traces.
            with contextlib.suppress(Exception):
                span = build_event_span(
                    event, self._session, self._clock.now(), content=self._settings.content
                )
                if span is not None:
                    (_current_work.get() or _TracedWork("")).emit_span(
                        span, lambda data: _emit_span(api, data)
                    )

    def on_receipt(self, receipt: Receipt) -> None:
        """Emit the span of a fork that ended."""
        api = self._trace_api()
        if api is None:
            return

        def emit(above: object) -> None:
            with contextlib.suppress(Exception):  # as above
                fork = _emit_span(
                    api,
                    build_fork_span(receipt, self._session, content=self._settings.content),
                    above,
                )
                for request in build_fork_request_spans(receipt, self._session, self._settings):
                    _emit_span(api, request, fork)

        work = _current_work.get()
        if work is None or not work.defer_fork_span(receipt, emit):
            emit(None)

    def _trace_api(self) -> ModuleType | None:
        return sys.modules.get(TRACE_MODULE) if self._settings.enabled else None


def _emit_span(api: ModuleType, span: Span, parent: object = None) -> object:
    """Create the span after the fact, below `parent`; without one, the current span of the host's
    context becomes its parent.

    Returns the span; None where no provider is set.
    """
    provider = api.get_tracer_provider()
    if isinstance(provider, api.ProxyTracerProvider):  # none is set
        return None
    opened = provider.get_tracer(SCOPE).start_span(
        span.name,
        context=None if parent is None else api.set_span_in_context(parent),
        kind=api.SpanKind.CLIENT if span.is_outgoing else api.SpanKind.INTERNAL,
        attributes=span.attributes,
        start_time=round(span.start * NANOSECONDS),
    )
    if span.error:
        opened.set_status(api.StatusCode.ERROR, span.error_text or None)
    opened.end(round(span.end * NANOSECONDS))
    return opened
