"""One run for the forks of a session that are due at the same time: a model on this machine reads
the conversation once for all of them, and its server is not asked three times.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from functools import partial

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.core.messages import JsonObject, Usage
from memorist.core.prompt_templates import load_prompt, render_template
from memorist.errors import StoreError
from memorist.forks.answer_form import FormTask, read_edits_from_answer_object
from memorist.forks.fork_spec import ForkOutcome, ForkSpec, ForkStart, NoToolsPermission, Receipt
from memorist.forks.text_edits import ParsedAnswerEdits
from memorist.forks.tool_executor import ToolExecutor
from memorist.formats.request_codec import CUT_OFF_REASONS
from memorist.ports import Clock, FileSystem, Model

GATHER_SECONDS = 0.5
"""How long the first fork waits for others. Our choice: what a turn's end makes due begins within
it, and a model on this machine takes a hundred times as long.
"""


class _JoinedFork(Struct, frozen=True):
    """One of the forks that run together, with its form and the files that it may change."""

    spec: ForkSpec
    form: FormTask
    files: FileSystem
    result: asyncio.Future[Receipt]


class _JoinedRun:
    """Forks that gather for one request, and the receipt of what it used, until one of them has
    recorded that.
    """

    def __init__(self) -> None:
        self.forks: list[_JoinedFork] = []
        self.used: list[Receipt] = []
        self.task: asyncio.Task[None] | None = None
        """Asks the model, once they have gathered."""

    async def wait_if_nobody_else_does(self) -> None:
        """Wait for the end of the request, whose use is known then, where no fork is left that
        waits for its result.
        """
        if self.task is not None and all(each.result.done() for each in self.forks):
            await asyncio.wait({self.task})

    def take_used(self) -> Receipt | None:
        """The receipt of what the request used; None before its end, and where a fork has it."""
        return self.used.pop() if self.used else None


class JoinedForkRunner:
    """Runs the forks of one session: those that wait for the same answer of the same conversation
    in one request.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: dict[int, _JoinedRun] = {}

    async def run(
        self,
        spec: ForkSpec,
        *,
        model: Model,
        files: FileSystem,
        record: Callable[[Receipt], object],
        start: ForkStart,
    ) -> Receipt:
        """Run the fork to its end by `start`, with others or alone, and return its own receipt.
        What the run took is in the receipt of the first; `record` is as for `run_fork`.
        """
        key = id(spec.parent.reply or spec.parent.request.body) if spec.parent else 0
        joined = self._waiting.get(key) or _JoinedRun()
        if (
            spec.form is None
            or spec.requested_by_user
            or any(each.spec.label == spec.label for each in joined.forks)
        ):
            return await start(spec, model=model, files=files, record=record)
        result: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        joined.forks.append(_JoinedFork(spec, spec.form, files, result))
        if joined.task is None:
            self._waiting[key] = joined
            joined.task = asyncio.create_task(self._gather(key, joined, model, start))
        try:
            receipt = await result
        except BaseException as error:  # recorded in the receipt and raised again
            if self._waiting.get(key) is not joined:
                await joined.wait_if_nobody_else_does()
            is_cancelled = isinstance(error, asyncio.CancelledError)
            record(
                replace(
                    joined.take_used() or _own_receipt(spec, model.name, self._clock.now()),
                    label=spec.label,
                    why=spec.why,
                    files=(),
                    denied=(),
                    outcome=ForkOutcome.CANCELLED if is_cancelled else ForkOutcome.FAILED,
                    said="It was cancelled." if is_cancelled else str(error),
                )
            )
            raise
        record(receipt)
        return receipt

    async def _gather(self, key: int, whole: _JoinedRun, model: Model, start: ForkStart) -> None:
        await self._clock.sleep(GATHER_SECONDS)
        del self._waiting[key]
        joined = [each for each in whole.forks if not each.result.done()]
        if not joined:
            return
        start = partial(start, record=whole.used.append)
        run = asyncio.create_task(_run_joined(joined, model, start))
        for each in joined:
            each.result.add_done_callback(
                lambda _: run.cancel() if all(one.result.cancelled() for one in joined) else None
            )
        try:
            await asyncio.wait({run})
        finally:
            run.cancel()
        error = None if run.cancelled() else run.exception()
        for number, each in enumerate(joined):
            if each.result.done():
                continue
            if run.cancelled():
                each.result.cancel()
            elif error is not None:
                each.result.set_exception(error)
            else:
                whole.used.clear()
                each.result.set_result(run.result()[number])


