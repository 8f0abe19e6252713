"""The caps on background work."""

from __future__ import annotations

from msgspec import Struct


class SpendSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all background work of one home may use in a day (of UTC), and in one session. The caps of a single fork are in `forks`.

    Requests count retries; tokens are input and output, and a tenth of what was read from the cache; the cost counts where prices are
    known; seconds are the time that forks ran. A cap of 0 allows nothing.
    """

    enabled: bool = True
    """False lifts the caps below, not those of a fork, and not the respect for a provider's limits."""
    day_requests: int = 500
    """A worker without a bound sent 1,911 in five hours (codex.md part 7); this is a working day at one a minute."""
    day_tokens: int = 5_000_000
    """About 350 updates of notes at a context of 100,000 tokens."""
    day_cost_usd: float = 10.0
    """What users complain of begins at 17 dollars in three hours (peers.md)."""
    day_seconds: float = 14_400.0
    """Four hours of forks at work: 500 requests of half a minute."""
    session_requests: int = 200
    """Less than half a day's, so that one session that runs away leaves something to the others."""
    session_tokens: int = 2_000_000
    """About 140 updates of notes at a context of 100,000 tokens."""
    session_cost_usd: float = 5.0
    """Half a day's."""
    session_seconds: float = 7_200.0
    """Half a day's."""
    remaining_percent: int = 25
    """With less of a provider's limit left, background work waits until the limit is reset, and leaves the rest to the host (codex.md 1.3)."""
    hold_seconds: float = 60.0
    """Wait after a refusal (429, 529) for which the provider names no time: limits are counted by the minute."""
