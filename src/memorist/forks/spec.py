"""What a fork is asked to do, what it may do, and the receipt that it leaves. Values only."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from msgspec import Struct, structs

from memorist.core.messages import JsonObject, Usage
from memorist.ports import Request


class EditOnly(Struct, frozen=True, tag="edit_only"):
    """Only an edit of one exact file; nothing else, not even reading. For notes and living documents."""

    path: Path


class FolderAccess(Struct, frozen=True, kw_only=True, tag="folder_access"):
    """Read, search, a read-only shell, and (with `write`) edits and new files inside one folder. For memory upkeep."""

    folder: Path
    write: bool = True
    read_anywhere: bool = True
    """False boxes reading into the folder too; the shell is then denied, since the paths that a command reads are not judged."""


class NoTools(Struct, frozen=True, tag="no_tools"):
    """Every call is denied: the fork is asked for text only (a summary)."""


CACHED_PART = 10
"""Tokens read from the cache for each one that is counted: providers bill a read at a tenth of input (models/prices.toml)."""


def counted_tokens(usage: Usage) -> int:
    """The tokens that limits and caps count: input and output in full, what was read from the cache for a tenth."""
    return usage.input + usage.cache_write + usage.output + usage.cache_read // CACHED_PART


Permission = EditOnly | FolderAccess | NoTools


class EditWay(StrEnum):
    """How the fork changes files."""

    AUTO = "auto"
    """`TOOLS` where the parent's tools can edit, else `TEXT`."""
    TOOLS = "tools"
    """Through the file tools that the parent's request already offers."""
    TEXT = "text"
    """In the answer's text, as `<edit>` and `<write>` elements."""
    JSON = "json"
    """In the answer's text, as one JSON object; for small models, whose tool calls and tags often do not parse (parts.md)."""
    ANSWER = "answer"
    """Not at all: the answer's text is what is wanted."""


class ParentCall(Struct, frozen=True):
    """The parent's last request and the reply to it, in the parent's wire format. Neither is ever changed."""

    request: Request
    reply: JsonObject | None = None


class ForkLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a fork is stopped, whatever it still wants to do."""

    turns: int = 5
    """Answers of the model. Reads in one, edits in the next, mends after: five is what memory extraction allows (claude-code.md 8)."""
    requests: int = 8
    """Requests sent, retries included: five turns and a few retries of an overloaded provider."""
    tokens: int = 200_000
    """Input and output, of what was read from the cache a tenth: one cold start on a full window of 200,000 tokens, and no second."""
    cost_usd: float = 1.0
    """US dollars, where the price is known: a cold start on 200,000 tokens and a long answer at 3.75 and 15 dollars a million."""
    seconds: float = 120.0
    """Wall time: background work that takes longer than two minutes is stale when it ends."""
    repeats: int = 3
    """Equal calls with equal results, in different turns: the third proves that the model is going round in a circle."""
    output: int = 16_000
    """Output tokens asked for where the request is a new one (digest): full notes of 12,000 tokens and room around them. A request that
    extends the parent's keeps the parent's own limit, since a change of it can void the cache.
    """


class ForkSpec(Struct, frozen=True, kw_only=True):
    """One run of a fork."""

    label: str
    """What it is for, in one word: `session_memory`, `extraction` … One run at a time per label."""
    why: str
    """What set it off, for the person who reads the receipt."""
    instruction: str
    """The task, as the last user message."""
    permission: Permission
    parent: ParentCall | None = None
    digest: str | None = None
    """What another model than the parent's is shown instead of the full history (FK-7)."""
    limits: ForkLimits = ForkLimits()
    edits: EditWay = EditWay.AUTO
    given: tuple[Path, ...] = ()
    """Files whose present text the instruction holds: they count as read."""
    one_round: bool = False
    """Stop after the first turn in which every call succeeded and a file changed, without asking the model whether it is done: a request
    less.
    """
    asked: bool = False
    """A person asked for it and waits: it is counted like all work, and capped only by its own limits."""
    schema: JsonObject | None = None
    """JSON schema of the answer, where the request is a new one and the way is `ANSWER`."""


class Outcome(StrEnum):
    """How a run ended. `changed` and `unchanged` are read from the files' bytes, never from what the model says."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    OVER_LIMIT = "over_limit"
    LOOPED = "looped"
    CANCELLED = "cancelled"
    REPLACED = "replaced"
    """It never ran: a newer call with the same label took its place in the queue."""
    BLOCKED = "blocked"
    """It never ran: a cap on background work was reached, or the provider wants no requests now (SG-1)."""


class FileChange(Struct, frozen=True):
    """A file that holds other bytes after the run than before. Sizes in bytes; `before` is None for a new file, `after` for one that is
    gone.
    """

    path: str
    before: int | None
    after: int | None


class Sent(Struct, frozen=True, kw_only=True):
    """One request of a fork to its model, and what came of it."""

    started: float
    """Seconds since the epoch, UTC."""
    seconds: float
    attempts: int = 1
    """Requests that were sent for one answer, retries included; 1 where no answer came."""
    usage: Usage = Usage()
    cost_usd: float | None = None
    """None when a price is not known, or no answer came."""
    stop_reason: str = ""
    """As the provider names it; empty where it says none."""
    error: str = ""
    """The kind of error (`ModelRefused`, `TimeoutError`, `CancelledError` …); empty when an answer came."""


class Receipt(Struct, frozen=True, kw_only=True):
    """What a fork did and what it cost."""

    label: str
    why: str
    model: str
    started: float
    """Seconds since the epoch, UTC."""
    seconds: float = 0.0
    requests: int = 0
    """Requests sent, retries included."""
    turns: int = 0
    usage: Usage = Usage()
    cost_usd: float | None = 0.0
    """None when a price is not known."""
    files: tuple[FileChange, ...] = ()
    denied: tuple[str, ...] = ()
    """The reason of each denied call, in order."""
    outcome: Outcome
    said: str = ""
    """The last answer's text; or, where the run did not end by itself, why it stopped."""
    sent: tuple[Sent, ...] = ()
    """Its requests, in order."""


def unrun_receipt(
    label: str, why: str, *, model: str, now: float, outcome: Outcome = Outcome.REPLACED, said: str = "It did not run."
) -> Receipt:
    """The receipt of a call that never ran (FK-8), and in `said` the reason. `now` in seconds since the epoch."""
    return Receipt(label=label, why=why, model=model, started=now, outcome=outcome, said=said)


def untaken(receipt: Receipt, why: str = "") -> Receipt:
    """The receipt of a fork that worked on a copy, of which nothing was taken: it changed nothing (FK-8). `why` stands in the place of its last words."""
    outcome = Outcome.UNCHANGED if receipt.outcome is Outcome.CHANGED else receipt.outcome
    return structs.replace(receipt, outcome=outcome, files=(), said=why or receipt.said)
