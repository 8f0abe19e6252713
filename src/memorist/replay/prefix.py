"""Find the implied requests of a recorded session that do not extend the one before (CX-8).

Pure, in bounded memory.
"""

from __future__ import annotations

from itertools import zip_longest

from msgspec import Struct

from memorist.context.prefix import Why
from memorist.core.messages import Message, Origin
from memorist.formats.recorded import Boundary, Entry, RolledBack

COMPARED = 64
"""Entries kept from the start of a history, to find the first one that differs after a
compaction.
"""
LISTED = 200
"""Breaks that are listed one by one."""


class PrefixBreak(Struct, frozen=True):
    """A request that did not extend the one before it."""

    request: int
    """Counted from 1; one for each reply."""
    why: Why
    what: str
    """A one-clause explanation for the user."""
    line: int
    """Line of the file at which the histories differ; 0 for memorist's own compaction."""


class PrefixOfEntries:
    """Derives one request for each reply, consisting of everything before it.

    Feed it the entries of a session in order.
    """

    def __init__(self) -> None:
        self.requests = 0
        self.breaks: list[PrefixBreak] = []
        self.number = 0
        """Number of breaks, including those that are not listed."""
        self._start: list[Message] = []
        self._count = 0
        self._model = ""
        self._reply: str | None = None
        self._speaking = False
        self._waiting: tuple[Why, str, int] | None = None

    def follow(self, entry: Entry) -> None:
        """Process the next entry."""
        match entry:
            case Message():
                self._message(entry)
            case Boundary():
                self._boundary(entry)
            case RolledBack():
                self._parted("rolled back", f"{entry.turns} turns were taken back", entry.line)
            case _:
                pass

    def compacted(self, strategy: str) -> None:
        """Record a compaction by memorist."""
        self._parted("compaction", f"memorist made the history smaller ({strategy})", 0)

    def _message(self, message: Message) -> None:
        speaking = message.origin is Origin.MODEL
        if speaking and (not self._speaking or (message.reply_id is not None and message.reply_id != self._reply)):
            self._request(message)
        self._speaking = speaking
        if speaking:
            self._reply = message.reply_id
        self._count += 1
        if len(self._start) < COMPARED and self._count == len(self._start) + 1:
            self._start.append(message)

    def _request(self, message: Message) -> None:
        self.requests += 1
        if self._waiting is None and message.model and self._model and message.model != self._model:
            self._waiting = ("model", f"{self._model} became {message.model}", message.line)
        self._model = message.model or self._model
        if self._waiting is not None and self.requests > 1:
            self.number += 1
            if len(self.breaks) < LISTED:
                self.breaks.append(PrefixBreak(self.requests, *self._waiting))
        self._waiting = None

    def _boundary(self, boundary: Boundary) -> None:
        now = len(boundary.replacement) + boundary.kept
        same = 0
        for old, new in zip_longest(self._start, boundary.replacement[:COMPARED]):
            if old is None or new is None or (old.role, old.blocks) != (new.role, new.blocks):
                break
            same += 1
        self._parted("compaction", f"{self._count} messages became {now}; the first that differs is number {same + 1}", boundary.line)
        self._start, self._count = list(boundary.replacement[:COMPARED]), now

    def _parted(self, why: Why, what: str, line: int) -> None:
        self._waiting, self._speaking = (why, what, line), False
