"""The implied requests of a recorded session that do not extend the one before (CX-8). Pure."""

from __future__ import annotations

from itertools import zip_longest

from msgspec import Struct

from memorist.context.request_prefix_growth import PrefixDifferenceReason
from memorist.core.messages import Message, Origin
from memorist.formats.transcript_format import CompactionBoundary, TranscriptEntry, TurnRollback

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


class PrefixTracker:
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
