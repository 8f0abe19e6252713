"""Running a fork: requests, tool calls, limits, and the receipt that every run leaves."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import cache

import msgspec
from msgspec import Struct

from memorist.core.messages import JsonObject, Message, ToolUse, Usage
from memorist.core.template import render
from memorist.errors import FormatError, ModelError, ModelTimeout, StoreError
from memorist.forks.hands.run import Answer, Hands
from memorist.forks.request import ForkTexts, choose_way, first_body, is_fork, model_id, shares_prefix
from memorist.forks.spec import EditWay, ForkSpec, Outcome, Receipt, Sent, counted_tokens
from memorist.forks.text_edits import TextEdits, parse_elements, parse_json
from memorist.forks.tools import recognise
from memorist.formats.codec import Codec
from memorist.formats.registry import codec
from memorist.formats.wire import is_custom
from memorist.ports import Clock, Files, Model, Reply, Request
from memorist.prompts.load import load

_inside: ContextVar[str] = ContextVar("memorist_fork", default="")
"""Label of the fork that the current task belongs to; child tasks inherit it."""


@cache
def fork_texts() -> ForkTexts:
    """Load the prompts of forks that ship with memorist."""
    return ForkTexts(**{name: load(f"forks/{name}") for name in ForkTexts.__struct_fields__})


async def run_fork(
    spec: ForkSpec,
    *,
    model: Model,
    files: Files,
    clock: Clock,
    cost: Callable[[Usage], float | None] | None = None,
    record: Callable[[Receipt], object] | None = None,
) -> Receipt:
    """Run the fork to its end and return the receipt.

    `record` receives the receipt too, even when the run is cancelled or fails because of a bug.
    Expected failures (a model error, a limit, an edit that does not apply) are outcomes, not
    exceptions. Cancelling the task cancels the model call or command in progress and propagates.
    `cost` prices a reply in US dollars when the model did not.
    """
    fork = _Fork(spec, model, files, clock, price=cost)
    nested = bool(_inside.get())
    token = _inside.set(spec.label)
    outcome = Outcome.FAILED
    try:
        outcome = await fork.run(nested=nested)
    except asyncio.CancelledError:
        outcome = Outcome.CANCELLED
        fork.said = "It was cancelled."
        raise
    finally:
        _inside.reset(token)
        receipt = fork.receipt(outcome)
        if record is not None:
            record(receipt)
    return receipt


class _Turn(Struct, frozen=True, kw_only=True):
    """The result of one reply: tool results for the wire, edits that failed, and a key for each
    call with its result.
    """

    answers: tuple[Message, ...] = ()
    failures: tuple[str, ...] = ()
    keys: frozenset[tuple[str, str]] = frozenset()
    changed: bool = False
    succeeded: bool = True

    @property
    def final(self) -> bool:
        """Whether nothing has to be sent back to the model."""
        return not self.answers and not self.failures


class _Fork:
    """The state of one run: what it has used so far, and its tool executor."""

    def __init__(self, spec: ForkSpec, model: Model, files: Files, clock: Clock, *, price: Callable[[Usage], float | None] | None) -> None:
        self._spec = spec
        self._model = model
        self._files = files
        self._clock = clock
        self._price = price
        self._started = clock.now()
        self._start = clock.monotonic()
        self._requests = 0
        self._turns = 0
        self._usage = Usage()
        self._cost: float | None = 0.0
        self._sent: list[Sent] = []
        self._hands: Hands | None = None
        self.said = "It ended by a defect of memorist."

    def receipt(self, outcome: Outcome) -> Receipt:
        """The receipt of the run so far."""
        return Receipt(
            label=self._spec.label,
            why=self._spec.why,
            model=self._model.name,
            started=self._started,
            seconds=self._passed(),
            requests=self._requests,
            turns=self._turns,
            usage=self._usage,
            cost_usd=self._cost,
            files=self._hands.changes() if self._hands else (),
            denied=tuple(self._hands.denied) if self._hands else (),
            outcome=outcome,
            said=self.said,
            sent=tuple(self._sent),
        )

    async def run(self, *, nested: bool) -> Outcome:
        """Run to the end. Every expected way to end is an outcome."""
        spec = self._spec
        if spec.parent is not None and not shares_prefix(self._model.name, self._model.format, spec.parent):
            if spec.digest is None:
                return self._failed("The model is another one than the parent's and needs a digest; none was given.")
            spec = msgspec.structs.replace(spec, parent=None)
        try:
            if nested or (spec.parent is not None and is_fork(codec(self._model.format), spec.parent.request.body)):
                return self._failed("A fork may not fork.")
            hands = self._hands = Hands(spec.permission, self._files, spec.given)
            async with asyncio.timeout(max(0.0, spec.limits.seconds - self._passed())):
                stopped = await self._converse(spec, hands)
        except (TimeoutError, ModelTimeout):
            self.said = f"It took longer than {spec.limits.seconds:g} seconds."
            return Outcome.TIMED_OUT
        except (ModelError, FormatError, StoreError) as problem:
            return self._failed(str(problem))
        return stopped or (Outcome.CHANGED if hands.changes() else Outcome.UNCHANGED)

    def _failed(self, why: str) -> Outcome:
        self.said = why
        return Outcome.FAILED

    def _passed(self) -> float:
        return self._clock.monotonic() - self._start

    async def _converse(self, spec: ForkSpec, hands: Hands) -> Outcome | None:
        """Send requests and tool results until the model is done (None) or must be stopped."""
        wire = codec(self._model.format)
        texts = fork_texts()
        way = choose_way(spec, wire)
        body = first_body(spec, way, texts, codec=wire, model=model_id(self._model.name))
        seen: Counter[tuple[str, str]] = Counter()
        while True:
            over = self._used_up(spec)
            if over:
                self.said = over
                return Outcome.TIMED_OUT if over == _TIME else Outcome.OVER_LIMIT
            reply = await self._send(spec, body)
            turn = await _take(reply, way, hands, wire)
            seen.update(turn.keys)
            if turn.final or (spec.one_round and turn.changed and turn.succeeded):
                return None
            if max(seen.values(), default=0) >= spec.limits.repeats:
                self.said = f"It made the same call {spec.limits.repeats} times with the same result."
                return Outcome.LOOPED
            report = render(texts.report, {"problems": "\n".join(f"- {failure}" for failure in turn.failures)}, strict=True).strip()
            tail = wire.user_text(report, turn.answers) if turn.failures else _joined(turn.answers)
            body = wire.extend(body, reply.body, tail)

    def _used_up(self, spec: ForkSpec) -> str:
        """The message of the first limit that forbids another request; empty when none does."""
        limits = spec.limits
        checks = (
            (self._turns >= limits.turns, f"Its {limits.turns} turns were used up before it was done."),
            (self._requests >= limits.requests, f"Its {limits.requests} requests were used up before it was done."),
            (counted_tokens(self._usage) >= limits.tokens, f"Its {limits.tokens:,} tokens were used up before it was done."),
            ((self._cost or 0.0) >= limits.cost_usd, f"Its {limits.cost_usd:.2f} dollars were used up before it was done."),
            (self._passed() >= limits.seconds, _TIME),
        )
        return next((why for reached, why in checks if reached), "")

    async def _send(self, spec: ForkSpec, body: JsonObject) -> Reply:
        self._requests += 1
        before = self._passed()
        began = self._started + before
        left = max(0.001, spec.limits.seconds - before)
        try:
            reply = await self._model.send(Request(format=self._model.format, body=body, label=spec.label, timeout_seconds=left))
        except BaseException as problem:  # recorded in the receipt and raised again
            ended = self._passed()
            late = isinstance(problem, asyncio.CancelledError) and ended >= spec.limits.seconds
            error = TimeoutError.__name__ if late else type(problem).__name__
            self._sent.append(Sent(started=began, seconds=ended - before, error=error))
            raise
        self._requests += reply.attempts - 1
        self._turns += 1
        self._usage += reply.usage
        price = reply.cost_usd if reply.cost_usd is not None or self._price is None else self._price(reply.usage)
        self._cost = None if price is None or self._cost is None else self._cost + price
        self._sent.append(
            Sent(
                started=began,
                seconds=self._passed() - before,
                attempts=reply.attempts,
                usage=reply.usage,
                cost_usd=price,
                stop_reason=(reply.stop_reason or "")[:100],
            )
        )
        self.said = _words(reply)
        return reply


_TIME = "Its time was used up before it was done."


async def _take(reply: Reply, way: EditWay, hands: Hands, wire: Codec) -> _Turn:
    """Carry out what the reply asks for: its tool calls first, then the edits in its text."""
    answers: list[Message] = []
    results: list[Answer] = []
    keys: set[tuple[str, str]] = set()
    for message in reply.messages:
        for use in message.tool_uses:
            result = await hands.do(recognise(use))
            results.append(result)
            keys.add((_key(use), result.text))
            answers.append(wire.tool_result(use.id, result.text, is_error=result.is_error, custom=is_custom(use, message.wire)))
    edits = _edits(reply, way, expected=not answers)
    failures = list(edits.problems)
    for call in edits.calls:
        result = await hands.do(call)
        results.append(result)
        if result.is_error:
            failures.append(f"{call.path}: {result.text}")
    keys |= {("edit", failure) for failure in failures}
    return _Turn(
        answers=tuple(answers),
        failures=tuple(failures),
        keys=frozenset(keys),
        changed=any(result.changed for result in results),
        succeeded=not failures and not any(result.is_error for result in results),
    )


def _edits(reply: Reply, way: EditWay, *, expected: bool) -> TextEdits:
    """The edits in the reply's text. With the JSON method an answer is always expected, except
    beside tool calls.
    """
    text = _words(reply)
    match way:
        case EditWay.TEXT:
            return parse_elements(text)
        case EditWay.JSON if expected or text.strip():
            return parse_json(text)
        case _:
            return TextEdits(())


def _words(reply: Reply) -> str:
    return "\n".join(message.text for message in reply.messages if message.role == "assistant" and message.text)


def _key(use: ToolUse) -> str:
    return f"{use.name} {use.arguments or msgspec.json.encode(use.input, order='sorted').decode()}"


def _joined(answers: Sequence[Message]) -> tuple[Message, ...]:
    """The tool results as the format requires: merged into one user message when they stand in user
    messages, otherwise one message each.
    """
    if not answers or answers[0].role != "user":
        return tuple(answers)
    return (msgspec.structs.replace(answers[0], blocks=tuple(block for answer in answers for block in answer.blocks)),)
