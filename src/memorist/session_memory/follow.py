"""Track a conversation message by message and report when its notes are due. Pure: no file, clock
or model.
"""

from __future__ import annotations

from collections import deque

from memorist.core.messages import Message, Origin, Usage
from memorist.core.pairing import OpenCalls
from memorist.core.tokens import ContextMeter, family_factor
from memorist.formats.recorded import Head
from memorist.session_memory.ledger import Ledger
from memorist.session_memory.settings import Current
from memorist.session_memory.trigger import Due, Progress, due

NEWEST = 24
"""Messages kept for a brief; about one page of conversation."""


class Following:
    """The state a running session needs for its notes. The cost per message does not depend on the
    length of the conversation.

    Due notes are checked once per reply: when its usage is known, when a measurement arrives, or,
    where neither comes, when the next message of another speaker shows that the reply has ended.
    """

    def __init__(self, settings: Current, factor: float = 1.0) -> None:
        self._settings = settings
        self.meter = ContextMeter(factor)
        self.ledger = Ledger()
        self.messages = 0
        self.turns = 0
        self.tokens_peak = 0
        self.newest: deque[Message] = deque(maxlen=NEWEST)
        """The newest messages, oldest first."""
        self.safe_message = ""
        """Id of the newest message after which no tool call was open (SM-10)."""
        self._open = OpenCalls()
        self._model: str | None = None
        self._tokens_at_update = 0
        self._calls = 0
        self._reply_calls = 0
        self._in_reply = False
        self._unchecked = False

    @property
    def tokens(self) -> int:
        """Current size of the context."""
        return self.meter.tokens

    @property
    def open_calls(self) -> OpenCalls:
        """Tool calls without a result."""
        return self._open

    def begin(self, head: Head) -> None:
        """Take over what the transcript's head says of the session."""
        self.ledger.cwd = head.cwd or self.ledger.cwd
        self.ledger.title = head.title or self.ledger.title
        self.ledger.branch = head.branch or self.ledger.branch
        if head.model:
            self.meter.factor = family_factor(head.model)

    def take(self, message: Message) -> Due | None:
        """Add one message; the notes may be due before it (the reply that it ends) or after it (its
        usage is known).
        """
        is_model = message.origin is Origin.MODEL
        before = None
        if not is_model and self._in_reply:
            before = self._check() if self._unchecked else None
            self._in_reply = False
        if message.model is not None and message.model != self._model:
            self._model = message.model
            self.meter.factor = family_factor(message.model)
        self._add(message, is_model=is_model)
        if is_model and message.usage is not None:
            return self._check() or before
        return before

    def _add(self, message: Message, *, is_model: bool) -> None:
        self.messages += 1
        self.newest.append(message)
        self.meter.add(message)
        self.tokens_peak = max(self.tokens_peak, self.meter.tokens)
        self.ledger.add(message)
        self._open.add(message)
        if is_model:
            if not self._in_reply:
                self._reply_calls = 0
            self._in_reply = self._unchecked = True
            calls = len(message.tool_uses)
            self._reply_calls += calls
            self._calls += calls
        elif message.origin is Origin.USER and not message.tool_results:
            self.turns += 1
        if not self._open:
            self.safe_message = message.id

    def measured(self, context: int) -> Due | None:
        """The provider's own token count arrived separately from a message."""
        self.meter.measured(context)
        self.tokens_peak = max(self.tokens_peak, self.meter.tokens)
        return self._check()

    def reply_ended(self, usage: Usage) -> Due | None:
        """A live reply is complete. Its usage counts if none of its messages carried it."""
        if not self._unchecked:
            return None
        return self.measured(usage.context) if usage.context else self._check()

    def end_turn(self) -> Due | None:
        """The host reports that the reply had no tool calls."""
        self._reply_calls = 0
        return self._check()

    def _check(self) -> Due | None:
        self._unchecked = False
        return due(self.progress, self._settings())

    @property
    def progress(self) -> Progress:
        """The input of the trigger's decision."""
        return Progress(
            tokens=self.tokens,
            tokens_at_update=self._tokens_at_update,
            calls=self._calls,
            last_turn_called=self._reply_calls > 0,
        )

    def updated(self, tokens: int) -> None:
        """The notes were updated when the context had this size."""
        self._tokens_at_update = max(1, tokens)
        self._calls = 0

    def cleared(self, tokens: int) -> None:
        """In a replay: old results were cleared that the recorded agent's later usage still counts.
        """
        self.meter.free(tokens)

    def history_replaced(self, kept: tuple[Message, ...] = (), *, measured_before: bool = False) -> None:
        """A compaction replaced the history. Growth counts from the new size, since the notes
        covered what was removed.

        With `measured_before`, later usage is that of a recorded agent that did not compact here;
        the freed tokens are subtracted from it.
        """
        before = self.tokens
        self._open.clear()
        self.meter.restart()
        for message in kept:
            self.meter.add(message, measure=False)
        if measured_before:
            self.meter.freed += max(0, before - self.meter.tokens)
        if self._tokens_at_update:
            self._tokens_at_update = max(1, self.meter.tokens)
        self.ledger.boundary(before)
