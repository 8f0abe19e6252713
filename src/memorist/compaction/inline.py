"""Inline compaction: the user's newest messages, followed by a hand-over as the last user message
(CP-11, CP-12). Pure.

Source: codex.md section 2.4. Deliberate differences: an empty hand-over is rejected (there an older
reply would be used), and nothing is done while a tool call waits for its result.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.full import RewriteOptions, record_dropped_lines
from memorist.compaction.history import (
    CompactedHistory,
    CompactionResult,
    MeasuredConversation,
    RemovedItem,
    RestoredRecord,
    UnchangedHistory,
    fit_newest_texts,
    is_user_block,
    user_text,
)
from memorist.compaction.summary import check_summary
from memorist.core.messages import Message, Origin, TextBlock, align_to_cut_point
from memorist.core.tokens import estimate_message_tokens

HAND_OVER_ID = "memorist-hand-over"
"""Id of the hand-over message."""


def retain_user_messages(
    messages: Sequence[Message], tokens: int, *, prefix: str, factor: float = 1.0
) -> tuple[Message, ...]:
    """The user's messages, newest first within `tokens`, in order and text only. The first that
    does not fit is cut in the middle.

    Earlier hand-overs, recognized by their origin or by `prefix`, are dropped. A message kept whole
    that is all text is the same object.
    """
    lead = prefix.split("\n", 1)[0]
    own = [
        message
        for message in messages
        if user_text(message) and not user_text(message).startswith(lead)
    ]
    texts = fit_newest_texts([user_text(message) for message in own], tokens, factor)
    return tuple(
        _replace_message_text(message, text)
        for message, text in zip(own[len(own) - len(texts) :], texts, strict=True)
    )


def _replace_message_text(message: Message, text: str) -> Message:
    if all(is_user_block(block, message) for block in message.blocks) and text == user_text(
        message
    ):
        return message
    wire = None if message.wire is None else replace(message.wire, plain=False)
    return replace(message, blocks=(TextBlock(text),), origin=Origin.USER, wire=wire)


class HandOver(Struct, frozen=True, kw_only=True):
    """What the previous model wrote, and the context to insert where the turn goes on."""

    summary: str
    """As returned by `parse_summary`."""
    initial: Sequence[Message] = ()
    """The full initial context, in the middle of a turn only; otherwise it comes with the next
    turn.
    """


def compact_inline(
    conversation: MeasuredConversation, hand_over: HandOver, options: RewriteOptions
) -> CompactionResult:
    """Rewrite the conversation with a hand-over. The user's messages are shortened where the limit
    would be exceeded.

    In the middle of a turn the initial context is inserted before the last user message, else
    before the hand-over.
    """
    texts, limit = options.texts, options.limit
    if align_to_cut_point(conversation.messages, len(conversation.messages)) < len(
        conversation.messages
    ):
        return UnchangedHistory("A tool call still waits for its result.")
    clean = check_summary(hand_over.summary, conversation.user_texts, (texts.inline,))
    if not clean.text:
        return UnchangedHistory("Nothing of the hand-over could be believed.")
    last = Message(
        id=HAND_OVER_ID,
        role="user",
        blocks=(TextBlock(f"{texts.inline_prefix}\n{clean.text}"),),
        origin=Origin.SUMMARY,
    )
    initial = tuple(hand_over.initial)
    fixed = sum(
        estimate_message_tokens(message, conversation.factor) for message in (*initial, last)
    )
    users = retain_user_messages(
        conversation.messages,
        min(options.settings.inline_user_tokens, max(0, limit - fixed - 1)),
        prefix=texts.inline_prefix,
        factor=conversation.factor,
    )
    made = (*users[:-1], *initial, *users[-1:], last)
    after = fixed + sum(estimate_message_tokens(message, conversation.factor) for message in users)
    if after >= conversation.tokens:
        return UnchangedHistory("The result would not be smaller than what it replaces.")
    if after >= limit:
        return UnchangedHistory("The result would fill the window again at once.")
    ids = {message.id for message in users}
    made_so = CompactedHistory(
        strategy="inline",
        messages=made,
        tokens_before=conversation.tokens,
        tokens_after=after,
        cut=tuple(
            RemovedItem(message.id, size, "replaced by the hand-over")
            for message, size in zip(conversation.messages, conversation.sizes, strict=True)
            if message.id not in ids
        ),
        restored=tuple(
            RestoredRecord(
                "user", message.id, estimate_message_tokens(message, conversation.factor)
            )
            for message in users
        ),
    )
    return record_dropped_lines(made_so, clean.dropped)
