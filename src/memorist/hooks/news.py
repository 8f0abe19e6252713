"""Find the records of a session file that were not processed yet. Pure.

A session file is read repeatedly while its client writes it. A message is recognised by its id;
entries between two messages count as new when the message that follows them is new, so that nothing
is processed twice, no matter which process read it before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct

from memorist.core.messages import Message
from memorist.formats.recorded import Boundary, Head, Measured, RolledBack, Skip, WorldRecord

Followed = Message | Boundary | RolledBack | WorldRecord | Measured


class News(Struct, frozen=True, kw_only=True):
    """The new part of one reading of a session file."""

    head: Head | None
    fresh: tuple[Followed, ...]
    """New entries, to be processed in order."""
    live: tuple[str, ...]
    """Ids of all messages of the conversation in this reading, old ones included."""
    skipped: int
    """Number of lines that could not be used."""
    whole: bool
    """Whether the reading began at the start of the file."""


def news(entries: Iterable[object], known: Collection[str], *, whole: bool = True) -> News:
    """Select the new entries of a reading; `known_ids` are the ids of messages processed before."""
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
