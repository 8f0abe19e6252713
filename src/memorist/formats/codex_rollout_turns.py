"""The turns of a Codex rollout, and which of them were rolled back (codex.md section 3.7 and part
5).
"""

from __future__ import annotations

from msgspec import Struct


class _Mark(Struct, frozen=True):
    """A point to which a history may be cut back: the line, and the number of live messages before
    it.
    """

    line: int
    messages: int


class Turns:
    """The turns of a rollout so far, and the line ranges that were rolled back."""

    def __init__(self) -> None:
        self.messages = 0
        self.stretches: list[tuple[int, int]] = []
        """First line and the line after the last, in order, without overlaps."""
        self._starts: list[_Mark] = []
        self._segment: _Mark | None = None
        self._context: _Mark | None = None

    def started(self, line: int) -> None:
        """A turn begins; the user's message follows."""
        self._segment = _Mark(line, self.messages)

    def said(self, line: int, *, typed: bool, context: bool) -> None:
        """A message at the line: typed by the user, injected by the host (`context`), or from the
        model and its tools.
        """
        here = _Mark(line, self.messages)
        if typed:
            self._begin(here)
        if context:
            self._context = self._context or here
        else:
            self._context = None
        self.messages += 1

    def told(self, line: int) -> None:
        """Injected context at the line; directly before a user message it belongs to that turn."""
        self._context = self._context or _Mark(line, self.messages)

    def _begin(self, here: _Mark) -> None:
        """Begin a turn at a user message.

        A message typed while a turn runs belongs to that turn. The first turn begins at its
        message: what comes before belongs to the session.
        """
        if not self._starts:
            self._starts.append(here)
        elif self._segment is None:
            self._starts.append(self._context or here)
        elif self._starts[-1].line < self._segment.line:
            self._starts.append(self._segment)

    def take_back(self, turns: int, line: int) -> tuple[int, int]:
        """Drop the last turns; returns how many turns there were to drop, and how many messages
        they held.
        """
        dropped = self._starts[-turns:] if turns > 0 else []
        if not dropped:
            return 0, 0
        del self._starts[-len(dropped) :]
        cut = dropped[0]
        while self.stretches and self.stretches[-1][0] >= cut.line:
            self.stretches.pop()
        self.stretches.append((cut.line, line))
        gone = self.messages - cut.messages
        self.messages, self._segment, self._context = cut.messages, None, None
        return len(dropped), gone
