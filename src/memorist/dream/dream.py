"""Consolidate one project's memory between sessions, by rule and, if there is a model, by a fork on
a copy (DR-3 to DR-5).

Rules run first, then the model on what they leave. The result of both is reviewed, compared with
the disk once more, and written as one change of the history.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.memory_changes import render_change_headline
from memorist.auto_memory.memory_index import MemoryUsage
from memorist.auto_memory.write_evidence import WriteEvidence
from memorist.core.prompt_templates import load_prompt
from memorist.core.utc_time import format_utc_day
from memorist.dream.daily_log import DailyLogs
from memorist.dream.dream_answer_form import build_dream_form_task
from memorist.dream.dream_gates import (
    DreamGateClosed,
    DreamGateFacts,
    DreamGateNeedsFact,
    DreamGatesOpen,
    DreamTriggerSessionProperties,
    judge_dream_gates,
    select_changed_session_ids,
)
from memorist.dream.dream_journal import DreamReport, summarize_dream_acts
from memorist.dream.dream_lock import DreamLock, DreamLockBusy, HeldDreamLock
from memorist.dream.dream_prompt import (
    DreamMaterial,
    FittedDreamMaterial,
    match_utterances_to_best_memory,
    render_dream_instruction,
    render_fitting_dream_material,
)
from memorist.dream.dream_review import (
    ReviewedChanges,
    compute_max_retired_memories,
    review_model_changes,
)
from memorist.dream.dream_workspace import (
    DreamDependencies,
    PreparedDream,
    append_to_dream_journal,
    apply_dream,
    prepare_dream,
)
from memorist.dream.past_session_evidence import (
    PastSessionLocation,
    list_session_modification_times,
)
from memorist.errors import MemoristError, StoreError
from memorist.events import DreamFailed, DreamFinished, Event
from memorist.extensions import SessionExtension
from memorist.forks.answer_form import FormTask
from memorist.forks.fork_spec import (
    FolderAccess,
    ForkOutcome,
    ForkSpec,
    ParentCall,
    Receipt,
    build_discarded_receipt,
)
from memorist.forks.latest_task_queue import LatestTaskQueue, finish_before_cancellation
from memorist.models.answer_schema import should_use_answer_form
from memorist.ports import Model, discover_window
from memorist.runtime import SessionContext
from memorist.settings import DreamSettings
from memorist.store.home_layout import MemoryLayout
from memorist.store.overlay_files import OverlayFiles
from memorist.telemetry.tracing import decorate_work_for_tracing
from memorist.transcript_analysis.answer_check import AnswerLineChecker

DREAM_LABEL = "dream"
COMPLETED_OUTCOMES = (ForkOutcome.CHANGED, ForkOutcome.UNCHANGED)


class _DreamForkResult(Struct, frozen=True, kw_only=True):
    """The result of the model's part."""

    changes: ReviewedChanges = ReviewedChanges()
    said: str = ""
    failed: str = ""
    evidence: WriteEvidence = WriteEvidence()
    is_reportable: bool = True
    """False if the budget governor refused, which it reports once itself."""
    receipt: Receipt | None = None
    """To be recorded once it is known what of its work was written; None if already recorded."""


