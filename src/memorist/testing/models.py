"""A model that answers by script, without a network."""

from __future__ import annotations

import asyncio

import msgspec

from memorist.core.messages import JsonObject
from memorist.errors import ModelRequestRejected, ModelTimeout
from memorist.formats.codec_registry import find_codec
from memorist.models.call_failure import CallFailure, build_model_error
from memorist.models.model_pricing import compute_call_cost, load_shipped_prices
from memorist.models.rate_limits import (
    RateLimitListener,
    RateLimitReport,
    build_rate_limit_report_of_failure,
)
from memorist.ports import Clock, Reply, Request
from memorist.system import SystemClock
from memorist.testing.request_checks import WIRES, RequestProblem
from memorist.testing.scripted_model_state import (
    CountedRequest,
    ScriptCursor,
    SimulatedProviderState,
    build_reply_metadata,
)
from memorist.testing.steps import (
    DelayReply,
    Fail,
    Garbage,
    Hang,
    HttpError,
    InterruptedReply,
    Script,
    Step,
)
from memorist.testing.wire_formats import build_reply_body


class ScriptedModel:
    """`Model` that plays a script: a list of steps that is used up, or a function from the request
    to a step.

    It records every request in `requests`, answers with bodies that the real provider could have
    sent, counts tokens and cache reads as the provider would, and refuses what the provider refuses
    (unpaired tool calls, more than four cache marks, a request beyond the window) unless `strict`
    is False. There are no retries: an HTTP error, a cut and garbage fail at once with the error
    that a real model raises after its last attempt.
    """

    def __init__(
        self,
        script: Script,
        *,
        format: str = "anthropic",
        window: int = 200_000,
        name: str = "scripted:model",
        strict: bool = True,
        clock: Clock | None = None,
    ) -> None:
        self._tape = ScriptCursor(script)
        self._format = format
        self._name = name
        self._clock = clock or SystemClock()
        self._ledger = SimulatedProviderState(window=window, strict=strict, cache_minimum=0)
        self.requests: list[Request] = []
        """Every sent request, in order, including refused ones."""
        self.closed = False
        self._listener: RateLimitListener | None = None

    def set_rate_limit_listener(self, listener: RateLimitListener) -> None:
        """Set the listener for refusals that the script plays, and for what `announce_rate_limits`
        reports.
        """
        self._listener = listener

    def announce_rate_limits(self, report: RateLimitReport) -> None:
        """Report rate limits, as a provider does in the headers of a response."""
        if self._listener is not None:
            self._listener(report)

    @property
    def name(self) -> str:
        """The name given."""
        return self._name

    @property
    def format(self) -> str:
        """The wire format of its requests."""
        return self._format

    @property
    def window(self) -> int:
        """Context window in tokens."""
        return self._ledger.window

    def forget_cache(self) -> None:
        """Empty the simulated prompt cache, as when its lifetime has passed."""
        self._ledger.forget_cache()

    async def send(self, request: Request) -> Reply:
        """Play the next step. Raises the `ModelError` that it asks for, or `ModelRequestRejected`
        when the script is used up.
        """
        if request.format != self._format:
            raise ModelRequestRejected(
                f"{self._name} speaks {self._format}, and the request is in {request.format}; "
                f"translate it first."
            )
        self.requests.append(request)
        counted = self._ledger.count_request(self._format, request.body)
        if counted.problem is not None:
            raise self._build_refusal(counted.problem)
        try:
            async with asyncio.timeout(request.timeout_seconds):
                # Let a limit of zero seconds expire and other tasks run, as any real call does.
                await asyncio.sleep(0)
                return await self._play(self._tape.next_step(request), counted, request.body)
        except TimeoutError as error:
            raise ModelTimeout(
                f"{self._name} did not answer within {request.timeout_seconds:g} seconds; "
                f"raise the limit."
            ) from error

    async def close(self) -> None:
        """Set `closed`."""
        self.closed = True

    async def _play(self, step: Step, counted: CountedRequest, body: JsonObject) -> Reply:
        match step:
            case Fail(error=error):
                raise error
            case HttpError():
                asked = None if step.retry_after is None else float(step.retry_after)
                raise self._build_fault_error(
                    CallFailure(
                        kind="status",
                        status=step.code,
                        message=step.message,
                        code=step.kind,
                        retry_after=asked,
                    )
                )
            case Garbage():
                raise build_model_error(
                    CallFailure(kind="invalid", message="scripted garbage"), self._name, 1
                )
            case InterruptedReply(then="hang") | Hang():
                await asyncio.Event().wait()
                raise ModelTimeout(f"{self._name} never answered.")
            case InterruptedReply():
                raise build_model_error(
                    CallFailure(kind="cut", message="scripted cut"), self._name, 1
                )
            case DelayReply(seconds=seconds, step=answer):
                await self._clock.sleep(seconds)
                return self._build_reply(
                    build_reply_body(
                        WIRES[self._format], answer, build_reply_metadata(counted, answer, body)
                    ),
                    body,
                )
            case _:
                return self._build_reply(
                    build_reply_body(
                        WIRES[self._format], step, build_reply_metadata(counted, step, body)
                    ),
                    body,
                )

    def _build_fault_error(self, fault: CallFailure) -> Exception:
        report = build_rate_limit_report_of_failure(self._name, fault)
        if report is not None:
            self.announce_rate_limits(report)
        return build_model_error(fault, self._name, 1)

    def _build_reply(self, answer: JsonObject, body: JsonObject) -> Reply:
        reply = find_codec(self._format).decode_reply(answer)
        return msgspec.structs.replace(
            reply,
            cost_usd=compute_call_cost(
                str(body.get("model", "")), reply.usage, load_shipped_prices()
            ),
        )

    def _build_refusal(self, problem: RequestProblem) -> Exception:
        return build_model_error(
            CallFailure(
                kind="status", status=problem.status, message=problem.message, code=problem.code
            ),
            self._name,
            1,
        )
