"""Classify a user message by its effect on the current task: begins one, continues, accepts or
corrects it. Pure.

By its words alone, in English and some Chinese; in doubt it continues: one task too many says less
than one that holds what belongs together.
"""

from __future__ import annotations

import re
from enum import StrEnum

from memorist.core.later import late_pattern
from memorist.session_memory.sections_work import CORRECTS


class Act(StrEnum):
    """The effect of a message."""

    COMMAND = "command"
    """A bare slash command, or a shell line of the user's own: it asks nothing of the agent."""
    ACCEPTS = "accepts"
    """Thanks, praise, or permission to commit what was done."""
    GOES_ON = "goes_on"
    """A short word to go on, or a question or addition about the current task."""
    CORRECTS = "corrects"
    BEGINS = "begins"


SHORT = 8
"""Words of the longest message that only accepts or continues."""
READ = 2_000
"""Characters of a message that are examined."""
ASIDE = 14
"""Words of the longest question or addition that belongs to the current task."""

_BARE = late_pattern(r"/[\w:-]+|!.*|Read the output file to retrieve the result: \S+|Continue from where you left off\.", re.DOTALL)
"""The last two are inserted by Claude Code in the user's name."""
_GO_WORDS = frozenset(
    re.findall(
        r"\w+",
        """ok okay k yes yeah yep yup y sure please pls pelase then now and great good perfect nice cool go ahead continue proceed do it on with this that
        these those them all both the a an next step steps finish keep going resume let s again try run commit push merge pr main master origin changes
        change branch         directly to done saved complete
        ship fine right correct 好 好的 继续 可以 是 对 行 嗯 提交 推送""",
    )
)
_SHIPS = late_pattern(r"\b(?:commit|push|merge it|merge this|ship it|land it)\b|提交|推送|合并", re.IGNORECASE)
_PRAISES = late_pattern(
    r"(?:ok(?:ay)?,? |yes,? |yeah,? |ah,? |oh,? )?(?:thanks|thank you|thx|ty\b|perfect|great|awesome|nice|excellent|amazing|brilliant|lovely"
    r"|(?:it|that|this|everything|all)(?: now)? works\b|works\b|looks (?:good|great|fine|right)|lgtm|love it|well done"
    r"|good (?:job|work|catch)|谢谢|多谢|很好|完美|太好了|可以了|没问题了)",
    re.IGNORECASE,
)
_DOUBTS = late_pattern(
    r"\b(?:but|however|except|although|still|not|n['’]t|fails?|failing|broken|error|wrong)\b|但|不过|还是|没有|不行", re.IGNORECASE
)
_WRONG = late_pattern(
    r"(?:oops|hmm+|huh|ugh|argh|sorry|umm?)?[,.! ]*(?:(?:it|this|that|which|still) (?:is |was |does |did |has )?(?:still )?(?:not|n['’]t|broken|wrong"
    r"|fails?|failing)|(?:it|this|that) (?:doesn|didn|isn|wasn|hasn|won|can)['’]?t\b|not (?:what|right|working|quite|like)"
    r"|you['’]?(?:ve| have) (?:just )?\w+ the wrong"
    r"|i didn['’]?t (?:ask|tell|say|mean|want)|i (?:said|meant|told you|asked)\b|you (?:were not|weren['’]?t) (?:asked|supposed)|doesn['’]?t work"
    r"|does not work|same (?:error|problem|issue)|oops|that['’]?s not)"
    r"|(?:不对|错了|不是这样|还是不行|没用)",
    re.IGNORECASE,
)
_WRONG_THEN = late_pattern(r"[.!?,] (?:that|this|it)(?:['’]s| is| was)(?: just)? (?:not|wrong)\b", re.IGNORECASE)
"""Turns a sentence that only reports into a correction."""
_JOINS = late_pattern(
    r"(?:and|also|but|so|then|now|plus|additionally|in add\w+|something else|another thing|one more|anything else|while (?:we|you)['’]?re|next"
    r"|once done|after that|what about|how about|ok|okay|yes|yeah|yep|yup|instead|actually|for (?:this|that)|the same|same for"
    r"|this|that|these|those|it|they|why|what['’]?s"
    r"|is (?:this|that|it|there)|are (?:these|those|there|they)|does (?:this|that|it)|do (?:we|these)|did|was|tell me why|not sure|what i mean"
    r"|can (?:you|we) also|另外|还有|然后|接着|顺便|为什么)(?![\w-])",
    re.IGNORECASE,
)
_REQUESTS = late_pattern(r"(?:can|could|would|will) you (?!also\b)|please ", re.IGNORECASE)
"""A request in the form of a question."""
_WORD = late_pattern(r"[\w'’]+|[\u4e00-\u9fff]")
_LINK = late_pattern(r"https?://\S+")


def act_of(text: str, *, first: bool) -> Act:
    """Classify a typed message; `first` if nothing was asked before it."""
    plain = text[:READ].strip()
    if _BARE.fullmatch(plain):
        return Act.COMMAND
    words = _WORD.findall(_LINK.sub("", plain).casefold())
    if first or not words:
        return Act.BEGINS if words or plain else Act.COMMAND
    if _accepts(plain, words):
        return Act.ACCEPTS
    if len(words) <= SHORT and set(words) <= _GO_WORDS:
        return Act.GOES_ON
    if _corrects(plain, words):
        return Act.CORRECTS
    return Act.GOES_ON if _is_aside(plain, words) else Act.BEGINS


def _accepts(text: str, words: list[str]) -> bool:
    if text.endswith("?") or _DOUBTS.search(text):
        return False
    return (len(words) <= SHORT and _SHIPS.search(text) is not None) or (len(words) <= 2 * SHORT and _PRAISES.match(text) is not None)


def _corrects(text: str, words: list[str]) -> bool:
    if CORRECTS.match(text) or _WRONG.match(text):
        return True
    praised = len(words) <= ASIDE and _PRAISES.match(text) and _DOUBTS.search(text)
    return bool(praised) or (len(words) <= 3 * ASIDE and _WRONG_THEN.search(text) is not None)


def _is_aside(text: str, words: list[str]) -> bool:
    """Tell whether it is a short question, or an addition that says so.

    A message with a link of its own is a topic of its own.
    """
    if _LINK.search(text) and len(words) > 2:
        return False
    asks = text.endswith("?") and not (_REQUESTS.match(text) and len(words) > SHORT)
    return (len(words) <= ASIDE and asks) or len(words) <= 3 or (len(words) <= 3 * ASIDE and _JOINS.match(text) is not None)
