"""The conversation of a recorded session as it was at one of its messages. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from memorist.core.messages import Message
from memorist.errors import InputError
from memorist.formats.recorded import Boundary, Entry, Head


class Recorded(Struct, frozen=True, kw_only=True):
    """What the model was shown at a message, and every message up to it."""

    head: Head | None
    at: str
    """Id of the newest message."""
    messages: tuple[Message, ...]
    """The window: messages since the last compaction, including those it kept."""
    everything: tuple[Message, ...]
    """Every message so far, including those that a compaction removed."""


def recorded_at(entries: Iterable[Entry], at: str = "") -> Recorded:
    """Read up to a message, identified by its id, a prefix of its id, or its number counted from 1;
    to the end when `until` is empty.

    Raises InputError when there is no such message, or none at all.
    """
    head: Head | None = None
    window: list[Message] = []
    everything: list[Message] = []
    for entry in entries:
        match entry:
            case Head():
                head = entry
            case Boundary():
                window = [*entry.replacement, *(window[-entry.kept :] if entry.kept else ())]
            case Message():
                window.append(entry)
                everything.append(entry)
                if at and (at == str(len(everything)) or entry.id.startswith(at)):
                    break
            case _:
                pass
    else:
        if at:
            raise InputError(f"the session has no message {at!r}; give a number from 1 to {len(everything)}, or an id")
    if not everything:
        raise InputError("the session holds no message")
    return Recorded(head=head, at=everything[-1].id, messages=tuple(window), everything=tuple(everything))


def found(everything: Iterable[Message], wanted: str) -> str | None:
    """The full text of a message or of a tool result, by its id (fetch back); None when there is
    none.
    """
    for message in everything:
        if message.id == wanted:
            return "\n".join(part for part in (message.text, *(result.text for result in message.tool_results)) if part)
        for result in message.tool_results:
            if result.tool_use_id == wanted:
                return result.text
    return None
