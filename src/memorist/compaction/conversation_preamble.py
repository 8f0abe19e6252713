"""The preamble of a conversation survives every compaction: instructions, permissions, instruction
files, environment. Pure.

A system prompt outside the history is never in danger. One inside the history (Responses, Chat
Completions), and what a host injects into the user's first message, both clients show again after a
compaction (docs/context-compared.md). A host behind memorist keeps sending its history as it was,
so nobody would show it again. Here it stays in its position, so that the provider's cache still
covers it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.compaction_result import CompactionResult, UnchangedHistory
from memorist.compaction.full_compaction import is_restored_message
from memorist.compaction.measured_conversation import CUT_MARK_TOKENS, MeasuredConversation
from memorist.compaction.newest_messages import (
    find_per_item_limit_to_fit,
    find_unanswered_start,
    keep_messages_from_index,
)
from memorist.compaction.oldest_rounds import MARKER_ID
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Block, Message, Origin, TextBlock, ToolResult, UnknownBlock
from memorist.core.token_count import (
    estimate_message_tokens,
    estimate_messages_tokens,
    estimate_text_tokens,
)
from memorist.core.truncation import truncate_middle

PREAMBLE_ID = "memorist-context"
"""Id of the message that holds the injected blocks of the user's first message."""

PREAMBLE_LIMIT_DIVISOR = 4
"""Preamble in user messages takes at most one part in so many of the limit, so that something huge
there does not fill every later window.
"""

MIN_TALK_SHARE = 0.5
"""Share of the limit that what is said gets where the preamble leaves too little for what the model
has not answered yet. Our choice: instructions without the request are of no use.
"""

MIN_DIGEST_LIMIT_DIVISOR = 8
"""Beside what is unanswered, one part in so many of the limit is needed for what came before."""

_INSTRUCTION_ROLES = ("system", "developer")

STATE_TAG = lazy_pattern(
    r"\s*(?:<(model_switch|context_window|personality_spec|skills_instructions|permissions "
    r"instructions|collaboration_mode|environments_instructions|"
    r"apps_instructions|plugins_instructions|tools|multi_agent_mode|environment_context)>|(# "
    r"agents\.md instructions))",
    re.IGNORECASE,
)
"""Prefix of a text that describes the environment: a later one replaces an earlier one (Codex).
"""


_PLAN_MODE = lazy_pattern(
    r"<system-reminder>\s*Plan mode (?:is|still) active\b(?:(?!</?system-reminder>).)*"
    r"</system-reminder>\s*",
    re.IGNORECASE | re.DOTALL,
)
"""What Claude Code adds while the agent may only plan, by itself or in one text with others."""


class PreambleAndRest(Struct, frozen=True, kw_only=True):
    """A conversation split into its preamble and the rest."""

    preamble: tuple[Message, ...]
    """Instructions, and content injected on the user's side before or beside the first user text.
    """
    states: tuple[Message, ...]
    """Later messages that supersede a part of it, such as a changed working folder: the newest of
    each.
    """
    instructions: tuple[Message, ...]
    """Instructions that came later, in the middle of the conversation: each text once, the newest
    that fit.
    """
    rest: MeasuredConversation
    """The conversation without the preamble."""
    tokens: int
    """Estimated tokens of the whole conversation."""
    limit: int
    """Tokens of the limit that remain for the rest."""


