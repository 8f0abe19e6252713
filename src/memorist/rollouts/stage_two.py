"""Stage two: update the folder to the sessions by rule, and let a model reword it within bounds
(RO-5).

The order is that of Codex. The fork works on files in memory; its result is
reviewed, and all of it goes into the folder in one recorded step. Whatever fails on the way, the
folder stays as it was or is what structure alone makes of it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.core.json_decoding import decode_json
from memorist.core.prompt_templates import load_prompt
from memorist.core.token_count import estimate_text_tokens
from memorist.errors import StoreError
from memorist.forks.fork_spec import (
    FolderAccess,
    ForkLimits,
    ForkOutcome,
    ForkSpec,
    Receipt,
    build_discarded_receipt,
)
from memorist.ports import Model, discover_window
from memorist.rollouts.accepted_folder_state import AcceptedFolderState
from memorist.rollouts.folder_changes import (
    PendingFolderChange,
    apply_recorded_folder_change,
    compare_folders,
    record_pending_folder_change,
    render_difference,
)
from memorist.rollouts.forgotten_claims import ForgottenClaimsReader
from memorist.rollouts.hand_edits import ParsedHandbookAndSummary
from memorist.rollouts.handbook import CONSOLIDATED_PREFIX, HANDBOOK_FILE
from memorist.rollouts.handbook_review import (
    HandbookEditsRejection,
    find_excessive_growth_problem,
    review_model_handbook_edits,
)
from memorist.rollouts.job_worker import retry_while_server_is_away
from memorist.rollouts.rollout_folder import (
    MemoryFolderContents,
    is_existing_folder,
    read_memory_folder,
)
from memorist.rollouts.rollout_summaries import format_clamped_utc_timestamp, parse_extract_files
from memorist.rollouts.session_claims import MAX_LIST_ENTRIES
from memorist.rollouts.session_eligibility import is_excluded_by_outside_content
from memorist.rollouts.stage_two_prompt import (
    USUAL_WINDOW,
    StageTwoInput,
    StageTwoPrompts,
    build_stage_two_instruction,
    render_stage_two_material,
)
from memorist.rollouts.structural_folder_draft import (
    FolderDraft,
    FolderDraftInput,
    build_folder_draft,
    copy_draft_with_new_handbook,
    drop_forgotten_claims_from_draft,
    is_handbook_settled,
)
from memorist.rollouts.structural_handbook import ConsolidationCounts
from memorist.rollouts.summary_composition import SUMMARY_FILE, fit_summary_to_tokens_and_bytes
from memorist.runtime import Runtime
from memorist.store.disk_files import read_if_exists, remove_if_exists, remove_temporary_leftovers
from memorist.store.extract_rows import RolloutExtract, StoredExtract
from memorist.store.overlay_files import OverlayFiles
from memorist.store.process_lock import hold_lock

CONSOLIDATION_LABEL = "consolidation"
MAX_ROUND_LIST_ENTRIES = 200
"""Entries of a list that a model is shown: those that stood, and those of a round."""
HEARTBEAT_SECONDS = 90.0
"""Heartbeat interval (Codex)."""
DEFAULT_FORK_LIMITS = ForkLimits(turns=4, requests=6, tokens=300_000, seconds=600.0, output=32_000)
"""Limits of the fork: edits in one answer and two rounds to fix them. Codex has no
bound, and users have paid for that (part 7).
"""


class ConsolidationResult(Struct, frozen=True, kw_only=True):
    """The result of a run."""

    outcome: Literal["changed", "unchanged", "empty", "lost"]
    """`empty`: no session is left although the folder remembers some, which is believed only on
    demand. `lost`: another holds the lease now, and nothing was written.
    """
    way: Literal["model", "structural", ""] = ""
    why: str = ""
    """Why structure was used although there is a model, or why nothing was done."""
    report: ConsolidationCounts = ConsolidationCounts()
    selected: tuple[RolloutExtract, ...] = ()
    """What is in the folder now."""
    paths: tuple[str, ...] = ()
    """Changed files, sorted."""
    remarks: tuple[str, ...] = ()
    receipt: Receipt | None = None


async def update_memory_folder_from_extracts(
    runtime: Runtime,
    rows: Sequence[StoredExtract],
    renew_lease: Callable[[], bool],
    *,
    emptied: bool = False,
    limits: ForkLimits | None = None,
) -> ConsolidationResult:
    """Bring the folder up to date with these rows (all that may be used; the selection is made
    here). `renew_lease` renews the lease on the one consolidation of a home, and returns False if
    another holds it now. `emptied` accepts an empty selection. Without `limits` they are the
    default ones, with the time of `forks.seconds` where that is longer.

    Raises WriteConflict if another writer changed the folder meanwhile: nothing was written, try
    again later. Raises StoreError if the disk refuses, or the folder contains links.
    """
    return await _ConsolidationRun(runtime, renew_lease, limits).run(rows, emptied=emptied)


class _ConsolidationRun:
    """One run."""

    def __init__(
        self, runtime: Runtime, renew_lease: Callable[[], bool], limits: ForkLimits | None = None
    ) -> None:
        self._limits = limits or replace(
            DEFAULT_FORK_LIMITS,
            seconds=max(DEFAULT_FORK_LIMITS.seconds, runtime.settings.forks.seconds),
        )
        self._runtime = runtime
        self._state = runtime.layout.rollouts_state
        """Folder next to the memory folder: the accepted state, the change under way, the lock, and
        what the user removed.
        """
        self._renew_lease = renew_lease
        self._files = runtime.files
        self._folder = (
            runtime.files.resolve(runtime.layout.rollouts.parent) / runtime.layout.rollouts.name
        )
        self._baseline = AcceptedFolderState(self._state / "baseline")
        self._journal = self._state / "swap.json"
        self._dropped = self._state / "dropped.json"
        self._remarks: list[str] = []

    async def run(self, rows: Sequence[StoredExtract], *, emptied: bool) -> ConsolidationResult:
        settings, clock = self._runtime.settings.rollouts, self._runtime.clock
        tree, base = self._read_folder()
        unread = [why for why in tree.skipped if why.startswith((HANDBOOK_FILE, SUMMARY_FILE))]
        if unread:
            raise StoreError(
                f"{unread[0]}; past sessions are not consolidated until you do so or move it out "
                f"of {self._folder}"
            )
        self._remarks += [
            *tree.skipped,
            *([self._baseline.damaged] if self._baseline.damaged else []),
        ]
        clean = [
            row
            for row in rows
            if not is_excluded_by_outside_content(settings, outside=row.extracted.outside)
        ]
        chosen = select_extracts_to_consolidate(
            clean, limit=settings.consolidated, unused_days=settings.unused_days, now=clock.now()
        )
        if (
            not chosen
            and not emptied
            and any(path.startswith("rollout_summaries/") for path in base)
        ):
            return ConsolidationResult(outcome="empty", why=_EMPTY, remarks=tuple(self._remarks))
        rounds = (
            [chosen]
            if self._runtime.model is None
            else plan_cumulative_consolidation_rounds(
                chosen, {row.thread for row in parse_extract_files(base)}
            )
        )
        done = await self._consolidate(rounds[0], tree, base)
        for batch in rounds[1:]:
            if done.outcome == "lost":
                break
            tree, base = self._read_folder()
            done = _join_results(done, await self._consolidate(batch, tree, base))
        return done

    def _read_folder(self) -> tuple[MemoryFolderContents, Mapping[str, bytes]]:
        """Read the folder, and what was accepted of it last."""
        with hold_lock(self._state / "lock"):
            self.finish_interrupted_change()
            return read_memory_folder(self._files, self._folder), self._baseline.read_files()

    async def _consolidate(
        self,
        chosen: tuple[StoredExtract, ...],
        tree: MemoryFolderContents,
        base: Mapping[str, bytes],
    ) -> ConsolidationResult:
        """Bring the folder up to date with these sessions."""
        settings, clock = self._runtime.settings.rollouts, self._runtime.clock
        given = FolderDraftInput(
            selected_extracts=chosen,
            present_files=tree.files,
            accepted_files=base,
            removed_digests=self._load_dropped(),
            today=format_clamped_utc_timestamp(int(clock.now()))[:10],
            lean_bytes=settings.lean_bytes if settings.form == "lean" else None,
            max_list_entries=MAX_LIST_ENTRIES
            if self._runtime.model is None
            else MAX_ROUND_LIST_ENTRIES,
        )
        selected = tuple(row.extracted for row in chosen)

        def drop_forgotten(draft: FolderDraft) -> FolderDraft:
            # Read anew each time: the user may have something forgotten while the model works.
            claims = ForgottenClaimsReader(self._runtime.layout, self._runtime.settings.auto_memory)
            return drop_forgotten_claims_from_draft(
                draft, claims.read_forgotten_in_group, lean=given.lean
            )

        if is_handbook_settled(given):
            return ConsolidationResult(
                outcome="unchanged", selected=selected, remarks=tuple(self._remarks)
            )
        draft = drop_forgotten(build_folder_draft(given))
        self._remarks += draft.remarks
        if draft.files == tree.files:
            return self._accept_unchanged(tree, base, draft, selected)
        draft, way, why, receipt = await self._reword_draft(draft, given)
        if way == "structural" and given.max_list_entries > MAX_LIST_ENTRIES:
            draft = build_folder_draft(replace(given, max_list_entries=MAX_LIST_ENTRIES))
        draft = drop_forgotten(draft)
        landed = False
        try:
            clock = self._runtime.clock
            if not await retry_while_server_is_away(clock, self._renew_lease):
                return ConsolidationResult(
                    outcome="lost",
                    why=_LOST,
                    remarks=tuple(self._remarks),
                    receipt=receipt and build_discarded_receipt(receipt, _LOST),
                )
            self._swap_folder(tree, draft)
            landed = way == "model"
        finally:
            receipt = (
                receipt if landed or receipt is None else build_discarded_receipt(receipt, why)
            )
            if receipt is not None and receipt.outcome is not ForkOutcome.BLOCKED:
                self._runtime.record_receipt(receipt)
        paths = tuple(sorted(compare_folders(tree.files, draft.files).paths))
        return ConsolidationResult(
            outcome="changed",
            way=way,
            why=why,
            report=draft.report,
            selected=selected,
            paths=paths,
            remarks=tuple(self._remarks),
            receipt=receipt,
        )

    def finish_interrupted_change(self) -> None:
        """Finish an interrupted change and remove its leftovers, which may contain text that is to
        be forgotten. Call under the lock.
        """
        is_existing_folder(self._files, self._folder)
        for path in (
            self._state,
            self._folder,
            self._folder / "rollout_summaries",
            *self._folder.glob("skills/*"),
        ):
            remove_temporary_leftovers(path)
        accepted = apply_recorded_folder_change(self._files, self._folder, self._journal)
        if accepted is not None:
            self._baseline.save_accepted_files(accepted, self._runtime.clock.now())
            remove_if_exists(self._files, self._journal)

    def _load_dropped(self) -> frozenset[str]:
        data = read_if_exists(self._files, self._dropped)
        try:
            return decode_json(data, as_type=frozenset[str]) if data else frozenset()
        except msgspec.DecodeError:
            self._remarks.append(
                "the list of what you took out by hand was damaged and is started again"
            )
            return frozenset()

    def _accept_unchanged(
        self,
        tree: MemoryFolderContents,
        base: Mapping[str, bytes],
        draft: FolderDraft,
        selected: tuple[RolloutExtract, ...],
    ) -> ConsolidationResult:
        """Accept the current state if it is not accepted yet; nothing is written to the folder."""
        if tree.files != base and self._renew_lease():
            self._swap_folder(tree, draft)
        return ConsolidationResult(
            outcome="unchanged",
            selected=selected,
            report=draft.report,
            remarks=tuple(self._remarks),
        )

    def _swap_folder(self, tree: MemoryFolderContents, draft: FolderDraft) -> None:
        """Write the result into the folder and accept it."""
        found = compare_folders(tree.files, draft.files)
        before = {path: tree.files.get(path) for path in sorted(found.paths)}
        after = {path: draft.files.get(path) for path in sorted(found.paths)}
        dropped = msgspec.json.encode(sorted(draft.dropped))
        with hold_lock(self._state / "lock"):
            record_pending_folder_change(
                self._files,
                self._folder,
                self._journal,
                PendingFolderChange(before=before, after=after, accepted=draft.files),
                {self._dropped: dropped} if draft.dropped else {},
            )
            self.finish_interrupted_change()

    async def _reword_draft(
        self, draft: FolderDraft, given: FolderDraftInput
    ) -> tuple[FolderDraft, Literal["model", "structural"], str, Receipt | None]:
        """Return the draft reworded by the model, or the draft itself and why."""
        model = self._runtime.model
        # A lean summary is worded from sessions alone.
        has_new = draft.fresh_threads or not given.lean
        if model is None or not draft.changed_titles or not has_new:
            return draft, "structural", "", None
        try:
            overlay, receipt = await self._run_fork(model, draft, given)
        except _LeaseLostError:
            return draft, "structural", _LOST, None
        unused = _find_unused_reason(receipt)
        if unused:
            return draft, "structural", unused, replace(receipt, said=unused)
        reworded = {
            path.relative_to(self._folder).as_posix(): pair
            for path, pair in overlay.changes().items()
        }
        huge = {
            path: why
            for path, pair in reworded.items()
            if (why := find_excessive_growth_problem(path, *pair))
        }
        verdict = review_model_handbook_edits(
            draft.values,
            {path: after for path, (_, after) in reworded.items() if path not in huge},
            [row.extracted for row in given.selected_extracts],
        )
        if huge and len(huge) == len(reworded):
            verdict = HandbookEditsRejection(next(iter(huge.values())))
        if isinstance(verdict, HandbookEditsRejection):
            unused = f"the model's work was refused: {verdict.why}"
            return draft, "structural", unused, replace(receipt, said=unused)
        unusable = (*huge.values(), *verdict.dropped)
        self._remarks += [f"of the model's work a part was refused: {why}" for why in unusable]
        if not reworded:
            self._remarks.append(_NOTHING_CHANGED)
        receipt = replace(receipt, said="its wording stands" if reworded else _NOTHING_CHANGED)
        self._remarks += (
            [f"the model also wrote {', '.join(verdict.ignored)}, which is ignored"]
            if verdict.ignored
            else []
        )
        self._remarks += (
            [f"{verdict.restored_claim_count} claims that the model had left out were put back"]
            if verdict.restored_claim_count
            else []
        )
        self._remarks += (
            [f"{verdict.unsupported} claims of the model without a session were taken out"]
            if verdict.unsupported
            else []
        )
        line = (
            f"{CONSOLIDATED_PREFIX}{given.today} by {model.name}; each claim is of the "
            f"sessions it names."
        )
        handbook = replace(verdict.files.handbook, date_line=line)
        values = ParsedHandbookAndSummary(
            handbook, fit_summary_to_tokens_and_bytes(verdict.files.summary, given.lean_bytes)
        )
        draft = replace(draft, files=draft.files | dict(verdict.skills))
        return copy_draft_with_new_handbook(draft, values, lean=given.lean), "model", "", receipt

    async def _run_fork(
        self, model: Model, draft: FolderDraft, given: FolderDraftInput
    ) -> tuple[OverlayFiles, Receipt]:
        """Run the fork on the draft, in memory."""
        drafted = OverlayFiles(self._files)
        for path, data in draft.files.items():
            drafted.write(self._folder / path, data)
        overlay = OverlayFiles(drafted)
        window = await discover_window(model) or USUAL_WINDOW
        work = StageTwoInput(
            folder=str(self._folder),
            draft=draft.values,
            changed_titles=draft.changed_titles,
            difference=render_difference(given.accepted_files, draft.files),
            changed_extracts=[
                row.extracted
                for row in given.selected_extracts
                if row.extracted.thread in draft.fresh_threads
            ],
            is_first=SUMMARY_FILE not in given.accepted_files,
            today=given.today,
            lean=given.lean,
            window=window,
        )
        texts = StageTwoPrompts(
            load_prompt("rollouts/consolidate"),
            load_prompt("rollouts/consolidate_first"),
            load_prompt("rollouts/consolidate_again"),
            load_prompt("rollouts/consolidate_lean"),
        )
        spec = ForkSpec(
            label=CONSOLIDATION_LABEL,
            why="what past sessions say has changed",
            material=render_stage_two_material(work),
            instruction=build_stage_two_instruction(work, texts),
            permission=FolderAccess(folder=self._folder, may_read_anywhere=False),
            limits=self._limits,
            known_files=(self._folder / HANDBOOK_FILE, self._folder / SUMMARY_FILE),
        )
        runtime = self._runtime
        running = runtime.run_fork_for_review(spec, model, overlay)
        return overlay, await self._with_heartbeat(running)

    async def _with_heartbeat(self, running: Coroutine[Any, Any, Receipt]) -> Receipt:
        """Return the fork's receipt; raises _LeaseLostError, with the fork cancelled, if the lease
        is lost.
        """
        fork = asyncio.create_task(running)
        beating = asyncio.create_task(self._heartbeat())
        try:
            await asyncio.wait({fork, beating}, return_when=asyncio.FIRST_COMPLETED)
            if not fork.done():
                raise _LeaseLostError
            return await fork
        finally:
            for task in (fork, beating):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait({task})

    async def _heartbeat(self) -> None:
        """Renew the lease until it is lost."""
        while True:
            await self._runtime.clock.sleep(HEARTBEAT_SECONDS)
            # One that the database refused is missed, as the lease allows: what the model was
            # paid for is not thrown away.
            with contextlib.suppress(StoreError):
                if not self._renew_lease():
                    return


_SECONDS_PER_DAY = 86_400


def select_extracts_to_consolidate(
    rows: Iterable[StoredExtract], *, limit: int, unused_days: int, now: float
) -> tuple[StoredExtract, ...]:
    """Return the selection in ascending order of session ids, so that a change of rank alone
    changes no file.

    Left out are extracts without content, and those last cited (or, if never cited, last changed or
    extracted: an old session imported recently is new here) more than `unused_days` before `now`
    (seconds since the epoch). If there are more than `limit`, they are ranked by uses, last use or
    change, last change, id.
    """
    cutoff = now - unused_days * _SECONDS_PER_DAY
    fit = [row for row in rows if not row.extracted.is_empty and _last_wanted(row) >= cutoff]
    fit.sort(
        key=lambda row: (row.uses, _changed_at(row), row.extracted.updated, row.extracted.thread),
        reverse=True,
    )
    return tuple(sorted(fit[: max(0, limit)], key=lambda row: row.extracted.thread))


SESSIONS_PER_ROUND = 12
"""Sessions that a model is shown at once: their claims, some fourteen each, fill a page of each
list. Our choice.
"""
MAX_ROUND_TOKENS = 40_000
"""Tokens of their raw memories (`stage_two_prompt.MAX_RAW_MEMORIES_TOKENS`)."""


def plan_cumulative_consolidation_rounds(
    chosen: Sequence[StoredExtract], known: Collection[str]
) -> list[tuple[StoredExtract, ...]]:
    """Return the selections of the rounds, each with more of the sessions that the folder does not
    hold yet, by their ids: the oldest first, so that a model is shown each and chooses what stays.
    """
    fresh = sorted(
        (row for row in chosen if row.extracted.thread not in known),
        key=lambda row: (row.extracted.updated, row.extracted.thread),
    )
    ends, tokens, first = [], 0, 0
    for at, row in enumerate(fresh):
        size = estimate_text_tokens(row.extracted.raw_memory)
        if at > first and (at - first >= SESSIONS_PER_ROUND or tokens + size > MAX_ROUND_TOKENS):
            ends.append(at)
            tokens, first = 0, at
        tokens += size
    rounds = []
    for end in (*ends, len(fresh)):
        later = {row.extracted.thread for row in fresh[end:]}
        rounds.append(tuple(row for row in chosen if row.extracted.thread not in later))
    return rounds


def _changed_at(row: StoredExtract) -> int:
    return row.extracted.updated if row.last_use is None else row.last_use


def _last_wanted(row: StoredExtract) -> int:
    """Return when it was last cited; if never, when it was changed or extracted."""
    if row.last_use is None:
        return max(row.extracted.updated, row.extracted.generated)
    return row.last_use


def _find_unused_reason(receipt: Receipt) -> str:
    """Why nothing that the model wrote is looked at; empty where it is."""
    if receipt.outcome is ForkOutcome.BLOCKED:
        return f"no model was asked: {receipt.said}"
    if receipt.outcome not in (ForkOutcome.CHANGED, ForkOutcome.UNCHANGED):
        return f"the model did not finish: {receipt.said}"
    return ""


def _join_results(first: ConsolidationResult, last: ConsolidationResult) -> ConsolidationResult:
    """The result of two rounds, one after the other."""
    counts = {
        name: getattr(first.report, name) + getattr(last.report, name)
        for name in ConsolidationCounts.__struct_fields__
    }
    return replace(
        last,
        outcome="changed" if "changed" in (first.outcome, last.outcome) else last.outcome,
        way="model" if "model" in (first.way, last.way) else last.way or first.way,
        why=last.why or first.why,
        report=ConsolidationCounts(**counts),
        paths=tuple(sorted({*first.paths, *last.paths})),
        remarks=tuple(dict.fromkeys((*first.remarks, *last.remarks))),
        receipt=last.receipt or first.receipt,
    )


class _LeaseLostError(Exception):
    pass


_NOTHING_CHANGED = "the model changed nothing of the draft that was made by structure"
_LOST = "another process holds the consolidation now"
_EMPTY = "no session is left, although the folder remembers some: nothing was deleted"
