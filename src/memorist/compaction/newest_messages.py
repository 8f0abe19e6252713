"""The messages that stay as they are when a conversation is compacted: the newest round whatever
else is removed, the user's last request, and older messages while they fit a share. Pure.

The newest round is what the model has not answered yet: a request of the user, or the newest reply
with the results of its calls.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.compaction_result import CompactedHistory, RemovedItem
from memorist.compaction.measured_conversation import CUT_MARK_TOKENS, MeasuredConversation
from memorist.compaction.window_at_message import render_call, render_call_input
from memorist.core.media_size import iterate_base64_media_in_json
from memorist.core.messages import (
    MISSING_OUTPUT,
    Block,
    ContentPart,
    DocumentBlock,
    ImageBlock,
    Message,
    Origin,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    map_block_content,
)
from memorist.core.plural import pluralize
from memorist.core.token_count import (
    estimate_block_tokens,
    estimate_message_tokens,
    estimate_messages_tokens,
    estimate_text_tokens,
)
from memorist.core.tool_pairs import find_cut_points, move_back_to_cut_point
from memorist.core.truncation import render_way_back, truncate_middle
from memorist.formats.host_markup import strip_host_markup

ROUND_SHARE = 0.6
"""Share of the budget to which the newest round is cut where it does not fit whole; the rest of the
budget is then for what came before it.
"""

MIN_PAST_TOKENS = 4_000
"""Where the rest of the budget is larger than this, the newest round is cut to all beyond it."""

TAIL_SHARE = 0.2
"""Share of the budget up to which messages before the newest round are kept as they are."""

TEXTS_SHARE = 0.25
"""Share of the room of the newest messages that pictures and calls leave to texts."""

MAX_CALLS_SHARE = 0.25
"""Share of the room that the calls of a round take where the oldest of them are left out."""

MAX_CALL_INPUT_TOKENS = 200
"""Most tokens of the input of a call that is written out as text."""

MIN_SUMMARY_TOKENS = 60
MIN_PAST_ROOM_DIVISOR = 16
"""The newest round always leaves so many tokens, or one part in so many of the room, up to
`MIN_PAST_TOKENS`, for what came before it: a conversation does not forget all of it for one result.
"""

_MIN_TEXT_TOKENS = 40
"""Tokens of what is left of a text, from which its id is named beside the cut."""

_LEAST_TEXT_TOKENS = CUT_MARK_TOKENS + 2
"""Tokens below which no text is cut."""

_THOUGHTS = (ThinkingBlock, RedactedThinkingBlock)

_SPEAKERS = ("user", "assistant")
"""Roles of the messages whose texts may be cut."""


class KeptMessages(Struct, frozen=True):
    """The messages that stay: the last request, and the messages from some index on."""

    messages: tuple[Message, ...]
    tokens: int


def choose_messages_to_keep_verbatim(
    messages: Sequence[Message], sizes: Sequence[int], budget: int, factor: float, *, tail: int = 0
) -> KeptMessages:
    """The messages that stay within the budget: the last request and what is not answered yet
    whole, if the budget allows it, whatever that leaves for the rest. Only calls that wait for
    their results can be larger than it. The messages before stay within `tail` tokens, at least
    within their share; and so does the last reply, cut in the middle.
    """
    starts = find_cut_points(messages)
    first = find_unanswered_start(messages)
    room = budget - compute_tokens_left_for_older_messages(budget)
    request = _find_last_request(messages)
    most = room - (0 if request is None else estimate_message_tokens(request, factor))
    older = find_start_of_fitting_tail(
        sizes, starts, max(min(tail, most), int(budget * TAIL_SHARE))
    )
    reply = find_reply_start(messages, first)
    whole = convert_unpaired_calls_to_text(_precede_by_request(messages, min(reply, older)))
    if estimate_messages_tokens(whole, factor) <= room:
        return KeptMessages(whole, estimate_messages_tokens(whole, factor))
    kept = _fit_newest_round(_precede_by_request(messages, first), budget, factor)
    if estimate_messages_tokens(kept, factor) > budget and len(messages) in starts:
        kept = () if request is None else _fit_newest_round((request,), budget, factor)
    room = int((budget - estimate_messages_tokens(kept, factor)) * ROUND_SHARE)
    kept = join_last_reply(messages, kept, room, factor)
    return KeptMessages(kept, estimate_messages_tokens(kept, factor))


def compute_tokens_left_for_older_messages(room: int) -> int:
    """Tokens that are left for what came before the newest round, of a room of so many."""
    return min(MIN_PAST_TOKENS, max(MIN_SUMMARY_TOKENS, room // MIN_PAST_ROOM_DIVISOR))


def raise_limit_to_keep_older_messages(
    messages: Sequence[Message], limit: int, spare: int, factor: float
) -> int:
    """The limit of a result, in tokens: where what the model has not answered yet fits it, but not
    beside the least that is left for the past, more by that least, if it is in the `spare` tokens
    above the limit.
    """
    size = estimate_messages_tokens(
        keep_messages_from_index(messages, find_unanswered_start(messages), sys.maxsize, factor),
        factor,
    )
    needed = size + compute_tokens_left_for_older_messages(limit + spare) + 1
    return needed if size <= limit < needed <= limit + spare else limit


def find_reply_start(messages: Sequence[Message], end: int) -> int:
    """Index of the first message of the reply that stands right before index `end`, where it called
    nothing: what the user says next may point at it ("go on", "do step 3"). `end` where there is
    none.
    """
    at = end
    while at and (
        is_client_notice(messages[at - 1])
        or (messages[at - 1].role == "user" and messages[at - 1].origin is Origin.INJECTED)
    ):
        at -= 1
    if not at or messages[at - 1].role != "assistant" or messages[at - 1].tool_uses:
        return end
    return find_newest_round(messages[:at])


def keep_last_reply(messages: Sequence[Message], room: int, factor: float) -> tuple[Message, ...]:
    """The reply before what the model has not answered yet, cut in the middle to `room` tokens."""
    end = find_unanswered_start(messages)
    reply = tuple(messages[find_reply_start(messages, end) : end])
    if estimate_messages_tokens(reply, factor) <= room:
        return reply
    return _cut_reply(reply, int(room / factor))


def join_last_reply(
    messages: Sequence[Message], kept: Sequence[Message], room: int, factor: float
) -> tuple[Message, ...]:
    """The unanswered messages that are kept, with the last reply within `room` tokens: behind the
    request where that is all it followed, else in front of what the user said next.
    """
    reply = keep_last_reply(messages, room, factor)
    is_last = find_unanswered_start(messages) == len(messages)
    return (*kept, *reply) if is_last else (*reply, *kept)


def _cut_reply(reply: Sequence[Message], room: int) -> tuple[Message, ...]:
    """The words of a reply within `room` tokens, the longest texts cut in the middle; nothing of it
    where that is too little.
    """
    said = [
        replace(message, blocks=words, wire=None)
        for message in reply
        if message.role == "assistant"
        and (words := tuple(block for block in message.blocks if isinstance(block, TextBlock)))
    ]
    sizes = [estimate_text_tokens(text) + 1 for message in said for text in _list_texts(message)]
    most = find_per_item_limit_to_fit(sizes, room) - 1
    if most < min(_MIN_TEXT_TOKENS, max(sizes, default=0)):
        return ()
    return tuple(_cut_message(message, most) for message in said)


def _precede_by_request(messages: Sequence[Message], start: int) -> tuple[Message, ...]:
    """The messages from an index on, with the user's last request in front where they hold none."""
    kept = tuple(messages[start:])
    request = None if any(map(is_user_request, kept)) else _find_last_request(messages[:start])
    return kept if request is None else (request, *kept)


