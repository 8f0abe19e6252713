"""Whether a prompt is the next run of an earlier one that a program passed on: a schedule fills the
day, a number or an id into the same template each time. Pure.
"""

from __future__ import annotations

from memorist.core.lazy import lazy_pattern

_NAMED_TIMES = (
    # English, with the short forms that `date` prints
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    "sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|mon(?:day)?|tue(?:s(?:day)?)?|"
    "wed(?:nesday)?|thu(?:rs(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?|am|pm|utc|gmt|"
    "bst|cet|cest|eet|eest|wet|west|est|edt|cst|cdt|mst|mdt|pst|pdt|ist|jst|kst|aest|aedt|"
    # German
    "januar|februar|märz|mai|juni|juli|oktober|dezember|montag|dienstag|mittwoch|donnerstag|"
    "freitag|samstag|sonnabend|sonntag|mesz|mez|"
    # French
    "janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre|lundi|"
    "mardi|mercredi|jeudi|vendredi|samedi|dimanche|"
    # Spanish, Portuguese and Italian
    "enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|"
    "diciembre|lunes|martes|miércoles|jueves|viernes|sábado|domingo|janeiro|fevereiro|março|"
    "maio|junho|julho|setembro|outubro|dezembro|segunda|terça|quarta|quinta|sexta|feira|"
    "gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre|lunedì|martedì|"
    "mercoledì|giovedì|venerdì|sabato|domenica"
)
"""Words of a date, as alternatives of a pattern."""

_VARIABLE = lazy_pattern(
    r"[a-f\d]{8}(?:-[a-f\d]{4}){3}-[a-f\d]{12}"  # a UUID
    r"|[a-z_]*\d[a-z\d_]*"  # a number, an id, a part of a timestamp
    rf"|\b(?:{_NAMED_TIMES})\b"
    r"|(?:星期|周|礼拜)[一二三四五六日天]|[月火水木金土日]曜|[월화수목금토일]요일"
    r"|[^\w\s]|_"
)
"""What differs from run to run, and the marks around it, in a text of small letters."""


def is_same_but_for_numbers(prompt: str, earlier: str, limit: int) -> bool:
    """Whether two prompts have the same words when numbers, ids and dates are left out; a text of
    more than `limit` characters counts as far as it was kept.

    Prompts of which nothing is left then are compared as they stand.
    """
    words, before = (
        _VARIABLE.sub(" ", text[:limit].casefold()).split() for text in (prompt, earlier)
    )
    if len(prompt) >= limit and len(earlier) >= limit:
        # the numbers before the end have different lengths
        shortest = max(0, min(len(words), len(before)) - 1)
        words, before = words[:shortest], before[:shortest]
    return words == before if words else prompt.split() == earlier.split()
