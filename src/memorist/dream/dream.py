"""Consolidate one project's memory between sessions, by rule and, if there is a model, by a fork on
a copy (DR-3 to DR-5).

Rules run first, then the model on what they leave. The result of both is reviewed, compared with
the disk once more, and written as one change of the history.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.changes import (
    Actor,
    ChangeReason,
    MemoryChange,
    blame_lines,
    render_headline,
)
from memorist.auto_memory.history import RecordedChange
from memorist.auto_memory.inbox import Proposal
from memorist.auto_memory.index import INDEX_NAME, MAX_FILE_BYTES, MemoryUsage, parse_pointer_target
from memorist.auto_memory.memory import AutoMemory
from memorist.auto_memory.topic import Topic, format_utc_timestamp, parse_topic
from memorist.auto_memory.write_evidence import (
    WriteEvidence,
    collect_write_evidence,
    extract_user_text,
)
from memorist.auto_memory.write_gate import AcceptedChange, NeedsReview, judge_change, merge_reasons
from memorist.auto_memory.write_result import WriteResult
from memorist.context.instructions import read_agents_files, read_claude_files
from memorist.core.markdown import load_prompt
from memorist.core.messages import Message, Origin
from memorist.dream.gates import (
    GateClosed,
    GateFacts,
    GateOpen,
    HostConditions,
    NeedsScan,
    SessionActivity,
    judge_gates,
    select_new_sessions,
)
from memorist.dream.journal import (
    JOURNAL_HEADING,
    DailyLogs,
    DreamReport,
    render_diff,
    render_journal_entry,
    summarize_acts,
)
from memorist.dream.lock import DreamLock, DreamLockBusy
from memorist.dream.model_pass import (
    DreamMaterial,
    FittedMaterial,
    ModelChanges,
    UserUtterance,
    build_dream_task,
    fit_material,
    match_utterances,
    max_retired,
    review_model_changes,
)
from memorist.dream.rules import (
    DreamPlan,
    InstructionSource,
    MemorySnapshot,
    paths_needing_times,
    plan_dream,
    prove_line_times,
)
from memorist.errors import InputError, MemoristError, StoreError, WriteConflict
from memorist.events import DreamFailed, DreamFinished, Event
from memorist.extensions import SessionExtension
from memorist.forks.fork import run_on_copy_with_budget
from memorist.forks.queue import BackgroundQueue
from memorist.forks.spec import (
    FolderAccess,
    ForkOutcome,
    ForkSpec,
    ParentCall,
    Receipt,
    discarded_receipt,
)
from memorist.ports import Clock, FileSystem, Model
from memorist.runtime import SessionContext
from memorist.settings import AutoMemorySettings, ContextSettings, DreamSettings
from memorist.store.files import hold_lock as locked
from memorist.store.files import read_if_exists
from memorist.store.layout import MemoryLayout, SessionLayout
from memorist.store.overlay import OverlayFiles
from memorist.store.transcript import read_transcript
from memorist.telemetry.tracing import trace_work
from memorist.transcript.typed_replies import with_typed_replies

# Read a dream's inputs from disk: the folder with its history, past sessions, and instruction
# files. Runs in a thread of its own.


MAX_PAST_SESSIONS = 20
"""Newest past sessions that one dream reads."""
MAX_OUTSIDE_CHARACTERS = 500_000
"""Characters of tool results and the like that a model's changes are compared with, as in an
extraction.
"""
INSTRUCTION_BYTES = 100_000
"""Bytes read of one instruction file."""
_NON_AUTHORS: frozenset[Actor] = frozenset({"dream", "memorist", "undo"})
"""Actors whose change does not make a memory newer."""


class PastSession(Struct, frozen=True):
    """A session of the project, and where its files are."""

    id: str
    folder: Path


class PastEvidence(Struct, frozen=True, kw_only=True):
    """What past sessions hold: the user's utterances, and the evidence behind a model's changes."""

    utterances: tuple[UserUtterance, ...] = ()
    evidence: WriteEvidence = WriteEvidence()


def list_session_activity(past: Iterable[PastSession], files: FileSystem) -> list[SessionActivity]:
    """Return when each session was last written to; those without a transcript are left out.

    Costs one stat each.
    """
    found = []
    for each in past:
        facts = files.facts(SessionLayout(each.folder).transcript)
        if facts is not None and facts.is_file:
            found.append(SessionActivity(id=each.id, changed=facts.modified_ns / 1e9))
    return found


def snapshot_memory(
    memory: AutoMemory,
    files: FileSystem,
    *,
    instructions: Sequence[InstructionSource] = (),
    asked: Collection[str] = (),
) -> MemorySnapshot:
    """Return the folder as it is now. Raises StoreError."""
    heads = {head.path: head for head in memory.headers() if head.size <= MAX_FILE_BYTES}
    data = {
        path: read
        for path in heads
        if (read := read_if_exists(files, memory.layout.folder / path)) is not None
    }
    topics = tuple(parse_topic(path, read) for path, read in data.items())
    log = memory.folder.history.log()
    newest: dict[str, float] = {}
    for each in log:
        for path in each.paths if each.why.actor not in _NON_AUTHORS else ():
            newest.setdefault(path, each.at)
    foreign = frozenset(path for path in data if memory.folder.is_foreign(path))
    return MemorySnapshot(
        topics=topics,
        data=data,
        changed={path: newest.get(path, heads[path].modified) for path in data},
        foreign=foreign,
        kept=_undone_paths(memory, data, log),
        ever=frozenset(path for each in log for path in each.paths if path != INDEX_NAME),
        times={path: _line_times(memory, path, log) for path in paths_needing_times(topics)},
        instructions=tuple(instructions),
        asked=asked,
        waiting=frozenset(
            each.path for each in memory.inbox.list_proposals() if each.after is None
        ),
    )


def _undone_paths(
    memory: AutoMemory, data: Mapping[str, bytes], log: Sequence[RecordedChange]
) -> frozenset[str]:
    """Return memories that are as an undo of a dream left them.

    What the user undid is not done again.
    """
    undone = {each.undoes: each.id for each in log if each.undoes}
    pairs = [
        (path, undone[each.id])
        for each in log
        if each.why.actor == "dream" and each.id in undone
        for path in each.paths
    ]
    return frozenset(
        path
        for path, undo in pairs
        if path in data and memory.folder.history.read_file(path, undo) == data[path]
    )


def _line_times(memory: AutoMemory, path: str, log: Sequence[RecordedChange]) -> dict[str, float]:
    """Return when each line of a memory was written, as far as its history proves it."""
    history = memory.folder.history
    changes = [each for each in reversed(log) if path in each.paths]
    versions = [
        (each.id, (history.read_file(path, each.id) or b"").decode("utf-8", "surrogateescape"))
        for each in changes
    ]
    made = {each.id: (each.why.actor, each.at) for each in changes}
    return prove_line_times([(line.text, line.change) for line in blame_lines(versions)], made)


def read_instruction_sources(
    project: str, files: FileSystem, settings: ContextSettings
) -> tuple[InstructionSource, ...]:
    """Read the instruction files of both families that a session of the project would be given,
    each once.
    """
    if not project or not Path(project).is_dir():
        return ()
    folder = Path(project)
    loaded = [
        *read_claude_files(folder, files, settings).loaded,
        *read_agents_files(folder, files, settings).loaded,
    ]
    found = []
    for path in dict.fromkeys(Path(each.path) for each in loaded):
        with contextlib.suppress(FileNotFoundError, StoreError):
            facts = files.facts(files.resolve(path))
            text = files.read(path, limit=INSTRUCTION_BYTES).decode("utf-8", "replace")
            shown = path.relative_to(folder) if path.is_relative_to(folder) else path
            found.append(
                InstructionSource(
                    path=str(shown), text=text, at=0.0 if facts is None else facts.modified_ns / 1e9
                )
            )
    return tuple(found)


def read_past_evidence(
    past: Sequence[PastSession], chosen: Collection[str], files: FileSystem
) -> PastEvidence:
    """Read what the user said in the newest of these sessions, and what came from elsewhere.

    Unreadable transcripts are skipped.
    """
    seen = {
        each.id: each.changed
        for each in list_session_activity((each for each in past if each.id in chosen), files)
    }
    newest = sorted((each for each in past if each.id in seen), key=lambda each: -seen[each.id])[
        :MAX_PAST_SESSIONS
    ]
    heard = PastEvidence()
    for each in newest:
        with contextlib.suppress(MemoristError, OSError):
            heard = _add_session_evidence(
                heard, each.id, seen[each.id], SessionLayout(each.folder).transcript
            )
    return heard


def _add_session_evidence(
    heard: PastEvidence, session: str, at: float, transcript: Path
) -> PastEvidence:
    entries = (entry for entry in read_transcript(transcript) if isinstance(entry, Message))
    messages = list(with_typed_replies(entries))
    behind = collect_write_evidence(session, messages)
    own = dict(behind.user_messages)
    sayings = [
        UserUtterance(
            session=session, message=message.id, text=own[message.id], at=message.timestamp or at
        )
        for message in messages
        if message.origin is Origin.USER and message.id in own and extract_user_text(message)
    ]
    outside = list(heard.evidence.outside_texts)
    room = MAX_OUTSIDE_CHARACTERS - sum(map(len, outside))
    for text in reversed(behind.outside_texts):
        if len(text) <= room:
            outside.append(text)
            room -= len(text)
    return PastEvidence(
        utterances=(*heard.utterances, *sayings),
        evidence=replace(
            heard.evidence,
            user_messages=(*heard.evidence.user_messages, *behind.user_messages),
            outside_texts=tuple(outside),
        ),
    )


# The part of a dream that works on the folder: prepared and written in a thread, with a memory
# instance of its own, as another process would (DR-4).


MAX_WRITE_TRIES = 3
"""How often a dream starts over because a file changed meanwhile."""
MAX_ASKED_MARKS = 5_000
"""Newest marks of asked questions that are remembered."""


class DreamWorkspace(Struct, frozen=True, kw_only=True):
    """The folder and the dependencies for working on it."""

    layout: MemoryLayout
    project: str
    """Root folder of the project; empty if unknown."""
    files: FileSystem
    clock: Clock
    memory: AutoMemorySettings
    dream: DreamSettings
    context: ContextSettings
    uses: Mapping[str, MemoryUsage] = {}


class PreparedDream(Struct, frozen=True, kw_only=True):
    """A folder prepared for a dream."""

    snapshot: MemorySnapshot
    plan: DreamPlan
    """What rules prove."""
    shown: tuple[Topic, ...] = ()
    """The memories that a model may be shown, as rules leave them: doubtful ones first, then the
    newest.
    """
    index: str = ""
    logs: tuple[tuple[str, str], ...] = ()
    heard: PastEvidence = PastEvidence()
    instructions: tuple[InstructionSource, ...] = ()

    def files_after_rules(self) -> dict[str, bytes]:
        """Return every memory as rules leave it."""
        now = dict(self.snapshot.data)
        for change in self.plan.changes:
            now.pop(change.path, None)
            if change.after is not None:
                now[change.path] = change.after
        return now


@contextlib.contextmanager
def open_dream_memory(workspace: DreamWorkspace) -> Iterator[AutoMemory]:
    """Open the memory for the calling thread."""
    memory = AutoMemory(
        workspace.layout,
        files=workspace.files,
        clock=workspace.clock,
        settings=workspace.memory,
        usage_source=lambda: workspace.uses,
    )
    try:
        yield memory
    finally:
        memory.close()


def prepare_dream(
    workspace: DreamWorkspace, past: Sequence[PastSession] = (), chosen: Sequence[str] = ()
) -> PreparedDream:
    """Read the folder and work out what rules prove; for a model, also what it may learn from the
    `chosen` sessions. Raises StoreError.
    """
    instructions = read_instruction_sources(workspace.project, workspace.files, workspace.context)
    with open_dream_memory(workspace) as memory:
        found = snapshot_memory(
            memory, workspace.files, instructions=instructions, asked=_load_asked_marks(workspace)
        )
        proven = plan_dream(found, max_questions=workspace.dream.questions)
        result = PreparedDream(snapshot=found, plan=proven, instructions=instructions)
        fit = {head.path: head.modified for head in memory.visible_headers()}
        index = memory.visible_index().text
    now = result.files_after_rules()
    doubted = {path for each in proven.questions for path in (each.path, each.other_path)}
    kept = (topic for topic in found.topics if topic.path in fit and topic.path in now)
    shown = sorted(
        kept, key=lambda topic: (topic.path not in doubted, -fit[topic.path], topic.path)
    )
    topics = tuple(parse_topic(topic.path, now[topic.path]) for topic in shown)
    index = "".join(
        line for line in index.splitlines(keepends=True) if parse_pointer_target(line) in ("", *now)
    )
    logs = DailyLogs(workspace.layout, workspace.files).newest()
    return replace(
        result,
        shown=topics,
        index=index,
        logs=logs,
        heard=read_past_evidence(past, chosen, workspace.files),
    )


def apply_dream(
    workspace: DreamWorkspace,
    model: ModelChanges,
    evidence: WriteEvidence,
    *,
    dry_run: bool = False,
) -> tuple[DreamReport, list[Event]]:
    """Write what rules prove of the current folder, and what a model made of it, as one change;
    return the report and the events.

    If another writer interfered, the rules run again, and the model's change of that file is
    dropped. Raises StoreError, InputError.
    """
    instructions = read_instruction_sources(workspace.project, workspace.files, workspace.context)
    for left in reversed(range(MAX_WRITE_TRIES)):
        events: list[Event] = []
        try:
            with open_dream_memory(workspace) as memory:
                return _DreamWriter(workspace, memory, model, evidence, events).write(
                    instructions, dry_run=dry_run
                ), events
        except WriteConflict:
            if not left:
                raise
    raise InputError("a dream is tried at least once")


class _DreamWriter:
    def __init__(
        self,
        place: DreamWorkspace,
        memory: AutoMemory,
        model: ModelChanges,
        behind: WriteEvidence,
        events: list[Event],
    ) -> None:
        self._place = place
        self._memory = memory
        self._model = model
        self._behind = behind
        self._events = events

    def write(self, instructions: Sequence[InstructionSource], *, dry_run: bool) -> DreamReport:
        found = snapshot_memory(
            self._memory,
            self._place.files,
            instructions=instructions,
            asked=_load_asked_marks(self._place),
        )
        rules = plan_dream(found, max_questions=self._place.dream.questions)
        mine = [change for change in self._model.changes if change.path not in found.kept]
        fresh = [change for change in mine if found.data.get(change.path) == change.before]
        taken = {change.path for change in fresh}
        stale = [
            (
                change.path,
                "it changed meanwhile"
                if change.path not in found.kept
                else "the person took back what a dream did to it",
            )
            for change in self._model.changes
            if change.path not in taken
        ]
        proven = [change for change in rules.changes if change.path not in taken]
        changes = sorted((*proven, *fresh), key=lambda change: change.after is None)
        acts = tuple(
            act
            for act in (*rules.acts, *self._model.acts)
            if (act in self._model.acts) == (act.path in taken)
        )
        said = replace(self._behind, proven_paths=tuple(change.path for change in proven))
        dreamt = DreamReport(acts=acts, remarks=rules.remarks, refused=tuple(stale))
        if dry_run:
            return self._preview(dreamt, changes, said, rules)
        why = ChangeReason(actor="dream", what=render_headline("dream", summarize_acts(acts)))
        written = (
            self._memory.write(changes, why, said, tell=self._events.append)
            if changes
            else WriteResult()
        )
        waiting = [*written.proposals, *self._propose_questions(rules)]
        return replace(
            dreamt,
            change=written.change_id,
            acts=tuple(act for act in acts if act.path in written.paths),
            waiting=tuple((each.id, each.path, "; ".join(each.reasons)) for each in waiting),
            refused=(
                *dreamt.refused,
                *((each.path, "; ".join(each.reasons)) for each in written.refused),
            ),
        )

    def _propose_questions(self, rules: DreamPlan) -> list[Proposal]:
        """Put the questions of rules and model into the inbox."""
        asked: list[Proposal] = []
        wanted = [(each.path, each.why) for each in rules.questions]
        wanted += [(change.path, why) for change, why in self._model.questions]
        for path, why in wanted:
            data = read_if_exists(self._place.files, self._place.layout.folder / path)
            if data is not None:
                reason = ChangeReason(
                    actor="dream", what=render_headline("dream asks", f"forget {path}?")
                )
                asked += self._memory.propose(
                    [MemoryChange(path=path, before=data, after=None)],
                    reason,
                    why,
                    tell=self._events.append,
                ).proposals
        _save_asked_marks(self._place, [each.mark for each in rules.questions])
        return asked

    def _preview(
        self,
        dreamt: DreamReport,
        changes: Sequence[MemoryChange],
        said: WriteEvidence,
        rules: DreamPlan,
    ) -> DreamReport:
        """Return what would be written, and what would wait."""
        case = self._memory.gate_context("dream", said, {change.path for change in changes})
        verdicts = [judge_change(change, case) for change in changes]
        review = self._place.memory.policy == "review"
        accepted = [
            each.change for each in verdicts if isinstance(each, AcceptedChange) and not review
        ]
        held_up = [
            (each.change.path, "; ".join(each.reasons))
            for each in verdicts
            if isinstance(each, NeedsReview)
        ]
        held_up += [
            (each.change.path, "the policy is review")
            for each in verdicts
            if review and isinstance(each, AcceptedChange)
        ]
        held_up += [(each.path, each.why) for each in rules.questions]
        held_up += [(change.path, why) for change, why in self._model.questions]
        refused = [
            (each.path, merge_reasons([each]))
            for each in verdicts
            if not isinstance(each, AcceptedChange | NeedsReview)
        ]
        paths = {change.path for change in accepted}
        return replace(
            dreamt,
            acts=tuple(act for act in dreamt.acts if act.path in paths),
            waiting=tuple(("", path, why) for path, why in held_up),
            refused=(*dreamt.refused, *((path, "; ".join(reasons)) for path, reasons in refused)),
            diff=render_diff(accepted),
        )


def _asked_marks_path(place: DreamWorkspace) -> Path:
    return place.layout.dream / "asked.json"


def _load_asked_marks(place: DreamWorkspace) -> tuple[str, ...]:
    try:
        return msgspec.json.decode(place.files.read(_asked_marks_path(place)), type=tuple[str, ...])
    except (FileNotFoundError, msgspec.DecodeError):
        return ()


def _save_asked_marks(place: DreamWorkspace, marks: Sequence[str]) -> None:
    if marks:
        known = dict.fromkeys((*_load_asked_marks(place), *marks))
        place.files.write(
            _asked_marks_path(place), msgspec.json.encode(tuple(known)[-MAX_ASKED_MARKS:])
        )


def append_journal(workspace: DreamWorkspace, report: DreamReport) -> None:
    """Append a dream to the journal.

    If the disk refuses, only the entry is lost: the history has the change.
    """
    path = journal_path(workspace.layout)
    with contextlib.suppress(StoreError), locked(workspace.layout.lock):
        new = workspace.files.facts(path) is None
        workspace.files.append(
            path,
            (
                (JOURNAL_HEADING if new else "")
                + render_journal_entry(report, workspace.clock.now())
            ).encode("utf-8", "replace"),
        )


def journal_path(where: MemoryLayout) -> Path:
    """Return the path of the journal of dreams."""
    return where.dream / "journal.md"


DREAM_LABEL = "dream"
COMPLETED_OUTCOMES = (ForkOutcome.CHANGED, ForkOutcome.UNCHANGED)


class _DreamForkResult(Struct, frozen=True, kw_only=True):
    """The result of the model's part."""

    made: ModelChanges = ModelChanges()
    said: str = ""
    failed: str = ""
    evidence: WriteEvidence = WriteEvidence()
    is_reportable: bool = True
    """False if the budget governor refused, which it reports once itself."""
    receipt: Receipt | None = None
    """To be recorded once it is known what of its work was written; None if already recorded."""


