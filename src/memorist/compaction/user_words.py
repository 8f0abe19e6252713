"""The user's own words in an extractive summary: short messages verbatim, the first and last lines
of long ones, in order (CP-16); and those that a conversation begins with as quotations. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.measured_conversation import CUT_MARK_TOKENS, LONG_UTTERANCE_TOKENS
from memorist.compaction.newest_messages import (
    describe_media,
    find_per_item_limit_to_fit,
    is_client_notice,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message, Origin, TextBlock
from memorist.core.token_count import estimate_text_tokens
from memorist.core.truncation import split_at_cut, truncate_middle
from memorist.formats.host_markup import is_interruption_notice, strip_host_markup

USER_WORDS_TITLE = "What the user said"
"""Heading of the user's words in a summary."""

EARLIER_LABEL = "earlier"
"""Label of words that stand in none of the messages."""

STATES_NOTICE = "The assistant has answered each numbered one, unless marked otherwise."
"""First line above the user's words: a request that stands here is not an open task."""

INTERRUPTED_MARK = "interrupted"
UNANSWERED_MARK = "not answered yet"
"""Marks in the label of a message that the assistant did not answer."""

PICTURE_ALONE = "(no words)"
"""In place of the words of a message that has none beside its pictures."""

MAX_MEDIA_LABELS = 3
"""Messages with the same words whose pictures are named. Our choice."""

MIN_UTTERANCE_TOKENS = 30
"""Tokens to which a message is cut at the least; where even that is too much for all, the oldest
are left out."""

LABEL_TOKENS = 8
"""Tokens of the label of a message."""

_FRAME_TOKENS = 140
"""Tokens of what stands around the words in a summary: its opening, the transcript's path, a
heading, the notice.
"""


class UtteranceOccurrences(Struct, frozen=True):
    """Words of the user: the step of their last occurrence, 0 where an earlier compaction removed
    them from the messages, how often they occurred in the same form, the mark of an unanswered one,
    and what was sent with them.
    """

    step: int
    text: str
    times: int = 1
    mark: str = ""
    media: str = ""
    """Size of the pictures and documents beside the words, and the id by which they are found."""

    @property
    def label_tokens(self) -> int:
        """Tokens of what stands in front of the words."""
        return LABEL_TOKENS + (estimate_text_tokens(self.media) if self.media else 0)

    @property
    def is_long(self) -> bool:
        """Whether the words are so many that pasted text must be among them."""
        return estimate_text_tokens(self.text) > LONG_UTTERANCE_TOKENS


def _find_marks(messages: Sequence[Message]) -> list[str]:
    """For each message, what became of words typed in it: empty where the assistant's next closing
    reply came before the user stopped a turn. A closing reply has text, calls nothing, and is
    followed by a message of the user or by nothing; one that was stopped closes nothing, and so
    does what the client wrote in the model's place.
    """
    marks = []
    mark, closes = UNANSWERED_MARK, True
    for message in reversed(messages):
        marks.append(mark)
        if is_client_notice(message):
            continue
        if message.role == "user" and is_interruption_notice(message.text):
            mark, closes = INTERRUPTED_MARK, False
            continue
        if closes and message.role == "assistant" and message.text.strip():
            mark = mark if message.tool_uses else ""
        closes = message.role == "user"
    return marks[::-1]


def list_typed_utterances_with_counts(messages: Sequence[Message]) -> list[UtteranceOccurrences]:
    """What the user typed, in order; repetitions are counted with the last occurrence."""
    found: dict[str, UtteranceOccurrences] = {}
    marks = _find_marks(messages)
    for step, message in enumerate(messages, 1):
        media = describe_media(message) if message.origin is Origin.USER else ""
        for block in message.blocks:
            if (
                not isinstance(block, TextBlock)
                or (block.origin or message.origin) is not Origin.USER
            ):
                continue
            text = strip_host_markup(block.text).strip()
            if text:
                known = found.pop(text, None)
                times = known.times + 1 if known else 1
                shown = _add_media(known.media if known else "", media)
                found[text] = UtteranceOccurrences(step, text, times, marks[step - 1], shown)
                media = ""
        if media:
            words = f"{PICTURE_ALONE} ({step})"
            found[words] = UtteranceOccurrences(step, PICTURE_ALONE, 1, marks[step - 1], media)
    return list(found.values())


