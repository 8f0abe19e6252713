"""A host's listener and its token counter cannot stop a session: what they raise is logged, and the
session goes on.
"""

from __future__ import annotations

import logging
from functools import partial

from memorist.core.error_guard import ErrorGuard
from memorist.core.token_count import TokenCounter, estimate_text_tokens
from memorist.errors import MemoristError
from memorist.events import Event, EventListener

_log = logging.getLogger("memorist")


def guard_listener(listener: EventListener) -> EventListener:
    """Wrap a listener so that its exceptions end in the log, once for each kind of event and of
    exception.
    """
    failures = _FailureLog()

    def on_event(event: Event) -> None:
        what = f"a listener failed at {type(event).__name__}"
        with ErrorGuard(partial(failures.record, what)):
            listener(event)

    return on_event


def guard_token_counter(count_tokens: TokenCounter | None) -> TokenCounter | None:
    """Wrap a token counter so that a text that it fails at is estimated, with one line in the
    log for each kind of exception.
    """
    if count_tokens is None:
        return None
    guard = ErrorGuard(partial(_FailureLog().record, "HostInfo.count_tokens failed"))

    def count(text: str) -> int:
        with guard:
            return count_tokens(text)
        return estimate_text_tokens(text)

    return count


class _FailureLog:
    """Logs each kind of failure once."""

    def __init__(self) -> None:
        self._reported: set[tuple[str, str]] = set()

    def record(self, what: str, error: Exception) -> None:
        mark = (what, type(error).__name__)
        if mark not in self._reported:
            self._reported.add(mark)
            _log.warning(
                "%s, and the session goes on: %s",
                what,
                error,
                exc_info=None if isinstance(error, MemoristError) else error,
            )