def _fit_newest_round(kept: Sequence[Message], budget: int, factor: float) -> tuple[Message, ...]:
    """The newest round within its part of the budget; where that is too little, within all of it
    but the least that a summary takes.
    """
    for limit in (
        max(int(budget * ROUND_SHARE), budget - MIN_PAST_TOKENS),
        budget - MIN_SUMMARY_TOKENS,
    ):
        shortened = convert_unpaired_calls_to_text(
            shrink_messages_to_fit(kept, int((limit - len(kept)) / factor))
        )
        if estimate_messages_tokens(shortened, factor) <= limit:
            break
    return shortened


def find_newest_round(messages: Sequence[Message]) -> int:
    """Index of the first message of the newest round. What the model said and thought right before
    its calls belongs to them, also where each item is a message, as in Responses.
    """
    end = len(messages)
    start = max((start for start in find_cut_points(messages) if start < end), default=0)
    while start and _continues_reply(messages[start - 1], messages[start]):
        start -= 1
    return start


def _continues_reply(former: Message, message: Message) -> bool:
    """Whether both are parts of one reply, without a result between them."""
    return former.role == message.role == "assistant" and not former.tool_uses


def find_unanswered_start(messages: Sequence[Message]) -> int:
    """Index of the first message that the model has not answered yet: user messages at the end, or
    a reply with the results of its calls; the number of messages where the last reply is final.
    """
    end = len(messages)
    while end and is_client_notice(messages[end - 1]):
        end -= 1
    if not end or (messages[end - 1].role == "assistant" and not messages[end - 1].tool_uses):
        return move_back_to_cut_point(messages, len(messages))
    start = find_newest_round(messages[:end])
    typed = end
    while typed and any(
        is_of_kind(messages[typed - 1])
        for is_of_kind in (is_user_request, _is_attachment, is_client_notice)
    ):
        typed -= 1
    return move_back_to_cut_point(messages, min(start, typed))


