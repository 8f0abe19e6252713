"""Full compaction: the history that is built from a model's summary (CP-7, CP-16), or from its
hand-over to the next model. Pure.

Sources: Claude Code. The model is asked for an analysis and nine sections;
the sixth, the user's messages, is written here from the transcript, so that a summary can neither
lose nor invent what the user said.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.compaction_prompts import CompactionPrompts
from memorist.compaction.compaction_result import (
    CompactedHistory,
    CompactionResult,
    RemovedItem,
    RestoredRecord,
    UnchangedHistory,
)
from memorist.compaction.measured_conversation import (
    LONG_UTTERANCE_TOKENS,
    MeasuredConversation,
    fit_newest_texts,
    get_typed_text,
    is_typed_text_block,
)
from memorist.compaction.newest_messages import (
    find_unanswered_start,
    join_last_reply,
    keep_last_reply,
    keep_messages_from_index,
    list_removed_or_shortened_messages,
)
from memorist.compaction.restored_content import (
    RESTORED_PREFIX,
    RestorableContent,
    RestoredItem,
    build_restored_items,
)
from memorist.compaction.summary_parser import drop_prompt_text_and_false_quotes
from memorist.core.messages import REINJECTED_ID_PREFIXES, Message, Origin, TextBlock
from memorist.core.prompt_templates import render_template
from memorist.core.token_count import (
    estimate_message_tokens,
    estimate_messages_tokens,
    estimate_text_tokens,
)
from memorist.core.tool_pairs import move_back_to_cut_point
from memorist.core.truncation import split_at_cut
from memorist.settings import CompactionSettings

MODEL_SUMMARY_ID = "memorist-summary"
"""Id of the message that replaces the earlier conversation."""

USER_TEXTS_LIMIT_DIVISOR = 8
"""The user's texts take at most one part in so many of the limit, so that they do not fill a small
window: 20,000 of 167,000 is such a part.
"""

SHORT_USER_TEXTS_LIMIT_DIVISOR = 2
"""The same where short messages alone take more."""

LINE_NUMBER_TOKENS = 2
"""Tokens of the number in front of a message of the user."""

MAX_REMARKS_TOKENS = 200
"""Upper bound of the tokens of the remarks after a summary."""

SHOWN_DROPPED_CHARACTERS = 80
"""Characters of a dropped line that its record shows."""


def is_restored_message(message: Message) -> bool:
    """Whether a message was inserted by an earlier compaction, or beside the conversation, and will
    be rebuilt.
    """
    return message.origin is Origin.INJECTED and (
        message.text.startswith(RESTORED_PREFIX) or message.id.startswith(REINJECTED_ID_PREFIXES)
    )


def render_older_user_texts(
    conversation: MeasuredConversation, shown: int, tokens: int, texts: CompactionPrompts
) -> str:
    """Render the user's messages of the whole session except the newest `shown`, as far as they fit
    `tokens` (see `fit_newest_texts`); empty when there are none.
    """
    older = conversation.user_texts[: max(0, len(conversation.user_texts) - shown)]
    return render_numbered_user_texts(
        fit_newest_texts(older, tokens, conversation.token_factor), texts
    )


def render_numbered_user_texts(chosen: dict[int, str], texts: CompactionPrompts) -> str:
    """Render these messages of the user, by index; empty when there are none."""
    if not chosen:
        return ""
    lines = "\n".join(f"{at + 1}. {text}" for at, text in chosen.items())
    return render_template(texts.said, {"messages": lines}, strict=True)


class SummaryOptions(Struct, frozen=True, kw_only=True):
    """Options and inputs shared by all strategies that write a summary."""

    texts: CompactionPrompts
    settings: CompactionSettings
    limit: int
    """Tokens the new history must stay below: the auto threshold less the fixed prefix (system
    prompt and tools).
    """
    facts: RestorableContent = RestorableContent()
    """Content that can be restored."""
    automatic: bool = True
    """False when the user asked for the compaction; then the model is not told to go on."""
    host_addition: str = ""
    """What a program adds to a model's summary, or to the notes. It is not checked as the summary
    is.
    """


class HistoryReplacement(Struct, frozen=True):
    """What replaces the older conversation: the strategy, its text, and the index of the first
    message kept.
    """

    strategy: str
    text: str
    first_kept_index: int
    kind_word: str = "summary"
    """What the replacement is, in one word."""


def assemble_compacted_history(
    conversation: MeasuredConversation, replaced: HistoryReplacement, options: SummaryOptions
) -> CompactionResult:
    """Build the new history: the summary, the kept messages, the restored items. The boundary is a
    transcript record, not a message.

    What the model has not answered yet is kept whatever the strategy, and cut in the middle only
    where it does not fit; so is the reply before it, within its room. Restored items are dropped,
    last first, where the limit would be exceeded. `UnchangedHistory` when even then the result is
    not below the limit, or not smaller than what it replaces (CP-14).
    """
    texts, factor = options.texts, conversation.token_factor
    unanswered = find_unanswered_start(conversation.messages)
    start = min(replaced.first_kept_index, unanswered)
    if not start:
        return UnchangedHistory(
            "The newest messages, which stay as they are, are the whole conversation."
            if unanswered
            else "There is nothing before what still waits for an answer."
        )
    used_tokens = estimate_text_tokens(replaced.text, factor) + MAX_REMARKS_TOKENS
    room = options.limit - used_tokens - 1
    kept = keep_messages_from_index(conversation.messages, start, sys.maxsize, factor)
    if start == unanswered:
        kept = _fit_unanswered_and_reply(conversation, kept, options, room)
    shown = sum(1 for message in kept if get_typed_text(message))
    wanted = _choose_words_room(conversation, options)
    left = room - estimate_messages_tokens(kept, factor)
    words = render_older_user_texts(conversation, shown, min(wanted, left), texts)
    if start < unanswered and words != render_older_user_texts(conversation, shown, wanted, texts):
        return UnchangedHistory(
            "The messages to keep leave too little room for what the user said before them."
        )
    remarks = [
        remark for remark, due in ((texts.kept, kept), (texts.go_on, options.automatic)) if due
    ]
    summary = _build_summary_message(
        "\n\n".join(piece for piece in (replaced.text, words, "\n".join(remarks)) if piece)
    )
    fixed = estimate_messages_tokens((summary, *kept), factor)
    if fixed >= conversation.tokens:
        return UnchangedHistory("The result would not be smaller than what it replaces.")
    if fixed >= options.limit:
        return UnchangedHistory("The result would fill the window again at once.")
    back = _fit_restored(
        build_restored_items(options.facts, kept, options.settings, texts, factor),
        min(options.limit, conversation.tokens) - fixed,
    )
    again = tuple(each.message for each in back)
    # What the model has not answered yet comes last: it goes on from there, and a result must
    # directly follow its call.
    is_working = unanswered < len(conversation.messages)
    restored = [each.restored for each in back]
    if words:
        restored.append(
            RestoredRecord("user", "the user's messages", estimate_text_tokens(words, factor))
        )
    return CompactedHistory(
        strategy=replaced.strategy,
        messages=(summary, *again, *kept) if is_working else (summary, *kept, *again),
        tokens_before=conversation.tokens,
        tokens_after=fixed + sum(each.restored.tokens for each in back),
        removed_items=list_removed_or_shortened_messages(
            conversation, kept, f"replaced by the {replaced.kind_word}"
        ),
        restored_records=tuple(restored),
    )


def _fit_unanswered_and_reply(
    conversation: MeasuredConversation,
    unanswered: Sequence[Message],
    options: SummaryOptions,
    room: int,
) -> tuple[Message, ...]:
    """What the model has not answered yet within `room` tokens, with the reply before it."""
    messages, factor = conversation.messages, conversation.token_factor
    kept = tuple(unanswered)
    if estimate_messages_tokens(kept, factor) > room:
        least = room - options.limit // USER_TEXTS_LIMIT_DIVISOR
        start = find_unanswered_start(messages)
        kept = keep_messages_from_index(messages, start, least, factor)
    left = room - estimate_messages_tokens(kept, factor)
    return join_last_reply(messages, kept, _choose_reply_room(conversation, options, left), factor)


def _choose_reply_room(
    conversation: MeasuredConversation, options: SummaryOptions, left: int
) -> int:
    """The tokens for the last reply: half of those that are left, within the least of the newest
    messages that stay beside notes, and no large part of the conversation.
    """
    return min(left // 2, options.settings.keep_minimum_tokens, conversation.tokens // 4)


def _choose_words_room(conversation: MeasuredConversation, options: SummaryOptions) -> int:
    """The tokens for older messages of the user: the usual ones, or more where the short messages
    take more.
    """
    usual = min(options.settings.inline_user_tokens, options.limit // USER_TEXTS_LIMIT_DIVISOR)
    sizes = [estimate_text_tokens(text) + LINE_NUMBER_TOKENS for text in conversation.user_texts]
    short = sum(size for size in sizes if size <= LONG_UTTERANCE_TOKENS + LINE_NUMBER_TOKENS)
    return max(
        usual,
        min(
            int(short * conversation.token_factor), options.limit // SHORT_USER_TEXTS_LIMIT_DIVISOR
        ),
    )


def _build_summary_message(text: str) -> Message:
    return Message(
        id=MODEL_SUMMARY_ID, role="user", blocks=(TextBlock(text),), origin=Origin.SUMMARY
    )


def _fit_restored(back: Sequence[RestoredItem], room: int) -> tuple[RestoredItem, ...]:
    chosen = list(back)
    while chosen and sum(each.restored.tokens for each in chosen) >= room:
        chosen.pop()
    return tuple(chosen)


def replace_history_with_summary(
    conversation: MeasuredConversation, summary: str, options: SummaryOptions
) -> CompactionResult:
    """Rewrite the conversation with a model's summary, as returned by `parse_summary`."""
    clean = drop_prompt_text_and_false_quotes(
        summary, conversation.user_texts, (options.texts.full,)
    )
    if not clean.text:
        return UnchangedHistory("Nothing of the summary could be believed.")
    values = {
        "summary": f"{clean.text}\n\n{options.host_addition}".rstrip(),
        "transcript": render_transcript_path_line(conversation, options.texts),
    }
    text = render_template(options.texts.full_wrapper, values, strict=True)
    return add_dropped_lines_to_result(
        assemble_compacted_history(
            conversation, HistoryReplacement("full", text, len(conversation.messages)), options
        ),
        clean.dropped,
    )


