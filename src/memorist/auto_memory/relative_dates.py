"""Make relative dates in the user's words absolute (AM-12). Pure but for the machine's time zone.

"tomorrow" means nothing a week later, so the date is inserted before the user's words, which stay
in brackets: nothing is lost where the reading was wrong. What is ambiguous (a bare weekday, "soon",
"in a few days", "at the end of the month", which may be a habit) is left alone. Weeks begin on Monday (ISO 8601); "next Friday" is the Friday of
next week, as 下周五 is.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial

from memorist.core.lazy import lazy_pattern
from memorist.core.utc_time import find_local_day

_DAYS = {
    "monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3, "friday": 4, "saturday": 5,
    "sunday": 6,
}  # fmt: skip
_CHINESE_DAYS = dict(zip("一二三四五六日天", (*range(7), 6), strict=True))
_NUMBERS = {
    word: number
    for number, words in enumerate(
        (
            "", "a an one 一", "two 二 两", "three 三", "four 四", "five 五", "six 六", "seven 七",
            "eight 八", "nine 九", "ten 十", "eleven 十一", "twelve 十二",
        )
    )
    for word in words.split()
}  # fmt: skip
_MAX_UNITS = 4_000
"""Largest number of units that is read as a date."""

_NUMBER = r"(?:\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_UNIT = r"(?:day|week|fortnight|month|year)s?"
_WEEKDAY = "(?:" + "|".join(_DAYS) + ")"
_CHINESE_NUMBER = r"(?:\d{1,4}|十[一二]?|[一二两三四五六七八九])"
_WEEK = r"(?:周|星期|礼拜)"

_QUOTED = lazy_pattern(r"`[^`\n]{1,300}`|\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|「[^」\n]{1,300}」")
_PRECEDING_DATE = lazy_pattern(r"\d{4}(?:-\d\d){0,2}(?: to \d{4}-\d\d-\d\d)?(?: \(|（)$")

_ENGLISH = lazy_pattern(
    rf"""(?<![\w/.'’-])(?:
      (?P<after>the\ day\ after\ tomorrow|day\ after\ tomorrow)
    | (?P<before>the\ day\ before\ yesterday|day\ before\ yesterday)
    | (?P<near>today|tomorrow|yesterday)(?:['’]s)?
    | (?P<which>next|this|last|coming|this\ coming)\ (?P<weekday>{_WEEKDAY})(?:['’]s)?(?!\ of\b)
    | in\ (?P<count>{_NUMBER})\ (?P<unit>{_UNIT})(?:['’]?\ time)?
    | (?P<fromcount>{_NUMBER})\ (?P<fromunit>{_UNIT})\ from\ (?:now|today)
    | (?P<agocount>{_NUMBER})\ (?P<agounit>{_UNIT})\ ago
    | (?:the\ )?end\ of\ (?:(?P<endwhich>this|next|the|last)\ )?(?P<end>week|month|quarter|year)
    | (?P<span>next|last|this)\ (?P<spanunit>week|month|quarter|year)(?:['’]s)?
    )(?![\w(/-])""",
    re.IGNORECASE | re.VERBOSE,
)
_CHINESE = lazy_pattern(
    rf"""(?P<near>大后天|(?<![以之今然最随])后天(?!天)|明天|今天|昨天|大前天|(?<![以之])前天(?!天))
    | (?P<which>下下|下个?|这个?|本|上个?){_WEEK}(?P<weekday>[一二三四五六日天])(?![一-鿿]?期)
    | (?P<count>{_CHINESE_NUMBER})(?P<unit>天|日|周|个?星期|个?礼拜|个月|年)(?:之后|以后|后)(?!端|台)
    | (?P<agocount>{_CHINESE_NUMBER})(?P<agounit>天|周|个?星期|个?礼拜|个月|年)(?:之前|以前|前)(?!端|台)
    | (?P<monthwhich>下个?|本|这个?|上个?)月(?P<monthday>\d{{1,2}})[号日]
    | (?P<endwhich>下个?|本|这个?)?(?<![\d一二三四五六七八九十])(?P<end>月|年)底(?!层|下|部)
    | (?P<span>下个?|上个?)(?P<spanunit>{_WEEK}|月|季度)(?![一二三四五六日天\d底末])
    | (?P<yearword>明年|去年|后年)(?!底)""",
    re.VERBOSE,
)
_NEXT = lazy_pattern(
    r"""(?<![\w/.'’-])(?:(?:nächste[rnms]?|kommende[rnms]?)\ (?P<german>woche|monat|jahr)|(?P<french>semaine|mois|année)\ prochaine?|pr[óo]xim[oa]\ (?P<spanish>semana|m[eê]s|a[nñ]o)
    |(?P<behind>semana|m[eê]s|a[nñ]o)\ que\ (?:viene|vem)|следующ(?:ей|его|ую|ем|ий)\ (?P<russian>недел[яюеи]|месяца?е?|года?у?)|(?P<day>demain|amanhã|завтра))(?![\w(/-])""",
    re.IGNORECASE | re.VERBOSE,
)
"""The next day, week, month or year in German, French, Spanish, Portuguese and Russian."""
_JAPANESE = lazy_pattern(r"(?P<unit>来週|来月|来年)|(?P<day>明日)")
_DEADLINE = lazy_pattern(r"\b(?:by|until|till|before|due|for)\s\Z", re.IGNORECASE)
_CHINESE_DEADLINE = lazy_pattern(r"(?:之|以)?前|截止|为止|到期")
"""What makes the end of a month a date: elsewhere it may be that of each month."""
_DAY_OFFSETS = {
    "today": 0, "tomorrow": 1, "yesterday": -1, "今天": 0, "明天": 1, "后天": 2, "大后天": 3, "昨天": -1, "前天": -2, "大前天": -3,
}  # fmt: skip
_UNIT_STEPS = {
    "next": 1, "this": 0, "the": 0, "last": -1, "下下": 2, "下": 1, "下个": 1, "本": 0, "这": 0,
    "这个": 0, "上": -1, "上个": -1,
}  # fmt: skip
_YEAR_OFFSETS = {"明年": 1, "去年": -1, "后年": 2}


def make_dates_absolute(text: str, timestamp: float | None) -> str:
    """Replace relative dates by absolute ones, each followed by the original words in brackets.

    `timestamp` is the time of the statement in seconds since the epoch; its day is that of the
    machine's time zone, which the user means by "tomorrow". Without one, or with one outside the
    calendar, the text is returned unchanged. Text in quotation marks or backticks
    is not touched. The operation is idempotent.
    """
    today = find_local_day(timestamp)
    if today is None:
        return text
    for pattern, read, brackets in (
        (_ENGLISH, _read_english, " ()"),
        (_CHINESE, _read_chinese, "（）"),
        (_NEXT, _read_next, " ()"),
        (_JAPANESE, _read_next, "（）"),
    ):
        text = _replace_dates(text, pattern, partial(read, today), brackets)
    return text


def _replace_dates(
    text: str, pattern: re.Pattern[str], read: Callable[[re.Match[str]], str | None], brackets: str
) -> str:
    """Insert the date before each match that can be read as one."""
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    parts: list[str] = []
    done = at = 0
    for match in pattern.finditer(text):
        while at < len(quoted) and quoted[at][1] <= match.start():
            at += 1
        if at < len(quoted) and quoted[at][0] < match.end():
            continue
        if _PRECEDING_DATE.search(text[max(0, match.start() - 30) : match.start()]):
            continue
        found = read(match)
        if found is not None:
            parts += [text[done : match.start()], found, brackets[:-1], match[0], brackets[-1]]
            done = match.end()
    return "".join((*parts, text[done:]))


def _read_english(today: date, match: re.Match[str]) -> str | None:
    near = match["near"]
    if match["after"] or match["before"] or near:
        return _shift_days(
            today, days=_DAY_OFFSETS[near.lower()] if near else 2 if match["after"] else -2
        )
    if match["weekday"]:
        return _resolve_weekday(
            today, match["which"].lower().removeprefix("this "), _DAYS[match["weekday"].lower()]
        )
    for count, unit, sign in (
        ("count", "unit", 1),
        ("fromcount", "fromunit", 1),
        ("agocount", "agounit", -1),
    ):
        if match[count]:
            return _resolve_count(
                today, match[count].lower(), match[unit].lower().removesuffix("s"), sign
            )
    if match["end"]:
        which = (match["endwhich"] or "the").lower()
        if which == "the" and not _DEADLINE.search(match.string[: match.start()]):
            return None
        return _end_of_unit(today, match["end"].lower(), _UNIT_STEPS[which])
    return _unit_span(today, match["spanunit"].lower(), _UNIT_STEPS[match["span"].lower()])


_CHINESE_UNITS = {
    "天": "day",
    "日": "day",
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "月": "month",
    "年": "year",
    "季度": "quarter",
}


def _read_chinese(today: date, match: re.Match[str]) -> str | None:
    if match["near"]:
        return _shift_days(today, days=_DAY_OFFSETS[match["near"]])
    if match["weekday"]:
        return _shift_days(
            today,
            days=7 * _UNIT_STEPS[match["which"]]
            + _CHINESE_DAYS[match["weekday"]]
            - today.weekday(),
        )
    for count, unit, sign in (("count", "unit", 1), ("agocount", "agounit", -1)):
        if match[count]:
            return _resolve_count(
                today, match[count], _CHINESE_UNITS[match[unit].removeprefix("个")], sign
            )
    if match["monthwhich"]:
        return _day_in_month(
            _month_start(today, _UNIT_STEPS[match["monthwhich"]]), int(match["monthday"])
        )
    if match["end"]:
        is_date = match["endwhich"] or _CHINESE_DEADLINE.match(match.string, match.end())
        step = _UNIT_STEPS[match["endwhich"] or "本"]
        return _end_of_unit(today, _CHINESE_UNITS[match["end"]], step) if is_date else None
    unit = "year" if match["yearword"] else _CHINESE_UNITS.get(match["spanunit"], "week")
    return _unit_span(
        today,
        unit,
        _YEAR_OFFSETS[match["yearword"]] if match["yearword"] else _UNIT_STEPS[match["span"]],
    )


_NEXT_UNITS = {
    "week": ("woche", "sema", "недел", "来週"),
    "month": ("mo", "m", "м", "来月"),
    "year": ("j", "a", "г", "来年"),
}
"""How the names of units begin in the other languages."""


def _read_next(today: date, match: re.Match[str]) -> str | None:
    words = match.groupdict()
    if words["day"]:
        return _shift_days(today, days=1)
    name = next(filter(None, words.values())).lower()
    unit = next(unit for unit, starts in _NEXT_UNITS.items() if name.startswith(starts))
    return _unit_span(today, unit, 1)


def _shift_days(today: date, *, days: int) -> str | None:
    try:
        return (today + timedelta(days=days)).isoformat()
    except OverflowError:
        return None


def _resolve_weekday(today: date, which: str, weekday: int) -> str | None:
    """Resolve a weekday: `next` in next week, `last` the latest before today, `this` and `coming`
    the one ahead.
    """
    ahead = weekday - today.weekday()
    if which == "next":
        return _shift_days(today, days=7 + ahead)
    if which == "last":
        return _shift_days(today, days=ahead % 7 - 7)
    return _shift_days(today, days=ahead % 7 if which == "this" else (ahead - 1) % 7 + 1)


def _resolve_count(today: date, count: str, unit: str, sign: int) -> str | None:
    number = sign * (_NUMBERS.get(count) or (int(count) if count.isdecimal() else 0))
    if not 0 < abs(number) <= _MAX_UNITS:
        return None
    days = {"day": 1, "week": 7, "fortnight": 14}.get(unit)
    if days is not None:
        return _shift_days(today, days=days * number)
    month = _month_start(today, number * (12 if unit == "year" else 1))
    if month is None:
        return None
    return month.replace(day=min(today.day, monthrange(month.year, month.month)[1])).isoformat()


def _month_start(today: date, months: int) -> date | None:
    """Return the first day of the month that is `months` away."""
    year, month = divmod(today.year * 12 + today.month - 1 + months, 12)
    return date(year, month + 1, 1) if 1 <= year <= 9_999 else None


def _day_in_month(first: date | None, day: int) -> str | None:
    if first and 1 <= day <= monthrange(first.year, first.month)[1]:
        return first.replace(day=day).isoformat()
    return None


def _month_end(first: date | None) -> str | None:
    if first is None:
        return None
    return first.replace(day=monthrange(first.year, first.month)[1]).isoformat()


def _end_of_unit(today: date, unit: str, step: int) -> str | None:
    if unit == "week":
        return _shift_days(today, days=7 * step + 6 - today.weekday())
    if unit == "month":
        return _month_end(_month_start(today, step))
    if unit == "quarter":
        return _month_end(_month_start(today, 3 * step + 2 - (today.month - 1) % 3))
    year = today.year + step
    return date(year, 12, 31).isoformat() if 1 <= year <= 9_999 else None


def _unit_span(today: date, unit: str, step: int) -> str | None:
    """Render a week or quarter as first and last day, a month as year and month, a year as its
    number.
    """
    if unit == "week":
        first = _shift_days(today, days=7 * step - today.weekday())
        last = _shift_days(today, days=7 * step + 6 - today.weekday())
        return f"{first} to {last}" if first and last else None
    if unit == "quarter":
        start = _month_start(today, 3 * step - (today.month - 1) % 3)
        ending = _end_of_unit(today, "quarter", step)
        return f"{start.isoformat()} to {ending}" if start and ending else None
    if unit == "month":
        month = _month_start(today, step)
        return None if month is None else f"{month.year:04}-{month.month:02}"
    year = today.year + step
    return f"{year:04}" if 1 <= year <= 9_999 else None
