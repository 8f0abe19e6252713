"""The results of a replay as values; the report and `--json` are made from them. Pure."""

from __future__ import annotations

from msgspec import Struct, field

from memorist.core.messages import Usage
from memorist.formats.transcript_format import RepairedLine, SessionHead, SkippedLine
from memorist.replay.broken_prefixes import PrefixBreak


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


class FailureRecord(Struct, frozen=True):
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
    troubles: tuple[FailureRecord, ...]
    notes: str
    """The notes at the end, as Markdown; empty if there are none."""
    notes_path: str
    receipts: ReceiptTotals
    seconds: float


class ReplayedSessionRecords(Struct, frozen=True, kw_only=True):
    """All sessions of one `memorist replay`."""

    version: str
    model: str
    sessions: tuple[ReplayedSessionRecord, ...]
