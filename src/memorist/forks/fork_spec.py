"""What a fork is asked to do, what it may do, and the receipt that it leaves. Values only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from msgspec import Struct, structs

from memorist.core.messages import JsonObject, Usage
from memorist.forks.answer_form import FormTask
from memorist.ports import Request


class SingleFileEdit(Struct, frozen=True, tag="edit_only"):
    """Only edits of one file; nothing else, not even reading. For notes and Magic Docs."""

    path: Path


class FolderAccess(Struct, frozen=True, kw_only=True, tag="folder_access"):
    """Read, search, a read-only shell, and edits and new files inside one folder. For memory
    maintenance.
    """

    folder: Path
    may_read_anywhere: bool = True
    """False restricts reading to the folder too; the shell is then denied, because the paths that a
    command reads are not checked.
    """


class NoToolsPermission(Struct, frozen=True, tag="no_tools"):
    """Every tool call is denied: the fork is asked for text only (a summary)."""


CACHE_READ_DISCOUNT = 10
"""Tokens read from the cache per counted token: providers bill a cache read at a tenth of input
(models/prices.toml).
"""


def count_budget_tokens(usage: Usage) -> int:
    """The tokens that limits and caps count: input, cache writes and output in full, a tenth of the
    cache reads.
    """
    return usage.input + usage.cache_write + usage.output + usage.cache_read // CACHE_READ_DISCOUNT


ForkPermission = SingleFileEdit | FolderAccess | NoToolsPermission


class EditMethod(StrEnum):
    """How a fork changes files."""

    AUTO = "auto"
    """`FORM` where there is one; else `TOOLS` when the parent's tools can edit files, otherwise
    `TEXT`.
    """
    TOOLS = "tools"
    """Through the file tools that the parent's request already offers."""
    TEXT = "text"
    """In the text of the reply, as `<edit>` and `<write>` elements."""
    FORM = "form"
    """As one JSON object, which a program turns into edits (`FormTask`)."""
    ANSWER = "answer"
    """No edits: the text of the reply is the result."""


class ParentCall(Struct, frozen=True):
    """The parent's last request and the reply to it, in the parent's wire format. Neither is ever
    changed.
    """

    request: Request
    reply: JsonObject | None = None


class ForkLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits at which a fork is stopped, whether or not it is done."""

    turns: int = 5
    """Replies of the model. Reads in one, edits in the next, corrections after: five is what memory
    extraction allows.
    """
    requests: int = 8
    """Requests sent, retries included: five turns and a few retries of an overloaded provider."""
    tokens: int = 200_000
    """Input and output tokens, plus a tenth of the cache reads: one cold start on a full window of
    200,000 tokens, and no second.
    """
    cost_usd: float = 1.0
    """US dollars, when the price is known: a cold start on 200,000 tokens and a long reply at 3.75
    and 15 dollars per million.
    """
    seconds: float = 120.0
    """Wall time: background work that takes longer than two minutes is out of date when it ends."""
    repeats: int = 3
    """Equal calls with equal results in different turns: the third shows that the model is in a
    loop.
    """
    output: int = 16_000
    """Output tokens requested when the request is a new one (not the parent's): full notes of
    12,000 tokens with room to spare. A request that extends the parent's has the parent's limit
    where that is larger, and in Messages and Responses at most 4,096 where it is smaller.
    """


BRIEF_HEAD = "What is known of the conversation so far, taken from its transcript by a program:"
NEWEST_HEAD = "The newest messages:"
"""Lines of ours in `ForkSpec.history_summary`."""


class ForkSpec(Struct, frozen=True, kw_only=True):
    """One run of a fork."""

    label: str
    """Its purpose in one word: `session_memory`, `extraction` … One run at a time per label."""
    why: str
    """What triggered it, for the user who reads the receipt."""
    instruction: str
    """The task, sent as the last user message."""
    permission: ForkPermission
    parent: ParentCall | None = None
    history_summary: str | None = None
    """What a model other than the parent's is shown instead of the full history (FK-7)."""
    material: str = ""
    """For a job of its own, which continues no conversation: the data that it is about. The task is
    then the system message and this the user's.
    """
    limits: ForkLimits = ForkLimits()
    edit_method: EditMethod = EditMethod.AUTO
    known_files: tuple[Path, ...] = ()
    """Files whose current text the instruction contains: they count as read."""
    one_round: bool = False
    """Stop after the first turn in which every call succeeded and a file changed, without asking
    the model whether it is done; saves a request.
    """
    requested_by_user: bool = False
    """The user requested it and waits: it is counted like all work, but limited only by its own
    limits, not by the caps on background work.
    """
    schema: JsonObject | None = None
    """JSON schema of the answer, for a new request with the method `ANSWER`."""
    form: FormTask | None = None
    """The same task as a form, where the model's server can hold an answer to a schema without
    losing what it has cached of the parent.
    """


class ForkOutcome(StrEnum):
    """How a run ended. `changed` and `unchanged` are determined from the files' bytes, never from
    what the model says.
    """

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    CONFIRMED = "confirmed"
    """It changed nothing, said that nothing is to be changed, and the one that asked agrees."""
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    OVER_LIMIT = "over_limit"
    LOOPED = "looped"
    CANCELLED = "cancelled"
    REPLACED = "replaced"
    """It never ran: a newer task with the same label took its place in the queue."""
    BLOCKED = "blocked"
    """It never ran: a cap on background work was reached, or the provider accepts no requests now
    (SG-1).
    """


class FileSizeChange(Struct, frozen=True):
    """A file with different bytes after the run than before. Sizes in bytes; `before` is None for a
    new file, `after` for a deleted one.
    """

    path: str
    before: int | None
    after: int | None


class ForkRequestMeasurements(Struct, frozen=True, kw_only=True):
    """One request of a fork to its model, with its result."""

    started: float
    """Seconds since the epoch, UTC."""
    seconds: float
    attempts: int = 1
    """Requests sent for one reply, retries included; 1 when no reply came."""
    usage: Usage = Usage()
    """With the input, as estimated, of what was ended or broken off before a reply came."""
    cost_usd: float | None = None
    """None when the price is not known or the request failed."""
    stop_reason: str = ""
    """As the provider names it; empty when it gives none."""
    error: str = ""
    """The type of the error (`ModelRequestRejected`, `TimeoutError`, `CancelledError` …); empty
    when a reply came.
    """
    read_seconds: float | None = None
    """Time for reading the request, as the server tells it; None where it does not."""
    write_seconds: float | None = None
    """Time for writing the reply, likewise."""


def read_llama_timing_seconds(body: JsonObject) -> tuple[float | None, float | None]:
    """The seconds that a server took for reading a request and for writing its reply, from
    llama.cpp's `timings`; None for what a reply does not tell.
    """
    times = body.get("timings")
    found = [times.get(key) if isinstance(times, dict) else None for key in _TIMES]
    read, written = (
        each / 1_000 if isinstance(each, int | float) and each >= 0 else None for each in found
    )
    return read, written


_TIMES = ("prompt_ms", "predicted_ms")


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
    """None when the price is not known."""
    files: tuple[FileSizeChange, ...] = ()
    denied: tuple[str, ...] = ()
    """The reason of each denied call, in order."""
    outcome: ForkOutcome
    said: str = ""
    """Text of the last reply; or, when the run was stopped, the reason."""
    sent: tuple[ForkRequestMeasurements, ...] = ()
    """Its requests, in order."""


def build_skipped_receipt(
    label: str,
    why: str,
    *,
    model: str,
    now: float,
    outcome: ForkOutcome = ForkOutcome.REPLACED,
    reason: str = "It did not run.",
) -> Receipt:
    """The receipt of a fork that never ran (FK-8), with the reason. `now` in seconds since the
    epoch.
    """
    return Receipt(label=label, why=why, model=model, started=now, outcome=outcome, said=reason)


def build_discarded_receipt(receipt: Receipt, why: str = "") -> Receipt:
    """The receipt of a fork whose work on a copy was discarded: it changed nothing (FK-8). `why`,
    when given, replaces the text of its last reply.
    """
    outcome = ForkOutcome.UNCHANGED if receipt.outcome is ForkOutcome.CHANGED else receipt.outcome
    return structs.replace(receipt, outcome=outcome, files=(), said=why or receipt.said)


# Whether a fork may run, and with which limits: the interface through which all background work
# of a home is counted together (SG-1).


ForkStart = Callable[..., Awaitable[Receipt]]
"""`run_fork` for one that was admitted: takes its spec, `model`, `files` and `record`."""

ForkRunner = Callable[..., Awaitable[Receipt]]
"""Decides when an admitted fork starts, alone or together with others; takes what `ForkStart` takes
and `start` itself.
"""


class GrantedForkLimits(Struct, frozen=True):
    """The fork may run within these limits: its own, or less when less of the budget is left."""

    limits: ForkLimits
    runner: ForkRunner | None = None
    """Who runs it; None: it runs by itself."""


class ForkRunDenial(Struct, frozen=True, kw_only=True):
    """The fork may not run now; the caller falls back to its structural method."""

    why: str
    """The reason in one sentence, for the user who reads the receipt."""
    is_new: bool = True
    """Whether this reason was not reported before: only then a receipt is recorded."""


class ForkGovernor(Protocol):
    """Asked before each fork. What a fork used is counted when its receipt is recorded."""

    def request_admission(self, spec: ForkSpec, model: str) -> GrantedForkLimits | ForkRunDenial:
        """Whether this fork may run on the named model. Its maximum use is reserved until its
        receipt is recorded.
        """
        ...


class UnlimitedGovernor:
    """Admits every fork: for a single command that the user waits for."""

    def request_admission(self, spec: ForkSpec, model: str) -> GrantedForkLimits | ForkRunDenial:
        """Grant the fork its own limits."""
        del model
        return GrantedForkLimits(spec.limits)
