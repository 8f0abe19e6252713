"""The exceptions that memorist raises on purpose, as one tree sorted by what the caller can do.

    MemoristError                  catch this to catch every one
    ├── UsageError                 the call is wrong: correct it (exit status 2)
    │   ├── SettingsError          a setting is unknown or has a bad value
    │   └── ModelNameError         the model string is invalid, or its extra is not installed
    ├── InputError                 a file or value from outside cannot be used: give another
    │   ├── UnreadableSession      no recorded session in that file
    │   └── WireFormatError            a request or reply is not of the format it claims
    ├── StoreError                 the disk or the database failed: free space, permissions; retry
    │   ├── WriteConflict          the file changed since it was read: read it again
    │   ├── SessionInUse           another writer has the session open: close it there
    │   └── DamagedIndex           the recall index cannot be read: sync again, which rebuilds it
    ├── ModelError                 a model call failed; no data of memorist changed
    │   ├── ModelUnavailable       it failed after all retries (rate limit, overload): try later
    │   │   └── BudgetSpent        nothing was sent: a spending cap or rate limit forbids it now
    │   ├── ModelTimeout           the time limit passed
    │   ├── ModelRequestRejected           the provider rejects this request: correct it
    │   └── ContextTooLong         the request exceeds the context window: send less
    ├── RemoteError                a team's remote could not be used; nothing local is lost
    │   ├── RemoteUnavailable      it cannot be reached or is overloaded: try later
    │   ├── RemoteChanged          another writer changed the same memory: pull, and retry
    │   └── RemoteRefused          it rejects this: correct it
    │       └── RemoteRolledBack   it shows an older state than before: the user decides
    └── NothingToDo                nothing to work on: an empty conversation, no notes

Outcomes of normal work (a denied tool call, a skipped line, a fork that changed nothing) are
values, not exceptions. Each message is one sentence for the user and says what to do.
"""

from __future__ import annotations


class MemoristError(Exception):
    """Base of the tree. Never raised itself."""


class UsageError(MemoristError):
    """The call is wrong; correcting it helps, repeating it does not."""


class SettingsError(UsageError):
    """A setting is unknown or has a value out of its range."""


class ModelNameError(UsageError):
    """A model string cannot be understood, or what it needs is not installed."""


class InputError(MemoristError):
    """Something passed in from outside cannot be used."""


class UnreadableSession(InputError):
    """The file holds no recorded session that memorist can read."""


class WireFormatError(InputError):
    """A request or reply is not of the wire format it claims to be."""


class StoreError(MemoristError):
    """The disk or the database refused to read or write."""


class WriteConflict(StoreError):
    """The file changed since it was read; nothing was written."""


class SessionInUse(StoreError):
    """Another writer, in another process or in this one, has the session open; it has one at a
    time.

    `releases_lease` says that it lets go of the session when it is asked, which was just done:
    opening it again soon works.
    """

    def __init__(self, message: str, *, releases_lease: bool = False) -> None:
        super().__init__(message)
        self.releases_lease = releases_lease


class DamagedIndex(StoreError):
    """The recall index is no valid database any more; nothing is lost, because it is rebuilt from
    the files it indexes.
    """


class ModelError(MemoristError):
    """A model call failed."""

    attempts = 1
    """Requests that it took."""
    broken_off = 0
    """Of these, the ones that the provider broke off while it answered: it bills what it read."""


class ModelUnavailable(ModelError):
    """The model could not be reached, or kept failing, until the retries were used up."""


class BudgetSpent(ModelUnavailable):
    """Nothing was sent: the spending caps, or limits that a provider reported, do not allow it
    now.
    """


class ModelTimeout(ModelError):
    """The call took longer than its time limit."""


class ModelRequestRejected(ModelError):
    """The provider rejects this request (bad key, bad parameter); repeating it does not help."""


class ContextTooLong(ModelError):
    """The request does not fit the model's context window.

    `tokens` is the size of the request and `window` that of the model, where the provider says
    them; None otherwise.
    """

    def __init__(
        self, message: str, *, tokens: int | None = None, window: int | None = None
    ) -> None:
        super().__init__(message)
        self.tokens = tokens
        self.window = window


class RemoteError(MemoristError):
    """The remote that holds a team's memories could not be used."""


class RemoteUnavailable(RemoteError):
    """The remote cannot be reached, or kept failing, until the retries were used up."""


class RemoteChanged(RemoteError):
    """Another writer changed the same memory on the remote meanwhile; nothing was written."""


class RemoteRefused(RemoteError):
    """The remote rejects this; repeating it does not help."""


class RemoteRolledBack(RemoteRefused):
    """The remote shows an older state than before: an old copy was restored, or its answers are not
    its own.
    """


class NothingToDo(MemoristError):
    """The operation has no object: an empty conversation, a session without notes."""
