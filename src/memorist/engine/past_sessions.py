"""The two stages of rollout memory in one home: sessions are found, extracted and consolidated
(RO-1 to RO-7).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.engine.past_state import PastState
from memorist.errors import NothingToDo
from memorist.forks.spec import Outcome, Receipt
from memorist.models.choose import open_model
from memorist.models.limits import RateNews, listen_to
from memorist.ports import Clock, Files, Model
from memorist.rollouts.artefacts import read_back
from memorist.rollouts.consolidation.run import Consolidation, ConsolidationMeans, consolidate_folder
from memorist.rollouts.extraction.run import StageMeans, extract
from memorist.rollouts.folder.run import read_folder
from memorist.rollouts.rebuild import rebuild
from memorist.rollouts.settings import RolloutsSettings
from memorist.rollouts.sources.run import Found, Place, find, remember, remembered, usual_places
from memorist.rollouts.synced import Failed, Synced, parted, without_model
from memorist.rollouts.work.run import Means, eligible_threads, one_round, worker_name
from memorist.rollouts.working import Stages, Told
from memorist.safety.secrets import redact
from memorist.settings import Settings
from memorist.spend.run import SpendGovernor, heard
from memorist.store.claims import Terms
from memorist.store.database import open_database
from memorist.store.files import DiskFiles
from memorist.store.forgetting import set_mode
from memorist.store.rollouts import keep_threads, kept, restore, threads
from memorist.store.state import remarks
from memorist.store.thread import Extracted, Kept, Thread
from memorist.telemetry.run import Traces

ALL_AGES = 36_500
"""A maximum age in days that excludes no session."""


class Plan(Struct, frozen=True):
    """What a sync would work on."""

    found: Found
    sessions: int
    """Number of known sessions, new and old."""
    eligible: tuple[Thread, ...]
    means: Means


class _Alive:
    """The lease on the consolidation."""

    def __init__(self, mine: Callable[[], bool]) -> None:
        self._mine = mine

    def beat(self) -> bool:
        """Renew the lease; whether it is still held."""
        return self._mine()


class PastSessions(PastState):
    """The rollout store with the two stages. Opened for a worker or a command, and closed by it.

    Raises StoreError, SettingsError and ModelNameError when a part of it cannot be opened.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        model: Model | None = None,
        clock: Clock | None = None,
        files: Files | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(settings, clock=clock)
        self._consolidated: Consolidation | None = None
        self._befell: tuple[str, ...] = ()
        self._files = files or DiskFiles()
        self._environment = os.environ if environment is None else environment
        self._given = model
        self._models: dict[str, Model | None] = {}
        self._database = open_database(self.layout.database)

    def _model(self, *names: str) -> Model | None:
        """Return the model of the first name that is set; each is opened once."""
        if self._given is not None:
            return self._given
        name = next(filter(None, names), self.settings.model)
        if name not in self._models:
            self._models[name] = open_model(name, self.settings.models, clock=self.clock)
            listen_to(self._models[name], self._heard)
        return self._models[name]

    def need_models(self) -> None:
        """Open the models of both stages, so that a model that cannot be opened costs no session an
        attempt.

        Raises ModelNameError.
        """
        self._model(self.settings.rollouts.model)
        self._model(self.settings.rollouts.consolidation_model, self.settings.rollouts.model)

    def _heard(self, news: RateNews) -> None:
        heard(self._database, news, now=self.clock.now(), settings=self.settings.spend)

    @property
    def consolidation(self) -> Consolidation | None:
        """Result of the last consolidation; None when none ran."""
        return self._consolidated

    def look(self, named: Sequence[Path] = ()) -> Found:
        """Find sessions where agents keep them, or in the given folders, and record them. If the
        database was lost, it is restored from the files.

        Raises StoreError.
        """
        self._put_back()
        home = Path(self._environment.get("HOME") or "~").expanduser()
        places = [Place(folder, named=True) for folder in named] or usual_places(self.layout, home, self._environment)
        passed = self.layout.rollouts_state / "passed.json"
        found = find(places, [*threads(self.state), *remembered(passed)])
        keep_threads(self.state, found.threads)
        if not named:
            remember(self._files, passed, found.passed)
        return found

    def _put_back(self) -> None:
        """Restore a lost database from the files.

        Only an empty database was lost: one that knows sessions but no extracts was reset, or
        everything was excluded.
        """
        if threads(self.state) or kept(self.state) or not self.layout.rollouts.exists():
            return
        count = restore(self.state, self._in_files())
        self._befell = (*remarks(self.state), *([f"what {count:,} sessions gave was taken back from the files"] if count else []))

    def _in_files(self) -> Sequence[Kept]:
        return rebuild(read_back(read_folder(self._files, self.layout.rollouts).files)).kept

    def _all_left_out(self) -> bool:
        """Whether everything in the files is excluded from memory, by the user or because of the
        sessions themselves.
        """
        modes = {each.id: each.mode for each in threads(self.state)}
        remembered = [each.extracted.thread for each in self._in_files()]
        return bool(remembered) and all(modes.get(thread, "enabled") != "enabled" for thread in remembered)

    def stages(self, rollouts: RolloutsSettings) -> Stages:
        """The two stages, for a worker."""
        once = partial(self._extract, rollouts)
        return Stages(
            extract=partial(once, final=False), consolidate=partial(self._consolidate, rollouts), last_extract=partial(once, final=True)
        )

    def _governed(self) -> tuple[SpendGovernor, Callable[[Receipt], object]]:
        told = Traces(self.settings.telemetry, "", self.clock).receipt
        governor = SpendGovernor(self._database, "", clock=self.clock, settings=self.settings.spend, told=told)
        return governor, lambda receipt: governor.keep(_without_answer(receipt))

    async def _extract(self, rollouts: RolloutsSettings, thread: Thread, *, final: bool) -> Extracted:
        governor, record = self._governed()
        means = StageMeans(
            files=self._files,
            clock=self.clock,
            model=self._model(rollouts.model),
            limits=self.settings.forks,
            governor=governor,
            record=record,
            final=final,
        )
        try:
            made = await extract(thread, means)
        finally:
            governor.give_up()
        if made.outside and rollouts.pollutes:
            set_mode(self.state, thread.id, "polluted", self.terms)
        return made

    async def _consolidate(self, rollouts: RolloutsSettings, mine: Callable[[], bool]) -> Sequence[Extracted]:
        governor, record = self._governed()
        means = ConsolidationMeans(
            folder=self.layout.rollouts,
            state=self.layout.rollouts_state,
            files=self._files,
            clock=self.clock,
            model=self._model(rollouts.consolidation_model, rollouts.model),
            settings=rollouts,
            governor=governor,
            record=record,
        )
        rows = kept(self.state)
        emptied = not rows and self._all_left_out()
        try:
            made = self._consolidated = await consolidate_folder(means, rows, _Alive(mine), emptied=emptied)
        finally:
            governor.give_up()
        return made.selected

    def means(self, rollouts: RolloutsSettings, told: Callable[[Told], None], *, terms: Terms | None = None) -> Means:
        """The dependencies of a worker."""
        return Means(
            state=self.state,
            settings=rollouts,
            terms=terms or self.terms,
            stages=self.stages(rollouts),
            clock=self.clock,
            told=told,
            look=self.look,
        )

    def plan(self, named: Sequence[Path] = (), max_age_days: int | None = None) -> Plan:
        """Find sessions and say which of them a sync would extract.

        Raises StoreError, and NothingToDo when there are none.
        """
        found = self.look(named)
        rollouts = self._terms_of_search(named, max_age_days)
        below = tuple(os.path.realpath(folder) for folder in named)
        mine = [each for each in threads(self.state) if not below or _below(each.path, below)]
        if not mine and not found.passed:
            raise NothingToDo("there are no recorded sessions here; name folders that hold some with --sessions DIR")
        means = replace(
            self.means(rollouts, lambda _: None), look=lambda: None, only=frozenset(each.id for each in mine) if named else None
        )
        return Plan(found=found, sessions=len(mine), eligible=tuple(eligible_threads(means)), means=means)

    def _terms_of_search(self, named: Sequence[Path], max_age_days: int | None) -> RolloutsSettings:
        """The settings of a search: folders that the user names are searched regardless of age and
        source.
        """
        rollouts = self.settings.rollouts
        if max_age_days is not None:
            rollouts = replace(rollouts, max_age_days=max_age_days)
        if not named:
            return rollouts
        return replace(
            rollouts,
            max_age_days=ALL_AGES if max_age_days is None else max_age_days,
            min_idle_hours=0,
            sources=tuple({each.source for each in threads(self.state)}),
            scan=max(rollouts.scan, len(threads(self.state))),
        )

    async def sync(self, plan: Plan, told: Callable[[Told], None] = lambda _: None) -> Synced:
        """Extract the plan's eligible sessions and consolidate, without the cooldown between two
        consolidations.

        Raises StoreError, ModelNameError.
        """
        self.need_models()
        began = self.clock.monotonic()
        said: list[Told] = []

        def hear(what: Told) -> None:
            said.append(what)
            told(what)

        self._consolidated = None
        terms = replace(self.terms, cooldown_seconds=0)
        await one_round(replace(plan.means, told=hear, terms=terms), worker_name())
        done, waits = parted(said)
        extracts = [each for each in done if each.kind == "extract"]
        instead = without_model(kept(self.state), {each.key for each in extracts if each.outcome == "kept"})
        failed = [Failed(each.key, each.reason) for each in done if each.outcome in ("failed", "lost")]
        files = self.consolidation
        return Synced(
            found=plan.sessions,
            eligible=len(plan.eligible),
            claimed=len(extracts),
            extracted=sum(each.outcome == "kept" for each in extracts),
            no_op=sum(each.outcome == "nothing" for each in extracts),
            failed=tuple(failed),
            consolidated=len(files.selected) if files is not None and files.outcome == "changed" else 0,
            seconds=round(self.clock.monotonic() - began, 3),
            passed=plan.found.passed,
            waits=tuple(waits),
            way="" if files is None else files.way,
            remarks=(*self._befell, *instead, *(() if files is None else (*files.remarks, *([files.why] if files.why else [])))),
        )

    async def close(self) -> None:
        """Close models and databases. May be called twice."""
        for model in self._models.values():
            if model is not None:
                await model.close()
        self._models.clear()
        self.state.close()
        self._database.close()


@contextlib.asynccontextmanager
async def past_sessions(settings: Settings, *, model: Model | None = None) -> AsyncIterator[PastSessions]:
    """Open the pipeline, and close it in any case."""
    opened = PastSessions(settings, model=model)
    try:
        yield opened
    finally:
        await opened.close()


def _below(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder.rstrip('/')}/") for folder in folders)


def _without_answer(receipt: Receipt) -> Receipt:
    """Remove the answer from a receipt: it may hold what is to be forgotten, or a secret that is
    redacted only later.

    Reasons stay.
    """
    answered = receipt.outcome in (Outcome.CHANGED, Outcome.UNCHANGED, Outcome.OVER_LIMIT)
    return replace(receipt, said="" if answered else redact(receipt.said).text)
