"""One run for the forks of a session that are due at the same time: a model on this machine reads
the conversation once for all of them, and its server is not asked three times.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.core.messages import JsonObject, Usage
from memorist.core.prompt_templates import load_prompt, render_template
from memorist.errors import StoreError
from memorist.forks.answer_form import FormTask, read_edits_from_answer_object
from memorist.forks.fork_spec import ForkOutcome, ForkSpec, ForkStart, NoToolsPermission, Receipt
from memorist.forks.text_edits import TextEdits
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


class JoinedForkRunner:
    """Runs the forks of one session: those that wait for the same answer of the same conversation
    in one request.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: dict[int, list[_JoinedFork]] = {}
        self._runs: set[asyncio.Task[None]] = set()

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
        waiting = self._waiting.get(key, [])
        if (
            spec.form is None
            or spec.requested_by_user
            or any(each.spec.label == spec.label for each in waiting)
        ):
            return await start(spec, model=model, files=files, record=record)
        result: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        if not waiting:
            self._waiting[key] = waiting
            run = asyncio.create_task(self._gather(key, model, start))
            self._runs.add(run)
            run.add_done_callback(self._runs.discard)
        waiting.append(_JoinedFork(spec, spec.form, files, result))
        try:
            receipt = await result
        except asyncio.CancelledError:
            cancelled = _own_receipt(spec, model.name, self._clock.now())
            record(replace(cancelled, outcome=ForkOutcome.CANCELLED, said="It was cancelled."))
            raise
        record(receipt)
        return receipt

    async def _gather(self, key: int, model: Model, start: ForkStart) -> None:
        await self._clock.sleep(GATHER_SECONDS)
        joined = [each for each in self._waiting.pop(key) if not each.result.done()]
        if not joined:
            return
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
    for number, each in enumerate(joined):
        receipt = whole if number == 0 else replace(
            whole, requests=0, usage=Usage(), cost_usd=0.0, seconds=0.0, sent=()
        )  # fmt: skip
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

    def read(answer: JsonObject) -> TextEdits:
        on_answer(answer)
        return TextEdits(())

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
