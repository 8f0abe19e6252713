"""Running a fork: requests, tool calls, limits, and the receipt that every run leaves."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import cache

import msgspec
from msgspec import Struct

from memorist.core.leading_thought import strip_leading_thought
from memorist.core.messages import JsonObject, Message, ToolUse, Usage
from memorist.core.prompt_templates import load_prompt, render_template
from memorist.core.token_count import estimate_messages_tokens, estimate_text_tokens
from memorist.errors import MemoristError, ModelError, ModelTimeout, StoreError, WireFormatError
from memorist.forks.answer_form import FormTask, read_edits_from_form_answer
from memorist.forks.file_tool_calls import parse_tool_call
from memorist.forks.fork_request import (
    ForkPrompts,
    build_first_fork_request,
    cap_output_to_remaining_window,
    choose_edit_method,
    fit_spec_to_window,
    get_parent_usage_and_instruction,
    is_fork_request,
    is_parent_model,
    parse_name_from_model_string,
)
from memorist.forks.fork_spec import (
    EditMethod,
    ForkOutcome,
    ForkRequestMeasurements,
    ForkSpec,
    Receipt,
    count_budget_tokens,
    read_llama_timing_seconds,
)
from memorist.forks.text_edits import (
    ParsedAnswerEdits,
    parse_edit_elements,
    parse_edit_objects,
    parse_tool_calls_in_text,
)
from memorist.forks.tool_executor import ForkToolResult, ToolExecutor
from memorist.formats.codec_registry import find_codec
from memorist.formats.request_codec import (
    CUT_OFF_REASONS,
    INSTRUCTION_AND_TOOL_KEYS,
    REPEATED_REASON,
    Codec,
    is_custom_call,
)
from memorist.ports import Clock, FileSystem, Model, Reply, Request, discover_window
from memorist.safety.markup_sanitizer import neutralize_markup

# One call of a model, which may be a host's own object and then fail in any way.


async def send_with_uniform_model_errors(model: Model, request: Request) -> Reply:
    """As `Model.send`: raises a `ModelError`, also for any other exception of a host's own model,
    for an answer that is no `Reply`, and where the model cancelled itself. A cancellation from
    outside propagates.
    """
    try:
        reply: object = await model.send(request)
    except (MemoristError, TimeoutError):
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise ModelError(f"the model {model.name} cancelled its own call") from error
    except Exception as error:
        raise ModelError(
            f"the model {model.name} failed: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(reply, Reply):
        raise ModelError(
            f"the model {model.name} answered with {type(reply).__name__}, not with a "
            "memorist.ports.Reply"
        )
    return reply


_current_label: ContextVar[str] = ContextVar("memorist_fork", default="")
"""Label of the fork that the current task belongs to; child tasks inherit it."""


@cache
def load_fork_prompts() -> ForkPrompts:
    """Load the prompts of forks that ship with memorist."""
    return ForkPrompts(
        **{name: load_prompt(f"forks/{name}") for name in ForkPrompts.__struct_fields__}
    )


async def run_fork(
    spec: ForkSpec,
    *,
    model: Model,
    files: FileSystem,
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
    fork = _ForkRun(spec, model, files, clock, price=cost)
    nested = bool(_current_label.get())
    token = _current_label.set(spec.label)
    outcome = ForkOutcome.FAILED
    try:
        outcome = await fork.run(nested=nested)
    except asyncio.CancelledError:
        outcome = ForkOutcome.CANCELLED
        fork.statement = "It was cancelled."
        raise
    finally:
        _current_label.reset(token)
        receipt = fork.receipt(outcome)
        if record is not None:
            record(receipt)
    return receipt


def _estimate_unanswered_usage(codec: Codec, body: JsonObject, *, is_cached: bool) -> Usage:
    """What a request used that was ended, or broken off, while the provider worked on it: it is
    billed, and no reply tells how much. Its input as estimated, read from the cache where the
    parent's request begins it; what was written of the answer is not known.
    """
    fixed = [body[name] for name in INSTRUCTION_AND_TOOL_KEYS if body.get(name)]
    tokens = estimate_text_tokens(msgspec.json.encode(fixed).decode())
    with contextlib.suppress(WireFormatError):
        tokens += estimate_messages_tokens(codec.decode_request(body).messages)
    return Usage(cache_read=tokens) if is_cached else Usage(input=tokens)


class _ForkTurn(Struct, frozen=True, kw_only=True):
    """The result of one reply: tool results for the wire, edits that failed, and a key for each
    call with its result.
    """

    tool_results: tuple[Message, ...] = ()
    failures: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    """Files that the reply asked for in its text, as text."""
    keys: frozenset[tuple[str, str]] = frozenset()
    changed: bool = False
    succeeded: bool = True
    dropped: tuple[str, ...] = ()
    """What was left out of an answer whose other edits were made."""

    @property
    def is_final(self) -> bool:
        """Whether nothing has to be sent back to the model."""
        return not (self.tool_results or self.failures or self.shown)


class _ForkRun:
    """The state of one run: what it has used so far, and its tool executor."""

    def __init__(
        self,
        spec: ForkSpec,
        model: Model,
        files: FileSystem,
        clock: Clock,
        *,
        price: Callable[[Usage], float | None] | None,
    ) -> None:
        self._spec = spec
        self._model = model
        self._files = files
        self._clock = clock
        self._price = price
        self._started = clock.now()
        self._started_monotonic = clock.monotonic()
        self._requests = 0
        self._turns = 0
        self._usage = Usage()
        self._cost: float | None = 0.0
        self._sent: list[ForkRequestMeasurements] = []
        self._executor: ToolExecutor | None = None
        self.statement = "It ended by a defect of memorist."

    def receipt(self, outcome: ForkOutcome) -> Receipt:
        """The receipt of the run so far."""
        return Receipt(
            label=self._spec.label,
            why=self._spec.why,
            model=self._model.name,
            started=self._started,
            seconds=self._elapsed(),
            requests=self._requests,
            turns=self._turns,
            usage=self._usage,
            cost_usd=self._cost,
            files=self._executor.list_file_changes() if self._executor else (),
            denied=tuple(self._executor.denied) if self._executor else (),
            outcome=outcome,
            said=self._describe_end(),
            sent=tuple(self._sent),
        )

    def _describe_end(self) -> str:
        """The statement; with a word in front where an answer was a loop, unless the statement is
        the answer that was asked for.
        """
        looped = any(each.stop_reason == REPEATED_REASON for each in self._sent)
        if not looped or self._spec.edit_method is EditMethod.ANSWER:
            return self.statement
        return f"{_REPEATED_ITSELF} {self.statement}".strip()

    async def run(self, *, nested: bool) -> ForkOutcome:
        """Run to the end. Every expected way to end is an outcome."""
        spec = self._spec
        if spec.parent is not None and not is_parent_model(
            self._model.name, self._model.format, spec.parent
        ):
            if spec.history_summary is None and not spec.material:
                return self._fail(
                    "The model is another one than the parent's and needs a digest; none was given."
                )
            spec = msgspec.structs.replace(spec, parent=None)
        try:
            if nested or (
                spec.parent is not None
                and is_fork_request(find_codec(self._model.format), spec.parent.request.body)
            ):
                return self._fail("A fork may not fork.")
            executor = self._executor = ToolExecutor(spec.permission, self._files, spec.known_files)
            async with asyncio.timeout(max(0.0, spec.limits.seconds - self._elapsed())):
                spec = fit_spec_to_window(spec, await discover_window(self._model))
                stopped = await self._converse(spec, executor)
        except (TimeoutError, ModelTimeout):
            self.statement = f"It took longer than {spec.limits.seconds:g} seconds (forks.seconds)."
            return ForkOutcome.TIMED_OUT
        except (ModelError, WireFormatError, StoreError) as problem:
            return self._fail(str(problem))
        return stopped or (
            ForkOutcome.CHANGED if executor.list_file_changes() else ForkOutcome.UNCHANGED
        )

    def _fail(self, why: str) -> ForkOutcome:
        self.statement = why
        return ForkOutcome.FAILED

    def _elapsed(self) -> float:
        return self._clock.monotonic() - self._started_monotonic

    async def _converse(self, spec: ForkSpec, executor: ToolExecutor) -> ForkOutcome | None:
        """Send requests and tool results until the model is done (None) or must be stopped."""
        wire = find_codec(self._model.format)
        texts = load_fork_prompts()
        way = choose_edit_method(spec, wire)
        first = build_first_fork_request(
            spec, way, texts, codec=wire, model=parse_name_from_model_string(self._model.name)
        )
        seen: Counter[tuple[str, str]] = Counter()
        body = (
            self._fit_turn(first, *get_parent_usage_and_instruction(spec, first, wire))
            if spec.parent
            else first
        )
        problem = ""
        while body is not None:
            over = self._reached_limit(spec)
            if over:
                self.statement = f"{over} {problem}".strip()
                late = over.startswith(_TIME_USED_UP)
                return ForkOutcome.TIMED_OUT if late else ForkOutcome.OVER_LIMIT
            reply = await self._send(spec, body)
            turn = await _apply_reply(reply, way, spec.form, executor, wire)
            dropped = [f"(Dropped: {each}.)" for each in turn.dropped]
            # The object of a form says little to a reader: what became of it comes first.
            as_form = way is EditMethod.FORM
            parts = (*dropped, self.statement) if as_form else (self.statement, *dropped)
            self.statement = "\n".join(parts)
            seen.update(turn.keys)
            if turn.is_final or (spec.one_round and turn.changed and turn.succeeded):
                return None
            if max(seen.values(), default=0) >= spec.limits.repeats:
                self.statement = " ".join(
                    (
                        f"It made the same call {spec.limits.repeats} times with the same result.",
                        *turn.failures[:1],
                    )
                )
                # Each caller judges what was written before, also beside edits that never applied.
                return (
                    None if turn.failures and executor.list_file_changes() else ForkOutcome.LOOPED
                )
            problem = next(iter(turn.failures), "")
            report = _render_report(turn, texts)
            tail = (
                wire.build_user_messages(report, turn.tool_results)
                if report
                else _merge_results(turn.tool_results)
            )
            body = self._fit_turn(
                wire.append_reply_and_messages(body, reply.body, tail), reply.usage, tail
            )
        return ForkOutcome.OVER_LIMIT

    def _fit_turn(
        self, body: JsonObject, usage: Usage, tail: Sequence[Message]
    ) -> JsonObject | None:
        """The request as the window holds it; None, with the reason stated, where it does not."""
        window = self._model.window
        fitted = cap_output_to_remaining_window(body, tail, usage, window)
        if fitted is None:
            self.statement = (
                f"Its next turn would not fit into the window of {window:,} tokens (models.window)."
            )
        return fitted

    def _reached_limit(self, spec: ForkSpec) -> str:
        """The message of the first limit that forbids another request; empty when none does."""
        limits = spec.limits
        checks = (
            (
                self._turns >= limits.turns,
                f"Its {limits.turns} turns were used up before it was done.",
            ),
            (
                self._requests >= limits.requests,
                f"Its {limits.requests} requests were used up before it was done.",
            ),
            (
                count_budget_tokens(self._usage) >= limits.tokens,
                f"Its {limits.tokens:,} tokens were used up before it was done.",
            ),
            (
                (self._cost or 0.0) >= limits.cost_usd,
                f"Its {limits.cost_usd:.2f} dollars were used up before it was done.",
            ),
            (self._elapsed() >= limits.seconds, _TIME_USED_UP),
        )
        why = next((why for reached, why in checks if reached), "")
        stopped = self._sent[-1].stop_reason if why and self._sent else ""
        if stopped in CUT_OFF_REASONS and stopped != REPEATED_REASON:
            return f"{why} Its last answer was cut off at its output limit (forks.output)."
        return why

    def _add_usage(self, usage: Usage, cost_usd: float | None) -> float | None:
        """Add what a request used to the run's totals; returns its price, as the model gave it or
        by the price table.
        """
        self._usage += usage
        price = cost_usd if cost_usd is not None or self._price is None else self._price(usage)
        self._cost = None if price is None or self._cost is None else self._cost + price
        return price

    def _add_unanswered_usage(
        self, spec: ForkSpec, body: JsonObject, count: int
    ) -> tuple[Usage, float | None]:
        """Add what so many requests used that were ended or broken off, as estimated; returns it,
        with its price.
        """
        used = Usage()
        if not count:
            return used, None
        codec = find_codec(self._model.format)
        once = _estimate_unanswered_usage(codec, body, is_cached=spec.parent is not None)
        for _ in range(count):
            used += once
        return used, self._add_usage(used, None)

    async def _send(self, spec: ForkSpec, body: JsonObject) -> Reply:
        self._requests += 1
        before = self._elapsed()
        began = self._started + before
        left = max(0.001, spec.limits.seconds - before)
        try:
            reply = await send_with_uniform_model_errors(
                self._model,
                Request(
                    format=self._model.format, body=body, label=spec.label, timeout_seconds=left
                ),
            )
        except BaseException as problem:  # recorded in the receipt and raised again
            self._requests += problem.attempts - 1 if isinstance(problem, ModelError) else 0
            ended = self._elapsed()
            late = isinstance(problem, asyncio.CancelledError) and ended >= spec.limits.seconds
            error = TimeoutError.__name__ if late else type(problem).__name__
            is_ended = isinstance(problem, ModelTimeout | TimeoutError | asyncio.CancelledError)
            broken_off = problem.broken_off if isinstance(problem, ModelError) else 0
            usage, price = self._add_unanswered_usage(spec, body, broken_off + is_ended)
            self._sent.append(
                ForkRequestMeasurements(
                    started=began, seconds=ended - before, error=error, usage=usage, cost_usd=price
                )
            )
            raise
        self._requests += reply.attempts - 1
        self._turns += 1
        lost, lost_price = self._add_unanswered_usage(spec, body, reply.broken_off)
        price = self._add_usage(reply.usage, reply.cost_usd)
        if price is not None and lost_price is not None:
            price += lost_price
        read_seconds, write_seconds = read_llama_timing_seconds(reply.body)
        self._sent.append(
            ForkRequestMeasurements(
                started=began,
                read_seconds=read_seconds,
                write_seconds=write_seconds,
                seconds=self._elapsed() - before,
                attempts=reply.attempts,
                usage=lost + reply.usage,
                cost_usd=price,
                stop_reason=(reply.stop_reason or "")[:100],
            )
        )
        self.statement = _reply_text(reply)
        return reply


_REPEATED_ITSELF = "It repeated itself without end and was stopped; what stood before that counts."
_TIME_USED_UP = "Its time was used up before it was done."


async def _apply_reply(
    reply: Reply, way: EditMethod, form: FormTask | None, executor: ToolExecutor, wire: Codec
) -> _ForkTurn:
    """Carry out what the reply asks for: its tool calls first, then the edits in its text."""
    answers: list[Message] = []
    results: list[ForkToolResult] = []
    keys: set[tuple[str, str]] = set()
    for message in reply.messages:
        for use in message.tool_uses:
            result = await executor.execute(parse_tool_call(use))
            results.append(result)
            keys.add((_call_key(use), result.text))
            answers.append(
                wire.build_tool_result_message(
                    use.id,
                    result.text,
                    is_error=result.is_error,
                    custom=is_custom_call(use, message.wire),
                )
            )
    edits = _parse_text_edits(reply, way, form, expected=not answers)
    failures = list(edits.problems)
    for call in edits.calls:
        result = await executor.execute(call)
        results.append(result)
        if result.is_error:
            failures.append(f"{call.path}: {result.text}")
    shown = [(call.path, await executor.execute(call)) for call in edits.reads if not edits.calls]
    keys |= {("read", f"{path} {result.text}") for path, result in shown}
    keys |= {("edit", failure) for failure in failures}
    return _ForkTurn(
        tool_results=tuple(answers),
        failures=tuple(failures),
        shown=tuple(_render_read_file(path, result) for path, result in shown),
        keys=frozenset(keys),
        changed=any(result.wrote_file for result in results),
        succeeded=not failures and not any(result.is_error for result in results),
        dropped=edits.dropped,
    )


def _render_read_file(path: str, result: ForkToolResult) -> str:
    """A file as data that no text inside can end."""
    text = neutralize_markup(result.text, ("file",))
    return f'<file path="{path}">\n{text}\n</file>'


def _render_report(turn: _ForkTurn, texts: ForkPrompts) -> str:
    """What is told of edits in the text that could not be made, and the files that were asked for;
    empty where there is neither.
    """
    problems = "\n".join(f"- {failure}" for failure in turn.failures)
    report = render_template(texts.report, {"problems": problems}, strict=True).strip()
    return "\n\n".join(([report] if turn.failures else []) + list(turn.shown))


def _parse_text_edits(
    reply: Reply, way: EditMethod, form: FormTask | None, *, expected: bool
) -> ParsedAnswerEdits:
    """The edits in the reply's text. An answer to a form is always expected, except beside tool
    calls. A small model that has tools often writes its edits as text all the same, and many a
    server passes its calls on as text: they count, and what is wrong with them is told where it
    called no tool.
    """
    text = _reply_text(reply)
    edits = parse_edit_elements(text)
    match way:
        case EditMethod.FORM if form is not None and (expected or text.strip()):
            return read_edits_from_form_answer(form, text)
        case EditMethod.TEXT | EditMethod.TOOLS:
            if not (edits.calls or edits.reads or edits.problems):
                edits = parse_tool_calls_in_text(text)
            if not (edits.calls or edits.reads or edits.problems):
                edits = parse_edit_objects(text)
            tolerant = way is EditMethod.TOOLS and not expected
            return ParsedAnswerEdits(edits.calls) if tolerant else edits
        case _:
            return ParsedAnswerEdits(())


def _reply_text(reply: Reply) -> str:
    """What the model says, without what it thought: an edit that it only weighed is none."""
    return strip_leading_thought(
        "\n".join(
            message.text
            for message in reply.messages
            if message.role == "assistant" and message.text
        )
    )


def _call_key(use: ToolUse) -> str:
    return f"{use.name} {use.arguments or msgspec.json.encode(use.input, order='sorted').decode()}"


def _merge_results(answers: Sequence[Message]) -> tuple[Message, ...]:
    """The tool results as the format requires: merged into one user message when they are in user
    messages, otherwise one message each.
    """
    if not answers or answers[0].role != "user":
        return tuple(answers)
    return (
        msgspec.structs.replace(
            answers[0], blocks=tuple(block for answer in answers for block in answer.blocks)
        ),
    )


# Starting forks within the budget: the one place where subsystems start them, after asking the
# governor.
