"""State of a scripted model between calls: how far its script was played, the number of calls, the
cache, and the checks that a provider makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

from memorist.core.messages import JsonObject, Usage
from memorist.errors import (
    ContextTooLong,
    ModelError,
    ModelRequestRejected,
    ModelTimeout,
    ModelUnavailable,
    UsageError,
)
from memorist.ports import Request
from memorist.testing.prompt_cache import InputTokenCounts, PromptCacheState, compute_request_usage
from memorist.testing.request_checks import (
    RequestProblem,
    build_too_long_problem,
    find_request_problem,
)
from memorist.testing.steps import AnswerStep, Fail, GivenReplyBody, HttpError, Script, Step
from memorist.testing.wire_formats import ReplyMetadata, estimate_output_tokens


class CountedRequest(NamedTuple):
    """A counted request: its number from 1, its input tokens, and why it is refused, if it is."""

    number: int
    counts: InputTokenCounts
    problem: RequestProblem | None


class SimulatedProviderState:
    """Calls, cache and checks of one scripted model or server. Thread-safe."""

    def __init__(self, *, window: int, strict: bool, cache_minimum: int) -> None:
        self.window = window
        self._strict = strict
        self._minimum = cache_minimum
        self._cache = PromptCacheState()
        self._calls = 0
        self._lock = Lock()

    def count_request(self, wire_format: str, body: JsonObject) -> CountedRequest:
        """Count a request and check it. A refused request leaves the cache unchanged."""
        with self._lock:
            self._calls += 1
            after, counts = compute_request_usage(
                self._cache, wire_format, body, minimum=self._minimum
            )
            problem = (
                find_request_problem(wire_format, body, window=self.window, tokens=counts.total)
                if self._strict
                else None
            )
            if problem is None:
                self._cache = after
            return CountedRequest(self._calls, counts, problem)

    def count_tokens(self, wire_format: str, body: JsonObject) -> int:
        """Input tokens of a request, without counting it as a call."""
        return compute_request_usage(PromptCacheState(), wire_format, body)[1].total

    def forget_cache(self) -> None:
        """Empty the cache, as when its lifetime has passed."""
        with self._lock:
            self._cache = PromptCacheState()


def build_reply_metadata(
    counted: CountedRequest, step: AnswerStep, body: JsonObject
) -> ReplyMetadata:
    """Build the facts of a reply. A step's own usage takes precedence over the counted one."""
    given = None if isinstance(step, GivenReplyBody) else step.usage
    usage = (
        Usage()
        if isinstance(step, GivenReplyBody)
        else given or counted.counts.usage(estimate_output_tokens(step))
    )
    long_write = 0 if given is not None else counted.counts.cache_write_long
    return ReplyMetadata(
        number=counted.number,
        model=str(body.get("model", "scripted")),
        usage=usage,
        cache_write_long=long_write,
        request=body,
    )


def convert_failure_to_http_error(failure: Fail, wire_format: str, window: int) -> HttpError | None:
    """The HTTP response from which a client raises this error; None for a time-out, which is a
    response that never comes.
    """
    error: ModelError = failure.error
    match error:
        case ContextTooLong():
            problem = build_too_long_problem(wire_format, window=window, tokens=window + 1)
            return HttpError(code=problem.status, message=problem.message, kind=problem.code)
        case ModelTimeout():
            return None
        case ModelUnavailable():
            return HttpError(code=529 if wire_format == "anthropic" else 503, message=str(error))
        case ModelRequestRejected():
            return HttpError(code=400, message=str(error))
        case _:
            return HttpError(code=500, message=str(error))


class ScriptCursor:
    """A script and how far it has been played. Thread-safe."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._next = 0
        self._lock = Lock()

    def next_step(self, request: Request) -> Step:
        """Return the step for this request. Raises `ModelRequestRejected` when the list is used up,
        UsageError for what is no step.
        """
        step = self._script(request) if callable(self._script) else self._take_next(self._script)
        if not isinstance(step, Step):
            raise UsageError(f"a script is of steps such as Say(text=…), not of {step!r:.60}")
        return step

    def _take_next(self, steps: Sequence[Step]) -> Step:
        with self._lock:
            number = self._next
            self._next += 1
        if number >= len(steps):
            raise ModelRequestRejected(
                f"The script has {len(steps)} steps and this is call {number + 1}; add "
                f"a step to the script."
            )
        return steps[number]
