"""Bare corrections: sentences that say something otherwise and do not say that it lasts, such as
`Make that 60 lines per function, 40 was too strict.`, `We no longer deploy on Fridays.` and `Emojis
are fine again.` Pure.

Whether one is meant for later only shows beside the memory that it corrects; without one it states
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memorist.auto_memory.fact_values import parse_value_exchange
from memorist.auto_memory.statements.statement_filters import (
    is_forbidden_in_memory,
    is_question_or_supposition,
    is_reported_speech,
    is_task_bound,
)
from memorist.auto_memory.statements.statement_kind import choose_memory_kind
from memorist.auto_memory.statements.statement_parser import (
    TASK_START,
    Statement,
    may_be_others_words,
    split_typed_sentences,
)
from memorist.auto_memory.statements.statement_patterns import find_lead_in_end
from memorist.auto_memory.statements.text_around_pastes import extract_typed_text
from memorist.auto_memory.value_correction import parse_value_correction, speaks_of_change
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message, Origin

_REFUSAL = lazy_pattern(
    r"(?:no|nope|nah|actually|ok(?:ay)?|update|correction|nein|korrektur|non|correctif|corrección|não|correção|нет|уточнение|不|不对)\s*[,:.!–—，。-]+\s*",
    re.IGNORECASE,
)
_OF_NOW = lazy_pattern(r"\bright now\b|现在|目前", re.IGNORECASE)
"""Elsewhere the mark of a passing state, and in a correction what the new value begins with."""


_ENDS = lazy_pattern(
    r"\b(?:no longer|any ?more|(?:am|are|is|['’]re|['’]s|were|was|went|gone|moved|switched) back (?:to|on)|nicht mehr|kein\w* .{1,40} mehr|(?:wieder|zurück) (?:bei|auf|mit|zu)|(?:n['’]|ne )\w.{0,40} plus|(?:de retour|revenus?) (?:à|sur|au)"
    r"|ya no|(?:de vuelta|volvimos|volvemos) (?:a|al|con)|não .{1,40} mais|(?:voltamos|de volta) (?:a|à|ao|para|pro|pra)|больше не|вернулись (?:к|на))\b"
    r"|不再|(?:改|换|用)回|もう.{1,30}(?:ない|ません)|に戻(?:り|っ|し)|더 ?이상",
    re.IGNORECASE,
)
"""Says that something has ended, or is again as it was before."""
_NAMES_DOER_OR_NEWER = lazy_pattern(
    r"\b(?:we|wir|nous|a gente|nós|мы|\w{2,}[aei]mos|now|but|instead|jetzt|sondern|maintenant|mais|ahora|sino|agora|mas|теперь|а)\b|\bon (?:n['’]|ne |est |a )"
    r"|我们|咱们|我們|现在|改|うち|今は|우리|저희|이제|[,;，；、]",
    re.IGNORECASE,
)
"""Says who does something no longer, or what is so in its place."""
_HINDERED = lazy_pattern(
    r"\b(?:can|can['’]?t|cannot|could|couldn['’]?t|able|reach|see|find|connect|können|konnten|kriegen|bekommen|pouvons|arriv\w+|podemos|pudimos|conseguimos|recebemos|recibimos|можем|получаем|видим)\b|不能|无法|でき(?:な|ま)|수 없",
    re.IGNORECASE,
)
"""Tells of what no longer succeeds: trouble, and no decision."""
_GIVES_LEAVE = lazy_pattern(
    r"\b(?:(?:is|are|['’]re|['’]s) (?:\w+ ){0,2}(?:fine|ok(?:ay)?|allowed|acceptable|permitted|welcome)|(?:you|we|they) (?:may|can)|feel free to|(?:no need|not necessary|not required) to|(?:don['’]?t|do not|needn['’]?t|no longer) (?:have|need) to"
    r"|(?:ist|sind|geht|gehen) (?:\w+ ){0,2}(?:ok(?:ay)?|erlaubt|in ordnung)|(?:du|ihr|wir|man) (?:darfst|dürft|dürfen|darf|kannst|könnt|können|kann|musst nicht|müssen nicht)"
    r"|(?:est|sont) (?:\w+ ){0,2}(?:ok|permise?s?|autorisée?s?|acceptée?s?)|(?:tu peux|on peut|vous pouvez|pas besoin d)"
    r"|(?:está|están|es|son) (?:\w+ ){0,2}(?:bien|ok|permitid[oa]s?)|(?:puedes|podemos|se puede|no hace falta)"
    r"|(?:está|estão|são|é|tá|tão) (?:\w+ ){0,2}(?:ok|permitid[oa]s?|liberad[oa]s?|de boa)|(?:pode|podemos|dá pra|não precisa)"
    r"|можно|разрешен[оаы]?|не (?:нужно|надо|обязательно))\b|可以|不用|没问题|(?:て|で)も(?:いい|良い|大丈夫|構|OK)|なくて(?:も)?(?:いい|良い|大丈夫)|해도 (?:돼|됩|괜찮)",
    re.IGNORECASE,
)
"""Allows something, or frees from it."""


_DOUBTFUL = lazy_pattern(
    # Somebody else's matter: another person's, team's or project's.
    r"\A(?:(?:and|but|so|ok(?:ay)?|well|und|aber|et|mais|y|pero|e|mas|и|но)\b,? )?(?:he|she|they|er|sie|ils?|elles?|él|ell[oa]s?|el[ea]s?|он[аи]?)\b(?! n['’]y)|\A(?:她|他)们?"
    r"|\b(?:others?|another|their|his|her|ander(?:e[nmrs]?|swo)|leurs?|autres?|otr[oa]s?|outr[oa]s?|друг(?:ой|ая|ое|ие|ом|ую|их))\b|另一|别的|其他|(?:他|她)们?的"
    r"|(?<![\w-])(?!(?:the|our|whole|entire|this|my)\b)[\w-]+ (?:teams?|squads?|departments?|compan(?:y|ies)|compet\w+|clients?|customers?)\b"
    # What a text says, and what is to be done.
    r"|\A[^:]{0,60}\b(?:change ?log|readme|docs?|documentation|wiki|commit|message|title|page|e-?mail|article|logs?|ticket|issue|comment|post|blog|doku|nachricht|seite|journal|correo|mensaje|mensagem|página|письмо|сообщение)\b[^:]{0,30}: |\A(?:please )?(?:make sure|ensure|check|verify)\b"
    # Of one day or moment.
    r"|\b(?:this|diese[nmrs]?|cet(?:te)?|ce|n?est[ae]|эт(?:от|у|о)) (?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)|(?:lun|mar|mercre|jeu|vendre|same)di|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo|segunda|terça|quarta|quinta|sexta|понедельник|вторник|среду|четверг|пятницу|субботу|воскресенье)\b"
    r"|\bfor (?:a|one|the) (?:minute|moment|second|while|bit|day|hour)\b"
    # A question for assent, also without its mark.
    r"|, ?(?:right|correct|yes|no|huh|(?:do|are|have|did)(?:n['’]t)? (?:we|you|i)|oder|ne|gell|nicht(?: wahr)?|stimmt['’]?s|non|hein|pas vrai|n['’]est-ce pas|¿?verdad|¿?no|cierto|né|certo|não é|да|верно|так|правда)\W*\Z"
    r"|\b(?:then|alors|entonces|então)\W*\Z|(?:吧|吗|是不是|よね|かな)\W*\Z",
    re.IGNORECASE,
)
"""Leaves it open whether a correction is of the user's own matter, for good and certain."""


