"""The part of a dream that works on the folder: prepared and written in a thread, with a memory
instance of its own, as another process would (DR-4).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.changes import Change, Why, headline
from memorist.auto_memory.evidence import Evidence
from memorist.auto_memory.gate import Accepted, Doubtful, judge, merged_reasons
from memorist.auto_memory.inbox.run import Proposal
from memorist.auto_memory.index import Uses, points_to
from memorist.auto_memory.run import AutoMemory, Written
from memorist.auto_memory.settings import AutoMemorySettings
from memorist.auto_memory.topic import Topic, parse
from memorist.context.settings import ContextSettings
from memorist.dream.checks import Made
from memorist.dream.conflicts import Instruction
from memorist.dream.diffs import diff
from memorist.dream.journal import HEADING, Dreamt, counted, entry
from memorist.dream.logs.run import DailyLogs
from memorist.dream.look.run import Heard, Past, heard_in, held_by, instruction_files
from memorist.dream.settings import DreamSettings
from memorist.dream.structural import Held, Plan, plan
from memorist.errors import InputError, StoreError, WriteConflict
from memorist.events import Event
from memorist.ports import Clock, Files
from memorist.store.files import present
from memorist.store.layout import MemoryLayout
from memorist.store.locks import held as locked

TRIES = 3
"""How often a dream starts over because a file changed meanwhile."""
ASKED = 5_000
"""Newest marks of asked questions that are remembered."""


class Place(Struct, frozen=True, kw_only=True):
    """The folder and the dependencies for working on it."""

    where: MemoryLayout
    project: str
    """Root folder of the project; empty if unknown."""
    files: Files
    clock: Clock
    memory: AutoMemorySettings
    dream: DreamSettings
    context: ContextSettings
    uses: Mapping[str, Uses] = {}


class Ready(Struct, frozen=True, kw_only=True):
    """A folder prepared for a dream."""

    held: Held
    plan: Plan
    """What rules prove."""
    shown: tuple[Topic, ...] = ()
    """The memories that a model may be shown, as rules leave them: doubtful ones first, then the
    newest.
    """
    index: str = ""
    logs: tuple[tuple[str, str], ...] = ()
    heard: Heard = Heard()
    instructions: tuple[Instruction, ...] = ()

    def after(self) -> dict[str, bytes]:
        """Return every memory as rules leave it."""
        now = dict(self.held.data)
        for change in self.plan.changes:
            now.pop(change.path, None)
            if change.after is not None:
                now[change.path] = change.after
        return now


@contextlib.contextmanager
def opened(place: Place) -> Iterator[AutoMemory]:
    """Open the memory for the calling thread."""
    memory = AutoMemory(place.where, files=place.files, clock=place.clock, settings=place.memory, used=lambda: place.uses)
    try:
        yield memory
    finally:
        memory.close()


def ready(place: Place, past: Sequence[Past] = (), chosen: Sequence[str] = ()) -> Ready:
    """Read the folder and work out what rules prove; for a model, also what it may learn from the
    `chosen` sessions. Raises StoreError.
    """
    instructions = instruction_files(place.project, place.files, place.context)
    with opened(place) as memory:
        found = held_by(memory, place.files, instructions=instructions, asked=_asked(place))
        proven = plan(found, most_questions=place.dream.questions)
        result = Ready(held=found, plan=proven, instructions=instructions)
        fit = {head.path: head.modified for head in memory.shown_heads()}
        index = memory.shown_index().text
    now = result.after()
    doubted = {path for each in proven.questions for path in (each.path, each.beside)}
    kept = (topic for topic in found.topics if topic.path in fit and topic.path in now)
    shown = sorted(kept, key=lambda topic: (topic.path not in doubted, -fit[topic.path], topic.path))
    topics = tuple(parse(topic.path, now[topic.path]) for topic in shown)
    index = "".join(line for line in index.splitlines(keepends=True) if points_to(line) in ("", *now))
    logs = DailyLogs(place.where, place.files).newest()
    return replace(result, shown=topics, index=index, logs=logs, heard=heard_in(past, chosen, place.files))


def carry_out(place: Place, model: Made, behind: Evidence, *, dry_run: bool = False) -> tuple[Dreamt, list[Event]]:
    """Write what rules prove of the current folder, and what a model made of it, as one change;
    return the report and the events.

    If another writer interfered, the rules run again, and the model's change of that file is
    dropped. Raises StoreError, InputError.
    """
    instructions = instruction_files(place.project, place.files, place.context)
    for left in reversed(range(TRIES)):
        events: list[Event] = []
        try:
            with opened(place) as memory:
                return _Writing(place, memory, model, behind, events).done(instructions, dry_run=dry_run), events
        except WriteConflict:
            if not left:
                raise
    raise InputError("a dream is tried at least once")


class _Writing:
    def __init__(self, place: Place, memory: AutoMemory, model: Made, behind: Evidence, events: list[Event]) -> None:
        self._place = place
        self._memory = memory
        self._model = model
        self._behind = behind
        self._events = events

    def done(self, instructions: Sequence[Instruction], *, dry_run: bool) -> Dreamt:
        found = held_by(self._memory, self._place.files, instructions=instructions, asked=_asked(self._place))
        rules = plan(found, most_questions=self._place.dream.questions)
        mine = [change for change in self._model.changes if change.path not in found.kept]
        fresh = [change for change in mine if found.data.get(change.path) == change.before]
        taken = {change.path for change in fresh}
        stale = [
            (change.path, "it changed meanwhile" if change.path not in found.kept else "the person took back what a dream did to it")
            for change in self._model.changes
            if change.path not in taken
        ]
        proven = [change for change in rules.changes if change.path not in taken]
        changes = sorted((*proven, *fresh), key=lambda change: change.after is None)
        acts = tuple(act for act in (*rules.acts, *self._model.acts) if (act in self._model.acts) == (act.path in taken))
        said = replace(self._behind, proven=tuple(change.path for change in proven))
        dreamt = Dreamt(acts=acts, remarks=rules.remarks, refused=tuple(stale))
        if dry_run:
            return self._shown(dreamt, changes, said, rules)
        why = Why(actor="dream", what=headline("dream", counted(acts)))
        written = self._memory.write(changes, why, said, tell=self._events.append) if changes else Written()
        waiting = [*written.waiting, *self._ask(rules)]
        return replace(
            dreamt,
            change=written.change,
            acts=tuple(act for act in acts if act.path in written.paths),
            waiting=tuple((each.id, each.path, "; ".join(each.reasons)) for each in waiting),
            refused=(*dreamt.refused, *((each.path, "; ".join(each.reasons)) for each in written.refused)),
        )

    def _ask(self, rules: Plan) -> list[Proposal]:
        """Put the questions of rules and model into the inbox."""
        asked: list[Proposal] = []
        wanted = [(each.path, each.why) for each in rules.questions]
        wanted += [(change.path, why) for change, why in self._model.questions]
        for path, why in wanted:
            data = present(self._place.files, self._place.where.folder / path)
            if data is not None:
                reason = Why(actor="dream", what=headline("dream asks", f"forget {path}?"))
                asked += self._memory.ask([Change(path=path, before=data, after=None)], reason, why, tell=self._events.append).waiting
        _keep_asked(self._place, [each.mark for each in rules.questions])
        return asked

    def _shown(self, dreamt: Dreamt, changes: Sequence[Change], said: Evidence, rules: Plan) -> Dreamt:
        """Return what would be written, and what would wait."""
        case = self._memory.case("dream", said, {change.path for change in changes})
        verdicts = [judge(change, case) for change in changes]
        review = self._place.memory.policy == "review"
        accepted = [each.change for each in verdicts if isinstance(each, Accepted) and not review]
        held_up = [(each.change.path, "; ".join(each.reasons)) for each in verdicts if isinstance(each, Doubtful)]
        held_up += [(each.change.path, "the policy is review") for each in verdicts if review and isinstance(each, Accepted)]
        held_up += [(each.path, each.why) for each in rules.questions]
        held_up += [(change.path, why) for change, why in self._model.questions]
        refused = [(each.path, merged_reasons([each])) for each in verdicts if not isinstance(each, Accepted | Doubtful)]
        paths = {change.path for change in accepted}
        return replace(
            dreamt,
            acts=tuple(act for act in dreamt.acts if act.path in paths),
            waiting=tuple(("", path, why) for path, why in held_up),
            refused=(*dreamt.refused, *((path, "; ".join(reasons)) for path, reasons in refused)),
            diff=diff(accepted),
        )


def _asked_file(place: Place) -> Path:
    return place.where.dream / "asked.json"


def _asked(place: Place) -> tuple[str, ...]:
    try:
        return msgspec.json.decode(place.files.read(_asked_file(place)), type=tuple[str, ...])
    except (FileNotFoundError, msgspec.DecodeError):
        return ()


def _keep_asked(place: Place, marks: Sequence[str]) -> None:
    if marks:
        known = dict.fromkeys((*_asked(place), *marks))
        place.files.write(_asked_file(place), msgspec.json.encode(tuple(known)[-ASKED:]))


def keep_journal(place: Place, dreamt: Dreamt) -> None:
    """Append a dream to the journal.

    If the disk refuses, only the entry is lost: the history has the change.
    """
    path = journal_of(place.where)
    with contextlib.suppress(StoreError), locked(place.where.lock):
        new = place.files.facts(path) is None
        place.files.append(path, ((HEADING if new else "") + entry(dreamt, place.clock.now())).encode("utf-8", "replace"))


def journal_of(where: MemoryLayout) -> Path:
    """Return the path of the journal of dreams."""
    return where.dream / "journal.md"
