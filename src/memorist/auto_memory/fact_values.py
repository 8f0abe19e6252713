"""Facts that give a thing a value, and bare exchanges of a value for another (AM-12). Pure.

`Bob owns billing` and `Alice owns billing` may both hold; `no es 8080, es 9090` says not what it is
about. Neither changes a memory: the user is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from memorist.auto_memory.clause_stances import ONE_WORD_FOR, fold_word_ending, list_content_stems
from memorist.auto_memory.fact_paraphrases import NOW, WORDS_OF_VERBS, say_fact_in_short
from memorist.auto_memory.given_values import (
    MAX_FACT_CHARS,
    gives_other_value,
    list_search_words_for_values,
)
from memorist.auto_memory.memory_changes import MemoryChange, build_memory_change
from memorist.auto_memory.memory_file import MemoryFile, with_body, with_header_values
from memorist.auto_memory.team_memory import is_team_path
from memorist.auto_memory.value_correction import corrects_value, parse_value_correction
from memorist.auto_memory.visible_memory import USER_TRUST
from memorist.core.lazy import lazy_pattern

_WORD = r"(?!(?:you|please|let|may|might|can|could|should|must|will|would|if|when)\b)[\w'’/-]+"
_ONE_VALUE = (
    r"lives? (?:in|at)|works? (?:at|for)|reports? to|happens? (?:on|at|in)"
    r"|(?:runs?|listens?) on|(?:goes|runs) through"
    r"|(?:points|connects|talks) to"
    r"|(?:joined|starts?|started|ends?|ended|expires?|launched|was (?:born|founded|released))"
    r" (?:in|on|at)"
    r"|is (?:hosted|deployed|run|kept|stored|written|built|served) (?:on|in|at|by|with)"
    r"|is|am|ist|heißt|läuft auf|est|tourne sur"
    r"|es|corre en|trabajo en"
    r"|é|roda em|è|gira su|vivo a|это"
)
"""Verbs with which a thing has one value."""
_ONE_OWNER = (
    r"owns|leads|maintains|is (?:owned|managed) by|is responsible for|leitet|betreut|dirige|gère"
    r"|bundles|builds|compiles|hosts|serves|formats|lints|renders|powers|collects|tracks|stores"
    r"|lidera|gestiona|mantiene|mantém|maintient|verantwortet|pflegt|kümmert sich um"
    r"|s['’]occupe d(?:e|u|es)|(?:se )?(?:encarga|cuida|ocupa) d(?:el|[eoa]s?)|ведёт|отвечает за"
)
"""Verbs with which a thing has one that does it, who may do others as well."""
_FACT = lazy_pattern(
    rf"\A(?P<subject>{_WORD}(?: {_WORD}){{0,4}}?) (?P<before>{NOW} )?"
    rf"(?:(?P<verb>{_ONE_VALUE})|(?P<owns>{_ONE_OWNER})|(?P<other>handles|manages|reviews|macht))"
    rf"(?P<within> {NOW})? (?P<value>[^,;]{{1,60}}?)(?P<after> {NOW})?[.!]*\Z",
    re.IGNORECASE,
)
_WIDE_FACT = lazy_pattern(
    r"\A(?P<subject>[^，。、；\s是はが]{2,20}?) ?(?:"
    r"(?:现在)?(?:是|(?P<zh>(?:已经?)?(?:改|换|变)[成为到])) ?"
    r"(?P<zh_value>[A-Za-z0-9][\w.+/:@-]*)了?"
    r"|は(?P<now>今)?(?P<ja_value>[A-Za-z0-9][\w.+/:@-]*(?: [A-Z][\w.+-]*)?)"
    r"(?:です|だ|(?P<ja>に(?:なりました|なった|変わりました|変更しました|変更されました)))?)[。！]*\Z"
)
"""A thing and its name or number, in Chinese and Japanese."""
_COPULAS = frozenset(("ist", "heisst", "est", "es", "é", "è", "это", "am"))
_USE = lazy_pattern(
    rf"\A(?P<before>{NOW} )?"
    r"(?:(?:we|i|wir|ich|nous|on|je|мы|the (?:project|repo|team)|this (?:project|repo)) )?"
    r"(?P<verb>uses?|have|run|nutzen?|verwenden?|utilis(?:ons|e)|us(?:amos|o)|utiliz(?:amos|o)"
    r"|использу(?:ем|ю))"
    r" (?P<value>[^,;]{1,40}?) (?:for|für|pour|para|per|для) (?P<subject>[^,;]{1,60}?)"
    rf"(?P<within>)(?P<after> {NOW})?[.!]*\Z",
    re.IGNORECASE,
)
"""What is used for something."""
_NAMED = lazy_pattern(r"(?:(?:o|a|el|la|le) )?(?-i:[A-ZÀ-ÞА-Я])|\S*\d|[\u3040-\u9fff]")
_NAME = lazy_pattern(
    r"(?!(?:a|an|the|any|no|it|this|that|ein\w*|un|une|una|um|uma)\b)[\w.+#/-]+\Z", re.IGNORECASE
)
_ROLE = lazy_pattern(
    r"(?:an?|the) (?:[\w+#./-]+ ){0,3}(?:developer|engineer|programmer|lead|architect|designer"
    r"|manager|scientist|analyst|student|teacher|researcher|admin|maintainer|founder|cto|ceo|consultant|intern|tester)\Z",
    re.IGNORECASE,
)
"""What somebody is by profession."""
_PLACE = lazy_pattern(
    r"(?P<before>in|at|on|auf|bei|à|en|em|в|на|with|mit|avec|con|com) (?P<name>(?-i:[A-ZÀ-ÞА-Я])\S*"
    r"(?: \S+)?)\Z",
    re.IGNORECASE,
)
"""Where something is, or what it is made with, by name."""
_PLACED = lazy_pattern(r"(?:at|in|on|under|by|not|a|an|the|to|up|down)\b", re.IGNORECASE)
_NAMED_THING = lazy_pattern(
    r"(?:branch|port|host|database|registry|bucket|queue|region|editor|shell|language|framework|runtime"
    r"|library|username|name|prefix|extension|format|timezone)\Z",
    re.IGNORECASE,
)
"""A thing whose value is a name also where it is written small."""
_LIKES = lazy_pattern(
    r"\A(?P<who>i|we) (?:really |absolutely )?(?:(?P<likes>love|like|enjoy)"
    r"|hate|dislike|detest|can['’]?t stand)"
    r" (?P<what>[^,;]{2,80}?)[.!]*\Z",
    re.IGNORECASE,
)
_PERIOD = (
    r"(?:days?|nights?|weeks?|months?|quarters?|years?|hours?|sprints?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    r"|tage?|wochen?|monate?|jahre?|jours?|semaines?|mois|ans?|días?|semanas?|mes(?:es)?|años?|dias?|mês|anos?)"
)
_ONCE = (
    r"(?:every|once an?|alle|jede[nrs]?|chaque|tou(?:te)?s les|cada"
    r"|todos (?:los|os)|todas (?:las|as))"
)
_HOW_OFTEN = lazy_pattern(
    r"\b(?:hourly|daily|nightly|(?:bi-?)?weekly|fortnightly|monthly|quarterly|yearly|annually|täglich"
    r"|wöchentlich|monatlich|jährlich"
    rf"|(?:{_ONCE}|twice an?|(?:\w+ )?times an?)(?: \w+)?? {_PERIOD})\b",
    re.IGNORECASE,
)
"""Says how often something recurs."""
_ONCE_IN_EACH = lazy_pattern(rf"{_ONCE} (\w+)", re.IGNORECASE)
_PERIODS_OF_ADVERBS = {
    "hourly": "hour",
    "daily": "day",
    "nightly": "night",
    "weekly": "week",
    "monthly": "month",
    "quarterly": "quarter",
    "yearly": "year",
    "annually": "year",
    "täglich": "tag",
    "wöchentlich": "woche",
    "monatlich": "monat",
    "jährlich": "jahr",
    "fortnightly": "every two weeks",
    "biweekly": "every two weeks",
    "bi-weekly": "every two weeks",
    "every other week": "every two weeks",
}
_CURRENT = frozenset(("current", "new", "version"))
"""Words of a subject that name no other thing."""
_MAY = lazy_pattern(
    r"\A(?P<only>only )?(?P<who>[^,;]{2,60}?) (?:can|may|(?:is|are) allowed to) (?!not\b)"
    r"(?P<what>[^,;]{3,80}?)[.!]*\Z",
    re.IGNORECASE,
)
_FOR_NOW = lazy_pattern(
    r" (?:(?:for )?this (?:week|month|quarter|year|sprint|release)|currently|for now"
    r"|at the moment|dieses jahr|diese woche|zurzeit|cette année|cette semaine|este año|este ano"
    r"|в этом году)[.!]*\Z",
    re.IGNORECASE,
)
_PART_BREAK = lazy_pattern(r"[,;.] (?:(?:so|and|now) )?|[，；。]")
_SPEAKER = lazy_pattern(r"(?:i|ich|je|eu|yo)\Z", re.IGNORECASE)


class _Fact(Struct, frozen=True):
    """A thing, and what is said of it."""

    subject: tuple[str, ...]
    verb: str
    value: str
    values: tuple[str, ...]
    is_new: bool
    """Whether it says that this is so now."""
    sort: str
    """`verb` for one value, `owns` for one owner, `use` for what is used; else `other`."""
    is_named: bool
    """Whether the part that may differ is a name, a number or a role."""


@lru_cache(maxsize=2_000)
def _read_facts(text: str) -> tuple[_Fact, ...]:
    """The facts of a text: it is one itself, or its parts are."""
    if len(text) > MAX_FACT_CHARS:
        return ()
    whole = _read_fact(text)
    parts = [text] if whole else _PART_BREAK.split(text)
    return tuple(fact for part in parts if (fact := _read_fact(part)) is not None)


@lru_cache(maxsize=2_000)
def _read_fact(text: str) -> _Fact | None:
    plain = say_fact_in_short(_FOR_NOW.sub("", text))
    if found := _USE.match(plain):
        sort, subject = "use", list_content_stems(found["subject"])
        is_named = (
            _NAMED.match(found["value"]) is not None or _NAME.match(found["value"]) is not None
        )
    elif found := _FACT.match(plain):
        sort = next(name for name in ("verb", "owns", "other") if found[name])
        named = found["subject"].split()[-1] if sort == "owns" else found["value"]
        is_speaker = _SPEAKER.match(found["subject"]) is not None
        subject = ("i",) if is_speaker else list_content_stems(found["subject"])
        is_named = (_NAMED.match(named) is not None and _PLACED.match(named) is None) or (
            _ROLE.match(named) is not None and not is_speaker
        )
        if sort == "verb" and _NAMED_THING.search(found["subject"]):
            is_named = is_named or _NAME.match(named) is not None
    else:
        return _read_wide_fact(plain)
    is_new = any(found[name] for name in ("before", "within", "after"))
    verb = found["verb" if sort == "use" else sort].casefold()
    verb = "is" if verb in _COPULAS else verb
    values = list_content_stems(found["value"])
    subject = tuple(word for word in subject if word not in _CURRENT)
    return _Fact(subject, verb, found["value"], values, is_new, sort, is_named)


def _read_wide_fact(text: str) -> _Fact | None:
    found = _WIDE_FACT.match(text)
    if found is None:
        return None
    subject = list_content_stems(found["subject"])
    value = found["zh_value"] or found["ja_value"]
    is_new = any(found[name] for name in ("zh", "now", "ja"))
    return _Fact(subject, "is", value, list_content_stems(value), is_new, "verb", is_named=True)


def states_otherwise(new: str, known: str) -> bool:
    """Whether two facts are the same but for one part, which makes it doubtful that both hold: a
    name, number or role given to one thing, the owner of one, or, where one says `now`, any
    part; or one says that the same is not so, or recurs more or less often.
    """
    facts = _read_facts(new)
    return (
        any(_differ_in_one_part(mine, theirs) for mine in facts for theirs in _read_facts(known))
        or gives_other_value(new, known)
        or _states_former_value(new, known)
        or _recurs_otherwise(new, known)
        or _allows_others(new, known)
        or _denies_in_chinese(new, known)
        or _likes_otherwise(new, known)
    )


_IN_ENGLISH = frozenset(ONE_WORD_FOR.values())
"""Words that a text may hold in another language."""


def _states_former_value(new: str, known: str) -> bool:
    """Whether a fact gives a thing the value that a known text gives up: one of the two is old."""
    folded = known.casefold()
    values = [
        fact.values
        for fact in _read_facts(new)
        if fact.values and all(word in folded or word in _IN_ENGLISH for word in fact.values)
    ]
    correction = parse_value_correction(known) if values else None
    if correction is None:
        return False
    former = {word for words in correction.former_values for word in words}
    return any(former.issuperset(each) for each in values) and corrects_value(known, new)


def _differ_in_one_part(mine: _Fact, theirs: _Fact) -> bool:
    """Whether two facts with one verb have the same subject or the same value, not both."""
    given = (mine.subject, theirs.subject, mine.values, theirs.values)
    if mine.verb != theirs.verb or () in given:
        return False
    is_same_thing = mine.subject == theirs.subject
    is_same_value = mine.values == theirs.values or (
        mine.is_new and set(mine.values) <= set(theirs.values)
    )
    if is_same_thing == is_same_value:
        return False
    if mine.is_new or (theirs.is_new and is_same_thing and _are_alike(mine.value, theirs.value)):
        return True
    return (
        ((mine.is_named and theirs.is_named) or _are_places(mine.value, theirs.value))
        and mine.sort != "other"
        and is_same_thing == (mine.sort != "owns")
        and _may_replace(mine.values, theirs.values)
    )


_DAYS = frozenset(
    map(
        fold_word_ending,
        ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    )
)


def _may_replace(values: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether two values answer the same question: a day or a port, and a name without a number,
    do not (`runs on Mondays`, `runs on Buildkite`).
    """
    for mine, theirs in ((values, others), (others, values)):
        if (mine[0] == "port" or _DAYS.intersection(mine)) and not (
            _DAYS.intersection(theirs) or any(map(str.isdigit, "".join(theirs)))
        ):
            return False
    return True