def split_preamble(conversation: MeasuredConversation, limit: int) -> PreambleAndRest:
    """Split the conversation into its preamble and the rest.

    Instructions always belong to the preamble; injected user content does while it fits its part of
    the limit. What recall or an earlier compaction inserted does not: it is rebuilt. Where the
    preamble leaves no room for what the model has not answered yet, its longest texts are cut in
    the middle.
    """
    room = limit // PREAMBLE_LIMIT_DIVISOR
    lead: list[Message] = []
    rest: list[Message] = []
    sizes: list[int] = []
    later: list[Message] = []
    began = False
    tokens, conversation = conversation.tokens, _drop_plan_mode(conversation)
    for message, size in zip(conversation.messages, conversation.sizes, strict=True):
        if began:
            later.append(message)
        injected, left = (None, message) if began else _split_message(message)
        began = began or (injected is not message and not is_restored_message(message))
        cost = (
            0
            if message.role in _INSTRUCTION_ROLES or injected is None
            else estimate_message_tokens(injected, conversation.token_factor)
        )
        stands = injected is not None and cost <= room
        if injected is not None and stands:
            lead.append(injected)
            room -= cost
        if (shown := left if stands else message) is not None:
            rest.append(shown)
            sizes.append(
                size
                if shown is message
                else estimate_message_tokens(shown, conversation.token_factor)
            )
    factor = conversation.token_factor
    given = [message for message in lead if message.role in _INSTRUCTION_ROLES]
    states = _pick_newest(later, _list_state_tags, room, factor)
    # Those behind the first may have come from the middle: they count, so that nothing grows.
    spent = estimate_messages_tokens([*states, *given[1:]], factor)
    instructions = _pick_newest(later, _list_instructions, room - spent, factor)
    carried = [*states, *instructions]
    talk = _estimate_talk(rest, limit, factor)
    if estimate_messages_tokens([*lead, *carried], factor) > limit - talk:
        lead = _shorten_preamble(lead, int(limit * (1 - MIN_TALK_SHARE)), factor)
    return PreambleAndRest(
        preamble=tuple(lead),
        states=tuple(states),
        instructions=tuple(instructions),
        rest=replace(conversation, messages=tuple(rest), sizes=tuple(sizes)),
        tokens=tokens,
        limit=max(1, limit - estimate_messages_tokens([*lead, *carried], factor)),
    )


def _drop_plan_mode(conversation: MeasuredConversation) -> MeasuredConversation:
    """The conversation without reminders that the agent is to plan and change nothing, up to the
    newest plan that was approved: they no longer hold.
    """
    messages = conversation.messages
    asked = {
        use.id for message in messages for use in message.tool_uses if use.name == "ExitPlanMode"
    }
    approved = max(
        (
            index
            for index, message in enumerate(messages)
            for result in message.tool_results
            if result.tool_use_id in asked and not result.is_error
        ),
        default=-1,
    )
    kept: list[tuple[Message, int]] = []
    for index, (message, size) in enumerate(zip(messages, conversation.sizes, strict=True)):
        blocks = message.blocks if index > approved else _drop_plan_mode_texts(message.blocks)
        if blocks == message.blocks:
            kept.append((message, size))
        elif blocks:
            less = replace(message, blocks=blocks)
            kept.append((less, estimate_message_tokens(less, conversation.token_factor)))
    return replace(
        conversation,
        messages=tuple(message for message, _ in kept),
        sizes=tuple(size for _, size in kept),
    )


def _drop_plan_mode_texts(blocks: Sequence[Block]) -> tuple[Block, ...]:
    found = []
    for block in blocks:
        less = _PLAN_MODE.sub("", block.text) if isinstance(block, TextBlock) else ""
        if not isinstance(block, TextBlock) or less == block.text:
            found.append(block)
        elif less.strip():
            found.append(replace(block, text=less))
    return tuple(found)


def _estimate_talk(rest: Sequence[Message], limit: int, factor: float) -> int:
    """Tokens of the limit that the rest needs at least: at most its share, where the preamble is
    cut to.
    """
    kept = keep_messages_from_index(rest, find_unanswered_start(rest), sys.maxsize, factor)
    needed = estimate_messages_tokens(kept, factor) + limit // MIN_DIGEST_LIMIT_DIVISOR
    return min(int(limit * MIN_TALK_SHARE), needed)


def _shorten_preamble(lead: Sequence[Message], room: int, factor: float) -> list[Message]:
    """The messages within `room` tokens, their longest texts cut in the middle."""
    sizes = [estimate_text_tokens(text) for each in lead for text in _list_texts(each)]
    over = estimate_messages_tokens(lead, factor) - room
    left = sum(sizes) - int(over / factor) - len(sizes)
    most = max(1, find_per_item_limit_to_fit(sizes, left) - CUT_MARK_TOKENS)
    return [_cut_texts(each, most) for each in lead]


def _cut_texts(message: Message, most: int) -> Message:
    if all(estimate_text_tokens(text) <= most for text in _list_texts(message)):
        return message
    blocks = tuple(
        replace(block, text=truncate_middle(block.text, most))
        if isinstance(block, TextBlock)
        else block
        for block in message.blocks
    )
    return replace(message, blocks=blocks, wire=None)


