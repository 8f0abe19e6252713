"""The memory changes that explicit statements of the user become (AM-8). Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.memory_changes import (
    MemoryChange,
    build_memory_change,
    build_memory_removal,
)
from memorist.auto_memory.memory_file import (
    MemoryFile,
    MemoryKind,
    Provenance,
    Trust,
    create_memory_file,
    make_file_name,
)
from memorist.auto_memory.memory_reconciliation import strip_former_text_from_description
from memorist.auto_memory.relative_dates import make_dates_absolute
from memorist.auto_memory.statements.forget_request_patterns import ABOUT_USER, EVERYTHING
from memorist.auto_memory.statements.memory_name_and_description import (
    derive_memory_name_and_description,
)
from memorist.auto_memory.statements.statement_parser import Statement
from memorist.auto_memory.statements.statement_scope import applies_to_every_project
from memorist.auto_memory.write_evidence import normalize_for_comparison, split_script_words
from memorist.core.language_detection import detect_language_by_script, stem_in_language
from memorist.core.lazy import lazy_pattern
from memorist.safety.secrets import redact

MAX_FORGET_MATCHES = 5
"""Memories that one "forget" may match at most; with more its meaning is unclear."""
MIN_FORGET_SHARE = 0.5
"""Share of the words of a "forget" that a memory has to contain. Our choice."""


_REQUEST_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an the that this it about of to for i you we my your our is are be was as on in at and "
        "or please me what everything anything all said told asked know knew learned remembered "
        "rule rules memory memories note notes thing things from use uses using want say saying "
        "any more anymore longer have saved stored",
    )
)
"""Words that do not identify a memory."""
_UNSPACED_FILLERS = lazy_pattern(r"关于|的|规则|记忆|[这那]条|について|ルール|メモリ|の")
"""What does not identify one in a request in a script that writes words together."""


class PlannedMemoryRemovals(Struct, frozen=True):
    """The memories that a "forget" refers to.

    `is_certain` when nothing but a memory can be meant and exactly one contains every word of the
    statement, not counting what it keeps of another that it replaced.
    """

    changes: tuple[MemoryChange, ...]
    is_certain: bool


PlannedChange = MemoryChange | PlannedMemoryRemovals
"""A new memory, or those that go."""


def plan_new_memory(
    statement: Statement, is_used: Callable[[str], object], *, session: str, timestamp: float | None
) -> MemoryChange:
    """Plan a new memory for a statement, where `is_used` tells of a path whether it is another's.

    `timestamp` is the time of the message in seconds since the epoch.
    """
    is_of_one_day = _BEGINS.search(statement.text) or (
        not _RECURS.search(statement.text)
        and (statement.kind != "feedback" or _ENDS.search(statement.text))
    )
    text = make_dates_absolute(statement.text, timestamp) if is_of_one_day else statement.text
    # The name is made from the text, and the gate redacts secrets in texts, not in names.
    slug, description = derive_memory_name_and_description(
        replace(statement, text=redact(text).text)
    )
    path = find_free_name(make_file_name(slug), is_used)
    provenance = Provenance(
        session=session, messages=(statement.message_id,), quote=statement.quote, trust=Trust.STATED
    )
    topic = create_memory_file(
        path,
        kind=MemoryKind(statement.kind),
        name=path.removesuffix(".md"),
        description=description,
        body=text,
        provenance=provenance,
    )
    return build_memory_change(None, topic)


_RECURS = lazy_pattern(
    r"\b(?:always|never|every|each|daily|weekly|monthly|yearly|whenever|usually|often)\b"
    r"|[每总]|从不|永远",
    re.IGNORECASE,
)
"""Says that something holds again and again: `we never deploy at the end of the month`."""
_BEGINS = lazy_pattern(
    r"\b(?:(?:starting|as of|from) (?:today|tomorrow|next|this)"
    r"|ab (?:morgen|(?:de[mr] )?(?:nächst|kommend)\w+)"
    r"|(?:à partir d|dès )[^,]{0,8}?(?:demain|(?:semaine|mois|année) prochain)"
    r"|(?:a partir d|desde )[^,]{0,8}?(?:amanhã|pr[óo]xim|\w+ que v)"
    r"|(?:со?|начиная с) (?:следующ|завтра))"
    r"|[下明][^，。]{0,4}(?:开始|起)|(?:来[週月年]|明日)から",
    re.IGNORECASE,
)
"""Says since when something holds, whatever it says of how often."""
_ENDS = lazy_pattern(r"\b(?:until|till|starting|as of)\b|直到|[为到]止|起", re.IGNORECASE)
"""Says of a rule until when it holds; any other date in one is that of each day on which it is
followed: `delete logs in 30 days`.
"""


def find_free_name(plain_name: str, is_used: Callable[[str], object]) -> str:
    """A file name that is not used, numbered where the plain one is."""
    path, number = plain_name, 1
    while is_used(path):
        number += 1
        path = f"{plain_name.removesuffix('.md')}-{number}.md"
    return path


def build_removal_prefilter(statement: Statement) -> Callable[[str], bool]:
    """What tells whether a memory's text may have enough words of the statement to be what is to be
    forgotten: whether they stand in it at all, in a hundredth of the time that splitting it takes.
    """
    wanted = _wanted_stems(statement.text)
    if not wanted and asks_to_forget_all_about_user(statement.text):
        return bool

    def may_be_meant(text: str) -> bool:
        plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
        folded = plain.casefold()
        return sum(stem in folded for stem in wanted) >= MIN_FORGET_SHARE * len(wanted) > 0

    return may_be_meant


def build_mention_filter(asked: str) -> Callable[[str], bool]:
    """What tells whether a text has any of the words by which a request names what is to be
    forgotten.
    """
    wanted = _wanted_stems(asked)
    return lambda text: not wanted.isdisjoint(_significant_stems(text))


def plan_memory_removal(
    statement: Statement, topics: Sequence[MemoryFile]
) -> PlannedMemoryRemovals:
    """Find the memories that contain every word of the statement.

    Where there are none, those that contain most of the words, for the user to decide; none of
    those where something else than a memory may be meant.
    """
    wanted = _wanted_stems(statement.text)
    if not wanted:
        return _plan_removal_of_user_facts(statement, topics)
    may_be_meant = build_removal_prefilter(statement)
    shares = [
        (len(wanted & _significant_stems(text)) / len(wanted), topic)
        for topic in topics
        if may_be_meant(text := _render_text(topic, topic.description))
    ]
    whole = [topic for share, topic in shares if share == 1.0]
    least = MIN_FORGET_SHARE if statement.certain else 1.0
    near = whole or [topic for share, topic in shares if share >= least]
    changes = tuple(map(build_memory_removal, near[:MAX_FORGET_MATCHES]))
    sure = (
        statement.certain
        and len(whole) == 1
        and wanted
        <= _significant_stems(_render_text(whole[0], strip_former_text_from_description(whole[0])))
    )
    return PlannedMemoryRemovals(changes, is_certain=sure)


def _plan_removal_of_user_facts(
    statement: Statement, topics: Sequence[MemoryFile]
) -> PlannedMemoryRemovals:
    """All that is known of the user, where a "forget" names nothing else: for them to decide."""
    asked = asks_to_forget_all_about_user(statement.text)
    about_user = [topic for topic in topics if asked and _describes_user(topic)]
    return PlannedMemoryRemovals(tuple(map(build_memory_removal, about_user)), is_certain=False)


_ABOUT_USER = lazy_pattern(ABOUT_USER, re.IGNORECASE)


def asks_to_forget_all_about_user(asked: str) -> bool:
    """Whether what is to be forgotten is all that is known of the user."""
    return not _wanted_stems(asked) and _ABOUT_USER.search(asked) is not None


_EVERYTHING = lazy_pattern(EVERYTHING, re.IGNORECASE)


def is_about_everything(asked: str) -> bool:
    """Whether every memory is to be forgotten, which no typed sentence does by itself."""
    return _EVERYTHING.fullmatch(asked) is not None


def _describes_user(topic: MemoryFile) -> bool:
    """Whether it says who the user is, or what they want whatever the project."""
    return topic.kind is MemoryKind.USER or applies_to_every_project(topic.body)


def _render_text(topic: MemoryFile, description: str) -> str:
    return f"{topic.name} {description} {topic.body}"


def contains_all_words_of_request(asked: str, text: str) -> bool:
    """Whether a text has every word by which a "forget" names what is to go."""
    wanted = _wanted_stems(asked)
    return bool(wanted) and wanted <= _significant_stems(text)


def _wanted_stems(asked: str) -> frozenset[str]:
    """The stems of the words by which a request names what is to go; none for everything."""
    if is_about_everything(asked):
        return frozenset()
    return _significant_stems(_UNSPACED_FILLERS.sub(" ", asked))


def _significant_stems(text: str) -> frozenset[str]:
    """Return the content words, cut to six letters so that `tests` matches `testing`."""
    return frozenset(
        _stem(word)
        for word in split_script_words(normalize_for_comparison(text))
        if word not in _REQUEST_STOP_WORDS
    )


def _stem(word: str) -> str:
    """The start of a word that its forms share; Russian declines its short words, too."""
    if not word.isascii() and detect_language_by_script(word) == "russian":
        return stem_in_language(word, "russian")[:6]
    return word[:6].removesuffix("s") if len(word) > 4 else word
