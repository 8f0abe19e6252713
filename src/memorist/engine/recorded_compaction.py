"""Compact a recorded session with a model's summary, and write what a compaction left of it as a
session file. Without a model, see `compaction.offline_compaction`.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from memorist.compaction.compaction_result import (
    CompactedHistory,
    CompactionResult,
    UnchangedHistory,
)
from memorist.compaction.measured_conversation import get_typed_text, measure_conversation
from memorist.compaction.offline_compaction import (
    OfflineOptions,
    compact_offline,
    measure_recording_to_summarize,
    restore_compacted_messages,
)
from memorist.compaction.summary_parser import UnusableSummary
from memorist.compaction.summary_request import (
    SummaryAcceptance,
    add_acceptance_to_receipts,
    build_summary_request,
    request_summary,
)
from memorist.compaction.summary_review import (
    SummaryReview,
    build_history_with_missing_parts,
    check_summary_against_history,
)
from memorist.compaction.window_at_message import RecordedWindow
from memorist.engine.background_runtime import open_background_runtime
from memorist.errors import InputError, UsageError
from memorist.forks.fork_spec import Receipt
from memorist.formats.transcript_format import CompactionBoundary, SessionHead
from memorist.models.model_choice import create_model_from_string
from memorist.runtime import Runtime
from memorist.settings import Settings
from memorist.store.home_layout import Layout
from memorist.store.sqlite_database import open_database
from memorist.store.transcript_writer import TranscriptWriter


async def compact_with_model(
    recorded: RecordedWindow,
    strategy: Literal["full", "inline"],
    options: OfflineOptions,
    *,
    settings: Settings,
    home: Layout,
    instructions: str = "",
) -> CompactionResult:
    """The new history with a summary by the settings' model, or why there is none. `instructions`
    tell the model what to hold; its runs stand in the receipts of `home`.

    Raises UsageError where the settings name no model, ModelNameError and StoreError.
    """
    model = create_model_from_string(settings.model, settings.models)
    if model is None:
        raise UsageError(f"{settings.model!r} is no model that can be asked")
    try:
        with (
            closing(open_database(home.database)) as database,
            open_background_runtime(settings, database, model) as runtime,
        ):
            summary = await _summarize(recorded, strategy, options, instructions, runtime)
    finally:
        await model.close()
    if isinstance(summary, UnusableSummary):
        return UnchangedHistory(summary.why)
    return build_history_with_missing_parts(
        summary,
        lambda text, addition: compact_offline(
            recorded, strategy, replace(options, summary=text, host_addition=addition)
        ),
    )


async def _summarize(
    recorded: RecordedWindow,
    strategy: Literal["full", "inline"],
    options: OfflineOptions,
    instructions: str,
    runtime: Runtime,
) -> SummaryReview | UnusableSummary:
    """The model's summary, compared with the session; why there is none otherwise."""
    measured = measure_conversation(
        recorded.messages,
        user_texts=[words for words in map(get_typed_text, recorded.all_messages) if words],
        factor=options.token_factor,
    )
    request = build_summary_request(
        measured, options.texts, instructions, hand_over=strategy == "inline"
    )
    receipts: list[Receipt] = []
    found: SummaryReview | UnusableSummary | str = await request_summary(
        request, None, runtime, marker=options.texts.cut_marker, record=receipts.append, asked=True
    )
    if isinstance(found, str):
        replaced = measure_recording_to_summarize(recorded, options)
        found = check_summary_against_history(
            found,
            measured.messages,
            replaced,
            limit=options.budget,
            whole=restore_compacted_messages(recorded, replaced),
            cwd=recorded.head.cwd if recorded.head else "",
        )
    use = (
        SummaryAcceptance(found.why)
        if isinstance(found, UnusableSummary)
        else SummaryAcceptance(dropped=found.dropped)
    )
    for each in add_acceptance_to_receipts(receipts, use) if receipts else ():
        runtime.record_receipt(each)
    return found


def write_compacted_session(
    path: Path, recorded: RecordedWindow, compacted: CompactedHistory
) -> None:
    """Write the compacted conversation as a new session file. Raises InputError where the file
    exists, and StoreError.
    """
    if path.exists():
        raise InputError(f"{path} exists already; name a new file")
    writer = TranscriptWriter(path)
    try:
        writer.append(recorded.head or SessionHead(session=path.stem, format="memorist"))
        writer.append(
            CompactionBoundary(
                id=compacted.strategy,
                line=0,
                trigger="manual",
                tokens_before=compacted.tokens_before,
                replacement=compacted.added_messages,
            )
        )
        for message in compacted.messages:
            writer.append(message)
    finally:
        writer.close()
