"""Stage one of one session: by a model if there is one and its budget allows, otherwise from
structure alone. Failures are always reported.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.context.rollback import find_rolled_back_spans
from memorist.core.messages import Message
from memorist.core.prompt_templates import load_prompt
from memorist.core.token_count import estimate_text_tokens, token_factor
from memorist.errors import BudgetSpent, ContextTooLong, ModelRefused, ModelUnavailable
from memorist.forks.fork import run_on_copy_with_budget
from memorist.forks.fork_spec import EditMethod, ForkOutcome, ForkSpec, NoTools, Receipt
from memorist.formats.format_detection import read_session
from memorist.formats.transcript_format import (
    RecordedLines,
    RepairedLine,
    SessionHead,
    TranscriptEntry,
    TurnRollback,
)
from memorist.models.server_location import is_near_model
from memorist.models.streaming_model import ErrorRecordingModel
from memorist.ports import Model, discover_window
from memorist.rollouts.raw_memory import RawMemory
from memorist.rollouts.session_evidence import (
    MIN_EVIDENCE_TOKENS,
    EvidenceRowBuilder,
    EvidenceRows,
    EvidenceTier,
    SelectedEvidence,
    calibrate_factor,
    evidence_token_budget,
    max_row_bytes,
    shrink_budget,
    split_turns,
    tokens_to_bytes,
)
from memorist.rollouts.stage_one_answer import (
    ANSWER_SCHEMA,
    MAX_TRIES,
    JudgedAnswer,
    JudgedSession,
    StageOneAnswer,
    UnusableAnswer,
    judge_answer,
    parse_answer,
)
from memorist.rollouts.stage_one_prompt import (
    StageOnePart,
    StageOnePrompts,
    build_part_instruction,
    render_part_material,
)
from memorist.rollouts.structural_stage_one import (
    StageOneResult,
    build_structural_result,
    to_rollout_extract,
)
from memorist.rollouts.task_log import TaskLogBuilder
from memorist.runtime import Runtime
from memorist.store.extract_rows import RolloutExtract
from memorist.store.rollout_rows import Rollout
from memorist.store.transcript_reader import LineFile

# Scan a session for stage one: what it proves, how it is split, and the evidence of each part.


class TranscriptPass(Struct, frozen=True):
    """The result of one pass: the task log, and the bytes of dialogue in each user turn."""

    task_log: TaskLogBuilder
    weights: list[int]


def scan_transcript(lines: RecordedLines, parent: RecordedLines | None = None) -> TranscriptPass:
    """Scan a session without what it copied of its `parent`. Raises UnreadableSession."""
    task_log, row_builder = TaskLogBuilder(), EvidenceRowBuilder()
    weights = [0]
    for entry in read_own_entries(lines, parent):
        task_log.add(entry)
        for row in row_builder.add(entry):
            if row.tier is EvidenceTier.USER and row_builder.turns > len(weights) - 1:
                weights.append(0)
            if row.tier <= EvidenceTier.COMMENTARY:
                weights[-1] += max_row_bytes(row)
    return TranscriptPass(task_log, weights)


def collect_evidence(
    lines: RecordedLines, weights: list[int], size: int, parent: RecordedLines | None = None
) -> list[EvidenceRows]:
    """Collect the rows of each part, where `size` is the bytes one part may show, without what was
    copied of the `parent`.

    Raises UnreadableSession.
    """
    ends, after = [], 0
    for turns in split_turns(weights, size):
        after += turns
        ends.append(after)
    found = [EvidenceRows(size) for _ in ends]
    row_builder, at = EvidenceRowBuilder(), 0
    for entry in read_own_entries(lines, parent):
        for row in row_builder.add(entry):
            # The turns before the first message of the user count as one.
            while (
                at < len(ends) - 1
                and row.tier is EvidenceTier.USER
                and row_builder.turns >= ends[at]
            ):
                at += 1
            found[at].add(row)
    for row in row_builder.finish():
        found[-1].add(row)
    return found


def read_own_entries(
    lines: RecordedLines, parent: RecordedLines | None
) -> Iterator[TranscriptEntry]:
    """Yield the entries of a session that are its own: a fork begins with a copy of the messages of
    its parent, which count there. Raises UnreadableSession.
    """
    entries = read_live_entries(lines)
    if parent is None:
        yield from entries
        return
    copied = (each for each in read_live_entries(parent) if isinstance(each, Message))
    is_copy = True
    for entry in entries:
        if is_copy and isinstance(entry, Message):
            other = next(copied, None)
            is_copy = other is not None and _is_same_message(entry, other)
        if not is_copy or isinstance(entry, SessionHead):
            yield entry


def _is_same_message(one: Message, other: Message) -> bool:
    return (one.role, one.blocks) == (other.role, other.blocks)


def read_live_entries(lines: RecordedLines) -> Iterator[TranscriptEntry]:
    """Yield the entries of a session without rolled-back turns (CX-7). Raises UnreadableSession."""
    entries = read_session(lines)
    head = next(entries, None)
    if head is not None:
        yield head
    if not (isinstance(head, SessionHead) and head.format == "memorist"):
        yield from entries  # the reader of any other format left them out
        return
    stretches = iter(
        find_rolled_back_spans(read_session(lines)) if _has_rollback_markers(lines) else ()
    )
    first, after = next(stretches, (-1, -1))
    number = 1
    for position, entry in enumerate(entries, 1):
        number += not isinstance(entry, RepairedLine)
        while 0 <= after <= position:
            first, after = next(stretches, (-1, -1))
        if not first <= position < after:
            # Its messages may tell the line of another file, which they were first read from.
            yield replace(entry, line=number) if isinstance(entry, Message) else entry


def _has_rollback_markers(lines: RecordedLines) -> bool:
    return any(isinstance(entry, TurnRollback) for entry in read_session(lines))


EXTRACTION_LABEL = "rollouts"
MAX_SHRINKS = 5
"""How often a request is shrunk because the model says it is too long."""
EARLIER_MEMORY_SHARE = 0.25
"""Share of the room that the results of earlier parts may take in a later one."""
OUTPUT_SHARE = 4
"""At most this fraction (1/n) of the window is reserved for the answer."""
EXTRACTION_REASON = "a finished session is to become memory"


async def extract_session(
    thread: Rollout, runtime: Runtime, *, final: bool = False, parent: Rollout | None = None
) -> RolloutExtract:
    """Extract a session; the result's `problem` says why a configured model did not produce it.
    What a fork copied of its `parent` is left to that.

    A session without any request is a no-op, and no model is asked. Raises UnreadableSession for a
    file that cannot be read, and ModelUnavailable if the model may answer another time and this is
    not the `final` attempt, which uses structure instead, or the session would be lost: BudgetSpent
    if
    it was not asked.
    """
    lines = LineFile(Path(thread.path))
    before = None if parent is None else LineFile(Path(parent.path))
    scanned = await asyncio.to_thread(scan_transcript, lines, before)
    proven = build_structural_result(scanned.task_log, thread)
    stage, problem, added = proven, "", 0
    ask_model = runtime.model is not None and scanned.task_log.has_exchange
    if runtime.model is not None and ask_model:
        await discover_window(runtime.model)
        found = await _ModelExtraction(thread, runtime, runtime.model, proven).run(
            lines, scanned, before
        )
        if isinstance(found, JudgedAnswer):
            stage, added = found.stage, found.added
            problem = "" if added else f"the model had nothing to add: {found.verdict}"
        elif found.is_retryable and not final:
            raise (BudgetSpent if found.is_over_budget else ModelUnavailable)(
                f"Stage one of session {thread.id}: {found.why}"
            )
        else:
            problem = found.why
    extracted = to_rollout_extract(stage, thread, now=runtime.clock.now())
    return replace(
        extracted,
        way="model" if added else "structural",
        problem=problem,
        outside=scanned.task_log.saw_outside_content,
        forked_from="" if parent is None else parent.id,
    )


class StageOneFailed(Struct, frozen=True):
    """The model produced nothing usable, and why.

    `is_retryable`: it may at another time; `is_over_budget`: it was not asked.
    """

    why: str
    is_retryable: bool = False
    is_over_budget: bool = False


def _is_answered(receipt: Receipt) -> bool:
    return receipt.outcome in (ForkOutcome.UNCHANGED, ForkOutcome.OVER_LIMIT)


class _ModelExtraction:
    """Extraction of one session by a model, in one part or several."""

    def __init__(
        self, thread: Rollout, runtime: Runtime, model: Model, proven: StageOneResult
    ) -> None:
        self._thread = thread
        self._runtime = runtime
        self._model = ErrorRecordingModel(model)
        self._proven = proven
        self._texts = StageOnePrompts(
            load_prompt("rollouts/stage_one"),
            load_prompt("rollouts/stage_one_part"),
            load_prompt("rollouts/stage_one_again"),
        )
        self._output = (
            min(runtime.settings.forks.output, model.window // OUTPUT_SHARE)
            if model.window
            else runtime.settings.forks.output
        )
        self._factor = token_factor(model.name)
        fixed = (
            estimate_text_tokens(
                self._texts.task + self._texts.part + self._texts.again, self._factor
            )
            + MIN_EVIDENCE_TOKENS
        )
        self._room = evidence_token_budget(model.window, reserved=self._output + fixed)

    async def run(
        self, lines: LineFile, scanned: TranscriptPass, before: LineFile | None
    ) -> JudgedAnswer | StageOneFailed:
        """Return the acceptable part of what the model makes of the session."""
        size = tokens_to_bytes(self._room, self._factor)
        parts = await asyncio.to_thread(collect_evidence, lines, scanned.weights, size, before)
        stage = JudgedAnswer(stage=StageOneResult(RawMemory()))
        for number, rows in enumerate(parts, 1):
            part = StageOnePart(
                evidence="", number=number, count=len(parts), before=stage.stage.raw_memory
            )
            found = await self._extract_part(part, rows)
            if isinstance(found, StageOneFailed):
                return found
            if found.added or number == 1:
                stage = found  # a part without anything new takes nothing back
        return stage

    async def _extract_part(
        self, part: StageOnePart, rows: EvidenceRows
    ) -> JudgedAnswer | StageOneFailed:
        """Extract one part: shrunk while it is too long, retried once if the answer is unusable."""
        tries = shrinks = 0
        room = self._room
        while True:
            before = part.before.encode()[
                : int(tokens_to_bytes(room, self._factor) * EARLIER_MEMORY_SHARE)
            ].decode("utf-8", "ignore")
            left = room - estimate_text_tokens(before, self._factor)
            chosen = rows.select(left, self._factor)
            if not chosen.shown_rows:
                return StageOneFailed("the model's window holds none of the session")
            asked = replace(part, evidence=chosen.text, before=before)
            receipt = await self._ask_model(asked)
            answer = parse_answer(receipt.said)
            judged = (
                await asyncio.to_thread(judge_answer, answer, self._judged_session(asked, chosen))
                if _is_answered(receipt) and isinstance(answer, StageOneAnswer)
                else None
            )
            self._record(receipt, answer, judged)
            if isinstance(self._model.error, ContextTooLong):
                shrinks += 1
                sent = estimate_text_tokens(chosen.text + before, self._factor)
                room = shrink_budget(room, sent, self._model.error)
                if shrinks > MAX_SHRINKS or room < MIN_EVIDENCE_TOKENS:
                    return StageOneFailed(
                        f"the session does not fit the model's window, however little of it is "
                        f"sent: {receipt.said}"
                    )
                continue
            if receipt.outcome is ForkOutcome.BLOCKED:
                return StageOneFailed(receipt.said, is_retryable=True, is_over_budget=True)
            if not _is_answered(receipt):
                return StageOneFailed(
                    receipt.said or "the model gave no answer",
                    is_retryable=not self._fails_again(receipt),
                )
            self._calibrate(asked)
            if judged is not None:
                return judged
            tries += 1
            why = answer.why if isinstance(answer, UnusableAnswer) else ""
            part = replace(part, why=why)
            if tries >= MAX_TRIES:
                return StageOneFailed(f"the model's answer was of no use {tries} times: {why}")

    def _fails_again(self, receipt: Receipt) -> bool:
        """Whether another attempt would end the same way: a refusal, or a near model that is too
        slow for the time limit.
        """
        too_slow = receipt.outcome is ForkOutcome.TIMED_OUT and is_near_model(self._model.name)
        return too_slow or isinstance(self._model.error, ModelRefused)

    def _judged_session(self, asked: StageOnePart, chosen: SelectedEvidence) -> JudgedSession:
        return JudgedSession(
            self._thread,
            self._proven,
            chosen.by_speaker,
            f"{chosen.text}\n{asked.before}\n{self._thread.cwd}\n{self._thread.branch}",
            self._texts.task,
        )

    def _record(
        self, receipt: Receipt, answer: StageOneAnswer | UnusableAnswer, judged: JudgedAnswer | None
    ) -> None:
        """Record the receipt with what became of the answer."""
        if receipt.outcome is ForkOutcome.BLOCKED:
            return
        if judged is not None:
            outcome = ForkOutcome.CHANGED if judged.added else ForkOutcome.UNCHANGED
            receipt = replace(receipt, outcome=outcome, said=judged.verdict)
        elif _is_answered(receipt) and isinstance(answer, UnusableAnswer):
            receipt = replace(receipt, said=f"The answer is of no use: {answer.why}")
        self._runtime.record_receipt(receipt)

    def _calibrate(self, asked: StageOnePart) -> None:
        """For later parts, trust the provider's token count over an estimate."""
        sent = build_part_instruction(self._texts, asked, self._thread) + render_part_material(
            asked
        )
        factor = calibrate_factor(
            self._factor,
            estimated=estimate_text_tokens(sent, self._factor),
            counted=self._model.counted,
        )
        self._factor = max(self._factor, factor)

    async def _ask_model(self, asked: StageOnePart) -> Receipt:
        self._model.error = None
        spec = ForkSpec(
            label=EXTRACTION_LABEL,
            why=EXTRACTION_REASON,
            instruction=build_part_instruction(self._texts, asked, self._thread),
            material=await asyncio.to_thread(render_part_material, asked),
            permission=NoTools(),
            limits=replace(self._runtime.settings.forks, turns=1, output=self._output),
            edit_method=EditMethod.ANSWER,
            schema=ANSWER_SCHEMA,
        )
        runtime = self._runtime
        return await run_on_copy_with_budget(
            spec,
            model=self._model,
            files=runtime.files,
            clock=runtime.clock,
            governor=runtime.governor,
            record=runtime.record_receipt,
        )
