"""A host's listener cannot stop a session: what it raises is logged, and the session goes on."""

from __future__ import annotations

import logging
from types import TracebackType

from memorist.errors import MemoristError
from memorist.events import Event, EventListener

_log = logging.getLogger("memorist")


def guard_listener(listener: EventListener) -> EventListener:
    """Wrap a listener so that its exceptions end in the log, once for each kind of event and of
    exception.
    """
    failures = _LoggedFailures()

    def on_event(event: Event) -> None:
        failures.event = type(event).__name__
        with failures:
            listener(event)

    return on_event


class _LoggedFailures:
    """Logs any error, and nothing more comes of it; a cancellation goes on."""

    def __init__(self) -> None:
        self.event = ""
        self._reported: set[tuple[str, str]] = set()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        mark = (self.event, type(error).__name__)
        if mark not in self._reported:
            self._reported.add(mark)
            _log.warning(
                "a listener failed at %s, and the session goes on: %s",
                self.event,
                error,
                exc_info=None if isinstance(error, MemoristError) else error,
            )
        return True