async def _run_joined(
    joined: Sequence[_JoinedFork], model: Model, start: ForkStart
) -> list[Receipt]:
    """Ask for all of them at once; each one's edits are made under its own permission."""
    if len(joined) == 1:
        (alone,) = joined
        return [await start(alone.spec, model=model, files=alone.files)]
    answers: list[JsonObject] = []
    spec = join_fork_specs([each.spec for each in joined], answers.append)
    whole = await start(spec, model=model, files=joined[0].files)
    answer = answers[-1] if answers and whole.outcome is ForkOutcome.UNCHANGED else None
    is_cut = bool(whole.sent) and whole.sent[-1].stop_reason in CUT_OFF_REASONS
    receipts = []
    rest = replace(whole, requests=0, usage=Usage(), cost_usd=0.0, seconds=0.0, sent=())
    first = next((each for each in joined if not each.result.done()), None)
    for each in joined:
        receipt = whole if each is first else rest
        if each.result.done():  # it was cancelled meanwhile
            receipts.append(receipt)
            continue
        receipt = replace(receipt, label=each.spec.label, why=each.spec.why, files=(), denied=())
        if answer is not None and is_cut and not answer.get(each.spec.label):
            receipt = replace(receipt, said=_CUT_BEFORE)
        elif answer is not None:
            receipt = await _make_edits(each, answer, receipt)
        receipts.append(receipt)
    return receipts


_CUT_BEFORE = "The answer was cut off at its output limit (forks.output) before it came to this."


async def _make_edits(each: _JoinedFork, answer: JsonObject, receipt: Receipt) -> Receipt:
    """Make the edits of one fork's part of the answer."""
    given = answer.get(each.spec.label)
    given = given if isinstance(given, dict) else {"entries": given} if given else {}
    edits = read_edits_from_answer_object(each.form, given)
    problems = [*edits.problems, *edits.dropped]
    try:
        executor = ToolExecutor(each.spec.permission, each.files, each.spec.known_files)
        for call in edits.calls:
            outcome = await executor.execute(call)
            problems += [f"{call.path}: {outcome.text}"] if outcome.is_error else []
        files = executor.list_file_changes()
    except StoreError as error:
        return replace(receipt, outcome=ForkOutcome.FAILED, said=str(error))
    return replace(
        receipt,
        outcome=ForkOutcome.CHANGED if files else ForkOutcome.UNCHANGED,
        files=files,
        denied=tuple(executor.denied),
        said="\n".join(problems) or msgspec.json.encode({each.spec.label: given}).decode(),
    )


def join_fork_specs(
    specs: Sequence[ForkSpec], on_answer: Callable[[JsonObject], object]
) -> ForkSpec:
    """One fork for several with a form each; `on_answer` is told the answer, which has a key for
    each label.
    """
    forms = {spec.label: spec.form for spec in specs if spec.form is not None}
    tasks = "\n\n".join(f"`{label}`: {form.instruction.strip()}" for label, form in forms.items())

    def read(answer: JsonObject) -> ParsedAnswerEdits:
        on_answer(answer)
        return ParsedAnswerEdits(())

    return replace(
        specs[0],
        why="; ".join(spec.why for spec in specs),
        permission=NoToolsPermission(),
        known_files=(),
        history_summary=merge_history_summaries([each.history_summary or "" for each in specs])
        or None,
        form=FormTask(
            instruction=render_template(load_prompt("forks/joint"), {"tasks": tasks}, strict=True),
            material="\n\n".join(
                f"`{label}`: {form.material}" for label, form in forms.items() if form.material
            ),
            schema={
                "type": "object",
                "properties": {label: form.schema for label, form in forms.items()},
                "required": list(forms),
                "additionalProperties": False,
            },
            read=read,
        ),
    )


_SPEAKER = re.compile(r"\n\n(?=\[\w+\]\n)")


def merge_history_summaries(summaries: Sequence[str]) -> str:
    """One summary of a conversation from several of it: the longest, with what only another holds
    before it.
    """
    longest = max(summaries, key=len)
    missing = []
    for summary in summaries:
        for piece in _SPEAKER.split(summary):
            lines = [line for line in piece.split("\n") if not line.startswith("(calls ")]
            if (text := "\n".join(lines).strip()) and text not in longest:
                missing.append(piece.strip())
    return "\n\n".join((*dict.fromkeys(missing), longest))


def _own_receipt(spec: ForkSpec, model: str, now: float) -> Receipt:
    return Receipt(
        label=spec.label, why=spec.why, model=model, started=now, outcome=ForkOutcome.FAILED
    )
