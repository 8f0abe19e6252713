"""Auto memory of one project: writes through the gate, the inbox, undo, and purging."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Self

from msgspec.structs import replace

from memorist.auto_memory.anchors import read_memory_anchors, replace_anchors
from memorist.auto_memory.folder_indexes import UsageSource
from memorist.auto_memory.git_objects import compute_memory_version
from memorist.auto_memory.inbox import (
    DecisionDigests,
    Inbox,
    Proposal,
    build_proposal,
    find_proposal_by_name,
    is_already_applied,
)
from memorist.auto_memory.known_memories import KnownMemories
from memorist.auto_memory.memory_changes import (
    Actor,
    ChangeReason,
    MemoryChange,
    RecordedChange,
    build_memory_change,
    build_memory_removal,
    render_change_headline,
)
from memorist.auto_memory.memory_file import (
    USER_KINDS,
    MemoryFile,
    MemoryKind,
    Provenance,
    Trust,
    check_memory_kind,
    create_memory_file,
    make_file_name,
    parse_memory_file,
    with_provenance,
)
from memorist.auto_memory.memory_folder import MemoryFolder
from memorist.auto_memory.memory_index import MemoryIndex
from memorist.auto_memory.memory_manifest import MAX_FILE_BYTES, MemoryHeader
from memorist.auto_memory.memory_reconciliation import (
    find_corrected_memories,
    prefix_statement_with_its_refusal,
    reconcile_new_memory,
)
from memorist.auto_memory.memory_undo import find_newest_change_to_undo, undo_recorded_change
from memorist.auto_memory.project_anchors import ProjectAnchorChecker
from memorist.auto_memory.purge_journal import PurgeJournal
from memorist.auto_memory.reconciled_changes import reconcile_accepted_changes
from memorist.auto_memory.related_statement_search import RelatedStatementSearch
from memorist.auto_memory.statement_changes import find_free_name
from memorist.auto_memory.statements.statement_kind import choose_memory_kind
from memorist.auto_memory.statements.statement_scope import applies_to_every_project
from memorist.auto_memory.team_memory import (
    MAX_TEAM_LOCATION_BYTES,
    TEAM_PREFIX,
    describe_team_readers,
    is_team_path,
    merge_indexes,
)
from memorist.auto_memory.visible_memory import (
    USER_TRUST,
    compute_review_digest,
    filter_visible_index,
    find_memory_suspicions,
    select_visible_index_lines,
)
from memorist.auto_memory.write_evidence import WriteEvidence
from memorist.auto_memory.write_gate import (
    MODEL_ACTORS,
    POLICY_IS_OFF,
    AcceptedChange,
    NeedsReview,
    RefusedChange,
    WriteGateContext,
    adjust_verdict_to_review_policy,
    find_unreviewed_memory_suspicions,
    judge_memory_change,
    policy_forbids_writing,
    says_nothing,
)
from memorist.auto_memory.write_result import (
    MAX_EVENT_TEXT_CHARS,
    WriteResult,
    add_replaced_memories_to_reason,
    merge_everywhere_result,
    redact_change,
    report_write_result,
)
from memorist.core.argument_types import check_text
from memorist.core.not_picklable import NotPicklable
from memorist.core.sentences import shorten_to_one_line
from memorist.core.text_encoding import encode_file_text_as_utf8, replace_surrogates
from memorist.core.utc_time import format_utc_timestamp
from memorist.errors import InputError, NothingToDo, StoreError, UsageError, WriteConflict
from memorist.events import Event, ProposalRejected
from memorist.ports import Clock, FileSystem
from memorist.safety.secrets import redact
from memorist.settings import AutoMemorySettings
from memorist.store.disk_files import read_if_exists
from memorist.store.home_layout import MemoryLayout

LOW_TRUST = (Trust.TEAM, Trust.OUTSIDE, Trust.UNKNOWN)
"""Origins that lend no better trust: a memory copied from one of these counts as from outside."""
NO_EVIDENCE = WriteEvidence()
"""No session is behind a change."""


MAX_NAME_TRIES = 3
"""How often a name is chosen for a memory that another process takes in that moment. Our choice."""
REJECTED_BEFORE = "the user rejected it before; it waits again once they say it themselves"
CHANGED_MEANWHILE = "the memory was changed after you saw the text that you edited"
EVERYWHERE_PREFIX = "everywhere/"
"""Names, among a project's memories, those that are the user's in every project."""
_SPREADING_ACTORS: frozenset[Actor] = frozenset({"said", "extraction", "agent", "inbox"})
"""Actors through whom the user's own words come, and so may reach every project."""


