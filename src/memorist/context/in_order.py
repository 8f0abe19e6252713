"""Decide from new messages alone whether a growing history needs normalizing. Pure.

The whole history is walked only when there is something to repair.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memorist.context.normalise import normalise
from memorist.context.normalise_parts import TOOL_TOKENS
from memorist.context.settings import Family
from memorist.core.messages import Message
from memorist.core.tokens import estimate_text

WHOLE = 2**31
"""No limit for tool outputs: the file-native family stores long ones on disk instead (CP-4)."""


class InOrder:
    """Tracks one session's history from request to request."""

    def __init__(self, wire_format: str, family: Family) -> None:
        self._format = wire_format
        self._limit = TOOL_TOKENS if family == "rollout" else WHOLE
        self._looked = False
        self._answered: frozenset[str] = frozenset()
        """Calls without a result that have been given one."""

    def due(self, new: Iterable[Message], open_calls: Sequence[str]) -> bool:
        """Tell whether the new messages or still unanswered calls require normalizing; always true
        before the first request of a process.
        """
        long = self._limit < WHOLE and any(estimate_text(result.text) > self._limit for message in new for result in message.tool_results)
        waiting = frozenset(open_calls)
        if self._looked and waiting <= self._answered and not long:
            return False
        self._looked, self._answered = True, waiting
        return True

    def again(self) -> None:
        """Forget what was checked: the history was replaced, so the next request is checked as a
        whole.
        """
        self._looked = False

    def mended(self, whole: Sequence[Message]) -> tuple[Message, ...]:
        """Return the history in sendable form; messages that need no change stay the very same
        objects.
        """
        return normalise(whole, self._format, tool_tokens=self._limit)
