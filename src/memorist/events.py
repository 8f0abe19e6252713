"""What happened in a session, as typed values. The engine writes each as one line of
`events.jsonl`; a host may subscribe as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct, field

UpdateMethod = Literal["structural", "model"]
"""How notes were made: from the transcript's structure, or by a model."""


class SessionOpened(Struct, frozen=True, tag="session_opened"):
    """A session began, or was resumed with `messages` messages already in its transcript."""

    session: str
    format: str
    resumed: bool
    messages: int


class NotesUpdated(Struct, frozen=True, tag="notes_updated"):
    """Session memory was updated."""

    message: str
    """Id of the newest message the notes cover."""
    line: int
    """Its line in the recorded file, 0 outside a replay."""
    tokens: int
    """Size of the context at that time."""
    why: str
    way: UpdateMethod
    notes_tokens: int
    repairs: tuple[str, ...] = ()


class NotesFailed(Struct, frozen=True, tag="notes_failed"):
    """A model could not update the notes; the event that follows says what replaced its work."""

    why: str
    outcome: str


class ForkFinished(Struct, frozen=True, tag="fork_ran"):
    """A fork ended; its receipt is in the database under this number."""

    receipt: int
    label: str
    outcome: str
    requests: int
    cost_usd: float | None


class HistoryReplaced(Struct, frozen=True, tag="history_replaced"):
    """The conversation was compacted or rewritten by the host."""

    trigger: str
    tokens_before: int
    tokens_after: int
    line: int = 0


class TurnsRolledBack(Struct, frozen=True, tag="turns_rolled_back"):
    """The user rolled turns back."""

    turns: int
    messages: int
    line: int = 0


class FileRead(Struct, frozen=True, tag="file_read"):
    """The host reported that a file was read into the conversation."""

    path: str


class ConversationCompacted(Struct, frozen=True, tag="conversation_compacted"):
    """memorist compacted the conversation."""

    strategy: str
    trigger: str
    """`auto`, `manual`, or `too_long` after a provider refused."""
    tokens_before: int
    tokens_after: int
    cut: int
    """Messages or results that are no longer shown in full."""
    restored: int
    seconds: float = 0.0
    """Duration, including the model call; 0 for what the provider did by itself."""


class CompactionFailed(Struct, frozen=True, tag="compaction_failed"):
    """A compaction was due or requested but not carried out; the conversation is unchanged."""

    strategy: str
    why: str


class ResultsStored(Struct, frozen=True, tag="results_stored"):
    """Large tool results were written to disk; each can be fetched by its id."""

    ids: tuple[str, ...]
    tokens: int


class CacheBroke(Struct, frozen=True, tag="cache_broke"):
    """The provider's cache served much less than at the call before, and why."""

    cause: str
    what: str
    """One clause for the user."""
    tokens: int
    """How many are no longer read from the cache."""


class WindowLearned(Struct, frozen=True, tag="window_learned"):
    """A model's server showed a smaller window than was assumed; compaction follows it from now
    on.
    """

    model: str
    window: int
    """In tokens."""
    why: str
    """`refused`: a request was too long; `cut`: the server read less than was sent."""


class MemoryChanged(Struct, frozen=True, tag="memory_changed"):
    """Memories were written or deleted. `change` is the id in the folder's history."""

    change: str
    actor: str
    what: str
    paths: tuple[str, ...]


class TeamSynced(Struct, frozen=True, kw_only=True, tag="team_synced"):
    """A team's memories were synchronised with its remote.

    `received` are names received (or deleted here), `sent` names uploaded (or deleted there),
    `conflict_copies` names kept as a second copy next to a conflicting one, `waiting` names that
    were not accepted.
    """

    remote: str
    received: tuple[str, ...] = field(default=(), name="taken")
    sent: tuple[str, ...] = ()
    conflict_copies: tuple[str, ...] = field(default=(), name="beside")
    waiting: tuple[str, ...] = ()
    seconds: float = 0.0
    """Duration."""


class TeamFailed(Struct, frozen=True, tag="team_failed"):
    """A team's remote could not be used. `stopped` when this session does not try again."""

    error: str
    stopped: bool


class MemoryNeedsReview(Struct, frozen=True, tag="memory_waits"):
    """A memory change is doubtful, or the policy is `review`: it waits in the inbox for the
    user.
    """

    proposal: str
    path: str
    reasons: tuple[str, ...]
    text: str = ""
    """What it would remember or forget, in one line."""
    is_removal: bool = False
    """Whether it would forget it."""


