"""Stage one of one session: by a model if there is one and its budget allows, otherwise from
structure alone. Failures are always reported.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.tokens import estimate_text, family_factor
from memorist.errors import BudgetSpent, ContextTooLong, ModelError, ModelRefused, ModelUnavailable
from memorist.forks.governed.run import run_governed
from memorist.forks.governor import Governor, Ungoverned
from memorist.forks.spec import EditWay, ForkLimits, ForkSpec, NoTools, Outcome, Receipt
from memorist.ports import Clock, Files, Model, Reply, Request
from memorist.prompts.load import load
from memorist.rollouts.evidence import SMALLEST, Rows, budget, limit_bytes, measured, shrunk
from memorist.rollouts.extraction.reading import Gone, evidence, gather
from memorist.rollouts.raw_memory import RawMemory
from memorist.rollouts.stage_one import SCHEMA, TRIES, Judged, Part, Texts, Unusable, instruction, judged, material, read
from memorist.rollouts.structural import Stage, extracted, structural
from memorist.store.lines import LineFile
from memorist.store.thread import Extracted, Thread

LABEL = "rollouts"
SHRINKS = 5
"""How often a request is shrunk because the model says it is too long."""
BEFORE_SHARE = 0.25
"""Share of the room that the results of earlier parts may take in a later one."""
OUTPUT_SHARE = 4
"""At most this fraction (1/n) of the window is reserved for the answer."""
WHY = "a finished session is to become memory"


class StageMeans(Struct, frozen=True, kw_only=True):
    """Dependencies of stage one."""

    files: Files
    clock: Clock
    model: Model | None = None
    """None uses structure alone."""
    limits: ForkLimits = ForkLimits()
    record: Callable[[Receipt], object] = lambda _: None
    """Stores a receipt, also of failed requests (FK-8)."""
    governor: Governor = Ungoverned()
    """Asked before each request whether its budget allows it."""
    final: bool = False
    """True uses structure even if the model is only unavailable: the attempts are used up, and the
    session must not be lost.
    """


async def extract(thread: Thread, means: StageMeans) -> Extracted:
    """Extract a session; the result's `problem` says why a configured model did not produce it.

    A session without any request is a no-op, and no model is asked. Raises UnreadableSession for a
    file that cannot be read, and ModelUnavailable if the model may answer another time and this is
    not the `final` attempt: BudgetSpent if it was not asked.
    """
    lines = LineFile(Path(thread.path))
    gone = await asyncio.to_thread(gather, lines)
    proven = structural(gone.deeds, thread)
    stage, problem = proven, ""
    if means.model is not None and not proven.memory.empty:
        found = await _Reading(thread, means, means.model, proven.memory).stage(lines, gone)
        if isinstance(found, Stage):
            stage = found
        elif found.later and not means.final:
            raise (BudgetSpent if found.blocked else ModelUnavailable)(f"Stage one of session {thread.id}: {found.why}")
        else:
            problem = found.why
    made = extracted(stage, thread, now=means.clock.now())
    by_model = means.model is not None and not problem and not proven.memory.empty
    return replace(made, way="model" if by_model else "structural", problem=problem, outside=gone.deeds.outside)


class GivenUp(Struct, frozen=True):
    """The model produced nothing usable, and why.

    `is_retryable`: it may at another time; `is_over_budget`: it was not asked.
    """

    why: str
    later: bool = False
    blocked: bool = False


class _Watched:
    """A model that also records the error of its last call, which a receipt only gives in words."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.error: ModelError | None = None
        self.counted = 0
        """Input tokens of the last call, as the provider counted them."""

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def format(self) -> str:
        return self._model.format

    @property
    def window(self) -> int:
        return self._model.window

    async def send(self, request: Request) -> Reply:
        self.error = None
        try:
            reply = await self._model.send(request)
        except ModelError as error:
            self.error = error
            raise
        self.counted = reply.usage.context - reply.usage.output
        return reply

    async def close(self) -> None:
        """Do nothing: the model is the caller's to close."""


