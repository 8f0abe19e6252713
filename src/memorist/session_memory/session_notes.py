"""Session memory at run time: the files, the fork, and the structural update when there is no model
or it fails.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.core.messages import Message, Origin
from memorist.core.prompt_templates import load_prompt
from memorist.core.text_encoding import encode_file_text_as_utf8, replace_surrogates
from memorist.core.token_count import estimate_text_tokens
from memorist.errors import SettingsError, StoreError, WriteConflict
from memorist.events import NotesFailed, NotesUpdated, UpdateMethod
from memorist.extensions import SessionExtension, SessionReply
from memorist.forks.answer_form import FormTask
from memorist.forks.fork_request import is_parent_model
from memorist.forks.fork_spec import (
    ForkOutcome,
    ForkSpec,
    ParentCall,
    Receipt,
    SingleFileEdit,
    build_discarded_receipt,
)
from memorist.forks.latest_task_queue import LatestTaskQueue
from memorist.formats.request_codec import CUT_OFF_REASONS
from memorist.models.answer_schema import should_use_answer_form
from memorist.ports import FileSystem, HostInfo, Model
from memorist.runtime import SessionContext
from memorist.safety.secrets import redact
from memorist.session_memory.conversation_brief import (
    extract_text_without_injections,
    render_conversation_brief,
)
from memorist.session_memory.conversation_tracker import ConversationTracker, NotesDue
from memorist.session_memory.notes_prompt import (
    NotesPrompts,
    build_notes_form,
    find_long_sections,
    render_length_reminders,
    render_update_prompt,
)
from memorist.session_memory.notes_review import (
    join_uncovered_derived_notes,
    repair_or_roll_back_notes,
    review_notes_and_add_derived,
    says_notes_need_no_update,
)
from memorist.session_memory.notes_template import (
    are_notes_empty,
    checksum_each_derived_notes_line,
    compose_notes_with_derived,
    move_written_lines_up,
    parse_authored_sections,
    parse_section_bodies,
    parse_template_sections,
)
from memorist.session_memory.structural_notes import (
    TASK_SECTION,
    NotesBudget,
    render_structural_sections,
)
from memorist.settings import SessionMemorySettings
from memorist.store.disk_files import read_if_exists, read_json_if_valid
from memorist.store.home_layout import Layout
from memorist.store.overlay_files import OverlayFiles
from memorist.transcript_analysis.answer_check import build_fork_line_check
from memorist.transcript_analysis.outcome_claims import OutcomeClaimCheck

NOTES_LABEL = "session_memory"

MAX_CLOSE_WAIT_SECONDS = 60.0
"""Longest wait for updates when a session is closed, in seconds (AM-9's bound for every drain)."""

MAX_MERGE_ATTEMPTS = 3
"""Attempts to merge notes that are being edited concurrently."""


def are_notes_allowed(host: HostInfo, settings: SessionMemorySettings) -> bool:
    """Whether notes are kept at all for this host (SM-1)."""
    return settings.enabled and host.auto_compact and host.main and host.memory and not host.remote


class NotesCursor(Struct, frozen=True, kw_only=True):
    """How far the notes reach; stored beside them."""

    message: str
    """Id of the newest message after which no tool call was open (SM-10)."""
    tokens: int
    updates: int
    at: float
    way: UpdateMethod
    derived: frozenset[int] | None = None
    """As `checksum_each_derived_notes_line` gives them for the notes, and while these are written
    for those before as well; None in a cursor of an earlier version.
    """


def load_notes_prompts(files: FileSystem, layout: Layout) -> NotesPrompts:
    """Our prompt and template, or the user's own from the home folder (SM-6). Raises SettingsError
    for a user template without a header, or with one twice.
    """
    template, own_template = _read_user_text(files, layout.user_template), True
    if template is None:
        template, own_template = load_prompt("session_memory/template"), False
    titles = [" ".join(each.title.lower().split()) for each in parse_template_sections(template)]
    if own_template and not titles:
        raise SettingsError(
            f"your template {layout.user_template} has no section: a section begins with a "
            f"line such as '# Current State'"
        )
    if doubled := [title for at, title in enumerate(titles) if title in titles[:at]]:
        raise SettingsError(
            f"your template {layout.user_template} has two sections named '{doubled[0]}': give "
            f"each a title of its own"
        )
    prompt = _read_user_text(files, layout.user_prompt)
    return NotesPrompts(
        template=template,
        prompt=prompt or load_prompt("session_memory/update"),
        section_reminder=load_prompt("session_memory/reminder_section"),
        total_reminder=load_prompt("session_memory/reminder_total"),
        form=load_prompt("session_memory/form"),
        is_user_prompt=prompt is not None,
    )


def _read_user_text(files: FileSystem, path: Path) -> str | None:
    try:
        return files.read(path).decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise SettingsError(f"your own text {path} is not UTF-8; save it as UTF-8") from error


class _ReviewedEdit(Struct, frozen=True):
    """An edit of the notes after its review: the notes before it, as it left them, and to keep."""

    before: str
    after: str
    text: str
    receipt: Receipt
    """With what was kept, repaired and dropped."""
    stands: bool
    repairs: tuple[str, ...] = ()

    @property
    def is_changed(self) -> bool:
        """Whether the model wrote anything at all."""
        return self.before != self.after and bool(self.repairs)


class SessionMemory(SessionExtension):
    """The notes of one session."""

    def __init__(
        self, context: SessionContext, tracker: ConversationTracker, prompts: NotesPrompts
    ) -> None:
        self._runtime = runtime = context.runtime
        self._host = context.host
        self._layout = context.layout
        self._tracker = tracker
        self._prompts = prompts
        self._updates = 0
        self._last_structural = ""
        """The notes as the last structural update wrote them; while the file is unchanged, its
        written parts need not be parsed again.
        """
        self._written_bodies: dict[str, str] = {}
        self.way: UpdateMethod | None = None
        """How the notes were last updated; None when there are none yet."""
        self._queue = LatestTaskQueue(runtime.clock, on_error=self._on_failed)

    @property
    def template(self) -> str:
        """The template in use."""
        return self._prompts.template

    def read_notes(self) -> str | None:
        """The notes on disk; None when there are none, or they say nothing beyond the template
        (SM-12).
        """
        text = self._read_file()
        if text is None or are_notes_empty(text, self._prompts.template):
            return None
        return replace_surrogates(text)

    def _read_file(self) -> str | None:
        found = read_if_exists(self._runtime.files, self._layout.notes)
        return None if found is None else found.decode("utf-8", "surrogateescape")

    @property
    def has_model_or_user_notes(self) -> bool:
        """Whether a model (or the user) wrote what the notes say: by the last update, or, where
        the cursor is gone, by what is in the file.
        """
        if self.way is not None:
            return self.way == "model"
        return any(
            parse_authored_sections(self._read_file() or "", self._prompts.template).values()
        )

    def read_cursor(self) -> NotesCursor | None:
        """How far the notes reach; None when nothing usable is on disk."""
        found = read_json_if_valid(self._runtime.files, self._layout.notes_cursor, NotesCursor)
        if found is None:
            return None
        self._updates = found.updates
        self.way = found.way
        return found

    @property
    def are_notes_kept(self) -> bool:
        """Whether notes are kept now; a flag may change it while the session runs (SM-1)."""
        return are_notes_allowed(self._host, self._settings())

    def on_reply(self, reply: SessionReply) -> None:
        """Update the notes in the background, if the reply made that due."""
        self.schedule_if_due(reply.parent)

    def on_turn_end(self, parent: ParentCall | None = None) -> None:
        """Update the notes in the background at this natural break, if that is due."""
        self.schedule_if_due(lambda: parent)

    def schedule_if_due(self, parent: Callable[[], ParentCall | None] = lambda: None) -> None:
        """Update the notes in the background, if that became due and notes are kept."""
        due = self._tracker.take_due_notes_update()
        if due is not None and self.are_notes_kept:
            self.schedule_update(due, parent())

    async def update_if_due(self) -> None:
        """Update the notes and wait for it, if that is due and notes are kept."""
        due = self._tracker.take_due_notes_update()
        if due is not None and self.are_notes_kept:
            await self.update_notes(due, None)

    async def update_at_break(self, due: NotesDue) -> None:
        """Update the notes and wait for it, where the client ends the session or compacts it:
        within the budget, as nobody asked, and not where a model wrote them up to this message.
        """
        cursor = self.read_cursor()
        is_current = (
            cursor is not None
            and (cursor.way, cursor.message) == ("model", self._tracker.last_complete_message)
            and self.read_notes() is not None
        )
        if self.are_notes_kept and not is_current:
            self._tracker.on_notes_updated(due.tokens)
            await self._update(due, None, asked=False)

    def schedule_update(self, due: NotesDue, parent: ParentCall | None) -> None:
        """Update in the background: one run at a time, and of the waiting ones only the newest
        (SM-8).
        """
        # Growth counts from the request for the update, not from its end: otherwise a slow model
        # would be asked again at once.
        self._tracker.on_notes_updated(due.tokens)
        self._queue.submit(
            lambda: self._update(due, parent, asked=False),
            on_dropped=lambda outcome: self._runtime.record_skipped_fork(
                NOTES_LABEL, due.why, outcome
            ),
        )

    def _on_failed(self, error: BaseException) -> None:
        """A background update raised an error, for example because the disk refused. The host goes
        on; the event says why there are no notes.
        """
        with contextlib.suppress(StoreError):  # the same disk may refuse the event
            self._runtime.emit(NotesFailed(str(error), ForkOutcome.FAILED.value))

    def _settings(self) -> SessionMemorySettings:
        return self._runtime.flags.apply_to_section(self._runtime.settings.session_memory)

    async def wait_for_running_update(self) -> None:
        """Wait for a running update, as a compaction does: at most 15 s, and not at all for one
        that began over a minute ago (SM-9).
        """
        settings = self._settings()
        since = self._queue.running_since
        if since is None or self._runtime.clock.monotonic() - since > settings.stale_seconds:
            return
        await self._queue.wait(settings.wait_seconds)

    async def wait_for_background(self) -> None:
        """Wait for all updates, at most `MAX_CLOSE_WAIT_SECONDS`."""
        await self.wait_or_cancel(MAX_CLOSE_WAIT_SECONDS)

    async def wait_or_cancel(self, seconds: float) -> None:
        """Wait for all background updates, at most this long; those still running then are
        cancelled.
        """
        await self._queue.wait_or_cancel(seconds)

    async def update_notes(self, due: NotesDue, parent: ParentCall | None) -> None:
        """Update the notes now, for a user who asked for it, whatever the budget says: by the
        model, or structurally where there is none or it failed.
        """
        self._tracker.on_notes_updated(due.tokens)
        await self._update(due, parent, asked=True)

    async def _update(self, due: NotesDue, parent: ParentCall | None, *, asked: bool) -> None:
        upto = self._tracker.last_complete_message
        before = self._ensure_notes()
        if self._runtime.model is not None:
            spec = self._fork_spec(self._runtime.model, before, due, parent, asked=asked)
            # The file holds the former notes until the edit is reviewed, however the process ends.
            draft = OverlayFiles(self._runtime.files)
            try:
                receipt = await self._runtime.run_fork_for_review(spec, self._runtime.model, draft)
                reviewed = await self._review_run(receipt, spec, before, draft)
            except asyncio.CancelledError:
                # A close that waited long enough: what structure proves is not lost with the model.
                self._write_structural(self._ensure_notes(), due, upto)
                raise
            if reviewed is not None:
                receipt, stands = self._accept_edit(reviewed, due, upto)
                self._runtime.record_receipt(receipt)
                if stands:
                    return
            before = self._ensure_notes()
        await self._update_structurally(before, due, upto)

    async def _review_run(
        self, receipt: Receipt, spec: ForkSpec, before: str, draft: OverlayFiles
    ) -> _ReviewedEdit | None:
        """Review what a run made of the notes; None where it was not let run."""
        if receipt.outcome is ForkOutcome.BLOCKED:
            return None
        with self._runtime.record_receipt_if_review_fails(receipt):
            return await self._review_edit(before, _read_draft(draft, before), receipt, spec)

    def _ensure_notes(self) -> str:
        """The notes, created from the template if missing: exclusively, 0600 in a folder of
        0700. What somebody wrote into the part that an update replaces is moved out of it.
        """
        template = self._prompts.template
        for _ in range(MAX_MERGE_ATTEMPTS):
            self._runtime.files.create(self._layout.notes, template.encode())
            found = self._read_file()
            text = template if found is None else found
            cursor = self.read_cursor() if text != self._last_structural else None
            if cursor is None or cursor.derived is None:
                return text
            kept = move_written_lines_up(text, template, cursor.derived)
            with contextlib.suppress(WriteConflict):
                self._write(kept, text)
                return kept
        raise WriteConflict(_explain_conflict(self._layout.notes))

    async def _update_structurally(self, before: str, due: NotesDue, upto: str) -> None:
        await asyncio.sleep(0)  # it takes some milliseconds for a long history
        self._write_structural(before, due, upto)
        await asyncio.sleep(0)

    def _write_structural(self, before: str, due: NotesDue, upto: str) -> None:
        derived = self._structural_sections()
        for _ in range(MAX_MERGE_ATTEMPTS):
            if before != self._last_structural:
                self._written_bodies = parse_authored_sections(before, self._prompts.template)
            text = _redact_notes(
                compose_notes_with_derived(self._prompts.template, self._written_bodies, derived)
            )
            try:
                self._write(text, before)
                break
            except WriteConflict:
                # The notes were edited concurrently, perhaps by the user; that edit is kept.
                before = self._ensure_notes()
        else:
            raise WriteConflict(_explain_conflict(self._layout.notes))
        self._last_structural = text
        self._advance_cursor(due, upto, "structural", text)

    def _structural_sections(self) -> dict[str, str]:
        budget = NotesBudget.from_settings(self._settings())
        return render_structural_sections(self._tracker.ledger, budget)

    def _write(self, text: str, before: str) -> None:
        # Not in a thread: one left behind by a close would keep writing for a released session.
        if text == before:
            return
        cursor = self.read_cursor()
        if cursor is not None and cursor.derived is not None:
            # Before the notes: after a kill in between, no derived line passes for somebody's.
            both = cursor.derived | self._checksum_derived(text)
            self._write_cursor(replace(cursor, derived=both))
        self._runtime.files.write(
            self._layout.notes,
            encode_file_text_as_utf8(text),
            expect=encode_file_text_as_utf8(before),
        )

    def _checksum_derived(self, text: str) -> frozenset[int]:
        stored = encode_file_text_as_utf8(text).decode("utf-8", "surrogateescape")
        return checksum_each_derived_notes_line(stored, self._prompts.template)

    def _write_cursor(self, cursor: NotesCursor) -> None:
        self._runtime.files.write(self._layout.notes_cursor, msgspec.json.encode(cursor))

    def _fork_spec(
        self, model: Model, before: str, due: NotesDue, parent: ParentCall | None, *, asked: bool
    ) -> ForkSpec:
        path, runtime = self._layout.notes, self._runtime
        settings = self._settings()
        shares = parent is not None and is_parent_model(model.name, model.format, parent)
        shown = replace_surrogates(before)
        fills = should_use_answer_form(model, runtime.settings.models, shares=shares)
        return ForkSpec(
            label=NOTES_LABEL,
            why=due.why,
            requested_by_user=asked,
            parent=parent if shares else None,
            history_summary=None if shares else self._conversation_brief(),
            instruction=render_update_prompt(shown, str(path), self._prompts, settings),
            form=self._build_form(shown, settings) if fills else None,
            permission=SingleFileEdit(path),
            limits=runtime.settings.forks,
            known_files=(path,),
            one_round=True,
        )

    def _build_form(self, notes: str, settings: SessionMemorySettings) -> FormTask | None:
        """The update as a form; None where the user has a prompt of their own."""
        texts = self._prompts
        if texts.is_user_prompt:
            return None
        long = find_long_sections(notes, texts.template, settings.section_tokens)
        return build_notes_form(
            notes,
            str(self._layout.notes),
            texts.template,
            texts.form,
            rewritten=tuple(title for title, _ in long),
            reminders=render_length_reminders(notes, texts, settings),
        )

    def _conversation_brief(self) -> str:
        newest = [
            (message.role, _spoken_text(message)) for message in self._tracker.newest_messages
        ]
        return redact(
            render_conversation_brief(
                self._structural_sections(), [pair for pair in newest if pair[1]]
            )
        ).text

    async def _review_edit(
        self, before: str, after: str, receipt: Receipt, spec: ForkSpec
    ) -> _ReviewedEdit:
        """Hold the model's edit against what it was shown and what structure proves. A model that
        read its own notes and saw nothing to add, without trying an edit, brought them up to date
        too.
        """
        if after == before:
            settled = (
                receipt.outcome is ForkOutcome.UNCHANGED
                and self.way == "model"
                and _saw_nothing_to_add(receipt)
            )
            text = before
            if settled:
                derived = self._structural_sections()
                text = _redact_notes(
                    join_uncovered_derived_notes(before, self._prompts.template, derived)
                )
                if says_notes_need_no_update(receipt.said):
                    receipt = replace(receipt, outcome=ForkOutcome.CONFIRMED)
            return _ReviewedEdit(before, after, text, receipt, stands=settled)
        checked = repair_or_roll_back_notes(before, after, self._prompts.template)
        texts = self._prompts
        known = [*parse_section_bodies(before, texts.template).values()]
        asked = f"{texts.prompt}\n{texts.form}\n{texts.template}"
        derived = self._structural_sections()
        typed = [each.text for each in self._tracker.newest_messages if each.origin is Origin.USER]
        user_words = "\n".join([derived.get(TASK_SECTION, ""), *typed])
        outcomes = OutcomeClaimCheck(self._tracker.ledger.work_record)
        reviewed = await asyncio.to_thread(
            lambda: review_notes_and_add_derived(
                before,
                checked.text,
                texts.template,
                derived,
                build_fork_line_check(spec, known, asked, user_words, outcomes.find_contradiction),
            )
        )
        remarks = (*checked.repairs, *reviewed.remarks)
        # Also of a run that was stopped: each line that stands was judged by itself.
        stands = not checked.rolled_back and reviewed.stands
        if stands:
            verdict = "; ".join((f"{reviewed.added} lines of the model stand", *remarks))
            receipt = replace(receipt, outcome=ForkOutcome.CHANGED, said=verdict)
        elif receipt.outcome is ForkOutcome.CHANGED:
            receipt = build_discarded_receipt(
                receipt, "; ".join(remarks) or "nothing new was written"
            )
        return _ReviewedEdit(
            before, after, _redact_notes(reviewed.text), receipt, stands=stands, repairs=remarks
        )

    def _accept_edit(self, edit: _ReviewedEdit, due: NotesDue, upto: str) -> tuple[Receipt, bool]:
        """Write what stands of a reviewed edit. Returns its receipt, and whether it is in the file:
        it is not where somebody edited the notes meanwhile.
        """
        receipt = edit.receipt
        why = "; ".join(edit.repairs) if edit.is_changed else receipt.said
        if edit.stands:
            try:
                self._write(edit.text, edit.before)
            except WriteConflict as conflict:
                why = str(conflict)
                receipt = build_discarded_receipt(receipt, why)
            else:
                self._advance_cursor(due, upto, "model", edit.text, edit.repairs)
                return receipt, True
        self._runtime.emit(NotesFailed(why or "the model changed nothing", receipt.outcome.value))
        return receipt, False

    def _advance_cursor(
        self, due: NotesDue, upto: str, way: UpdateMethod, text: str, repairs: tuple[str, ...] = ()
    ) -> None:
        self._updates += 1
        self.way = way
        cursor = NotesCursor(
            message=upto,
            tokens=due.tokens,
            updates=self._updates,
            at=self._runtime.clock.now(),
            way=way,
            derived=self._checksum_derived(text),
        )
        self._write_cursor(cursor)
        newest = self._tracker.newest_messages
        line = newest[-1].line if newest else 0
        self._runtime.emit(
            NotesUpdated(upto, line, due.tokens, due.why, way, estimate_text_tokens(text), repairs)
        )


def _explain_conflict(notes: Path) -> str:
    return f"{notes} keeps changing; the notes are updated the next time"


def _read_draft(draft: OverlayFiles, before: str) -> str:
    """The notes as a fork left them; it may change no other file."""
    written = [after or b"" for _, after in draft.changes().values()]
    return written[0].decode("utf-8", "surrogateescape") if written else before


def _saw_nothing_to_add(receipt: Receipt) -> bool:
    """Whether the model answered at once that there is nothing to do: words, no tool call, no
    refusal and no end in mid-sentence.
    """
    return (
        receipt.turns == 1
        and bool(receipt.said.strip())
        and not any(each.stop_reason in _CUT_SHORT for each in receipt.sent)
    )


_CUT_SHORT = CUT_OFF_REASONS | {"refusal", "content_filter", "failed"}
"""Stop reasons of replies that are no answer, as the three wire formats name them."""


def _redact_notes(text: str) -> str:
    """The notes with a mark in place of each secret (SF-1). Unchanged sections are cached and not
    scanned again.
    """
    return "\n# ".join(_redact_section(section) for section in text.split("\n# "))


@lru_cache(maxsize=64)
def _redact_section(section: str) -> str:
    return redact(section).text


def _spoken_text(message: Message) -> str:
    calls = (f"(calls {use.name})" for use in message.tool_uses)
    return "\n".join(filter(None, (extract_text_without_injections(message), *calls)))