def _add_media(former: str, newest: str) -> str:
    """What was sent with the same words before and now: the newest of it."""
    labels = [each for each in (*former.split("; "), newest) if each]
    return "; ".join(labels[-MAX_MEDIA_LABELS:])


def find_utterances_of_removed_messages(
    user_texts: Sequence[str], utterances: Sequence[UtteranceOccurrences]
) -> list[UtteranceOccurrences]:
    """What the user typed before these utterances: the texts that none of them holds."""
    present = {each.text for each in utterances}
    texts = dict.fromkeys(strip_host_markup(text).strip() for text in user_texts)
    return [UtteranceOccurrences(0, text) for text in texts if text and text not in present]


def estimate_least_utterance_tokens(utterances: Iterable[UtteranceOccurrences]) -> tuple[int, int]:
    """Tokens that the short utterances take verbatim, and what the long ones take at least."""
    short = long = 0
    for each in utterances:
        if each.is_long:
            long += MIN_UTTERANCE_TOKENS + each.label_tokens
        else:
            short += estimate_text_tokens(each.text) + each.label_tokens
    return short, long


def estimate_user_only_summary_tokens(user_texts: Sequence[str]) -> int:
    """Tokens of a summary of nothing but what the user typed; 0 where there is nothing."""
    short, long = estimate_least_utterance_tokens(
        find_utterances_of_removed_messages(user_texts, ())
    )
    return short + long + _FRAME_TOKENS if user_texts else 0


def fit_utterances(
    utterances: Sequence[UtteranceOccurrences], room: int
) -> list[UtteranceOccurrences]:
    """The utterances that fit `room` tokens, in order.

    The short ones are kept verbatim while they fit, and the long ones cut in the middle to the same
    size, at most `LONG_UTTERANCE_TOKENS`; the oldest of them are dropped only where there is no
    room for `MIN_UTTERANCE_TOKENS` of each. Where not even the short ones fit, all are treated as
    long. The first one is dropped last.
    """
    sizes = [estimate_text_tokens(each.text) + each.label_tokens for each in utterances]
    cut = [at for at, each in enumerate(utterances) if each.is_long]
    left = room - sum(sizes) + sum(sizes[at] for at in cut)
    if left < 0:
        cut, left = list(range(len(utterances))), room
    chosen = {cut[at] for at in _choose_fitting([sizes[at] for at in cut], left)}
    dropped = set(cut) - chosen
    labels = max((utterances[at].label_tokens for at in chosen), default=LABEL_TOKENS)
    limit = find_per_item_limit_to_fit([sizes[at] for at in chosen], left) - labels
    return [
        _cut(each, limit) if at in chosen else each
        for at, each in enumerate(utterances)
        if at not in dropped
    ]


def _choose_fitting(sizes: Sequence[int], room: int) -> list[int]:
    """Indexes of what fits `room` when each is cut to the least: the first, and the newest."""
    least = [min(size, MIN_UTTERANCE_TOKENS + LABEL_TOKENS) for size in sizes]
    total, start = sum(least), 1
    while start < len(least) and total > room:
        total -= least[start]
        start += 1
    return [] if total > room else [*range(len(least[:1])), *range(start, len(least))]


def _cut(utterance: UtteranceOccurrences, limit: int) -> UtteranceOccurrences:
    """The utterance within so many tokens, and within those of a long one."""
    most = min(LONG_UTTERANCE_TOKENS, limit)
    if estimate_text_tokens(utterance.text) <= most:
        return utterance
    text = truncate_middle(utterance.text, max(1, most - CUT_MARK_TOKENS))
    return replace(utterance, text=text)


def render_utterances(utterances: Sequence[UtteranceOccurrences]) -> str:
    """Render the utterances as a list, below what became of them."""
    lines = [STATES_NOTICE] if any(each.step for each in utterances) else []
    for each in utterances:
        times = f", {each.times} times, last" if each.times > 1 else ""
        mark = f", {each.mark}" if each.mark else ""
        media = f", with {each.media}" if each.media else ""
        label = f"step {each.step}" if each.step else EARLIER_LABEL
        lines.append(f"[{label}{times}{mark}{media}] {each.text}")
    return "\n".join(lines)


# The user's words that a conversation begins with as quotations: those in a hand-over from
# another agent, and in the digest that was made of one.

EXTRACTIVE_SUMMARY_ID = "memorist-digest"
"""Id of an extractive summary: what a model summarized holds no words of the user for certain."""

