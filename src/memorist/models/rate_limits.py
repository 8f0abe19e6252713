"""A provider's rate limits, read from the headers of its responses. Pure.

Sources of the names: Anthropic's and OpenAI's pages on rate limits, and for subscriptions
Anthropic's `unified` headers as clients report them. Headers that cannot be parsed are ignored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable

from msgspec import Struct

from memorist.core.lazy import lazy_pattern
from memorist.models.call_failure import CallFailure, RemainingRateLimit

RATE_LIMIT_STATUSES = frozenset({429, 529})
"""Statuses by which a provider asks for a pause: a rate limit, and Anthropic's overload."""


class RateLimitReport(Struct, frozen=True, kw_only=True):
    """The rate limits that one response reported."""

    model: str
    """The string the model was chosen by."""
    status: int | None = None
    """Status of the error; None for a successful response."""
    retry_after: float | None = None
    """Seconds that the provider asks to wait."""
    allowances: tuple[RemainingRateLimit, ...] = ()


RateLimitListener = Callable[[RateLimitReport], None]
"""Called at once, before the model retries or returns. Must not block or raise."""


@runtime_checkable
class RateLimitSource(Protocol):
    """A model that reports what its provider says about rate limits."""

    def set_rate_limit_listener(self, listener: RateLimitListener) -> None:
        """Set the listener, replacing the previous one."""
        ...


def subscribe_to_rate_limits(model: object, listener: RateLimitListener) -> None:
    """Subscribe to the model's rate limits, if it reports any; does nothing otherwise."""
    if isinstance(model, RateLimitSource):
        model.set_rate_limit_listener(listener)


def build_rate_limit_report_of_failure(model: str, fault: CallFailure) -> RateLimitReport | None:
    """The rate limit report of a failed attempt; None when the failure says nothing about
    limits.
    """
    asked = fault.retry_after is not None and (fault.status or 0) >= 500
    if fault.status not in RATE_LIMIT_STATUSES and not asked:
        return None
    return RateLimitReport(
        model=model, status=fault.status, retry_after=fault.retry_after, allowances=fault.allowances
    )


_REMAINING = lazy_pattern(
    r"anthropic-ratelimit-(?P<anthropic>[a-z-]+)-remaining|"
    r"x-ratelimit-remaining-(?P<openai>[a-z_-]+)"
)
_UNIFIED = lazy_pattern(r"anthropic-ratelimit-unified-(?P<window>[a-z0-9]+)-utilization")


def read_rate_limits(headers: Mapping[str, str], now: float) -> tuple[RemainingRateLimit, ...]:
    """The rate limits named in the headers, in the order of their names. `now` in seconds since the
    epoch.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    found: list[RemainingRateLimit] = []
    for name in sorted(lower):
        if match := _REMAINING.fullmatch(name):
            what = match["anthropic"] or match["openai"]
            before, after = (
                ("anthropic-ratelimit-", "-{}") if match["anthropic"] else ("x-ratelimit-{}-", "")
            )
            limit = _number(lower.get(_header_name(before, what, after, "limit"), ""))
            left = _number(lower[name])
            if limit and left is not None:
                reset = lower.get(_header_name(before, what, after, "reset"), "")
                found.append(
                    RemainingRateLimit(
                        what=what,
                        left=_clamp_share(left / limit),
                        resets_in=_seconds_until(reset, now),
                    )
                )
        elif match := _UNIFIED.fullmatch(name):
            used = _number(lower[name])
            if used is not None:
                reset = lower.get(f"anthropic-ratelimit-unified-{match['window']}-reset", "")
                found.append(
                    RemainingRateLimit(
                        what=match["window"],
                        left=_clamp_share(1 - used),
                        resets_in=_seconds_until(reset, now),
                    )
                )
    return tuple(found)


def _header_name(before: str, what: str, after: str, part: str) -> str:
    return before.format(part) + what + after.format(part)


def _clamp_share(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


_EARLIEST_EPOCH = 1_000_000_000.0
"""A plain number from here on is a time since the epoch (2001), below it a duration: no limit
resets after 31 years.
"""

_DURATION = lazy_pattern(
    r"(?:(\d+(?:\.\d+)?)d)?(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)"
    r"s)?(?:(\d+(?:\.\d+)?)ms)?"
)
_UNITS = (86_400.0, 3_600.0, 60.0, 1.0, 0.001)


def _seconds_until(text: str, now: float) -> float | None:
    """Seconds until a duration (`6m0s`, `12ms`), a number, or a date (RFC 3339); None for anything
    else.
    """
    given = text.strip()
    number = _number(given)
    if number is not None:
        return max(0.0, number - now) if number >= _EARLIEST_EPOCH else number
    match = _DURATION.fullmatch(given)
    if given and match is not None:
        return sum(
            float(part) * unit for part, unit in zip(match.groups(), _UNITS, strict=True) if part
        )
    try:
        when = datetime.fromisoformat(given)
        return max(0.0, (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() - now)
    except (ValueError, OverflowError):
        return None