class AutoMemory(NotPicklable):
    """The memory of one project. All writes of this process go through here."""

    def __init__(
        self,
        layout: MemoryLayout,
        *,
        files: FileSystem,
        clock: Clock,
        settings: AutoMemorySettings,
        usage_source: UsageSource = dict,
        check_owner: Callable[[], None] | None = None,
    ) -> None:
        self.layout = layout
        self.everywhere: AutoMemory | None = None
        """What the user said about themselves for all of their projects; None where that is off."""
        self.settings = settings
        self.folder = MemoryFolder(
            layout,
            files=files,
            clock=clock,
            settings=settings,
            usage_source=usage_source,
            check_owner=check_owner,
        )
        self.project_files = ProjectAnchorChecker("")
        """The project that the memories are about; `open_memory` names it."""
        self.inbox = Inbox(layout, files)
        self._digests = DecisionDigests(layout.reviewed_digests, layout, files)
        self.purge_journal = PurgeJournal(files, layout)
        """What is not wholly forgotten yet."""
        self._files = files
        self._clock = clock
        self.known_memories = KnownMemories(self.folder)

    @property
    def memories_by_prefix(self) -> dict[str, AutoMemory]:
        """This memory and, where it is on, that of every project, by the beginning that a path of
        each has among the project's.
        """
        there = self.everywhere
        return {"": self} if there is None else {"": self, EVERYWHERE_PREFIX: there}

    def headers(self) -> list[MemoryHeader]:
        """Return the header of each memory, sorted by path. Raises StoreError."""
        return self.folder.headers()

    def headers_by_path(self) -> Mapping[str, MemoryHeader]:
        """Return what `headers` does, by path; the same mapping while nothing changes."""
        return self.folder.headers_by_path()

    def visible_headers(self) -> list[MemoryHeader]:
        """Return the headers that a model may see, by the last scan's judgement and the user's
        reviews.
        """
        reviewed = self.reviewed_digests()
        return [head for head in self.headers() if _is_visible(head, reviewed)]

    def visible_index(self) -> MemoryIndex:
        """Return the index as a model sees it, without withheld memories and lines that read like
        orders.
        """
        return filter_visible_index(*self._read_whole_index())

    def _read_whole_index(self) -> tuple[MemoryIndex, Callable[[str], bool]]:
        """The index with the team's, and which memories a model may see."""
        heads, reviewed = self.headers_by_path(), self.reviewed_digests()

        def is_visible(path: str) -> bool:
            head = heads.get(path)
            return head is not None and _is_visible(head, reviewed)

        own, team = self.folder.indexes.build(), self.folder.indexes.build(prefix=TEAM_PREFIX)
        return merge_indexes(own, team), is_visible

    def list_visible_index_lines(self) -> tuple[str, ...]:
        """Return the lines of `visible_index` before they are judged. Raises StoreError."""
        return select_visible_index_lines(*self._read_whole_index())

    @contextlib.contextmanager
    def scan_once(self, *, at_prompt: bool = False, in_full: bool = False) -> Iterator[None]:
        """Scan this folder and that of every project only once within this context; see
        `MemoryFolder.scan_once`.
        """
        with contextlib.ExitStack() as stack:
            for memory in self.memories_by_prefix.values():
                stack.enter_context(memory.folder.scan_once(at_prompt=at_prompt, in_full=in_full))
            yield

    def write(
        self,
        changes: Sequence[MemoryChange],
        reason: ChangeReason,
        evidence: WriteEvidence | None = None,
        *,
        is_reviewed: bool = True,
        waits_because: str = "",
        tell: Callable[[Event], None] | None = None,
    ) -> WriteResult:
        """Judge the changes; write what passes and put what is doubtful into the inbox, and with
        `waits_because` all. With `is_reviewed` what the user changes counts as read by the user.

        Under the policy `review` everything not written by the user waits; under `off` it is
        discarded. Raises WriteConflict when a file changed meanwhile, InputError for a path that
        cannot be a memory's, StoreError.
        """
        if policy_forbids_writing(self.settings, reason.actor):
            return WriteResult(
                refused=tuple(RefusedChange(change.path, (POLICY_IS_OFF,)) for change in changes)
            )
        with self.scan_once(in_full=True):
            written = self._judge_and_write(
                changes,
                reason,
                evidence or WriteEvidence(session=reason.session),
                is_reviewed=is_reviewed,
                waits_because=waits_because,
            )
        report_write_result(written, reason, tell)
        return written

    def _judge_and_write(
        self,
        changes: Sequence[MemoryChange],
        reason: ChangeReason,
        evidence: WriteEvidence,
        *,
        is_reviewed: bool,
        waits_because: str,
    ) -> WriteResult:
        case = self.build_gate_context(reason.actor, evidence, {change.path for change in changes})
        case = replace(case, is_reviewed=is_reviewed)
        verdicts = [
            adjust_verdict_to_review_policy(
                judge_memory_change(change, case), self.settings, reason.actor
            )
            for change in changes
        ]
        if waits_because:
            verdicts = [
                NeedsReview(each.change, each.trust, (waits_because, *each.remarks))
                if isinstance(each, AcceptedChange)
                else each
                for each in verdicts
            ]
        waits = [verdict for verdict in verdicts if isinstance(verdict, NeedsReview)]
        accepted = [verdict for verdict in verdicts if isinstance(verdict, AcceptedChange)]
        refused = tuple(verdict for verdict in verdicts if isinstance(verdict, RefusedChange))
        staying, spreading = self._split_by_reach(accepted, reason)
        written = self.apply_gate_verdicts(staying, waits, reason, refused, is_reviewed=is_reviewed)
        if self.everywhere is not None and spreading:
            there = self.everywhere.apply_gate_verdicts(spreading, (), reason)
            written = merge_everywhere_result(written, there, EVERYWHERE_PREFIX)
        if reason.actor in ("said", "user", "inbox"):
            said = [each.change.memory_after.one_line_text for each in accepted]
            for each in self.memories_by_prefix.values():
                each.inbox.remove_said_memories(list(filter(None, said)))
        return written

    def apply_gate_verdicts(
        self,
        accepted: Sequence[AcceptedChange],
        waits: Sequence[NeedsReview],
        reason: ChangeReason,
        refused: tuple[RefusedChange, ...] = (),
        *,
        is_reviewed: bool = True,
    ) -> WriteResult:
        """Write here what the gate accepted, and put what is doubtful into the inbox."""
        accepted = [self._anchor(each, reason) for each in accepted]
        if is_reviewed and reason.actor in ("user", "inbox"):
            self._accept_suspicious(each.change for each in accepted)
        now = format_utc_timestamp(self._clock.now())
        result = reconcile_accepted_changes(accepted, reason, self.folder, self.known_memories, now)
        reason = add_replaced_memories_to_reason(reason, result.replaced, result.shortened)
        id = self.folder.apply_changes(result.changes, reason) if result.changes else ""
        asked = self._add_proposals([*waits, *result.waits], reason)
        return WriteResult(
            change_id=id,
            paths=tuple(
                each.path
                for each in result.changes
                if id and each.path not in (*result.replaced, *result.shortened)
            ),
            proposals=asked.proposals,
            refused=(*refused, *asked.refused),
            remarks=tuple(
                dict.fromkeys(
                    [remark for each in accepted for remark in each.remarks] + result.remarks
                )
            ),
            replaced_paths=result.replaced,
            shortened=result.shortened,
        )

    def _split_by_reach(
        self, accepted: Sequence[AcceptedChange], reason: ChangeReason
    ) -> tuple[list[AcceptedChange], list[AcceptedChange]]:
        """Part what stays in this project from what the user said for all of them.

        In doubt it stays: where the project has a memory that says the same or otherwise.
        """
        staying: list[AcceptedChange] = []
        spreading: list[AcceptedChange] = []
        for each in accepted:
            spreads = (
                self.everywhere is not None
                and reason.actor in _SPREADING_ACTORS
                and self._reaches_every_project(each)
            )
            (spreading if spreads else staying).append(each)
        return staying, [self._name_everywhere(each) for each in spreading]

    def _reaches_every_project(self, accepted: AcceptedChange) -> bool:
        change = accepted.change
        if change.before is not None or change.after is None or is_team_path(change.path):
            return False
        topic = change.memory_after
        if (
            topic.kind not in USER_KINDS
            or topic.provenance.trust not in USER_TRUST
            or not applies_to_every_project(topic.body)
        ):
            return False
        near = self.known_memories.find_related(prefix_statement_with_its_refusal(topic))
        found = reconcile_new_memory(change, near, format_utc_timestamp(self._clock.now()))
        return not (
            found.known_path or found.replaced_paths or found.contradicts or found.questions
        )

    def _name_everywhere(self, accepted: AcceptedChange) -> AcceptedChange:
        if self.everywhere is None:
            return accepted
        path = self.everywhere.find_free_path(accepted.change.path.removesuffix(".md"))
        return replace(accepted, change=replace(accepted.change, path=path))

    def _anchor(self, accepted: AcceptedChange, reason: ChangeReason) -> AcceptedChange:
        """Note what a new or reworded memory rests on. Tidying and taking back say nothing of the
        project as it is now.
        """
        change = accepted.change
        if change.after is None or reason.actor in ("dream", "undo"):
            return accepted
        topic = change.memory_after
        before = change.memory_before
        if before is not None and before.body == topic.body:
            return accepted
        anchors = self.project_files.find_anchors(
            f"{topic.name}\n{topic.description}\n{topic.body}"
        )
        if anchors == read_memory_anchors(topic):
            return accepted
        after = encode_file_text_as_utf8(replace_anchors(topic, anchors).text())
        return replace(accepted, change=replace(change, after=after))

    def set_muted(self, path: str, *, muted: bool) -> WriteResult:
        """Leave a memory out of all that models are shown, or let it in again, for the user. Raises
        InputError for a path that is no memory's, StoreError.
        """
        topic = self.folder.read_memory_file(path)
        status = "muted" if muted else "active"
        trust = self.folder.determine_trust(topic)
        changed = with_provenance(topic, replace(topic.provenance, status=status, trust=trust))
        change = build_memory_change(topic, changed)
        what = f"{'mute' if muted else 'unmute'}: {path}"
        return self.write([change], ChangeReason(actor="user", what=what), is_reviewed=False)

    def read_memory_files(
        self, may_concern: Callable[[str], bool] | None = None
    ) -> list[MemoryFile]:
        """Return every memory; each is read once, and again when it changed. Those that their
        headers give whole are left out where `may_concern` says so of their text. Raises
        StoreError.
        """
        return self.known_memories.read(
            path
            for path, head in self.headers_by_path().items()
            if may_concern is None
            or not head.is_whole
            or may_concern(f"{head.name} {head.description} {head.saying}")
        )

    def prepare_first_write(self) -> Iterator[None]:
        """Steps that build what the first statement is compared in, for another thread, and read
        what its change is recorded in; nothing of what is there by then. Whoever needs it earlier
        does the rest. Raises StoreError.
        """
        return chain(self.known_memories.prepare_search(), self._preload_history())

    def _preload_history(self) -> Iterator[None]:
        with contextlib.suppress(StoreError):  # the write meets it again
            self.folder.history.preload()
        yield

    def _list_stated(self) -> dict[str, RelatedStatementSearch]:
        """What is searched for the user's words, by the beginning of its paths."""
        return {
            prefix: each.known_memories.get_search()
            for prefix, each in self.memories_by_prefix.items()
        }

    @property
    def team_readers_description(self) -> str:
        """Who reads the team's memories, in words for the user; empty for a project without a team
        of its own.
        """
        path = self.layout.team_layout.location
        return describe_team_readers(
            read_if_exists(self._files, path, limit=MAX_TEAM_LOCATION_BYTES) or b""
        )

    def build_gate_context(
        self,
        actor: Actor,
        evidence: WriteEvidence = NO_EVIDENCE,
        changed_paths: Collection[str] = (),
    ) -> WriteGateContext:
        """Return the context in which the gate would judge a change of this actor now.

        `changed_paths` are the paths to be written; they are not counted as outside texts.
        """
        self.folder.refresh()
        given = WriteGateContext(
            actor=actor,
            evidence=evidence,
            now=format_utc_timestamp(self._clock.now()),
            reviewed_digests=self.reviewed_digests(),
            untrusted_paths=tuple(filter(self.folder.has_untrusted_origin, changed_paths)),
            team_memories=self.folder.read_team_memories(),
            team_readers=self.team_readers_description,
            stated=self._list_stated(),
        )
        if actor not in MODEL_ACTORS:
            return given
        heads = self.headers()
        outside = [
            self.folder.read_memory_file(head.path).body
            for head in heads
            if head.trust in LOW_TRUST
            and head.size <= MAX_FILE_BYTES
            and head.path not in changed_paths
        ]
        evidence = replace(evidence, outside_texts=(*evidence.outside_texts, *outside))
        return replace(given, evidence=evidence, existing_paths=tuple(head.path for head in heads))

    def _accept_suspicious(self, changes: Iterable[MemoryChange]) -> None:
        """Seal what the user wrote or accepted, so that it is shown even where it reads like an
        order.
        """
        topics = [change.memory_after for change in changes]
        suspicious = [
            compute_review_digest(each) for each in topics if find_memory_suspicions(each)
        ]
        if suspicious:
            self._digests.add(suspicious)

    def add_proposals(
        self,
        changes: Sequence[MemoryChange],
        change_reason: ChangeReason,
        reason: str,
        *,
        tell: Callable[[Event], None] | None = None,
    ) -> WriteResult:
        """Put changes into the inbox for the user's decision, whatever the policy; a new memory
        that is known already does not wait.
        """
        changes = [
            change
            for change in changes
            if not any(
                each.known_memories.find_saying_the_same(change)
                for each in self.memories_by_prefix.values()
            )
        ]
        waits = [
            NeedsReview(
                redact_change(change),
                parse_memory_file(change.path, change.before or b"").provenance.trust,
                (reason,),
            )
            for change in changes
        ]
        written = self._add_proposals(waits, change_reason)
        report_write_result(written, change_reason, tell)
        return written

    def find_corrected_memories(self, said: str, *, in_doubt: bool = False) -> tuple[str, ...]:
        """Paths of the memories, here or in every project, that a statement contradicts, or whose
        value it corrects; `in_doubt` those of which nothing tells whether they still hold. Raises
        StoreError.
        """
        return tuple(
            path
            for each in self.memories_by_prefix.values()
            for path in find_corrected_memories(
                said, each.known_memories.find_related(said), in_doubt=in_doubt
            )
        )

    def _add_proposals(self, verdicts: Sequence[NeedsReview], why: ChangeReason) -> WriteResult:
        """Put what is doubtful into the inbox; what the user rejected before waits again only where
        they say it themselves.
        """
        now = self._clock.now()
        asked = [
            build_proposal(each.change, reasons=each.reasons, change_reason=why, timestamp=now)
            for each in verdicts
        ]
        rejected = self.inbox.rejected.list_digests() if asked and why.actor != "inbox" else ()
        refused = [each for each in asked if not each.is_in_users_words and each.digest in rejected]
        waiting = tuple(each for each in asked if each not in refused)
        self.inbox.add(waiting)
        return WriteResult(
            proposals=waiting,
            refused=tuple(RefusedChange(each.path, (REJECTED_BEFORE,)) for each in refused),
        )

    def read_memory_with_suspicions(self, path: str) -> tuple[MemoryFile, tuple[str, ...]]:
        """Return a memory and the reasons why a model may not see it (empty when it may).

        Raises InputError, StoreError.
        """
        topic = self.folder.read_memory_file(path)
        if self.folder.was_judged_clean(topic):
            return topic, ()
        return topic, find_unreviewed_memory_suspicions(
            topic,
            self.reviewed_digests(),
            Trust.UNKNOWN if self.folder.has_untrusted_origin(path) else None,
        )

    def find_free_path(self, name: str) -> str:
        """Find an unused path for a new memory of this name, numbered where the plain one
        exists.
        """
        self.folder.refresh()
        return find_free_name(
            make_file_name(redact(name).text), self.folder.listing.find_same_names
        )

    def add(
        self,
        text: str,
        *,
        kind: MemoryKind | str | None = None,
        name: str = "",
        description: str = "",
        agent: str = "",
    ) -> WriteResult:
        """Add a memory written by the user; what `agent` wrote for them waits. What is not given
        follows from the text: the kind by its words, name and description from its beginning.
        Raises InputError for an empty text, UsageError for what is none and for an unknown kind.
        """
        given = {"a memory": text, "its name": name, "its description": description}
        text, name, description = (
            replace_surrogates(check_text(what, each)) for what, each in given.items()
        )
        if says_nothing(text):
            raise InputError("there is no text to remember")
        first = " ".join(text.split())
        kind = check_memory_kind(kind or choose_memory_kind(first))
        name, description = name or first[:60], description or first[:150]
        for _ in range(MAX_NAME_TRIES - 1):
            with contextlib.suppress(WriteConflict):  # another process just used the name
                return self._add_under_free_name(text, kind, name, description, agent)
        return self._add_under_free_name(text, kind, name, description, agent)

    def _add_under_free_name(
        self, text: str, kind: MemoryKind, name: str, description: str, agent: str
    ) -> WriteResult:
        with self.scan_once(in_full=True):
            path = self.find_free_path(name)
            topic = create_memory_file(
                path,
                kind=kind,
                name=path.removesuffix(".md"),
                description=description,
                body=text,
                provenance=Provenance(
                    quote="" if agent else redact(text).text[:300],
                    trust=Trust.OUTSIDE if agent else Trust.REVIEWED,
                ),
            )
            why = ChangeReason(
                actor="agent" if agent else "user",
                what=render_change_headline("add", description),
                quote="" if agent else redact(text).text[:300],
            )
            change = build_memory_change(None, topic)
            if agent:
                return self.add_proposals([change], why, f"{agent} ran the command that adds it")
            return self.write([change], why)

    def edit(self, path: str, text: str, *, version: str | None = None) -> WriteResult:
        """Replace a memory's text on the user's behalf; the same text marks it as reviewed. Where
        it is not the `version` that was seen (`compute_memory_version`; None for any), the edit
        waits in the inbox beside it. Raises UsageError for what is no text.
        """
        path, text = check_text("a memory's path", path), check_text("a memory", text)
        present = self.folder.read_memory_file(path).text()
        before, after = encode_file_text_as_utf8(present), encode_file_text_as_utf8(text)
        is_newer = version not in (None, compute_memory_version(present)) and before != after
        return self.write(
            [MemoryChange(path=path, before=before, after=after)],
            ChangeReason(actor="user", what=f"edit: {path}"),
            waits_because=CHANGED_MEANWHILE if is_newer else "",
        )

    def forget(self, paths: Sequence[str], reason: ChangeReason | None = None) -> WriteResult:
        """Delete memories, by default on the user's behalf; the history keeps them, and `undo`
        restores them. Raises InputError for a path that is none, UsageError for what is no path.
        """
        paths = [paths] if isinstance(paths, str) else paths
        if not isinstance(paths, Sequence):
            raise UsageError(f"forget takes paths, not {type(paths).__name__}")
        paths = [*dict.fromkeys(check_text("a memory's path", path) for path in paths)]
        reason = reason or ChangeReason(
            actor="user", what=render_change_headline("forget", ", ".join(paths))
        )
        changes = [build_memory_removal(self.folder.read_memory_file(path)) for path in paths]
        return self.write(changes, reason)

    def purge(self, paths: Sequence[str], clean: Callable[[bytes], bytes] = bytes) -> int:
        """Remove every copy of these memories in folder, history, inbox and derived files; `clean`
        is applied to the versions and messages of others that the history keeps.

        Returns the number of changes that contained them. Doing it again changes nothing.
        """
        versions = [topic for path in paths for topic in self.read_memory_versions(path)]
        self._digests.remove(set(map(compute_review_digest, versions)))
        for waiting in self.inbox.list_proposals():
            if waiting.path in paths:
                self.inbox.remove(waiting)
        return self.folder.purge(paths, clean)

    def read_memory_versions(self, path: str) -> list[MemoryFile]:
        """Every version of a memory that the folder or its history holds, oldest last."""
        found = [
            self.folder.history.read_file(path, recorded.id)
            for recorded in self.folder.history.list_changes(path)
        ]
        return [parse_memory_file(path, data) for data in found if data is not None]

    def undo(
        self,
        id_prefix: str = "",
        *,
        dry_run: bool = False,
        reason: ChangeReason | None = None,
        tell: Callable[[Event], None] | None = None,
    ) -> RecordedChange:
        """Undo the newest change that is not undone yet, or the one whose id has this prefix;
        returns it. What was accepted by it waits again. With a `reason` of its own this is a change
        like any other, which the next undo takes back.

        Raises NothingToDo when there is none, InputError for a prefix that no id has or several
        have, WriteConflict when a file was changed again since.
        """
        owner, recorded = (
            self.find_change(id_prefix) if id_prefix else self._find_newest_change_to_undo()
        )
        if not dry_run:
            other = self.everywhere if owner is self else self
            id = undo_recorded_change(
                owner.folder,
                None if other is None else other.folder,
                recorded,
                inbox=owner.inbox,
                now=self._clock.now(),
                reason=reason,
            )
            if reason is not None:
                done = WriteResult(change_id=id, paths=recorded.paths)
                report_write_result(done, reason, tell)
        return recorded

    def find_change(self, id_prefix: str) -> tuple[AutoMemory, RecordedChange]:
        """The change whose id has this prefix, here or in every project, and the memory that it is
        of. Raises InputError for a prefix that no id has or several have.
        """
        found = [
            (each, change)
            for each in self._list_refreshed()
            for change in each.folder.history.find_changes(id_prefix)
        ]
        if len(found) != 1:
            raise InputError(
                f"{len(found) or 'no'} changes of the history begin with {id_prefix!r}; `memorist "
                f"memory log` lists them"
            )
        return found[0]

    def _find_newest_change_to_undo(self) -> tuple[AutoMemory, RecordedChange]:
        newest = [
            (each, change)
            for each in self._list_refreshed()
            if (change := find_newest_change_to_undo(each.folder.history)) is not None
        ]
        if not newest:
            raise NothingToDo("there is no change of memory to take back")
        # Within one second, a memory is moved after it was written.
        return max(newest, key=lambda pair: (pair[1].at, bool(pair[1].why.move)))

    def _list_refreshed(self) -> list[AutoMemory]:
        """This memory and that of every project, with what other programs changed recorded."""
        owners = [*self.memories_by_prefix.values()]
        for each in owners:
            each.folder.refresh()
        return owners

    def list_proposals(self) -> list[Proposal]:
        """What waits, here and for every project, oldest first: the numbers by which a person names
        it stay, whatever comes to wait meanwhile.
        """
        return [self.with_shown_path(*pair) for pair in self._list_proposals_with_memory()]

    def with_shown_path(self, owner: AutoMemory, given: Proposal) -> Proposal:
        """The proposal with the path by which the user of this project knows the memory."""
        return replace(given, path=self.get_shown_path(owner, given.path))

    def get_shown_path(self, owner: AutoMemory, path: str) -> str:
        """The path by which the user of this project knows a memory of this folder or of every
        project.
        """
        return path if owner is self else EVERYWHERE_PREFIX + path

    def _list_proposals_with_memory(self) -> list[tuple[AutoMemory, Proposal]]:
        found = [
            (memory, each)
            for memory in self.memories_by_prefix.values()
            for each in memory.inbox.list_proposals()
        ]
        return sorted(found, key=lambda pair: (pair[1].at, pair[1].id))

    def list_proposals_for_user(self) -> list[Proposal]:
        """The same where the user sees them numbered, from 1 on: until the next listing a number
        means what it does in this one, whatever others add or withdraw.
        """
        waiting = self.list_proposals()
        with contextlib.suppress(StoreError):  # the list is shown where no disk takes writes, too
            if waiting:
                self.inbox.record_listing(waiting, self._clock.now())
        return waiting

    def find_proposal(self, name: str) -> tuple[AutoMemory, Proposal]:
        """The proposal with this number or id, or whose id has this prefix, and the memory that it
        would change; see `find_proposal_by_name`. Raises InputError for none or more than one.
        """
        listing = self.inbox.read_listing(self._clock.now())
        pairs = self._list_proposals_with_memory()
        found = find_proposal_by_name([each for _, each in pairs], listing, name)
        return next(pair for pair in pairs if pair[1] is found)

    def accept(
        self,
        id_prefix: str,
        text: str | None = None,
        *,
        tell: Callable[[Event], None] | None = None,
    ) -> WriteResult:
        """Write a proposal, as it is or with another text, and remove it from the inbox.

        Where the memory already is as proposed, nothing is written; what is refused stays in the
        inbox. Raises WriteConflict when the file changed since it was proposed.
        """
        owner, given = self.find_proposal(id_prefix)
        what = given.why.what.removeprefix("accepted: ")
        if given.is_removal:
            what = f"forget: {given.one_line_text}"
        why = replace(given.why, actor="inbox", what=render_change_headline("accepted", what))
        shown = self.with_shown_path(owner, given)
        written = owner.write_proposal(given, why, text, shown_path=shown.path)
        if owner is not self:
            written = merge_everywhere_result(WriteResult(), written, EVERYWHERE_PREFIX)
        report_write_result(written, why, tell)
        return written

    def write_proposal(
        self, given: Proposal, why: ChangeReason, text: str | None, *, shown_path: str
    ) -> WriteResult:
        """Write a proposal of this memory's own inbox; see `accept`. `shown_path` is that by which
        the user knows its memory.
        """
        now = self.folder.read_present_bytes(given.path)
        change = given.to_change(now, text)
        if is_already_applied(change, now):
            self.inbox.remove(given)
            return WriteResult()
        if now != change.before and change.before is not None:
            raise WriteConflict(
                f"{shown_path} changed since this was proposed; reject {given.id}, or take over "
                f"what you want of it with `memorist memory edit {shlex.quote(shown_path)}`"
            )
        if now is not None and change.before is None:
            change = replace(
                change, path=self.find_free_path(change.path.rsplit("/", 1)[-1].removesuffix(".md"))
            )
        written = self.write([change], why)
        if not written.refused and given.id not in {each.id for each in written.proposals}:
            self.inbox.remove(given)
        return written

    def reject(self, id_prefix: str, *, tell: Callable[[Event], None] | None = None) -> Proposal:
        """Discard a proposal."""
        owner, given = self.find_proposal(id_prefix)
        owner.inbox.reject(given)
        given = self.with_shown_path(owner, given)
        if tell is not None:
            text = shorten_to_one_line(given.one_line_text, MAX_EVENT_TEXT_CHARS)
            tell(ProposalRejected(given.id, given.path, text))
        return given

    def reviewed_digests(self) -> tuple[str, ...]:
        """Return the digests of the memories that the user accepted."""
        return self._digests.list_digests()

    def clone_for_thread(self) -> Self:
        """Open the same folder for another thread; see `MemoryFolder.clone_for_thread`."""
        uses = self.folder.indexes.read_usage()
        clone = type(self)(
            self.layout,
            files=self._files,
            clock=self._clock,
            settings=self.settings,
            usage_source=lambda: uses,
        )
        clone.project_files = self.project_files
        if self.everywhere is not None:
            clone.everywhere = self.everywhere.clone_for_thread()
        return clone

    def close(self) -> None:
        """Close the history's files."""
        self.folder.close()
        if self.everywhere is not None:
            self.everywhere.close()


def _is_visible(header: MemoryHeader, reviewed_digests: Collection[str]) -> bool:
    return not header.doubts or header.content_digest in reviewed_digests
