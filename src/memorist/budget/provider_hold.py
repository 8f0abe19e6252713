"""How long to hold back background work because a provider refused, or reports that little of its
rate limit is left. Pure (SG-1).
"""

from __future__ import annotations

from memorist.models.rate_limits import RateLimitReport
from memorist.settings import SpendSettings
from memorist.store.spend_rows import DAY_SECONDS, ModelHold

MAX_HOLD_SECONDS = float(DAY_SECONDS)
"""Longest hold: a provider's statement is trusted for a day, then retried, so that one wrong header
cannot end background work for good.
"""


def decide_provider_hold(
    report: RateLimitReport, settings: SpendSettings, now: float
) -> ModelHold | None:
    """The hold that a rate limit report calls for; None where enough is left, or nothing is known.
    `now` in seconds since the epoch.
    """
    low = [each for each in report.allowances if each.left * 100 < settings.remaining_percent]
    resets = [each.resets_in for each in low if each.resets_in is not None]
    # Every limit must leave room, so the latest reset counts.
    reset = max(resets, default=settings.hold_seconds)
    if report.status is not None:
        wait = (
            report.retry_after
            if report.retry_after is not None and report.retry_after >= 0
            else reset
        )
        said = f"the provider of {report.model} refused a request (status {report.status})"
        return ModelHold(
            model=report.model, cause="refused", noted=now, until=now + _bound_wait(wait), said=said
        )
    if not low:
        return None
    least = min(low, key=lambda each: each.left)
    said = (
        f"{least.left * 100:.0f} % of the provider's limit on {least.what} is left for "
        f"{report.model},"
        f" and the last {settings.remaining_percent} % are the host's"
    )
    return ModelHold(
        model=report.model, cause="share", noted=now, until=now + _bound_wait(reset), said=said
    )


def _bound_wait(seconds: float) -> float:
    # NaN compares as false and becomes no wait.
    return min(seconds, MAX_HOLD_SECONDS) if seconds > 0 else 0.0
