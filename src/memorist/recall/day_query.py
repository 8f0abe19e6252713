"""A query that names a day or a span of days and nothing else. Pure but for the machine's time
zone.

`2026-11-24`, `24 November`, `gestern`, `last tuesday`, `what did we do yesterday?` ask for what
was said on that day; no word of a turn tells it.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, timedelta

from memorist.auto_memory.relative_dates import make_dates_absolute
from memorist.core.language_detection import COMMON_WORDS
from memorist.core.lazy import lazy_pattern
from memorist.core.search_words import QUERY_STOP_WORDS
from memorist.core.utc_time import find_local_day

MAX_DAY_QUERY_CHARS = 80
"""Characters of the longest query that is read so."""

_YEARS = frozenset(range(1971, 2200))
"""Years of a session."""
_RELATIVE = {
    "today": r"heute|aujourd['’]hui|hoy|hoje|oggi|сегодня|今日|오늘",
    "yesterday": r"gestern|(?:(?<=fait )|(?<=passé ))hier|ayer|ontem|ieri|вчера|昨日|어제",
    "day before yesterday": r"vorgestern|avant-hier|anteayer|anteontem|позавчера|一昨日",
    "this week": r"diese(?:r)? woche|cette semaine|esta semana|на этой неделе|今週",
    "last week": r"letzte[rn]? woche|la semaine dernière|la semana pasada|(?:na )?semana passada"
    r"|la settimana scorsa|на прошлой неделе|先週",
    "last month": r"letzten monat|le mois dernier|el mes pasado|(?:no )?mês passado|先月",
}
"""What other languages say for words that are read in English."""
_MONTHS = (
    "jan(?:uary|uar|vier)?|enero|janeiro|gennaio|январ[ья]",
    "feb(?:ruary|ruar)?|février|febrero|fevereiro|febbraio|феврал[ья]",
    "mar(?:ch)?|märz|mars|marzo|março|марта?",
    "apr(?:il|ile)?|avril|abril|апрел[ья]",
    "may|mai|mayo|maio|maggio|ма[йя]",
    "june?|juni|juin|junio|junho|giugno|июн[ья]",
    "july?|juli|juillet|julio|julho|luglio|июл[ья]",
    "aug(?:ust)?|août|agosto|августа?",
    "sept?(?:ember|embre)?|septiembre|setembro|settembre|сентябр[ья]",
    "oct(?:ober|obre)?|okt(?:ober)?|octubre|outubro|ottobre|октябр[ья]",
    "nov(?:ember|embre|iembre|embro)?|ноябр[ья]",
    "de[cz](?:ember)?|décembre|diciembre|dezembro|dicembre|декабр[ья]",
)
_WEEKDAYS = (
    "monday|montag|lundi|lunes|segunda-feira|lunedì|понедельник",
    "tuesday|dienstag|mardi|martes|terça-feira|martedì|вторник",
    "wednesday|mittwoch|mercredi|miércoles|quarta-feira|mercoledì|среду|среда",
    "thursday|donnerstag|jeudi|jueves|quinta-feira|giovedì|четверг",
    "friday|freitag|vendredi|viernes|sexta-feira|venerdì|пятницу|пятница",
    "saturday|samstag|sonnabend|samedi|sábado|sabato|субботу|суббота",
    "sunday|sonntag|dimanche|domingo|domenica|воскресенье",
)
_YEAR = r"(?P<year>\d{4})"
_DAY = r"(?P<day>\d{1,2})"
_MONTH = rf"(?:{'|'.join(f'(?P<m{at}>{names})' for at, names in enumerate(_MONTHS, 1))})\b\.?"
_ABSOLUTE = lazy_pattern(
    r"(?P<first>\d{4}-\d\d-\d\d)(?: to (?P<last>\d{4}-\d\d-\d\d))?\b"
    rf"|\b{_YEAR}[-/.](?P<number>\d{{1,2}})(?:[-/.]{_DAY})?(?![\d.])"
)
_IN_EUROPE = lazy_pattern(rf"\b{_DAY}[./](?P<number>\d{{1,2}})(?:[./]{_YEAR}|\.)(?!\d)")
_NAMED_DAY = lazy_pattern(
    rf"\b{_DAY}(?:st|nd|rd|th|\.|er|º)?\ (?:of\ |de\ )?{_MONTH}(?:,?\ (?:de\ )?{_YEAR})?\b"
)
_DAY_BEHIND = lazy_pattern(rf"\b{_MONTH}\ {_DAY}(?:st|nd|rd|th)?(?:,?\ {_YEAR})?\b")
_NAMED_MONTH = lazy_pattern(rf"\b{_MONTH}\ {_YEAR}\b")
_IN_JAPANESE = lazy_pattern(rf"(?:{_YEAR}年)?(?P<number>\d{{1,2}})月{_DAY}[日号]")
_WEEKDAY = lazy_pattern(
    r"\b(?:last\ |letzten\ |vergangenen\ )?"
    rf"(?:{'|'.join(f'(?P<w{at}>{names})' for at, names in enumerate(_WEEKDAYS))})"
    r"(?:\ (?:dernier|pasado|passada|scorso))?\b"
)
_FORMS = (
    _ABSOLUTE, _IN_EUROPE, _NAMED_DAY, _DAY_BEHIND, _NAMED_MONTH, _IN_JAPANESE, _WEEKDAY,
)  # fmt: skip
_FILL = lazy_pattern(
    r"\b(?:did|do|does|done|happen(?:ed)?|work(?:ed)?|sessions?|said|talk(?:ed)?|discuss(?:ed)?"
    r"|gemacht|getan|passiert|besprochen|gearbeitet|fait|passé|dit|hicimos|pasó|hablamos|fizemos"
    r"|aconteceu|fatto|successo|делали|было|am|qu|avons|cosa|abbiamo|è)\b"
)
"""What asks for a day beside words that ask for nothing."""
_WORD = lazy_pattern(r"[^\W_]+")


def find_days_of_query(query: str, now: float) -> tuple[date, date] | None:
    """The first and last day that a query asks for; None for one that says anything else. A day
    without a year is the latest that is not to come.
    """
    today = find_local_day(now)
    text = " ".join(query.casefold().split())
    if today is None or len(text) > MAX_DAY_QUERY_CHARS:
        return None
    for meaning, words in _RELATIVE.items():
        text = re.sub(rf"(?<!\w)(?:{words})(?!\w)", meaning, text)
    text = re.sub(r"\([^)]*\)|（[^）]*）", " ", make_dates_absolute(text, now))
    for pattern in _FORMS:
        if found := pattern.search(text):
            rest = f"{text[: found.start()]} {text[found.end() :]}"
            days = _read_days(found, today) if _says_nothing(rest) else None
            return days if days and {each.year for each in days} <= _YEARS else None
    return None


def _says_nothing(rest: str) -> bool:
    common = QUERY_STOP_WORDS.union(*COMMON_WORDS.values())
    return common.issuperset(_WORD.findall(_FILL.sub(" ", rest)))


def _read_days(found: re.Match[str], today: date) -> tuple[date, date] | None:
    parts = found.groupdict()
    try:
        if parts.get("first"):
            first, last = (
                date.fromisoformat(each)
                for each in (parts["first"], parts["last"] or parts["first"])
            )
            return min(first, last), max(first, last)
        weekday = next((at for at in range(7) if parts.get(f"w{at}")), None)
        if weekday is not None:
            day = today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)
            return day, day
        named = next((at for at in range(1, 13) if parts.get(f"m{at}")), None)
        return _read_calendar_day(parts, named or int(parts["number"]), today)
    except ValueError:
        return None


def _read_calendar_day(
    parts: dict[str, str | None], month: int, today: date
) -> tuple[date, date] | None:
    """The day of a month, or the whole month. Raises ValueError for none of the calendar."""
    year, number = int(parts["year"] or today.year), int(parts.get("day") or 0)
    if not number:
        return date(year, month, 1), date(year, month, monthrange(year, month)[1])
    if month > 12 >= number and parts.get("number"):
        month, number = number, month  # as Americans write it
    day = date(year, month, number)
    if parts["year"] is None and day > today:
        day = date(year - 1, month, number)
    return day, day
