"""Find Magic Docs among the files that a session reads, and update them one after another at the
end of a turn (MD-2).

The fork works on files in memory. Its result is judged, and replaces the file only if that is
unchanged since the fork read it.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.write_evidence import collect_write_evidence, select_newest_texts_that_fit
from memorist.core.messages import Message
from memorist.errors import StoreError, WriteConflict
from memorist.events import MagicDocForgotten, MagicDocFound, MagicDocNotUpdated, MagicDocUpdated
from memorist.extensions import SessionExtension
from memorist.forks.fork_request import is_parent_model
from memorist.forks.fork_spec import (
    ForkOutcome,
    ForkSpec,
    ParentCall,
    SingleFileEdit,
    build_discarded_receipt,
)
from memorist.forks.latest_task_queue import LatestTaskQueue
from memorist.magic_docs.document_answer_form import build_document_form, elide_seen_sections
from memorist.magic_docs.document_files import (
    DocumentLocationRules,
    SessionDocumentRegistry,
    find_document_at_path,
    is_document_file_nonempty,
    load_magic_doc_prompts,
    open_document_scope,
    resolve_magic_doc_path,
)
from memorist.magic_docs.document_header import is_markdown
from memorist.magic_docs.document_problems import find_new_missing_paths
from memorist.magic_docs.document_prompt import build_update_prompt
from memorist.magic_docs.document_update_review import (
    AcceptedDocumentUpdate,
    MagicDocument,
    RejectedDocumentUpdate,
    UnchangedDocumentUpdate,
    explain_unseen_part_loss,
    explain_unsupported_name_changes,
    judge_document_update,
    parse_updatable_magic_document,
)
from memorist.magic_docs.read_markdown_tracking import ReadMarkdownTracker
from memorist.models.answer_schema import should_use_answer_form
from memorist.ports import Model
from memorist.runtime import SessionContext
from memorist.safety.secrets import redact
from memorist.session_memory.conversation_brief import (
    extract_text_without_injections,
    render_conversation_brief,
)
from memorist.session_memory.conversation_tracker import ConversationTracker
from memorist.store.overlay_files import OverlayFiles
from memorist.transcript_analysis.answer_check import join_json_texts

MAGIC_DOCS_LABEL = "magic_docs"

NO_MODEL_REASON = "no model is set up, and without one a document is not changed"

CONFLICT_REASON = "somebody else changed it meanwhile; it is tried again after the next turn"


class _DocumentState(Struct, frozen=True):
    """The state of a registered document: the message count at its last update, and why that was
    not written.
    """

    updated_at_message: int = -1
    refused: tuple[str, ...] = ()


class ProposedDocumentUpdate(Struct, frozen=True):
    """A fork's version of a document; `after` is None if it did not touch it."""

    path: Path
    before: bytes
    document: MagicDocument
    shown: str
    """The part of it that the fork was shown."""
    after: bytes | None


