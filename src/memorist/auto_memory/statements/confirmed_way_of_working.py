"""What a lone confirmation ("yes exactly, keep doing that") confirms: a sentence of the agent's
about its own way of working. Pure.

Most replies end in something else: a link, a result, the next step, an offer. Kept as a rule, that
would be nonsense; then nothing waits.
"""

from __future__ import annotations

import re

from memorist.auto_memory.statements.statement_filters import is_question
from memorist.auto_memory.statements.user_prose import split_prose_sentences
from memorist.core.lazy import lazy_pattern

MAX_SENTENCES_BACK = 3
"""Last sentences of a reply that a confirmation may mean. Our choice."""

MIN_MANNER_CHARS = 16
"""Characters of the shortest sentence that says how something was done. Our choice."""

_OWN_MANNER = lazy_pattern(
    r"(?:so |also,? |this time,? |as before,? |note:? )?(?:"
    r"(?:i|we)(?:['’]ve| have)? (?:(?:also|only|always|first|deliberately|just|\w+ly) )?(?!need|proceed)(?:\w{2,}ed|ran|"
    r"kept|put|wrote|made|took|used|left|split|set|chose|built|held|gave|went|read|did(?: not|n['’]t))\b"
    r"|(?:ich|wir) hab(?:e|en)?\b|(?:j['’]ai|nous avons|on a)\b|(?:yo |nosotros )?(?:he|hemos) \w+(?:[ai]do|to|cho)\b"
    r"|(?:eu )?\w+(?:ei|amos) (?:a|o|os|as|cada|tudo|em)\b|(?:я|мы) (?:\w+ )?\w+(?:л|ла|ли)\b"
    r"|我(?:们)?(?:先|只|都|把|用|没|按|将))",
    re.IGNORECASE,
)
_JAPANESE_MANNER = lazy_pattern(r".*(?:ました|しています)[。.!]?")
_ONE_RESULT = lazy_pattern(
    r"https?://|\b[0-9a-f]{7,40}\b|#\d+|\b\d+ (?:tests?|files?|checks?)\b|"
    r"\b(?:commit(?:ted)?|pushed|merged|posted|opened|fixed|verified|confirmed|checked|found)\b",
    re.IGNORECASE,
)
"""What came of one task, which no later one repeats."""


def find_way_of_working_in_reply(reply: str) -> str:
    """The newest sentence at the end of a reply that says how the agent works; empty for none."""
    sentences = [one.text for one in split_prose_sentences(reply)][-MAX_SENTENCES_BACK:]
    return next(filter(_is_manner, reversed(sentences)), "")


def _is_manner(sentence: str) -> bool:
    if len(sentence) < MIN_MANNER_CHARS and sentence.isascii():
        return False
    is_own = _OWN_MANNER.match(sentence) or _JAPANESE_MANNER.fullmatch(sentence)
    return bool(is_own) and not _ONE_RESULT.search(sentence) and not is_question(sentence)
