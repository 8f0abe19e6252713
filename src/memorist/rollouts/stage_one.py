"""Stage one of one session: by a model if there is one and its budget allows, otherwise from
structure alone. Failures are always reported.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.prompt_templates import load_prompt, render_template
from memorist.core.token_count import estimate_text_tokens, get_token_factor
from memorist.errors import BudgetSpent, ContextTooLong, ModelRequestRejected, ModelUnavailable
from memorist.forks.fork_spec import EditMethod, ForkOutcome, ForkSpec, NoToolsPermission, Receipt
from memorist.models.own_network_servers import is_model_on_own_network
from memorist.models.streaming_model import ErrorRecordingModel
from memorist.ports import Model, discover_window
from memorist.rollouts.raw_memory import UNKNOWN_FOLDER, RawMemory, clean_raw_memory_line
from memorist.rollouts.session_evidence import (
    MIN_EVIDENCE_TOKENS,
    EvidenceBySpeaker,
    EvidenceRowBuffer,
    calibrate_token_estimate_factor,
    compute_evidence_token_budget,
    convert_tokens_to_bytes,
    shrink_evidence_budget,
)
from memorist.rollouts.stage_one_answer import (
    ANSWER_SCHEMA,
    MAX_ANSWERS,
    StageOneAnswer,
    UnusableStageOneAnswer,
    parse_stage_one_answer,
)
from memorist.rollouts.stage_one_review import (
    AnswerReviewBasis,
    MergedStageOneResult,
    merge_model_answer_with_proven,
)
from memorist.rollouts.stage_one_session_scan import (
    TaskLogAndTurnSizes,
    collect_evidence_rows_per_part,
    read_task_log_and_turn_sizes,
)
from memorist.rollouts.structural_stage_one import (
    StageOneResult,
    build_structural_result,
    to_rollout_extract,
)
from memorist.runtime import Runtime
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.safety.secrets import redact
from memorist.store.extract_rows import RolloutExtract
from memorist.store.rollout_rows import OTHERS_SOURCE, Rollout
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.transcript_analysis.outcome_claims import OutcomeClaimCheck

EXTRACTION_LABEL = "rollouts"


MAX_SHRINKS = 5
"""How often a request is shrunk because the model says it is too long."""


EARLIER_MEMORY_SHARE = 0.25
"""Share of the room that the results of earlier parts may take in a later one."""


OUTPUT_WINDOW_DIVISOR = 4
"""At most this fraction (1/n) of the window is reserved for the answer."""


EXTRACTION_REASON = "a finished session is to become memory"


async def extract_session_with_model_or_structure(
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
    lines = UnpackedUtf8Lines(Path(thread.path))
    before = None if parent is None else UnpackedUtf8Lines(Path(parent.path))
    scanned = await asyncio.to_thread(
        read_task_log_and_turn_sizes, lines, before, is_users=thread.source != OTHERS_SOURCE
    )
    proven = build_structural_result(scanned.task_log, thread)
    stage, problem, added = proven, "", 0
    ask_model = runtime.model is not None and scanned.task_log.has_exchange
    if runtime.model is not None and ask_model:
        await discover_window(runtime.model)
        outcomes = OutcomeClaimCheck(scanned.task_log.ledger.work_record)
        found = await _ModelExtraction(thread, runtime, runtime.model, proven, outcomes).run(
            lines, scanned, before
        )
        if isinstance(found, MergedStageOneResult):
            stage, added = found.stage, found.added
            problem = "" if added else f"the model had nothing to add: {found.receipt_line}"
        elif found.is_retryable and not final:
            raise (BudgetSpent if found.is_over_budget else ModelUnavailable)(
                f"Stage one of session {thread.id}: {found.why}"
            )
        else:
            problem = found.why
            if found.so_far is not None:  # what was paid for and stands
                stage, added = found.so_far.stage, found.so_far.added
    extracted = to_rollout_extract(stage, thread, now=runtime.clock.now())
    return replace(
        extracted,
        way="model" if added else "structural",
        problem=problem,
        outside=scanned.task_log.saw_outside_content,
        forked_from="" if parent is None else parent.id,
    )


class ExtractionModelFailure(Struct, frozen=True):
    """The model produced nothing usable, and why.

    `is_retryable`: it may at another time; `is_over_budget`: it was not asked.
    """

    why: str
    is_retryable: bool = False
    is_over_budget: bool = False
    so_far: MergedStageOneResult | None = None
    """What the parts before the one that failed gave; None for nothing."""


def _is_answered(receipt: Receipt) -> bool:
    return receipt.outcome in (ForkOutcome.UNCHANGED, ForkOutcome.OVER_LIMIT)


class _ModelExtraction:
    """Extraction of one session by a model, in one part or several."""

    def __init__(
        self,
        thread: Rollout,
        runtime: Runtime,
        model: Model,
        proven: StageOneResult,
        outcomes: OutcomeClaimCheck,
    ) -> None:
        self._thread = thread
        self._outcomes = outcomes
        self._runtime = runtime
        self._model = ErrorRecordingModel(model)
        self._proven = proven
        self._texts = StageOnePrompts(
            load_prompt("rollouts/stage_one"),
            load_prompt("rollouts/stage_one_part"),
            load_prompt("rollouts/stage_one_again"),
        )
        wanted = runtime.settings.forks.output
        self._output = min(
            wanted,
            runtime.settings.models.max_output or wanted,
            model.window // OUTPUT_WINDOW_DIVISOR or wanted,
        )
        self._factor = get_token_factor(model.name)
        fixed = (
            estimate_text_tokens(
                self._texts.task + self._texts.part + self._texts.again, self._factor
            )
            + MIN_EVIDENCE_TOKENS
        )
        self._room = compute_evidence_token_budget(model.window, reserved=self._output + fixed)

    async def run(
        self,
        lines: UnpackedUtf8Lines,
        scanned: TaskLogAndTurnSizes,
        before: UnpackedUtf8Lines | None,
    ) -> MergedStageOneResult | ExtractionModelFailure:
        """Return the acceptable part of what the model makes of the session."""
        size = convert_tokens_to_bytes(self._room, self._factor)
        parts = await asyncio.to_thread(
            collect_evidence_rows_per_part,
            lines,
            scanned.weights,
            size,
            before,
            is_users=self._thread.source != OTHERS_SOURCE,
        )
        stage = MergedStageOneResult(stage=StageOneResult(RawMemory()))
        for number, rows in enumerate(parts, 1):
            part = ExtractionRequestPart(
                evidence="", number=number, count=len(parts), before=stage.stage.raw_memory
            )
            found = await self._extract_part(part, rows)
            if isinstance(found, ExtractionModelFailure):
                return replace(found, so_far=stage) if stage.added else found
            if found.added or number == 1:
                stage = found  # a part without anything new takes nothing back
        return stage

    async def _extract_part(
        self, part: ExtractionRequestPart, rows: EvidenceRowBuffer
    ) -> MergedStageOneResult | ExtractionModelFailure:
        """Extract one part: shrunk while it is too long, retried once if the answer is unusable."""
        tries = shrinks = 0
        room = self._room
        while True:
            before = part.before.encode()[
                : int(convert_tokens_to_bytes(room, self._factor) * EARLIER_MEMORY_SHARE)
            ].decode("utf-8", "ignore")
            left = room - estimate_text_tokens(before, self._factor)
            chosen = rows.select_rows_to_fit(left, self._factor)
            if not chosen.shown_rows:
                return ExtractionModelFailure("the model's window holds none of the session")
            asked = replace(part, evidence=chosen.text, before=before)
            receipt = await self._ask_model(asked)
            answer = parse_stage_one_answer(receipt.said)
            with self._runtime.record_receipt_if_review_fails(receipt):
                judged = (
                    await asyncio.to_thread(
                        merge_model_answer_with_proven, answer, self._judged_session(asked, chosen)
                    )
                    if _is_answered(receipt) and isinstance(answer, StageOneAnswer)
                    else None
                )
            self._record(receipt, answer, judged)
            if isinstance(self._model.error, ContextTooLong):
                shrinks += 1
                sent = estimate_text_tokens(chosen.text + before, self._factor)
                room = shrink_evidence_budget(room, sent, self._model.error)
                if shrinks > MAX_SHRINKS or room < MIN_EVIDENCE_TOKENS:
                    return ExtractionModelFailure(
                        f"the session does not fit the model's window, however little of it is "
                        f"sent: {receipt.said}"
                    )
                continue
            if receipt.outcome is ForkOutcome.BLOCKED:
                return ExtractionModelFailure(receipt.said, is_retryable=True, is_over_budget=True)
            if not _is_answered(receipt):
                return ExtractionModelFailure(
                    receipt.said or "the model gave no answer",
                    is_retryable=not self._fails_again(receipt),
                )
            self._calibrate(asked)
            if judged is not None:
                return judged
            tries += 1
            why = answer.why if isinstance(answer, UnusableStageOneAnswer) else ""
            part = replace(part, why=why)
            if tries >= MAX_ANSWERS:
                return ExtractionModelFailure(
                    f"the model's answer was of no use {tries} times: {why}"
                )

    def _fails_again(self, receipt: Receipt) -> bool:
        """Whether another attempt would end the same way: a refusal, or a near model that is too
        slow for the time limit.
        """
        too_slow = receipt.outcome is ForkOutcome.TIMED_OUT and is_model_on_own_network(
            self._model.name
        )
        return too_slow or isinstance(self._model.error, ModelRequestRejected)

    def _judged_session(
        self, asked: ExtractionRequestPart, chosen: EvidenceBySpeaker
    ) -> AnswerReviewBasis:
        return AnswerReviewBasis(
            self._thread,
            self._proven,
            chosen.by_speaker,
            f"{chosen.text}\n{asked.before}\n{self._thread.cwd}\n{self._thread.branch}",
            self._texts.task,
            self._outcomes.find_contradiction,
            chosen.typed,
        )

    def _record(
        self,
        receipt: Receipt,
        answer: StageOneAnswer | UnusableStageOneAnswer,
        judged: MergedStageOneResult | None,
    ) -> None:
        """Record the receipt with what became of the answer."""
        if receipt.outcome is ForkOutcome.BLOCKED:
            return
        if judged is not None:
            outcome = ForkOutcome.CHANGED if judged.added else ForkOutcome.UNCHANGED
            receipt = replace(receipt, outcome=outcome, said=judged.receipt_line)
        elif _is_answered(receipt) and isinstance(answer, UnusableStageOneAnswer):
            receipt = replace(receipt, said=f"The answer is of no use: {answer.why}")
        self._runtime.record_receipt(receipt)

    def _instruct(self, asked: ExtractionRequestPart) -> str:
        return build_stage_one_instruction(
            self._texts, asked, self._thread, output_tokens=self._output
        )

    def _calibrate(self, asked: ExtractionRequestPart) -> None:
        """For later parts, trust the provider's token count over an estimate."""
        sent = self._instruct(asked) + render_stage_one_material(asked)
        factor = calibrate_token_estimate_factor(
            self._factor,
            estimated=estimate_text_tokens(sent, self._factor),
            counted=self._model.counted,
        )
        self._factor = max(self._factor, factor)

    async def _ask_model(self, asked: ExtractionRequestPart) -> Receipt:
        self._model.error = None
        spec = ForkSpec(
            label=EXTRACTION_LABEL,
            why=EXTRACTION_REASON,
            instruction=self._instruct(asked),
            material=await asyncio.to_thread(render_stage_one_material, asked),
            permission=NoToolsPermission(),
            limits=replace(self._runtime.settings.forks, turns=1, output=self._output),
            edit_method=EditMethod.ANSWER,
            schema=ANSWER_SCHEMA,
        )
        runtime = self._runtime
        return await runtime.run_fork_for_review(spec, self._model, runtime.files)


