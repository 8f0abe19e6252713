"""The measured conversation that a compaction works on, and the user's texts in it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from memorist.core.messages import Block, Message, Origin, Text
from memorist.core.tokens import estimate_message, estimate_text
from memorist.core.truncate import cut_middle

MARK_TOKENS = 12
"""Reserve for the mark that `cut_middle` inserts."""

LEAST_TOKENS = 20
"""A message is not cut below this: the remainder would carry no information."""


class Conversation(Struct, frozen=True, kw_only=True):
    """The messages the model is shown now, each measured once, and where the rest can be found."""

    messages: tuple[Message, ...]
    sizes: tuple[int, ...]
    """Estimated tokens of each message."""
    said: tuple[str, ...]
    """Everything the user typed in this session, oldest first, from the full transcript; earlier
    compactions removed nothing from it.
    """
    transcript: str = ""
    """Path of the full transcript; empty where there is none."""
    factor: float = 1.0
    """Tokens of this model for one estimated token, as given by `family_factor`."""

    @property
    def tokens(self) -> int:
        """Estimated tokens of all messages."""
        return sum(self.sizes)


def conversation(
    messages: Iterable[Message],
    *,
    said: Sequence[str] | None = None,
    transcript: str = "",
    factor: float = 1.0,
    before: Conversation | None = None,
) -> Conversation:
    """Measure the messages. Without `user_texts`, the user's texts are taken from the messages.

    `before` is the previously measured conversation: its messages, if they are the same objects,
    are not measured again.
    """
    held = tuple(messages)
    words = tuple(said) if said is not None else tuple(text for text in map(typed, held) if text)
    # The messages of `before` are held by it, so that none of them shares its address with another.
    known = {} if before is None or before.factor != factor else dict(zip(map(id, before.messages), before.sizes, strict=True))
    sizes = tuple([known[id(message)] if id(message) in known else estimate_message(message, factor) for message in held])
    return Conversation(messages=held, sizes=sizes, said=words, transcript=transcript, factor=factor)


def is_typed(block: Block, message: Message) -> bool:
    """Whether a block is text that the user typed."""
    return isinstance(block, Text) and message.role == "user" and (block.origin or message.origin) is Origin.USER


def typed(message: Message) -> str:
    """The text the user typed in a message; empty when there is none. Only the role `user` counts:
    text that looks like a user turn inside a reply or a tool result is not the user's (CP-16).
    """
    return "\n".join(block.text for block in message.blocks if isinstance(block, Text) and is_typed(block, message) and block.text.strip())


def last_summary(messages: Sequence[Message]) -> int:
    """Index of the newest summary of an earlier compaction, -1 when there is none."""
    return next((index for index in range(len(messages) - 1, -1, -1) if messages[index].origin is Origin.SUMMARY), -1)


def newest_within(texts: Sequence[str], tokens: int, factor: float = 1.0) -> tuple[str, ...]:
    """The newest texts within `tokens`, in order; the first that does not fit is cut in the middle,
    and all older ones are dropped.

    Source: codex.md section 2.4 step 7. The sum of the estimates never exceeds `tokens`.
    """
    room = tokens
    kept: list[str] = []
    for text in reversed(texts):
        size = estimate_text(text, factor)
        if size > room:
            if room >= LEAST_TOKENS * max(1.0, factor):
                kept.append(cut_middle(text, int(room / factor) - MARK_TOKENS))
            break
        kept.append(text)
        room -= size
    return tuple(reversed(kept))
