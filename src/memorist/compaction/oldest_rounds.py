"""The oldest rounds of a conversation, which are dropped when a request is too long: a round is one
model reply and what followed it, up to the next reply; and the user message that a cut history
begins with (CP-7). Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.compaction_result import CompactedHistory, UnchangedHistory
from memorist.core.messages import Message, Origin, TextBlock
from memorist.core.token_count import estimate_message_tokens
from memorist.core.tool_pairs import find_cut_points, starts_reply
from memorist.settings import CompactionSettings

MARKER_ID = "memorist-cut"
"""Id of the message that marks the dropped beginning."""


def find_conversation_rounds(messages: Sequence[Message]) -> tuple[tuple[int, int], ...]:
    """The rounds as (start, end). What precedes the first reply is a round as well; a further
    record of the same reply starts no new one.
    """
    if not messages:
        return ()
    starts = [0]
    newest: Message | None = None
    for index, message in enumerate(messages):
        before = (
            newest if message.reply_id is not None else (messages[index - 1] if index else None)
        )
        if index and starts_reply(message, before):
            starts.append(index)
        if message.role == "assistant":
            newest = message
    return tuple(zip(starts, [*starts[1:], len(messages)], strict=True))


class ShortenedHistory(Struct, frozen=True):
    """A history without its oldest rounds: the messages to send, and their sizes."""

    messages: tuple[Message, ...]
    sizes: tuple[int, ...]


def drop_oldest_rounds(
    messages: Sequence[Message],
    sizes: Sequence[int],
    *,
    excess: int | None,
    marker: str,
    settings: CompactionSettings,
) -> ShortenedHistory | UnchangedHistory:
    """Drop the oldest rounds until `excess` tokens are gone; `compaction.too_long_share` of the
    rounds, at least one, when the excess is unknown.

    At least one round stays. Pairs and replies stay whole. When the rest begins with the assistant,
    a user message with the text `marker` is put first; such a message of an earlier attempt is
    removed before. `UnchangedHistory` when fewer than two rounds can be separated.
    """
    if messages and messages[0].id == MARKER_ID:
        messages, sizes = messages[1:], sizes[1:]
    safe = set(find_cut_points(messages))
    found = find_conversation_rounds(messages)
    starts = [start for start, _ in found if start in safe and start]
    if not starts:
        return UnchangedHistory("The conversation is one round that cannot be divided.")
    start = _find_first_kept(starts, sizes, excess, len(found) * settings.too_long_share)
    kept, kept_sizes = tuple(messages[start:]), tuple(sizes[start:])
    if kept[0].role == "assistant":
        kept, kept_sizes = (build_dropped_beginning_message(marker), *kept), (0, *kept_sizes)
    return ShortenedHistory(kept, kept_sizes)


def _find_first_kept(
    starts: Sequence[int], sizes: Sequence[int], excess: int | None, count: float
) -> int:
    if excess is None:
        # The rounds begin at 0, so that dropping k of them starts at the k-th further start.
        return starts[min(max(1, math.floor(count)), len(starts)) - 1]
    removed_sizes = [0, *accumulate(sizes)]
    return next((start for start in starts if removed_sizes[start] >= excess), starts[-1])


def build_dropped_beginning_message(marker: str) -> Message:
    """The user message put first where the beginning was dropped."""
    return Message(id=MARKER_ID, role="user", blocks=(TextBlock(marker),), origin=Origin.INJECTED)


def ensure_user_first(
    history: CompactedHistory, marker: str, factor: float = 1.0
) -> CompactedHistory:
    """The history with a user message in front that says that the beginning was dropped, where it
    would begin with the assistant.
    """
    if not history.messages or history.messages[0].role != "assistant":
        return history
    lead = build_dropped_beginning_message(marker)
    return replace(
        history,
        messages=(lead, *history.messages),
        tokens_after=history.tokens_after + estimate_message_tokens(lead, factor),
    )