def keep_messages_from_index(
    messages: Sequence[Message], start: int, room: int, factor: float
) -> tuple[Message, ...]:
    """What a compaction keeps from index `start` on, with the user's last request in front where
    the model is still at work on it. What does not fit `room` tokens is cut in the middle.
    """
    kept = tuple(messages[start:])
    if kept and find_unanswered_start(messages) < len(messages):
        kept = _precede_by_request(messages, start)
    if estimate_messages_tokens(kept, factor) > room:
        kept = shrink_messages_to_fit(kept, int(max(0, room) / factor))
    return convert_unpaired_calls_to_text(kept)


def list_removed_or_shortened_messages(
    conversation: MeasuredConversation, kept: Sequence[Message], why: str
) -> tuple[RemovedItem, ...]:
    """What of the conversation is no longer shown in full beside the `kept` messages, with the
    tokens that frees; `why` is the reason given for those that are gone.
    """
    shown = {message.id: message for message in kept}
    removed: list[RemovedItem] = []
    for message, size in zip(conversation.messages, conversation.sizes, strict=True):
        now = shown.get(message.id)
        if now is None:
            removed.append(RemovedItem(message.id, size, why))
        elif now is not message:
            freed = size - estimate_message_tokens(now, conversation.token_factor)
            removed.append(RemovedItem(message.id, freed, "shortened in the middle"))
    return tuple(removed)


def is_user_request(message: Message) -> bool:
    """Whether the user typed text in this message."""
    return message.role == "user" and any(
        isinstance(block, TextBlock)
        and (block.origin or message.origin) is Origin.USER
        and bool(strip_host_markup(block.text).strip())
        for block in message.blocks
    )


def is_client_notice(message: Message) -> bool:
    """Whether the client wrote this in the model's place, as after a failed call."""
    return message.role == "assistant" and message.origin is Origin.INJECTED


def _is_attachment(message: Message) -> bool:
    """Whether the user sent pictures or documents in this message."""
    return (
        message.role == "user"
        and message.origin is Origin.USER
        and not message.tool_results
        and holds_media(message)
    )


def _find_last_request(messages: Sequence[Message]) -> Message | None:
    return next((message for message in reversed(messages) if is_user_request(message)), None)


