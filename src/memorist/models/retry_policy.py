"""Retries: when, how long to wait, and when to give up. The schedule is pure;
`RetryRunner.call_with_retries` runs it on a clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from memorist.core.messages import JsonObject
from memorist.errors import ModelError, ModelTimeout
from memorist.models.call_failure import (
    CallFailure,
    build_model_error,
    is_model_loading,
    is_retryable,
)
from memorist.models.model_settings import ModelSettings
from memorist.ports import Clock

LOADING_POLL_SECONDS = 2.0
"""Wait before a server that still loads its model is asked again; the time limit of the call bounds
it. Our choice: a model of 1 GB takes some 20 seconds.
"""

ModelAttempt = Callable[[], Awaitable[JsonObject | CallFailure]]
"""One request: the reply's body, or why there is none."""


class RetriedReply(NamedTuple):
    """A reply's body, the number of requests it took, and how many of them were broken off."""

    body: JsonObject
    attempts: int
    broken_off: int


def compute_retry_delay(
    settings: ModelSettings, failed_attempts: int, random_share: float, retry_after: float | None
) -> float:
    """Seconds to wait after `failed_attempts` attempts (at least 1). `random_share` lies between 0
    and 1.

    The wait that the provider asks for counts, up to a cap; otherwise the wait grows from attempt
    to attempt, up to a cap, minus a random part so that many clients do not retry at the same time.
    """
    if retry_after is not None and retry_after >= 0:
        return min(retry_after, settings.retry_after_cap_seconds)
    # The exponent is bounded so that no number of attempts overflows.
    grown = settings.backoff_seconds * settings.backoff_factor ** min(failed_attempts - 1, 32)
    return min(grown, settings.backoff_cap_seconds) * (1.0 - settings.jitter * random_share)


class RetryRunner(NamedTuple):
    """What a call with retries needs: the model's name for messages, settings, clock, and a random
    source between 0 and 1.
    """

    model: str
    settings: ModelSettings
    clock: Clock
    draw_random: Callable[[], float]

    async def call_with_retries(
        self, attempt: ModelAttempt, limit_seconds: float | None
    ) -> RetriedReply:
        """Try until there is a reply. The limit counts real time over all attempts and waits; a
        server that still loads its model is waited for until then.

        Raises `ModelTimeout` when the limit passes, and the error of the last failure when a retry
        does not help or the attempts are used up. Cancellation propagates.
        """
        limit = self.settings.timeout_seconds if limit_seconds is None else limit_seconds
        failures: list[CallFailure] = []
        try:
            async with asyncio.timeout(limit):
                return await self._until_answered(attempt, failures)
        except ModelError as error:
            error.attempts, error.broken_off = len(failures), _count_broken_off(failures)
            raise
        except TimeoutError as error:
            late = ModelTimeout(
                f"{self.model} did not answer within {limit:g} seconds; try later or raise "
                f"timeout_seconds."
            )
            late.attempts, late.broken_off = len(failures) + 1, _count_broken_off(failures)
            raise late from error

    async def _until_answered(
        self, attempt: ModelAttempt, failures: list[CallFailure]
    ) -> RetriedReply:
        """Try until there is a reply; each failed attempt is added to `failures`."""
        while True:
            outcome = await attempt()
            if not isinstance(outcome, CallFailure):
                return RetriedReply(outcome, len(failures) + 1, _count_broken_off(failures))
            if is_model_loading(outcome):
                await self.clock.sleep(LOADING_POLL_SECONDS)
                continue
            failures.append(outcome)
            failed = len(failures)
            if failed >= self.settings.attempts or not is_retryable(outcome):
                raise build_model_error(outcome, self.model, failed)
            await self.clock.sleep(
                compute_retry_delay(self.settings, failed, self.draw_random(), outcome.retry_after)
            )


def _count_broken_off(failures: list[CallFailure]) -> int:
    """The attempts that the provider had begun to answer."""
    return sum(failure.kind == "cut" or failure.has_started for failure in failures)
