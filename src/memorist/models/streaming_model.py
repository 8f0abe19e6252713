"""The base of models over a provider's SDK: one streamed attempt, the retries around it, usage and
cost of the reply.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping

import msgspec

from memorist.core.messages import JsonObject
from memorist.core.token_count import estimate_text_tokens
from memorist.errors import ModelError, ModelRequestRejected, ModelUnavailable, WireFormatError
from memorist.formats.codec_registry import find_codec
from memorist.formats.request_codec import OUTPUT_LIMIT_KEYS, REPEATED_REASON
from memorist.models.answer_schema import is_answer_schema_refused, remove_answer_schema
from memorist.models.call_failure import CallFailure, is_context_too_long
from memorist.models.model_pricing import (
    ModelPrice,
    compute_call_cost,
    load_shipped_prices,
    match_model_price,
    merge_prices,
)
from memorist.models.model_settings import ModelSettings
from memorist.models.rate_limits import (
    RateLimitListener,
    RateLimitReport,
    build_rate_limit_report_of_failure,
    read_rate_limits,
)
from memorist.models.retry_policy import RetryRunner
from memorist.ports import Clock, Model, Reply, Request
from memorist.system import SystemClock


class StreamingModel(ABC):
    """A `Model` that sends bodies of one wire format over an SDK's client, streaming.

    The body is sent unchanged except for the keys that request the stream. SDK retries are off: the
    retry policy counts every request, keeps one time limit over all of them, and waits on the
    port's clock.
    """

    _format: str
    _default_window = 128_000

    def __init__(
        self,
        name: str,
        model: str,
        settings: ModelSettings | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        self._name = name
        self._model = model
        self._settings = settings or ModelSettings()
        self._table = merge_prices(load_shipped_prices(), self._settings.prices)
        # Spreads the retries of many clients; not security relevant.
        self._retry_policy = RetryRunner(
            name, self._settings, clock or SystemClock(), random.random
        )
        self._listener: RateLimitListener | None = None
        self._learned_window: int | None = None
        self._window_asked = False
        self._takes_schemas = True

    def set_rate_limit_listener(self, listener: RateLimitListener) -> None:
        """Set the listener for the provider's rate limits."""
        self._listener = listener

    @property
    def name(self) -> str:
        """The string the model was chosen by."""
        return self._name

    @property
    def model(self) -> str:
        """The model's name in a request body."""
        return self._model

    @property
    def format(self) -> str:
        """The wire format of its requests."""
        return self._format

    @property
    def window(self) -> int:
        """Context window in tokens."""
        return (
            self._settings.window
            or self._learned_window
            or self._price.window
            or self._default_window
        )

    def learn_window(self, window: int | None) -> None:
        """Use this window from now on, unless the settings name one; None changes nothing."""
        if window is not None:
            self._learned_window = window

    @property
    def _price(self) -> ModelPrice:
        return match_model_price(self._model, self._table) or ModelPrice()

    async def send(self, request: Request) -> Reply:
        """Send one request and return the whole reply with its usage and cost. Raises a
        `ModelError`.
        """
        if request.format != self._format:
            raise ModelRequestRejected(
                f"{self._name} speaks {self._format}, and the request is in {request.format}; "
                f"translate it first."
            )
        answer = await self._retry_policy.call_with_retries(
            lambda: self._attempt_and_report(request.body), request.timeout_seconds
        )
        try:
            reply = find_codec(self._format).decode_reply(answer.body)
        except WireFormatError as error:
            raise ModelUnavailable(
                f"{self._name} sent a reply that is not of its format ({error}); try later."
            ) from error
        if reply.stop_reason == REPEATED_REASON:
            reply = _estimate_input(request, reply)
        model = str(request.body.get("model") or self._model)
        cost = compute_call_cost(
            model, reply.usage, self._table, cache_write_1h=_hour_cache_writes(answer.body)
        )
        return msgspec.structs.replace(
            reply, cost_usd=cost, attempts=answer.attempts, broken_off=answer.broken_off
        )

    async def _attempt_and_report(self, body: JsonObject) -> JsonObject | CallFailure:
        """One attempt; a rate limit is reported at once, because other processes may be waiting as
        well.
        """
        body = _cap_output_limit(body, self._settings.max_output, self._price.max_output)
        if not self._takes_schemas:
            body = remove_answer_schema(self._format, body)
        outcome = await self._attempt(body)
        if isinstance(outcome, CallFailure) and is_answer_schema_refused(
            self._format, body, outcome
        ):
            self._takes_schemas = False
            outcome = await self._attempt(remove_answer_schema(self._format, body))
        if isinstance(outcome, CallFailure) and is_context_too_long(outcome):
            self.learn_window(outcome.size.window)
        report = (
            build_rate_limit_report_of_failure(self._name, outcome)
            if isinstance(outcome, CallFailure)
            else None
        )
        if report is not None and self._listener is not None:
            self._listener(report)
        return outcome

    def _report_rate_limits(self, headers: Mapping[str, str]) -> None:
        """Report the rate limits in a response's headers."""
        allowances = read_rate_limits(headers, self._retry_policy.clock.now())
        if allowances and self._listener is not None:
            self._listener(RateLimitReport(model=self._name, allowances=allowances))

    def _with_rate_limits(self, fault: CallFailure, headers: Mapping[str, str]) -> CallFailure:
        return msgspec.structs.replace(
            fault, allowances=read_rate_limits(headers, self._retry_policy.clock.now())
        )

    @abstractmethod
    async def close(self) -> None:
        """Close the connections. May be called twice."""

    @abstractmethod
    async def _attempt(self, body: JsonObject) -> JsonObject | CallFailure:
        """Send one request: the reply's body, or why there is none."""


