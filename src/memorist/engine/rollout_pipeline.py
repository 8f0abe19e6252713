"""The two stages of rollout memory in one home: sessions are found, extracted and consolidated
(RO-1 to RO-7).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.moved_projects import load_moved_folders
from memorist.budget.budget_governor import update_hold_from_rate_limits
from memorist.engine.background_runtime import open_background_runtime
from memorist.engine.rollout_store import RolloutStore
from memorist.errors import NothingToDo, StoreError
from memorist.forks.fork_spec import Receipt
from memorist.models.rate_limits import RateLimitReport
from memorist.platforms.processes import build_unique_process_name
from memorist.ports import Model
from memorist.recall.session_index import SessionIndex
from memorist.rollouts.database_sessions import (
    copy_cursor_chats,
    copy_opencode_sessions,
    find_database_folder,
)
from memorist.rollouts.forked_sessions import Counts, find_parent_session
from memorist.rollouts.job_worker import (
    JobEvent,
    WorkerDependencies,
    WorkerStages,
    judge_eligibility_of_unextracted_rollouts,
    run_extraction_and_consolidation,
)
from memorist.rollouts.rollout_folder import read_memory_folder
from memorist.rollouts.rollout_summaries import parse_extract_files, select_recoverable_extracts
from memorist.rollouts.rollout_sync_report import (
    RolloutSyncReport,
    UnextractedSession,
    build_structural_fallback_remarks,
    split_finished_and_deferred_jobs,
)
from memorist.rollouts.session_eligibility import (
    is_excluded_by_outside_content,
    judge_rollout_eligibility,
)
from memorist.rollouts.session_owner import is_working_folder_of_user
from memorist.rollouts.session_sources import (
    SkippedFile,
    SourceFolder,
    SourceScan,
    list_agent_session_folders,
    list_default_source_folders,
    load_skipped_files,
    save_skipped_files,
    scan_for_changed_rollouts,
)
from memorist.rollouts.stage_models import StageModelOpener
from memorist.rollouts.stage_one import extract_session_with_model_or_structure
from memorist.rollouts.stage_two import ConsolidationResult, update_memory_folder_from_extracts
from memorist.runtime import Runtime
from memorist.safety.secrets import redact
from memorist.settings import RolloutsSettings, Settings
from memorist.store.disk_files import DiskFiles
from memorist.store.extract_rows import (
    RolloutExtract,
    StoredExtract,
    find_extract,
    insert_missing_extracts,
    list_enabled_extracts,
)
from memorist.store.job_claim_rules import JobClaimPolicy
from memorist.store.job_claims import is_consolidation_requested
from memorist.store.rollout_rows import (
    OTHERS_SOURCE,
    ExtractionProgress,
    Rollout,
    find_extraction_progress,
    list_rollouts,
    request_new_extraction,
)
from memorist.store.session_memory_mode import (
    read_left_out_sessions,
    save_rollouts_except_memory_off,
    set_memory_mode,
)
from memorist.store.sqlite_database import UnsavedDatabaseConnection, open_database
from memorist.store.state_database import list_recorded_damage

ANY_AGE_DAYS = 36_500
"""A maximum age in days that excludes no session."""


class RolloutSyncPlan(Struct, frozen=True):
    """What a sync would work on."""

    found: SourceScan
    sessions: int
    """Number of known sessions, new and old."""
    eligible: tuple[Rollout, ...]
    too_old: int
    too_young: int
    """Sessions that may still be going on, by `rollouts.min_idle_hours`."""
    has_unconsolidated: bool
    """Whether an earlier sync extracted what was not consolidated."""
    worker_dependencies: WorkerDependencies
    assumed_mine: tuple[Rollout, ...] = ()
    """Those of `eligible` in a given folder elsewhere that nobody said to be the user's own."""

    @property
    def has_work(self) -> bool:
        """Whether a sync would change anything."""
        return bool(self.eligible) or self.has_unconsolidated


