"""What a session holds that can stand behind a memory: the person's own words, and what came from elsewhere. Pure (SF-2)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from memorist.auto_memory.own_words import own_words
from memorist.core.later import late_pattern
from memorist.core.messages import Message, Origin, Text
from memorist.formats.harness import typed_text

RUN = 6
"""Words in a row that a text must share with a source to be taken from it."""
SHARE = 0.5
"""Part of a text's runs that must stand in a source for the text to come from there."""
MIN_QUOTE = 3
"""Words or signs of the shortest quote that proves anything; in Chinese each sign counts."""

SHARED = 2
"""Words of meaning that a quote must share with the memory that rests on it."""
SHORT = 3
"""Words of the shortest sentence that can be told to come from somewhere."""

_EMPTY = frozenset(
    re.findall(
        r"\w+",
        "a an the that this it about of to for i you we my our your is are be was as on in at and or please me could would can will do does"
        " what how why when with from by if not no so have has look 的 了 是 我 你 在 请 吗 这 那 和 一 不 有 要 帮 看 下 个",
    )
)
"""Words that say nothing of what is meant."""
_SENTENCE = late_pattern(r"[.!?;](?=\s|$)|[。！？；\n]")
_ADDRESS = late_pattern(
    r"(?<![\w-])(?<![\w-]\.)(?:https?://)?(?:[\w-]+\.)+[a-z]{2,}\b(?:/[\w./-]*)?|(?<![\w.+-])[\w.+-]+@[\w-]+\.\w+", re.IGNORECASE
)
"""Looked for from the start of a run alone: from each of its letters, a run without a dot or an at would take as long as its length squared."""
_FILE = late_pattern(r"[\w-]+\.(?:md|py|js|ts|go|rs|toml|ya?ml|json|txt|sh|cfg|ini|sql|html|css|lock)", re.IGNORECASE)
_OUTSIDE = frozenset({Origin.TOOL, Origin.AGENT, Origin.NOTIFICATION})


class Evidence(Struct, frozen=True, kw_only=True):
    """What was said. `user`: message id and the person's own words; `outside`: tool results, other agents, notices, and what the person quoted."""

    session: str = ""
    user: tuple[tuple[str, str], ...] = ()
    outside: tuple[str, ...] = ()
    proven: tuple[str, ...] = ()
    """Paths whose change follows by rule from the memories themselves (DR-5): it says nothing new, and what stood behind the memory still does."""


def evidence(session: str, messages: Iterable[Message]) -> Evidence:
    """Sort what messages say by who says it. What a harness put in, memorist's own recall included, is neither (AM-11)."""
    user: list[tuple[str, str]] = []
    outside: list[str] = []
    for message in messages:
        outside += [result.text for result in message.tool_results]
        if message.origin in _OUTSIDE:
            outside.append(message.text)
        elif message.origin is Origin.USER:
            typed = typed_words(message)
            own = own_words(typed)
            if own:
                user.append((message.id, own))
            if plain(own) != plain(typed):
                outside.append(typed)
    return Evidence(session=session, user=tuple(user), outside=tuple(outside))


def typed_words(message: Message) -> str:
    """What the person typed in a message; empty for one that is not the person's."""
    if message.origin is not Origin.USER:
        return ""
    parts = [typed_text(block.text) for block in message.blocks if isinstance(block, Text) and block.origin in (None, Origin.USER)]
    return "\n".join(part.strip() for part in parts if part.strip())


def all_typed(session: str, message: Message) -> Evidence:
    """What stands behind words that code found in one message: all that the person typed, since code told quotations apart already."""
    return Evidence(session=session, user=((message.id, typed_words(message)),))


def plain(text: str) -> str:
    """Text as it is compared: compatibility form, no case, single blanks, no quotation marks."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(" " if letter in "\"'`“”„‘’«»「」『』*_" else letter for letter in folded).split())


def quoted_in(quote: str, said: Evidence, *, shortest: int = MIN_QUOTE) -> tuple[str, ...]:
    """Ids of the person's messages in which the quote stands; empty for one too short to prove anything."""
    wanted = plain(quote)
    if len(words(wanted)) < shortest:
        return ()
    return tuple(id for id, text in said.user if wanted in plain(text))


def words(text: str) -> list[str]:
    """Words of a plain text; a sign of a script without blanks is a word."""
    found: list[str] = []
    word = ""
    for letter in text:
        alone = "\u3040" <= letter <= "\u9fff" or "\uac00" <= letter <= "\ud7af" or "\U00020000" <= letter <= "\U0003ffff"
        if letter.isalnum() and not alone:
            word += letter
            continue
        if word:
            found.append(word)
            word = ""
        if alone:
            found.append(letter)
    return [*found, word] if word else found


def runs(text: str) -> set[tuple[str, ...]]:
    """Every run of `RUN` words of a text; for a shorter text the one run of all its words."""
    found = words(plain(text))
    if len(found) <= RUN:
        return {tuple(found)} if found else set()
    return {tuple(found[start : start + RUN]) for start in range(len(found) - RUN + 1)}


def comes_from_outside(text: str, said: Evidence) -> bool:
    """Whether at least half of a text's runs of words stand in what came from elsewhere, and not in the person's words."""
    mine = runs(text)
    if not mine or not said.outside:
        return False
    theirs: set[tuple[str, ...]] = set()
    for _, typed in said.user:
        theirs |= _found(mine, typed)
    left = mine - theirs
    found: set[tuple[str, ...]] = set()
    for source in said.outside:
        found |= _found(left - found, source)
    return len(found) >= max(1.0, SHARE * len(mine))


def _found(wanted: set[tuple[str, ...]], source: str) -> set[tuple[str, ...]]:
    if not wanted:
        return set()
    stream = _known_stream(source) if len(source) <= _REMEMBERED else _stream(source)
    return {run for run in wanted if f" {' '.join(run)} " in stream}


def _stream(source: str) -> str:
    """The words of a source, each between blanks."""
    return " " + " ".join(words(plain(source))) + " "


_REMEMBERED = 12_000
"""Characters of the longest source whose words are remembered: one evidence is asked about for each entry of an answer, and folding it takes longest."""
_known_stream = lru_cache(maxsize=1024)(_stream)


def bears_on(quote: str, text: str) -> bool:
    """Whether a quote says something of what a memory says: a true quote lends its weight to nothing else.

    Between a script without blanks and one with them words cannot be compared, and the answer is yes.
    """
    mine, theirs = _content(quote), _content(text)
    if any(map(_is_sign, mine)) != any(map(_is_sign, theirs)):
        return True
    return len(mine & theirs) >= min(SHARED, len(mine))


def _content(text: str) -> frozenset[str]:
    return frozenset(word[:5] for word in words(plain(text)) if word not in _EMPTY)


def _is_sign(word: str) -> bool:
    return "\u3040" <= word[0] <= "\uffff"


def borrowed(text: str, said: Evidence) -> tuple[str, ...]:
    """The sentences of a text that come from elsewhere: word for word, or with an address (site, mail) that only stands there."""
    if not said.outside:
        return ()
    typed = " ".join(text.casefold() for _, text in said.user)
    sources = " ".join(said.outside).casefold()
    found = []
    for sentence in _SENTENCE.split(text):
        if len(words(plain(sentence))) >= SHORT and comes_from_outside(sentence, said):
            found.append(sentence)
            continue
        named = [name for name in _ADDRESS.findall(sentence.casefold()) if not _FILE.fullmatch(name)]
        if any(name in sources and name not in typed for name in named):
            found.append(sentence)
    return tuple(found)
