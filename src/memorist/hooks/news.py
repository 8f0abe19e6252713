"""What of a recorded session has not been taken in yet. Pure.

A session is read again and again while its agent writes it. A message is told by its id; what stands between messages counts as new when a new message
follows it, so that nothing is taken twice, whichever process read before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct

from memorist.core.messages import Message
from memorist.formats.recorded import Boundary, Head, Measured, RolledBack, Skip, WorldRecord

Followed = Message | Boundary | RolledBack | WorldRecord | Measured


class News(Struct, frozen=True, kw_only=True):
    """What is new in a reading."""

    head: Head | None
    fresh: tuple[Followed, ...]
    """To be taken in, in order."""
    live: tuple[str, ...]
    """Ids of all messages of the conversation as it stands in the reading."""
    skipped: int
    """Lines that could not be used."""
    whole: bool
    """Whether the reading began at the start of the file."""


def news(entries: Iterable[object], known: Collection[str], *, whole: bool = True) -> News:
    """Sort out a reading; `known` are the ids of the messages that were taken in before."""
    head: Head | None = None
    fresh: list[Followed] = []
    between: list[Followed] = []
    live: list[str] = []
    skipped = 0
    for entry in entries:
        match entry:
            case Message(id=id):
                live.append(id)
                if id not in known:
                    fresh += [*between, entry]
                between = []
            case Boundary() | RolledBack() | WorldRecord() | Measured():
                between.append(entry)
            case Head():
                head = head or entry
            case Skip():
                skipped += 1
            case _:
                pass
    return News(head=head, fresh=tuple(fresh), live=tuple(live), skipped=skipped, whole=whole)