def find_per_item_limit_to_fit(sizes: Sequence[int], room: int) -> int:
    """The largest limit at which all sizes, each cut to it, fit the room together: small ones stay
    whole, and the large ones share the rest.
    """
    left = room
    for done, size in enumerate(sorted(sizes)):
        limit = left // (len(sizes) - done)
        if size > limit:
            return max(0, limit)
        left -= size
    return max(sizes, default=0)


def shrink_messages_to_fit(kept: Sequence[Message], room: int) -> tuple[Message, ...]:
    """The messages with their longest texts, of results and of requests, cut in the middle, so that
    all fit where possible.

    Where that is not enough, as many pictures as must go leave a mark each, the oldest first; and
    then the longest calls are written out as text, cut in the middle: so the model still sees that
    it made them. Then goes what was thought, and with it the form of the calls that it precedes,
    which a provider refuses without it. Of calls that are too many for all this, the oldest go
    first, with their results.
    """
    texts = sum(estimate_text_tokens(text) for message in kept for text in _list_texts(message))
    media_room = room - min(texts, int(room * TEXTS_SHARE))
    whole = _mark_oldest_media(kept, _estimate_fixed(kept) - media_room)
    kept = _write_out_or_leave_out(whole, room)
    if _estimate_least(kept) > room:
        newest = _leave_out_oldest_calls(whole, int(room * MAX_CALLS_SHARE))
        kept = _write_out_or_leave_out(newest, room)
    sizes = [estimate_text_tokens(text) for message in kept for text in _list_texts(message)]
    fixed = _estimate_fixed(kept)
    most = max(_LEAST_TEXT_TOKENS, find_per_item_limit_to_fit(sizes, room - fixed - len(sizes)))
    return tuple(_cut_message(message, most) for message in kept)


def _mark_oldest_media(kept: Sequence[Message], over: int) -> tuple[Message, ...]:
    """The messages with marks in place of as many pictures and documents as take `over` tokens, the
    oldest first.
    """
    left = over
    found: list[Message] = []
    for message in kept:
        blocks: list[Block] = []
        for block in message.blocks:
            marked = (
                map_block_content(block, message.id, replace_media_part_by_placeholder)
                if left > 0
                else block
            )
            left -= estimate_block_tokens(block) - estimate_block_tokens(marked)
            blocks.append(marked)
        whole = tuple(blocks)
        found.append(
            message if whole == message.blocks else replace(message, blocks=whole, wire=None)
        )
    return tuple(found)


def _write_out_or_leave_out(kept: tuple[Message, ...], room: int) -> tuple[Message, ...]:
    """The messages with their longest calls written out and, where that is too little, without what
    was thought.
    """
    if (over := _estimate_fixed(kept) - room) > 0:
        kept = _write_out_longest_calls(kept, over + int(room * TEXTS_SHARE))
    has_thoughts = any(isinstance(block, _THOUGHTS) for each in kept for block in each.blocks)
    return _leave_out_thinking(kept) if has_thoughts and _estimate_least(kept) > room else kept


def _write_out_longest_calls(kept: Sequence[Message], over: int) -> tuple[Message, ...]:
    """The messages with the longest calls as text, cut in the middle, until `over` tokens are
    saved; their results become text where the messages are paired.
    """
    uses = [(message.id, use) for message in kept for use in message.tool_uses]
    uses.sort(key=lambda each: -estimate_block_tokens(each[1]))
    written: dict[str, TextBlock] = {}
    left = over
    for id, use in uses:
        text = _write_out_call(use, id)
        saved = estimate_block_tokens(use) - estimate_text_tokens(text.text)
        if left <= 0 or saved <= 0:
            break
        written[use.id] = text
        left -= saved
    return _change_blocks(
        kept, lambda block: written.get(block.id, block) if isinstance(block, ToolUse) else block
    )


def _write_out_call(use: ToolUse, id: str) -> TextBlock:
    """A call of the message with this id as text, cut in the middle."""
    given = _cut_text(render_call_input(use), MAX_CALL_INPUT_TOKENS, id)
    return TextBlock(render_call(use, given), Origin.MODEL)


