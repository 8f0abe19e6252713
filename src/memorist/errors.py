"""Every exception memorist raises on purpose, as one tree sorted by what the caller can do.

    MemoristError                  catch this to catch all of ours
    ├── UsageError                 the call is wrong: correct it (exit status 2)
    │   ├── SettingsError          a setting is unknown or has a bad value
    │   └── ModelNameError         the model string cannot be understood, or its extra is not installed
    ├── InputError                 a file or value from outside cannot be used: give another
    │   ├── UnreadableSession      no recorded session in that file
    │   └── FormatError            a request or reply is not of the format it claims
    ├── StoreError                 the disk or the database refused: free space, mend permissions, try again
    │   ├── WriteConflict          the file changed since it was read: read it again
    │   └── DamagedIndex           the index of recall cannot be read: sync again, which makes it anew
    ├── ModelError                 a model call failed; nothing of ours changed
    │   ├── ModelUnavailable       it failed after all retries (rate limit, overload, connection): try later
    │   │   └── BudgetSpent        nothing was sent: the caps on spending or a provider's limits allow it another time
    │   ├── ModelTimeout           the time limit passed
    │   ├── ModelRefused           the provider will not take this request: correct it
    │   └── ContextTooLong         the request is larger than the model's window: send less
    ├── RemoteError                where a team keeps its memories could not be used; nothing here is lost
    │   ├── RemoteUnavailable      it cannot be reached or is overloaded: try later
    │   ├── RemoteMoved            somebody changed the same there meanwhile: pull, and try again
    │   └── RemoteRefused          it does not take this: correct it
    │       └── RemoteWentBack     it shows an older state than before: a person decides
    └── NothingToDo                what was asked has no object: an empty conversation, no notes

Outcomes that are part of normal work (a denied tool call, a skipped line, a fork that changed nothing) are values, not exceptions.
Each message is one sentence for the person who reads it, and says what to do.
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
    """Something given from outside cannot be used."""


class UnreadableSession(InputError):
    """The file holds no recorded session that memorist can read."""


class FormatError(InputError):
    """A request or reply is not of the wire format it claims to be."""


class StoreError(MemoristError):
    """The disk or the database refused to read or write."""


class WriteConflict(StoreError):
    """The file is no longer as it was when it was read; nothing was written."""


class DamagedIndex(StoreError):
    """The index of recall is no sound database any more; nothing is lost, since it is made from what it indexes."""


class ModelError(MemoristError):
    """A model call failed."""


class ModelUnavailable(ModelError):
    """The model could not be reached, or kept refusing for a while, until the retries were used up."""


class BudgetSpent(ModelUnavailable):
    """Nothing was sent: the caps on spending, or the limits that a provider named, do not allow it now."""


class ModelTimeout(ModelError):
    """The call took longer than its time limit."""


class ModelRefused(ModelError):
    """The provider does not take this request (bad key, bad parameter); repeating it does not help."""


class ContextTooLong(ModelError):
    """The request does not fit the model's context window."""


class RemoteError(MemoristError):
    """The place where a team keeps its memories could not be used."""


class RemoteUnavailable(RemoteError):
    """It cannot be reached, or kept refusing for a while, until the retries were used up."""


class RemoteMoved(RemoteError):
    """Somebody changed the same memory there meanwhile; nothing was written."""


class RemoteRefused(RemoteError):
    """It does not take or give this; repeating it does not help."""


class RemoteWentBack(RemoteRefused):
    """It shows an older state than it had shown before: an old copy was put in its place, or its answers are not its own."""


class NothingToDo(MemoristError):
    """The thing asked for has no object: an empty conversation, a session without notes."""