class RolloutPipeline(RolloutStore):
    """The rollout store with the two stages. Opened for a worker or a command, and closed by it.

    Raises StoreError, SettingsError and ModelNameError when a part of it cannot be opened.
    """

    def __init__(self, settings: Settings, *, model: Model | None = None) -> None:
        super().__init__(settings)
        self._last_consolidation: ConsolidationResult | None = None
        self._recovery_remarks: tuple[str, ...] = ()
        self._files = DiskFiles()
        self._uncopied: list[SkippedFile] = []
        self._environment = os.environ
        self._database = open_database(self.layout.database)
        self._models = StageModelOpener(
            settings, clock=self.clock, on_rate_limits=self._on_rate_limits, model=model
        )

    def open_models(self) -> None:
        """Open the models of both stages, so that a model that cannot be opened costs no session an
        attempt.

        Raises ModelNameError.
        """
        self._models.open_extraction(self.settings.rollouts)
        self._models.open_consolidation(self.settings.rollouts)

    def _on_rate_limits(self, limits: RateLimitReport) -> None:
        update_hold_from_rate_limits(
            self._database, limits, now=self.clock.now(), settings=self.settings.spend
        )

    @property
    def last_consolidation(self) -> ConsolidationResult | None:
        """Result of the last consolidation; None when none ran."""
        return self._last_consolidation

    def find_sessions(
        self, folders: Sequence[Path] = (), *, is_mine: bool | None = None
    ) -> SourceScan:
        """Find sessions where agents keep them, or in the given folders, and record them. If the
        database was lost, it is restored from the files.

        What is typed in a session counts as the user's word unless it lies in a given folder
        elsewhere and is not theirs: as `is_mine` says, or, where that is None, as it was known to
        be, or else as is shown by the folder that it was made in.

        Raises StoreError.
        """
        self._restore_from_files()
        usual = list_default_source_folders(self.layout, self._environment)
        by_path = {each.folder: each for each in usual}
        searched = [
            by_path.get(folder) or SourceFolder(folder, is_named=True) for folder in folders
        ] or usual
        if not folders:
            self._uncopied = copy_opencode_sessions(self.layout, self._environment)
        passed = self.layout.rollouts_state / "passed.json"
        elsewhere = self._list_folders_elsewhere(folders)
        recorded = list_rollouts(self.state)
        known = [
            each
            for each in recorded
            if is_mine is None or not elsewhere or not _is_below(each.path, elsewhere)
        ]
        found = scan_for_changed_rollouts(searched, [*known, *load_skipped_files(passed)])
        users = {(each.id, each.path): each.source != OTHERS_SOURCE for each in recorded}
        moved = load_moved_folders(self._files, self.layout)
        threads = [
            replace(
                each,
                repository=moved.find_root(each.repository, each.updated),
                source=each.source
                if not elsewhere
                or not _is_below(each.path, elsewhere)
                or (
                    users.get((each.id, each.path), is_working_folder_of_user(each.cwd))
                    if is_mine is None
                    else is_mine
                )
                else OTHERS_SOURCE,
            )
            for each in found.threads
        ]
        if is_mine is not None and elsewhere:
            # What was restored from the files does not say whose words it was taken for.
            with self.state.transaction():
                known_ids = {each.id for each in recorded}
                request_new_extraction(
                    self.state, [each.id for each in threads if each.id not in known_ids]
                )
        found = replace(
            found,
            threads=save_rollouts_except_memory_off(
                self.state, threads, self._files, self.layout, self.claim_terms
            ),
            skipped=(*found.skipped, *self._uncopied),
        )
        if not folders:
            with contextlib.suppress(StoreError):  # only spares the next look their files
                save_skipped_files(self._files, passed, found.skipped)
        return found

    def _list_folders_elsewhere(self, folders: Sequence[Path]) -> tuple[str, ...]:
        """The given folders in which no agent of this machine keeps its sessions."""
        usual = [
            each.folder for each in list_default_source_folders(self.layout, self._environment)
        ]
        return tuple(
            os.path.realpath(folder)
            for folder in folders
            if not any(folder.is_relative_to(one) for one in usual)
        )

    def copy_and_list_session_folders(self, agent: str) -> list[Path]:
        """Where one of `sources.AGENTS` keeps its sessions; those that it keeps in a database are
        copied first.

        Raises StoreError, and NothingToDo where there is no such folder.
        """
        if agent == "opencode":
            self._uncopied = copy_opencode_sessions(self.layout, self._environment)
        elif agent == "cursor":
            self._uncopied = copy_cursor_chats(self.layout, self._environment)
        folders = list_agent_session_folders(agent, self.layout, self._environment)
        found = [each.folder for each in folders if each.folder.exists()]
        if not found:
            raise NothingToDo(
                f"there are no sessions of {agent} here: none in "
                f"{find_database_folder(agent, self._environment) or folders[0].folder}"
            )
        return found

    def _restore_from_files(self) -> None:
        """Restore a lost database from the files.

        Only an empty database was lost: one that knows sessions but no extracts was reset, or
        everything was excluded.
        """
        if (
            list_rollouts(self.state)
            or list_enabled_extracts(self.state)
            or not self.layout.rollouts.exists()
        ):
            return
        left_out = read_left_out_sessions(self._files, self.layout)
        kept = [each for each in self._read_kept_files() if each.extracted.thread not in left_out]
        count = insert_missing_extracts(self.state, kept)
        self._recovery_remarks = (
            *list_recorded_damage(self.state),
            *([f"what {count:,} sessions gave was taken back from the files"] if count else []),
        )

    def _read_kept_files(self) -> Sequence[StoredExtract]:
        return select_recoverable_extracts(
            parse_extract_files(read_memory_folder(self._files, self.layout.rollouts).files)
        )

    def _are_all_excluded(self) -> bool:
        """Whether everything in the files is excluded from memory, by the user or because of the
        sessions themselves, or was read again and gives nothing any more.
        """
        modes = {each.id: each.mode for each in list_rollouts(self.state)}
        remembered = [each.extracted.thread for each in self._read_kept_files()]
        return bool(remembered) and all(
            modes.get(thread, "enabled") != "enabled" or self._gives_nothing(thread)
            for thread in remembered
        )

    def _gives_nothing(self, thread: str) -> bool:
        standing = find_extraction_progress(self.state, thread)
        was_read = standing is not None and standing.is_up_to_date
        return was_read and find_extract(self.state, thread) is None

    def build_worker_stages(
        self, rollouts: RolloutsSettings, only_threads: frozenset[str] | None = None
    ) -> WorkerStages:
        """The two stages, for a worker that extracts these sessions; None means all."""
        once = partial(self._extract, rollouts, partial(self._counts, rollouts, only_threads))
        return WorkerStages(
            extract=partial(once, final=False),
            consolidate=partial(self._consolidate, rollouts),
            last_extract=partial(once, final=True),
        )

    @contextlib.contextmanager
    def _open_runtime(self, rollouts: RolloutsSettings, model: Model | None) -> Iterator[Runtime]:
        """What a stage works with."""
        settings = replace(self.settings, rollouts=rollouts)
        with open_background_runtime(
            settings, self._database, model, clock=self.clock, files=self._files
        ) as runtime:
            record = runtime.record_receipt
            yield replace(runtime, record_receipt=lambda receipt: record(_redact_quotes(receipt)))

    def _counts(
        self,
        rollouts: RolloutsSettings,
        only_threads: frozenset[str] | None,
        session: ExtractionProgress,
    ) -> bool:
        """Whether a session counts by itself, be it not one of those that are extracted now."""
        now = only_threads is None or session.rollout.id in only_threads
        chosen = rollouts if now else self.settings.rollouts
        verdict = judge_rollout_eligibility(session, chosen, now=self.state.now())
        return (
            verdict.can_ever_be_extracted
            or find_extract(self.state, session.rollout.id) is not None
        )

    async def _extract(
        self, rollouts: RolloutsSettings, counts: Counts, thread: Rollout, *, final: bool
    ) -> RolloutExtract:
        model = self._models.open_extraction(rollouts)
        with self._open_runtime(rollouts, model) as runtime:
            parent = await asyncio.to_thread(find_parent_session, self.state, thread, counts)
            outcome = await extract_session_with_model_or_structure(
                thread, runtime, final=final, parent=parent
            )
        if is_excluded_by_outside_content(rollouts, outside=outcome.outside):
            set_memory_mode(self.state, thread.id, "polluted", self.claim_terms)
        return outcome

    async def _consolidate(
        self, rollouts: RolloutsSettings, renew: Callable[[], bool]
    ) -> Sequence[RolloutExtract]:
        rows = list_enabled_extracts(self.state)
        emptied = not rows and self._are_all_excluded()
        model = self._models.open_consolidation(rollouts)
        with self._open_runtime(rollouts, model) as runtime:
            consolidation = self._last_consolidation = await update_memory_folder_from_extracts(
                runtime, rows, renew, emptied=emptied
            )
        return consolidation.selected

    def build_worker_dependencies(
        self,
        rollouts: RolloutsSettings,
        on_event: Callable[[JobEvent], None],
        *,
        terms: JobClaimPolicy | None = None,
    ) -> WorkerDependencies:
        """The dependencies of a worker. Raises StoreError where what it makes cannot be kept."""
        if isinstance(self._database, UnsavedDatabaseConnection):
            raise StoreError(
                f"what past sessions give cannot be kept in {self.layout.home}: "
                f"{self._database.why}"
            )
        return WorkerDependencies(
            state=self.state,
            settings=rollouts,
            claim_policy=terms or self.claim_terms,
            stages=self.build_worker_stages(rollouts),
            clock=self.clock,
            on_event=on_event,
            find_sessions=self.find_sessions,
        )

    def plan_sync(
        self,
        folders: Sequence[Path] = (),
        max_age_days: int | None = None,
        *,
        repository: str | None = None,
        is_mine: bool | None = None,
    ) -> RolloutSyncPlan:
        """Find sessions and say which of them a sync would extract; with `repository` only those of
        this project, by its root, however young they are. `is_mine` as in `find_sessions`.

        Raises StoreError, and NothingToDo when there are none.
        """
        found = self.find_sessions(folders, is_mine=is_mine)
        rollouts = self._search_settings(folders, max_age_days)
        if repository is not None:
            rollouts = replace(
                rollouts, min_idle_hours=0, scan=max(rollouts.scan, len(list_rollouts(self.state)))
            )
        below = tuple(os.path.realpath(folder) for folder in folders)
        mine = [
            each
            for each in list_rollouts(self.state)
            if (not below or _is_below(each.path, below)) and repository in (None, each.repository)
        ]
        if not mine and not found.skipped:
            where = ", ".join(map(str, folders)) or "the folders of your agents"
            raise NothingToDo(
                f"there are no recorded sessions in {where}; name a folder that holds some: "
                f"memorist import FOLDER"
            )
        only = frozenset(each.id for each in mine) if folders or repository is not None else None
        dependencies = replace(
            self.build_worker_dependencies(rollouts, lambda _: None),
            stages=self.build_worker_stages(rollouts, only),
            find_sessions=lambda: None,
            only_threads=only,
        )
        verdicts = judge_eligibility_of_unextracted_rollouts(dependencies)
        eligible = tuple(each.thread for each in verdicts if each.is_eligible)
        elsewhere = self._list_folders_elsewhere(folders) if is_mine is None else ()
        return RolloutSyncPlan(
            found=found,
            sessions=len(mine),
            eligible=eligible,
            assumed_mine=tuple(
                each
                for each in eligible
                if each.source != OTHERS_SOURCE and _is_below(each.path, elsewhere)
            ),
            too_old=sum(each.reason == "too old" for each in verdicts),
            too_young=sum(each.reason == "too young" for each in verdicts),
            has_unconsolidated=is_consolidation_requested(self.state),
            worker_dependencies=dependencies,
        )

    def _search_settings(
        self, folders: Sequence[Path], max_age_days: int | None
    ) -> RolloutsSettings:
        """The settings of a search: folders that the user names are searched regardless of age and
        source.
        """
        rollouts = self.settings.rollouts
        if max_age_days is not None:
            rollouts = replace(rollouts, max_age_days=max_age_days)
        if not folders:
            return rollouts
        return replace(
            rollouts,
            max_age_days=ANY_AGE_DAYS if max_age_days is None else max_age_days,
            min_idle_hours=0,
            sources=tuple({each.source for each in list_rollouts(self.state)}),
            scan=max(rollouts.scan, len(list_rollouts(self.state))),
        )

    async def sync(
        self, plan: RolloutSyncPlan, on_event: Callable[[JobEvent], None] = lambda _: None
    ) -> RolloutSyncReport:
        """Extract the plan's eligible sessions and consolidate, without the cooldown between two
        consolidations.

        Raises StoreError, ModelNameError.
        """
        self.open_models()
        began = self.clock.monotonic()
        said: list[JobEvent] = []

        def hear(what: JobEvent) -> None:
            said.append(what)
            on_event(what)

        self._last_consolidation = None
        terms = replace(self.claim_terms, cooldown_seconds=0)
        worker = build_unique_process_name()
        self.state.register_worker(worker)
        await run_extraction_and_consolidation(
            replace(plan.worker_dependencies, on_event=hear, claim_policy=terms), worker
        )
        with closing(SessionIndex(self.layout.session_index)) as index:
            index.sync(list_rollouts(self.state))
        done, waits = split_finished_and_deferred_jobs(said)
        extracts = [each for each in done if each.kind == "extract"]
        instead = build_structural_fallback_remarks(
            list_enabled_extracts(self.state),
            {each.key for each in extracts if each.outcome == "kept"},
        )
        failed = [
            UnextractedSession(each.key, each.reason)
            for each in done
            if each.outcome in ("failed", "lost")
        ]
        files = self.last_consolidation
        return RolloutSyncReport(
            found=plan.sessions,
            eligible=len(plan.eligible),
            too_old=plan.too_old,
            claimed=len(extracts),
            extracted=sum(each.outcome == "kept" for each in extracts),
            no_op=sum(each.outcome == "nothing" for each in extracts),
            failed=tuple(failed),
            consolidated=len(files.selected)
            if files is not None and files.outcome == "changed"
            else 0,
            seconds=round(self.clock.monotonic() - began, 3),
            skipped_files=plan.found.skipped,
            waits=tuple(waits),
            way="" if files is None else files.way,
            remarks=(
                *self._recovery_remarks,
                *instead,
                *(() if files is None else (*files.remarks, *([files.why] if files.why else []))),
            ),
        )

    async def close(self) -> None:
        """Close models and databases. May be called twice."""
        await self._models.close()
        self.close_databases()

    def close_databases(self) -> None:
        """Close what was opened at once; enough where no model was asked. May be called twice."""
        self.state.close()
        self._database.close()


@contextlib.asynccontextmanager
async def open_rollout_pipeline(
    settings: Settings, *, model: Model | None = None
) -> AsyncIterator[RolloutPipeline]:
    """Open the pipeline, and close it in any case."""
    opened = RolloutPipeline(settings, model=model)
    try:
        yield opened
    finally:
        await opened.close()


def _is_below(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder.rstrip('/')}/") for folder in folders)


_QUOTATION = re.compile(r"“(?:.*”|.*$)", re.MULTILINE)


def _redact_quotes(receipt: Receipt) -> Receipt:
    """Remove what a receipt quotes of an answer or a session: it may be what is to be forgotten, or
    a secret that is redacted only later. Reasons stay.
    """
    return replace(receipt, said=_QUOTATION.sub("“…”", redact(receipt.said).text))