def _leave_out_thinking(kept: Sequence[Message]) -> tuple[Message, ...]:
    """The messages without what was thought, and all calls written out; the same messages where a
    call still waits for its result.
    """
    owners = {use.id: message.id for message in kept for use in message.tool_uses}
    if not owners.keys() <= _list_answered_calls(kept):
        return tuple(kept)

    def change(block: Block) -> Block | None:
        if isinstance(block, ToolUse):
            return _write_out_call(block, owners[block.id])
        return None if isinstance(block, _THOUGHTS) else block

    return _change_blocks(kept, change)


def _leave_out_oldest_calls(kept: Sequence[Message], room: int) -> tuple[Message, ...]:
    """The messages with the newest of their calls that fit `room` tokens, long ones as they are
    written out, and their results; in front of these a text that counts the others.
    """
    answered = _list_answered_calls(kept)
    uses = [use for message in kept for use in message.tool_uses if use.id in answered]
    sizes = [
        min(estimate_block_tokens(use), MAX_CALL_INPUT_TOKENS) + _LEAST_TEXT_TOKENS for use in uses
    ]
    first = find_start_of_fitting_tail(sizes, range(len(uses)), room)
    if not first:
        return tuple(kept)
    left_out = {use.id for use in uses[:first]}
    note = f"[{pluralize(first, 'earlier call')} of this step left out with their results]"
    last_id = uses[first - 1].id

    def change(block: Block) -> Block | None:
        if isinstance(block, ToolUse) and block.id in left_out:
            return TextBlock(note, Origin.INJECTED) if block.id == last_id else None
        if isinstance(block, ToolResult) and block.tool_use_id in left_out:
            return None
        return block

    return _change_blocks(_leave_out_thinking_before(left_out, kept), change)


def _leave_out_thinking_before(left_out: set[str], kept: Sequence[Message]) -> list[Message]:
    """The messages without those that hold what was thought before a call that is left out, but for
    the only one before a call that stays: a provider may refuse that call without it.
    """
    found: list[Message] = []
    is_left_out, has_thought = False, True
    for message in reversed(kept):
        if _is_thought(message):
            if not (is_left_out and has_thought):
                found.append(message)
            has_thought = True
            continue
        found.append(message)
        called = [use.id for use in message.tool_uses]
        is_left_out = bool(called) and left_out.issuperset(called)
        if called and not is_left_out:
            has_thought = any(isinstance(block, _THOUGHTS) for block in message.blocks)
    return found[::-1]


def _is_thought(message: Message) -> bool:
    """Whether a message of the assistant holds nothing but what was thought."""
    return (
        message.role == "assistant"
        and bool(message.blocks)
        and all(isinstance(block, _THOUGHTS) for block in message.blocks)
    )


def _list_answered_calls(messages: Iterable[Message]) -> set[str]:
    return {result.tool_use_id for message in messages for result in message.tool_results}


def _change_blocks(
    kept: Iterable[Message], change: Callable[[Block], Block | None]
) -> tuple[Message, ...]:
    """The messages with their blocks changed, or left out where the change is None; without those
    that are left empty.
    """
    found = []
    for message in kept:
        blocks = tuple(new for block in message.blocks if (new := change(block)) is not None)
        if blocks == message.blocks:
            found.append(message)
        elif blocks:
            found.append(replace(message, blocks=blocks, wire=None))
    return tuple(found)


def _estimate_fixed(kept: Sequence[Message]) -> int:
    """Tokens of what cannot be cut."""
    return estimate_messages_tokens(kept) - sum(
        estimate_text_tokens(text) for message in kept for text in _list_texts(message)
    )


def _estimate_least(kept: Sequence[Message]) -> int:
    """Tokens of the messages with all texts cut as far as they are cut at most."""
    texts = [text for message in kept for text in _list_texts(message)]
    return _estimate_fixed(kept) + sum(
        min(estimate_text_tokens(text) + 1, _LEAST_TEXT_TOKENS) for text in texts
    )


