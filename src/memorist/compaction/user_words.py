"""The user's own words in an extractive summary: short messages verbatim, the first and last lines
of long ones, in order (CP-16). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from memorist.compaction.newest_messages import find_largest_common_limit
from memorist.core.messages import Message, Origin, TextBlock
from memorist.core.token_count import estimate_text_tokens
from memorist.core.truncation import truncate_middle
from memorist.formats.host_markup import strip_host_markup

USER_WORDS_TITLE = "What the user said"
"""Heading of the user's words in a summary."""

EARLIER_LABEL = "earlier"
"""Label of words that stand in none of the messages."""

LONG_UTTERANCE_TOKENS = 400
"""Tokens above which a message holds pasted text, most of which is a document and no word of the
user."""

MIN_UTTERANCE_TOKENS = 30
"""Tokens to which a message is cut at the least; where even that is too much for all, the oldest
are left out."""

LABEL_TOKENS = 8
"""Tokens of the label of a message."""

_CUT_MARK_TOKENS = 12
"""Tokens of the mark that `truncate_middle` inserts."""


class SummaryUtterance(Struct, frozen=True):
    """Words of the user: the step of their last occurrence, 0 where an earlier compaction removed
    them from the messages, and how often they occurred in the same form.
    """

    step: int
    text: str
    times: int = 1

    @property
    def is_long(self) -> bool:
        """Whether the words are so many that pasted text must be among them."""
        return estimate_text_tokens(self.text) > LONG_UTTERANCE_TOKENS


def collect_utterances(messages: Sequence[Message]) -> list[SummaryUtterance]:
    """What the user typed, in order; repetitions are counted with the last occurrence."""
    found: dict[str, SummaryUtterance] = {}
    for step, message in enumerate(messages, 1):
        for block in message.blocks:
            if (
                not isinstance(block, TextBlock)
                or (block.origin or message.origin) is not Origin.USER
            ):
                continue
            text = strip_host_markup(block.text).strip()
            if text:
                known = found.pop(text, None)
                found[text] = SummaryUtterance(step, text, known.times + 1 if known else 1)
    return list(found.values())


def find_earlier_utterances(
    user_texts: Sequence[str], utterances: Sequence[SummaryUtterance]
) -> list[SummaryUtterance]:
    """What the user typed before these utterances: the texts that none of them holds."""
    present = {each.text for each in utterances}
    texts = dict.fromkeys(strip_host_markup(text).strip() for text in user_texts)
    return [SummaryUtterance(0, text) for text in texts if text and text not in present]


def fit_utterances(utterances: Sequence[SummaryUtterance], room: int) -> list[SummaryUtterance]:
    """The utterances that fit `room` tokens, in order.

    The long ones are cut in the middle to the same size, at most `LONG_UTTERANCE_TOKENS`; short
    ones only where all together do not fit. The oldest are dropped only where there is no room for
    `MIN_UTTERANCE_TOKENS` of each; the first one is dropped last.
    """
    sizes = [estimate_text_tokens(each.text) + LABEL_TOKENS for each in utterances]
    total, first = sum(sizes), 1
    while first < len(sizes) and _is_crowded(len(sizes) - first + 1, total, room):
        total -= sizes[first]
        first += 1
    sized = list(zip(utterances, sizes, strict=True))
    chosen = [*sized[:1], *sized[first:]]
    if len(chosen) == 1 and _is_crowded(1, total, room):
        return []
    short_room = sum(size for each, size in chosen if not each.is_long)
    long_sizes = [size for each, size in chosen if each.is_long]
    if room - short_room >= len(long_sizes) * (MIN_UTTERANCE_TOKENS + LABEL_TOKENS):
        limit = find_largest_common_limit(long_sizes, room - short_room) - LABEL_TOKENS
        return [_cut(each, limit) if each.is_long else each for each, _ in chosen]
    limit = find_largest_common_limit([size for _, size in chosen], room) - LABEL_TOKENS
    return [_cut(each, limit) for each, _ in chosen]


def _cut(utterance: SummaryUtterance, limit: int) -> SummaryUtterance:
    """The utterance within so many tokens, and within those of a long one."""
    most = min(LONG_UTTERANCE_TOKENS, limit)
    if estimate_text_tokens(utterance.text) <= most:
        return utterance
    text = truncate_middle(utterance.text, max(1, most - _CUT_MARK_TOKENS))
    return SummaryUtterance(utterance.step, text, utterance.times)


def _is_crowded(count: int, total: int, room: int) -> bool:
    return total > room and count * (MIN_UTTERANCE_TOKENS + LABEL_TOKENS) > room


def render_utterances(utterances: Sequence[SummaryUtterance]) -> str:
    """Render the utterances as a list."""
    lines = []
    for each in utterances:
        times = f", {each.times} times, last" if each.times > 1 else ""
        lines.append(f"[{f'step {each.step}' if each.step else EARLIER_LABEL}{times}] {each.text}")
    return "\n".join(lines)
