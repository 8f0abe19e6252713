"""The measured conversation that a compaction works on, and the user's texts in it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from memorist.core.messages import Block, Message, Origin, TextBlock
from memorist.core.token_count import estimate_message_tokens, estimate_text_tokens
from memorist.core.truncation import truncate_middle

CUT_MARK_TOKENS = 12
"""Reserve for the mark that `truncate_middle` inserts."""

MIN_CUT_TOKENS = 20
"""A message is not cut below this: the remainder would carry no information."""


LONG_UTTERANCE_TOKENS = 400
"""Tokens above which a message holds pasted text, most of which is a document and no word of the
user."""


class MeasuredConversation(Struct, frozen=True, kw_only=True):
    """The messages the model is shown now, each measured once, and where the rest can be found."""

    messages: tuple[Message, ...]
    sizes: tuple[int, ...]
    """Estimated tokens of each message."""
    user_texts: tuple[str, ...]
    """Everything the user typed in this session, oldest first, from the full transcript; earlier
    compactions removed nothing from it.
    """
    transcript: str = ""
    """Path of the full transcript; empty where there is none."""
    token_factor: float = 1.0
    """Tokens of this model for one estimated token, as given by `get_token_factor`."""

    @property
    def tokens(self) -> int:
        """Estimated tokens of all messages."""
        return sum(self.sizes)


def measure_conversation(
    messages: Iterable[Message],
    *,
    user_texts: Sequence[str] | None = None,
    transcript: str = "",
    factor: float = 1.0,
    before: MeasuredConversation | None = None,
) -> MeasuredConversation:
    """Measure the messages. Without `user_texts`, the user's texts are taken from the messages.

    `before` is the previously measured conversation: its messages, if they are the same objects,
    are not measured again.
    """
    kept_messages = tuple(messages)
    words = (
        tuple(user_texts)
        if user_texts is not None
        else tuple(text for text in map(get_typed_text, kept_messages) if text)
    )
    # Keyed by id: `before` keeps its messages alive, so no id can have been reused.
    known = (
        {}
        if before is None or before.token_factor != factor
        else dict(zip(map(id, before.messages), before.sizes, strict=True))
    )
    sizes = tuple(
        [
            known[id(message)] if id(message) in known else estimate_message_tokens(message, factor)
            for message in kept_messages
        ]
    )
    return MeasuredConversation(
        messages=kept_messages,
        sizes=sizes,
        user_texts=words,
        transcript=transcript,
        token_factor=factor,
    )


def is_typed_text_block(block: Block, message: Message) -> bool:
    """Whether a block is text that the user typed."""
    return (
        isinstance(block, TextBlock)
        and message.role == "user"
        and (block.origin or message.origin) is Origin.USER
    )


def get_typed_text(message: Message) -> str:
    """The text the user typed in a message; empty when there is none. Only the role `user` counts:
    text that looks like a user turn inside a reply or a tool result is not the user's (CP-16).
    """
    return "\n".join(
        block.text
        for block in message.blocks
        if isinstance(block, TextBlock)
        and is_typed_text_block(block, message)
        and block.text.strip()
    )


def find_last_summary(messages: Sequence[Message]) -> int:
    """Index of the newest summary of an earlier compaction, -1 when there is none."""
    return next(
        (
            index
            for index in range(len(messages) - 1, -1, -1)
            if messages[index].origin is Origin.SUMMARY
        ),
        -1,
    )


def fit_newest_texts(texts: Sequence[str], tokens: int, factor: float = 1.0) -> dict[int, str]:
    """The newest texts within `tokens`, by index, in order: the short ones first, and long ones in
    what they leave. The first that does not fit is cut in the middle, and all that would come after
    it are dropped.

    Source: Codex, where no difference is made between short and long. The sum
    of the estimates never exceeds `tokens`.
    """
    room = tokens
    kept: dict[int, str] = {}
    sizes = [estimate_text_tokens(text) for text in texts]
    for at in sorted(range(len(texts)), key=lambda at: (sizes[at] > LONG_UTTERANCE_TOKENS, -at)):
        text = texts[at]
        size = estimate_text_tokens(text, factor)
        if size > room:
            if room >= MIN_CUT_TOKENS * max(1.0, factor):
                kept[at] = truncate_middle(text, int(room / factor) - CUT_MARK_TOKENS)
            break
        kept[at] = text
        room -= size
    return dict(sorted(kept.items()))
