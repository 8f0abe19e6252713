"""Watch what the provider's cache serves from call to call, and name what broke it (CP-19).

Pure.
"""

from __future__ import annotations

from msgspec.structs import replace

from memorist.compaction.breaks import Break, Sent, detect, sent
from memorist.core.messages import JsonObject, Usage
from memorist.engine.host_history import as_sent


class CacheWatch:
    """Cache state of a session's last two calls."""

    def __init__(self) -> None:
        self._before: Sent | None = None
        self._now: Sent | None = None
        self._about: JsonObject = {}
        """The last request without its history."""
        self._usage: Usage | None = None
        self._began = 0.0
        self._gap = 0.0
        self._expected = False
        self._rewritten = False

    def sending(self, body: JsonObject, history: str, now: float, *, rewritten: bool) -> None:
        """Record a request that is sent at time `now`, in seconds.

        `history_key` is the key of its messages, which are not compared; `rewritten` says that the
        host changed old ones.
        """
        self._before = self._now
        about = {key: value for key, value in body.items() if key != history}
        if self._now is None or about != self._about:
            self._about = as_sent(about)
            self._now = sent(self._about)
        self._gap, self._began = now - self._began, now
        self._rewritten = self._rewritten or rewritten

    def edited(self) -> None:
        """Expect fewer cache reads at the next call, because memorist changed what is sent."""
        self._expected = True

    def answered(self, usage: Usage) -> Break | None:
        """Take the usage of the reply; return what broke the cache if it served much less than
        before.
        """
        broke = None
        if self._before is not None and self._now is not None:
            broke = detect(self._before, self._now, self._usage, usage, self._gap, expected=self._expected)
        if broke is not None and self._rewritten and broke.cause in {"time", "provider"}:
            broke = replace(broke, cause="messages", what="the host changed earlier messages")
        self._usage = usage
        self._expected = self._rewritten = False
        return broke
