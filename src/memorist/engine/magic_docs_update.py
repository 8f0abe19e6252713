"""Bring Magic Docs up to date with what a recorded session has shown, outside a running session."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.messages import Message
from memorist.engine.background_runtime import open_background_runtime
from memorist.errors import InputError
from memorist.events import Event, MagicDocFound, MagicDocNotUpdated, MagicDocUpdated
from memorist.forks.fork_spec import Receipt
from memorist.formats.format_detection import read_session
from memorist.magic_docs.document_files import (
    DocumentLocationRules,
    SessionDocumentRegistry,
    find_document_at_path,
)
from memorist.magic_docs.magic_docs import MagicDocs
from memorist.magic_docs.read_markdown_tracking import ReadMarkdownTracker
from memorist.ports import Model
from memorist.runtime import SessionContext
from memorist.settings import Settings
from memorist.store.home_layout import Layout
from memorist.store.sqlite_database import open_database
from memorist.store.transcript_reader import UnpackedUtf8Lines


class MagicDocsUpdateResult(Struct, frozen=True, kw_only=True):
    """What became of the documents, by their paths."""

    changed: tuple[str, ...] = ()
    left: dict[str, tuple[str, ...]]
    """Those that were left as they were although the model changed them, with the reasons."""
    unchanged: tuple[str, ...] = ()
    cost_usd: float | None = 0.0
    """Dollars; None where the price of the model is not known."""


async def update_magic_docs(
    scope: DocumentLocationRules,
    documents: Sequence[Path],
    recording: Path,
    *,
    session: str,
    settings: Settings,
    model: Model,
) -> MagicDocsUpdateResult:
    """Have the model change these documents by what the session in `recording` has shown; only
    what the checks accept is written. `session` is the id that the costs are counted for. The
    caller closes the model.

    Raises InputError for a file that is no Magic Doc or is not kept, and StoreError.
    """
    conversation = _read_conversation(recording)
    for path in documents:
        document = find_document_at_path(scope, str(path.absolute()))
        if document is None or document.why:
            unknown = "it cannot be read, or has no line `# MAGIC DOC: title`"
            raise InputError(f"{path} is not kept: {unknown if document is None else document.why}")
        conversation.on_file_read(str(document.path))
    events, receipts = list[Event](), list[Receipt]()
    database = open_database(Layout(scope.home).database)
    registry = SessionDocumentRegistry(scope.files, None)  # nothing is saved
    try:
        with open_background_runtime(
            settings, database, model, session=session, files=scope.files
        ) as opened:
            keep = opened.record_receipt

            def record(receipt: Receipt) -> None:
                receipts.append(receipt)
                keep(receipt)

            runtime = replace(opened, emit=events.append, record_receipt=record)
            context = SessionContext(runtime=runtime, id=session, project=str(scope.project))
            await MagicDocs(context, conversation=conversation, registry=registry).update_all()
    finally:
        database.close()
    return _collect_result(events, [receipt.cost_usd for receipt in receipts])


def _read_conversation(recording: Path) -> ReadMarkdownTracker:
    """Read the conversation without the files it read: only the named files are updated."""
    conversation = ReadMarkdownTracker()
    for entry in read_session(UnpackedUtf8Lines(recording)):
        if isinstance(entry, Message):
            conversation.on_message(entry)
    conversation.take_read_files()
    return conversation


def _collect_result(
    events: Sequence[Event], costs: Sequence[float | None]
) -> MagicDocsUpdateResult:
    changed = tuple(event.path for event in events if isinstance(event, MagicDocUpdated))
    left = {event.path: event.reasons for event in events if isinstance(event, MagicDocNotUpdated)}
    found = [event.path for event in events if isinstance(event, MagicDocFound)]
    return MagicDocsUpdateResult(
        changed=changed,
        left=left,
        unchanged=tuple(path for path in found if path not in (*changed, *left)),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
    )
