"""The conversation of a recorded session as it was at one of its messages. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from memorist.core.messages import Message, ToolUse
from memorist.errors import InputError
from memorist.formats.transcript_format import CompactionBoundary, SessionHead, TranscriptEntry


class RecordedWindow(Struct, frozen=True, kw_only=True):
    """What the model was shown at a message, and every message up to it."""

    head: SessionHead | None
    last_message: str
    """Id of the newest message."""
    messages: tuple[Message, ...]
    """The window: messages since the last compaction, including those it kept."""
    all_messages: tuple[Message, ...]
    """Every message so far, including those that a compaction removed."""


MAX_NUMBER_DIGITS = 6
"""Digits up to which a number is that of a message, and no beginning of an id: ids begin with
digits too.
"""


def rebuild_recorded_window(entries: Iterable[TranscriptEntry], until: str = "") -> RecordedWindow:
    """Read up to a message, identified by its number counted from 1, its id, or a prefix of its id;
    to the end when `until` is empty.

    Raises InputError when there is no such message, or none at all.
    """
    head: SessionHead | None = None
    window: list[Message] = []
    everything: list[Message] = []
    number = int(until) if until.isdecimal() and len(until) <= MAX_NUMBER_DIGITS else None
    for entry in entries:
        match entry:
            case SessionHead():
                head = entry
            case CompactionBoundary():
                window = [*entry.replacement, *(window[-entry.kept :] if entry.kept else ())]
            case Message():
                window.append(entry)
                everything.append(entry)
                if number == len(everything) or (
                    until and number is None and entry.id.startswith(until)
                ):
                    break
            case _:
                pass
    else:
        if until:
            raise InputError(
                f"the session has no message {until!r}; give a number from 1 to "
                f"{len(everything)}, or an id"
            )
    if not everything:
        raise InputError("the session holds no message")
    return RecordedWindow(
        head=head,
        last_message=everything[-1].id,
        messages=tuple(window),
        all_messages=tuple(everything),
    )


def find_text_by_id(messages: Iterable[Message], id: str) -> str | None:
    """The full text of a message, its calls with their inputs included, or of a tool result, by its
    id (fetch back); None when there is none.
    """
    for message in messages:
        if message.id == id:
            return "\n".join(
                part
                for part in (
                    message.text,
                    *(render_call(use, render_call_input(use)) for use in message.tool_uses),
                    *(result.text for result in message.tool_results),
                )
                if part
            )
        for result in message.tool_results:
            if result.tool_use_id == id:
                return result.text
    return None


def render_call_input(use: ToolUse) -> str:
    """What a tool was called with, as text."""
    return use.arguments or "\n".join(f"{key}: {value}" for key, value in use.input.items())


def render_call(use: ToolUse, given: str) -> str:
    """A call as text: its tool, and what it was given."""
    return f"[{use.name} was called with:]\n{given}"
