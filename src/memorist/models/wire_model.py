"""The base of models over a provider's SDK: one streamed attempt, the retries around it, usage and
cost of the reply.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping

import msgspec

from memorist.clock import SystemClock
from memorist.core.messages import JsonObject
from memorist.errors import FormatError, ModelRefused, ModelUnavailable
from memorist.formats.registry import codec
from memorist.models.faults import Fault
from memorist.models.limits import RateNews, Told, news_of_fault, read_allowances
from memorist.models.prices import Price, lookup, merged, price_of, shipped
from memorist.models.retry import Retrying
from memorist.models.settings import ModelSettings
from memorist.ports import Clock, Reply, Request


class WireModel(ABC):
    """A `Model` that sends bodies of one wire format over an SDK's client, streaming.

    The body is sent unchanged except for the keys that request the stream. SDK retries are off: the
    retry policy counts every request, keeps one time limit over all of them, and waits on the
    port's clock.
    """

    _format: str
    _default_window = 128_000

    def __init__(self, name: str, model: str, settings: ModelSettings | None = None, *, clock: Clock | None = None) -> None:
        self._name = name
        self._model = model
        self._settings = settings or ModelSettings()
        self._table = merged(shipped(), self._settings.prices)
        # Spreads the retries of many clients; not security relevant.
        self._retrying = Retrying(name, self._settings, clock or SystemClock(), random.random)
        self._listener: Told | None = None

    def listen(self, told: Told) -> None:
        """Set the listener for the provider's rate limits."""
        self._listener = told

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
        return self._settings.window or self._known.window or self._default_window

    @property
    def max_output(self) -> int:
        """Largest output in tokens that a request should ask for."""
        return self._settings.max_output or self._known.max_output or 8_192

    @property
    def _known(self) -> Price:
        return lookup(self._model, self._table) or Price()

    async def send(self, request: Request) -> Reply:
        """Send one request and return the whole reply with its usage and cost. Raises a
        `ModelError`.
        """
        if request.format != self._format:
            raise ModelRefused(f"{self._name} speaks {self._format}, and the request is in {request.format}; translate it first.")
        answer = await self._retrying.call(lambda: self._heard(request.body), request.timeout_seconds)
        try:
            reply = codec(self._format).decode_reply(answer.body)
        except FormatError as error:
            raise ModelUnavailable(f"{self._name} sent a reply that is not of its format ({error}); try later.") from error
        model = str(request.body.get("model") or self._model)
        cost = price_of(model, reply.usage, self._table, cache_write_1h=_written_for_an_hour(answer.body))
        return msgspec.structs.replace(reply, cost_usd=cost, attempts=answer.attempts)

    async def _heard(self, body: JsonObject) -> JsonObject | Fault:
        """One attempt; a rate limit is reported at once, because other processes may be waiting as
        well.
        """
        outcome = await self._attempt(body)
        news = news_of_fault(self._name, outcome) if isinstance(outcome, Fault) else None
        if news is not None and self._listener is not None:
            self._listener(news)
        return outcome

    def _answered(self, headers: Mapping[str, str]) -> None:
        """Report the rate limits in a response's headers."""
        allowances = read_allowances(headers, self._retrying.clock.now())
        if allowances and self._listener is not None:
            self._listener(RateNews(model=self._name, allowances=allowances))

    def _refused_with(self, fault: Fault, headers: Mapping[str, str]) -> Fault:
        return msgspec.structs.replace(fault, allowances=read_allowances(headers, self._retrying.clock.now()))

    @abstractmethod
    async def close(self) -> None:
        """Close the connections. May be called twice."""

    @abstractmethod
    async def _attempt(self, body: JsonObject) -> JsonObject | Fault:
        """Send one request: the reply's body, or why there is none."""


def _written_for_an_hour(body: JsonObject) -> int:
    usage = body.get("usage")
    creation = usage.get("cache_creation") if isinstance(usage, dict) else None
    tokens = creation.get("ephemeral_1h_input_tokens") if isinstance(creation, dict) else None
    return tokens if isinstance(tokens, int) else 0
