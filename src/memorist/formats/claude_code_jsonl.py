"""Reading Claude Code session files (`<session>.jsonl`) as the live conversation (claude-code.md
sections 12.2 to 12.8 and 12.14).

The lines are read twice: once for the tree, decoding only its fields, and once for the content of
the live records. Where the conversation does not follow the order of the file, lines that come too
early are buffered, within a limit, and further passes read the rest.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterator

from memorist.core.messages import Message
from memorist.formats.claude_code_chain import Chain, live_chain
from memorist.formats.claude_code_index import ASSISTANT, BLANK, BOUNDARY, PROBLEM, SIDE, Index, build
from memorist.formats.claude_code_messages import message_of, read_boundary, read_record
from memorist.formats.jsonl import FAILURES, MALFORMED, REPLACED, reason
from memorist.formats.recorded import Aside, Entry, Line, Lines, Mend, Skip

HELD_BYTES = 32 * 1024 * 1024
"""Limit in bytes of the lines buffered while earlier messages of the conversation are still to
come.
"""


def read(lines: Lines) -> Iterator[Entry]:
    """Read a session: the `SessionHead`, then the live conversation in its order, and everything
    else as side records, skipped and repaired lines in the order of the file.
    """
    index = build(lines)
    yield index.head()
    yield from _Reading(index, live_chain(index)).entries(lines)


class _Reading:
    """The second pass over the file, with its state."""

    def __init__(self, index: Index, chain: Chain) -> None:
        self.index = index
        self.chain = chain
        self.next = 0
        """The next position of the chain to yield."""
        self.held: dict[int, bytes] = {}
        self.heap: list[int] = []
        """Buffered positions, negated for a max-heap: the last one first."""
        self.bytes = 0
        self.place = array("i", [-1]) * len(index.codes)
        """For each line, its position in the chain; -1 for none."""
        for place, number in enumerate(chain.order):
            self.place[index.at[number]] = place
        self.names = list(index.kinds)
        self.last = self._last_of_replies()
        self.side = bytearray(len(index.codes))
        for number, flags in enumerate(index.flags):
            self.side[index.at[number]] = flags & SIDE

    def _last_of_replies(self) -> bytearray:
        """For each position, whether it is the last record of its reply."""
        last = bytearray(len(self.chain.order))
        seen: set[int] = set()
        for place in reversed(range(len(last))):
            number = self.chain.order[place]
            reply = self.index.reply[number]
            if self.index.flags[number] & ASSISTANT and (not reply or reply not in seen):
                last[place] = 1
                seen.add(reply)
        return last

    def entries(self, lines: Lines) -> Iterator[Entry]:
        """Every entry but the head."""
        size, places = len(self.place), self.place
        for line in lines:
            number = line.number
            if number >= size:
                break  # the file has grown since the first pass
            place = places[number]
            if place == self.next:
                yield from self._live(line.data, place)
                if self.held:
                    yield from self._released()
            elif place < 0:
                yield from self._beside(line)
            else:
                self._hold(place, line.data)
        while self.next < len(self.chain.order):
            before = self.next
            yield from self._fetch(lines)
            if self.next == before:
                self.next += 1  # the line is gone: the file changed since the first pass

    def _fetch(self, lines: Lines) -> Iterator[Entry]:
        """One more pass, for positions that did not fit the buffer."""
        for line in lines:
            place = self.place[line.number] if line.number < len(self.place) else -1
            if place == self.next:
                yield from self._live(line.data, place)
                yield from self._released()
            elif place > self.next and place not in self.held:
                self._hold(place, line.data)

    def _hold(self, place: int, data: bytes) -> None:
        """Buffer a line; beyond the limit the lines that are due last are dropped and read again
        later.
        """
        self.held[place] = data
        self.bytes += len(data)
        heapq.heappush(self.heap, -place)
        while self.bytes > HELD_BYTES and self.heap:
            self.bytes -= len(self.held.pop(-heapq.heappop(self.heap), b""))

    def _released(self) -> Iterator[Entry]:
        """The entries of buffered lines whose position has come."""
        while (data := self.held.pop(self.next, None)) is not None:
            self.bytes -= len(data)
            yield from self._live(data, self.next)
        if not self.held:
            self.heap.clear()

    def _live(self, data: bytes, place: int) -> tuple[Entry, ...]:
        """The entries of the line at the current position."""
        self.next = place + 1
        number = self.chain.order[place]
        line = self.index.at[number]
        try:
            if self.index.flags[number] & BOUNDARY:
                return (read_boundary(data, line, self.chain.kept.get(number, 0)),)
            message, was_mended = self._message(number, data, last_of_reply=bool(self.last[place]))
        except FAILURES:
            return (Skip(line, MALFORMED),)
        entry: Entry
        if message is None or (number in self.chain.recovered and message.role == "user" and not message.tool_results):
            entry = Aside(self.names[self.index.codes[line]], line, data.rstrip())
        else:
            entry = message
        return (Mend(line, REPLACED), entry) if was_mended else (entry,)

    def _message(self, number: int, data: bytes, *, last_of_reply: bool) -> tuple[Message | None, bool]:
        """The message of a record, from the first pass's cache if it is there. Raises one of
        `FAILURES`.
        """
        line = self.index.at[number]
        record = self.index.kept.pop(number, None)
        if record is None or record.message is None:
            return read_record(data, line, last_of_reply=last_of_reply)
        return message_of(record, record.message, line, last_of_reply=last_of_reply), False

    def _beside(self, line: Line) -> tuple[Entry, ...]:
        """The entry of a line that is not live; none for a blank one."""
        code = self.index.codes[line.number]
        if code == BLANK:
            return ()
        if code == PROBLEM:
            return (Skip(line.number, line.problem or reason(line.data, last=line.number == len(self.place) - 1)),)
        kind = self.names[code]
        if kind in ("user", "assistant", "attachment"):
            kind = "sidechain" if self.side[line.number] else "branch"
        return (Aside(kind, line.number, line.data.rstrip()),)
