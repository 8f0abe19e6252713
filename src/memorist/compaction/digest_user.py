"""The user's own words in an extractive summary: verbatim, in order; corrections and newest first
where room is short (CP-16). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from memorist.core.messages import Message, Origin, Text
from memorist.core.tokens import estimate_text
from memorist.core.truncate import cut_middle
from memorist.formats.harness import typed_text

SHORTEST_CUT = 60
"""A message is dropped rather than cut to fewer tokens than this."""

_LIMIT = re.compile(
    r"\b(?:don['’]?t|do not|never|always|only|must|must not|no longer|stop|instead|not|without|avoid|keep|unless|wrong|revert|undo|actually)\b",
    re.IGNORECASE,
)
_SHORT = 400
"""Characters up to which words like `never` mark a message as a limit or correction; in a longer
one they prove nothing.
"""


class Said(Struct):
    """Words of the user: the step of their last occurrence, and how often they occurred in the same
    form.
    """

    step: int
    text: str
    times: int = 1


def user_words(messages: Sequence[Message]) -> list[Said]:
    """What the user typed, in order; repetitions are counted with the first occurrence."""
    found: dict[str, Said] = {}
    for step, message in enumerate(messages, 1):
        for block in message.blocks:
            if not isinstance(block, Text) or (block.origin or message.origin) is not Origin.USER:
                continue
            text = typed_text(block.text).strip()
            if not text:
                continue
            known = found.get(text)
            if known is None:
                found[text] = Said(step, text)
            else:
                known.times += 1
                known.step = step
    return sorted(found.values(), key=lambda each: each.step)


def earlier_words(said: Sequence[str], messages: Sequence[Message]) -> list[Said]:
    """What the user typed before these messages: the texts that none of the messages holds. Their
    step is 0.
    """
    present = {each.text for each in user_words(messages)}
    texts = dict.fromkeys(typed_text(text).strip() for text in said)
    return [Said(0, text) for text in texts if text and text not in present]


def is_limit(text: str) -> bool:
    """Whether these words appear to set a limit or correct something."""
    return len(text) <= _SHORT and _LIMIT.search(text) is not None


def choose_words(said: Sequence[Said], room: int, *, last: str = "") -> list[Said]:
    """The utterances that fit `room` tokens, in order.

    Priority: the last request (whole, whatever it costs), limits and corrections, the first
    request, then the others newest first. The first of each kind that does not fit is cut in its
    middle.
    """
    chosen: list[Said] = []
    for each in _by_weight(said, last):
        cost = estimate_text(each.text) + 6
        if each.text == last or cost <= room:
            chosen.append(each)
        elif room >= SHORTEST_CUT:
            cut = cut_middle(each.text, room - 20)
            chosen.append(Said(each.step, cut, each.times))
            cost = estimate_text(cut) + 6
        else:
            continue
        room -= cost
    return sorted(chosen, key=lambda each: each.step)


def _by_weight(said: Sequence[Said], last: str) -> list[Said]:
    newest = list(reversed(said))
    first = said[:1]
    ranked = [each for each in newest if each.text == last]
    ranked += [each for each in newest if is_limit(each.text)]
    ranked += [each for each in first if estimate_text(each.text) < _SHORT]
    ranked += newest
    return list({id(each): each for each in ranked}.values())


def words_text(said: Sequence[Said]) -> str:
    """Render the utterances as a list."""
    lines = []
    for each in said:
        times = f", {each.times} times, last" if each.times > 1 else ""
        lines.append(f"[{f'step {each.step}' if each.step else 'earlier'}{times}] {each.text}")
    return "\n".join(lines)
