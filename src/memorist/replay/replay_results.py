"""The results of a replay as values; the report and `--json` are made from them. Pure."""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest

from msgspec import Struct

from memorist.context.prefix_check import PrefixDifferenceReason
from memorist.core.messages import (
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
    Usage,
)
from memorist.core.token_count import MEDIA_TOKENS, estimate_message_tokens, estimate_text_tokens
from memorist.events import (
    ConversationCompacted,
    Event,
    HistoryReplaced,
    MemoryChanged,
    MemoryNeedsReview,
    MemoryRefused,
    NotesUpdated,
)
from memorist.formats.transcript_format import (
    CompactionBoundary,
    RepairedLine,
    SessionHead,
    SideRecord,
    SkippedLine,
    TranscriptEntry,
    TurnRollback,
)
from memorist.transcript.transcript_ledger import TranscriptLedger

# Find the implied requests of a recorded session that do not extend the one before (CX-8).


COMPARED_ENTRIES = 64
"""Entries kept from the start of a history, to find the first one that differs after a
compaction.
"""
MAX_LISTED_BREAKS = 200
"""Breaks that are listed one by one."""


class PrefixBreak(Struct, frozen=True):
    """A request that did not extend the one before it."""

    request: int
    """Counted from 1; one for each reply."""
    why: PrefixDifferenceReason
    what: str
    """A one-clause explanation for the user."""
    line: int
    """Line of the file at which the histories differ; 0 for memorist's own compaction."""


class PrefixTracker:
    """Derives one request for each reply, consisting of everything before it.

    Feed it the entries of a session in order.
    """

    def __init__(self) -> None:
        self.requests = 0
        self.breaks: list[PrefixBreak] = []
        self.break_count = 0
        """Number of breaks, including those that are not listed."""
        self._start: list[Message] = []
        self._count = 0
        self._model = ""
        self._reply: str | None = None
        self._speaking = False
        self._pending_break: tuple[PrefixDifferenceReason, str, int] | None = None

    def on_entry(self, entry: TranscriptEntry) -> None:
        """Process the next entry."""
        match entry:
            case Message():
                self._on_message(entry)
            case CompactionBoundary():
                self._on_boundary(entry)
            case TurnRollback():
                self._break_prefix(
                    "rolled back", f"{entry.turns} turns were taken back", entry.line
                )
            case _:
                pass

    def on_compaction(self, strategy: str) -> None:
        """Record a compaction by memorist."""
        self._break_prefix("compaction", f"memorist made the history smaller ({strategy})", 0)

    def _on_message(self, message: Message) -> None:
        speaking = message.origin is Origin.MODEL
        if speaking and (
            not self._speaking or (message.reply_id is not None and message.reply_id != self._reply)
        ):
            self._on_request(message)
        self._speaking = speaking
        if speaking:
            self._reply = message.reply_id
        self._count += 1
        if len(self._start) < COMPARED_ENTRIES and self._count == len(self._start) + 1:
            self._start.append(message)

    def _on_request(self, message: Message) -> None:
        self.requests += 1
        if (
            self._pending_break is None
            and message.model
            and self._model
            and message.model != self._model
        ):
            self._pending_break = ("model", f"{self._model} became {message.model}", message.line)
        self._model = message.model or self._model
        if self._pending_break is not None and self.requests > 1:
            self.break_count += 1
            if len(self.breaks) < MAX_LISTED_BREAKS:
                self.breaks.append(PrefixBreak(self.requests, *self._pending_break))
        self._pending_break = None

    def _on_boundary(self, boundary: CompactionBoundary) -> None:
        now = len(boundary.replacement) + boundary.kept
        same = 0
        for old, new in zip_longest(self._start, boundary.replacement[:COMPARED_ENTRIES]):
            if old is None or new is None or (old.role, old.blocks) != (new.role, new.blocks):
                break
            same += 1
        self._break_prefix(
            "compaction",
            f"{self._count} messages became {now}; the first that differs is number {same + 1}",
            boundary.line,
        )
        self._start, self._count = list(boundary.replacement[:COMPARED_ENTRIES]), now

    def _break_prefix(self, why: PrefixDifferenceReason, what: str, line: int) -> None:
        self._pending_break, self._speaking = (why, what, line), False


class ContextPoint(Struct, frozen=True):
    """The size of the context after one message."""

    message: int
    """Counted from 1."""
    tokens: int
    at: float | None = None
    """Time of the message, in seconds since the epoch."""


class NotesUpdateRecord(Struct, frozen=True):
    """One update of the notes."""

    message: str
    index: int
    """Number of messages before it."""
    line: int
    tokens: int
    why: str
    way: str
    notes_tokens: int
    repairs: tuple[str, ...] = ()


class CompactionRecord(Struct, frozen=True):
    """A compaction, by the recorded agent or by memorist where the context reached its
    threshold.
    """

    index: int
    line: int
    trigger: str
    tokens_before: int
    tokens_after: int
    by: str = "the recorded agent"
    """`the recorded agent` or `memorist`."""
    strategy: str = ""
    """memorist's strategy; empty for the agent's compactions."""


class FileUse(Struct, frozen=True):
    """How often a file of the session was read and changed."""

    path: str
    reads: int
    changes: int


class CommandUse(Struct, frozen=True):
    """How often a command of the session ran and failed, and the outcome of its last run."""

    command: str
    runs: int
    failures: int
    last: str


class TroubleRecord(Struct, frozen=True):
    """Something that failed, and what fixed it (empty if nothing did)."""

    what: str
    error: str
    mended: str