class DreamExtension(SessionExtension):
    """The dreams of one project, for one session or one command."""

    def __init__(
        self,
        context: SessionContext,
        layout: MemoryLayout,
        *,
        past_sessions: Callable[[], Sequence[PastSessionLocation]],
        uses: Callable[[], Mapping[str, MemoryUsage]] = dict,
    ) -> None:
        self._context = context
        """The session whose turn ends may trigger dreams, which is never examined itself; one
        without
        an id outside a session.
        """
        self._runtime = runtime = context.runtime
        self._layout = layout
        self._clock = runtime.clock
        self._past_sessions = past_sessions
        """Returns all sessions of the project."""
        self._uses = uses
        self._host = DreamTriggerSessionProperties(
            is_remote=context.host.remote,
            is_interactive=context.host.interactive,
            is_main_session=context.host.main,
        )
        self._lock = DreamLock(layout, runtime.clock)
        self._queue = LatestTaskQueue(runtime.clock, on_error=self._on_background_error)
        self._last_scan: float | None = None

    @property
    def _settings(self) -> DreamSettings:
        """The current settings: a flag may change them during a session."""
        return self._runtime.flags.apply_to_section(self._runtime.settings.dream)

    def _workspace(self) -> DreamDependencies:
        runtime = self._runtime
        return DreamDependencies(
            layout=self._layout,
            project=self._context.project,
            files=runtime.files,
            clock=runtime.clock,
            memory=runtime.settings.auto_memory,
            dream=self._settings,
            context=runtime.settings.context,
            uses=self._uses(),
        )

    def on_turn_end(self, parent: ParentCall | None = None) -> None:
        """Dream in the background if every gate is open. Costs one stat, mostly not even that."""
        del parent
        with contextlib.suppress(
            StoreError
        ):  # a lock that cannot be read is met again by whoever asks for the gates
            verdict = self._judge_cheap_gates()
            if isinstance(verdict, DreamGateNeedsFact) and not self._queue.is_busy:
                self._queue.submit(self._dream_if_due)

    async def _dream_if_due(self) -> None:
        verdict = await self.check_gates()
        if isinstance(verdict, DreamGatesOpen):
            await self.dream_now(verdict.why, verdict.sessions)

    def _judge_cheap_gates(self) -> DreamGatesOpen | DreamGateClosed | DreamGateNeedsFact:
        known = DreamGateFacts(now=self._clock.now(), host=self._host, scanned=self._last_scan)
        verdict = judge_dream_gates(known, self._settings)
        if isinstance(verdict, DreamGateNeedsFact):
            return judge_dream_gates(
                replace(known, last=self._lock.last_dream_time()), self._settings
            )
        return verdict

    async def check_gates(self) -> DreamGatesOpen | DreamGateClosed:
        """Tell whether it is time, and why or why not. Raises StoreError."""
        verdict = self._judge_cheap_gates()
        if not isinstance(verdict, DreamGateNeedsFact):
            return verdict
        sessions = await self._new_sessions(verdict.since)
        self._last_scan = self._clock.now()
        known = DreamGateFacts(
            now=self._last_scan,
            host=self._host,
            last=self._lock.last_dream_time(),
            sessions=sessions,
        )
        answer = judge_dream_gates(known, self._settings)
        # Every fact is given; only a lock that was taken meanwhile can leave something to look for.
        if isinstance(answer, DreamGatesOpen | DreamGateClosed):
            return answer
        return DreamGateClosed("sessions", "another dream began meanwhile")

    async def _new_sessions(self, since: float) -> tuple[str, ...]:
        past = self._past_sessions()
        seen = await asyncio.to_thread(list_session_modification_times, past, self._runtime.files)
        return select_changed_session_ids(seen, current=self._context.id, since=since)

    async def has_new_material(self) -> bool:
        """Tell whether there is anything the last dream could not know: another session, or a daily
        log that may have grown. Raises StoreError.
        """
        last = self._lock.last_dream_time()
        if last is None or await self._new_sessions(last):
            return True
        logs = DailyLogs(self._layout, self._runtime.files).read_newest_logs(1)
        return bool(logs) and logs[0][0] >= format_utc_day(last)

    async def dream_now(
        self,
        why: str,
        sessions: Sequence[str] | None = None,
        *,
        asked: bool = False,
        dry_run: bool = False,
    ) -> DreamReport:
        """Dream now, whatever the gates say, unless another process does.

        `sessions` are those to learn from; None takes all since the last dream.

        A dry run takes no lock, writes nothing, and shows what it would do. If the dream does not
        complete, the time of the last one stands. Raises StoreError, InputError.
        """
        if self._runtime.settings.auto_memory.policy == "off":
            return DreamReport(ran=False, why="nothing is written while auto_memory.policy is off")
        if sessions is None:
            sessions = await self._new_sessions(self._lock.last_dream_time() or 0.0)
        if dry_run:
            return await self._run(why, sessions, asked=asked, lock=None)
        acquired = self._lock.acquire()
        if isinstance(acquired, DreamLockBusy):
            return DreamReport(ran=False, why=acquired.why)
        try:
            return await self._run(why, sessions, asked=asked, lock=acquired)
        finally:
            acquired.abandon()  # changes nothing of a completed one

    @decorate_work_for_tracing(DREAM_LABEL)
    async def _run(
        self, why: str, sessions: Sequence[str], *, asked: bool, lock: HeldDreamLock | None
    ) -> DreamReport:
        """Dream under the lock; without one it is a dry run."""
        runtime, began = self._runtime, self._clock.monotonic()
        workspace = self._workspace()
        fork = _DreamForkResult()
        if runtime.model is not None:
            prepared = await asyncio.to_thread(
                prepare_dream, workspace, self._past_sessions(), sessions
            )
            fork = await self._run_fork(runtime.model, prepared, why, asked=asked)
        # A cancelled caller waits too, so that nothing is written after the lock is released, and
        # what was written is recorded.
        return await finish_before_cancellation(self._apply(workspace, fork, why, began, lock))

    async def _apply(
        self,
        workspace: DreamDependencies,
        fork: _DreamForkResult,
        why: str,
        began: float,
        lock: HeldDreamLock | None,
    ) -> DreamReport:
        """Write what the dream made, record it, and complete the lock."""
        receipt = fork.receipt and build_discarded_receipt(fork.receipt)
        try:
            dreamt, events = await asyncio.to_thread(
                apply_dream, workspace, fork.changes, fork.evidence, dry_run=lock is None
            )
            if lock is not None and fork.receipt is not None:
                receipt = _correct_receipt(fork.receipt, fork.changes, dreamt)
        finally:
            if receipt is not None:
                self._runtime.record_receipt(receipt)
        dreamt = replace(
            dreamt,
            way="structural" if self._runtime.model is None else "model",
            why=why,
            said=fork.said,
            failed=fork.failed,
            refused=(
                *dreamt.refused,
                *fork.changes.dropped_changes,
                *((("the model's changes", fork.changes.refusal),) if fork.changes.refusal else ()),
            ),
        )
        if lock is None:
            return dreamt
        if (
            dreamt.acts
            or dreamt.waiting
            or dreamt.refused
            or dreamt.remarks
            or (dreamt.failed and fork.is_reportable)
        ):
            await asyncio.to_thread(append_to_dream_journal, workspace, dreamt)
        if not dreamt.failed:
            lock.complete()
        self._report(dreamt, events, self._clock.monotonic() - began)
        return dreamt

    def _report(self, dreamt: DreamReport, events: Sequence[Event], seconds: float) -> None:
        what = render_change_headline("dream", summarize_dream_acts(dreamt.acts) or "nothing to do")
        last: Event = DreamFinished(dreamt.change, dreamt.way, what, len(dreamt.waiting), seconds)
        with contextlib.suppress(
            StoreError
        ):  # an event log that cannot be written takes nothing back
            for event in (*events, last):
                self._runtime.emit(event)
            if dreamt.failed:
                self._runtime.emit(DreamFailed(dreamt.failed))

    async def _run_fork(
        self, model: Model, prepared: PreparedDream, why: str, *, asked: bool
    ) -> _DreamForkResult:
        """Run a fork on a copy of the folder as rules leave it.

        Nothing of it reaches the disk here.
        """
        runtime = self._runtime
        folder = runtime.files.resolve(self._layout.folder)
        overlay = OverlayFiles(runtime.files)
        for (
            path,
            data,
        ) in (
            prepared.render_files_after_rules().items()
        ):  # all of it: what others write meanwhile is no part of the copy
            overlay.write(folder / path, data)
        for change in prepared.plan.changes:
            if change.after is None:
                overlay.remove(folder / change.path)
        known = DreamMaterial(
            folder=folder,
            index=prepared.index,
            topics=prepared.shown_memories,
            logs=prepared.logs,
            utterances=match_utterances_to_best_memory(
                prepared.shown_memories, prepared.evidence.utterances
            ),
            instructions=prepared.instructions,
        )
        material = render_fitting_dream_material(known, self._settings)
        spec = replace(self._build_fork_spec(prepared, material, why), requested_by_user=asked)
        if should_use_answer_form(model, runtime.settings.models, shares=False):
            form = await self._build_form(model, known, material)
            spec = replace(spec, form=form, history_summary=None)
        receipt = await runtime.run_fork_for_review(spec, model, overlay)
        if receipt.outcome is ForkOutcome.BLOCKED:
            return _DreamForkResult(failed=receipt.said, is_reportable=False)
        if receipt.outcome not in COMPLETED_OUTCOMES:
            runtime.record_receipt(build_discarded_receipt(receipt))
            return _DreamForkResult(failed=receipt.said or receipt.outcome.value)
        return _DreamForkResult(
            changes=self._review_fork(overlay, prepared, material),
            said="" if spec.form else receipt.said,
            evidence=prepared.evidence.evidence,
            receipt=receipt,
        )

    def _review_fork(
        self, overlay: OverlayFiles, prepared: PreparedDream, material: FittedDreamMaterial
    ) -> ReviewedChanges:
        """Review what the model did, apart from what rules had done before it."""
        folder = self._runtime.files.resolve(self._layout.folder)
        ruled, before = prepared.render_files_after_rules(), prepared.snapshot.data
        copied = {
            path.relative_to(folder).as_posix(): data
            for path, (_, data) in overlay.changes().items()
            if path.is_relative_to(folder)
        }
        by_model = {
            path: (before.get(path), data)
            for path, data in copied.items()
            if data != ruled.get(path)
        }
        check = AnswerLineChecker(material.text, load_prompt("dream/dream"))
        sessions = "\n".join(
            (*(each.text for each in material.utterances), *(text for _, text in prepared.logs))
        )
        return review_model_changes(by_model, ruled, self._settings, check, sessions)

    async def _build_form(
        self, model: Model, known: DreamMaterial, material: FittedDreamMaterial
    ) -> FormTask:
        window, prompt = await discover_window(model), load_prompt("dream/dream_form")
        return build_dream_form_task(known, material, prompt, window=window)

    def _build_fork_spec(
        self, prepared: PreparedDream, material: FittedDreamMaterial, why: str
    ) -> ForkSpec:
        folder = self._runtime.files.resolve(self._layout.folder)
        return ForkSpec(
            label=DREAM_LABEL,
            why=why,
            history_summary=material.text,
            instruction=render_dream_instruction(
                load_prompt("dream/dream"),
                folder,
                now=self._clock.now(),
                max_retired_memories=compute_max_retired_memories(
                    len(prepared.render_files_after_rules()), self._settings
                ),
            ),
            permission=FolderAccess(folder=folder, may_read_anywhere=False),
            limits=self._runtime.settings.forks,
            known_files=tuple(folder / path for path in material.paths),
            one_round=True,
        )

    def _on_background_error(self, error: BaseException) -> None:
        """Report an error of a background dream as an event; the host goes on."""
        with contextlib.suppress(StoreError):
            self._runtime.emit(
                DreamFailed(
                    str(error)
                    if isinstance(error, MemoristError)
                    else f"{type(error).__name__}: {error}"
                )
            )

    async def close(self) -> None:
        """Close the model, for a command that opened it for its dreams only."""
        if self._runtime.model is not None:
            await self._runtime.model.close()

    async def wait_for_background(self) -> None:
        """Wait for a running dream, as long as for an extraction; then cancel it, and the time of
        the last one stands.
        """
        await self._queue.wait_or_cancel(self._runtime.settings.auto_memory.drain_seconds)


def _correct_receipt(receipt: Receipt, model: ReviewedChanges, dreamt: DreamReport) -> Receipt:
    """Correct the receipt to what was really written of the fork's work (FK-8).

    A retired memory has no bytes left, whatever the fork left of it.
    """
    kept = {act.path: act.did for act in dreamt.acts if act in model.acts}
    written = [
        (file, path) for file in receipt.files for path in kept if file.path.endswith("/" + path)
    ]
    files = tuple(
        replace(file, after=None) if kept[path] == "retired" else file for file, path in written
    )
    refused = (
        *model.dropped_changes,
        *dreamt.refused,
        *((("it", model.refusal),) if model.refusal else ()),
    )
    asked = {change.path for change, _ in model.questions}
    said = (
        *(
            f"({path} waits in the inbox: {why})"
            for _, path, why in dreamt.waiting
            if path in asked
        ),
        receipt.said,
        *(f"({path} was dropped: {why})" for path, why in refused),
    )
    receipt = replace(receipt, said="\n".join(filter(None, said)))
    if files:
        return replace(receipt, files=files, outcome=ForkOutcome.CHANGED)
    return build_discarded_receipt(receipt)