def _list_texts(message: Message) -> list[str]:
    return [block.text for block in message.blocks if isinstance(block, TextBlock)]


def _split_message(message: Message) -> tuple[Message | None, Message | None]:
    """The preamble part of a message (the same object where that is all of it), and the
    remainder.
    """
    if message.role in _INSTRUCTION_ROLES:
        return message, None
    theirs = message.role == "user" and message.id != MARKER_ID and not is_restored_message(message)
    injected = [
        block
        for block in message.blocks
        if isinstance(block, TextBlock) and (block.origin or message.origin) is Origin.INJECTED
    ]
    if not theirs or not injected or any(isinstance(block, ToolResult) for block in message.blocks):
        return None, message
    if len(injected) == len(message.blocks):
        return message, None
    remainder = Message(
        id=PREAMBLE_ID,
        role="user",
        blocks=tuple(TextBlock(block.text) for block in injected),
        origin=Origin.INJECTED,
    )
    wire = None if message.wire is None else replace(message.wire, plain=False)
    return remainder, replace(
        message, blocks=tuple(block for block in message.blocks if block not in injected), wire=wire
    )


def _list_state_tags(message: Message) -> tuple[str, ...]:
    """The state tags of a message that holds nothing else; none of any other message."""
    texts = _list_texts(message)
    states = [match for text in texts if (match := STATE_TAG.match(text))]
    if len(states) < len(texts):
        return ()
    return tuple((match[1] or match[2]).lower() for match in states)


def _list_instructions(message: Message) -> tuple[str, ...]:
    """The texts of an instruction that describes no state, and the tools that it defines; none of
    any other message.
    """
    if message.role not in _INSTRUCTION_ROLES or _list_state_tags(message):
        return ()
    tools = [repr(block.raw) for block in message.blocks if isinstance(block, UnknownBlock)]
    return (*_list_texts(message), *tools)


def _pick_newest(
    messages: Sequence[Message],
    identify: Callable[[Message], tuple[str, ...]],
    room: int,
    factor: float,
) -> list[Message]:
    """The newest message of each identity, in order; newest first while they fit. What has an empty
    identity, or holds more than the host's own texts, is none of them.
    """
    found: list[Message] = []
    seen: set[tuple[str, ...]] = set()
    for message in reversed(messages):
        identity = identify(message)
        if not identity or identity in seen or _split_message(message)[0] is not message:
            continue
        seen.add(identity)
        size = estimate_message_tokens(message, factor)
        if size <= room:
            room -= size
            found.append(message)
    return found[::-1]


def reattach_preamble(result: CompactionResult, split: PreambleAndRest) -> CompactionResult:
    """Put the preamble back in front of the result for `split.rest`, and later instructions where
    they stood in the order of the conversation. `UnchangedHistory` where that is not smaller than
    before.
    """
    if isinstance(result, UnchangedHistory):
        return result
    # By id, not by identity: a history that was compacted in another process comes back as copies.
    shown = {message.id for message in result.messages}
    front = (*split.preamble, *(message for message in split.states if message.id not in shown))
    later = [message for message in split.instructions if message.id not in shown]
    after = result.tokens_after + estimate_messages_tokens(
        [*front, *later], split.rest.token_factor
    )
    added = len(front) + len(later) - len(split.preamble)
    if after > split.tokens or (after == split.tokens and added):
        return UnchangedHistory("The result would not be smaller than what it replaces.")
    # Position and content of the preamble are unchanged, which keeps the cached prefix.
    back = {message.id for message in (*front, *later)}
    return replace(
        result,
        messages=(*front, *_insert_in_order(result.messages, later, split.rest.messages)),
        tokens_before=split.tokens,
        tokens_after=after,
        removed_items=tuple(cut for cut in result.removed_items if cut.id not in back),
    )


def _insert_in_order(
    messages: Sequence[Message], later: Iterable[Message], order: Sequence[Message]
) -> list[Message]:
    """The messages with `later` among them: each before what followed it in `order`, but not
    between a call and its result.
    """
    position = {message.id: index for index, message in enumerate(order)}
    placed = list(messages)
    for each in later:
        at = next(
            (i for i, m in enumerate(placed) if position.get(m.id, -1) > position[each.id]),
            len(placed),
        )
        while at < len(placed) and placed[at].tool_results:
            at += 1
        placed.insert(at, each)
    return placed