def add_dropped_lines_to_result(
    outcome: CompactionResult, lines: Sequence[str]
) -> CompactionResult:
    """The result with a record of each line that the summary check dropped."""
    if isinstance(outcome, UnchangedHistory) or not lines:
        return outcome
    why = "neither the user's words nor a fact"
    dropped = (
        RemovedItem(
            MODEL_SUMMARY_ID,
            estimate_text_tokens(line),
            f"{why}: {line[:SHOWN_DROPPED_CHARACTERS]}",
        )
        for line in lines
    )
    return replace(outcome, removed_items=(*outcome.removed_items, *dropped))


def render_transcript_path_line(
    conversation: MeasuredConversation, texts: CompactionPrompts
) -> str:
    """A line with the path of the full transcript; empty where there is none."""
    if conversation.transcript:
        return "\n" + render_template(
            texts.transcript, {"path": conversation.transcript}, strict=True
        )
    return ""


OWN_ID_PREFIX = "memorist"
"""Id prefix of messages that a compaction inserted."""


def restore_items_skipped_by_strategy(
    result: CompactionResult, options: SummaryOptions, factor: float
) -> CompactionResult:
    """The result with what the strategy itself did not restore, as far as there is room: the
    invoked skills; and behind an extractive summary, which has task list and files of its own, the
    plan, background work and announcements.
    """
    if not isinstance(result, CompactedHistory) or result.strategy in {"full", "micro"}:
        return result
    facts = options.facts
    missing = (
        replace(facts, files=(), tasks="")
        if result.strategy == "structural"
        else RestorableContent(skills=facts.skills)
    )
    room = min(options.limit, result.tokens_before) - result.tokens_after - 1
    backs: list[RestoredItem] = []
    for back in build_restored_items(
        missing, result.messages, options.settings, options.texts, factor
    ):
        room -= back.restored.tokens
        if room < 0:
            break
        backs.append(back)
    if not backs:
        return result
    # A hand-over stays last (CP-11).
    head = (
        0
        if result.strategy == "inline"
        else next(
            (
                at
                for at, message in enumerate(result.messages)
                if not message.id.startswith(OWN_ID_PREFIX)
            ),
            len(result.messages),
        )
    )
    return replace(
        result,
        messages=(
            *result.messages[:head],
            *(back.message for back in backs),
            *result.messages[head:],
        ),
        tokens_after=result.tokens_after + sum(back.restored.tokens for back in backs),
        restored_records=(*result.restored_records, *(back.restored for back in backs)),
    )


# Inline compaction: the user's newest messages, followed by a hand-over as a user message and by
# what the model has not answered yet (CP-11, CP-12).

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
    shown = {get_typed_text(message) for message in conversation.messages}
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
    reply = keep_last_reply(
        messages, _choose_reply_room(conversation, options, limit - fixed - 1), factor
    )
    fixed += estimate_messages_tokens(reply, factor)
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
            messages=(*users, *working, *reply, hand_over, *kept[len(working) :]),
            tokens_before=conversation.tokens,
            tokens_after=after,
            removed_items=list_removed_or_shortened_messages(
                conversation, (*users, *reply, *kept), "replaced by the hand-over"
            ),
            restored_records=tuple(
                RestoredRecord("user", message.id, estimate_message_tokens(message, factor))
                for message in users
            ),
        ),
        clean.dropped,
    )