def _are_places(value: str, other: str) -> bool:
    mine, theirs = _PLACE.match(value), _PLACE.match(other)
    return mine is not None and theirs is not None and mine["before"] == theirs["before"]


def _are_alike(value: str, other: str) -> bool:
    return (_PLACED.match(value) is None) == (_PLACED.match(other) is None)


def _allows_others(new: str, known: str) -> bool:
    """Whether one text says who alone may do something, and the other one that others may."""
    mine, theirs = (_MAY.match(text[:MAX_FACT_CHARS]) for text in (new, known))
    return (
        mine is not None
        and theirs is not None
        and (mine["only"] is not None or theirs["only"] is not None)
        and list_content_stems(mine["what"]) == list_content_stems(theirs["what"])
        and list_content_stems(mine["who"]) != list_content_stems(theirs["who"])
    )


def _recurs_otherwise(new: str, known: str) -> bool:
    """Whether one text says of what the other one speaks of that it recurs more or less often."""
    mine = _read_period(new)
    theirs = mine and _read_period(known)
    if not theirs or mine == theirs:
        return False
    things = [frozenset(list_content_stems(_HOW_OFTEN.sub(" ", text))) for text in (new, known)]
    return bool(things[0] and things[1]) and (things[0] <= things[1] or things[1] <= things[0])


