"""What a session watches and asks of its provider: the cache that it serves, and the edits that it
is to make itself (CP-6, CP-13, CP-19). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from memorist.compaction.cache_breaks import (
    CacheBreak,
    RequestFingerprint,
    detect_cache_break,
    fingerprint_request,
)
from memorist.compaction.compaction_plan import CompactionThresholds
from memorist.compaction.microcompact import (
    ClearingBoundary,
    PinnedResults,
    add_clearing_edit,
    confirm_clearing,
    drop_stale_pins,
    pin_old_results,
)
from memorist.compaction.provider_compaction import (
    ProviderRequest,
    ProviderSummary,
    read_anthropic_compaction,
    read_openai_compaction,
    request_anthropic_compaction,
    request_openai_compaction,
)
from memorist.compaction.summary_parser import UnusableSummary
from memorist.core.messages import JsonObject, Message, Usage
from memorist.engine.host_history import to_plain_json
from memorist.settings import CompactionSettings

# Watch what the provider's cache serves from call to call, and name what broke it (CP-19).


class CacheWatcher:
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

    def on_reply(self, usage: Usage) -> CacheBreak | None:
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


# The provider's own compaction and clearing, where the settings ask for them (CP-6, CP-13): what
# to add to a request, and what a reply confirms. Pure.


COMPACTING_FORMATS = frozenset({"anthropic", "openai_responses"})
"""Wire formats whose provider can compact."""


class ProviderEdits:
    """The edits that a session has asked its provider for."""

    def __init__(self, format: str, settings: CompactionSettings, *, is_main: bool) -> None:
        self._format = format
        self._settings = settings
        self._clears = (
            settings.enabled and settings.micro_cached and is_main and format == "anthropic"
        )
        self._pinned = PinnedResults()
        self.betas: tuple[str, ...] = ()
        """Beta names that the last request needs; for the header `anthropic-beta`."""

    @property
    def is_active(self) -> bool:
        """Whether the provider compacts in this session."""
        return (
            self._settings.provider
            and self._settings.enabled
            and self._format in COMPACTING_FORMATS
        )

    def add_edits(
        self,
        body: JsonObject,
        limits: CompactionThresholds,
        used: int,
        messages: Callable[[], Sequence[Message]],
    ) -> JsonObject:
        """Return the request with the edits that the provider should make; the same object when
        there are none.

        Where the provider compacts, old tool results are named for clearing once `used` tokens
        reach the warning threshold; cached microcompact names them once enough have piled up. They
        stay named in every request after that. `messages` returns the shown messages; it is called
        only when needed.
        """
        if not self.is_active and not self._clears:
            return body
        if self._format == "openai_responses":
            return request_openai_compaction(body, threshold=limits.auto).body
        change = (
            request_anthropic_compaction(body, trigger=limits.auto)
            if self.is_active
            else ProviderRequest(body)
        )
        self.betas = change.betas
        late = self.is_active and used >= limits.warning
        if not (late or self._clears or self._pinned.ids):
            return change.body
        shown = messages()
        pinned = drop_stale_pins(self._pinned, shown) if self._pinned.ids else self._pinned
        more = pin_old_results(pinned, shown, self._settings.micro_keep)
        piled = len(more.ids) - len(pinned.ids) >= self._settings.micro_cached_results
        self._pinned = more if late or piled or (self.is_active and pinned.ids) else pinned
        cleared = add_clearing_edit(change.body, self._pinned, shown)
        self.betas = tuple(dict.fromkeys((*self.betas, *cleared.betas)))
        return cleared.body

    def read_reply(
        self, reply: JsonObject
    ) -> tuple[ClearingBoundary | None, ProviderSummary | UnusableSummary | None]:
        """Return what the reply confirms: cleared tool results, and a compaction."""
        if not self.is_active and not self._clears:
            return None, None
        if self._format == "openai_responses":
            return None, read_openai_compaction(reply)
        self._pinned, cleared = confirm_clearing(self._pinned, reply)
        return cleared, read_anthropic_compaction(reply)
