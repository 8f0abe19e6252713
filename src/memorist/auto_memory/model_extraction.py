"""Memory extraction by a model: a fork's findings at the end of a turn (AM-5, AM-9).

The fork works on files in memory. Its results pass the gate before anything is written, all of them
as one change of the history.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Collection, Sequence

import msgspec
from msgspec.structs import replace

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.extraction_prompt import (
    ExtractionCursor,
    ExtractionPrompts,
    ExtractionPromptValues,
    build_extraction_form,
    count_dialogue_messages,
    has_written_memory,
    render_extraction_prompt,
)
from memorist.auto_memory.memory_changes import (
    ChangeReason,
    MemoryChange,
    find_added_line_fault,
    render_change_headline,
)
from memorist.auto_memory.memory_file import USER_KINDS, MemoryFile, parse_memory_file
from memorist.auto_memory.memory_manifest import is_index_file
from memorist.auto_memory.statements.statement_parser import Statement
from memorist.auto_memory.statements.user_prose import extract_redacted_user_text
from memorist.auto_memory.write_evidence import (
    MIN_QUOTE_WORDS,
    collect_write_evidence,
    normalize_for_comparison,
    select_newest_texts_that_fit,
    split_script_words,
)
from memorist.auto_memory.write_gate import RefusedChange
from memorist.auto_memory.write_result import WriteResult
from memorist.core.messages import Message, Origin
from memorist.core.prompt_templates import load_prompt
from memorist.core.utc_time import format_utc_timestamp
from memorist.errors import InputError, StoreError
from memorist.events import ExtractionFailed, MemoryRefused
from memorist.forks.fork_request import is_parent_model
from memorist.forks.fork_spec import (
    FolderAccess,
    ForkOutcome,
    ForkSpec,
    ParentCall,
    Receipt,
    build_discarded_receipt,
)
from memorist.forks.latest_task_queue import LatestTaskQueue
from memorist.models.answer_schema import should_use_answer_form
from memorist.ports import Model
from memorist.runtime import SessionContext
from memorist.safety.secrets import redact
from memorist.session_memory.conversation_brief import (
    extract_text_without_injections,
    render_conversation_brief,
)
from memorist.store.disk_files import read_json_if_valid
from memorist.store.overlay_files import OverlayFiles
from memorist.transcript_analysis.answer_check import CoveredLineDetector, build_fork_line_check

LABEL = "extraction"
NOTHING_WRITTEN = "The answer holds no memory:"
"""What the receipt says of an answer without one, before the answer itself."""
MAX_HELD_MESSAGES = 5_000
"""New messages held for a fork. A longer session without an end of turn is extracted from its
newest part.
"""


class ModelExtraction:
    """Has a model extract the memories of one session from the messages that it has not seen."""

    def __init__(
        self,
        memory: AutoMemory,
        context: SessionContext,
        wait_until_scanned: Callable[[], Awaitable[object]],
        on_written: Callable[[WriteResult], object],
    ) -> None:
        self._memory = memory
        self._on_written = on_written
        self._context = context
        self._runtime = context.runtime
        self._wait_until_scanned = wait_until_scanned
        """Waits until the memory folder has been scanned."""
        self._new_messages: list[Message] = []
        self._statements: list[Statement] = []
        """What a rule has kept of those messages already."""
        self._outside_texts: tuple[str, ...] = ()
        """Outside texts of messages already examined: a later fork still sees them and may obey
        them.
        """
        self._cursor = self._load_cursor()
        self._stopped = threading.Event()
        self._queue = LatestTaskQueue(context.runtime.clock, on_error=self._on_background_error)
        self._prompts = ExtractionPrompts(
            load_prompt("auto_memory/extract"),
            load_prompt("auto_memory/asked"),
            load_prompt("auto_memory/team"),
            load_prompt("auto_memory/form"),
        )

    def _load_cursor(self) -> ExtractionCursor:
        files, path = self._runtime.files, self._context.layout.memory_cursor
        return read_json_if_valid(files, path, ExtractionCursor) or ExtractionCursor()

    def on_message(self, message: Message, *, replayed: bool) -> None:
        """Follow one message. `replayed` marks one that an earlier process already saw."""
        self._new_messages.append(message)
        if len(self._new_messages) > MAX_HELD_MESSAGES:
            del self._new_messages[: MAX_HELD_MESSAGES // 10]
        if replayed and message.id == self._cursor.message:
            self._outside_texts = select_newest_texts_that_fit(
                collect_write_evidence("", self._new_messages).outside_texts
            )
            self._new_messages.clear()
            self._statements.clear()

    def forget_messages(self, ids: Collection[str]) -> None:
        """The user went back behind these messages: nothing is looked for in them."""
        self._new_messages = [each for each in self._new_messages if each.id not in ids]

    def on_statements(self, statements: Sequence[Statement]) -> None:
        """Note what a rule keeps of the newest message: a memory that repeats it is none."""
        self._statements += statements

    @property
    def has_new_messages(self) -> bool:
        """Whether there are messages that were not examined."""
        return bool(self._new_messages)

    @property
    def last_reply(self) -> str:
        """The text of the model's newest message, which a confirmation confirms."""
        return next(
            (
                text
                for message in reversed(self._new_messages)
                if message.origin is Origin.MODEL and (text := message.text.strip())
            ),
            "",
        )

    def stop(self) -> None:
        """Write nothing from here on, also not what a running extraction finds."""
        self._stopped.set()

    def on_turn_end(self, parent: ParentCall | None) -> None:
        """Start an extraction in the background; does not wait for it."""
        if self._is_due():
            last = self._new_messages[-1].id  # later messages are not in this parent's request
            self._queue.submit(
                lambda: self._run_extraction(parent, last, asked=False), on_dropped=self._on_dropped
            )

    async def extract_now(self, parent: ParentCall | None) -> None:
        """Extract now and wait for it."""
        if self._is_due():
            await self._run_extraction(parent, self._new_messages[-1].id, asked=True)

    def _is_due(self) -> bool:
        settings = self._runtime.flags.apply_to_section(self._memory.settings)
        if (
            self._runtime.model is None
            or not settings.enabled
            or settings.policy == "off"
            or not any(extract_redacted_user_text(message) for message in self._new_messages)
        ):
            return False
        if has_written_memory(self._new_messages, self._memory.layout.folder):
            self._advance_cursor(tuple(self._new_messages))
            return False
        self._cursor = replace(self._cursor, turns=self._cursor.turns + 1)
        return self._cursor.turns >= settings.every_turns

    def skip_messages_so_far(self) -> None:
        """The messages so far were examined in the session that they were copied from."""
        self._advance_cursor(tuple(self._new_messages))

    def _advance_cursor(self, seen: Sequence[Message]) -> None:
        """Mark these messages as examined."""
        self._cursor = ExtractionCursor(message=seen[-1].id)
        with contextlib.suppress(StoreError):  # at worst the next process examines them again
            self._runtime.files.write(
                self._context.layout.memory_cursor, msgspec.json.encode(self._cursor)
            )
        known = {message.id for message in seen}
        self._outside_texts = select_newest_texts_that_fit(
            (*self._outside_texts, *collect_write_evidence("", seen).outside_texts)
        )
        self._new_messages = [message for message in self._new_messages if message.id not in known]
        self._statements = [
            statement for statement in self._statements if statement.message_id not in known
        ]

    def _messages_until(self, last: str) -> tuple[Message, ...]:
        """Return the new messages up to `last`; none when they were examined meanwhile."""
        end = next(
            (
                index
                for index in range(len(self._new_messages) - 1, -1, -1)
                if self._new_messages[index].id == last
            ),
            -1,
        )
        return tuple(self._new_messages[: end + 1])

    async def _run_extraction(self, parent: ParentCall | None, last: str, *, asked: bool) -> None:
        model = self._runtime.model
        messages = self._messages_until(last)
        if model is None or not messages or self._stopped.is_set():
            return
        await self._wait_until_scanned()
        overlay = OverlayFiles(self._runtime.files)
        runtime = self._runtime
        spec = replace(self._build_fork_spec(model, parent, messages), requested_by_user=asked)
        receipt = await runtime.run_fork_for_review(spec, model, overlay)
        if receipt.outcome is ForkOutcome.BLOCKED:
            return  # the cursor stays, so the next run sees these messages
        if self._stopped.is_set():
            self._runtime.record_receipt(build_discarded_receipt(receipt))
            return
        if receipt.outcome not in (ForkOutcome.CHANGED, ForkOutcome.UNCHANGED):
            self._runtime.record_receipt(build_discarded_receipt(receipt))
            self._runtime.emit(ExtractionFailed(receipt.said, receipt.outcome.value))
            return
        try:
            with runtime.record_receipt_if_review_fails(receipt):
                changes = self._list_fork_changes(overlay)
                refused = await asyncio.to_thread(self._find_faults, changes, spec, messages)
                if self._stopped.is_set():
                    self._runtime.record_receipt(build_discarded_receipt(receipt))
                    return
                for each in refused:
                    self._runtime.emit(MemoryRefused(each.path, each.reasons))
                faulty = {each.path for each in refused}
                written = self._write_fork_changes(
                    [change for change in changes if change.path not in faulty], messages
                )
        except (StoreError, InputError) as error:
            self._runtime.emit(ExtractionFailed(str(error), ForkOutcome.FAILED.value))
            return
        written = replace(written, refused=(*written.refused, *refused))
        self._on_written(written)
        self._runtime.record_receipt(_correct_receipt(receipt, written))
        self._advance_cursor(messages)

    def _list_fork_changes(self, overlay: OverlayFiles) -> list[MemoryChange]:
        """What the fork did to the files, without the index and what a rule has kept already."""
        folder = self._runtime.files.resolve(self._memory.layout.folder)
        changes = []
        for path, (before, after) in sorted(overlay.changes().items()):
            name = path.relative_to(folder).as_posix()
            repeated = (
                before is None
                and after is not None
                and repeats_user_statement(parse_memory_file(name, after), self._statements)
            )
            if not is_index_file(name) and not repeated:
                changes.append(MemoryChange(path=name, before=before, after=after))
        return changes

    def _find_faults(
        self, changes: Sequence[MemoryChange], spec: ForkSpec, messages: Sequence[Message]
    ) -> tuple[RefusedChange, ...]:
        """The memories with a line that repeats the prompt's own form or what the agent announced,
        or, where the model answers by a form, names what stands nowhere in what it was shown or is
        about something else: by edits it may have read more. By a form it also has to quote what
        the user said where it speaks for them.
        """
        form = spec.form
        quoted = [statement.quote for statement in self._statements]
        check = build_fork_line_check(
            spec,
            [form.material if form else spec.material, quoted],
            form.instruction if form else spec.instruction,
            "\n".join(each.text for each in messages if each.origin is Origin.USER),
        )

        def find_fault(line: str) -> str:
            found = check.find_line_fault(line) if form else check.find_prompt_echo(line)
            return found or check.find_copied_announcement(line)

        def find_quotation_fault(change: MemoryChange) -> str:
            topic = change.memory_after
            speaks_for_user = form is not None and topic.kind in USER_KINDS
            return check.find_made_up_quotation(topic.provenance.quote) if speaks_for_user else ""

        found = (
            (
                change.path,
                find_added_line_fault(change.before, change.after, find_fault)
                or find_quotation_fault(change),
            )
            for change in changes
            if change.after is not None
        )
        return tuple(RefusedChange(path, (f"a line {fault}",)) for path, fault in found if fault)

    def _write_fork_changes(
        self, changes: Sequence[MemoryChange], messages: Sequence[Message]
    ) -> WriteResult:
        if not changes:
            return WriteResult()
        evidence = collect_write_evidence(self._context.id, messages)
        evidence = replace(evidence, outside_texts=(*self._outside_texts, *evidence.outside_texts))
        what = ", ".join(change.path for change in changes[:3]) + (" …" if len(changes) > 3 else "")
        why = ChangeReason(
            actor="extraction",
            what=render_change_headline("extract", what),
            session=self._context.id,
            messages=tuple(id for id, _ in evidence.user_messages)[-5:],
        )
        return self._memory.write(changes, why, evidence, tell=self._runtime.emit)

    def _build_fork_spec(
        self, model: Model, parent: ParentCall | None, messages: Sequence[Message]
    ) -> ForkSpec:
        shares = parent is not None and is_parent_model(model.name, model.format, parent)
        folder = self._memory.layout.folder
        task = ExtractionPromptValues(
            folder=folder,
            count=count_dialogue_messages(messages),
            today=format_utc_timestamp(self._runtime.clock.now())[:10],
            read_statements=tuple(statement.quote for statement in self._statements),
            team_readers=self._memory.team_readers_description,
        )
        newest = [
            (str(message.role), said)
            for message in messages
            if message.origin in (Origin.USER, Origin.MODEL)
            and (said := extract_text_without_injections(message))
        ]
        headers = self._memory.visible_headers()
        # What to share with a team takes judgement, and a look at what stands there.
        fills = (
            should_use_answer_form(model, self._runtime.settings.models, shares=shares)
            and not task.team_readers
        )
        texts, settings = self._prompts, self._memory.settings
        return ForkSpec(
            label=LABEL,
            why="a turn ended",
            parent=parent if shares else None,
            history_summary=None if shares else redact(render_conversation_brief({}, newest)).text,
            instruction=render_extraction_prompt(task, headers, texts, settings),
            form=build_extraction_form(task, headers, texts, settings) if fills else None,
            permission=FolderAccess(folder=folder, may_read_anywhere=settings.reads_anywhere),
            limits=replace(self._runtime.settings.forks, turns=settings.turns),
            one_round=True,
        )

    def _on_dropped(self, outcome: ForkOutcome) -> None:
        self._runtime.record_skipped_fork(LABEL, "a turn ended", outcome)

    def _on_background_error(self, error: BaseException) -> None:
        """Report an error of a background extraction; the host goes on."""
        with contextlib.suppress(StoreError):
            self._runtime.emit(ExtractionFailed(str(error), ForkOutcome.FAILED.value))

    async def wait_or_cancel(self) -> None:
        """Wait for a running extraction, up to the configured time; then cancel it."""
        await self._queue.wait_or_cancel(self._memory.settings.drain_seconds)


