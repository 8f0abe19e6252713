"""The circuit breaker of compaction: failures so far, and whether another attempt is made (CP-14).
Pure.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

RETRY_GROWTH_PERCENT = 110
"""A conversation that could not be compacted is tried again once it has grown to this size."""

REFILL_REPLIES = 3
"""The window counts as refilled at once when it is full within so many replies of a compaction."""


class CompactionCircuitBreaker(Struct, frozen=True, kw_only=True):
    """Failures of compaction in this session so far. Immutable: each change makes a new value."""

    failures: int = 0
    """Consecutive failed compactions."""
    model_failures: int = 0
    """Consecutive compactions in which the model call failed, even where another strategy
    succeeded.
    """
    refills: int = 0
    """Consecutive compactions after which the window was full again at once."""
    replies_since: int | None = None
    """Replies since the last compaction; None before the first."""

    failed_tokens: int = 0
    """Size of the conversation at the last failure, in tokens."""

    @property
    def retry_tokens(self) -> int:
        """Size in tokens from which another attempt is made after repeated failures."""
        return self.failed_tokens * RETRY_GROWTH_PERCENT // 100

    def is_open(self, used: int, max_failures: int) -> bool:
        """Whether no attempt is made at `used` tokens: it failed `max_failures` times in a row, and
        the conversation has not grown enough since.
        """
        return self.failures >= max_failures and used < self.retry_tokens

    @property
    def is_due_again_at_once(self) -> bool:
        """Whether a compaction that is due now would follow the last one at once."""
        return self.replies_since is not None and self.replies_since <= REFILL_REPLIES

    def has_refilled_too_often(self, max_refills: int) -> bool:
        """Whether the window was full again at once `max_refills` times in a row."""
        return self.is_due_again_at_once and self.refills + 1 >= max_refills


def count_reply_since_compaction(breaker: CompactionCircuitBreaker) -> CompactionCircuitBreaker:
    """Record a reply of the model."""
    return (
        breaker
        if breaker.replies_since is None
        else replace(breaker, replies_since=breaker.replies_since + 1)
    )


def record_compaction_success(
    breaker: CompactionCircuitBreaker, *, model_failed: bool = False
) -> CompactionCircuitBreaker:
    """Record a successful compaction; `model_failed` when a model call for it had failed."""
    return CompactionCircuitBreaker(
        refills=breaker.refills + 1 if breaker.is_due_again_at_once else 0,
        replies_since=0,
        model_failures=breaker.model_failures + 1 if model_failed else 0,
    )


def record_compaction_failure(
    breaker: CompactionCircuitBreaker, *, used: int, model_failed: bool = False
) -> CompactionCircuitBreaker:
    """Record a failed compaction of a conversation of `used` tokens. An interruption by the user is
    not a failure and is not recorded.
    """
    return replace(
        breaker,
        failures=breaker.failures + 1,
        failed_tokens=used,
        model_failures=breaker.model_failures + 1 if model_failed else breaker.model_failures,
    )
