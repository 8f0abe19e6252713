"""Memory extraction of one session: what the user states is applied at once and without a model,
what a model finds at the end of a turn (AM-5, AM-8).
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence

from msgspec.structs import replace

from memorist.auto_memory.auto_memory import EVERYWHERE_PREFIX, AutoMemory
from memorist.auto_memory.fact_values import parse_value_exchange, plan_value_exchange
from memorist.auto_memory.inbox_decisions import decide_on_proposals
from memorist.auto_memory.memory_changes import (
    NOT_TYPED,
    ChangeReason,
    MemoryChange,
    render_change_headline,
)
from memorist.auto_memory.memory_move import change_memory_scope
from memorist.auto_memory.memory_name_lookup import has_memory
from memorist.auto_memory.model_extraction import ModelExtraction
from memorist.auto_memory.quotation_proof import drop_statements_in_others_words
from memorist.auto_memory.statement_changes import (
    PlannedChange,
    PlannedMemoryRemovals,
    build_mention_filter,
    build_removal_prefilter,
    contains_all_words_of_request,
    plan_memory_removal,
    plan_new_memory,
)
from memorist.auto_memory.statements.announced_texts import AnnouncedTextTracker
from memorist.auto_memory.statements.bare_corrections import (
    find_bare_corrections,
    is_lasting_correction,
)
from memorist.auto_memory.statements.every_project_request import asks_for_every_project
from memorist.auto_memory.statements.inbox_requests import (
    InboxRequest,
    find_inbox_request_in_message,
)
from memorist.auto_memory.statements.statement_parser import (
    Statement,
    asks_to_remember_secret,
    find_statements,
)
from memorist.auto_memory.statements.unattributed_statements import find_unattributed_statements
from memorist.auto_memory.statements.unconfirmed_statements import find_unconfirmed_statements
from memorist.auto_memory.visible_memory import drop_planted_order_lines
from memorist.auto_memory.write_evidence import collect_evidence_from_typed_message
from memorist.auto_memory.write_result import WriteResult
from memorist.core.messages import Message, Origin
from memorist.errors import InputError, NothingToDo, StoreError, WriteConflict
from memorist.events import Event, ForgetTargetNotFound, MemoryChanged, MemoryRefused
from memorist.forks.fork_spec import ParentCall
from memorist.platforms.background_thread import start_thread_awaited_at_exit
from memorist.runtime import SessionContext
from memorist.store.sqlite_database import is_database_or_disk_error
from memorist.transcript_analysis.user_words_in_results import UserWordsInResultsReader

UNCERTAIN = "you may have meant this for later sessions as well"
"""Why a statement waits that does not say so by its own words."""
REFUSED_REQUEST = "what you asked to remember reads as a secret, and none is kept in memory"
"""Why a request for it leaves nothing."""
MOVED = "for every project"
"""How the change is named that has a memory hold in every project."""
MAX_WAITING_STATEMENTS = 100
"""Statements that wait for a disk that refuses; the older ones are given up."""


class MemoryExtraction:
    """Extracts the memories of one session as its messages arrive."""

    def __init__(
        self,
        memory: AutoMemory,
        context: SessionContext,
        wait_until_scanned: Callable[[], Awaitable[object]],
        on_written: Callable[[Sequence[str]], object] | None = None,
    ) -> None:
        self._memory = memory
        self._on_written = on_written
        """Is told the paths of every memory written from this conversation, by rule or by a model:
        their content is in it already.
        """
        self._context = context
        self._runtime = context.runtime
        self._by_model = ModelExtraction(memory, context, wait_until_scanned, self._on_change)
        self._deferred_statements: list[tuple[Statement, Message]] = []
        """Statements to be applied once the folder has been scanned, and the disk takes them."""
        self._unanswered: list[tuple[Message, str]] = []
        """The user's newest messages that no reply follows, each with the reply before it. What
        waits for the person's yes is looked for with the answer: no request shows it.
        """
        self._corrected_quotes: list[str] = []
        """What the bare corrections of those messages rest on: it does not wait as well."""
        self._bare_corrections: set[Statement] = set()
        """Those of them that count only where a memory has the value that they correct."""
        self._asks_for_every_project = False
        """Whether the user wants what they said last to hold in every project."""
        self._inbox_requests: list[tuple[InboxRequest, Message]] = []
        """What the user asked of the inbox, to be done once the folder has been scanned."""
        self._is_disk_refusing = False
        """Whether the disk refused the last statement."""
        self._is_index_unjudged = False
        """Whether a memory was written since the last turn ended."""
        self._typed_ids: deque[str] = deque(maxlen=2)
        """Ids of the user's newest message and of the one before it."""
        self._announced_texts = AnnouncedTextTracker()
        self._retractable = UndoableWritesOfNewestMessage(memory)
        self._replies = UserWordsInResultsReader()

    @property
    def memory(self) -> AutoMemory:
        """The project's memory."""
        return self._memory

    def on_message(
        self, message: Message, *, replayed: bool = False, deferred: bool = False
    ) -> None:
        """Follow one message.

        Explicit statements are applied at once, or, when `deferred`, by the next
        `apply_statements`; those that wait for the person's yes with the model's answer. `replayed`
        marks a message that an earlier process already saw.
        """
        message = self._announced_texts.mark(message)
        self._by_model.on_message(message, replayed=replayed)
        reply = self._replies.read_replies_in_message(message)
        if self._memory.settings.policy == "off":
            return
        if replayed:
            self._note_unanswered(message)
            return
        request = find_inbox_request_in_message(message)
        if request is not None and request.verb != "show":
            self._inbox_requests.append((request, message))
        for typed in (message, reply) if request is None else ():
            if typed is not None and typed.origin is Origin.USER:
                self._collect_statements(typed)
        if not deferred:
            self.apply_statements(at_prompt=message.origin is Origin.USER)

    def _collect_statements(self, typed: Message) -> None:
        self._typed_ids.append(typed.id)
        if asks_to_remember_secret(typed):
            self._runtime.emit(MemoryRefused("", (REFUSED_REQUEST,)))
        statements = find_statements(typed)
        self._by_model.on_statements(statements)
        if asks_for_every_project(typed):
            self._asks_for_every_project = True
        corrections = self._find_corrections(typed, statements)
        self._bare_corrections.update(corrections)
        self._deferred_statements += [
            (statement, typed) for statement in (*statements, *corrections)
        ]
        self._unanswered.append((typed, self._by_model.last_reply))

    def on_turns_rolled_back(self, messages: Sequence[Message]) -> None:
        """Take back what the user stated in these messages, and look for nothing more in them."""
        ids = {message.id for message in messages}
        self._by_model.forget_messages(ids)
        self._unanswered = [each for each in self._unanswered if each[0].id not in ids]
        self._deferred_statements = [
            each for each in self._deferred_statements if each[1].id not in ids
        ]
        try:
            self._retractable.undo_statements_of_messages(ids)
        except StoreError as error:
            self._runtime.emit(MemoryRefused("", (str(error),)))

    def _note_unanswered(self, message: Message) -> None:
        """Keep the messages that the former process saw without their answer: it may have ended
        before it wrote what waits for the person's yes.
        """
        if message.origin is Origin.MODEL:
            self._unanswered.clear()
        elif message.origin is Origin.USER:
            self._unanswered.append((message, ""))

    def _defer_unanswered(self) -> None:
        """Find what waits in those messages; the inbox holds nothing twice, and nothing that the
        person has decided on.
        """
        unanswered, self._unanswered = self._unanswered, []
        for typed, before in unanswered:
            waiting = drop_statements_in_others_words(
                find_unconfirmed_statements(typed, before), typed
            )
            known = {statement.quote for statement in waiting}
            unattributed = [
                each for each in find_unattributed_statements(typed) if each.quote not in known
            ]
            self._deferred_statements += [
                (statement, typed) for statement in (*waiting, *unattributed)
            ]

    def _find_corrections(
        self, typed: Message, statements: Sequence[Statement]
    ) -> tuple[Statement, ...]:
        """The bare corrections of a message that a person typed, without what it states anyway."""
        if not typed.is_typed:
            return ()
        stated = {each.quote for each in statements}
        found = drop_statements_in_others_words(find_bare_corrections(typed), typed)
        return tuple(each for each in found if each.quote not in stated)

    def stop(self) -> None:
        """Write nothing from here on, also not what a running extraction finds."""
        self._by_model.stop()
        self._deferred_statements, self._unanswered = [], []

    @property
    def has_deferred_statements(self) -> bool:
        """Whether statements are waiting to be applied, also such as no answer follows."""
        self._defer_unanswered()
        return bool(self._deferred_statements)

    def apply_statements(self, *, at_prompt: bool = False) -> None:
        """Apply the statements not applied yet, without a model. Somebody waits `at_prompt`: those
        that are to wait for the person's yes, which no request shows, then stay for the next call.

        A failing disk is reported once and stops nothing: the statements wait for the next call.
        """
        if not at_prompt:
            self._defer_unanswered()
        statements, self._deferred_statements = self._deferred_statements, []
        waiting: list[tuple[Statement, Message]] = []
        for position, (found, message) in enumerate(statements):
            try:
                statement = self._settle(found)
                if at_prompt and self._is_left_for_answer(found, statement):
                    waiting.append((found, message))
                    continue
                if statement is None:
                    continue
                self._apply_settled(statement, message)
            except (StoreError, InputError) as error:
                refuses = is_database_or_disk_error(error)
                if not (refuses and self._is_disk_refusing):
                    self._runtime.emit(MemoryRefused("", (str(error),)))
                self._is_disk_refusing = refuses
                if refuses:
                    self._deferred_statements = (waiting + statements[position:])[
                        -MAX_WAITING_STATEMENTS:
                    ]
                    return
        self._deferred_statements = waiting
        self._move_to_every_project()
        self._decide_on_proposals()
        if not at_prompt:
            self._corrected_quotes.clear()
        self._bare_corrections.intersection_update(each for each, _ in waiting)

    def _apply_settled(self, statement: Statement, message: Message) -> None:
        if statement.act == "forget" and not statement.text:
            self._take_back(statement, message)
            return
        written = self._apply_at_prompt(statement, message)
        self._on_change(written)
        self._retractable.record_write_result(message.id, written)
        self._is_disk_refusing = False

    def _take_back(self, statement: Statement, message: Message) -> None:
        """Undo what the message before stated; ask about it where something else may be meant."""
        if not statement.certain:
            if path := self._retractable.find_only_path(self._typed_ids):
                self._runtime.emit(
                    ForgetTargetNotFound(statement.quote, is_unclear=True, path=path)
                )
        elif not self._retractable.undo_previous_statements(
            message, self._typed_ids, self._runtime.emit
        ):
            self._runtime.emit(ForgetTargetNotFound(""))

    def _decide_on_proposals(self) -> None:
        """Accept and reject what the user asked for."""
        requests, self._inbox_requests = self._inbox_requests, []
        for request, message in requests:
            decide_on_proposals(
                self._memory,
                request,
                message,
                now=self._runtime.clock.now(),
                tell=self._runtime.emit,
            )

    def _move_to_every_project(self) -> None:
        """Have what the user stated last hold in every project, where they asked for that."""
        if not self._asks_for_every_project:
            return
        self._asks_for_every_project = False
        try:
            with self._memory.folder.scan_once(at_prompt=True):
                moved = self._retractable.move_to_every_project(self._typed_ids)
        except (StoreError, InputError, NothingToDo) as error:
            self._runtime.emit(MemoryRefused("", (str(error),)))
            return
        for said, written in moved:
            self._runtime.emit(
                MemoryChanged(written.change_id, "said", f"{MOVED}: {said}", written.paths)
            )

    def _settle(self, statement: Statement) -> Statement | None:
        """The statement, certain where it is a bare correction of a memory and lasts; None where it
        is one of nothing, or holds one that was corrected.
        """
        if statement in self._bare_corrections:
            return self._settle_correction(statement)
        waits = not statement.certain
        is_corrected = any(each in statement.quote for each in self._corrected_quotes)
        return None if waits and is_corrected else statement

    def _settle_correction(self, statement: Statement) -> Statement | None:
        with self._memory.folder.scan_once(at_prompt=True):
            corrected = self._memory.find_corrected_memories(statement.text)
            if not corrected and parse_value_exchange(statement.quote) is not None:
                return statement if self._plan_exchange(statement) else None
            if not corrected and not self._memory.find_corrected_memories(
                statement.text, in_doubt=True
            ):
                return None
        is_certain = bool(corrected) and is_lasting_correction(statement.quote)
        if is_certain:
            self._corrected_quotes.append(statement.quote)
        return replace(statement, certain=is_certain)

    def _plan_exchange(self, statement: Statement) -> MemoryChange | None:
        """The memory whose value the statement exchanges for another, as it may be meant."""
        exchange = parse_value_exchange(statement.quote)
        if exchange is None or statement not in self._bare_corrections:
            return None
        topics = self._memory.read_memory_files(lambda text: exchange.former in text)
        return plan_value_exchange(statement.quote, topics)

    def _is_left_for_answer(self, found: Statement, settled: Statement | None) -> bool:
        """Whether a statement waits for the answer: what the person is to confirm, and a correction
        of nothing, for a memory that was edited in place a moment ago is known only then.
        """
        if settled is None:
            return found in self._bare_corrections
        return not settled.certain and settled.act != "forget"

    def _apply_at_prompt(self, statement: Statement, message: Message) -> WriteResult:
        """Apply a statement for whose answer somebody waits: many files are not looked at again for
        each step, but where one that it changes was edited since the last look.
        """
        try:
            with self._memory.folder.scan_once(at_prompt=True):
                return self._apply_statement(statement, message)
        except WriteConflict:
            return self._apply_statement(statement, message)

    def _on_change(self, written: WriteResult) -> None:
        self._is_index_unjudged = self._is_index_unjudged or bool(written.change_id)
        if self._on_written is not None and written.paths:
            self._on_written(written.paths)

    def _apply_statement(self, statement: Statement, message: Message) -> WriteResult:
        memory, decided = self._plan(statement, message)
        why = ChangeReason(
            actor="said",
            what=render_change_headline(statement.act, statement.text),
            session=self._context.id,
            messages=(message.id,),
            quote=statement.quote,
        )
        match decided:
            case MemoryChange() if not statement.certain:
                reason = UNCERTAIN if message.is_typed else NOT_TYPED
                return memory.add_proposals([decided], why, reason, tell=self._runtime.emit)
            case MemoryChange():
                return memory.write(
                    [decided],
                    why,
                    collect_evidence_from_typed_message(self._context.id, message),
                    tell=self._runtime.emit,
                )
            case PlannedMemoryRemovals(changes=changes) if not statement.certain:
                if changes and message.is_typed:
                    self._ask_which_is_meant(statement, memory, changes)
                return WriteResult()
            case PlannedMemoryRemovals(changes=()):
                if not (message.is_typed and self._reject_what_waits(statement.text)):
                    is_unclear = bool(self._list_mentioning(statement.text))
                    self._runtime.emit(ForgetTargetNotFound(statement.text, is_unclear=is_unclear))
                return WriteResult()
            case PlannedMemoryRemovals(changes=changes, is_certain=True) if message.is_typed:
                return memory.write(
                    changes,
                    why,
                    collect_evidence_from_typed_message(self._context.id, message),
                    tell=self._runtime.emit,
                )
            case PlannedMemoryRemovals(changes=changes):
                return memory.add_proposals(
                    changes,
                    why,
                    "the user asked to forget something that may be this"
                    if message.is_typed
                    else NOT_TYPED,
                    tell=self._runtime.emit,
                )

    def _ask_which_is_meant(
        self, statement: Statement, memory: AutoMemory, changes: Sequence[MemoryChange]
    ) -> None:
        """Ask whether a memory is meant where something else may be; nothing is removed for it."""
        prefix = "" if memory is self._memory else EVERYWHERE_PREFIX
        path = f"{prefix}{changes[0].path}" if len(changes) == 1 else ""
        self._runtime.emit(ForgetTargetNotFound(statement.text, is_unclear=True, path=path))

    def _reject_what_waits(self, asked: str) -> bool:
        """Reject the new memories that wait and hold every word of what is to be forgotten; False
        where none does.
        """
        meant = [
            each.id
            for each in self._memory.list_proposals()
            if each.after is not None and contains_all_words_of_request(asked, each.one_line_text)
        ]
        for id in meant:
            self._memory.reject(id, tell=self._runtime.emit)
        return bool(meant)

    def _list_mentioning(self, asked: str) -> list[str]:
        """The paths of the memories that have any of the words, so that they may be what is to be
        forgotten.
        """
        may_be_meant = build_mention_filter(asked)
        return [
            f"{prefix}{topic.path}"
            for prefix, memory in self._memory.memories_by_prefix.items()
            for topic in memory.read_memory_files(may_be_meant)
            if may_be_meant(f"{topic.name} {topic.description} {topic.body}")
        ]

    def _plan(self, statement: Statement, message: Message) -> tuple[AutoMemory, PlannedChange]:
        """What to do about a statement, and in which memory: what is to be forgotten may be the
        user's in every project.
        """
        at = message.timestamp or self._runtime.clock.now()
        if statement.act != "forget":
            folder = self._memory.folder
            folder.refresh()
            if exchanged := None if statement.certain else self._plan_exchange(statement):
                return self._memory, exchanged
            return self._memory, plan_new_memory(
                statement, folder.listing.find_same_names, session=self._context.id, timestamp=at
            )
        plans = [
            (
                memory,
                plan_memory_removal(
                    statement, memory.read_memory_files(build_removal_prefilter(statement))
                ),
            )
            for memory in self._memory.memories_by_prefix.values()
        ]
        return max(plans, key=lambda each: _rate_removal(each[1]))

    def on_turn_end(self, parent: ParentCall | None) -> None:
        """Start an extraction in the background after a reply without tool calls; does not wait for
        it.
        """
        if self._is_index_unjudged:
            self._is_index_unjudged = False
            self._begin_judging_index()
        self._by_model.on_turn_end(parent)

    def _begin_judging_index(self) -> None:
        """Judge the lines of the index in a thread: it takes 50 ms for two hundred, is remembered,
        and the next session would wait for it.
        """
        with contextlib.suppress(StoreError), self._memory.folder.scan_once(at_prompt=True):
            lines = self._memory.list_visible_index_lines()
            start_thread_awaited_at_exit(
                drop_planted_order_lines, lines, name="memorist-judge-index"
            )

    async def extract_now(self, parent: ParentCall | None) -> None:
        """Extract by a model now and wait for it."""
        await self._by_model.extract_now(parent)

    def skip_messages_so_far(self) -> None:
        """The messages so far were examined in the session that they were copied from."""
        if self._by_model.has_new_messages:
            self._unanswered.clear()
            self._by_model.skip_messages_so_far()

    async def wait_or_cancel(self) -> None:
        """Wait for a running extraction, up to the configured time; then cancel it."""
        await self._by_model.wait_or_cancel()


