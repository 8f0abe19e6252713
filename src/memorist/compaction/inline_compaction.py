"""Inline compaction: the user's newest messages, followed by a hand-over as a user message and by
what the model has not answered yet (CP-11, CP-12). Pure.

Source: Codex. Deliberate differences: an empty hand-over is rejected (there an older
reply would be used), and nothing is done while a tool call waits for its result.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from memorist.compaction.compaction_result import (
    CompactedHistory,
    CompactionResult,
    RestoredRecord,
    UnchangedHistory,
)
from memorist.compaction.full_compaction import (
    MAX_REMARKS_TOKENS,
    SummaryOptions,
    add_dropped_lines_to_result,
    render_numbered_user_texts,
)
from memorist.compaction.measured_conversation import (
    MeasuredConversation,
    fit_newest_texts,
    get_typed_text,
    is_typed_text_block,
)
from memorist.compaction.newest_messages import (
    WAY_BACK,
    find_unanswered_start,
    keep_messages_from_index,
    list_removed_or_shortened_messages,
)
from memorist.compaction.summary_cleaning import drop_prompt_text_and_false_quotes
from memorist.core.messages import Message, Origin, TextBlock
from memorist.core.token_count import estimate_message_tokens, estimate_messages_tokens
from memorist.core.tool_pairs import move_back_to_cut_point
from memorist.core.truncation import split_at_cut

HAND_OVER_ID = "memorist-hand-over"
"""Id of the hand-over message."""


def keep_newest_user_messages(
    messages: Sequence[Message], tokens: int, *, prefix: str, factor: float = 1.0
) -> tuple[Message, ...]:
    """The user's messages within `tokens`, in order and text only: the newest of the short ones
    first, and then of the long ones. The first that does not fit is cut in the middle.

    Earlier hand-overs, recognized by their origin or by `prefix`, are dropped. A message kept whole
    that is all text is the same object.
    """
    lead = prefix.split("\n", 1)[0]
    own = [
        message
        for message in messages
        if get_typed_text(message) and not get_typed_text(message).startswith(lead)
    ]
    texts = fit_newest_texts([get_typed_text(message) for message in own], tokens, factor)
    return tuple(_replace_message_text(own[at], text) for at, text in texts.items())


def _replace_message_text(message: Message, text: str) -> Message:
    if all(
        is_typed_text_block(block, message) for block in message.blocks
    ) and text == get_typed_text(message):
        return message
    wire = None if message.wire is None else replace(message.wire, plain=False)
    return replace(message, blocks=(TextBlock(text),), origin=Origin.USER, wire=wire)


def _find_earlier_texts(conversation: MeasuredConversation) -> list[str]:
    """What the user typed that no message holds any more, because a digest has replaced it."""
    shown = {get_typed_text(message).split(WAY_BACK)[0] for message in conversation.messages}
    cut = [parts for text in shown if (parts := split_at_cut(text)) is not None]
    return [
        text
        for text in conversation.user_texts
        if text not in shown
        and not any(text.startswith(head) and text.endswith(tail) for head, tail in cut)
    ]


def compact_with_hand_over(
    conversation: MeasuredConversation, summary: str, options: SummaryOptions
) -> CompactionResult:
    """Rewrite the conversation with a hand-over, `summary` as returned by `parse_summary`. The
    user's messages are shortened where the limit would be exceeded; those that an earlier digest
    replaced are quoted in the hand-over.

    What the model has not answered yet follows the hand-over: a new request is the last thing that
    it reads, and so are the results of its calls.
    """
    texts, limit, messages = options.texts, options.limit, conversation.messages
    if move_back_to_cut_point(messages, len(messages)) < len(messages):
        return UnchangedHistory("A tool call still waits for its result.")
    clean = drop_prompt_text_and_false_quotes(summary, conversation.user_texts, (texts.inline,))
    if not clean.text:
        return UnchangedHistory("Nothing of the hand-over could be believed.")
    text = f"{texts.inline_prefix}\n{clean.text}\n\n{options.host_addition}".rstrip()
    hand_over = Message(
        id=HAND_OVER_ID, role="user", blocks=(TextBlock(text),), origin=Origin.SUMMARY
    )
    factor = conversation.token_factor
    start = find_unanswered_start(messages)
    room = limit - estimate_message_tokens(hand_over, factor) - 1
    kept = keep_messages_from_index(messages, start, room, factor)
    fixed = estimate_messages_tokens((hand_over, *kept), factor)
    last = next((message.id for message in kept if get_typed_text(message)), "")
    words_room = min(options.settings.inline_user_tokens, max(0, limit - fixed - 1))
    users = keep_newest_user_messages(
        [message for message in messages[:start] if message.id != last],
        words_room,
        prefix=texts.inline_prefix,
        factor=factor,
    )
    words_room -= estimate_messages_tokens(users, factor) + MAX_REMARKS_TOKENS
    earlier = _find_earlier_texts(conversation)
    if said := render_numbered_user_texts(fit_newest_texts(earlier, words_room, factor), texts):
        fixed -= estimate_message_tokens(hand_over, factor)
        hand_over = replace(hand_over, blocks=(TextBlock(f"{text}\n\n{said}"),))
        fixed += estimate_message_tokens(hand_over, factor)
    working = (
        kept[:1] if kept and kept[0].id == last and start and messages[start].id != last else ()
    )
    after = fixed + estimate_messages_tokens(users, factor)
    if after >= conversation.tokens:
        return UnchangedHistory("The result would not be smaller than what it replaces.")
    if after >= limit:
        return UnchangedHistory("The result would fill the window again at once.")
    return add_dropped_lines_to_result(
        CompactedHistory(
            strategy="inline",
            messages=(*users, *working, hand_over, *kept[len(working) :]),
            tokens_before=conversation.tokens,
            tokens_after=after,
            removed_items=list_removed_or_shortened_messages(
                conversation, (*users, *kept), "replaced by the hand-over"
            ),
            restored_records=tuple(
                RestoredRecord("user", message.id, estimate_message_tokens(message, factor))
                for message in users
            ),
        ),
        clean.dropped,
    )