class MemoryChangeRecord(Struct, frozen=True):
    """A change of memory that was written, is waiting in the inbox, or was refused."""

    index: int
    """Number of messages before it."""
    what: str
    """`written`, `waiting` or `refused`."""
    paths: tuple[str, ...]
    why: str


class RecallRecord(Struct, frozen=True):
    """What recall would have shown a live session at one message."""

    index: int
    message: str
    text: str


class ReceiptTotals(Struct, frozen=True, kw_only=True):
    """The background work of a session in total. `cost_usd` is None if a price is unknown."""

    requests: int = 0
    usage: Usage = Usage()
    cost_usd: float | None = 0.0


class SessionRecord(Struct, frozen=True, kw_only=True):
    """One replayed session."""

    source: str
    head: SessionHead
    records: int
    """Non-empty lines of the file."""
    skipped: tuple[SkippedLine, ...]
    mended: tuple[RepairedLine, ...]
    asides: dict[str, int]
    """Records that are not messages of the main conversation, by kind."""
    messages: int
    turns: int
    tokens_peak: int
    points: tuple[ContextPoint, ...]
    """At most a few thousand, evenly thinned, for the chart."""
    updates: tuple[NotesUpdateRecord, ...]
    final: NotesUpdateRecord | None = None
    """The update at the end of the recording, which no threshold triggered; None for an empty
    session.
    """
    compactions: tuple[CompactionRecord, ...]
    requests: int = 0
    """Requests that the session implies: one for each reply."""
    prefix_breaks: tuple[PrefixBreak, ...] = ()
    """Requests that did not extend the one before, at most a few hundred (CX-8)."""
    memory_steps: tuple[MemoryChangeRecord, ...] = ()
    memory_given: tuple[RecallRecord, ...] = ()
    kinds: dict[str, int]
    """Estimated tokens by kind of content: user, assistant, thinking, tool calls, tool results,
    injected, summaries, images.
    """
    files: tuple[FileUse, ...]
    commands: tuple[CommandUse, ...]
    troubles: tuple[TroubleRecord, ...]
    notes: str
    """The notes at the end, as Markdown; empty if there are none."""
    notes_path: str
    receipts: ReceiptTotals
    seconds: float


class ReplayRecord(Struct, frozen=True, kw_only=True):
    """All sessions of one `memorist replay`."""

    version: str
    model: str
    sessions: tuple[SessionRecord, ...]


# Collect a session's record while it is replayed. Pure.


MAX_POINTS = 2_000
"""Points kept for the chart; at twice as many, every second one is dropped."""

MAX_LISTED = 200
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
        self.skips = 0
        self.mends = 0
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
        self.prefix = PrefixTracker()
        self._stride = 1
        self._in_final = False

    def on_aside(self, entry: SideRecord) -> None:
        """Count a record that is not a message."""
        self.records += 1
        self.asides[entry.kind] += 1

    def on_skip(self, entry: SkippedLine) -> None:
        """Record a line that could not be used."""
        self.records += 1
        self.skips += 1
        self.skipped.append(entry)

    def on_mend(self, entry: RepairedLine) -> None:
        """Record a line that was repaired."""
        self.mends += 1
        if len(self.mended) < MAX_LISTED:
            self.mended.append(entry)

    def on_message(self, message: Message, tokens: int) -> None:
        """Record a message and the size of the context after it."""
        self.records += 1
        self.messages += 1
        self.kinds.update(count_kinds(message))
        self.prefix.on_entry(message)
        if self.messages % self._stride == 0:
            self.points.append(ContextPoint(self.messages, tokens, message.timestamp))
            if len(self.points) >= 2 * MAX_POINTS:
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

    def begin_final_notes(self) -> None:
        """Count the next update of the notes as the final one."""
        self._in_final = True


def count_kinds(message: Message) -> Counter[str]:
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
                kinds["images"] += MEDIA_TOKENS
            case UnknownBlock():
                kinds["other"] += _block_tokens(message, block)
    return kinds


def _block_tokens(message: Message, block: ToolUse | UnknownBlock) -> int:
    only = Message(id=message.id, role=message.role, blocks=(block,), origin=message.origin)
    return estimate_message_tokens(only)


def list_file_uses(ledger: TranscriptLedger) -> tuple[FileUse, ...]:
    """The files in the ledger, changed ones first."""
    uses = [
        FileUse(relative_to_folder(note.path, ledger.cwd), note.reads, note.edits)
        for note in ledger.work_record.files.files.values()
    ]
    return tuple(sorted(uses, key=lambda use: (-use.changes, -use.reads, use.path))[:MAX_LISTED])


def list_command_uses(ledger: TranscriptLedger) -> tuple[CommandUse, ...]:
    """The commands in the ledger, most used first."""
    uses = [
        CommandUse(note.text, note.runs, note.failures, note.last.line if note.last else "")
        for note in ledger.work_record.commands.commands.values()
    ]
    return tuple(sorted(uses, key=lambda use: (-use.runs, use.command))[:MAX_LISTED])


def list_troubles(ledger: TranscriptLedger) -> tuple[TroubleRecord, ...]:
    """What failed, in order, and what fixed it."""
    return tuple(
        TroubleRecord(each.what, each.line, each.resolved_by or each.resolved_line)
        for each in ledger.work_record.commands.failures[:MAX_LISTED]
    )


def relative_to_folder(path: str, folder: str) -> str:
    """The path relative to the session's folder."""
    return path.removeprefix(folder.rstrip("/") + "/") if folder else path
