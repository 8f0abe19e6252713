"""The results of a replay as values, and where its requests did not extend the one before; the
report and `--json` are made from them. Pure.
"""

from __future__ import annotations

from itertools import zip_longest

from msgspec import Struct, field

from memorist.context.request_prefix_growth import PrefixDifferenceReason
from memorist.core.messages import Message, Origin, Usage
from memorist.formats.transcript_format import (
    CompactionBoundary,
    RepairedLine,
    SessionHead,
    SkippedLine,
    TranscriptEntry,
    TurnRollback,
)

# The implied requests of a recorded session that do not extend the one before (CX-8).

COMPARED_FIRST_ENTRIES = 64
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


class PrefixBreakTracker:
    """Derives one request for each reply, consisting of everything before it.

    Feed it the entries of a session in order.
    """

    def __init__(self) -> None:
        self.requests = 0
        self.breaks: list[PrefixBreak] = []
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
        if len(self._start) < COMPARED_FIRST_ENTRIES and self._count == len(self._start) + 1:
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
        if (
            self._pending_break is not None
            and self.requests > 1
            and len(self.breaks) < MAX_LISTED_BREAKS
        ):
            self.breaks.append(PrefixBreak(self.requests, *self._pending_break))
        self._pending_break = None

    def _on_boundary(self, boundary: CompactionBoundary) -> None:
        now = len(boundary.replacement) + boundary.kept
        same = 0
        for old, new in zip_longest(self._start, boundary.replacement[:COMPARED_FIRST_ENTRIES]):
            if old is None or new is None or (old.role, old.blocks) != (new.role, new.blocks):
                break
            same += 1
        self._break_prefix(
            "compaction",
            f"{self._count} messages became {now}; the first that differs is number {same + 1}",
            boundary.line,
        )
        self._start, self._count = list(boundary.replacement[:COMPARED_FIRST_ENTRIES]), now

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
    last_output_line: str = field(name="last")


class FailureAndFix(Struct, frozen=True):
    """Something that failed, and what fixed it (empty if nothing did)."""

    what: str
    error: str
    fixed_by: str = field(name="mended")


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


class ReplayedSessionRecord(Struct, frozen=True, kw_only=True):
    """What a replay found in one session; sizes are tokens of its model unless a name says else."""

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
    troubles: tuple[FailureAndFix, ...]
    notes: str
    """The notes at the end, as Markdown; empty if there are none."""
    notes_path: str
    receipts: ReceiptTotals
    seconds: float


class ReplayRunSessions(Struct, frozen=True, kw_only=True):
    """All sessions of one `memorist replay`."""

    version: str
    model: str
    sessions: tuple[ReplayedSessionRecord, ...]
