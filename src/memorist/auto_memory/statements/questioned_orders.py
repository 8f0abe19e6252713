"""The order that a question asks for: "could you please always run the tests?" asks to always run
the tests, 毎回謝るのやめてもらえますか to stop apologizing. Pure.

A question of this form is mostly a task, so what it asks for is judged as if it were ordered plainly.
The words looked for are of closed classes: auxiliaries with the person spoken to, and what makes them
polite. The verb behind them is any.
"""

from __future__ import annotations

import re

from memorist.auto_memory.statements.statement_patterns import VERBS
from memorist.core.lazy import lazy_pattern

_POLITE = (
    r"(?:please|pls|plz|kindly|maybe|perhaps|just|possibly|bitte|vielleicht|stp|svp|s['’]il (?:te|vous) pla[iî]t|por favor|porfa|"
    r"пожалуйста)"
)
_LATER = (
    r"(?:from now on|going forward|in (?:the )?future|in zukunft|künftig|zukünftig|ab jetzt|à l['’]avenir|désormais|dorénavant|de ahora en adelante|a partir de ahora|en adelante|"
    r"a partir de agora|de agora em diante|daqui (?:pra|para a) frente|впредь|в будущем)"
)
_ASKS = (
    r"(?:would|do) you mind|(?:can|could|would|will) (?:you|u|ya|we)"
    r"|(?:kannst|könntest|würdest|magst) du|(?:können|könnten|würden) sie|(?:könnt|könntet|würdet) ihr|(?:können|könnten|sollten) wir"
    r"|(?:est-ce que )?(?:tu (?:peux|pourrais)|vous (?:pouvez|pourriez))|(?:peut|pourrait)-on|(?:peux|pourrais)-tu|(?:pouvez|pourriez)-vous"
    r"|(?:¿ ?)?(?:me )?(?:puedes|podrías|podés|puede usted|podría usted)|(?:será que )?(?:(?:você|vc|tu) )?(?:pode|poderia|podia|podes|podias)|tem como(?: você)?|dá (?:pra|para)(?: você)?"
    r"|(?:а )?(?:ты |вы )?(?:не )?(?:можешь|можете|мог(?:ла|ли)? бы)(?: ты| вы)?"
    # Of those who may also say so and ask nothing, with the sign of a question.
    r"|(?:(?:est-ce qu['’])?on (?:peut|pourrait)|(?:a gente )(?:pode|poderia)|(?:¿ ?|nós )?(?:podemos|podríamos|poderíamos)|(?:мы )?(?:можем|могли бы))(?=[^?]*\?)"
)
_QUESTION = lazy_pattern(
    rf"(?:(?P<later>{_LATER})[\s,]+)?(?:{_ASKS})(?:,? {_POLITE}\b,?)* (?P<order>[^?]{{5,}}?)(?:,? {_POLITE})?[\s.!]*\??\s*\Z",
    re.IGNORECASE,
)
_CHINESE = lazy_pattern(
    r"(?P<later>以后|今后|下次)?(?:请问)?你?(?:能不能|能否|可不可以|可以不可以|可否|可以|能)(?P<order>[^?？]{3,}?)(?:[吗么嘛呢吧]|，?(?:好吗|行吗|可以吗))?[。!！]*[?？]?\s*\Z"
)
_JAPANESE = lazy_pattern(
    r"(?P<order>[^?？]{3,}?(?:て|で))(?:もらえ|もらって(?:も)?(?:いい|よい|大丈夫)|くれ(?:る|ます|ない|ません)|くださ(?:い|いません)|いただけ|いただいて(?:も)?)[^。?？]{0,10}[。]?[?？]?\s*\Z"
)
_KOREAN = lazy_pattern(
    r"(?P<order>[^?]{3,}?(?:지 ?말아|[아어해여려겨켜춰워와봐]))\s?(?:줄래|줄 수 있|주실래|주시겠|주실 수 있)[^?]{0,8}\??\s*\Z"
)
_NEGATED = lazy_pattern(r"not (?:to )?", re.IGNORECASE)
_GERUND = lazy_pattern(r"[a-z-]{3,}ing\b")
_STOPS = lazy_pattern(
    r"(?:(?:please )?(?:stop|quit) (?!the\b|it\b|here\b)\w+ing\b|aufhören,? \w|arrêter (?:de |d['’])\w+|cesser (?:de |d['’])\w+|dejar de \w+r(?:te|se|me)?\b|parar de (?:me |se )?\w+r\b|перестать \w+ть|перестать \w+ться"
    r"|[^?]{1,30}(?:のを?|は)やめて)",
    re.IGNORECASE,
)


def find_order_in_question(masked: str) -> str:
    """The order that a polite question asks for, as it would be given plainly; empty for any other."""
    for form in (_QUESTION, _CHINESE, _JAPANESE, _KOREAN):
        found = form.match(masked)
        if found is not None:
            later = found.groupdict().get("later") or ""
            return f"{later} {_order_plainly(found)}".strip()
    return ""


def asks_to_stop(order: str) -> bool:
    """Whether an order in a question is to stop doing something, whatever it is."""
    return _STOPS.match(order) is not None


def _order_plainly(found: re.Match[str]) -> str:
    order = found["order"].strip()
    negated = _NEGATED.match(order)
    words = order[negated.end() :] if negated else order
    gerund = _GERUND.match(words)
    if gerund:
        words = _find_base_form(gerund[0]) + words[gerund.end() :]
    return f"don't {words}" if negated else words


def _find_base_form(gerund: str) -> str:
    stem = gerund.removesuffix("ing")
    return next((each for each in (stem, f"{stem}e", stem[:-1]) if each in VERBS), stem)