def repeats_user_statement(topic: MemoryFile, statements: Sequence[Statement]) -> bool:
    """Tell whether a memory says no more than one of the user's statements, which a rule has
    applied already: it quotes the same words, or has no word beside them.
    """
    quote = normalize_for_comparison(topic.provenance.quote).strip(" .!")
    for statement in statements:
        said = normalize_for_comparison(statement.quote)
        same = len(split_script_words(quote)) >= MIN_QUOTE_WORDS and quote in said
        if same or CoveredLineDetector(statement.quote).covers_line(topic.body, share=1.0):
            return True
    return False


def _correct_receipt(receipt: Receipt, written: WriteResult) -> Receipt:
    """Correct the receipt to what was really written: files that passed the gate (FK-8)."""
    files = tuple(
        file
        for file in receipt.files
        if any(file.path.endswith("/" + path) for path in written.paths)
    )
    said = [] if written.paths or written.proposals or written.refused else [NOTHING_WRITTEN]
    said.append(receipt.said)
    if written.proposals:
        said.append(f"({len(written.proposals)} of its changes wait in the inbox.)")
    said += [
        f"({refused.path} was refused: {'; '.join(refused.reasons)})" for refused in written.refused
    ]
    outcome = ForkOutcome.CHANGED if files else ForkOutcome.UNCHANGED
    return replace(receipt, files=files, outcome=outcome, said="\n".join(filter(None, said)))
