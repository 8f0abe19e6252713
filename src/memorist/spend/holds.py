"""When background work with a model waits for its provider. Pure (SG-1)."""

from __future__ import annotations

from memorist.models.limits import RateNews
from memorist.spend.settings import SpendSettings
from memorist.store.spend import DAY_SECONDS, Hold

LONGEST_SECONDS = float(DAY_SECONDS)
"""Longest hold: a provider's word is believed for a day, and then tried again, so that one wrong header cannot end background work for good."""


def hold_of(news: RateNews, settings: SpendSettings, now: float) -> Hold | None:
    """The hold that the news call for; None where enough is left, or nothing is known. `now` in seconds since the epoch."""
    low = [each for each in news.allowances if each.left * 100 < settings.remaining_percent]
    resets = [each.resets_in for each in low if each.resets_in is not None]
    # Every limit must leave room, so the latest reset counts.
    reset = max(resets, default=settings.hold_seconds)
    if news.status is not None:
        wait = news.retry_after if news.retry_after is not None and news.retry_after >= 0 else reset
        said = f"the provider of {news.model} refused a request (status {news.status})"
        return Hold(model=news.model, cause="refused", noted=now, until=now + _bounded(wait), said=said)
    if not low:
        return None
    least = min(low, key=lambda each: each.left)
    said = (
        f"{least.left * 100:.0f} % of the provider's limit on {least.what} is left for {news.model},"
        f" and the last {settings.remaining_percent} % are the host's"
    )
    return Hold(model=news.model, cause="share", noted=now, until=now + _bounded(reset), said=said)


def _bounded(seconds: float) -> float:
    # A number that is none (NaN) compares as false and becomes no wait.
    return min(seconds, LONGEST_SECONDS) if seconds > 0 else 0.0