HANDOFF_OPENING = "[memorist] Hand-over of an earlier session"
"""First words of a hand-over; `prompts/compaction/handoff.md` begins with them."""

ASKED_LABEL = "Asked last: "
"""In front of the last request in a hand-over, under "Where it stands"."""

STILL_AT_WORK = "The agent was still at work on it."
REPLIED = "The agent's last reply ended there."
"""Below the last request in a hand-over: whether it was answered."""

_SAID = lazy_pattern(
    rf"^## {USER_WORDS_TITLE}\n(.*?)(?=^## (?:Tasks|What failed|Files changed|Extracts, in order"
    r"|Names that also came up|The newest messages)$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_LABEL = lazy_pattern(
    r"^\[(step \d+|earlier)(?:, \d+ times, last)?"
    rf"(?:, (?:{INTERRUPTED_MARK}|{UNANSWERED_MARK}))?(?:, with [^\n\]]*)?\] ",
    re.MULTILINE,
)
_ASKED = lazy_pattern(
    rf"^## Where it stands\n{ASKED_LABEL}(.*?)\n(?:{STILL_AT_WORK}|{REPLIED})$(.*?)(?=^## |\Z)",
    re.MULTILINE | re.DOTALL,
)
_OPEN_TASK = lazy_pattern(r"^- open: .*$", re.MULTILINE)
_FRAME_LINE = lazy_pattern(
    r"(?:^|(?<=[\r\v\f\x85\u2028\u2029]))"
    r"(?=##[ ]|\[(?:user|assistant|put in by the client|result|calls|step \d+|earlier)\b)",
    re.MULTILINE,
)
"""In front of a line that reads like a heading or a label of a summary or a hand-over."""


def quote_frame_lines(text: str) -> str:
    """A text of others as a summary holds it: no line of it passes for a heading or for the label
    in front of the user's words.
    """
    return _FRAME_LINE.sub("> ", text)


class HandedOverRequestAndTasks(Struct, frozen=True):
    """Where the work stood that a hand-over passed on: what was asked last, and the lines of its
    open tasks.
    """

    last_request: str
    open_tasks: tuple[str, ...]


def list_handed_over_user_words(
    messages: Iterable[Message], user_texts: Sequence[str]
) -> Iterator[str]:
    """The user's words in hand-overs, and those in digests that an earlier message held; oldest
    first. What a digest cut of one of the session's `user_texts` is not among them.
    """
    typed = [strip_host_markup(text).strip() for text in user_texts]
    for text in _list_summaries(messages):
        handed_over = text.startswith(HANDOFF_OPENING)
        for label, words in _split_said(text):
            if handed_over or (label == EARLIER_LABEL and not _is_cut_of(words, typed)):
                yield words
        if handed_over and (state := _parse_state(text)) is not None:
            yield state.last_request


def _is_cut_of(words: str, typed: Sequence[str]) -> bool:
    """Whether the words are what is left of one of these texts after a cut in the middle."""
    cut = split_at_cut(words)
    return cut is not None and any(
        each.startswith(cut[0]) and each.endswith(cut[1]) for each in typed
    )


def find_handed_over_work_state(messages: Iterable[Message]) -> HandedOverRequestAndTasks | None:
    """The state in the newest hand-over among these messages; None where there is none, or where
    nothing was asked before it.
    """
    found = [_parse_state(text) for text in _list_summaries(messages)]
    return next((state for state in reversed(found) if state is not None), None)


def _list_summaries(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        for block in message.blocks if message.role == "user" else ():
            if isinstance(block, TextBlock) and (
                block.text.startswith(HANDOFF_OPENING) or message.id == EXTRACTIVE_SUMMARY_ID
            ):
                yield block.text


def _split_said(text: str) -> Iterator[tuple[str, str]]:
    """Label and words of each quotation in the section of the user's words."""
    section = _SAID.search(text)
    if section is None:
        return
    labels = list(_LABEL.finditer(section[1]))
    ends = [*(label.start() for label in labels), len(section[1])][1:]
    for label, end in zip(labels, ends, strict=True):
        words = section[1][label.end() : end].strip()
        if words and words != PICTURE_ALONE:
            yield label[1], words


def _parse_state(text: str) -> HandedOverRequestAndTasks | None:
    found = _ASKED.search(text) if text.startswith(HANDOFF_OPENING) else None
    if found is None:
        return None
    return HandedOverRequestAndTasks(found[1].strip(), tuple(_OPEN_TASK.findall(found[2])))
