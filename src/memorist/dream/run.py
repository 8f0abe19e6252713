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

from memorist.auto_memory.changes import headline
from memorist.auto_memory.evidence import Evidence
from memorist.auto_memory.index import Uses
from memorist.auto_memory.topic import moment
from memorist.dream.checks import Made, made, most_retired
from memorist.dream.gates import Host, Known, Look, Open, Shut, judge, others
from memorist.dream.gather import found
from memorist.dream.journal import Dreamt, counted
from memorist.dream.lock.run import Blocked, DreamLock
from memorist.dream.logs.run import DailyLogs
from memorist.dream.look.run import Past, seen_sessions
from memorist.dream.prompt import Material, Shown, shown, task
from memorist.dream.settings import DreamSettings
from memorist.dream.writing.run import Place, Ready, carry_out, keep_journal, ready
from memorist.errors import MemoristError, StoreError
from memorist.events import Dreamed, DreamFailed, Event
from memorist.forks.governed.run import run_on_copy
from memorist.forks.governor import Governor
from memorist.forks.lane import Lane
from memorist.forks.spec import FolderAccess, ForkLimits, ForkSpec, Outcome, Receipt, untaken
from memorist.ports import Model
from memorist.prompts.load import load
from memorist.store.overlay import OverlayFiles
from memorist.telemetry.run import causes

LABEL = "dream"
ENDED = (Outcome.CHANGED, Outcome.UNCHANGED)


class DreamMeans(Struct, frozen=True, kw_only=True):
    """Dependencies of dreams. All callables run on the event loop's own thread."""

    place: Place
    settings: Callable[[], DreamSettings]
    """The current settings: a flag may change them during a session."""
    session: str = ""
    """Id of the session whose turn ends may trigger dreams; it is never examined itself.

    Empty outside a session.
    """
    host: Host = Host()
    model: Model | None
    limits: ForkLimits
    governor: Governor
    past: Callable[[], Sequence[Past]]
    """All sessions of the project."""
    uses: Callable[[], Mapping[str, Uses]]
    tell: Callable[[Event], None]
    record: Callable[[Receipt], object]


class _Fork(Struct, frozen=True, kw_only=True):
    """The result of the model's part."""

    made: Made = Made()
    said: str = ""
    failed: str = ""
    behind: Evidence = Evidence()
    news: bool = True
    """False if the budget governor refused, which it reports once itself."""
    receipt: Receipt | None = None
    """To be recorded once it is known what of its work was written; None if already recorded."""