def _list_texts(message: Message) -> list[str]:
    """The texts of a message that may be cut."""
    found = [
        block.text
        for block in message.blocks
        if isinstance(block, TextBlock) and message.role in _SPEAKERS
    ]
    return found + [
        part.text
        for result in message.tool_results
        for part in result.content
        if isinstance(part, TextBlock)
    ]


def _cut_message(message: Message, most: int) -> Message:
    if all(estimate_text_tokens(text) <= most for text in _list_texts(message)):
        return message

    def cut(part: ContentPart, id: str) -> ContentPart:
        if isinstance(part, TextBlock):
            return replace(part, text=_cut_text(part.text, most, id))
        return part

    blocks = tuple(
        block
        if isinstance(block, TextBlock) and message.role not in _SPEAKERS
        else map_block_content(block, message.id, cut)
        for block in message.blocks
    )
    wire = message.wire
    if message.role == "assistant" and wire is not None:
        # What the model said is no longer what its id on the wire stands for.
        wire = replace(wire, extra=None)
    return replace(message, blocks=blocks, wire=wire)


def _cut_text(text: str, most: int, id: str) -> str:
    """The text within `most` tokens, cut in the middle, with its id as the way back: behind the
    cut, since the model may have to go on from the end.
    """
    if estimate_text_tokens(text) <= most:
        return text
    way_back = render_way_back(id)
    room = most - CUT_MARK_TOKENS - estimate_text_tokens(way_back)
    if room < _MIN_TEXT_TOKENS:
        return truncate_middle(text, max(1, most - CUT_MARK_TOKENS))
    return truncate_middle(text, room, way_back=way_back)


def holds_media(message: Message) -> bool:
    """Whether a message or a result in it holds pictures or documents."""
    return replace_media_by_placeholders(message) is not message


def replace_media_by_placeholders(message: Message) -> Message:
    """The message with a mark in place of each picture and document."""
    blocks = tuple(
        map_block_content(block, message.id, replace_media_part_by_placeholder)
        for block in message.blocks
    )
    return message if blocks == message.blocks else replace(message, blocks=blocks, wire=None)


def replace_media_part_by_placeholder(part: ContentPart, id: str) -> ContentPart:
    """The mark in place of a picture or document: its size, and the id by which it is found; any
    other part as it is.
    """
    if not isinstance(part, ImageBlock | DocumentBlock):
        return part
    return TextBlock(f"[{_describe_media_kind([part])} was here: {id}]", Origin.INJECTED)


def describe_media(message: Message) -> str:
    """The pictures and documents beside a message's text, and the id by which they are found; empty
    where it has none.
    """
    found = [
        _describe_media_kind(same)
        for kind in (ImageBlock, DocumentBlock)
        if (same := [each for each in message.blocks if isinstance(each, kind)])
    ]
    return f"{' and '.join(found)}: {message.id}" if found else ""


def _describe_media_kind(parts: Sequence[ImageBlock | DocumentBlock]) -> str:
    """Number and size of pictures, or of documents: a mark for each would take a message's room."""
    kind = "picture" if isinstance(parts[0], ImageBlock) else "document"
    what = f"a {kind}" if len(parts) == 1 else pluralize(len(parts), kind)
    size = sum(map(_measure_media_bytes, parts))
    together = " together" if len(parts) > 1 else ""
    return f"{what} of {size:,} bytes{together}" if size else what


def _measure_media_bytes(part: ImageBlock | DocumentBlock) -> int:
    data = part.source.get("data")
    if isinstance(data, str) and part.source.get("type") == "text":
        return len(data.encode("utf-8", "surrogatepass"))
    found = (
        [data]
        if isinstance(data, str)
        else [each for each, _ in iterate_base64_media_in_json(part.source)]
    )
    return sum(len(each) - each.find(",") - 1 for each in found) * 3 // 4


def convert_unpaired_calls_to_text(kept: Sequence[Message]) -> tuple[Message, ...]:
    """The messages as a provider accepts them: results without a call, and calls that were passed
    over without a result, become text; what was thought before a reply that was broken off goes.
    """
    kept = _leave_out_lone_thinking(kept)
    asked = {use.id for message in kept for use in message.tool_uses}
    answered = _list_answered_calls(kept)
    waiting = {use.id for message in _find_newest_calls(kept) for use in message.tool_uses}
    return tuple(_unpaired_as_text(message, asked, answered | waiting) for message in kept)


