"""Spans to OpenTelemetry, where the process has a tracer provider. `opentelemetry-api` (extra `otel`) is used where somebody has imported it already,
and never imported from here: whoever sets a provider has done so.
"""

from __future__ import annotations

import contextlib
import sys
from types import ModuleType

from memorist.events import Event
from memorist.forks.spec import Receipt
from memorist.ports import Clock
from memorist.telemetry.settings import TelemetrySettings
from memorist.telemetry.spans import Span, of_event, of_receipt

API = "opentelemetry.trace"
SCOPE = "memorist"
"""Name of the instrumentation scope."""
NANOSECONDS = 1_000_000_000


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
                    _emit(api, span)

    def receipt(self, receipt: Receipt) -> None:
        """A fork ended, and its receipt is kept."""
        api = self._api()
        if api is not None:
            with contextlib.suppress(Exception):  # as above
                _emit(api, of_receipt(receipt, self._session, content=self._settings.content))

    def _api(self) -> ModuleType | None:
        return sys.modules.get(API) if self._settings.enabled else None


def _emit(api: ModuleType, span: Span) -> None:
    """Make the span after the fact. What the host's context has as the current span becomes its parent."""
    provider = api.get_tracer_provider()
    if isinstance(provider, api.ProxyTracerProvider):  # none is set
        return
    tracer = provider.get_tracer(SCOPE)
    made = tracer.start_span(span.name, kind=api.SpanKind.INTERNAL, attributes=span.attributes, start_time=round(span.start * NANOSECONDS))
    if span.error:
        made.set_status(api.StatusCode.ERROR, span.said or None)
    made.end(round(span.end * NANOSECONDS))