class Dream:
    """The dreams of one project, for one session or one command."""

    def __init__(self, means: DreamMeans) -> None:
        self._means = means
        self._clock = means.place.clock
        self._lock = DreamLock(means.place.where, means.place.clock)
        self._lane = Lane(means.place.clock, failed=self._broken)
        self._scanned: float | None = None

    @property
    def _settings(self) -> DreamSettings:
        return self._means.settings()

    def turn_ended(self) -> None:
        """Dream in the background if every gate is open. Costs one stat, mostly not even that."""
        with contextlib.suppress(StoreError):  # a lock that cannot be read is met again by whoever asks for the gates
            verdict = self._first()
            if isinstance(verdict, Look) and not self._lane.busy:
                self._lane.offer(self._if_due)

    async def _if_due(self) -> None:
        verdict = await self.gates()
        if isinstance(verdict, Open):
            await self.dream(verdict.why, verdict.sessions)

    def _first(self) -> Open | Shut | Look:
        known = Known(now=self._clock.now(), host=self._means.host, scanned=self._scanned)
        verdict = judge(known, self._settings)
        return judge(replace(known, last=self._lock.last()), self._settings) if isinstance(verdict, Look) else verdict

    async def gates(self) -> Open | Shut:
        """Tell whether it is time, and why or why not. Raises StoreError."""
        verdict = self._first()
        if not isinstance(verdict, Look):
            return verdict
        sessions = await self._others(verdict.since)
        self._scanned = self._clock.now()
        known = Known(now=self._scanned, host=self._means.host, last=self._lock.last(), sessions=sessions)
        answer = judge(known, self._settings)
        # Every fact is given; only a lock that was taken meanwhile can leave something to look for.
        return answer if isinstance(answer, Open | Shut) else Shut("sessions", "another dream began meanwhile")

    async def _others(self, since: float) -> tuple[str, ...]:
        past = self._means.past()
        seen = await asyncio.to_thread(seen_sessions, past, self._means.place.files)
        return others(seen, current=self._means.session, since=since)

    async def news(self) -> bool:
        """Tell whether there is anything the last dream could not know: another session, or a daily
        log that may have grown. Raises StoreError.
        """
        last = self._lock.last()
        if last is None or await self._others(last):
            return True
        logs = DailyLogs(self._means.place.where, self._means.place.files).newest(1)
        return bool(logs) and logs[0][0] >= moment(last)[:10]

    async def dream(self, why: str, sessions: Sequence[str] | None = None, *, asked: bool = False, dry_run: bool = False) -> Dreamt:
        """Dream now, whatever the gates say, unless another process does.

        `sessions` are those to learn from; None takes all since the last dream.

        A dry run takes no lock, writes nothing, and shows what it would do. If the dream does not
        complete, the time of the last one stands. Raises StoreError, InputError.
        """
        if self._means.place.memory.policy == "off":
            return Dreamt(ran=False, why="nothing is written while auto_memory.policy is off")
        if sessions is None:
            sessions = await self._others(self._lock.last() or 0.0)
        if dry_run:
            return replace(await self._dreamt(why, sessions, asked=asked, dry_run=True), why=why)
        taken = self._lock.take()
        if isinstance(taken, Blocked):
            return Dreamt(ran=False, why=taken.why)
        ended = False
        try:
            dreamt = await self._dreamt(why, sessions, asked=asked)
            ended = not dreamt.failed
        finally:
            taken.done() if ended else taken.failed()
        return dreamt

    @causes(LABEL)
    async def _dreamt(self, why: str, sessions: Sequence[str], *, asked: bool, dry_run: bool = False) -> Dreamt:
        means, began = self._means, self._clock.monotonic()
        place = replace(means.place, dream=self._settings, uses=means.uses())
        fork = _Fork()
        if means.model is not None:
            prepared = await asyncio.to_thread(ready, place, means.past(), sessions)
            fork = await self._by_model(means.model, prepared, why, asked=asked)
        receipt = fork.receipt and untaken(fork.receipt)
        try:
            dreamt, events = await _to_its_end(lambda: carry_out(place, fork.made, fork.behind, dry_run=dry_run))
            receipt = receipt if dry_run else fork.receipt and _honest(fork.receipt, fork.made, dreamt)
        finally:
            if receipt is not None:
                means.record(receipt)
        dreamt = replace(
            dreamt,
            way="structural" if means.model is None else "model",
            why=why,
            said=fork.said,
            failed=fork.failed,
            refused=(*dreamt.refused, *((("the model's changes", fork.made.refused),) if fork.made.refused else ())),
        )
        if not dry_run:
            if dreamt.acts or dreamt.waiting or dreamt.refused or dreamt.remarks or (dreamt.failed and fork.news):
                await asyncio.to_thread(keep_journal, place, dreamt)
            self._tell(dreamt, events, self._clock.monotonic() - began)
        return dreamt

    def _tell(self, dreamt: Dreamt, events: Sequence[Event], seconds: float) -> None:
        what = headline("dream", counted(dreamt.acts) or "nothing to do")
        last: Event = Dreamed(dreamt.change, dreamt.way, what, len(dreamt.waiting), seconds)
        with contextlib.suppress(StoreError):  # an event log that cannot be written takes nothing back
            for event in (*events, last):
                self._means.tell(event)
            if dreamt.failed:
                self._means.tell(DreamFailed(dreamt.failed))

    async def _by_model(self, model: Model, prepared: Ready, why: str, *, asked: bool) -> _Fork:
        """Run a fork on a copy of the folder as rules leave it.

        Nothing of it reaches the disk here.
        """
        means = self._means
        folder = means.place.files.resolve(means.place.where.folder)
        overlay = OverlayFiles(means.place.files)
        for path, data in prepared.after().items():  # all of it: what others write meanwhile is no part of the copy
            overlay.write(folder / path, data)
        for change in prepared.plan.changes:
            if change.after is None:
                overlay.remove(folder / change.path)
        material = shown(
            Material(
                folder=folder,
                index=prepared.index,
                topics=prepared.shown,
                logs=prepared.logs,
                sayings=found(prepared.shown, prepared.heard.sayings),
                instructions=prepared.instructions,
            ),
            limit=self._settings.material,
        )
        spec = replace(self._spec(prepared, material, why), asked=asked)
        receipt = await run_on_copy(spec, model=model, files=overlay, clock=self._clock, governor=means.governor, record=means.record)
        if receipt.outcome is Outcome.BLOCKED:
            return _Fork(failed=receipt.said, news=False)
        if receipt.outcome not in ENDED:
            means.record(untaken(receipt))
            return _Fork(failed=receipt.said or receipt.outcome.value)
        return _Fork(made=self._made(overlay, prepared), said=receipt.said, behind=prepared.heard.behind, receipt=receipt)

    def _made(self, overlay: OverlayFiles, prepared: Ready) -> Made:
        """Review what the model did, apart from what rules had done before it."""
        folder = self._means.place.files.resolve(self._means.place.where.folder)
        ruled, before = prepared.after(), prepared.held.data
        copied = {path.relative_to(folder).as_posix(): data for path, (_, data) in overlay.changed().items() if path.is_relative_to(folder)}
        by_model = {path: (before.get(path), data) for path, data in copied.items() if data != ruled.get(path)}
        return made(by_model, ruled, self._settings)

    def _spec(self, prepared: Ready, material: Shown, why: str) -> ForkSpec:
        folder = self._means.place.files.resolve(self._means.place.where.folder)
        return ForkSpec(
            label=LABEL,
            why=why,
            digest=material.text,
            instruction=task(
                load("dream/dream"), folder, now=self._clock.now(), retired=most_retired(len(prepared.after()), self._settings)
            ),
            permission=FolderAccess(folder=folder, read_anywhere=False),
            limits=self._means.limits,
            given=tuple(folder / path for path in material.paths),
            one_round=True,
        )

    def _broken(self, error: BaseException) -> None:
        """Report an error of a background dream as an event; the host goes on."""
        with contextlib.suppress(StoreError):
            self._means.tell(DreamFailed(str(error) if isinstance(error, MemoristError) else f"{type(error).__name__}: {error}"))

    async def close(self) -> None:
        """Close the model, for a command that opened it for its dreams only."""
        if self._means.model is not None:
            await self._means.model.close()

    async def drain(self) -> None:
        """Wait for a running dream, as long as for an extraction; then cancel it, and the time of
        the last one stands.
        """
        await self._lane.drain(self._means.place.memory.drain_seconds)


async def _to_its_end(work: Callable[[], tuple[Dreamt, list[Event]]]) -> tuple[Dreamt, list[Event]]:
    """Run the work in a thread; a cancelled caller waits for its end, so that nothing is written
    after the lock is released.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        raise


def _honest(receipt: Receipt, model: Made, dreamt: Dreamt) -> Receipt:
    """Correct the receipt to what was really written of the fork's work (FK-8).

    A retired memory has no bytes left, whatever the fork left of it.
    """
    kept = {act.path: act.did for act in dreamt.acts if act in model.acts}
    written = [(file, path) for file in receipt.files for path in kept if file.path.endswith("/" + path)]
    files = tuple(replace(file, after=None) if kept[path] == "retired" else file for file, path in written)
    return replace(receipt, files=files, outcome=Outcome.CHANGED) if files else untaken(receipt)
