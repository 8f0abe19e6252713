"""Building blocks of the patterns: verbs that give an order, and phrases around them. Pure.

These are word lists, not grammar: an order is recognised by the base form of a verb that users give
to a coding agent. Unlisted verbs are missed, never guessed.
"""

from __future__ import annotations

import re

from memorist.core.later import late_pattern

_VERBS = """
    add address adhere allow annotate answer apply archive ask assert assign assume attach avoid back batch begin branch break bring build bump call
    capture cast catch change check choose cite clean clear close collect combine comment commit communicate compare compile compress configure
    confirm consider consult convert copy count cover create cut debug declare default defer define delete deploy describe design disable discuss
    display divide document download draft drop duplicate echo edit embed enable end enforce ensure escape estimate execute explain expose export
    extend extract fail favor favour fetch fill filter find finish fix flag focus follow force format generate get give go group guard guess handle
    highlight hard-code hardcode hide ignore implement import include increment indent infer inform inject inline insert inspect install introduce
    invent isolate join keep label lead leave let limit link lint list load lock log look lower maintain make mark match measure mention merge
    migrate minimise minimize mock modify mount move name nest note notify number offer omit open optimise optimize order organise organize output
    overwrite package parse pass paste pause perform pick pin place plan point post prefer prefix prepare present preserve print prioritise
    prioritize produce propose provide publish pull push put query quote raise re-run read rebase recommend record redirect reduce refactor refer
    reformat refresh regenerate release reload rely remind remove rename reorder repeat rephrase replace reply report request require rerun reset
    resolve respect respond restart restore restrict retain retry return reuse revert review rewrite roll run save say scan schedule scope search
    see send separate set ship shorten show sign simplify skip sort speak specify split squash stage stash start state stay stick stop store
    stub structure submit suffix suggest summarise summarize suppress switch sync tag take talk target tell terminate test think throw touch track
    translate treat trim trust try turn type uninstall update upgrade upload use validate verify version wait warn watch work wrap write
"""

VERB = "(?:" + "|".join(sorted(set(_VERBS.split()), key=len, reverse=True)) + ")"
"""The base form of a verb that orders something."""

NOT = r"(?:don['’]?t|do not|dont)"
SOFT = r"(?:(?:please|pls|kindly|also|just|only|do|really|then|simply|first|instead|either|ever|at least)\s+)*"
_NO_ORDER = (
    r"(?! (?:worry|hesitate|mind|bother|know|see|understand|have|get|like|want|need|believe|care|give up|say never"
    r"|look forward|be afraid)\b)"
)
ORDER = rf"(?:{SOFT}(?:{NOT}{_NO_ORDER}|always|never|no more|avoid|be|{VERB})\b(?!['’]s))"
"""The beginning of an order."""

PLACE = (
    r"(?:repo|repos|repository|repositories|project|projects|codebase|code base|monorepo|team|company|org|organisation"
    r"|organization|workspace)"
)

FUTURE = (
    r"(?:from (?:now|here|this point|today) on(?:wards?|ward)?(?: out)?|from here on(?: out)?|going forward|moving forward"
    r"|in (?:the )?future"
    r"|henceforth|for (?:all )?(?:the )?future (?:sessions|work|tasks|changes|conversations|projects|chats|runs|commits)"
    r"|in (?:all )?(?:our )?future (?:sessions|work|tasks|changes|conversations|chats)|for next time|as a (?:general )?rule"
    r"|as a rule of thumb)"
)
"""Says that what follows holds from now on."""

_LEAD_IN = late_pattern(
    r"(?:(?:ok|okay|k|yes|yeah|yep|yup|sure|good|great|great work|good work|nice|nice work|cool|perfect|thanks|thank you|thx"
    r"|alright|right|exactly"
    r"|and|also|but|so|well|btw|by the way|fyi|hey|hi|hello|please|pls|oh|now|then|one more thing|one thing|another thing"
    r"|last thing|finally|remark"
    r"|next|sorry|look|listen|important|rule|reminder|actually|got it|looks good|lgtm)(?:\s*[,.:;!–—-]+\s*|\s+))+",
    re.IGNORECASE,
)
_LEAD_IN_CHINESE = late_pattern(
    r"(?:好的?|可以|行|嗯|对了|另外|还有|顺便|顺便说一下|谢谢|那|请|麻烦|麻烦你|你|最后|然后)[，,。！!、：:\s]*(?=\S)"
)


def after_lead_in(text: str) -> int:
    """Return where a sentence begins after greetings, thanks and connecting words."""
    at = 0
    match = _LEAD_IN.match(text)
    if match:
        at = match.end()
    chinese = _LEAD_IN_CHINESE.match(text, at)
    while chinese:
        at = chinese.end()
        chinese = _LEAD_IN_CHINESE.match(text, at)
    return at
