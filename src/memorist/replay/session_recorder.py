"""The record of a session, collected while it is replayed. Pure."""

from __future__ import annotations

from collections import Counter

from memorist.core.messages import (
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    Origin,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    UnknownBlock,
)
from memorist.core.token_count import estimate_message_tokens, estimate_text_tokens
from memorist.events import (
    ConversationCompacted,
    Event,
    HistoryReplaced,
    MemoryChanged,
    MemoryNeedsReview,
    MemoryRefused,
    NotesUpdated,
)
from memorist.formats.transcript_format import RepairedLine, SideRecord, SkippedLine
from memorist.replay.replay_results import (
    CommandUse,
    CompactionRecord,
    ContextPoint,
    FailureAndFix,
    FileUse,
    MemoryChangeRecord,
    NotesUpdateRecord,
    PrefixBreakTracker,
    RecallRecord,
)
from memorist.transcript_analysis.transcript_ledger import TranscriptLedger

MAX_CHART_POINTS = 2_000
"""Points kept for the chart; at twice as many, every second one is dropped."""


MAX_LISTED_PER_KIND = 200
"""Repaired lines, files, commands and troubles that are listed one by one."""


_KIND_OF_ORIGIN = {
    Origin.USER: "user",
    Origin.MODEL: "assistant",
    Origin.TOOL: "tool results",
    Origin.INJECTED: "injected",
    Origin.NOTIFICATION: "injected",
    Origin.SUMMARY: "summaries",
    Origin.AGENT: "other agents",
}


class SessionRecorder:
    """Collects what the report needs, in bounded memory."""

    def __init__(self) -> None:
        self.skipped: list[SkippedLine] = []
        self.mended: list[RepairedLine] = []
        self.records = 0
        self.asides: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.points: list[ContextPoint] = []
        self.updates: list[NotesUpdateRecord] = []
        self.final: NotesUpdateRecord | None = None
        self.compactions: list[CompactionRecord] = []
        self.memory_steps: list[MemoryChangeRecord] = []
        self.memory_given: list[RecallRecord] = []
        self.messages = 0
        self.prefix = PrefixBreakTracker()
        self._stride = 1
        self._in_final = False

    def on_side_record(self, entry: SideRecord) -> None:
        """Count a record that is not a message."""
        self.records += 1
        self.asides[entry.kind] += 1

    def on_line_skipped(self, entry: SkippedLine) -> None:
        """Record a line that could not be used."""
        self.records += 1
        self.skipped.append(entry)

    def on_line_repaired(self, entry: RepairedLine) -> None:
        """Record a line that was repaired."""
        if len(self.mended) < MAX_LISTED_PER_KIND:
            self.mended.append(entry)

    def on_message(self, message: Message, tokens: int) -> None:
        """Record a message and the size of the context after it."""
        self.records += 1
        self.messages += 1
        self.kinds.update(estimate_message_tokens_by_kind(message))
        self.prefix.on_entry(message)
        if self.messages % self._stride == 0:
            self.points.append(ContextPoint(self.messages, tokens, message.timestamp))
            if len(self.points) >= 2 * MAX_CHART_POINTS:
                self.points = self.points[1::2]
                self._stride *= 2

    def on_event(self, event: Event) -> None:
        """Record an event of the engine."""
        match event:
            case NotesUpdated():
                update = NotesUpdateRecord(
                    event.message,
                    self.messages,
                    event.line,
                    event.tokens,
                    event.why,
                    event.way,
                    event.notes_tokens,
                    event.repairs,
                )
                if self._in_final:
                    self.final = update
                else:
                    self.updates.append(update)
            case HistoryReplaced():
                self.compactions.append(
                    CompactionRecord(
                        self.messages,
                        event.line,
                        event.trigger,
                        event.tokens_before,
                        event.tokens_after,
                    )
                )
            case ConversationCompacted():
                record = CompactionRecord(
                    self.messages,
                    0,
                    event.trigger,
                    event.tokens_before,
                    event.tokens_after,
                    "memorist",
                    event.strategy,
                )
                self.compactions.append(record)
                self.prefix.on_compaction(event.strategy)
            case MemoryChanged(what=what, paths=paths):
                self.memory_steps.append(MemoryChangeRecord(self.messages, "written", paths, what))
            case MemoryNeedsReview(path=path, reasons=reasons):
                self.memory_steps.append(
                    MemoryChangeRecord(self.messages, "waiting", (path,), "; ".join(reasons))
                )
            case MemoryRefused(path=path, reasons=reasons):
                self.memory_steps.append(
                    MemoryChangeRecord(self.messages, "refused", (path,), "; ".join(reasons))
                )
            case _:
                pass

    def on_recall(self, message: str, text: str) -> None:
        """Record what recall would have shown at the newest message."""
        self.memory_given.append(RecallRecord(self.messages, message, text))

    def mark_next_notes_final(self) -> None:
        """Count the next update of the notes as the final one."""
        self._in_final = True


def estimate_message_tokens_by_kind(message: Message) -> Counter[str]:
    """Estimated tokens of a message by kind of content."""
    kinds: Counter[str] = Counter()
    for block in message.blocks:
        match block:
            case TextBlock(text=text, origin=origin):
                kinds[_KIND_OF_ORIGIN[origin or message.origin]] += estimate_text_tokens(text)
            case ThinkingBlock(text=text) | RedactedThinkingBlock(data=text):
                kinds["thinking"] += estimate_text_tokens(text)
            case ToolUse():
                kinds["tool calls"] += _block_tokens(message, block)
            case ToolResult():
                kinds["tool results"] += estimate_text_tokens(block.text)
            case ImageBlock() | DocumentBlock():
                kinds["images"] += _block_tokens(message, block)
            case UnknownBlock():
                kinds["other"] += _block_tokens(message, block)
    return kinds


def _block_tokens(message: Message, block: Block) -> int:
    only = Message(id=message.id, role=message.role, blocks=(block,), origin=message.origin)
    return estimate_message_tokens(only)


def rank_used_files(ledger: TranscriptLedger) -> tuple[FileUse, ...]:
    """The files in the ledger, changed ones first."""
    uses = [
        FileUse(make_path_relative(note.path, ledger.cwd), note.reads, note.edits)
        for note in ledger.work_record.files.files.values()
    ]
    return tuple(
        sorted(uses, key=lambda use: (-use.changes, -use.reads, use.path))[:MAX_LISTED_PER_KIND]
    )


def rank_used_commands(ledger: TranscriptLedger) -> tuple[CommandUse, ...]:
    """The commands in the ledger, most used first."""
    uses = [
        CommandUse(note.text, note.runs, note.failures, note.last.line if note.last else "")
        for note in ledger.work_record.commands.commands.values()
    ]
    return tuple(sorted(uses, key=lambda use: (-use.runs, use.command))[:MAX_LISTED_PER_KIND])


def list_failures_with_fixes(ledger: TranscriptLedger) -> tuple[FailureAndFix, ...]:
    """What failed, in order, and what fixed it."""
    return tuple(
        FailureAndFix(each.what, each.line, each.resolved_by or each.resolved_line)
        for each in ledger.work_record.commands.failures[:MAX_LISTED_PER_KIND]
    )


def make_path_relative(path: str, folder: str) -> str:
    """The path relative to the session's folder."""
    return path.removeprefix(folder.rstrip("/") + "/") if folder else path