def _cap_output_limit(body: JsonObject, wanted: int | None, known: int | None) -> JsonObject:
    """The body with an output limit of at most `models.max_output`, and of the most that the model
    is `known` to give: a provider refuses more. Itself where neither is exceeded, or where the
    second would leave a thought less than its budget.
    """
    limits = [wanted, None if isinstance(body.get("thinking"), dict) else known]
    most = min((limit for limit in limits if limit is not None), default=None)
    over = {
        key: most
        for key in OUTPUT_LIMIT_KEYS
        if most is not None and isinstance(given := body.get(key), int) and given > most
    }
    return {**body, **over} if over else body


def _estimate_input(request: Request, reply: Reply) -> Reply:
    """The reply with its input estimated where the provider had not counted it by then."""
    usage = reply.usage
    if usage.context_tokens > usage.output:
        return reply
    read = estimate_text_tokens(msgspec.json.encode(request.body).decode())
    return msgspec.structs.replace(reply, usage=msgspec.structs.replace(usage, input=read))


def _hour_cache_writes(body: JsonObject) -> int:
    usage = body.get("usage")
    creation = usage.get("cache_creation") if isinstance(usage, dict) else None
    tokens = creation.get("ephemeral_1h_input_tokens") if isinstance(creation, dict) else None
    return tokens if isinstance(tokens, int) else 0


class ErrorRecordingModel:
    """A model that also records the error of its last call, which a receipt only gives in words."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.error: ModelError | None = None
        self.counted = 0
        """Input tokens of the last call, as the provider counted them."""

    @property
    def name(self) -> str:
        """The name of the model behind it."""
        return self._model.name

    @property
    def format(self) -> str:
        """The wire format of the model behind it."""
        return self._model.format

    @property
    def window(self) -> int:
        """Context window in tokens, as known by now."""
        return self._model.window

    async def send(self, request: Request) -> Reply:
        """Send one request and keep the error that it ends with. Raises a `ModelError`."""
        self.error = None
        try:
            reply = await self._model.send(request)
        except ModelError as error:
            self.error = error
            raise
        self.counted = reply.usage.context_tokens - reply.usage.output
        return reply

    async def close(self) -> None:
        """Do nothing: the model is the caller's to close."""
