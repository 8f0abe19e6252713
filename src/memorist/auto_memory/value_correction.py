"""Corrections that say what is no longer so, and which memory they are about (AM-12). Pure.

`Make that 60 lines per function, 40 was too strict.` corrects `Keep functions under 40 lines.`: it
speaks of a change and names the former value, and the rest of the memory is about the same. `We
upgraded: it is Postgres 17 now.` corrects `We use Postgres 15.`: the same name with another number.
In doubt a text corrects nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from memorist.auto_memory.clause_stances import (
    SWITCHES,
    get_alternatives_of_word,
    list_content_stems,
    parse_clause_stances,
)
from memorist.auto_memory.statements.statement_patterns import VERB, VERBS
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import parse_word_list

MAX_CORRECTION_CHARS = 200
"""Characters of the longest text that is read as a correction, and of the longest corrected one."""
MIN_SHARED_WORD_SHARE = 0.5
"""Share of what else a memory says that its correction has to name. Our choice: of `deploys happen on
Tuesdays` a correction names the deploys, and of another rule with a Tuesday nothing.
"""

_CHANGES = lazy_pattern(
    r"\A(?:no|nope|nah|actually|correction|update|wrong|nein|korrektur|non|correctif|no,|corrección|não|correção|нет|уточнение)\b\s*[,:.!–—-]"
    r"|\A(?:please )?(?:make|change|set|raise|lower|bump) (?:that|it|this)\b|\A(?:mach|setz)\w* (?:daraus|das|es)\b|\Amets(?:-en| plutôt)\b|\A(?:que sean|ponlo|pon)\b|\A(?:muda|mude|coloca|coloque) (?:para|isso)\b"
    r"|\b(?:now|no longer|has been|have been|was (?:increased|raised|reduced|lowered|changed|moved|set|extended|shortened|delayed|pushed(?: back| out)?)|migration from|relocated|any ?more|again|instead|upgraded|downgraded|bumped|switched|moved|migrated|changed|renamed|replaced|raised|lowered|rescheduled|postponed|used to|was too|were too|is outdated|"
    r"jetzt|nicht mehr|wieder|stattdessen|umgestiegen|umgestellt|gewechselt|aktualisiert|verschoben|geändert|ersetzt|war zu|waren zu|(?:repouss|report|avanc)ée?s? (?:au|à)|aplazad[oa]s?|passou|pasó|cut to|went back|pospuest[oa]s?|adiad[oa]s?|"
    r"maintenant|désormais|de nouveau|plutôt|passés? (?:à|de|au)|changé|remplacé|mis à jour|déplacé|était trop|"
    r"ahora|ya no|de nuevo|cambiamos|pasamos|migramos|actualizamos|movimos|era (?:muy|demasiado)|agora|já não|mudamos|passamos|trocamos|atualizamos|migramos|era (?:muito|pouco)|"
    r"теперь|больше не|снова|перешли|обновили\w*|перенесли|сменили|заменили|было слишком)\b|\bne\b.{1,40}\bplus\b|\bnão\b.{1,40}\bmais\b"
    r"|现在|改成|改为|换成|不再|升级|迁移|而不是|太\S{1,2}了|今は|もう|ではなく|に変更|に移行|にアップ|すぎ",
    re.IGNORECASE,
)
"""Speaks of a change."""
_STATES = r"(?:is|are|runs?|uses?|lives?|listens?|goes|happens?|starts?|ends?|ist|sind|läuft|liegt|nutzt|est|sont|tourne|es|está|son|están|é|são|fica|roda)\b"
_DENIES_VALUE = lazy_pattern(
    rf"\b{_STATES}[^,;]{{1,60}}, (?:and |und |et |y |e )?(?:not|nicht|pas|no|não)\b[^,;]{{1,40}}\Z",
    re.IGNORECASE,
)
"""Says what something is, and at its end what it is not: a change where a memory says the latter."""
_STATED = lazy_pattern(
    rf"\A\W*(?:the |our |my |an? |unsere? |die |der |das |notre |nos |la |le |el |los |nuestr[oa] )?"
    rf"(?P<subject>\S.{{0,40}}?) {_STATES}(?P<value>.*)",
    re.IGNORECASE | re.DOTALL,
)
"""A thing, and what it is said to be."""
_VALUE = r"(?P<old>(?:(?:[\w@./+#:%-]|\d,\d)+)(?: (?:(?-i:[A-Z0-9])[\w.+-]*|days?|weeks?|lines?|characters?|spaces?|percent))?)"
_ARTICLE = r"(?:(?:on|in|at|with|to|using|uses?|the|a|an|am|auf|im?|mit|beim?|den|der|die|das|le|la|les|du|des?|sur|à|en|el|los|con|em|no|na|nos|nas|o|os|com|às|aos|ao|à|aux|al|los|na|по|на|в|во|с)\s+){0,2}"
_FORMER = tuple(
    lazy_pattern(pattern.replace("{old}", _ARTICLE + _VALUE), re.IGNORECASE)
    for pattern in (
        r"\b(?:no longer|not|instead of|rather than|used to be|off|away from|replac(?:ed|ing)|from) {old}(?=\W*\Z|\s*[,.;!)]| (?:to|with|by|any ?more)\b)",
        r"(?:\A|[,;.(–—-]\s*|\bthe |\band )" + _VALUE + r" (?:was|were|is|are) (?:far |way |much |a bit )?(?:too \w+|wrong|outdated|old|obsolete|gone)\b",
        r"\b(?:nicht mehr|statt|anstatt|anstelle von|nicht|von|vom) {old}(?=\W*\Z|\s*[,.;!)]| (?:auf|zu|nach|zum|um\w+)\b)",
        r"(?:\A|[,;.(–—-]\s*)" + _VALUE + r" (?:war|waren|ist|sind) (?:viel |etwas )?(?:zu \w+|falsch|veraltet)\b",
        r"\b(?:plus|pas|au lieu d[eu]|plutôt que|de|d['’]) ?{old}(?=\W*\Z|\s*[,.;!)]| (?:à|vers|au)\b)",
        r"(?:\A|[,;.(–—-]\s*)" + _VALUE + r" (?:était|étaient|est) (?:bien )?(?:trop \w+|faux|obsolète)\b",
        r"\b(?:ya no|no|en (?:vez|lugar) de|de|del) {old}(?=\W*\Z|\s*[,.;!)]| a\b)",
        r"(?:\A|[,;.(–—-]\s*)" + _VALUE + r" (?:era|eran|es|eram|é) (?:muy|demasiado|muito|pouco|demais) ?\w*\b",
        r"\b(?:não mais|já não|não(?: é)?|em vez d[eo]|ao invés d[eo]|d[eo]|da) {old}(?=\W*\Z|\s*[,.;!)]| (?:para|pra|mais)\b)",
        r"\b(?:больше не|а не|не|вместо|с|со) {old}(?=\W*\Z|\s*[,.;!)]| на\b)",
        r"(?:\A|[,;.(–—-]\s*)" + _VALUE + r" (?:было|была|были) слишком \w+",
        r"(?:不再是?用?|而不是|不是|从|把)\s*(?P<old>[\w.+:-]{1,12}?)(?=\s*(?:[，。,.；]|\Z|改|换|升|迁|移|了))",
        r"(?P<old>[\d.:]+\s*\S{0,2}?)太\S{1,2}了",
        r"(?P<old>[\w.+:-]{1,12}?)(?:ではなく|じゃなく|から(?=[^。]{1,20}(?:に|へ))|は\S{1,4}すぎ)",
    )
)  # fmt: skip
"""Names what is given up."""
_CHANGED_THING = lazy_pattern(
    r"\b(?:moved|shifted|rescheduled|postponed|changed|raised|lowered|increased|reduced|bumped|renamed) (?:the |our |my )?(?P<thing>[\w '’-]{2,40}?) (?:from [\w.: -]{1,20} )?to (?P<new>\S.*)"
    r"|(?P<passive>[\w '’-]{2,40}?) (?:was|were|has been|have been|got) (?:increased|raised|reduced|lowered|changed|moved|set|extended|shortened|delayed|pushed(?: back| out)?|renamed|"
    r"upgraded|switched|rescheduled|postponed) (?:from [\w.: -]{1,20} )?to (?P<target>\S.*)"
    r"|(?P<subject>[\w '’-]{2,40}?) (?:is|are) (?:now|from now on) (?P<value>\S.*)"
    r"|\b(?:moved|switched|migrated|changed|upgraded) (?:over )?to (?P<choice>\S.*?) for (?P<use>(?:the |our )?[\w '’-]{2,40})\W*\Z",
    re.IGNORECASE,
)
_REFUSED_THING = lazy_pattern(
    r"\A(?:no|nope|nah|actually|correction|wrong)\b\s*[,:.!–—-]+\s*(?P<subject>[\w '’-]{2,40}?) (?:is|are)(?: now)? (?:at |on |scheduled for |set to |limited to )?(?P<value>\S.*)",
    re.IGNORECASE,
)
"""A refusal, and what something is instead."""
_IS = lazy_pattern(
    r"(?P<subject>[\w '’-]{2,40}?) (?:is|are)(?: (?:only|always|currently|now))? (?:at |on |scheduled for |set to |limited to )?(?P<value>\S.*)|(?P<thing>[\w '’-]{2,40}?) (?:happens?|starts?|ends?) (?:on|at|in) (?P<new>\S.*)"
    r"|(?:we|i) (?:use|run|have) (?P<choice>\S.*?) for (?P<use>(?:the |our )?[\w '’-]{2,40})\W*\Z",
    re.IGNORECASE,
)
_SUBJECT_WORD = (
    r"(?<![\w'’/-])(?!(?:you|please|let|may|might|can|could|should|must|will|would|shall|to)\b)"
    r"[\w'’/-]+"
)
"""No person who is spoken to and nothing that may be: `you may use yarn again` is no state."""
_STATE = lazy_pattern(
    rf"(?P<subject>(?:the |our |my |all )?{_SUBJECT_WORD}(?: {_SUBJECT_WORD}){{0,3}}?) (?:now )?(?P<verb>(?:runs? on|lives? (?:in|at)|uses?|goes? (?:to|through)|"
    r"(?:is|are) (?:hosted|deployed|kept|stored|tracked|built|written) (?:on|in|at|with)|(?:is|are) (?:owned|run|managed) by)) (?P<value>[^,;.]+?(?:\.\w[^,;.]*)?)(?P<now> now)?[.!]*\Z",
    re.IGNORECASE,
)
"""A thing, what is said of it by a verb, and its value."""
_PLACED = lazy_pattern(
    r"(?:at|in|on|under|by|owned|hosted|kept|stored|managed|not|a|an)\b", re.IGNORECASE
)
_NUMBERED = lazy_pattern(
    r"(?P<name>[^\W\d_][\w+#]*)[ -]?v?(?P<number>\d+(?:\.\d+)*)\b", re.IGNORECASE
)
_DATED = lazy_pattern(
    r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)
_WIDE = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff]")
_WIDE_RUN = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff]+")
_WIDE_FRAME = lazy_pattern(
    r"现在|已经|不再|而不是|升级|迁移|更新|改成|改为|换成|到|我们的?|咱们的?|用的是|使用|用|是|了|的|都|从|把|在|今は|もう|です|ではなく|に変更|に移行|しました|うちの|は|が|を|に|で|の"
)
_SWITCHED = lazy_pattern(
    r"\b(?:we|wir|nous|on|мы)\b.{1,20}\b(?:switched|moved|migrated|passés|umgestiegen|перешли)\b",
    re.IGNORECASE,
)
_POINTS_BACK = lazy_pattern(
    r"\b(?:it|that)(?:['’]s| is| runs)\b|\b(?:es|das) (?:ist|läuft)\b|\bc['’]est\b|\b(?:ahora es|es ahora|agora é|é agora|теперь это|это теперь)\b",
    re.IGNORECASE,
)
"""Speaks of the thing that was named last."""
_USED = r"(?:uses?|using|runs?|running|on|is|are|with|in)\s+"
"""Stands before what a memory says is used."""
_DENIES = lazy_pattern(
    r"\b(?:never|not|no|don['’]?t|avoid|without|only)\b|\A(?!(?:we|i|our|my|the)\b).*\bfor\b",
    re.IGNORECASE,
)
"""Rules a thing out, or is an order for one case."""
_LOOSE_WORDS = parse_word_list(
    """
         change changed chang upgrade upgrad upgraded update updat updated move mov moved switch switched migrate migrat
    migrated bump bumped rename renam replac replace strict lax long short high low old wrong happen run host live liv work keep
    kept write writ stay go set make mak last week month today actually correction no nope new under over per below
    within most least than too very only always never everything notr notre nos unser unsere unseren sind ist war waren
    läuft laufen liegt heißt pro höchstens mindestens mach darau daraus setz streng lang kurz viel sur par sont est ont lieu
    tourn tournent passés passé migré était trop strict stricte maximum máximo por son está están sind é são fica
    ficam roda rodam às ao aos muito muy era pouco demais по выход выходят работает работают больше теперь было слишком です だ す
    from nuestr nuestro nuestra nosso nossa наш наша у нас mai mehr plus más mais
    """
)
"""Words of which a correction need not name, and a memory need not hold, the same."""
_SAME_BEGINNING = 5
"""Letters at the beginning that the forms of a word share in languages whose endings are not cut."""


class ValueCorrection(Struct, frozen=True):
    """What a text says of a change."""

    words: frozenset[str]
    """All its content words."""
    former_values: tuple[tuple[str, ...], ...]
    """The values that it gives up, each as content words."""
    numbered: tuple[tuple[str, str], ...]
    """Names and the numbers that they have now."""
    switches: bool
    """Whether it goes from one thing to another, and speaks of nothing else."""
    only_denies: bool
    """Whether it says of no change, only that something is not so."""


@lru_cache(maxsize=2_000)
def parse_value_correction(text: str) -> ValueCorrection | None:
    """Read a text that speaks of a change; None for any other, and for a long one."""
    if len(text) > MAX_CORRECTION_CHARS or "?" in text:
        return None
    only_denies = not speaks_of_change(text)
    if only_denies and _DENIES_VALUE.search(text) is None:
        return None
    former = {
        words
        for pattern in _FORMER
        for match in pattern.finditer(text)
        if (words := list_content_stems(match["old"]) or _read_one(match["old"], text))
    }
    changed = ValueCorrection(
        frozenset(list_content_stems(text)),
        tuple(sorted(former)),
        tuple(_read_numbers(text)),
        any(pattern.search(text) for pattern in (*SWITCHES, _SWITCHED)),
        only_denies,
    )
    return changed if former or changed.numbered or _names_changed_thing(text) else None


def speaks_of_change(text: str) -> bool:
    """Whether a text says that something is so now, or no longer."""
    return _CHANGES.search(text) is not None


_ONE = lazy_pattern(r"one\W*\Z", re.IGNORECASE)
_OTHER_NUMBER = lazy_pattern(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|\d+)\b", re.IGNORECASE
)


def _read_one(old: str, text: str) -> tuple[str, ...]:
    """`one` as a former value: of a text that gives another number. Else it points to something."""
    return ("one",) if _ONE.match(old) and _OTHER_NUMBER.search(text) else ()


def _names_changed_thing(text: str) -> bool:
    return any(pattern.search(text) for pattern in (_CHANGED_THING, _REFUSED_THING, _STATE))


def _read_numbers(text: str) -> list[tuple[str, str]]:
    return [
        (words[0], match["number"])
        for match in _NUMBERED.finditer(text)
        if (words := list_content_stems(match["name"]))
    ]


def corrects_value(new: str, known: str) -> bool:
    """Whether a text says that the value which a known one gives something is no longer so."""
    correction = parse_value_correction(new)
    if correction is None or len(known) > MAX_CORRECTION_CHARS:
        return False
    if correction.only_denies:
        return _denies_value(correction, new, known)
    order = list_content_stems(known)
    return (
        any(_gives_up(correction, former, known, order) for former in correction.former_values)
        or any(_renumbers(correction, pair, new, known, order) for pair in correction.numbered)
        or _switches_use(new, known)
        or _gives_up_wide(new, known)
        or _changes_subject(new, known)
    )


def _denies_value(correction: ValueCorrection, new: str, known: str) -> bool:
    """Whether a memory says of the same thing what a text says that it is not."""
    now, before = _STATED.match(new), _STATED.match(known)
    if now is None or before is None:
        return False
    values = set(list_content_stems(before["value"]))
    return now["subject"].casefold() == before["subject"].casefold() and any(
        set(former) <= values for former in correction.former_values
    )


@lru_cache(maxsize=2_000)
def list_word_groups_of_corrected_texts(text: str) -> frozenset[frozenset[str]]:
    """Groups of words, of one of which every text that this one corrects holds all; none where it
    corrects nothing.
    """
    correction = parse_value_correction(text)
    if correction is None:
        return frozenset()
    groups = {frozenset(former) for former in correction.former_values}
    groups |= {frozenset((name,)) for name, _ in correction.numbered}
    groups |= {frozenset(list_content_stems(old)) for old in _list_switched(text)}
    changed, state = _read_changed_thing(text), _read_state_now(text)
    groups |= {frozenset(changed[0])} if changed else set()
    if state is not None:
        subject = list_content_stems(state["subject"])
        groups |= {frozenset(subject)} if subject else {frozenset((w,)) for w in correction.words}
    return frozenset(groups - {frozenset()})


def names_whole_subject(new: str, known: str) -> bool:
    """Whether a text that gives a memory another value says all that the memory is about.

    `We moved from Buildkite to GitHub Actions` no longer says that `Our CI runs on Buildkite` is
    about the CI. What the text gives up counts for nothing, nor do words that both may leave out.
    """
    if _WIDE.search(known) is not None:
        return _names_wide_topic(new, known)
    if _changes_subject(new, known):
        return True
    order = list_content_stems(known)
    values = _list_values(new) | _list_values(known)
    topic = {
        word
        for word in (order[1:] if _ORDERS.match(known) else order)
        if word not in values and not word[0].isdigit() and get_alternatives_of_word(word) is None
    }
    named = {word[:_SAME_BEGINNING] for word in list_content_stems(new)}
    return all(word[:_SAME_BEGINNING] in named for word in topic - _LOOSE_WORDS)


def _list_values(text: str) -> frozenset[str]:
    """The words of the values that a text gives up, and where it goes from one to another, of both."""
    correction = parse_value_correction(text)
    former = {word for value in (correction.former_values if correction else ()) for word in value}
    switches = (match for pattern in SWITCHES if (match := pattern.search(text)) is not None)
    return frozenset(former).union(
        *(list_content_stems(f"{m['old']} {m['new']}") for m in switches)
    )


def _names_wide_topic(new: str, known: str) -> bool:
    """Whether both share two letters in a row, or a word that was read in English: 回答 is `answer`
    in every language.
    """
    pairs = _split_pairs(known)
    shared = frozenset(list_content_stems(new)).intersection(list_content_stems(known))
    in_english = any(word not in known.lower() for word in shared)
    return not pairs or in_english or bool(pairs & _split_pairs(new))


_ORDERS = lazy_pattern(rf"(?:please |always |never |only )*{VERB}\b", re.IGNORECASE)


def _gives_up(
    correction: ValueCorrection, former: tuple[str, ...], known: str, order: tuple[str, ...]
) -> bool:
    """Whether a memory has the former value, and is about the same or about that value alone."""
    if not set(former) <= set(order) or set(order) <= set(former):
        return False
    rest = _select_topic(order, former)
    named = {word[:_SAME_BEGINNING] for word in correction.words - set(former) - _LOOSE_WORDS}
    shared = sum(word[:_SAME_BEGINNING] in named for word in rest)
    return (
        shared >= max(1, MIN_SHARED_WORD_SHARE * len(rest))
        or (correction.switches and order[-len(former) :] == former and not _ORDERS.match(known))
    ) and not _bans(known, former)  # last, as it reads all clauses of the memory


def _bans(known: str, former: tuple[str, ...]) -> bool:
    """Whether a memory rules out what is given up, so that both say the same; a number that it
    rules out is a limit.
    """
    return not any(word[0].isdigit() for word in former) and any(
        not each.is_positive and each.words.issuperset(former)
        for each in parse_clause_stances(known)
    )


def _switches_use(new: str, known: str) -> bool:
    """Whether a text goes from one thing to another, and a memory says that the one is used."""
    return any(
        re.search(rf"\b{_USED}{re.escape(old)}(?![\w-])", known, re.IGNORECASE)
        and _DENIES.search(known) is None
        for old in _list_switched(new)
    )


@lru_cache(maxsize=64)
def _list_switched(text: str) -> tuple[str, ...]:
    """What a text goes away from, as it names it."""
    found = (match for pattern in SWITCHES if (match := pattern.search(text)) is not None)
    return tuple(match["old"] for match in found)


def _gives_up_wide(new: str, known: str) -> bool:
    """The same for texts without spaces between words: the value stands in the memory, and two signs
    in a row of the rest as well.
    """
    return any(
        old in known and _split_pairs(known.replace(old, " ")) & _split_pairs(new.replace(old, " "))
        for old in _list_former_wide(new)
    )


@lru_cache(maxsize=64)
def _list_former_wide(text: str) -> tuple[str, ...]:
    """The values that such a text gives up, of two signs or more."""
    if _WIDE.search(text) is None:
        return ()
    found = (match["old"].strip() for pattern in _FORMER for match in pattern.finditer(text))
    return tuple(old for old in found if len(old) > 1)


def _split_pairs(text: str) -> frozenset[str]:
    runs = _WIDE_RUN.findall(_WIDE_FRAME.sub(" ", text))
    return frozenset(run[at : at + 2] for run in runs for at in range(len(run) - 1))


def _select_topic(order: tuple[str, ...], former: tuple[str, ...]) -> frozenset[str]:
    """What a memory is about: its words without the value and without verbs."""
    rest = frozenset(order) - set(former)
    topic = rest - _LOOSE_WORDS
    things = frozenset(word for word in topic if word not in VERBS)
    return things or topic or rest


def _renumbers(
    correction: ValueCorrection, pair: tuple[str, str], new: str, known: str, order: tuple[str, ...]
) -> bool:
    """Whether a memory has the same name with another number, at its end or for a text that points
    back to it ("it is Postgres 17 now"), and the text is about nothing that the memory is not about.
    """
    name, number = pair
    numbers = {given for known_name, given in _read_numbers(known) if known_name == name}
    if not numbers or number in numbers:
        return False
    others = correction.words - {name, *number.split("."), number} - _LOOSE_WORDS
    pairs = _split_pairs(new)
    points_back = len(numbers) == 1 and _POINTS_BACK.search(new) and not _DENIES.search(known)
    if not (_ends_with_number(order) or (points_back and not others and not pairs)):
        return False
    return {word for word in others if not _WIDE.search(word)} <= set(order) and (
        not pairs or pairs <= _split_pairs(known)
    )


def _ends_with_number(order: tuple[str, ...]) -> bool:
    last = next((word for word in reversed(order) if word not in _LOOSE_WORDS), "")
    return last[-1:].isdigit()


def _changes_subject(new: str, known: str) -> bool:
    """Whether a text changes the very thing that is a memory's subject, to a value of the same sort."""
    if _restates_value(new, known):
        return True
    mine, theirs = _read_changed_thing(new), _IS.match(known)
    if mine is None or theirs is None:
        return False
    thing, value = mine
    other_thing, other = _read_thing(theirs)
    return bool(thing) and set(thing) == set(other_thing) and _is_same_sort(value, other)