MAX_UNDOABLE_MESSAGES = 64
"""Messages with statements whose writes can be taken back when the user goes back behind them."""


class UndoableWritesOfNewestMessage:
    """What the newest message with statements led to, and the messages before it."""

    def __init__(self, memory: AutoMemory) -> None:
        self._memory = memory
        self._message_id = ""
        self._written: tuple[WriteResult, ...] = ()
        self._by_message: dict[str, list[WriteResult]] = {}

    def record_write_result(self, message_id: str, written: WriteResult) -> None:
        """Note what a statement of a message led to."""
        before = self._written if self._message_id == message_id else ()
        self._message_id, self._written = message_id, (*before, written)
        self._record_for_rollback(message_id, written)

    def _record_for_rollback(self, message_id: str, written: WriteResult) -> None:
        self._by_message.setdefault(message_id, []).append(written)
        for oldest in list(self._by_message)[:-MAX_UNDOABLE_MESSAGES]:
            del self._by_message[oldest]

    def undo_statements_of_messages(self, ids: Collection[str]) -> None:
        """Take back what these messages stated, but where it was changed or decided on since.
        Raises StoreError.
        """
        for id in [each for each in reversed(self._by_message) if each in ids]:
            for written in reversed(self._by_message.pop(id)):
                for waiting in written.proposals:
                    with contextlib.suppress(InputError):
                        owner, proposal = self._memory.find_proposal(waiting.id)
                        owner.inbox.remove(proposal)
                if written.change_id:
                    with contextlib.suppress(InputError, NothingToDo, WriteConflict):
                        self._memory.undo(written.change_id)

    def undo_previous_statements(
        self, message: Message, typed_ids: Collection[str], tell: Callable[[Event], None]
    ) -> bool:
        """Take back what the message before this one stated, and nothing older; only where a person
        typed both. False where an older message of the session stated something, which may have
        been meant. Raises StoreError.
        """
        said_in, written = self._message_id, self._written
        self._message_id, self._written = "", ()
        if said_in not in typed_ids or not message.is_typed:
            return not said_in
        for each in reversed(
            written
        ):  # a later sentence may have changed what an earlier one wrote
            for waiting in each.proposals:
                with contextlib.suppress(InputError):  # decided meanwhile
                    self._memory.reject(waiting.id, tell=tell)
            if each.change_id:
                owner, recorded = self._memory.find_change(each.change_id)
                said = recorded.why.what.partition(": ")[2].partition("; in place of ")[0]
                why = replace(
                    recorded.why, actor="said", what=render_change_headline("forget", said)
                )
                self._memory.undo(each.change_id, reason=why, tell=tell)
                undone = owner.folder.history.find_newest_change_id()
                self._record_for_rollback(message.id, WriteResult(change_id=undone))
        return True

    def find_only_path(self, typed_ids: Collection[str]) -> str:
        """The path of the only memory that the message before wrote; empty for none or several."""
        paths = [path for each in self._written for path in each.paths]
        has_one = len(paths) == 1 and self._message_id in typed_ids
        return paths[0] if has_one and has_memory(self._memory, paths[0]) else ""

    def move_to_every_project(
        self, typed_ids: Sequence[str]
    ) -> tuple[tuple[str, WriteResult], ...]:
        """Have the memories of that message, where a person typed it, hold in every project; what
        holds there already stays, and what waits of it has the person's yes by that. Returns the
        description of each with its change. Raises StoreError, InputError, NothingToDo.
        """
        written, self._written = self._written, ()
        if self._message_id not in typed_ids:
            return ()
        waiting = [each.id for result in written for each in result.proposals]
        written = (*written, *map(self._memory.accept, waiting))
        paths = [path for each in written for path in each.paths]
        own = [path for path in paths if has_memory(self._memory, path)]
        headers = self._memory.headers_by_path()
        moved = tuple(
            (headers[path].description, change_memory_scope(self._memory, path, everywhere=True))
            for path in own
            if path in headers
        )
        for _, each in moved:
            self._record_for_rollback(typed_ids[-1], each)
        return moved


def _rate_removal(decided: PlannedChange) -> int:
    """How well a memory was found that is to be forgotten."""
    if not isinstance(decided, PlannedMemoryRemovals):
        return 0
    return 2 if decided.is_certain else int(bool(decided.changes))
