"""The conversation as a compaction is given it, what the user said in it, and the texts of ours that go in. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from memorist.core.messages import Block, Message, Origin, Text
from memorist.core.tokens import estimate_message, estimate_text
from memorist.core.truncate import cut_middle

MARK_TOKENS = 12
"""Room for the mark that `cut_middle` leaves."""

LEAST_TOKENS = 20
"""A message is not cut to less than this: what would be left says nothing."""


class Conversation(Struct, frozen=True, kw_only=True):
    """What the model is shown now, each message counted once, and where the rest can be found."""

    messages: tuple[Message, ...]
    sizes: tuple[int, ...]
    """Estimated tokens of each message."""
    said: tuple[str, ...]
    """Everything the user typed in this session, oldest first, from the full transcript: earlier compactions took nothing away from it."""
    transcript: str = ""
    """Path of the full transcript; empty where there is none."""
    factor: float = 1.0
    """Tokens of this model for one estimated token, as `family_factor` gives it."""

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
    """Count the messages. Without `said`, what the user said is taken from them.

    `before` is the conversation as it was last counted: its messages, the very same objects, are not counted again.
    """
    held = tuple(messages)
    words = tuple(said) if said is not None else tuple(text for text in map(typed, held) if text)
    # The messages of `before` are held by it, so that none of them shares its address with another.
    known = {} if before is None or before.factor != factor else dict(zip(map(id, before.messages), before.sizes, strict=True))
    sizes = tuple([known[id(message)] if id(message) in known else estimate_message(message, factor) for message in held])
    return Conversation(messages=held, sizes=sizes, said=words, transcript=transcript, factor=factor)


def is_typed(block: Block, message: Message) -> bool:
    """Whether a block is text that the person typed."""
    return isinstance(block, Text) and message.role == "user" and (block.origin or message.origin) is Origin.USER


def typed(message: Message) -> str:
    """What the person typed in a message; empty when nothing. Only the role `user` counts: text that looks like a user's turn inside a reply
    or a tool's result is nobody's word (CP-16).
    """
    return "\n".join(block.text for block in message.blocks if isinstance(block, Text) and is_typed(block, message) and block.text.strip())


def last_summary(messages: Sequence[Message]) -> int:
    """Index of the newest summary of an earlier compaction, -1 when there is none."""
    return next((index for index in range(len(messages) - 1, -1, -1) if messages[index].origin is Origin.SUMMARY), -1)


def newest_within(texts: Sequence[str], tokens: int, factor: float = 1.0) -> tuple[str, ...]:
    """The newest texts within `tokens`, in their order; the first that does not fit is cut in the middle, and all older ones are left out.

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
