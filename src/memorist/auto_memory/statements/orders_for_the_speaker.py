"""An order with what it is for: who gives it, or the project. "One command at a time, I'm not an ops
person", "schreib kürzer ich lese am Handy", "use tabs, our linter insists". Pure.

What somebody is and works with lasts longer than a task, so an order that it explains does, too. The
words looked for are the first person with a verb of state, in front of the order or behind it; of the
order, that it names no single thing, and that it begins as orders do.
"""

from __future__ import annotations

import re

from memorist.auto_memory.statements.pattern_alternatives import OpeningPattern
from memorist.auto_memory.statements.statement_filters import is_question_or_supposition
from memorist.auto_memory.statements.statement_patterns import find_lead_in_end
from memorist.auto_memory.statements.user_prose import ProseSentence, mask_quotations
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import count_cjk_letters

MIN_ORDER_CHARS = 6
"""Characters of the shortest order; a Chinese or Japanese one counts as two."""

_STATE = (
    r"(?:(?:i['’]m|i am|im) (?:(?:not|only|just|really|mostly) )*(?:an? |on (?:a |my )|no |in [a-z]+\b|(?:reading|using|working|typing|blind|deaf|dyslexic|colou?r|left|from|new) )|i (?:read|work|use|have|speak|live|only have|can['’]?t (?:read|see|hear|scroll|type)|(?:don['’]?t|do not|never) (?:know|speak|understand|read|code|do|have))\b"
    r"|(?:my|our) (?:[\w-]+ ){1,3}(?:is|are|reads?|uses?|needs?|insists?|requires?|rejects?|forbids?|can['’]?t|only)\b|the [\w-]+ of (?:this|our) (?:repo\w*|project|team|company) \w+|we(?:['’]re| are| use| have| support| only)\b"
    r"|ich (?:bin|lese?|arbeite|nutze|hab(?:e|['’])?|kann|kenne|verstehe|spreche|sitze|tippe)\b|(?:das |es )?(?:verlangt|verbietet|will) unser\w*|unsere?[rs]? [\w-]+ (?:ist|sind|hat|will|verlangt|verbietet|erwartet|braucht)\b|wir (?:sind|haben|nutzen)\b|bei uns\b"
    r"|je (?:suis|lis|travaille|bosse|ne suis|connais|parle|vois|n['’]y connais|code)\b|j['’](?:ai|utilise|y connais)\b|chez nous\b|not?(?:re|s) [\w-]+ (?:est|sont|exige|demande|refuse|interdit|utilise)\b|on (?:est|utilise)\b"
    r"|(?:yo )?(?:no )?(?:soy|leo|trabajo|uso|vivo)\b|(?:yo )?estoy (?:en|con)\b|(?:yo )?no (?:sé|se|entiendo|hablo|veo|leo)\b|nuestr[oa]s? [\w-]+ (?:es|son|exige|pide|usa|prohíbe)\b"
    r"|(?:eu )?(?:(?:n[ãa]o|n) )?(?:sou|leio|trabalho|uso|moro)\b|(?:eu )?(?:t[ôo]|estou) (?:n[oa]|com|de)\b|(?:eu )?n[ãa]o (?:sei|entendo|falo|vejo|leio)\b|noss[oa]s? [\w-]+ (?:é|são|exige|pede|usa|proíbe)\b"
    r"|я (?:не )?(?:(?:с|на|в|из) \w+|читаю|работаю|сижу|пишу|использую|живу|[а-яё]{2,}(?:ер|[её]р|ор|ист|ик|ек|лог|нт|ша))(?=\W*$|[ ,])|у (?:меня|нас) (?!не\b|ошибк|нет\b|всё|все\b)|наш\w* [\w-]+ (?:требует|запрещает|использует)"
    r"|我(?:不?是|在(?:用|看)?|用|看|不懂|不会|没学)|我们(?:是|用|都))"
)
_BECAUSE = r"(?:because|cause|cuz|cos|bc|since|as|weil|denn|da|parce qu['’e]|puisqu['’e]|car|vu qu['’e]|porque|ya que|que|pq|pois|já que|потому что|так как|поскольку|ведь|因为)"
_BEHIND = lazy_pattern(
    rf"(?:\s*[,;:–—，；-]+\s*|\s+)(?:{_BECAUSE}['’ ]?\s*)?(?={_STATE})", re.IGNORECASE
)
"""Where the state begins behind an order, whether or not a sign is between them."""
_STARTS = lazy_pattern(rf"\s*(?:{_BECAUSE} )?{_STATE}", re.IGNORECASE)
_JOINT = lazy_pattern(
    r"(?:\s*[,;–—，]\s*(?:and )?|\s+)(?:so|therefore|also|deshalb|daher|donc|du coup|así que|entonces|então|por isso|поэтому|так что|所以)[\s,]+|\s*[,;–—，]\s*",
    re.IGNORECASE,
)
_EACH = r"(?:at a time|per (?:message|step|commit)|each|auf einmal|nacheinander|pro \w+|à la fois|par \w+|a la vez|de uno en uno|de una en una|por vez|por mensa\w+|за раз|по одной?|по одному)"
_IS_ORDER = OpeningPattern(
    rf"(?:(?:please|pls|just|also|always|then|bitte|immer|stp|por favor|porfa|пожалуйста|лучше|давай) )*(?:(?:answer|reply|respond|explain|keep|use|write|speak|talk|say|prefer|avoid|stick|phrase|format|name|spell)(?= (?!(?:please|pls)\b)\S)"
    rf"|[\w' -]{{3,30}} {_EACH}|(?:shorter|short|simpler|plain|less|fewer|more|kürzer\w*|kurze?|weniger|plus (?:court|simple)\w*|moins de|más corto|menos|покороче|короче|проще) ?[\w ]{{0,20}}"
    r"|(?!stell dir vor\b)(?:schreib|antwort|erklär|sprich|red|nimm|nutz|verwend|mach|halt|stell|fass|lass|schick|nenn|formulier|benutz)\w*"
    r"|(?:réponds|répondez|écri[st]|écrivez|explique|parle|fai[st]|faites|utilise|évite|mets|envoie|garde|reste|sois)[sz]?(?:-moi)?"
    r"|(?:me )?(?:responde?|contesta|escrib[ea]|expl[ií]ca|habla|m[áa]nda|usa|haz|hazlo|pon|evita|envía|escreve|escreva|explica|explique|fala|fale|manda|mande|usa|use|fa[zç]a?|p[õo]e|evite|respond[ae]|responda)(?:me|lo|melo)?"
    r"|(?:(?!мой|твой|свой|такой|другой)[а-яё]{2,}[аяуо]й|пиши|говори|спроси|шли|будь)(?:те|ся|тесь)?)(?=\W|$)"
    r"|(?:请|麻烦)?(?:回答|说|讲|解释|用|写|发|别|不要|尽量|一次)[^，。]{2,}"
)
"""Begins as an order does: with a verb that tells how to answer or to work, or with how much."""
_JAPANESE = lazy_pattern(
    r"[^?？。]{2,60}(?:ので|から|ため)[^?？。]{0,40}(?:短|簡|ゆっくり|やさし|優し|[分わ]かりやす|ずつ|丁寧|噛み砕)[^?？。]{0,10}(?:答え|回答|説明|教え|書い|話し|返事|返し|送っ|出し)[^?？。、]{0,10}[。!！]*$"
)
"""A reason, and how to answer."""
_SINGLE = lazy_pattern(
    r"\b(?:the|an?(?! time\b)|it|this|that|these|those|them|again|now|today|der|die|das|den|dem|eine?[nrms]?|es|ihn|jetzt|heute|gerade|gleich|nochmal|weiter|später|later|going|l[ae]s?|une?|ce(?:tte|t)?|ça|maintenant|encore|"
    r"el|los|las|un|una|est[aeo]s?|es[aeo]s?|lo|ahora|hoy|um(?! \w+ por)|uma(?! \w+ por)|options?|my|mein\w*|mon|ma|mes|mis?|meus?|minhas?|мо\w+|os?|ess[ae]s?|isso|isto|agora|hoje|эт\w+|его|её|их|сейчас|ещё|еще|сегодня)\b|这|那|现在|一下",
    re.IGNORECASE,
)
"""Names one thing, or the moment."""
_PASSING = lazy_pattern(
    r"\b(?:errors?|bugs?|issues?|outages?|hurry|(?<!at a )time|meeting|call|tired|busy|fehler|zeit|müde|kann nicht mehr|erreurs?|réunion|pressée?|fatiguée?|prisa|reunión|cansad[oa]|erros?|pressa|reunião|"
    r"спешу|устал\w*|созвон\w*|температура)\b|开会|着急|报错",
    re.IGNORECASE,
)
"""A state that passes with the task or the day."""


def is_order_for_speaker(sentence: ProseSentence) -> bool:
    """Whether a sentence orders something that what the user or the project is explains, in it or
    in its neighbour on the line.
    """
    masked = sentence.masked[find_lead_in_end(sentence.masked) :]
    if is_question_or_supposition(masked) or _PASSING.search(masked):
        return False
    if _JAPANESE.match(masked):
        return _SINGLE.search(masked) is None
    if _STARTS.match(masked):
        return any(_orders_in_general(masked[each.end() :]) for each in _JOINT.finditer(masked))
    if any(_orders_in_general(masked[: each.start()]) for each in _BEHIND.finditer(masked)):
        return True
    return _orders_in_general(masked) and any(
        _STARTS.match(mask_quotations(each)) for each in (sentence.before, sentence.after)
    )


def _orders_in_general(order: str) -> bool:
    order = order.strip(" .!,;")
    return (
        len(order) + count_cjk_letters(order) >= MIN_ORDER_CHARS
        and _IS_ORDER.match(order) is not None
        and _SINGLE.search(order) is None
    )
