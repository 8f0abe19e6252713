"""Whether a message asks how something is in the project, and is no request. Pure.

`How do we install dependencies` asks for what is known; `can you install them?`, `can we install
them?` and `why did this fail https://…` are about the work at hand.
"""

from __future__ import annotations

import re

from memorist.core.lazy import lazy_pattern

MAX_QUESTION_WORDS = 15
"""Words of the longest question; a longer message tells what it is about."""

_LEAD = r"\W*(?:(?:so|and|but|ok|okay|hm+|well|und|aber|et|mais|y|pero|e|mas|и|а|но)\b,?\s*){0,2}"
_QUESTION_WORD = lazy_pattern(
    _LEAD + r"(?:what|which|who|whom|whose|where|when|why|how"
    r"|welche[rsnm]?|wer|wem|wen|wo|wohin|woher|wann|warum|wieso|weshalb|wie|womit|worauf|was"
    r"|qu['’]est-ce|quoi|quel(?:le)?s?|qui|où|quand|pourquoi|comment|combien"
    r"|qué|cuál(?:es)?|quién(?:es)?|dónde|cuándo|cómo|cuánt[oa]s?|por qué"
    r"|o que|qual|quais|quem|onde|quant[oa]s?|por que|como"
    r"|che cosa|quale|quali|chi|dove|perché|quanto"
    r"|что|как(?:ой|ая|ие|ое)?|кто|где|куда|когда|почему|зачем|сколько|чем)\b",
    re.IGNORECASE,
)
"""A question word at the head, in the languages that are read."""
_CONJUNCTION = lazy_pattern(
    _LEAD + r"(?:when|was|wie|wo|quand|onde|donde|como|come|quando|cuando|что|как|когда)\b",
    re.IGNORECASE,
)
"""Those of them that also begin a clause ("when it is done, push"), or mean something else too."""
_WIDE_QUESTION = lazy_pattern(
    r"什么|怎么|怎样|为什么|为何|哪|谁|多少|吗[？?]?\s*\Z|何|どこ|どの|どう|どれ|なぜ|いつ|誰|か[。？?]?\s*\Z"
)
"""The same anywhere, where words are not parted."""
_VERB_FIRST = lazy_pattern(
    _LEAD + r"(?:is|are|was|were|do|does|did|can|could|may|should|must|has|have|am"
    r"|ist|sind|wird|werden|gibt|darf|dürfen|muss|müssen|haben|hat|est-ce|y a-t-il|hay|há"
    r"|есть ли)\b",
    re.IGNORECASE,
)
_QUESTION_MARK = lazy_pattern(r"[?？؟][\W_]*\Z")
_REQUEST = lazy_pattern(
    r"://|\b(?:you|your|you['’]re|u|ya|please|pls|let['’]?s"
    r"|du|dich|dir|dein\w*|euch|euer|bitte|kannst|könntest|können (?:wir|sie)"
    r"|tu|te|toi|vous|votre|vos|ton|ta|peux|pouvez|pourr\w+|s['’]il"
    r"|tú|usted(?:es)?|puedes|podrías|puede|por favor|você|vc|pode|poderia|puoi|potresti|per favore"
    r"|ты|тебя|тебе|вы|вас|твой|можешь|можете|пожалуйста)\b|(?-i:\b(?:Sie|Ihnen|Ihre?)\b)"
    r"|你|您|请|あなた|ください|くれ|もらえ"
    rf"|\A{_LEAD}(?:can|could|shall|should) (?:we|i)\b",
    re.IGNORECASE,
)
"""Speaks to the agent, points to something to look at, or proposes what to do."""

_DONE_BY_AGENT = lazy_pattern(
    r"\b(?:(?:did|have|had) (?:you|u|ya)|(?:hast|hattest) du|habt ihr|as-tu|avez-vous)\b",
    re.IGNORECASE,
)
"""Behind a question word these ask what was done ("what did you find in …?")."""


def is_question_without_request(message: str) -> bool:
    """Whether a message is a short question that asks nobody to do anything. In doubt, no."""
    text = message.strip()
    if "\n" in text or len(text.split()) > MAX_QUESTION_WORDS:
        return False
    if _REQUEST.search(_DONE_BY_AGENT.sub("", text) if _QUESTION_WORD.match(text) else text):
        return False
    if _QUESTION_MARK.search(text) and (_QUESTION_WORD.match(text) or _VERB_FIRST.match(text)):
        return True
    has_word = _QUESTION_WORD.match(text) is not None and _CONJUNCTION.match(text) is None
    return has_word or _WIDE_QUESTION.search(text) is not None