class ProposalRejected(Struct, frozen=True, tag="proposal_rejected"):
    """The user threw a waiting change away."""

    proposal: str
    path: str
    text: str
    """What it would have remembered or forgotten, in one line."""


class ForgetTargetNotFound(Struct, frozen=True, tag="memory_not_found"):
    """The user asked to forget something, and no memory was found that is certainly or probably
    meant.
    """

    asked: str
    """What is to be forgotten, in the user's words; empty where they took back what they had just
    said.
    """
    is_unclear: bool = False
    """Whether it may be meant all the same: a memory has one of these words, or they ask to forget
    in a way that is not understood for certain.
    """
    path: str = ""
    """The only memory that has these words; empty where none or several have."""


class MemoryRefused(Struct, frozen=True, tag="memory_refused"):
    """Something was not stored as a memory, and why."""

    path: str
    reasons: tuple[str, ...]


class MemoryRecalled(Struct, frozen=True, tag="memory_recalled"):
    """Memories were found: they are shown with this request, those that a model chose with the
    next one.
    """

    paths: tuple[str, ...]
    tokens: int
    why: str
    """`index` at the start of a session and after a compaction, otherwise how they were found."""
    seconds: float = 0.0
    """Time taken to find and choose them."""


class ExtractionFailed(Struct, frozen=True, tag="extraction_failed"):
    """A model could not extract memories; the cursor is not moved, so the next run reads the same
    messages again.
    """

    why: str
    outcome: str


class MagicDocFound(Struct, frozen=True, tag="magic_doc_found"):
    """A Magic Doc was read and is tracked from now on."""

    path: str
    title: str


class MagicDocUpdated(Struct, frozen=True, tag="magic_doc_updated"):
    """A Magic Doc was updated. Sizes in bytes."""

    path: str
    title: str
    before: int
    after: int


class MagicDocNotUpdated(Struct, frozen=True, tag="magic_doc_left"):
    """A Magic Doc was not changed, and why; an empty path stands for all of them."""

    path: str
    reasons: tuple[str, ...]


class MagicDocForgotten(Struct, frozen=True, tag="magic_doc_forgotten"):
    """A Magic Doc was deleted or lost its header, and is no longer tracked."""

    path: str
    why: str


class DreamFinished(Struct, frozen=True, tag="dreamed"):
    """Memory was consolidated in the background."""

    change: str
    """Id in the folder's history; empty when nothing was written."""
    way: UpdateMethod
    what: str
    waiting: int
    """Questions that it added to the inbox."""
    seconds: float = 0.0
    """Duration, including the model call."""


class DreamFailed(Struct, frozen=True, tag="dream_failed"):
    """A consolidation did not finish; the time of the last one is unchanged, and so is everything
    it had not yet written.
    """

    why: str


class AdapterFailed(Struct, frozen=True, tag="adapter_failed"):
    """memorist failed at a point where an adapter calls it, and the host continued without it.

    Only the listener receives it, because no session may be open to record it.
    """

    session: str
    point: str
    error: str


class ExtensionFailed(Struct, frozen=True, tag="extension_failed"):
    """An extension raised; it is switched off for the rest of the session."""

    extension: str
    """Name of its class."""
    why: str


class SessionClosed(Struct, frozen=True, tag="session_closed"):
    """The session ended, with everything written."""

    messages: int
    tokens: int


Event = (
    SessionOpened
    | NotesUpdated
    | NotesFailed
    | ForkFinished
    | HistoryReplaced
    | TurnsRolledBack
    | FileRead
    | ConversationCompacted
    | CompactionFailed
    | ResultsStored
    | CacheBroke
    | WindowLearned
    | MemoryChanged
    | MemoryNeedsReview
    | ProposalRejected
    | ForgetTargetNotFound
    | MemoryRefused
    | TeamSynced
    | TeamFailed
    | MemoryRecalled
    | ExtractionFailed
    | MagicDocFound
    | MagicDocUpdated
    | MagicDocNotUpdated
    | MagicDocForgotten
    | DreamFinished
    | DreamFailed
    | AdapterFailed
    | ExtensionFailed
    | SessionClosed
)

EventListener = Callable[[Event], None]
"""Receives every event after it was written. Must not block."""


class EventLogEntry(Struct, frozen=True):
    """An event with its time (seconds since the epoch, UTC), as stored in the event log."""

    at: float
    event: Event