class _Reading:
    """Extraction of one session by a model, in one part or several."""

    def __init__(self, thread: Thread, means: StageMeans, model: Model, known: RawMemory) -> None:
        self._thread = thread
        self._means = means
        self._model = _Watched(model)
        self._known = known
        self._texts = Texts(load("rollouts/stage_one"), load("rollouts/stage_one_part"), load("rollouts/stage_one_again"))
        self._output = min(means.limits.output, model.window // OUTPUT_SHARE) if model.window else means.limits.output
        self._factor = family_factor(model.name)
        fixed = estimate_text(self._texts.task + self._texts.part + self._texts.again, self._factor) + SMALLEST
        self._room = budget(model.window, reserved=self._output + fixed)

    async def stage(self, lines: LineFile, gone: Gone) -> Stage | GivenUp:
        """Return the acceptable part of what the model makes of the session."""
        size = limit_bytes(self._room, self._factor)
        parts = await asyncio.to_thread(evidence, lines, gone.weights, size)
        stage = Stage(RawMemory())
        for number, rows in enumerate(parts, 1):
            part = Part(evidence="", number=number, count=len(parts), before=stage.raw_memory)
            found = await self._part(part, rows)
            if isinstance(found, GivenUp):
                return found
            if not found.stage.memory.empty or number == 1:
                stage = found.stage  # a part without anything new takes nothing back
        return stage

    async def _part(self, part: Part, rows: Rows) -> Judged | GivenUp:
        """Extract one part: shrunk while it is too long, retried once if the answer is unusable."""
        tries = shrinks = 0
        room = self._room
        while True:
            before = part.before.encode()[: int(limit_bytes(room, self._factor) * BEFORE_SHARE)].decode("utf-8", "ignore")
            left = room - estimate_text(before, self._factor)
            chosen = rows.select(left, self._factor)
            if not chosen.shown:
                return GivenUp("the model's window holds none of the session")
            asked = replace(part, evidence=chosen.text, before=before)
            receipt = await self._ask(asked)
            if isinstance(self._model.error, ContextTooLong):
                shrinks += 1
                room = shrunk(room, str(self._model.error))
                if shrinks > SHRINKS or room < SMALLEST:
                    return GivenUp(f"the session does not fit the model's window, however little of it is sent: {receipt.said}")
                continue
            if receipt.outcome is Outcome.BLOCKED:
                return GivenUp(receipt.said, later=True, blocked=True)
            if receipt.outcome not in (Outcome.UNCHANGED, Outcome.OVER_LIMIT):
                return GivenUp(receipt.said or "the model gave no answer", later=not isinstance(self._model.error, ModelRefused))
            self._calibrate(asked)
            answer = read(receipt.said)
            if not isinstance(answer, Unusable):
                return await asyncio.to_thread(judged, answer, chosen.said, self._known, self._thread)
            tries += 1
            part = replace(part, why=answer.why)
            if tries >= TRIES:
                return GivenUp(f"the model's answer was of no use {tries} times: {answer.why}")

    def _calibrate(self, asked: Part) -> None:
        """For later parts, trust the provider's token count over an estimate."""
        sent = instruction(self._texts, asked, self._thread) + material(asked)
        factor = measured(self._factor, estimated=estimate_text(sent, self._factor), counted=self._model.counted)
        self._factor = max(self._factor, factor)

    async def _ask(self, asked: Part) -> Receipt:
        self._model.error = None
        spec = ForkSpec(
            label=LABEL,
            why=WHY,
            instruction=instruction(self._texts, asked, self._thread),
            digest=await asyncio.to_thread(material, asked),
            permission=NoTools(),
            limits=replace(self._means.limits, turns=1, output=self._output),
            edits=EditWay.ANSWER,
            schema=SCHEMA,
        )
        means = self._means
        return await run_governed(
            spec, model=self._model, files=means.files, clock=means.clock, governor=means.governor, record=means.record
        )
