"""What of memorist's work is shown to OpenTelemetry."""

from __future__ import annotations

from msgspec import Struct


class TelemetrySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Spans are made where the host has set a tracer provider, and nowhere else. Ours."""

    enabled: bool = True
    """Make spans of forks, compactions, recalls, dreams and team syncs, where the process has an OpenTelemetry tracer provider."""
    requests: bool = True
    """Make a span for each request of a fork too. Off where an instrumentation of the model's SDK makes those, so that no token is counted twice."""
    content: bool = False
    """Put texts into them too (last words of a fork, reasons, names of memories), without secrets. Off, spans hold only numbers and fixed words."""
