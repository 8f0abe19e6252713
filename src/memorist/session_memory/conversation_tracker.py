"""Tracking a conversation message by message, and reporting when its notes are due. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable

from msgspec import Struct

from memorist.core.messages import Message, Origin, Usage
from memorist.core.token_count import ContextMeter, TokenCounter
from memorist.core.tool_pairs import OpenToolCalls
from memorist.formats.transcript_format import SessionHead
from memorist.safety.redacted_json import redact_message
from memorist.settings import SessionMemorySettings, SessionMemorySettingsSource
from memorist.transcript_analysis.transcript_ledger import TranscriptLedger

# Decide when the notes are due (SM-2, SM-3).


class ActivitySinceNotesUpdate(Struct, frozen=True, kw_only=True):
    """What happened since the last update."""

    tokens: int
    """Current size of the context."""
    tokens_at_update: int
    """Size of the context at the last update; 0 when there was none."""
    calls: int
    """Tool calls since the last update."""
    last_turn_called: bool
    """The newest reply holds tool calls: the turn goes on."""


class NotesDue(Struct, frozen=True):
    """An update is due, and why, in one clause for the user."""

    why: str
    tokens: int


def check_notes_due(
    progress: ActivitySinceNotesUpdate, settings: SessionMemorySettings
) -> NotesDue | None:
    """Whether the notes are due now.

    The context must have reached the start size and must have grown since the last update; then
    either enough tool calls or a reply without tool calls (a natural break) is required. Growth is
    the difference of two context sizes, not the sum of billed tokens.
    """
    first = progress.tokens_at_update == 0
    if first and progress.tokens < settings.start_tokens:
        return None
    growth = progress.tokens - progress.tokens_at_update
    if growth < settings.growth_tokens:
        return None
    if progress.calls < settings.tool_calls and progress.last_turn_called:
        return None
    reason = f"{progress.calls} tool calls" if progress.last_turn_called else "a natural break"
    size = (
        f"the context reached {progress.tokens:,} tokens"
        if first
        else f"the context grew by {growth:,} tokens"
    )
    return NotesDue(why=f"{size}, with {reason}", tokens=progress.tokens)


NEWEST_MESSAGES = 24
"""Messages kept for a brief; about one page of conversation."""


class ConversationTracker:
    """The state a running session needs for its notes. The cost per message does not depend on the
    length of the conversation.

    Due notes are checked once per reply: when its usage is known, when a measurement arrives, or,
    where neither comes, when the next message of another speaker shows that the reply has ended.
    """

    def __init__(
        self, settings: SessionMemorySettingsSource, count_tokens: TokenCounter | None = None
    ) -> None:
        self._settings = settings
        self.meter = ContextMeter(count_tokens=count_tokens)
        self.ledger = TranscriptLedger()
        self.messages = 0
        self.turns = 0
        self.peak_tokens = 0
        self.newest_messages: deque[Message] = deque(maxlen=NEWEST_MESSAGES)
        """The newest messages, oldest first."""
        self.last_complete_message = ""
        """Id of the newest message after which no tool call was open (SM-10)."""
        self._open = OpenToolCalls()
        self._model: str | None = None
        self._tokens_at_update = 0
        self._calls = 0
        self._reply_calls = 0
        self._in_reply = False
        self._check_pending = False
        self._due: NotesDue | None = None

    @property
    def tokens(self) -> int:
        """Current size of the context."""
        return self.meter.tokens

    @property
    def open_calls(self) -> OpenToolCalls:
        """Tool calls without a result."""
        return self._open

    def on_transcript_head(self, head: SessionHead) -> None:
        """Take over what the transcript's head says of the session."""
        self.ledger.cwd = head.cwd or self.ledger.cwd
        self.ledger.title = head.title or self.ledger.title
        self.ledger.branch = head.branch or self.ledger.branch
        if head.model:
            self.meter.set_model(head.model)

    def on_message(self, message: Message) -> None:
        """Add one message; the notes may be due before it (the reply that it ends) or after it (its
        usage is known).
        """
        is_model = message.origin is Origin.MODEL
        if not is_model and self._in_reply:
            if self._check_pending:
                self._check_due()
            self._in_reply = False
        if message.model is not None and message.model != self._model:
            self._model = message.model
            self.meter.set_model(message.model)
        self._count_message(message, is_model=is_model)
        if is_model and message.usage is not None:
            self._check_due()

    def _count_message(self, message: Message, *, is_model: bool) -> None:
        self.messages += 1
        self.newest_messages.append(message)
        self.meter.add(message)
        self.peak_tokens = max(self.peak_tokens, self.meter.tokens)
        self.ledger.add(redact_message(message))
        self._open.add(message)
        if is_model:
            if not self._in_reply:
                self._reply_calls = 0
            self._in_reply = self._check_pending = True
            calls = len(message.tool_uses)
            self._reply_calls += calls
            self._calls += calls
        elif message.origin is Origin.USER and not message.tool_results:
            self.turns += 1
        if not self._open:
            self.last_complete_message = message.id

    def record_context_measurement(
        self, context: int, *, output: int = 0, reasoning: int = 0
    ) -> None:
        """The provider's own token count arrived separately from a message."""
        self.meter.record_measurement(context, output=output, reasoning=reasoning)
        self.peak_tokens = max(self.peak_tokens, self.meter.tokens)
        self._check_due()

    def on_reply_end(self, usage: Usage) -> None:
        """A live reply is complete. Its usage counts if none of its messages carried it."""
        if self._check_pending and usage.context_tokens:
            self.record_context_measurement(
                usage.context_tokens, output=usage.output, reasoning=usage.reasoning
            )
        elif self._check_pending:
            self._check_due()

    def on_turn_end(self) -> None:
        """The host reports that the reply had no tool calls."""
        self._reply_calls = 0
        self._check_due()

    def _check_due(self) -> None:
        self._check_pending = False
        self._due = check_notes_due(self.progress, self._settings()) or self._due

    def take_due_notes_update(self) -> NotesDue | None:
        """The update of the notes that became due since the last call; None where none did."""
        due, self._due = self._due, None
        return due

    @property
    def progress(self) -> ActivitySinceNotesUpdate:
        """The input of the trigger's decision."""
        return ActivitySinceNotesUpdate(
            tokens=self.tokens,
            tokens_at_update=self._tokens_at_update,
            calls=self._calls,
            last_turn_called=self._reply_calls > 0,
        )

    def on_notes_updated(self, tokens: int) -> None:
        """The notes were updated when the context had this size."""
        self._tokens_at_update = max(1, tokens)
        self._calls = 0
        self._due = None

    def on_results_cleared(self, tokens: int) -> None:
        """In a replay: old results were cleared that the recorded agent's later usage still
        counts.
        """
        self.meter.subtract_removed_tokens(tokens)

    def on_results_stored(self, tokens: int) -> None:
        """Results of the newest messages went to disk before any request showed them."""
        self.meter.uncount_unsent_tokens(tokens)

    def recount_tokens(self, messages: Iterable[Message]) -> None:
        """Count the context anew: the model is shown these messages, not those tracked so far."""
        self.meter.reset_to_fixed_prefix()
        for message in messages:
            self.meter.add(message, measure=False)

    def on_rollback(self, removed: Collection[Message]) -> None:
        """The user rolled back the newest turns, with these messages."""
        dropped = {message.id for message in removed}
        left = [message for message in self.newest_messages if message.id not in dropped]
        self.newest_messages = deque(left, maxlen=NEWEST_MESSAGES)
        self.ledger.on_rollback(removed)

    def on_history_replaced(
        self, kept: tuple[Message, ...] = (), *, measured_before: bool = False
    ) -> None:
        """A compaction replaced the history. Growth counts from the new size, since the notes
        covered what was removed.

        With `measured_before`, later usage is that of a recorded agent that did not compact here;
        the freed tokens are subtracted from it.
        """
        before = self.tokens
        self._open.clear()
        self.recount_tokens(kept)
        if measured_before:
            self.meter.subtracted += max(0, before - self.meter.tokens)
        if self._tokens_at_update:
            self._tokens_at_update = max(1, self.meter.tokens)
        self.ledger.on_compaction()