@lru_cache(maxsize=2_000)
def _read_period(text: str) -> str:
    """How often something recurs by a text, the same for `daily`, `every day` and `once a day`;
    empty for a long text, and for one that says so more than once.
    """
    found = _HOW_OFTEN.findall(text) if len(text) <= MAX_FACT_CHARS else []
    often = found[0].casefold() if len(found) == 1 else ""
    once = _ONCE_IN_EACH.fullmatch(often)
    return once[1].removesuffix("s") if once else _PERIODS_OF_ADVERBS.get(often, often)


def _likes_otherwise(new: str, known: str) -> bool:
    """Whether the one text likes what the other one dislikes."""
    mine, theirs = (_LIKES.match(text[:MAX_FACT_CHARS]) for text in (new, known))
    return (
        mine is not None
        and theirs is not None
        and (mine["likes"] is None) != (theirs["likes"] is None)
        and list_content_stems(mine["what"]) == list_content_stems(theirs["what"])
    )


_CHINESE_NEGATION = lazy_pattern(r"不再|不要|没有|[不没别]")
_CHINESE_PARTICLES = lazy_pattern(r"[我您你]们?|用户|现在|已经|[了也都。，！\s]")


def _denies_in_chinese(new: str, known: str) -> bool:
    """Whether a Chinese text is another one with a negation more, or less."""
    mine, theirs = _strip_chinese_particles(new), _strip_chinese_particles(known)
    plain = [_CHINESE_NEGATION.sub("", text) for text in (mine, theirs)]
    return bool(plain[0]) and plain[0] == plain[1] and (mine == plain[0]) != (theirs == plain[1])


