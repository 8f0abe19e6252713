"""State of a scripted model between calls: their number, the cache, and the checks that a provider
makes.
"""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple

from memorist.core.messages import JsonObject, Usage
from memorist.errors import ContextTooLong, ModelError, ModelRefused, ModelTimeout, ModelUnavailable
from memorist.testing.cache import CacheState, Counts, account
from memorist.testing.steps import Answer, Fail, Raw, Status
from memorist.testing.strict import Problem, check, too_long
from memorist.testing.wire import Facts, Wire, output_tokens
from memorist.testing.wire_anthropic import AnthropicWire
from memorist.testing.wire_chat import ChatWire
from memorist.testing.wire_responses import ResponsesWire

WIRES: dict[str, Wire] = {"anthropic": AnthropicWire(), "openai_responses": ResponsesWire(), "openai_chat": ChatWire()}
"""The scripted model's side of each wire format."""


class Taken(NamedTuple):
    """A counted request: its number from 1, its input tokens, and why it is refused, if it is."""

    number: int
    counts: Counts
    problem: Problem | None


class Ledger:
    """Calls, cache and checks of one scripted model or server. Thread-safe."""

    def __init__(self, *, window: int, strict: bool, cache_minimum: int) -> None:
        self.window = window
        self._strict = strict
        self._minimum = cache_minimum
        self._cache = CacheState()
        self._calls = 0
        self._lock = Lock()

    def take(self, wire_format: str, body: JsonObject) -> Taken:
        """Count a request and check it. A refused request leaves the cache unchanged."""
        with self._lock:
            self._calls += 1
            after, counts = account(self._cache, wire_format, body, minimum=self._minimum)
            problem = check(wire_format, body, window=self.window, tokens=counts.total) if self._strict else None
            if problem is None:
                self._cache = after
            return Taken(self._calls, counts, problem)

    def measure(self, wire_format: str, body: JsonObject) -> int:
        """Input tokens of a request, without counting it as a call."""
        return account(CacheState(), wire_format, body)[1].total

    def forget_cache(self) -> None:
        """Empty the cache, as when its lifetime has passed."""
        with self._lock:
            self._cache = CacheState()


def facts_of(taken: Taken, step: Answer, body: JsonObject) -> Facts:
    """Build the facts of a reply. A step's own usage takes precedence over the counted one."""
    given = None if isinstance(step, Raw) else step.usage
    usage = Usage() if isinstance(step, Raw) else given or taken.counts.usage(output_tokens(step))
    long_write = 0 if given is not None else taken.counts.cache_write_long
    return Facts(number=taken.number, model=str(body.get("model", "scripted")), usage=usage, cache_write_long=long_write, request=body)


def status_of_failure(failure: Fail, wire_format: str, window: int) -> Status | None:
    """The HTTP response from which a client raises this error; None for a time-out, which is a
    response that never comes.
    """
    error: ModelError = failure.error
    match error:
        case ContextTooLong():
            problem = too_long(wire_format, window=window, tokens=window + 1)
            return Status(code=problem.status, message=problem.message, kind=problem.code)
        case ModelTimeout():
            return None
        case ModelUnavailable():
            return Status(code=529 if wire_format == "anthropic" else 503, message=str(error))
        case ModelRefused():
            return Status(code=400, message=str(error))
        case _:
            return Status(code=500, message=str(error))