class MagicDocs(SessionExtension):
    """The Magic Docs of one session."""

    def __init__(
        self,
        context: SessionContext,
        *,
        tracker: ConversationTracker | None = None,
        conversation: ReadMarkdownTracker | None = None,
        registry: SessionDocumentRegistry | None = None,
    ) -> None:
        conversation = conversation or ReadMarkdownTracker()
        registry = registry or SessionDocumentRegistry(
            context.runtime.files, context.layout.magic_docs if context.project else None
        )
        self._tracker = tracker
        """State of the live conversation."""
        self._conversation = conversation
        self._session = context.id
        self._runtime = runtime = context.runtime
        self._settings = runtime.settings.magic_docs
        self._scope = open_document_scope(context)
        self._prompts = load_magic_doc_prompts(runtime.files, runtime.layout)
        self._registry = registry
        """Which documents an earlier process of the session registered."""
        self._known: dict[Path, _DocumentState] = {}
        self._reported: set[tuple[str, str]] = set()
        """What was reported about skipped documents, each once."""
        self._turns = 0
        self._asked_for = False
        """Whether the user waits for the update."""
        self._queue = LatestTaskQueue(runtime.clock, on_error=self._on_background_error)
        self._asked = dict.fromkeys(registry.load())
        self._missing = dict(self._asked)
        """Documents that are looked for again: those of an earlier process, and those that are gone
        or empty, as between two branches, or while an editor saves.
        """

    @property
    def registered_documents(self) -> tuple[Path, ...]:
        """The documents that are kept up to date, in the order in which they were found."""
        return tuple(self._known)

    def on_file_read(self, path: str) -> None:
        """Note that the host read a file. It is saved, as no transcript tells."""
        self._conversation.on_file_read(path)
        if self._scope is not None and is_markdown(path) and path not in self._asked:
            self._asked[path] = None
            self._registry.save(self._asked)

    def on_message(self, message: Message, *, replayed: bool = False) -> None:
        """Follow a message, for the files that it read."""
        del replayed
        self._conversation.on_message(message)

    def on_turn_end(self, parent: ParentCall | None = None) -> None:
        """Update the documents in the background after a reply without tool calls; not awaited."""
        settings, scope = self._settings, self._scope
        if (
            not settings.enabled
            or scope is None
            or (self._tracker is not None and self._tracker.open_calls.calls)
            or not (self._known or self._missing or self._conversation.uninspected_files)
        ):
            return
        self._turns += 1
        if self._turns < settings.every_turns:
            return
        self._turns = 0
        upto = self._conversation.count  # what comes while it waits is not in this parent's request
        self._queue.submit(
            lambda: self._update_all(scope, parent, upto),
            on_dropped=self._on_dropped if self._known else None,
        )

    def _on_dropped(self, outcome: ForkOutcome) -> None:
        self._runtime.record_skipped_fork(MAGIC_DOCS_LABEL, "a turn ended", outcome)

    def _on_background_error(self, error: BaseException) -> None:
        """Report an error of a background update as an event; the host goes on."""
        with contextlib.suppress(StoreError):  # the same disk may refuse the event
            self._runtime.emit(MagicDocNotUpdated("", (str(error),)))

    async def _update_all(
        self, scope: DocumentLocationRules, parent: ParentCall | None, upto: int
    ) -> None:
        await self._register_read_files(scope)
        for path in self.registered_documents:
            await self._update_document(scope, path, parent, upto)
        # What the host reported meanwhile is looked at by the next update.
        later = (each for each in self._conversation.uninspected_files if each in self._asked)
        self._asked = dict.fromkeys((*map(str, self._known), *self._missing, *later))
        self._registry.save(self._asked)

    async def update_all(self) -> None:
        """Update every document now, whatever the settings say, and wait for it."""
        if self._scope is not None:
            self._asked_for = True
            await self._update_all(self._scope, None, self._conversation.count)

    async def wait_for_background(self) -> None:
        """Wait for running updates, at most as long as configured; then cancel them, and nothing of
        them is written.
        """
        await self._queue.wait_or_cancel(self._settings.drain_seconds)

    async def _register_read_files(self, scope: DocumentLocationRules) -> None:
        """Inspect the files read since the last time, in a thread."""
        read_files, most = self._conversation.take_read_files(), self._settings.documents
        asked_files, self._missing = dict.fromkeys((*self._missing, *read_files)), {}
        for asked, document, is_there in await asyncio.to_thread(
            lambda: [
                (each, find_document_at_path(scope, each), is_document_file_nonempty(scope, each))
                for each in asked_files
            ]
        ):
            if not is_there and asked in self._asked:
                self._missing[asked] = None
            if document is None or document.path in self._known:
                continue
            if document.why:
                self._report_skipped(document.path, (document.why,))
            elif len(self._known) >= most:
                self._report_skipped(
                    document.path,
                    (f"this session keeps {most} documents already (magic_docs.documents)",),
                )
            else:
                self._known[document.path] = _DocumentState()
                self._registry.remove_old_temporary_files(document.path, self._runtime.clock.now())
                self._runtime.emit(MagicDocFound(str(document.path), document.title))

    def _report_skipped(self, path: Path, reasons: tuple[str, ...]) -> None:
        """Report once why a document was skipped."""
        if (mark := (str(path), "; ".join(reasons))) not in self._reported:
            self._reported.add(mark)
            self._runtime.emit(MagicDocNotUpdated(str(path), reasons))

    def _read_document(
        self, scope: DocumentLocationRules, path: Path
    ) -> tuple[bytes, MagicDocument] | None:
        """Read the document as it is now; None for one that is skipped, or is no longer a Magic Doc
        and is forgotten.
        """
        try:
            is_moved = resolve_magic_doc_path(scope, str(path)) != path
            data = b"" if is_moved else scope.files.read(path, limit=scope.max_bytes + 1)
        except (StoreError, FileNotFoundError):
            is_moved, data = True, b""
        found = "" if is_moved else parse_updatable_magic_document(data, scope.max_bytes)
        if isinstance(found, MagicDocument):
            return data, found
        if found:
            self._report_skipped(path, (found,))
        else:
            self._known.pop(path, None)
            is_empty = not data.strip(b"\0 \t\r\n")
            if is_empty:
                self._missing[str(path)] = None
            why = "it is empty" if is_empty else "it has no header any more"
            self._runtime.emit(MagicDocForgotten(str(path), "it is gone" if is_moved else why))
        return None

    async def _update_document(
        self, scope: DocumentLocationRules, path: Path, parent: ParentCall | None, upto: int
    ) -> None:
        """Update one document."""
        kept = self._known.get(path)
        found = (
            None
            if kept is None or kept.updated_at_message >= upto
            else self._read_document(scope, path)
        )
        if kept is None or found is None:
            return
        runtime, (data, document) = self._runtime, found
        if runtime.model is None:
            self._report_skipped(path, (NO_MODEL_REASON,))
            return
        overlay = OverlayFiles(scope.files)
        # Comparing a long document with a long conversation takes a second: beside the host's loop.
        shown = await asyncio.to_thread(self._cut_document, runtime.model, document.text, parent)
        spec = self._build_fork_spec(runtime.model, path, document, parent, kept.refused, shown)
        receipt = await runtime.run_fork_for_review(spec, runtime.model, overlay)
        if receipt.outcome is ForkOutcome.BLOCKED:
            self._report_skipped(path, (receipt.said,))
            return  # what was heard is looked at by the next update
        if receipt.outcome not in (ForkOutcome.CHANGED, ForkOutcome.UNCHANGED):
            runtime.record_receipt(build_discarded_receipt(receipt))
            self._report_skipped(path, (receipt.said,))
            return
        after = overlay.changes().get(path, (None, None))[1]
        with runtime.record_receipt_if_review_fails(receipt):
            refused = await self._write_update(
                scope, ProposedDocumentUpdate(path, data, document, shown, after)
            )
        if refused != ():
            receipt = build_discarded_receipt(
                receipt, "\n".join(filter(None, (receipt.said, *(refused or ()))))
            )
        runtime.record_receipt(receipt)
        if refused is not None:
            self._known[path] = _DocumentState(upto, refused)

    async def _write_update(
        self, scope: DocumentLocationRules, update: ProposedDocumentUpdate
    ) -> tuple[str, ...] | None:
        """Write an acceptable update.

        Return why it was not written; empty if all is well; None if it is to be tried again.
        """
        if update.after is None or update.after == update.before:
            return ()
        lost = explain_unseen_part_loss(
            update.document.text, update.shown, update.after.decode("utf-8", "replace")
        )
        if lost:
            self._runtime.emit(MagicDocNotUpdated(str(update.path), (lost,)))
            return (lost,)
        said = collect_write_evidence(self._session, self._conversation.messages)
        said = replace(said, outside_texts=select_newest_texts_that_fit(said.outside_texts))
        # Comparing a long document with a long conversation takes a second: beside the host's loop.
        verdict = await asyncio.to_thread(
            judge_document_update, update.document, update.after, said, scope.max_bytes
        )
        if isinstance(verdict, AcceptedDocumentUpdate):
            missing = find_new_missing_paths(
                scope, update.path, update.document.text, verdict.data.decode("utf-8")
            )
            reasons = tuple(f"it would name {name}, which is not there" for name in missing)
            reasons = reasons or await asyncio.to_thread(
                explain_unsupported_name_changes,
                update.document,
                verdict.data,
                "\n".join(map(_source_text, self._conversation.messages)),
            )
            verdict = RejectedDocumentUpdate(reasons) if reasons else verdict
        match verdict:
            case RejectedDocumentUpdate(reasons=reasons):
                self._runtime.emit(MagicDocNotUpdated(str(update.path), reasons))
                return reasons
            case UnchangedDocumentUpdate():
                return ("it would say the same in another layout",)
            case AcceptedDocumentUpdate(data=data):
                return self._replace_file(scope, update, data)

    def _replace_file(
        self, scope: DocumentLocationRules, update: ProposedDocumentUpdate, data: bytes
    ) -> tuple[str, ...] | None:
        path = update.path
        trouble = ""
        try:
            if resolve_magic_doc_path(scope, str(path)) == path:
                scope.files.write(path, data, expect=update.before)
            else:
                trouble = CONFLICT_REASON
        except WriteConflict:
            trouble = CONFLICT_REASON
        except StoreError as error:
            trouble = str(error)
        if trouble:
            self._runtime.emit(MagicDocNotUpdated(str(path), (trouble,)))
            return None
        self._runtime.emit(
            MagicDocUpdated(str(path), update.document.header.title, len(update.before), len(data))
        )
        return ()

    def _cut_document(self, model: Model, text: str, parent: ParentCall | None) -> str:
        """The document without what the model has before it in the conversation; the whole one for
        a prompt of the user's own, and for a model that does not share the conversation.
        """
        if (
            parent is None
            or self._prompts.is_user_prompt
            or not is_parent_model(model.name, model.format, parent)
        ):
            return text
        return elide_seen_sections(text, join_json_texts(parent.request.body))

    def _build_fork_spec(
        self,
        model: Model,
        path: Path,
        document: MagicDocument,
        parent: ParentCall | None,
        refused: tuple[str, ...],
        shown: str,
    ) -> ForkSpec:
        shares = parent is not None and is_parent_model(model.name, model.format, parent)
        spoken = (
            []
            if shares
            else [
                (str(each.role), said)
                for each in self._conversation.messages
                if (said := _message_text(each))
            ]
        )
        given = (document.text, str(path), document.header, self._prompts, refused)
        fills = (
            should_use_answer_form(model, self._runtime.settings.models, shares=shares)
            and not self._prompts.is_user_prompt
        )
        return ForkSpec(
            label=MAGIC_DOCS_LABEL,
            why=f"{path.name} is to be kept true",
            parent=parent if shares else None,
            history_summary=None if shares else redact(render_conversation_brief({}, spoken)).text,
            instruction=build_update_prompt(*given, shown=shown),
            form=build_document_form(*given, shown=shown) if fills else None,
            permission=SingleFileEdit(path),
            limits=self._runtime.settings.forks,
            known_files=(path,),
            one_round=True,
            requested_by_user=self._asked_for,
        )


def _message_text(message: Message) -> str:
    """Return what a message says, with tool results, which are evidence."""
    results = (each.text for each in message.tool_results)
    return "\n".join(filter(None, (extract_text_without_injections(message), *results)))


def _source_text(message: Message) -> str:
    """Return all text of a message, with what a host put in and the input of its calls."""
    inputs = (use.arguments or join_json_texts(use.input) for use in message.tool_uses)
    results = (each.text for each in message.tool_results)
    return "\n".join((message.text, *results, *inputs))