def _strip_chinese_particles(text: str) -> str:
    """A Chinese text without pronouns, particles and stops; empty for any other, and a long one."""
    is_chinese = text and "\u4e00" <= text[0] <= "\u9fff" and len(text) <= MAX_FACT_CHARS
    return _CHINESE_PARTICLES.sub("", text) if is_chinese else ""


def list_search_words_for_conflicts(text: str) -> frozenset[frozenset[str]]:
    """Groups of words, of one of which every fact holds all that this one may state otherwise."""
    start = text[:MAX_FACT_CHARS]
    facts = _read_facts(text)
    groups = {part for fact in facts for part in (_name_subject(fact), fact.values)}
    if _HOW_OFTEN.search(start):
        groups |= {(each,) for each in list_content_stems(_HOW_OFTEN.sub(" ", start))}
    for pattern in (_MAY, _LIKES):
        if found := pattern.match(start):
            groups.add(list_content_stems(found["what"]))
    groups.add(tuple(_CHINESE_NEGATION.sub(" ", _strip_chinese_particles(text)).split()))
    verbs = {fact.verb[:4] for fact in facts if fact.subject == ("i",)}
    groups |= {(word,) for verb, words in WORDS_OF_VERBS.items() if verb in verbs for word in words}
    return (frozenset(map(frozenset, groups)) | list_search_words_for_values(text)) - {frozenset()}


