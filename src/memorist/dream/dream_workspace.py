"""The part of a dream that works on the folder: prepared and written in a thread, with a
memory instance of its own, as another process would (DR-4).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import unified_diff

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.anchors import render_anchor_changes
from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.inbox import Proposal
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange, render_change_headline
from memorist.auto_memory.memory_file import MemoryFile, parse_memory_file
from memorist.auto_memory.memory_index import MemoryUsage, parse_pointer_target
from memorist.auto_memory.project_anchors import ProjectAnchorChecker
from memorist.auto_memory.stale_memories import (
    MemoryWithChangedAnchors,
    find_memories_with_changed_anchors,
)
from memorist.auto_memory.write_evidence import WriteEvidence
from memorist.auto_memory.write_gate import (
    AcceptedChange,
    NeedsReview,
    judge_memory_change,
    list_reasons_of_verdicts,
)
from memorist.auto_memory.write_result import WriteResult
from memorist.dream.daily_log import DailyLogs
from memorist.dream.dream_input import DreamInput, read_folder_for_dream
from memorist.dream.dream_journal import (
    JOURNAL_HEADING,
    DreamReport,
    get_journal_path,
    render_journal_entry,
    summarize_dream_acts,
)
from memorist.dream.dream_questions import append_asked_question_keys, load_asked_question_keys
from memorist.dream.dream_review import (
    ReviewedChanges,
    find_changes_that_lose_text,
    render_files_after_changes,
)
from memorist.dream.memory_conflicts import DreamRemark, InstructionSource
from memorist.dream.past_session_evidence import (
    PastSessionEvidence,
    PastSessionLocation,
    read_instruction_sources,
    read_past_session_evidence,
)
from memorist.dream.structural_dream import DreamPlan, plan_dream
from memorist.errors import InputError, StoreError, WriteConflict
from memorist.events import Event
from memorist.platforms.background_thread import PROMPT_IN_PROGRESS
from memorist.ports import Clock, FileSystem
from memorist.settings import AutoMemorySettings, ContextSettings, DreamSettings
from memorist.store.disk_files import read_if_exists
from memorist.store.home_layout import MemoryLayout
from memorist.store.process_lock import hold_lock

MAX_WRITE_TRIES = 3
"""How often a dream starts over because a file changed meanwhile."""


class DreamDependencies(Struct, frozen=True, kw_only=True):
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
    """What a dream starts from: the folder's state, what rules prove of it, and what a model is
    shown.
    """

    snapshot: DreamInput
    plan: DreamPlan
    """What rules prove."""
    shown_memories: tuple[MemoryFile, ...] = ()
    """The memories that a model may be shown, as rules leave them: doubtful ones first, then the
    newest.
    """
    index: str = ""
    logs: tuple[tuple[str, str], ...] = ()
    evidence: PastSessionEvidence = PastSessionEvidence()
    instructions: tuple[InstructionSource, ...] = ()

    def render_files_after_rules(self) -> dict[str, bytes]:
        """Return every memory as rules leave it."""
        return render_files_after_changes(self.snapshot.data, self.plan.changes)


@contextlib.contextmanager
def open_project_memory_for_dream(workspace: DreamDependencies) -> Iterator[AutoMemory]:
    """Open the memory for the calling thread."""
    memory = AutoMemory(
        workspace.layout,
        files=workspace.files,
        clock=workspace.clock,
        settings=workspace.memory,
        usage_source=lambda: workspace.uses,
    )
    memory.project_files = ProjectAnchorChecker(workspace.project)
    try:
        yield memory
    finally:
        memory.close()


@PROMPT_IN_PROGRESS.background_work()
def prepare_dream(
    workspace: DreamDependencies,
    past: Sequence[PastSessionLocation] = (),
    chosen: Sequence[str] = (),
) -> PreparedDream:
    """Read the folder and work out what rules prove; for a model, also what it may learn from the
    `chosen` sessions. Raises StoreError.
    """
    instructions = read_instruction_sources(workspace.project, workspace.files, workspace.context)
    with open_project_memory_for_dream(workspace) as memory:
        found = read_folder_for_dream(
            memory,
            workspace.files,
            instructions=instructions,
            asked=load_asked_question_keys(workspace.files, workspace.layout),
        )
        proven = plan_dream(found, max_questions=workspace.dream.questions)
        result = PreparedDream(snapshot=found, plan=proven, instructions=instructions)
        fit = {head.path: head.modified for head in memory.visible_headers()}
        index = memory.visible_index().text
    now = result.render_files_after_rules()
    doubted = {path for each in proven.questions for path in (each.path, each.other_path)}
    kept = (topic for topic in found.topics if topic.path in fit and topic.path in now)
    shown = sorted(
        kept, key=lambda topic: (topic.path not in doubted, -fit[topic.path], topic.path)
    )
    topics = tuple(
        parse_memory_file(topic.path, now[topic.path])
        for topic in PROMPT_IN_PROGRESS.iterate_between_prompts(shown)
    )
    index = "".join(
        line for line in index.splitlines(keepends=True) if parse_pointer_target(line) in ("", *now)
    )
    logs = DailyLogs(workspace.layout, workspace.files).read_newest_logs()
    return replace(
        result,
        shown_memories=topics,
        index=index,
        logs=logs,
        evidence=read_past_session_evidence(past, chosen, workspace.files),
    )


@PROMPT_IN_PROGRESS.background_work()
def apply_dream(
    workspace: DreamDependencies,
    model: ReviewedChanges,
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
            with open_project_memory_for_dream(workspace) as memory:
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
        workspace: DreamDependencies,
        memory: AutoMemory,
        model: ReviewedChanges,
        behind: WriteEvidence,
        events: list[Event],
    ) -> None:
        self._workspace = workspace
        self._memory = memory
        self._model = model
        self._behind = behind
        self._events = events

    def write(self, instructions: Sequence[InstructionSource], *, dry_run: bool) -> DreamReport:
        found = read_folder_for_dream(
            self._memory,
            self._workspace.files,
            instructions=instructions,
            asked=load_asked_question_keys(self._workspace.files, self._workspace.layout),
        )
        rules = plan_dream(found, max_questions=self._workspace.dream.questions)
        mine = [change for change in self._model.changes if change.path not in found.restored_paths]
        fresh = [change for change in mine if found.data.get(change.path) == change.before]
        losing = self._find_losing(fresh, rules, found.data)
        fresh = [change for change in fresh if change.path not in losing]
        written_paths = {change.path for change in fresh}
        stale = [
            (
                change.path,
                losing.get(change.path, "it changed meanwhile")
                if change.path not in found.restored_paths
                else "the person took back what a dream did to it",
            )
            for change in self._model.changes
            if change.path not in written_paths
        ]
        proven = [change for change in rules.changes if change.path not in written_paths]
        changes = sorted((*proven, *fresh), key=lambda change: change.after is None)
        acts = tuple(
            act
            for act in (*rules.acts, *self._model.acts)
            if (act in self._model.acts) == (act.path in written_paths)
        )
        said = replace(self._behind, proven_paths=tuple(change.path for change in proven))
        stale_memories = self._find_newly_stale(found.topics)
        remarks = [
            DreamRemark(each.path, f"{_tell_stale(each)}: look whether it still holds")
            for each in stale_memories
        ]
        dreamt = DreamReport(acts=acts, remarks=(*rules.remarks, *remarks), refused=tuple(stale))
        questions = self._list_questions(rules, stale_memories)
        if dry_run:
            return self._preview(dreamt, changes, said, questions)
        why = ChangeReason(
            actor="dream", what=render_change_headline("dream", summarize_dream_acts(acts))
        )
        written = (
            self._memory.write(changes, why, said, tell=self._events.append)
            if changes
            else WriteResult()
        )
        waiting = [*written.proposals, *self._propose(questions)]
        # Last: a dream that starts over, or was killed, asks and says it once more.
        append_asked_question_keys(
            self._workspace.files,
            self._workspace.layout,
            [*(each.mark for each in rules.questions), *map(_stale_mark, stale_memories)],
        )
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

    def _find_losing(
        self, fresh: Sequence[MemoryChange], rules: DreamPlan, data: Mapping[str, bytes]
    ) -> dict[str, str]:
        """Those of the model's changes that would lose text, with the reason: what they take out
        stands in one that is not written.
        """
        if not self._model.changes:
            return {}
        case = self._memory.build_gate_context(
            "dream", self._behind, {change.path for change in fresh}
        )
        passing = [
            each for each in fresh if isinstance(judge_memory_change(each, case), AcceptedChange)
        ]
        if len(passing) == len(self._model.changes):
            return {}
        before = render_files_after_changes(data, rules.changes)
        return find_changes_that_lose_text(passing, before, self._model.sessions)

    def _find_newly_stale(self, topics: Iterable[MemoryFile]) -> list[MemoryWithChangedAnchors]:
        """Memories of something that changed, each once for one state of it."""
        asked = load_asked_question_keys(self._workspace.files, self._workspace.layout)
        found = find_memories_with_changed_anchors(
            self._memory, PROMPT_IN_PROGRESS.iterate_between_prompts(topics)
        )
        return [each for each in found if _stale_mark(each) not in asked]

    def _list_questions(
        self, rules: DreamPlan, stale: Sequence[MemoryWithChangedAnchors]
    ) -> list[tuple[str, str]]:
        """The memories that rules and model ask to forget, and those of which nothing that they
        name is left, each with the reason.
        """
        return [
            *((each.path, each.why) for each in rules.questions),
            *((change.path, why) for change, why in self._model.questions),
            *((each.path, _tell_stale(each)) for each in stale if each.changes.is_everything_gone),
        ]

    def _propose(self, questions: Sequence[tuple[str, str]]) -> list[Proposal]:
        """Put the questions into the inbox."""
        asked: list[Proposal] = []
        for path, why in questions:
            data = read_if_exists(self._workspace.files, self._workspace.layout.folder / path)
            if data is not None:
                reason = ChangeReason(
                    actor="dream", what=render_change_headline("dream asks", f"forget {path}?")
                )
                asked += self._memory.add_proposals(
                    [MemoryChange(path=path, before=data, after=None)],
                    reason,
                    why,
                    tell=self._events.append,
                ).proposals
        return asked

    def _preview(
        self,
        dreamt: DreamReport,
        changes: Sequence[MemoryChange],
        said: WriteEvidence,
        questions: Sequence[tuple[str, str]],
    ) -> DreamReport:
        """Return what would be written, and what would wait."""
        case = self._memory.build_gate_context("dream", said, {change.path for change in changes})
        verdicts = [judge_memory_change(change, case) for change in changes]
        review = self._workspace.memory.policy == "review"
        accepted = [
            each.change for each in verdicts if isinstance(each, AcceptedChange) and not review
        ]
        blocked = [
            (each.change.path, "; ".join(each.reasons))
            for each in verdicts
            if isinstance(each, NeedsReview)
        ]
        blocked += [
            (each.change.path, "the policy is review")
            for each in verdicts
            if review and isinstance(each, AcceptedChange)
        ]
        blocked += questions
        refused = [
            (each.path, list_reasons_of_verdicts([each]))
            for each in verdicts
            if not isinstance(each, AcceptedChange | NeedsReview)
        ]
        paths = {change.path for change in accepted}
        return replace(
            dreamt,
            acts=tuple(act for act in dreamt.acts if act.path in paths),
            waiting=tuple(("", path, why) for path, why in blocked),
            refused=(*dreamt.refused, *((path, "; ".join(reasons)) for path, reasons in refused)),
            diff=render_changes_diff(accepted),
        )


def render_changes_diff(changes: Sequence[MemoryChange]) -> str:
    """Render the changes as a unified diff, in order."""
    return "".join(part for change in changes for part in _render_change(change))


def _render_change(change: MemoryChange) -> list[str]:
    old, new = (_decode_lines(data) for data in (change.before, change.after))
    was, will = (
        f"{side}/{change.path}" if data is not None else "/dev/null"
        for side, data in (("a", change.before), ("b", change.after))
    )
    return [
        line if line.endswith("\n") else line + "\n" for line in unified_diff(old, new, was, will)
    ]


def _decode_lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines(keepends=True)


def _tell_stale(stale: MemoryWithChangedAnchors) -> str:
    return render_anchor_changes(stale.changes, stale.since)


def _stale_mark(stale: MemoryWithChangedAnchors) -> str:
    return f"{stale.path}: {_tell_stale(stale)}"


def append_to_dream_journal(workspace: DreamDependencies, report: DreamReport) -> None:
    """Append a dream to the journal.

    If the disk refuses, only the entry is lost: the history has the change.
    """
    path = get_journal_path(workspace.layout)
    with contextlib.suppress(StoreError), hold_lock(workspace.layout.lock):
        new = workspace.files.lstat(path) is None
        workspace.files.append(
            path,
            (
                (JOURNAL_HEADING if new else "")
                + render_journal_entry(report, workspace.clock.now())
            ).encode("utf-8", "replace"),
        )
