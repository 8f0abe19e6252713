"""Facts that give a thing a value, and bare exchanges of a value for another (AM-12). Pure.

`Bob owns billing now` and `Alice owns billing` may both hold; `no es 8080, es 9090` says not what
it is about. Neither changes a memory: the user is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from memorist.auto_memory.clause_stances import list_content_stems
from memorist.auto_memory.memory_changes import MemoryChange
from memorist.auto_memory.memory_file import MemoryFile, with_body, with_header
from memorist.auto_memory.team_memory import is_team_path
from memorist.auto_memory.visible_memory import USER_TRUST
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import encode_file_text_as_utf8

MAX_FACT_CHARS = 200
_WORD = r"(?!(?:you|please|let|may|might|can|could|should|must|will|would|if|when)\b)[\w'’/-]+"
_NOW = r"(?:now|these days|jetzt|maintenant|ahora|agora|adesso|теперь|nu)"
_FACT = lazy_pattern(
    rf"\A(?P<subject>{_WORD}(?: {_WORD}){{0,4}}?) (?P<before>{_NOW} )?"
    r"(?P<verb>is|runs? on|lives? (?:in|at)|owns|leads|maintains|handles|manages|reviews"
    r"|ist|heißt|läuft auf|leitet|macht|betreut|est|tourne sur|gère|es|corre en|gestiona|é|roda em"
    r"|è|gira su|это|is (?:hosted|deployed|owned|run|managed|kept|stored) (?:on|in|at|by|with))"
    rf" (?P<value>[^,;]{{1,60}}?)(?P<after> {_NOW})?[.!]*\Z",
    re.IGNORECASE,
)
_ONE_VALUE = lazy_pattern(
    r"is\b|runs? on|lives?|ist|heißt|läuft|est|tourne|es|corre|é|roda|è|gira|это", re.IGNORECASE
)
"""Verbs with which a thing has one value: somebody may own several things."""
_NAMED = lazy_pattern(r"(?-i:[A-Z])|\S*\d")
_PLACED = lazy_pattern(r"(?:at|in|on|under|by|not|a|an|the|to|up|down)\b", re.IGNORECASE)


@lru_cache(maxsize=2_000)
def _read_fact(text: str) -> re.Match[str] | None:
    return _FACT.match(text) if len(text) <= MAX_FACT_CHARS else None


def states_otherwise(new: str, known: str) -> bool:
    """Whether two facts are the same but for one part, which makes it doubtful that both hold: a
    name or number given to one thing, or, where the new one says `now`, any part.
    """
    mine, theirs = _read_fact(new), _read_fact(known)
    if mine is None or theirs is None or mine["verb"].casefold() != theirs["verb"].casefold():
        return False
    subjects, values = (
        [list_content_stems(each[part]) for each in (mine, theirs)] for part in ("subject", "value")
    )
    if not all((*subjects, *values)) or (subjects[0] == subjects[1]) == (values[0] == values[1]):
        return False
    if mine["before"] or mine["after"]:
        return True
    return (
        subjects[0] == subjects[1]
        and _ONE_VALUE.match(mine["verb"]) is not None
        and all(
            _NAMED.match(each["value"]) and not _PLACED.match(each["value"])
            for each in (mine, theirs)
        )
    )


def list_word_groups_of_facts(text: str) -> frozenset[frozenset[str]]:
    """Groups of words, of one of which every fact holds all that this one may state otherwise."""
    fact = _read_fact(text)
    parts = (list_content_stems(fact[part]) for part in ("subject", "value")) if fact else ()
    return frozenset(frozenset(part) for part in parts if part)


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
    changed = with_header(
        with_body(topic, former.sub(lambda _: exchange.value, topic.body)),
        {"description": former.sub(lambda _: exchange.value, topic.description)},
    )
    return MemoryChange(
        path=topic.path,
        before=encode_file_text_as_utf8(topic.text()),
        after=encode_file_text_as_utf8(changed.text()),
    )
