"""Inline compaction: the user's newest messages, followed by a hand-over as the last user message
(CP-11, CP-12). Pure.

Source: codex.md section 2.4. Deliberate differences: an empty hand-over is rejected (there an older
reply would be used), and nothing is done while a tool call waits for its result.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.conversation import Conversation, is_typed, newest_within, typed
from memorist.compaction.full import Terms, with_dropped
from memorist.compaction.result import Compacted, Cut, Outcome, Restored, Unchanged
from memorist.compaction.summary import checked
from memorist.core.messages import Message, Origin, Text
from memorist.core.pairing import whole_from
from memorist.core.tokens import estimate_message

HAND_OVER_ID = "memorist-hand-over"
"""Id of the hand-over message."""


def retained(messages: Sequence[Message], tokens: int, *, prefix: str, factor: float = 1.0) -> tuple[Message, ...]:
    """The user's messages, newest first within `tokens`, in order and text only. The first that
    does not fit is cut in the middle.

    Earlier hand-overs, recognized by their origin or by `prefix`, are dropped. A message kept whole
    that is all text is the same object.
    """
    lead = prefix.split("\n", 1)[0]
    own = [message for message in messages if typed(message) and not typed(message).startswith(lead)]
    texts = newest_within([typed(message) for message in own], tokens, factor)
    return tuple(_with_text(message, text) for message, text in zip(own[len(own) - len(texts) :], texts, strict=True))


def _with_text(message: Message, text: str) -> Message:
    if all(is_typed(block, message) for block in message.blocks) and text == typed(message):
        return message
    wire = None if message.wire is None else replace(message.wire, plain=False)
    return replace(message, blocks=(Text(text),), origin=Origin.USER, wire=wire)


class HandOver(Struct, frozen=True, kw_only=True):
    """What the previous model wrote, and the context to insert where the turn goes on."""

    summary: str
    """As returned by `parse_summary`."""
    initial: Sequence[Message] = ()
    """The full initial context, in the middle of a turn only; otherwise it comes with the next
    turn.
    """


def compact(held: Conversation, over: HandOver, terms: Terms) -> Outcome:
    """Rewrite the conversation with a hand-over. The user's messages are shortened where the limit
    would be exceeded.

    In the middle of a turn the initial context is inserted before the last user message, else
    before the hand-over.
    """
    texts, limit = terms.texts, terms.limit
    if whole_from(held.messages, len(held.messages)) < len(held.messages):
        return Unchanged("A tool call still waits for its result.")
    clean = checked(over.summary, held.said, (texts.inline,))
    if not clean.text:
        return Unchanged("Nothing of the hand-over could be believed.")
    last = Message(id=HAND_OVER_ID, role="user", blocks=(Text(f"{texts.inline_prefix}\n{clean.text}"),), origin=Origin.SUMMARY)
    initial = tuple(over.initial)
    fixed = sum(estimate_message(message, held.factor) for message in (*initial, last))
    users = retained(
        held.messages, min(terms.settings.inline_user_tokens, max(0, limit - fixed - 1)), prefix=texts.inline_prefix, factor=held.factor
    )
    made = (*users[:-1], *initial, *users[-1:], last)
    after = fixed + sum(estimate_message(message, held.factor) for message in users)
    if after >= held.tokens:
        return Unchanged("The result would not be smaller than what it replaces.")
    if after >= limit:
        return Unchanged("The result would fill the window again at once.")
    ids = {message.id for message in users}
    made_so = Compacted(
        strategy="inline",
        messages=made,
        tokens_before=held.tokens,
        tokens_after=after,
        cut=tuple(
            Cut(message.id, size, "replaced by the hand-over")
            for message, size in zip(held.messages, held.sizes, strict=True)
            if message.id not in ids
        ),
        restored=tuple(Restored("user", message.id, estimate_message(message, held.factor)) for message in users),
    )
    return with_dropped(made_so, clean.dropped)
