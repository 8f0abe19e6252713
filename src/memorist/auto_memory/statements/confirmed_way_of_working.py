"""What a lone confirmation ("yes exactly, keep doing that") confirms: a sentence of the agent's
about its own way of working. Pure.

Most replies end in something else: a link, a result, the next step, an offer. Kept as a rule, that
would be nonsense; then nothing waits.
"""

from __future__ import annotations

import re

from memorist.auto_memory.statements.statement_filters import is_question_or_supposition
from memorist.auto_memory.statements.user_prose import split_prose_sentences
from memorist.core.lazy import lazy_pattern

LASTING_ANSWER = lazy_pattern(
    r"(?:(?:yes|yeah|yep|ok(?:ay)?|sure|no(?:pe)?|ja|nein|oui|non|sí|si|sim|não|да|нет|对|好的?|是的?|不|はい|いいえ|네|예|응|아니요?)\b[\s,.!，、。]*|(?:please|bitte|do (?:it|that))\b[\s,]*)*"
    r"(?:always|never|every ?time|each time|from now on|by default|immer|nie(?:mals)?|jedes mal|ab jetzt|toujours|jamais|à chaque fois|siempre|nunca|cada vez|sempre|всегда|никогда|каждый раз"
    r"|以后都要?|每次都?要?|永远|从现在开始|毎回|いつも|常に|항상|절대|매번|언제나|앞으로도?)(?:[\s,]+(?:please|bitte|do (?:it|that)|그렇게|해줘|해주세요))*[\s.!。！]*",
    re.IGNORECASE,
)
"""A whole message that answers a question for good: "yes, always". The question says what it means."""
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


def find_confirmed_text(answer: str, reply: str) -> str:
    """What a lone answer stands for: a question at the end of the reply, with the answer, or how the
    agent says that it works; empty for none.
    """
    if not LASTING_ANSWER.fullmatch(answer):
        return find_way_of_working_in_reply(reply)
    sentences = [one.text for one in split_prose_sentences(reply)][-MAX_SENTENCES_BACK:]
    asked = next((each for each in reversed(sentences) if each.endswith(("?", "？"))), "")
    return f"{asked} – {answer}" if asked else ""


def _is_manner(sentence: str) -> bool:
    if len(sentence) < MIN_MANNER_CHARS and sentence.isascii():
        return False
    is_own = _OWN_MANNER.match(sentence) or _JAPANESE_MANNER.fullmatch(sentence)
    return (
        bool(is_own)
        and not _ONE_RESULT.search(sentence)
        and not is_question_or_supposition(sentence)
    )
