"""The user's words that a conversation begins with as quotations: those in a hand-over from another
agent, and in the digest that was made of one. Pure.

Nobody typed them in this session, so they stand in no message of the user; without this they would
be lost with the message that quotes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from memorist.compaction.user_words import (
    EARLIER_LABEL,
    INTERRUPTED_MARK,
    UNANSWERED_MARK,
    USER_WORDS_TITLE,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message, Origin, TextBlock
from memorist.core.truncation import split_at_cut
from memorist.formats.host_markup import strip_host_markup

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
    rf"(?:, (?:{INTERRUPTED_MARK}|{UNANSWERED_MARK}))?\] ",
    re.MULTILINE,
)
_ASKED = lazy_pattern(
    rf"^## Where it stands\n{ASKED_LABEL}(.*?)\n(?:{STILL_AT_WORK}|{REPLIED})$(.*?)(?=^## |\Z)",
    re.MULTILINE | re.DOTALL,
)
_OPEN_TASK = lazy_pattern(r"^- open: .*$", re.MULTILINE)


class HandedOverWorkState(Struct, frozen=True):
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


def find_handed_over_work_state(messages: Iterable[Message]) -> HandedOverWorkState | None:
    """The state in the newest hand-over among these messages; None where there is none, or where
    nothing was asked before it.
    """
    found = [_parse_state(text) for text in _list_summaries(messages)]
    return next((state for state in reversed(found) if state is not None), None)


def _list_summaries(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        for block in message.blocks if message.role == "user" else ():
            if isinstance(block, TextBlock) and (
                block.text.startswith(HANDOFF_OPENING) or message.origin is Origin.SUMMARY
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
        if words := section[1][label.end() : end].strip():
            yield label[1], words


def _parse_state(text: str) -> HandedOverWorkState | None:
    found = _ASKED.search(text) if text.startswith(HANDOFF_OPENING) else None
    if found is None:
        return None
    return HandedOverWorkState(found[1].strip(), tuple(_OPEN_TASK.findall(found[2])))