_MATERIAL_TAGS = ("session", "before")


class StageOnePrompts(Struct, frozen=True):
    """The prompts (`prompts/rollouts`)."""

    task: str
    part: str
    again: str


class ExtractionRequestPart(Struct, frozen=True, kw_only=True):
    """One request: a part of a session, and what the parts before it gave."""

    evidence: str
    number: int = 1
    count: int = 1
    before: str = ""
    why: str = ""
    """Why the last answer was unusable; empty for the first."""


def render_stage_one_material(part: ExtractionRequestPart) -> str:
    """Render the session and what its earlier parts gave, without secrets, in tags that nothing
    inside can close.
    """
    before = (
        f"<before>\n{neutralize_markup(part.before, _MATERIAL_TAGS).strip()}\n</before>\n\n"
        if part.before
        else ""
    )
    return redact(
        f"{before}<session>\n{neutralize_markup(part.evidence, _MATERIAL_TAGS)}\n</session>"
    ).text


MAX_MEMORY_WORDS = 1_500
MAX_SUMMARY_WORDS = 900
"""Words of the two texts of an answer, where it has room for them. Our choice."""
TOKENS_PER_WORD = 2
"""Tokens of a word, with the paths in it and the signs of JSON, rounded up."""


def build_stage_one_instruction(
    prompts: StageOnePrompts, part: ExtractionRequestPart, thread: Rollout, *, output_tokens: int
) -> str:
    """Render the instruction for an answer of at most so many tokens. What differs from session to
    session stands at its end, so that a server's cache serves the rest.
    """
    share = min(1.0, output_tokens / TOKENS_PER_WORD / (MAX_MEMORY_WORDS + MAX_SUMMARY_WORDS))
    intro = (
        render_template(
            prompts.part, {"number": str(part.number), "count": str(part.count)}, strict=True
        )
        if part.count > 1
        else ""
    )
    values = {
        "cwd": clean_raw_memory_line(thread.cwd) or UNKNOWN_FOLDER,
        "path": clean_raw_memory_line(thread.path),
        "branch": clean_raw_memory_line(thread.branch) or UNKNOWN_FOLDER,
        "part": intro,
        "memoryWords": f"{int(MAX_MEMORY_WORDS * share):,}",
        "summaryWords": f"{int(MAX_SUMMARY_WORDS * share):,}",
    }
    again = (
        "\n" + render_template(prompts.again, {"why": part.why}, strict=True) if part.why else ""
    )
    return render_template(prompts.task, values, strict=True) + again
