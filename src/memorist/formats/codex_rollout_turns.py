"""The turns of a Codex rollout, and which of them were taken back (codex.md section 3.7 and part 5)."""

from __future__ import annotations

from msgspec import Struct


class _Mark(Struct, frozen=True):
    """A place that a history may be cut back to: the line, and how many live messages stand before it."""

    line: int
    messages: int


class Turns:
    """The turns of a rollout so far, and the stretches of lines that were taken back."""

    def __init__(self) -> None:
        self.messages = 0
        self.stretches: list[tuple[int, int]] = []
        """First line and the line after the last, in order, apart from each other."""
        self._starts: list[_Mark] = []
        self._segment: _Mark | None = None
        self._context: _Mark | None = None

    def started(self, line: int) -> None:
        """A turn begins; the user's words follow."""
        self._segment = _Mark(line, self.messages)

    def said(self, line: int, *, typed: bool, context: bool) -> None:
        """A message stands at the line: typed by the person, put there by the harness (`context`), or of the model and its tools."""
        here = _Mark(line, self.messages)
        if typed:
            self._begin(here)
        if context:
            self._context = self._context or here
        else:
            self._context = None
        self.messages += 1

    def told(self, line: int) -> None:
        """A record of what the model is told stands at the line; right above the user's words it belongs to their turn."""
        self._context = self._context or _Mark(line, self.messages)

    def _begin(self, here: _Mark) -> None:
        """Words that are typed while a turn runs belong to it. The first turn begins at its words: what stands before is the session's."""
        if not self._starts:
            self._starts.append(here)
        elif self._segment is None:
            self._starts.append(self._context or here)
        elif self._starts[-1].line < self._segment.line:
            self._starts.append(self._segment)

    def take_back(self, turns: int, line: int) -> tuple[int, int]:
        """Drop the last turns; returns how many there were to drop, and how many messages went with them."""
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