def _leave_out_lone_thinking(kept: Sequence[Message]) -> list[Message]:
    """The messages without those that hold nothing but what was thought, and that no reply
    follows.
    """
    found: list[Message] = []
    for message in reversed(kept):
        followed = bool(found) and found[-1].role == "assistant" and not is_client_notice(found[-1])
        if followed or not _is_thought(message):
            found.append(message)
    return found[::-1]


def _find_newest_calls(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages of the calls that were made last, together, which no request of the user
    follows. Some formats have a message for each of them.
    """
    last = max((at for at, message in enumerate(messages) if message.tool_uses), default=-1)
    if last < 0 or any(map(is_user_request, messages[last:])):
        return ()
    first = last
    while first and messages[first - 1].role == "assistant":
        first -= 1
    return messages[first : last + 1]


def close_open_calls_with_errors(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages of a recording that ended in the middle of a call, with a result for each call
    that still waits; the same messages where none does.
    """
    answered = _list_answered_calls(messages)
    waiting = dict.fromkeys(
        use.id
        for message in convert_unpaired_calls_to_text(messages)
        for use in message.tool_uses
        if use.id not in answered
    )
    if not waiting:
        return tuple(messages)
    results = tuple(ToolResult(id, (TextBlock(MISSING_OUTPUT),), is_error=True) for id in waiting)
    closing = Message(id="interrupted", role="tool", blocks=results, origin=Origin.TOOL)
    return (*messages, closing)


def _unpaired_as_text(message: Message, asked: set[str], answered: set[str]) -> Message:
    if all(each.tool_use_id in asked for each in message.tool_results) and all(
        each.id in answered for each in message.tool_uses
    ):
        return message
    blocks = tuple(_unpaired_block(block, asked, answered) for block in message.blocks)
    role = "user" if message.role == "tool" else message.role
    return replace(message, blocks=blocks, role=role, wire=None)


def _unpaired_block(block: Block, asked: set[str], answered: set[str]) -> Block:
    match block:
        case ToolResult(tool_use_id=id) if id not in asked:
            return TextBlock(block.text or "[an empty result]", Origin.TOOL)
        case ToolUse(id=id) if id not in answered:
            return TextBlock(f"[{block.name} was called and gave no result]", Origin.MODEL)
        case _:
            return block


def find_start_of_fitting_tail(sizes: Sequence[int], starts: Sequence[int], budget: int) -> int:
    """The first index in `starts` (ascending) from which all messages fit `budget`; the number of
    messages where there is none.
    """
    size = sum(sizes)
    before = 0
    for start in starts:
        size -= sum(sizes[before:start])
        before = start
        if size <= budget:
            return start
    return len(sizes)


def keep_newest_messages(conversation: MeasuredConversation, budget: int) -> CompactedHistory:
    """The newest messages within `budget` tokens, and in any case what the model has not answered
    yet with the user's last request, cut in the middle only where it is larger.
    """
    messages, factor = conversation.messages, conversation.token_factor
    unanswered = find_unanswered_start(messages)
    request = _find_last_request(messages[:unanswered])
    room = budget - (estimate_message_tokens(request, factor) if request else 0)
    start = find_start_of_fitting_tail(conversation.sizes, find_cut_points(messages), room)
    kept = keep_messages_from_index(messages, min(start, unanswered), budget, factor)
    if start >= unanswered:
        room = budget - estimate_messages_tokens(kept, factor)
        kept = join_last_reply(messages, kept, room, factor)
    return CompactedHistory(
        strategy="tail",
        messages=kept,
        tokens_before=conversation.tokens,
        tokens_after=estimate_messages_tokens(kept, factor),
        removed_items=list_removed_or_shortened_messages(
            conversation, kept, "older than the window"
        ),
    )