@lru_cache(maxsize=64)
def _read_changed_thing(text: str) -> tuple[tuple[str, ...], str] | None:
    """The thing that a text changes, and its new value."""
    match = _CHANGED_THING.search(text) or _REFUSED_THING.match(text)
    return None if match is None else _read_thing(match)


def _read_thing(match: re.Match[str]) -> tuple[tuple[str, ...], str]:
    """What a text is about, as content words, and the value that it gives it."""
    groups = match.groupdict()
    thing, value = (
        next((text for name in names if (text := groups.get(name))), "")
        for names in (("thing", "passive", "subject", "use"), ("new", "target", "value", "choice"))
    )
    return list_content_stems(thing), value


def _is_same_sort(value: str, other: str) -> bool:
    """Whether two values differ, are both dated or both not, and neither says where."""
    return (
        set(list_content_stems(value)) != set(list_content_stems(other))
        and (_DATED.search(value) is None) == (_DATED.search(other) is None)
        and _PLACED.match(value) is None
        and _PLACED.match(other) is None
    )


def _restates_value(new: str, known: str) -> bool:
    """Whether a text says with `now` what a memory says, with another value of the same sort."""
    mine = _read_state_now(new)
    theirs = None if mine is None else _STATE.match(known)
    if mine is None or theirs is None:
        return False
    return (
        mine["verb"].casefold() == theirs["verb"].casefold()
        and list_content_stems(mine["subject"]) == list_content_stems(theirs["subject"])
        and _is_same_sort(mine["value"], theirs["value"])
    )


@lru_cache(maxsize=64)
def _read_state_now(text: str) -> re.Match[str] | None:
    """What a text with `now` says of a thing."""
    return None if _NOW.search(text) is None else _STATE.match(text)


_NOW = lazy_pattern(r"\bnow\b", re.IGNORECASE)
