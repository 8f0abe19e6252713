"""English words that the ranker treats specially.

In other languages, rarity in the index identifies common words. Pure.
"""

from __future__ import annotations

import re

_STOP = (
    "a about after all also an and any are as at be been before being but by can could d did do does doing done down during each for from"
    " had has have having he her here hers him his how i if in into is it its just ll m many may me might mine more most much must my no nor"
    " not of on or other our ours out over re s shall she should since so some such t than that the their theirs them then there these they"
    " this those to under up us ve very was we were what when where which who whom whose why will with would you your yours"
    " isn didn doesn don wasn weren won wouldn couldn shouldn hasn haven hadn"
)
STOP_WORDS = frozenset(_STOP.split())
"""Words of a query that do not say what it is about."""

_FORMS = (
    "become became|begin began begun|bend bent|bite bit bitten|blow blew blown|break broke broken|bring brought|build built|burn burnt|buy bought"
    "|catch caught|choose chose chosen|come came|creep crept|deal dealt|dig dug|draw drew drawn|dream dreamt|drink drank drunk"
    "|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found|fly flew flown|forget forgot forgotten"
    "|forgive forgave forgiven|freeze froze frozen|get got gotten|give gave given|go went gone|grow grew grown|hang hung|hear heard"
    "|hide hid hidden|hold held|keep kept|know knew known|lay laid|lead led|learn learnt|leave left|lend lent|lose lost|make made|mean meant"
    "|meet met|pay paid|ride rode ridden|ring rang rung|rise rose risen|run ran|say said|see saw seen|seek sought|sell sold|send sent"
    "|shake shook shaken|shine shone|shoot shot|sing sang sung|sink sank sunk|sit sat|sleep slept|speak spoke spoken|spend spent"
    "|spring sprang|stand stood|steal stole stolen|stick stuck|strike struck|swear swore sworn|sweep swept|swim swam swum|take took taken"
    "|teach taught|tear tore torn|tell told|think thought|throw threw thrown|understand understood|wake woke woken|wear wore worn"
    "|weave wove woven|win won|write wrote written|rewrite rewrote rewritten|undo undid undone|child children kid kids|man men|woman women"
    "|person people|mouse mice|foot feet|tooth teeth|wife wives|life lives|leaf leaves|knife knives|shelf shelves|index indices"
    "|movie film films|mother mom mum mommy|father dad daddy|photo photos photograph picture pictures pic pics|bike bicycle"
    "|grandmother grandma|grandfather grandpa|tv television|database db|repository repo repos|directory dir dirs folder folders"
    "|configuration config configs|documentation docs|environment env|authentication auth|kubernetes k8s|javascript js|typescript ts"
)
BASE_FORMS = {form: forms.split()[0] for forms in _FORMS.split("|") for form in forms.split()[1:]}
"""Irregular forms and a few everyday synonyms, mapped to the word they count as: no stemmer joins
`went` to `go`.
"""

TELLS_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|recently|since|week(?:end)?s?|months?|years?|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|january|february|march|april|may|june|july|august|september|october|november|december|\d+)\b",
    re.IGNORECASE,
)
"""A text that places something in time."""

ASKS_WHEN = re.compile(r"\bwhen\b|\bhow long\b|\b(?:what|which) (?:year|month|date|day|time)\b", re.IGNORECASE)
"""A question about time."""
