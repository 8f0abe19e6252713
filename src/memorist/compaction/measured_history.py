"""The measured conversation that a compaction works on, and the user's texts in it. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.markdown import load_prompt
from memorist.core.messages import Block, Message, Origin, TextBlock, find_cut_points, starts_reply
from memorist.core.token_count import estimate_message_tokens, estimate_text_tokens, truncate_middle

CUT_MARK_TOKENS = 12
"""Reserve for the mark that `cut_middle` inserts."""

MIN_CUT_TOKENS = 20
"""A message is not cut below this: the remainder would carry no information."""


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
    factor: float = 1.0
    """Tokens of this model for one estimated token, as given by `family_factor`."""

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
        else tuple(text for text in map(user_text, kept_messages) if text)
    )
    # Keyed by id: `before` keeps its messages alive, so no id can have been reused.
    known = (
        {}
        if before is None or before.factor != factor
        else dict(zip(map(id, before.messages), before.sizes, strict=True))
    )
    sizes = tuple(
        [
            known[id(message)] if id(message) in known else estimate_message_tokens(message, factor)
            for message in kept_messages
        ]
    )
    return MeasuredConversation(
        messages=kept_messages, sizes=sizes, user_texts=words, transcript=transcript, factor=factor
    )


def is_user_block(block: Block, message: Message) -> bool:
    """Whether a block is text that the user typed."""
    return (
        isinstance(block, TextBlock)
        and message.role == "user"
        and (block.origin or message.origin) is Origin.USER
    )


def user_text(message: Message) -> str:
    """The text the user typed in a message; empty when there is none. Only the role `user` counts:
    text that looks like a user turn inside a reply or a tool result is not the user's (CP-16).
    """
    return "\n".join(
        block.text
        for block in message.blocks
        if isinstance(block, TextBlock) and is_user_block(block, message) and block.text.strip()
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


def fit_newest_texts(texts: Sequence[str], tokens: int, factor: float = 1.0) -> tuple[str, ...]:
    """The newest texts within `tokens`, in order; the first that does not fit is cut in the middle,
    and all older ones are dropped.

    Source: codex.md section 2.4 step 7. The sum of the estimates never exceeds `tokens`.
    """
    room = tokens
    kept: list[str] = []
    for text in reversed(texts):
        size = estimate_text_tokens(text, factor)
        if size > room:
            if room >= MIN_CUT_TOKENS * max(1.0, factor):
                kept.append(truncate_middle(text, int(room / factor) - CUT_MARK_TOKENS))
            break
        kept.append(text)
        room -= size
    return tuple(reversed(kept))


# The result of a compaction, whatever the strategy. Pure.


CompactionStrategy = Literal[
    "auto", "micro", "session-memory", "full", "inline", "structural", "tail"
]
"""The strategies a user may ask for; `auto` is the ordered plan."""


class RemovedItem(Struct, frozen=True):
    """Something that is no longer shown in full, and can be fetched back by its id.

    `id` is a tool use's id where a result was cleared, shortened or stored on disk, and a message's
    id where a message was removed.
    """

    id: str
    tokens: int
    """Estimated tokens freed."""
    why: str
    """One clause for the user."""


class RestoredRecord(Struct, frozen=True):
    """Record of something that was restored after a compaction (CP-8)."""

    kind: Literal["file", "skill", "plan", "task", "user", "notes", "pointer"]
    what: str
    tokens: int


class CompactedHistory(Struct, frozen=True, kw_only=True):
    """The new history, and what became of the old one. Messages that are kept are the same objects
    as before.
    """

    strategy: str
    messages: tuple[Message, ...]
    tokens_before: int
    tokens_after: int
    cut: tuple[RemovedItem, ...] = ()
    restored: tuple[RestoredRecord, ...] = ()


class UnchangedHistory(Struct, frozen=True):
    """The history is unchanged, and why, in one sentence. An expected outcome, not an error."""

    why: str
    asked: bool = True
    """False where a model was due to be asked but was not: then it did not fail."""


CompactionResult = CompactedHistory | UnchangedHistory


# API rounds: one model reply and what followed it, up to the next reply. The unit that is
# dropped when a request is too long (CP-7). Pure.


MARKER_ID = "memorist-cut"
"""Id of the message that marks the dropped beginning."""


def find_rounds(messages: Sequence[Message]) -> tuple[tuple[int, int], ...]:
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
    """A history without its oldest rounds: the messages to send, their sizes, and the number
    dropped.
    """

    messages: tuple[Message, ...]
    sizes: tuple[int, ...]
    dropped: int


def drop_oldest_rounds(
    messages: Sequence[Message],
    sizes: Sequence[int],
    *,
    excess: int | None,
    marker: str,
    share: float = 0.2,
) -> ShortenedHistory | UnchangedHistory:
    """Drop the oldest rounds until `excess` tokens are gone; `share` of the rounds, at least one,
    when the excess is unknown.

    At least one round stays. Pairs and replies stay whole. When the rest begins with the assistant,
    a user message with the text `marker` is put first; such a message of an earlier attempt is
    removed before. `UnchangedHistory` when fewer than two rounds can be separated.
    """
    if messages and messages[0].id == MARKER_ID:
        messages, sizes = messages[1:], sizes[1:]
    safe = set(find_cut_points(messages))
    found = find_rounds(messages)
    starts = [start for start, _ in found if start in safe and start]
    if not starts:
        return UnchangedHistory("The conversation is one round that cannot be divided.")
    start = _find_first_kept(starts, sizes, excess, len(found) * share)
    kept, kept_sizes = tuple(messages[start:]), tuple(sizes[start:])
    if kept[0].role == "assistant":
        mark = Message(
            id=MARKER_ID, role="user", blocks=(TextBlock(marker),), origin=Origin.INJECTED
        )
        kept, kept_sizes = (mark, *kept), (0, *kept_sizes)
    return ShortenedHistory(kept, kept_sizes, start)


def _find_first_kept(
    starts: Sequence[int], sizes: Sequence[int], excess: int | None, count: float
) -> int:
    if excess is None:
        # The rounds begin at 0, so that dropping k of them starts at the k-th further start.
        return starts[min(max(1, math.floor(count)), len(starts)) - 1]
    removed_sizes = [0, *accumulate(sizes)]
    return next((start for start in starts if removed_sizes[start] >= excess), starts[-1])


# Ensure that a history begins with a user message: the APIs demand it (claude-code.md section
# 6.5 step 6). Pure.


def opening_message(marker: str) -> Message:
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
    lead = opening_message(marker)
    return replace(
        history,
        messages=(lead, *history.messages),
        tokens_after=history.tokens_after + estimate_message_tokens(lead, factor),
    )


# The plain tail window: the newest messages that fit, whole. The simplest strategy, and the
# baseline for the others. Pure.


def find_tail_start(sizes: Sequence[int], starts: Sequence[int], budget: int) -> int:
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


def keep_newest_messages(
    messages: Sequence[Message], budget: int, *, factor: float = 1.0
) -> CompactedHistory:
    """The newest messages within `budget` estimated tokens, whole and in order; neither pairs nor
    replies are split (CP-10).

    Nothing is left where the newest reply with its results alone is larger.
    """
    sizes = [estimate_message_tokens(message, factor) for message in messages]
    first = find_tail_start(sizes, find_cut_points(messages), budget)
    return CompactedHistory(
        strategy="tail",
        messages=tuple(messages[first:]),
        tokens_before=sum(sizes),
        tokens_after=sum(sizes[first:]),
        cut=tuple(
            RemovedItem(message.id, size, "older than the window")
            for message, size in zip(messages[:first], sizes[:first], strict=True)
        ),
    )


# The prompt texts that compaction inserts into a conversation, loaded from `prompts/compaction`.


class CompactionPrompts(Struct, frozen=True, kw_only=True):
    """Prompts and wrappers. A name in double braces is filled in where the text is used."""

    full: str
    """The request for a summary (CP-7)."""
    full_instructions: str
    """The user's wishes for this summary, around {{instructions}}."""
    full_wrapper: str
    """The message that replaces the conversation, around {{summary}}."""
    session_memory_wrapper: str
    """The same for session notes, around {{notes}}."""
    transcript: str
    """Names the path of the full transcript."""
    notes_file: str
    """Names the path of the full notes, when a section was cut."""
    kept: str
    """Says that the newest messages follow unchanged."""
    go_on: str
    """Tells the model to carry on without asking."""
    said: str
    """The user's messages, around {{messages}}."""
    cut_marker: str
    """The user message put first where the earliest rounds were dropped."""
    inline: str
    """The request for a hand-over (CP-11)."""
    inline_prefix: str
    """Precedes the hand-over."""
    file: str
    """A restored file, around {{path}} and {{content}}."""
    file_reference: str
    """A file too large to restore."""
    skill: str
    """A restored skill, around {{name}} and {{content}}."""
    skill_cut: str
    """Remark after a skill that was cut."""
    plan: str
    """The plan."""
    tasks: str
    """The task list, and work that runs in the background."""


def load_compaction_prompts() -> CompactionPrompts:
    """The texts shipped with memorist, without blank lines at their ends."""
    return CompactionPrompts(
        **{
            name: load_prompt(f"compaction/{name}").strip("\n")
            for name in CompactionPrompts.__struct_fields__
        }
    )