def _name_subject(fact: _Fact) -> tuple[str, ...]:
    """What a fact is about; of the speaker, what they do."""
    speaks_of_verb = fact.subject == ("i",) and fact.verb != "is"
    return (fact.verb[:4],) if speaks_of_verb else fact.subject


_GIVEN = r"[\w@./+#:%-]*[\w%+#]"
_UNIT = r"(?: (?:\w+ )?[^\W\d]{1,12})?"
_EXCHANGES = tuple(
    lazy_pattern(pattern, re.IGNORECASE)
    for pattern in (
        r".*?(?:\b(?:not|nicht|kein\w*|pas|no|não|non|niet|geen|nie|не|ikke|inte)|n['’]t)"
        r" (?:(?:es|son|é|è|on|at|in|auf|en|su|port|это|to) ){0,2}"
        rf"(?P<old>{_GIVEN}){_UNIT}\s*[,;.–—-]*\s*"
        r"(?:but|it['’]?s|it is|that['’]s|sondern|es ist|mais|c['’]est|sino|es|son|é|mas|sim|ma|è"
        r"|bensì|maar|het is|tylko|lecz|а|men|utan)"
        r" (?:(?:on|at|in|auf|en|su|es|è|é|port|uses?|usez?) ){0,2}"
        rf"(?P<new>{_GIVEN}){_UNIT}\W*\Z",
        r".*?(?P<old>[A-Za-z0-9.:_/+-]+)\s?番?(?:じゃなくて?|ではなくて?)[、,]?\s*"
        r"(?P<new>[A-Za-z0-9.:_/+-]+)\s?番?(?:です|だ|だよ)?[。.!！]*\Z",
        r".*?不是\s*(?P<old>[A-Za-z0-9.:_/+-]+)\s*[，,、]?\s*(?:而?是|应该是)\s*"
        r"(?P<new>[A-Za-z0-9.:_/+-]+)[了。.!！]*\Z",
        r".*?(?P<old>[A-Za-z0-9.:_/+-]+)(?:이|가)? ?아니라,? ?(?P<new>[A-Za-z0-9.:_/+-]+)"
        r"(?:입니다|이에요|예요|이야|야|로 해)?[.!]*\Z",
    )
)


class ValueExchange(Struct, frozen=True):
    """What a text says is not so, and what is so instead."""

    former: str
    value: str


@lru_cache(maxsize=2_000)
def parse_value_exchange(text: str) -> ValueExchange | None:
    """Read `not 4000 but 3000`, in some fifteen languages; None for any other text."""
    if len(text) > MAX_FACT_CHARS or "?" in text:
        return None
    found = next((match for each in _EXCHANGES if (match := each.match(text.strip()))), None)
    if found is None or found["old"].casefold() == found["new"].casefold():
        return None
    both_numbered = all(re.search(r"\d", found[name]) for name in ("old", "new"))
    return ValueExchange(found["old"], found["new"]) if both_numbered else None


def plan_value_exchange(said: str, topics: Iterable[MemoryFile]) -> MemoryChange | None:
    """The only memory with the former value that a text gives up, with the new one in its place;
    None where no memory or several may be meant.
    """
    exchange = parse_value_exchange(said)
    if exchange is None:
        return None
    former = re.compile(rf"(?<![A-Za-z0-9_.]){re.escape(exchange.former)}(?![A-Za-z0-9_]|[.,]\d)")
    found = [
        topic
        for topic in topics
        if topic.provenance.status == "active"
        and topic.provenance.trust in USER_TRUST
        and not is_team_path(topic.path)
        and "\n" not in topic.body.strip()
        and len(former.findall(topic.body)) == 1
    ]
    if len(found) != 1:
        return None
    topic = found[0]
    changed = with_header_values(
        with_body(topic, former.sub(lambda _: exchange.value, topic.body)),
        {"description": former.sub(lambda _: exchange.value, topic.description)},
    )
    return build_memory_change(topic, changed)