class Dream(SessionExtension):
    """The dreams of one project, for one session or one command."""

    def __init__(
        self,
        context: SessionContext,
        layout: MemoryLayout,
        *,
        past_sessions: Callable[[], Sequence[PastSession]],
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
        self._host = HostConditions(
            is_remote=context.host.remote,
            is_interactive=context.host.interactive,
            is_main_session=context.host.main,
        )
        self._lock = DreamLock(layout, runtime.clock)
        self._queue = BackgroundQueue(runtime.clock, on_error=self._on_background_error)
        self._last_scan: float | None = None

    @property
    def _settings(self) -> DreamSettings:
        """The current settings: a flag may change them during a session."""
        return self._runtime.flags.apply_to(self._runtime.settings.dream)

    def _workspace(self) -> DreamWorkspace:
        runtime = self._runtime
        return DreamWorkspace(
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
            if isinstance(verdict, NeedsScan) and not self._queue.is_busy:
                self._queue.submit(self._dream_if_due)

    async def _dream_if_due(self) -> None:
        verdict = await self.check_gates()
        if isinstance(verdict, GateOpen):
            await self.run(verdict.why, verdict.sessions)

    def _judge_cheap_gates(self) -> GateOpen | GateClosed | NeedsScan:
        known = GateFacts(now=self._clock.now(), host=self._host, scanned=self._last_scan)
        verdict = judge_gates(known, self._settings)
        return (
            judge_gates(replace(known, last=self._lock.last_dream_time()), self._settings)
            if isinstance(verdict, NeedsScan)
            else verdict
        )

    async def check_gates(self) -> GateOpen | GateClosed:
        """Tell whether it is time, and why or why not. Raises StoreError."""
        verdict = self._judge_cheap_gates()
        if not isinstance(verdict, NeedsScan):
            return verdict
        sessions = await self._new_sessions(verdict.since)
        self._last_scan = self._clock.now()
        known = GateFacts(
            now=self._last_scan,
            host=self._host,
            last=self._lock.last_dream_time(),
            sessions=sessions,
        )
        answer = judge_gates(known, self._settings)
        # Every fact is given; only a lock that was taken meanwhile can leave something to look for.
        return (
            answer
            if isinstance(answer, GateOpen | GateClosed)
            else GateClosed("sessions", "another dream began meanwhile")
        )

    async def _new_sessions(self, since: float) -> tuple[str, ...]:
        past = self._past_sessions()
        seen = await asyncio.to_thread(list_session_activity, past, self._runtime.files)
        return select_new_sessions(seen, current=self._context.id, since=since)

    async def has_new_material(self) -> bool:
        """Tell whether there is anything the last dream could not know: another session, or a daily
        log that may have grown. Raises StoreError.
        """
        last = self._lock.last_dream_time()
        if last is None or await self._new_sessions(last):
            return True
        logs = DailyLogs(self._layout, self._runtime.files).newest(1)
        return bool(logs) and logs[0][0] >= format_utc_timestamp(last)[:10]

    async def run(
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
            return replace(
                await self._run_locked(why, sessions, asked=asked, dry_run=True), why=why
            )
        taken = self._lock.acquire()
        if isinstance(taken, DreamLockBusy):
            return DreamReport(ran=False, why=taken.why)
        ended = False
        try:
            dreamt = await self._run_locked(why, sessions, asked=asked)
            ended = not dreamt.failed
        finally:
            taken.complete() if ended else taken.abandon()
        return dreamt

    @trace_work(DREAM_LABEL)
    async def _run_locked(
        self, why: str, sessions: Sequence[str], *, asked: bool, dry_run: bool = False
    ) -> DreamReport:
        means, began = self._runtime, self._clock.monotonic()
        place = self._workspace()
        fork = _DreamForkResult()
        if means.model is not None:
            prepared = await asyncio.to_thread(
                prepare_dream, place, self._past_sessions(), sessions
            )
            fork = await self._run_fork(means.model, prepared, why, asked=asked)
        receipt = fork.receipt and discarded_receipt(fork.receipt)
        try:
            dreamt, events = await _run_uninterrupted(
                lambda: apply_dream(place, fork.made, fork.evidence, dry_run=dry_run)
            )
            receipt = (
                receipt
                if dry_run
                else fork.receipt and _correct_receipt(fork.receipt, fork.made, dreamt)
            )
        finally:
            if receipt is not None:
                means.record_receipt(receipt)
        dreamt = replace(
            dreamt,
            way="structural" if means.model is None else "model",
            why=why,
            said=fork.said,
            failed=fork.failed,
            refused=(
                *dreamt.refused,
                *((("the model's changes", fork.made.refused),) if fork.made.refused else ()),
            ),
        )
        if not dry_run:
            if (
                dreamt.acts
                or dreamt.waiting
                or dreamt.refused
                or dreamt.remarks
                or (dreamt.failed and fork.is_reportable)
            ):
                await asyncio.to_thread(append_journal, place, dreamt)
            self._report(dreamt, events, self._clock.monotonic() - began)
        return dreamt

    def _report(self, dreamt: DreamReport, events: Sequence[Event], seconds: float) -> None:
        what = render_headline("dream", summarize_acts(dreamt.acts) or "nothing to do")
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
        means = self._runtime
        folder = means.files.resolve(self._layout.folder)
        overlay = OverlayFiles(means.files)
        for (
            path,
            data,
        ) in (
            prepared.files_after_rules().items()
        ):  # all of it: what others write meanwhile is no part of the copy
            overlay.write(folder / path, data)
        for change in prepared.plan.changes:
            if change.after is None:
                overlay.remove(folder / change.path)
        material = fit_material(
            DreamMaterial(
                folder=folder,
                index=prepared.index,
                topics=prepared.shown,
                logs=prepared.logs,
                utterances=match_utterances(prepared.shown, prepared.heard.utterances),
                instructions=prepared.instructions,
            ),
            limit=self._settings.material,
        )
        spec = replace(self._build_fork_spec(prepared, material, why), requested_by_user=asked)
        receipt = await run_on_copy_with_budget(
            spec,
            model=model,
            files=overlay,
            clock=self._clock,
            governor=means.governor,
            record=means.record_receipt,
        )
        if receipt.outcome is ForkOutcome.BLOCKED:
            return _DreamForkResult(failed=receipt.said, is_reportable=False)
        if receipt.outcome not in COMPLETED_OUTCOMES:
            means.record_receipt(discarded_receipt(receipt))
            return _DreamForkResult(failed=receipt.said or receipt.outcome.value)
        return _DreamForkResult(
            made=self._review_fork(overlay, prepared),
            said=receipt.said,
            evidence=prepared.heard.evidence,
            receipt=receipt,
        )

    def _review_fork(self, overlay: OverlayFiles, prepared: PreparedDream) -> ModelChanges:
        """Review what the model did, apart from what rules had done before it."""
        folder = self._runtime.files.resolve(self._layout.folder)
        ruled, before = prepared.files_after_rules(), prepared.snapshot.data
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
        return review_model_changes(by_model, ruled, self._settings)

    def _build_fork_spec(
        self, prepared: PreparedDream, material: FittedMaterial, why: str
    ) -> ForkSpec:
        folder = self._runtime.files.resolve(self._layout.folder)
        return ForkSpec(
            label=DREAM_LABEL,
            why=why,
            history_summary=material.text,
            instruction=build_dream_task(
                load_prompt("dream/dream"),
                folder,
                now=self._clock.now(),
                max_retired=max_retired(len(prepared.files_after_rules()), self._settings),
            ),
            permission=FolderAccess(folder=folder, read_anywhere=False),
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
        await self._queue.drain(self._runtime.settings.auto_memory.drain_seconds)


async def _run_uninterrupted(
    work: Callable[[], tuple[DreamReport, list[Event]]],
) -> tuple[DreamReport, list[Event]]:
    """Run the work in a thread; a cancelled caller waits for its end, so that nothing is written
    after the lock is released.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        raise


def _correct_receipt(receipt: Receipt, model: ModelChanges, dreamt: DreamReport) -> Receipt:
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
    return (
        replace(receipt, files=files, outcome=ForkOutcome.CHANGED)
        if files
        else discarded_receipt(receipt)
    )
