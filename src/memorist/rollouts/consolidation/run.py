"""Stage two: update the folder to the sessions by rule, and let a model reword it within bounds
(RO-5).

The order is that of codex.md section 1.8. The fork works on files in memory; its result is
reviewed, and all of it goes into the folder in one recorded step. Whatever fails on the way, the
folder stays as it was or is what structure alone makes of it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.errors import StoreError
from memorist.forks.governed.run import run_on_copy
from memorist.forks.governor import Governor, Ungoverned
from memorist.forks.spec import FolderAccess, ForkLimits, ForkSpec, Outcome, Receipt, untaken
from memorist.ports import Clock, Files, Model
from memorist.prompts.load import load
from memorist.rollouts.accepting import Void, accept, too_large
from memorist.rollouts.artefacts import moment
from memorist.rollouts.baseline.run import Baseline
from memorist.rollouts.consolidate import Report
from memorist.rollouts.difference import compare, difference_text
from memorist.rollouts.drafting import Draft, Given, draft_of, settled, with_files
from memorist.rollouts.folder.run import Swap, Tree, begin, finish, forget_swap, read_folder, refuse_link
from memorist.rollouts.hand_edits import Files as Values
from memorist.rollouts.handbook import HANDBOOK, MADE
from memorist.rollouts.material import Texts, Work, instruction, material, shown_groups
from memorist.rollouts.overview import SUMMARY
from memorist.rollouts.select import select
from memorist.rollouts.settings import RolloutsSettings
from memorist.store.files import discard_leftovers, present
from memorist.store.locks import held
from memorist.store.overlay import OverlayFiles
from memorist.store.thread import Extracted, Kept

LABEL = "consolidation"
BEAT_SECONDS = 90.0
"""Heartbeat interval (codex.md section 1.8)."""
LIMITS = ForkLimits(turns=4, requests=6, tokens=300_000, seconds=600.0, output=32_000)
"""Limits of the fork: edits in one answer and two rounds to fix them. codex.md section 1.8 has no
bound, and users have paid for that (part 7).
"""


class Hold(Protocol):
    """The lease on the one consolidation of a home, provided by the job store."""

    def beat(self) -> bool:
        """Renew the lease; False if another holds it now. Raises StoreError."""
        ...


class ConsolidationMeans(Struct, frozen=True, kw_only=True):
    """Dependencies of a consolidation."""

    folder: Path
    state: Path
    """Folder next to the memory folder: the accepted state, the change under way, the lock, and
    what the user removed.
    """
    files: Files
    clock: Clock
    model: Model | None = None
    """None uses structure alone."""
    limits: ForkLimits = LIMITS
    settings: RolloutsSettings = RolloutsSettings()
    governor: Governor = Ungoverned()
    record: Callable[[Receipt], object] = lambda _: None


class Consolidation(Struct, frozen=True, kw_only=True):
    """The result of a run."""

    outcome: Literal["changed", "unchanged", "empty", "lost"]
    """`empty`: no session is left although the folder remembers some, which is believed only on
    demand. `lost`: another holds the lease now, and nothing was written.
    """
    way: Literal["model", "structural", ""] = ""
    why: str = ""
    """Why structure was used although there is a model, or why nothing was done."""
    report: Report = Report()
    selected: tuple[Extracted, ...] = ()
    """What is in the folder now."""
    paths: tuple[str, ...] = ()
    """Changed files, sorted."""
    remarks: tuple[str, ...] = ()
    receipt: Receipt | None = None


async def consolidate_folder(means: ConsolidationMeans, rows: Sequence[Kept], hold: Hold, *, emptied: bool = False) -> Consolidation:
    """Bring the folder up to date with these rows (all that may be used; the selection is made
    here). `emptied` accepts an empty selection.

    Raises WriteConflict if another writer changed the folder meanwhile: nothing was written, try
    again later. Raises StoreError if the disk refuses, or the folder contains links.
    """
    return await _Run(means, hold).run(rows, emptied=emptied)


def recover(means: ConsolidationMeans) -> bool:
    """Finish a change that a kill interrupted; True if there was one. Raises StoreError."""
    with held(means.state / "lock"):
        return _Run(means, None).settled()


class _Run:
    """One run."""

    def __init__(self, means: ConsolidationMeans, hold: Hold | None) -> None:
        self._means = means
        self._hold = hold
        self._files = means.files
        self._folder = means.files.resolve(means.folder.parent) / means.folder.name
        self._baseline = Baseline(means.state / "baseline")
        self._journal = means.state / "swap.json"
        self._dropped = means.state / "dropped.json"
        self._remarks: list[str] = []

    async def run(self, rows: Sequence[Kept], *, emptied: bool) -> Consolidation:
        settings, clock = self._means.settings, self._means.clock
        with held(self._means.state / "lock"):
            self.settled()
            tree = read_folder(self._files, self._folder)
            base = self._baseline.files()
        self._remarks += [*tree.passed, *([self._baseline.damaged] if self._baseline.damaged else [])]
        clean = [row for row in rows if not (settings.pollutes and row.extracted.outside)]
        chosen = select(clean, limit=settings.consolidated, unused_days=settings.unused_days, now=clock.now())
        if not chosen and not emptied and any(path.startswith("rollout_summaries/") for path in base):
            return Consolidation(outcome="empty", why=_EMPTY, remarks=tuple(self._remarks))
        given = Given(
            rows=chosen,
            present=tree.files,
            base=base,
            dropped=self._known_dropped(),
            today=moment(int(clock.now()))[:10],
            lean=settings.form == "lean",
            lean_bytes=settings.lean_bytes,
        )
        selected = tuple(row.extracted for row in chosen)
        if settled(given):
            return Consolidation(outcome="unchanged", selected=selected, remarks=tuple(self._remarks))
        draft = draft_of(given)
        self._remarks += draft.remarks
        if draft.files == tree.files:
            return self._unchanged(tree, base, draft, selected)
        draft, way, why, receipt = await self._worded(draft, given)
        landed = False
        try:
            if not self._alive():
                return Consolidation(outcome="lost", why=_LOST, remarks=tuple(self._remarks), receipt=receipt and untaken(receipt, _LOST))
            self._swap(tree, draft)
            landed = way == "model"
        finally:
            receipt = receipt if landed or receipt is None else untaken(receipt, why)
            if receipt is not None and receipt.outcome is not Outcome.BLOCKED:
                self._means.record(receipt)
        paths = tuple(sorted(compare(tree.files, draft.files).paths))
        return Consolidation(
            outcome="changed",
            way=way,
            why=why,
            report=draft.report,
            selected=selected,
            paths=paths,
            remarks=tuple(self._remarks),
            receipt=receipt,
        )

    def settled(self) -> bool:
        """Finish an interrupted change and remove its leftovers, which may contain text that is to
        be forgotten. Call under the lock.
        """
        refuse_link(self._files, self._folder)
        for place in (self._means.state, self._folder, self._folder / "rollout_summaries", *self._folder.glob("skills/*")):
            discard_leftovers(place)
        accepted = finish(self._files, self._folder, self._journal)
        if accepted is None:
            return False
        self._baseline.accept(accepted, self._means.clock.now())
        forget_swap(self._files, self._journal)
        return True

    def _known_dropped(self) -> frozenset[str]:
        data = present(self._files, self._dropped)
        try:
            return msgspec.json.decode(data, type=frozenset[str]) if data else frozenset()
        except msgspec.DecodeError:
            self._remarks.append("the list of what you took out by hand was damaged and is begun anew")
            return frozenset()

    def _unchanged(self, tree: Tree, base: Mapping[str, bytes], draft: Draft, selected: tuple[Extracted, ...]) -> Consolidation:
        """Accept the current state if it is not accepted yet; nothing is written to the folder."""
        if tree.files != base and self._alive():
            self._swap(tree, draft)
        return Consolidation(outcome="unchanged", selected=selected, report=draft.report, remarks=tuple(self._remarks))

    def _alive(self) -> bool:
        return self._hold is None or self._hold.beat()

    def _swap(self, tree: Tree, draft: Draft) -> None:
        """Write the result into the folder and accept it."""
        found = compare(tree.files, draft.files)
        before = {path: tree.files.get(path) for path in sorted(found.paths)}
        after = {path: draft.files.get(path) for path in sorted(found.paths)}
        with held(self._means.state / "lock"):
            if draft.dropped:
                self._files.write(self._dropped, msgspec.json.encode(sorted(draft.dropped)))
            begin(self._files, self._folder, self._journal, Swap(before=before, after=after, accepted=draft.files))
            self.settled()

    async def _worded(self, draft: Draft, given: Given) -> tuple[Draft, Literal["model", "structural"], str, Receipt | None]:
        """Return the draft reworded by the model, or the draft itself and why."""
        model = self._means.model
        if model is None or given.lean or not draft.touched:
            return draft, "structural", "", None
        try:
            overlay, receipt = await self._forked(model, draft, given)
        except _LeaseLostError:
            return draft, "structural", _LOST, None
        if receipt.outcome is Outcome.BLOCKED:
            return draft, "structural", f"no model was asked: {receipt.said}", receipt
        if receipt.outcome not in (Outcome.CHANGED, Outcome.UNCHANGED):
            return draft, "structural", f"the model did not finish: {receipt.said}", receipt
        made = {path.relative_to(self._folder).as_posix(): pair for path, pair in overlay.changed().items()}
        huge = next(filter(None, (too_large(path, *pair) for path, pair in made.items())), "")
        verdict = Void(huge) if huge else accept(draft.values, {path: after for path, (_, after) in made.items()})
        if isinstance(verdict, Void):
            return draft, "structural", f"the model's work was refused: {verdict.why}", receipt
        self._remarks += [] if made else ["the model changed nothing of the draft that was made by structure"]
        self._remarks += [f"the model also wrote {', '.join(verdict.ignored)}, which is ignored"] if verdict.ignored else []
        self._remarks += [f"{verdict.put_back} claims that the model had left out were put back"] if verdict.put_back else []
        self._remarks += [f"{verdict.unsupported} claims of the model without a session were taken out"] if verdict.unsupported else []
        line = f"{MADE}{given.today} by {model.name}; each claim is of the sessions it names."
        handbook = replace(verdict.files.handbook, made=line)
        return with_files(draft, Values(handbook, verdict.files.summary)), "model", "", receipt

    async def _forked(self, model: Model, draft: Draft, given: Given) -> tuple[OverlayFiles, Receipt]:
        """Run the fork on the draft, in memory."""
        drafted = OverlayFiles(self._files)
        for path in (HANDBOOK, SUMMARY):
            drafted.write(self._folder / path, draft.files[path])
        overlay = OverlayFiles(drafted)
        shown = shown_groups(draft.values.handbook, draft.touched)
        work = Work(
            folder=str(self._folder),
            draft=draft.values,
            touched=shown,
            difference=difference_text(given.base, draft.files),
            rows=[row.extracted for row in given.rows if row.extracted.thread in draft.fresh],
            first=HANDBOOK not in given.base,
            today=given.today,
        )
        texts = Texts(load("rollouts/consolidate"), load("rollouts/consolidate_first"), load("rollouts/consolidate_again"))
        spec = ForkSpec(
            label=LABEL,
            why="what past sessions say has changed",
            digest=material(work),
            instruction=instruction(work, texts),
            permission=FolderAccess(folder=self._folder, read_anywhere=False),
            limits=self._means.limits,
            given=(self._folder / HANDBOOK, self._folder / SUMMARY),
        )
        means = self._means
        running = run_on_copy(spec, model=model, files=overlay, clock=means.clock, governor=means.governor, record=means.record)
        return overlay, await self._beside_heartbeat(running)

    async def _beside_heartbeat(self, running: Coroutine[Any, Any, Receipt]) -> Receipt:
        """Return the fork's receipt; raises _LeaseLostError, with the fork cancelled, if the lease
        is lost.
        """
        fork = asyncio.create_task(running)
        beating = asyncio.create_task(self._beating())
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

    async def _beating(self) -> None:
        """Renew the lease until it is lost."""
        while True:
            await self._means.clock.sleep(BEAT_SECONDS)
            try:
                if not self._alive():
                    return
            except StoreError:
                return


class _LeaseLostError(Exception):
    pass


_LOST = "another process holds the consolidation now"
_EMPTY = "no session is left, although the folder remembers some: nothing was deleted"
