"""Watch what the provider's cache serves from call to call; name what broke it (CP-19). Pure."""

from __future__ import annotations

from msgspec.structs import replace

from memorist.compaction.cache_break_detection import (
    RequestFingerprint,
    detect_cache_break,
    fingerprint_request,
)
from memorist.core.messages import JsonObject, Usage
from memorist.engine.host_history import to_plain_json
from memorist.events import CacheBroke


class CacheBreakDetector:
    """Cache state of a session's last two calls."""

    def __init__(self) -> None:
        self._previous: RequestFingerprint | None = None
        self._current: RequestFingerprint | None = None
        self._request_head: JsonObject = {}
        """The last request without its history."""
        self._usage: Usage | None = None
        self._sent_at = 0.0
        self._gap = 0.0
        self._expected = False
        self._rewritten = False

    def on_request(
        self, body: JsonObject, history_key: str, now: float, *, rewritten: bool
    ) -> None:
        """Record a request that is sent at time `now`, in seconds.

        `history_key` is the key of its messages, which are not compared; `rewritten` says that the
        host changed old ones.
        """
        self._previous = self._current
        about = {key: value for key, value in body.items() if key != history_key}
        if self._current is None or about != self._request_head:
            self._request_head = to_plain_json(about)
            self._current = fingerprint_request(self._request_head)
        self._gap, self._sent_at = now - self._sent_at, now
        self._rewritten = self._rewritten or rewritten

    def expect_break(self) -> None:
        """Expect fewer cache reads at the next call, because memorist changed what is sent."""
        self._expected = True

    def on_reply(self, usage: Usage) -> CacheBroke | None:
        """Take the usage of the reply; return what broke the cache if it served much less than
        before.
        """
        broke = None
        if self._previous is not None and self._current is not None:
            broke = detect_cache_break(
                self._previous,
                self._current,
                self._usage,
                usage,
                self._gap,
                expected=self._expected,
            )
        if broke is not None and self._rewritten and broke.cause in {"time", "provider"}:
            broke = replace(broke, cause="messages", what="the host changed earlier messages")
        self._usage = usage
        self._expected = self._rewritten = False
        return broke