def is_lasting_correction(sentence: str) -> bool:
    """Whether a bare correction that contradicts a memory replaces it: it gives another value, or
    says that something has ended. What a program no longer does (`redis is not caching any more`),
    or nobody can, is trouble. A leave (`you can use npm`), or what is so now, may be of the
    moment, and `they no longer use jest` of others: it waits.
    """
    if _DOUBTFUL.search(sentence) is not None:
        return False
    if _ENDS.search(sentence) is None:
        return _gives_other_value(sentence)
    return _NAMES_DOER_OR_NEWER.search(sentence) is not None and not _HINDERED.search(sentence)


def _gives_other_value(sentence: str) -> bool:
    return (
        parse_value_correction(sentence) is not None or parse_value_exchange(sentence) is not None
    )


def _may_be_correction(sentence: str) -> bool:
    if _gives_other_value(sentence):
        return True
    return (
        (speaks_of_change(sentence) or any(p.search(sentence) for p in (_ENDS, _GIVES_LEAVE)))
        and TASK_START.match(sentence[find_lead_in_end(sentence) :]) is None
        and not is_task_bound(sentence, include_hints=False)
    )


def find_bare_corrections(message: Message) -> tuple[Statement, ...]:
    """Find the sentences of a message that may say a memory otherwise; each is uncertain, and counts
    only where there is such a memory.
    """
    if message.origin is not Origin.USER or message.role not in {"user", "developer"}:
        return ()
    return tuple(
        Statement("correction", choose_memory_kind(text), text, quote, message.id, certain=False)
        for text, quote in _corrections_in(extract_typed_text(message))
    )


def _corrections_in(typed: str) -> Iterator[tuple[str, str]]:
    if typed.startswith(("!", "/")) or may_be_others_words(typed):
        return
    for sentence in split_typed_sentences(typed):
        if (
            sentence.in_list
            or is_question_or_supposition(sentence.masked)
            or is_reported_speech(sentence.masked)
            or is_forbidden_in_memory(_OF_NOW.sub("", sentence.masked))
            or not _may_be_correction(sentence.text)
        ):
            continue
        refusal = _REFUSAL.match(sentence.text)
        yield sentence.text[refusal.end() if refusal else 0 :].strip(), sentence.text
