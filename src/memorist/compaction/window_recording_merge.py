"""A conversation with what compactions removed from it, made of its record and of what is shown of
it now: an extract of the whole holds more than an extract of an extract. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from memorist.compaction.user_words import EXTRACTIVE_SUMMARY_ID
from memorist.core.messages import Message, Origin, TextBlock


def merge_window_into_recording(
    recorded: Sequence[Message], window: Sequence[Message], *, is_whole: bool
) -> tuple[Message, ...]:
    """The recorded messages, each that is in the window as it is shown there. What is only in the
    window follows the message that it follows there, but for copies of what the user said, which
    Codex shows after a compaction; the digest of a former compaction is left out where all that it
    was made of is recorded (`is_whole`).
    """
    known = {each.id for each in recorded}
    said = {each.text for each in recorded if each.origin is Origin.USER}
    shown = {each.id: each for each in window}
    following: dict[str, list[Message]] = {}
    last = ""
    for each in window:
        if each.id in known:
            last = each.id
        elif not (
            (is_whole and each.id == EXTRACTIVE_SUMMARY_ID)
            or (each.origin is Origin.USER and each.text in said)
        ):
            following.setdefault(last, []).append(each)
    joined = list(following.get("", ()))
    for each in recorded:
        joined += (shown.get(each.id, each), *following.get(each.id, ()))
    return tuple(joined)


def strip_host_content(message: Message) -> Message:
    """The message without what the host put into it."""
    own = tuple(
        block
        for block in message.blocks
        if not isinstance(block, TextBlock)
        or (block.origin or message.origin) is not Origin.INJECTED
    )
    return message if len(own) == len(message.blocks) else replace(message, blocks=own)
